//! The section of this probe in `kelvin.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::readers::Format;
use super::written::states;
use super::{Columns, EmptyScore, MetricColumn, ResultsKind};
use kelvin_base::digest::Fields;
use kelvin_record::Direction;
use kelvin_record::settings::{GateSettings, MetricPolicy, MetricRule};
use kelvin_run::config::yaml::{Content, Node};
use kelvin_run::config::{self, Config, Configure, Part, ProbeSettings, Problem, Slip};
use kelvin_run::targets::Address;

/// The placeholder for the file that an evaluator writes.
const OUTPUT: &str = "{output}";
/// The placeholder for the file that is scored again.
const INPUT: &str = "{input}";
/// The placeholder for a regular expression that matches only the names of the requested cases.
pub(super) const CASES_REGEX: &str = "{cases_regex}";
/// The placeholder for a file with the names of the requested cases, one per line.
pub(super) const CASES_FILE: &str = "{cases_file}";

/// The plugin for pytest, which gets the path for its results and the cases to run from its environment.
const PLUGIN: &str = "kelvin_action.pytest";

/// All keys of this probe at the top level.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct ResultsKeys {
    /// The evaluators of your own: how each is started, and what of its results is gated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    results: Option<Vec<SuiteSettings>>,
}

/// One evaluator, or one run of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteSettings {
    /// The name. Its metrics are `results.NAME.METRIC`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$"))]
    pub name: String,
    /// The command that runs the whole suite once. `{output}` is the file that it writes; without it, `file` names that
    /// file. pytest needs neither with `-p kelvin_action.pytest`. The exit code decides nothing, since many evaluators
    /// end with 1 or 100 if a case fails: the file decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub run: Option<String>,
    /// The file that the evaluator writes, if `run` has no `{output}`, or that an earlier step of the job has written,
    /// if there is no `run`. It may have one `*`, which stands for no `/`: then the one new file that fits is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub file: Option<String>,
    /// The command that runs some cases again, with `{cases_regex}` or `{cases_file}`, and `{output}`. Without it, the
    /// gate runs the whole suite again to look at some cases; the plugin of pytest needs no such command to run only
    /// these cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub rerun: Option<String>,
    /// The command that scores what `run` has written once more: `{input}` is that file and `{output}` the file to
    /// write, in the same format. It is run if a change edits a file that this command reads: in a checkout of the
    /// base, so that the answers of the change are scored as the base scores them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub rescore: Option<String>,
    /// The format of the file. Without it, the format is found by the name and the beginning of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// The metrics that the gate looks at; the others are shown. Without it: those of `metrics` that do not say
    /// otherwise, else every metric of passes and failures, else every metric for which the format says that more is
    /// better.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub gate: Vec<String>,
    /// Which columns of a table have the case, the input, the scores and other data.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub columns: Columns,
    /// The properties of single metrics, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, MetricKeys>,
    /// The share of the cases of the base that may be missing. With more of them the verdict stays open.
    #[serde(default = "a_tenth")]
    #[schemars(range(min = 0, max = 1))]
    pub max_missing: f64,
    /// The share of samples that may be errors; each case has the same weight. With more of them nothing is measured.
    #[serde(default = "a_tenth")]
    #[schemars(range(min = 0, max = 1))]
    pub max_errors: f64,
    /// Cases that have to pass: a failure that repeats is a regression, however little the mean changes.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub must_pass: BTreeSet<String>,
    /// Cases that are shown and never gated.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub flaky: BTreeSet<String>,
    /// How many seconds one run of the evaluator may take.
    #[serde(default = "an_hour")]
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_s: u32,
}

impl SuiteSettings {
    /// A suite with only the format of its file.
    pub(super) fn of_format(format: Format) -> Self {
        Self {
            name: format.as_str().to_owned(),
            run: None,
            file: None,
            rerun: None,
            rescore: None,
            format: Some(format),
            gate: Vec::new(),
            columns: Columns::default(),
            metrics: BTreeMap::new(),
            max_missing: a_tenth(),
            max_errors: a_tenth(),
            must_pass: BTreeSet::new(),
            flaky: BTreeSet::new(),
            timeout_s: an_hour(),
        }
    }
}

/// The properties of one metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricKeys {
    /// The column of a table, or the name that the evaluator has for the metric. Without it: the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub column: Option<String>,
    /// Whether a higher or a lower value is better. It is needed for a gated metric if the format does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Direction>,
    /// How far the metric may drop, in its own unit. Without it: that of the gate, and 5 % of a `range` that is wider than 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_drop: Option<f64>,
    /// Whether the gate looks at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<bool>,
    /// What a sample without a number means.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub empty: EmptyScore,
    /// The lowest and the highest possible value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
}

/// How many seconds a suite may take, if its configuration does not say it.
pub const DEFAULT_TIMEOUT_S: u32 = 3_600;

const fn a_tenth() -> f64 {
    0.1
}

const fn an_hour() -> u32 {
    DEFAULT_TIMEOUT_S
}

/// The settings in their checked form.
#[derive(Clone, Debug)]
pub(crate) struct ResultsSettings {
    /// The suites in the order of the file.
    pub suites: Vec<Suite>,
}

/// One suite and its command as an address.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The keys in the form of the configuration.
    pub keys: SuiteSettings,
    /// How the whole suite is run; empty if an earlier step has made the file.
    pub address: Address,
    /// The columns for the reader, including those of the metrics.
    pub columns: Columns,
}

impl Suite {
    pub(super) fn of(keys: SuiteSettings) -> Self {
        let mut columns = keys.columns.clone();
        columns.metrics = keys
            .metrics
            .iter()
            .map(|(name, metric)| {
                let column = MetricColumn {
                    column: metric.column.clone().unwrap_or_else(|| name.clone()),
                    empty: metric.empty,
                };
                (name.clone(), column)
            })
            .collect();
        Self {
            address: Address::command(keys.run.as_deref().unwrap_or_default()),
            columns,
            keys,
        }
    }

    /// Whether the command loads the plugin for pytest.
    pub(super) fn loads_the_plugin(&self) -> bool {
        loads_the_plugin(self.keys.run.as_deref().unwrap_or_default())
    }

    /// The command that runs some cases; none if the whole suite has to be run again for them.
    pub(super) fn rerun(&self) -> Option<&str> {
        let own = self.keys.rerun.as_deref();
        own.or_else(|| self.keys.run.as_deref().filter(|run| loads_the_plugin(run)))
    }

    /// The extension of the file that replaces `{output}`: some evaluators choose the format by the extension.
    pub(super) fn extension(&self) -> &'static str {
        match self.keys.format {
            Some(
                Format::Csv
                | Format::Ragas
                | Format::Langsmith
                | Format::Mlflow
                | Format::Langfuse
                | Format::Phoenix,
            ) => "csv",
            Some(Format::Jsonl | Format::LmEval) => "jsonl",
            Some(Format::Junit) => "xml",
            None if self.loads_the_plugin() => "xml",
            _ => "json",
        }
    }
}

impl Configure for ResultsKind {
    fn required(&self) -> &'static [&'static str] {
        &["results"]
    }

    fn keys(&self) -> &'static Schema {
        config::schema_of::<ResultsKeys>()
    }

    fn problems(&self, part: &Part<'_>) -> Vec<Problem> {
        let Some(Content::List(suites)) = part.node.get(&["results"]).map(|node| &node.content)
        else {
            return Vec::new();
        };
        let mut names = BTreeSet::new();
        let mut found = Vec::new();
        for suite in suites {
            found.extend(of_commands(suite));
            found.extend(of_metrics(suite));
            let Some((name, at)) = suite.text(&["name"]) else {
                continue;
            };
            if !names.insert(name) {
                let what = format!("two suites are called `{name}`");
                found.push(Problem::new(at.clone(), what).help("give each a name of its own"));
            }
            let must_pass: BTreeSet<&str> = suite
                .texts(&["must_pass"])
                .into_iter()
                .map(|(case, _)| case)
                .collect();
            for (case, at) in suite.texts(&["flaky"]) {
                if must_pass.contains(case) {
                    let what = format!("`{case}` is under `must_pass` and under `flaky`");
                    found.push(Problem::new(at.clone(), what).help("leave it out of one of them"));
                }
            }
        }
        found
    }

    fn hint(&self, slip: &Slip<'_>) -> Option<String> {
        match slip {
            Slip::UnknownKey("command") => Some("the command of a suite is `run`".to_owned()),
            Slip::UnknownKey("threshold") => {
                Some("the limit of a metric is `metrics: {NAME: {max_drop: 0.05}}`".to_owned())
            }
            _ => None,
        }
    }

    fn settle(
        &self,
        part: &Part<'_>,
        _config: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>> {
        let ResultsKeys { results } = part.read()?;
        let Some(suites) = results else {
            return Ok(None);
        };
        Ok(Some(Arc::new(ResultsSettings {
            suites: suites.into_iter().map(Suite::of).collect(),
        })))
    }
}

/// The command of the first suite of a configuration.
pub fn first_command(config: &Config) -> Option<&str> {
    let settings: &ResultsSettings = config.settings()?;
    settings.suites.first()?.keys.run.as_deref()
}

/// Whether a command loads the plugin for pytest, which is told where to write.
pub fn loads_the_plugin(command: &str) -> bool {
    let is_of_a_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let mut found = command.match_indices(PLUGIN);
    found.any(|(at, name)| !command[at + name.len()..].starts_with(is_of_a_name))
}

/// The problems of the commands of a suite, and of its file.
fn of_commands(suite: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    let (run, file) = (suite.text(&["run"]), suite.text(&["file"]));
    match (run, file) {
        (None, None) if suite.get(&["run"]).is_none() && suite.get(&["file"]).is_none() => {
            let what = "the suite has neither `run` nor `file`";
            let help =
                "add `run: \"COMMAND {output}\"`, or the `file` that an earlier step has written";
            found.push(Problem::new(suite.at.clone(), what).help(help));
        }
        (Some((run, _)), None) if loads_the_plugin(run) => {}
        (Some((run, at)), Some(_)) if loads_the_plugin(run) => {
            let what = "`run` loads `kelvin_action.pytest`, which is told where to write, and the suite has a `file` beside it";
            found.push(Problem::new(at.clone(), what).help("leave `file` out"));
        }
        (Some((run, at)), None) if !run.contains(OUTPUT) => {
            let what = "`run` has no placeholder `{output}`";
            let help = "put `{output}` where the command takes the file to write, or add `file` with the path that it \
                        always writes; pytest needs neither with `-p kelvin_action.pytest`";
            found.push(Problem::new(at.clone(), what).help(help));
        }
        (Some((run, at)), Some(_)) if run.contains(OUTPUT) => {
            let what = "`run` has `{output}`, and the suite has a `file` beside it";
            let help = "leave `file` out, or `{output}`";
            found.push(Problem::new(at.clone(), what).help(help));
        }
        _ => {}
    }
    if let Some((run, at)) = run {
        for token in [CASES_REGEX, CASES_FILE, INPUT, "{workspace}"] {
            if run.contains(token) {
                let what = format!("`run` runs the whole suite and has no `{token}`");
                let help = "a command that runs some cases belongs under `rerun`";
                found.push(Problem::new(at.clone(), what).help(help));
            }
        }
    }
    if let Some((file, at)) = file
        && file.matches('*').count() > 1
    {
        let what = "`file` may have one `*`";
        let help = "write e.g. `logs/*.eval` or `runs/*/results.json`; where more of it differs from run to run, let \
                    `run` copy the file to `{output}`, and leave `file` out";
        found.push(Problem::new(at.clone(), what).help(help));
    }
    if let Some((rescore, at)) = suite.text(&["rescore"]) {
        for token in [INPUT, OUTPUT] {
            if !rescore.contains(token) {
                let what = format!("`rescore` has no placeholder `{token}`");
                let help = "`{input}` is the file with the answers, as `run` has written it, and `{output}` the file to write";
                found.push(Problem::new(at.clone(), what).help(help));
            }
        }
    }
    let Some((rerun, at)) = suite.text(&["rerun"]) else {
        return found;
    };
    if suite.get(&["run"]).is_none() {
        let what = "a suite without `run` has a `rerun`";
        let help = "add `run`, so that everything can be run once";
        found.push(Problem::new(at.clone(), what).help(help));
    }
    if !rerun.contains(CASES_REGEX) && !rerun.contains(CASES_FILE) {
        let what = "`rerun` has neither `{cases_regex}` nor `{cases_file}`";
        let help =
            "it has to run the named cases alone; leave it out, and the whole suite is run again";
        found.push(Problem::new(at.clone(), what).help(help));
    }
    if !stands_alone(rerun) {
        let what = "`{cases_regex}` has to be a word of its own, without quotes around it";
        let help = "it is quoted where it is put in: write `--filter {cases_regex}` or `--filter={cases_regex}`";
        found.push(Problem::new(at.clone(), what).help(help));
    }
    if !rerun.contains(OUTPUT) && file.is_none() {
        let what = "`rerun` has no placeholder `{output}`";
        let help = "put `{output}` where the command takes the file to write";
        found.push(Problem::new(at.clone(), what).help(help));
    }
    for token in [INPUT, "{workspace}"] {
        if rerun.contains(token) {
            let what = format!("`rerun` has no `{token}`");
            let help = "the wanted cases are `{cases_regex}` or `{cases_file}`";
            found.push(Problem::new(at.clone(), what).help(help));
        }
    }
    found
}

/// Whether the placeholder of the regular expression is a separate word, or follows a `=`: the expression is inserted
/// with quotes, which may not be inside other quotes.
fn stands_alone(line: &str) -> bool {
    line.match_indices(CASES_REGEX).all(|(at, token)| {
        let before = line[..at].chars().next_back();
        let after = line[at + token.len()..].chars().next();
        before.is_none_or(|c| c.is_whitespace() || c == '=')
            && after.is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '>'))
            && line[..at].matches('\'').count().is_multiple_of(2)
            && line[..at].matches('"').count().is_multiple_of(2)
    })
}

/// The problems of a suite's settings for its metrics.
fn of_metrics(suite: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    let Some(Content::Map(metrics)) = suite.get(&["metrics"]).map(|node| &node.content) else {
        return found;
    };
    for (name, metric) in metrics {
        if RESERVED.contains(&name.text.as_str()) {
            let what = format!("`{}` is a metric that every suite has", name.text);
            found.push(
                Problem::new(name.at.clone(), what)
                    .help("give the metric another name, and name its `column`"),
            );
        }
        let ends = metric.get(&["range"]).map(Node::to_json);
        let ends: Option<Vec<f64>> = ends.and_then(|ends| serde_json::from_value(ends).ok());
        if let Some([low, high]) = ends.as_deref()
            && low >= high
        {
            let what = format!("the `range` of `{}` has no values in it", name.text);
            found.push(
                Problem::new(metric.at.clone(), what).help("write `range: [LOWEST, HIGHEST]`"),
            );
        }
    }
    found
}

impl ProbeSettings for ResultsSettings {
    /// The command of an evaluator may choose the cases and how they are scored, so an edit of it is reported. If only
    /// its spelling differs, the figures can still be compared.
    fn measured(&self, fields: Fields) -> Fields {
        let suites = self.suites.iter();
        suites.fold(fields, |fields, suite| {
            let mut data = json!(suite.keys);
            if let Some(data) = data.as_object_mut() {
                for key in ["run", "rerun", "rescore", "timeout_s"] {
                    data.remove(key);
                }
            }
            fields.field("suite", data.to_string())
        })
    }

    fn as_data(&self) -> Map<String, Value> {
        let suites = self.suites.iter().map(|suite| {
            let mut data = json!(suite.keys);
            if let Some(data) = data.as_object_mut() {
                for key in ["name", "rerun", "timeout_s"] {
                    data.remove(key);
                }
            }
            (suite.keys.name.clone(), data)
        });
        let suites: Map<String, Value> = suites.collect();
        Map::from_iter([("results".to_owned(), Value::Object(suites))])
    }

    /// A command that scores the answers defines what is measured. An evaluator that is run as a whole is a part of the
    /// pipeline.
    fn commands(&self) -> Vec<&str> {
        let suites = self.suites.iter();
        suites
            .filter_map(|suite| suite.keys.rescore.as_deref())
            .collect()
    }

    fn evaluators(&self) -> Vec<&str> {
        let suites = self.suites.iter();
        let whole = suites.filter(|suite| suite.keys.rescore.is_none());
        whole
            .filter_map(|suite| suite.keys.run.as_deref())
            .collect()
    }

    /// Such an evaluator writes scores too, so an edit of it lets the scoring command of the base score its answers.
    fn rescored_evaluators(&self) -> Vec<&str> {
        let suites = self.suites.iter();
        let rescored = suites.filter(|suite| suite.keys.rescore.is_some());
        rescored
            .filter_map(|suite| suite.keys.run.as_deref())
            .collect()
    }

    fn given_files(&self, root: &Path) -> Vec<PathBuf> {
        let suites = self.suites.iter();
        let given = suites.filter(|suite| suite.keys.run.is_none());
        given
            .flat_map(|suite| states(suite.keys.file.as_deref(), root).into_keys())
            .collect()
    }

    fn target(&self) -> Option<&Address> {
        let mut addresses = self.suites.iter().map(|suite| &suite.address);
        addresses.find(|address| !address.is_empty())
    }

    /// The limits of the metrics. Without one, a metric with a wide range may drop by the same share of it as a share of
    /// cases may: 0.05 points of 100 are no loss.
    fn rules(&self, gate: &GateSettings) -> Vec<(String, MetricRule)> {
        let usual = GateSettings::default().max_drop;
        let is_usual = gate.max_drop == usual;
        let of_suite = |suite: &Suite| {
            let name = suite.keys.name.clone();
            let gated: BTreeSet<String> = suite.keys.gate.iter().map(|one| slug(one)).collect();
            let of_its_range = move |metric: &str, keys: &MetricKeys| {
                let width = keys.range.map(|[low, high]| high - low)?;
                // A limit alone would make the gate use the metric.
                let by_itself = match gated.is_empty() {
                    true => keys.better.is_some(),
                    false => gated.contains(&slug(metric)),
                };
                let is_gated = keys.gate.unwrap_or(by_itself);
                (is_usual && is_gated && width > WIDE).then_some(usual * width)
            };
            let metrics = suite.keys.metrics.clone().into_iter();
            metrics.filter_map(move |(metric, keys)| {
                let rule = MetricRule {
                    max_drop: Some(keys.max_drop.or_else(|| of_its_range(&metric, &keys))?),
                    // Otherwise a limit alone would make the gate use the metric.
                    policy: (keys.gate == Some(false)).then_some(MetricPolicy::Info),
                    min: None,
                };
                Some((format!("results.{name}.{}", slug(&metric)), rule))
            })
        };
        self.suites.iter().flat_map(of_suite).collect()
    }
}

/// A range that is wider than this is a scale of points, and not of shares.
const WIDE: f64 = 2.0;

/// The metrics that are computed for every suite and every evaluator.
pub(super) const RESERVED: [&str; 3] = ["failure_rate", "must_pass", "flaky"];

/// The name of a metric as a part of an id: letters, digits and a few characters, with `_` for everything else.
pub(super) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.trim().chars() {
        match c.is_alphanumeric() || matches!(c, '-' | '@' | ',' | '.') {
            true => slug.push(c),
            false if slug.ends_with('_') => {}
            false => slug.push('_'),
        }
    }
    slug.trim_matches(['_', '.']).to_owned()
}
