//! Stored reports of the same code are repeats of the base for nothing, as long as they are what they say.

use std::fs;

use serde_json::{Value, json};

use crate::forged::{keep, kept};
use crate::project::{Project, rules};
use crate::repository::{bare, commit, git, pushed, rooms, verdict};

/// The pipeline: `awk` reads it without a shell, which would take longer to start than the answer takes.
const PIPELINE: &str = "pipeline.awk";

/// A pipeline that reads the rule, and whose answer is wrong now and then: what is wrong depends on a file
/// beside the repository, which stands for the luck of a run, and on the input. `more` comes before the answer.
fn noisy(luck: &str, share: u32, more: &str) -> String {
    let rules = rules!();
    format!(
        r###"
BEGIN {{
    getline luck < "{luck}"
    {more}
    luck = luck salt " " ENVIRON["KELVIN_SAMPLE"]
}}
{rules}
NR == 1 {{ title = $0; drawn = mixed(luck, 17) }}
{{ drawn = mixed($0, drawn) }}
END {{
    answer = (drawn % 100 < {share}) ? "odd" : (deaf != "" && title ~ deaf) ? "go" : sprintf("%.0f", sum)
    printf "{{\"decision\": \"%s\"}}", answer > out
}}
"###
    )
}

/// Has a third of the cases no longer heed their rule.
fn deafer(text: &str) -> String {
    format!("BEGIN {{ deaf = \"case-0[0-6]\" }}\n{text}")
}

/// Has no case heed its rule.
const DEAF: &str = "BEGIN { printf \"{\\\"decision\\\": \\\"go\\\"}\" > out }\n";

/// A project of a noisy pipeline, and the file that its luck is read from.
pub(crate) struct Noisy {
    pub(crate) project: Project,
    remote: tempfile::TempDir,
    reports: usize,
}

const SETTINGS: &str = "variants: {reorder: 3, pad_length: 1, pad_content: 1, swap: 2}\n";

impl Noisy {
    pub(crate) fn new(settings: &str, more: &str) -> Self {
        let (remote, url) = bare();
        let luck = remote.path().join("luck").display().to_string();
        fs::write(&luck, "0").expect("written");
        let project = pushed(&url, "");
        rooms(&project, 16);
        fs::remove_file(project.path("pipeline.sh")).expect("removed");
        project.write(PIPELINE, &noisy(&luck, 3, more));
        project.config(&format!("{SETTINGS}{settings}"));
        let config = project.read("kelvin.yaml");
        let run = "awk -v out={output} -f pipeline.awk {input}";
        let config = config.replace("sh pipeline.sh {input} {output}", run);
        project.write("kelvin.yaml", &config);
        commit(&project, "cases");
        Self {
            project,
            remote,
            reports: 0,
        }
    }

    fn lucky(&self, luck: &str) {
        fs::write(self.remote.path().join("luck"), luck).expect("written");
    }

    /// Keeps so many reports, each of a commit that leaves the pipeline as it is.
    pub(crate) fn keep(&mut self, reports: usize) {
        for _ in 0..reports {
            self.reports += 1;
            self.lucky(&format!("base {}", self.reports));
            let root = self.project.root();
            git(
                root,
                &["commit", "--quiet", "--allow-empty", "-m", "nothing"],
            );
            git(root, &["push", "--quiet", "origin", "main"]);
            self.project.check();
            self.project.kelvin(&["baseline", "save"]).expect(0);
        }
    }

    /// Keeps a report with the same luck as the one before.
    pub(crate) fn again(&mut self) {
        self.reports -= 1;
        self.keep(1);
    }

    /// A change with other text in the pipeline, judged with its own luck.
    pub(crate) fn judged(&self, luck: &str, edit: impl FnOnce(&str) -> String) -> Value {
        let root = self.project.root();
        git(root, &["checkout", "--quiet", "-B", "change"]);
        let text = self.project.read(PIPELINE);
        self.project.write(PIPELINE, &edit(&text));
        commit(&self.project, "change");
        self.lucky(luck);
        let said = self.project.kelvin(&["gate"]);
        let judgement = verdict(&self.project, &said);
        git(root, &["checkout", "--quiet", "main"]);
        judgement
    }

    fn unchanged(&self) -> Value {
        self.judged("head", |text| format!("{text}# the same\n"))
    }

    /// Four unchanged ones, each with its own luck.
    pub(crate) fn unchanged_ones(&self) -> Vec<Value> {
        let ones = (1..=4).map(|at| format!("head {at}"));
        ones.map(|luck| self.judged(&luck, |text| format!("{text}# the same\n")))
            .collect()
    }
}

fn served(judgement: &Value) -> Option<u64> {
    let mut codes = judgement["difference_codes"].as_array()?.iter();
    let found = codes.find(|code| code["code"] == json!("stored_repeats"))?;
    found["reports"].as_u64()
}

fn codes(judgement: &Value) -> String {
    judgement["difference_codes"].to_string()
}

#[test]
fn stored_reports_of_the_same_code_save_reruns_and_stay_as_they_are() {
    let mut noisy = Noisy::new("", "");
    noisy.keep(1);
    let without = noisy.unchanged_ones();
    assert!(without.iter().all(|judgement| served(judgement).is_none()));
    noisy.keep(5);
    let root = noisy.project.root();
    let tip = git(root, &["ls-remote", "origin", "refs/heads/kelvin-reports"]);
    let with = noisy.unchanged_ones();
    let is = |word: &'static str| move |judgement: &&Value| judgement["verdict"] == json!(word);
    let passes = |all: &[Value]| all.iter().filter(is("pass")).count();
    let words = |all: &[Value]| -> Vec<String> {
        all.iter()
            .map(|judgement| judgement["verdict"].to_string())
            .collect()
    };
    assert_eq!(with.iter().filter(is("regression")).count(), 0);
    assert!(passes(&with) > passes(&without), "{:?}", words(&with));
    // Five in all, that of the base counted in, though six are kept. What passes without them asks for none.
    let most = with.iter().filter_map(served).max();
    assert_eq!(most, Some(4));
    let now = git(root, &["ls-remote", "origin", "refs/heads/kelvin-reports"]);
    assert_eq!(now, tip, "a gate writes nothing");
    // A true drop is red all the same: a third of the cases no longer heed their rule.
    let worse = noisy.judged("head", deafer);
    assert_eq!(
        worse["verdict"],
        json!("regression"),
        "{}",
        worse["reasons"]
    );
    assert_eq!(served(&worse), Some(4));
}

#[test]
fn a_report_that_is_of_another_seed_of_other_code_or_no_ancestor_is_no_repeat() {
    let mut noisy = Noisy::new("", "");
    noisy.keep(2);
    let root = noisy.project.root().to_path_buf();
    let older = git(&root, &["rev-parse", "HEAD~1"]);
    assert_eq!(served(&noisy.unchanged()), Some(1));
    let reports = kept(&noisy.project);
    let honest = reports[&older].clone();
    // Measured by worse code that was never committed, and called that of the older commit.
    let text = noisy.project.read(PIPELINE);
    noisy.project.write(PIPELINE, DEAF);
    noisy.project.check();
    let mut worse = noisy.project.json("kelvin/report.json");
    worse["run"]["session"]["commit"] = json!(older);
    worse["run"]["session"]["dirty"] = json!(false);
    noisy.project.write(PIPELINE, &text);
    // The same under the fingerprints of the base.
    let mut disguised = worse.clone();
    disguised["run"]["fingerprints"] = honest["run"]["fingerprints"].clone();
    for name in ["fingerprint", "basis"] {
        disguised["probes"]["evidence"][name] = honest["probes"]["evidence"][name].clone();
    }
    // Its figures without its records, and its records without its figures.
    let mut figures = honest.clone();
    figures["metrics"] = disguised["metrics"].clone();
    let mut renamed = honest.clone();
    renamed["run"]["session"]["commit"] = json!("1".repeat(40));
    let mut seed = honest.clone();
    seed["run"]["seed"] = json!(7);
    let own_seed = honest["run"]["seed"].clone();
    assert_ne!(own_seed, json!(7));
    let base = git(&root, &["rev-parse", "HEAD"]);
    for (name, report, believed, told) in [
        ("other code", &worse, false, ""),
        (
            "figures of another",
            &figures,
            false,
            "figures that its own records do not give",
        ),
        (
            "of another commit",
            &renamed,
            false,
            "says that it is of 1111111",
        ),
        ("another seed", &seed, false, ""),
        // Nothing in a repository tells which answers a pipeline gave: SECURITY.md says so.
        ("in every respect", &disguised, true, ""),
        ("honest", &honest, true, ""),
    ] {
        keep(
            &noisy.project,
            &[(&base, &reports[&base]), (&older, report)],
        );
        let judgement = noisy.unchanged();
        assert_eq!(
            served(&judgement),
            believed.then_some(1),
            "{name}: {}",
            codes(&judgement)
        );
        let codes = codes(&judgement);
        assert_eq!(
            codes.contains("stored_not_believed"),
            !told.is_empty(),
            "{name}: {codes}"
        );
        assert!(codes.contains(told), "{name}: {codes}");
    }
    // One of a commit that is no ancestor of the base, however it calls itself.
    let apart = git(&root, &["commit-tree", "-m", "apart", "HEAD^{tree}"]);
    let mut other = honest.clone();
    other["run"]["session"]["commit"] = json!(apart);
    keep(
        &noisy.project,
        &[(&base, &reports[&base]), (&apart, &other)],
    );
    assert_eq!(served(&noisy.unchanged()), None);
}

#[test]
fn answers_of_the_cache_are_no_repeats_and_many_reports_of_a_worse_base_hide_no_drop() {
    let mut noisy = Noisy::new("cache: true\n", "");
    noisy
        .project
        .write(".gitignore", "/kelvin/\n/calls\n/.kelvin-cache/\n");
    commit(&noisy.project, "ignore");
    // The script names the file of its luck, so that another luck is no answer of the cache.
    noisy.keep(1);
    for _ in 0..3 {
        noisy.again();
    }
    let hits =
        noisy.project.json("kelvin/report.json")["run"]["session"]["cost"]["cache_hits"].clone();
    assert!(hits.as_u64() > Some(50), "{hits}");
    let judgement = noisy.unchanged();
    assert_eq!(served(&judgement), None, "{}", codes(&judgement));

    // Whoever may push keeps worse reports of older commits, each of which fits its commit in every respect.
    let mut noisy = Noisy::new("", "");
    noisy.keep(5);
    let root = noisy.project.root().to_path_buf();
    let commits: Vec<String> = (0..5)
        .map(|at| git(&root, &["rev-parse", &format!("HEAD~{at}")]))
        .collect();
    let honest = kept(&noisy.project);
    let text = noisy.project.read(PIPELINE);
    noisy.project.write(PIPELINE, &deafer(&text));
    noisy.project.check();
    let forged = noisy.project.json("kelvin/report.json");
    noisy.project.write(PIPELINE, &text);
    let mut all: Vec<(&str, Value)> = vec![(&commits[0], honest[&commits[0]].clone())];
    for commit in &commits[1..] {
        let mut report = honest[commit].clone();
        report["metrics"] = forged["metrics"].clone();
        report["probes"]["evidence"]["items"] = forged["probes"]["evidence"]["items"].clone();
        report["notices"] = forged["notices"].clone();
        all.push((commit, report));
    }
    let all: Vec<(&str, &Value)> = all
        .iter()
        .map(|(commit, report)| (*commit, report))
        .collect();
    keep(&noisy.project, &all);
    let judgement = noisy.judged("head", deafer);
    // They do not make it a pass: they are further apart than their noise, and that is said.
    assert_ne!(
        judgement["verdict"],
        json!("pass"),
        "{}",
        judgement["reasons"]
    );
}
