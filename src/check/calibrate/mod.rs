//! Tests a judge: lets it grade answers and altered copies of them, and reports how far it can be trusted.

mod calls;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::json;

use super::{asked, calibrated, side};
use crate::registry::Registry;
use calls::{Calls, TrialCalls, code_of};
use kelvin_base::cost::Cost;
use kelvin_base::exit::Misuse;
use kelvin_base::{file, stats};
use kelvin_record::Answer;
use kelvin_run::config::{Config, Overrides};
use kelvin_run::judge::calibration::{self, Calibration};
use kelvin_run::judge::trial::{
    FinishedTrial, GivenAnswer, Grades, RESAMPLES, Scored, TrialExhibit, TrialRecord,
    TrialSettings, TrialTask,
};
use kelvin_run::judge::{Grade, Judge, JudgeSettings, Order, trial};
use kelvin_run::{Observer, Start};
use kelvin_system::pipeline::{self, Made};

/// The inputs of a trial.
#[derive(Clone, Debug)]
pub(crate) struct CalibrateRequest {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// The changes that the command line makes to the configuration.
    pub(crate) overrides: Overrides,
    /// The place of the judge in the configuration, if there are several judges.
    pub(crate) judge: Option<String>,
    /// Where the answers come from.
    pub(crate) answers: TriedAnswers,
    /// The embedding model that measures how near two texts are, for the comparison judge; without it, the comparison
    /// judge asks for equal texts.
    pub(crate) embeddings: Option<String>,
    /// The family of models to which the judge belongs.
    pub(crate) family: Option<String>,
    /// How many calls are made.
    pub(crate) settings: TrialSettings,
    /// The output folder; by default `kelvin-calibrate` beside the configuration.
    pub(crate) out: Option<PathBuf>,
    /// Whether an interrupted trial is continued.
    pub(crate) resume: bool,
    /// Whether the result is kept for the gate.
    pub(crate) save: bool,
}

/// The source of the answers on which a judge is tested.
#[derive(Clone, Debug)]
pub(crate) enum TriedAnswers {
    /// A file of JSON lines.
    File(PathBuf),
    /// The answers that were graded in a report: a file, a run of the history, or a revision.
    Report(String),
}

/// A finished trial.
#[derive(Debug)]
pub(crate) struct Calibrated {
    /// The result; none if a signal stopped the trial.
    pub(crate) record: Option<TrialRecord>,
    /// The cost of the calls.
    pub(crate) cost: Cost,
    /// The file in which the result is kept; none if it is not kept.
    pub(crate) file: Option<PathBuf>,
    /// Notes about the calls for the user.
    pub(crate) notices: Vec<String>,
}

/// Runs a trial, and stores its result. Fails with a [`Misuse`] if the configuration, the answers or the request are
/// wrong; any other error if the judge graded nothing at all.
pub(crate) fn calibrate(
    request: &CalibrateRequest,
    observer: &dyn Observer,
) -> anyhow::Result<Calibrated> {
    let config = request.registry.configured(&request.overrides)?;
    let placed = calibrated::language_models(&config);
    let (place, settings) = calibrated::chosen(&placed, request.judge.as_deref())?;
    if !settings.rag_measures().is_empty() {
        let what = format!(
            "`{place}` measures retrieved passages, and `kelvin calibrate` has answers without passages"
        );
        return Err(Misuse::new(what)
            .help("such a judge is tried by the planted answers of each `kelvin gate`, which have its faults")
            .into());
    }
    let answers = match &request.answers {
        TriedAnswers::File(path) => read(path)?,
        TriedAnswers::Report(report) => of_report(request.registry, report, &config)?,
    };
    let judges = Judges::open(&config, settings, request.embeddings.as_deref())?;
    let out = match &request.out {
        Some(out) => std::path::absolute(out)?,
        None => std::path::absolute(config.root.join("kelvin-calibrate"))?,
    };
    // Git ignores the folder, so that the files of a trial do not count as code of the pipeline.
    file::write(&out.join(".gitignore"), b"*\n")?;
    let mut not_code = asked::not_code(&config, &out);
    if let TriedAnswers::File(path) = &request.answers {
        not_code.push(std::path::absolute(path)?);
    }
    let (code, watch) = pipeline::begin(
        &config.root,
        &config.fingerprint,
        &not_code,
        Made::default(),
    )?;
    let calls = Calls {
        config: &config,
        out: &out,
        start: if request.resume {
            Start::Resume
        } else {
            Start::Fresh
        },
        code: code.digest,
        watch: watch.as_ref(),
        observer,
    };
    let tasks = trial::tasks(&answers, request.settings);
    let family = request
        .family
        .clone()
        .or_else(|| own_family(&answers, settings));
    let shows_two = settings.shows_two_texts();
    let mut graded = TrialCalls::default();
    let (mut judge, mut unscored) = (BTreeMap::new(), BTreeMap::new());
    let mut served = BTreeSet::new();
    for (task, grade) in graded.all(
        &calls,
        "judge",
        (&*judges.on_trial, shows_two),
        &tasks,
        |_, _| true,
    )? {
        match grade {
            Ok(grade) => {
                served.extend(grade.served().iter().cloned());
                let orders = orders(&grade);
                let score = grade.score();
                judge.insert(task, Scored { score, orders });
            }
            Err(why) => *unscored.entry(code_of(why.code)).or_insert(0) += 1,
        }
    }
    if let Some(both) = &judges.in_both_orders {
        let grades = graded.all(
            &calls,
            "orders",
            (&**both, true),
            &tasks,
            is_shown_in_both_orders,
        )?;
        for (task, grade) in grades {
            let orders = grade.ok().as_ref().and_then(orders);
            if let Some(scored) = judge.get_mut(&task) {
                scored.orders = orders;
            }
        }
    }
    let compared = graded.all(
        &calls,
        "other",
        (&*judges.other, true),
        &tasks,
        |task, _| task.is_compared(),
    )?;
    let other = compared.into_iter();
    let other: BTreeMap<TrialTask, f64> = other
        .filter_map(|(task, grade)| Some((task, grade.ok()?.score())))
        .collect();
    if let Some(watch) = &watch {
        watch.look_at_the_end();
        anyhow::ensure!(
            !watch.is_broken(),
            "files beside the configuration changed during the trial, so that nobody knows which of them \
             the answers belong to: {}",
            watch.changes()
        );
    }
    if graded.is_stopped {
        return Ok(Calibrated {
            record: None,
            cost: graded.cost,
            file: None,
            notices: graded.notices,
        });
    }
    if judge.is_empty() {
        let why: Vec<String> = graded.first_reasons.into_values().collect();
        anyhow::bail!("the judge gave no grade at all: {}", why.join("; "));
    }
    let record = trial::conclude(
        FinishedTrial {
            judge: place.to_owned(),
            grader_id: judges.on_trial.grader_id(),
            served,
            compared_with: judges.other.grader_id(),
            gradings: tasks.len(),
            unscored,
            asks_both_orders: settings.asks_in_both_orders(),
            grades: Grades {
                answers: &answers,
                settings: request.settings,
                judge,
                other,
                own_family: family.as_deref(),
                shows_two,
            },
        },
        RESAMPLES,
    );
    let file = match request.save {
        true => Some(keep(&config, &record)?),
        false => None,
    };
    Ok(Calibrated {
        record: Some(record),
        cost: graded.cost,
        file,
        notices: graded.notices,
    })
}

fn read(path: &Path) -> anyhow::Result<Vec<GivenAnswer>> {
    let text = file::read(path).map_err(|error| {
        Misuse::new(format!("the answers cannot be read: {error:#}"))
            .help("name a file of JSON lines, each with `prompt` and `response`, by `--answers`")
    })?;
    Ok(trial::read(&text, path)?)
}

/// The different answers that were graded in a report, with their prompts and references.
fn of_report(
    registry: Registry,
    report: &str,
    config: &Config,
) -> anyhow::Result<Vec<GivenAnswer>> {
    let stored = side(registry, report, &config.file)?.report;
    let mut answers = Vec::new();
    let mut is_graded = false;
    for (kind, section) in registry.known(&stored.probes) {
        if kind.graded_pairs(section, &BTreeMap::new()).is_empty() {
            continue;
        }
        is_graded = true;
        let items = kind.answered(section).into_iter();
        for (_, item) in items.flat_map(|answered| answered.items) {
            let Some(prompt) = &item.asked else {
                continue;
            };
            let mut seen = BTreeSet::new();
            for answer in item.itself.iter().flatten() {
                let Answer::Kept(kept) = answer else {
                    continue;
                };
                if let Some(response) = kept.whole().filter(|text| seen.insert(text.to_string())) {
                    answers.push(GivenAnswer {
                        prompt: prompt.to_string(),
                        response: response.to_owned(),
                        reference: item.expected.as_ref().map(ToString::to_string),
                        label: None,
                        family: None,
                    });
                }
            }
        }
    }
    if answers.is_empty() {
        let what = match is_graded {
            true => format!("the report `{report}` does not keep its answers"),
            false => format!("the report `{report}` has no graded answers"),
        };
        return Err(Misuse::new(what)
            .help("name a report of a run whose answers a judge has graded, with `baseline.texts: all`, or a file by `--answers`")
            .into());
    }
    Ok(answers)
}

/// The family of the answers whose name occurs in the name of the judge's model; none if there is no such family, or
/// more than one.
fn own_family(answers: &[GivenAnswer], settings: &JudgeSettings) -> Option<String> {
    let models: Vec<String> = settings.models().map(str::to_lowercase).collect();
    let families = answers.iter().filter_map(|answer| answer.family.as_ref());
    let mut own: Vec<&String> = families
        .filter(|family| {
            let family = family.to_lowercase();
            models.iter().any(|model| model.contains(&family))
        })
        .collect();
    own.sort();
    own.dedup();
    match own.as_slice() {
        [own] => Some((*own).clone()),
        _ => None,
    }
}

/// Writes a record into the file of calibrations beside the configuration.
fn keep(config: &Config, record: &TrialRecord) -> anyhow::Result<PathBuf> {
    change(config, |stored| stored.put(record.clone()))
}

/// Changes the file of calibrations.
pub(super) fn change(
    config: &Config,
    with: impl FnOnce(&mut Calibration),
) -> anyhow::Result<PathBuf> {
    let path = config.root.join(&config.gate.calibration);
    let mut stored = match std::fs::read(&path) {
        Ok(bytes) => calibration::read(&bytes).map_err(|error| {
            Misuse::new(format!("`{}` cannot be used: {error}", path.display()))
                .help("remove the file, and calibrate every judge again")
        })?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Calibration::default(),
        Err(error) => {
            return Err(error).with_context(|| format!("failed to read `{}`", path.display()));
        }
    };
    with(&mut stored);
    let mut text = serde_json::to_vec_pretty(&stored)?;
    text.push(b'\n');
    file::write(&path, &text)?;
    Ok(path)
}

/// The judges of a trial.
struct Judges {
    on_trial: Box<dyn Judge>,
    /// The tested judge in the mode that asks in both orders; set only for a judge that compares two texts and asks in
    /// one order.
    in_both_orders: Option<Box<dyn Judge>>,
    other: Box<dyn Judge>,
}

impl Judges {
    fn open(
        config: &Config,
        settings: &JudgeSettings,
        embeddings: Option<&str>,
    ) -> anyhow::Result<Self> {
        let open = |settings: &JudgeSettings| {
            let opened = settings.open(config);
            opened.map_err(|error| Misuse::new(format!("{}: {error}", config.file.display())))
        };
        let other = match embeddings {
            Some(model) => json!({ "type": "embedding_similarity", "model": model }),
            None => json!({ "type": "exact_match" }),
        };
        let other: JudgeSettings = serde_json::from_value(other)?;
        let needs_both = settings.shows_two_texts() && !settings.asks_in_both_orders();
        Ok(Self {
            on_trial: open(settings)?,
            in_both_orders: match needs_both {
                true => Some(open(&settings.in_both_orders())?),
                false => None,
            },
            other: open(&other)?,
        })
    }
}

/// Whether a task is also graded in both orders, by a judge that normally asks in one order. Only as many tasks as
/// needed to detect a position bias are graded so. The truncated copy is not used, because it is neither clearly good
/// nor clearly bad.
fn is_shown_in_both_orders(task: TrialTask, exhibit: &TrialExhibit<'_>) -> bool {
    let is_between = matches!(task.plant, trial::Plant::Given | trial::Plant::Truncated);
    task.repeat == 1 && is_between && exhibit.has_two_texts()
}

/// The scores with the answer first and with the reference first; none unless the judge was asked in both orders.
fn orders(grade: &Grade) -> Option<[f64; 2]> {
    let mean = |order| {
        let parts = grade.parts().iter().filter(|part| part.order == order);
        stats::mean(&parts.map(|part| part.score).collect::<Vec<f64>>())
    };
    Some([mean(Order::Swapped)?, mean(Order::Given)?])
}
