//! The gate on pipelines whose truth is known: a rule over declared types, and what a change does to that rule.
//!
//! Each right verdict has a twin beside it that must not be red. The luck of a noisy pipeline follows from a file
//! beside the repository and from the input, so that every run of a test meets the same one.

mod answers;
mod conditions;
mod items;
mod noise;
mod places;
mod queries;
mod scenarios;
mod strays;

use std::fs;

use serde_json::{Value, json};

use crate::answers::leaves_nothing_to_do;
use crate::project::{Project, Said};
use crate::repository::{commit, git, verdict};

/// The pipeline: it reads its rule from a file of the repository.
const PIPELINE: &str = include_str!("../../fixtures/pipelines/known.awk");

/// The types that a rule may read, in the order in which a suite has them.
const TYPES: [&str; 3] = ["income", "collateral", "history"];

/// Swaps are what most of these tests are about. The variants that must hold tell that nothing is noisy: with one of them
/// a base that was run once would be too little known.
const FEW: &str = "variants: {reorder: 3, pad_length: 0, pad_content: 0, swap: 3}\n";

/// What a suite is made of.
struct Suite {
    cases: usize,
    types: usize,
    /// In how many of a hundred cases the grade of a type is 500 or more.
    held: usize,
    /// Further lines of the configuration.
    settings: String,
    /// Whether a process of its own answers each call. One that lasts is much quicker and knows nothing of repeats, so
    /// that it can have no luck.
    has_luck: bool,
}

impl Suite {
    fn of(cases: usize, types: usize) -> Self {
        Self {
            cases,
            types,
            held: 50,
            settings: FEW.to_owned(),
            has_luck: false,
        }
    }

    fn held(self, held: usize) -> Self {
        Self { held, ..self }
    }

    /// Lets each call be a process, which has luck and an environment.
    fn with_luck(self) -> Self {
        let has_luck = true;
        Self { has_luck, ..self }
    }

    fn with(self, settings: &str) -> Self {
        let settings = self.settings + settings;
        Self { settings, ..self }
    }

    /// A repository of these cases whose pipeline decides by evidence.
    fn known(&self) -> Known {
        let types = TYPES[..self.types].join(", ");
        let run = if self.has_luck {
            "awk -v luck={root}/../luck -v out={output} -f {root}/known.awk {root}/rule.txt {input}"
        } else {
            "{worker: 'awk -W interactive -v rules={root}/rule.txt -f {root}/known.awk'}"
        };
        let lines = format!("decision_field: decision\ngoverning_types: [{types}]\n");
        self.repository(run, &lines)
    }

    /// A repository of these cases as scenarios, of which three things have to hold. The grades play no part.
    fn scenarios(&self) -> Known {
        self.repository(
            "awk -v luck={root}/../luck -f {root}/known.awk {root}/rule.txt {input}",
            "invariants:\n  \
             answers: {description: It answers, gate: true, check: {type: contains, value: decision}}\n  \
             allowed: {description: It says nothing forbidden, gate: true, \
             check: {type: contains, value: FORBIDDEN, not: true}}\n  \
             gives_reasons: {description: It gives reasons, check: {type: contains, value: reasons}}\n",
        )
    }

    fn repository(&self, run: &str, lines: &str) -> Known {
        let project = Project::new("");
        let root = project.root();
        fs::remove_dir_all(root.join("cases")).expect("removed");
        for at in 0..self.cases {
            project.write(&format!("cases/{}.md", name(at)), &self.text(at));
        }
        fs::write(root.with_file_name("luck"), "0").expect("written");
        project.write("known.awk", PIPELINE);
        project.write(".gitignore", "/kelvin/\n");
        let settings = &self.settings;
        project.write(
            "kelvin.yaml",
            &format!("run: {run}\n{lines}cases: cases\njobs: 2\n{settings}"),
        );
        git(root, &["init", "--quiet", "--initial-branch=main"]);
        Known {
            project,
            cases: self.cases,
        }
    }

    fn text(&self, case: usize) -> String {
        let grades = TYPES[..self.types].iter().enumerate().map(|(at, unit)| {
            let mixed = mixed((at as u64) << 32 | case as u64);
            let grade = (mixed % 500) as usize + if self.holds(at, case) { 500 } else { 0 };
            let (first, rest) = unit.split_at(1);
            let title = format!("{}{rest}", first.to_uppercase());
            format!("\n## {title}\n\nGrade {grade} of file {case}\n")
        });
        let grades: String = grades.collect();
        format!(
            "# Request {case}\n\n## Summary\n\nRequest {case} came in on day {case}.\n{grades}\n\
             ## Cost\n\nIt costs {} a day.\n\n## Notes\n\nLast year it was number {}.\n",
            100 + case,
            40 + case
        )
    }

    /// The cases stand in an order of its own for each type, and the first so many of a hundred hold.
    fn holds(&self, at: usize, case: usize) -> bool {
        let rank = |case: usize| mixed((at as u64 + 1) << 40 | case as u64);
        let before = (0..self.cases).filter(|other| rank(*other) < rank(case));
        before.count() * 100 < self.held * self.cases
    }
}

/// The name of a case.
fn name(case: usize) -> String {
    format!("request-{case:02}")
}

/// A rule over the first so many types.
fn rule(kind: &str, types: usize) -> String {
    format!("rule {kind} {}\n", TYPES[..types].join(" "))
}

/// The rule as it is where one type counts no more in every so many cases; in every single one that is all of them.
fn without(rule: &str, unit: &str, every: usize) -> String {
    format!("{rule}forget {unit} {every}\n")
}

/// A repository with its base and its change.
struct Known {
    project: Project,
    cases: usize,
}

impl Known {
    /// Measures a rule so many times on the base branch, and keeps the report in this clone.
    fn base(&self, rule: &str, repeats: usize) -> &Self {
        self.project
            .write("rule.txt", &format!("{rule}salt base\n"));
        commit(&self.project, "base");
        let repeats = repeats.to_string();
        self.project
            .kelvin(&["check", "--repeats", &repeats])
            .expect(0);
        self.project
            .kelvin(&["baseline", "save", "--local"])
            .expect(0);
        fs::copy(self.project.path("kelvin/report.json"), self.kept()).expect("kept");
        self
    }

    /// Another day: noisy calls fall otherwise from here on.
    fn lucky(&self, luck: usize) -> &Self {
        let path = self.project.root().with_file_name("luck");
        fs::write(path, luck.to_string()).expect("written");
        self
    }

    /// A change to another rule, judged with these options.
    fn gate(&self, rule: &str, options: &[&str]) -> Gated {
        self.gate_beside(rule, options, |_| ())
    }

    /// The same for a change that edits something else as well.
    fn gate_beside(&self, rule: &str, options: &[&str], edit: impl FnOnce(&Project)) -> Gated {
        let root = self.project.root();
        git(root, &["checkout", "--quiet", "-B", "change", "main"]);
        self.project
            .write("rule.txt", &format!("{rule}salt head\n"));
        edit(&self.project);
        commit(&self.project, "change");
        let said = self.project.kelvin(&[&["gate"], options].concat());
        let judgement = verdict(&self.project, &said);
        let page = self.project.read("kelvin/gate.md");
        git(root, &["checkout", "--quiet", "main"]);
        Gated {
            judgement,
            page,
            said,
        }
    }

    fn kept(&self) -> std::path::PathBuf {
        self.project.root().with_file_name("base.json")
    }

    /// The cases of the base's swaps of a type in which the answer moved: those that can tell a loss.
    fn telling(&self, unit: &str) -> Vec<usize> {
        let (kept, prefix) = (self.kept(), format!("swap-{unit}-"));
        let text = fs::read_to_string(kept).expect("a base was measured");
        let report: Value = serde_json::from_str(&text).expect("it is JSON");
        let items = &report["probes"]["evidence"]["items"];
        (0..self.cases)
            .flat_map(|case| {
                let variants = items[name(case)]["variants"].as_array().expect("a list");
                let tells = |variant: &&Value| {
                    let id = variant["id"].as_str().expect("a text");
                    id.starts_with(&prefix)
                        && variant["samples"][0]["distance"].as_f64() > Some(0.0)
                };
                vec![case; variants.iter().filter(tells).count()]
            })
            .collect()
    }
}

/// What a gate said.
struct Gated {
    judgement: Value,
    page: String,
    said: Said,
}

impl Gated {
    fn is(&self, word: &str) -> bool {
        self.judgement["verdict"] == json!(word)
    }

    /// The verdict on following one type.
    fn following(&self, unit: &str) -> &Value {
        &self.judgement["metrics"][format!("evidence.following.{unit}")]["verdict"]
    }

    #[track_caller]
    fn red(&self, what: &str) -> &Self {
        assert!(self.is("regression"), "{what}: {}", self.shown());
        assert_eq!(self.said.code, Some(3), "{what}: {}", self.shown());
        self
    }

    #[track_caller]
    fn not_red(&self, what: &str) -> &Self {
        assert!(!self.is("regression"), "{what}: {}", self.shown());
        assert_eq!(self.said.code, Some(0), "{what}: {}", self.shown());
        self
    }

    #[track_caller]
    fn passes(&self, what: &str) -> &Self {
        assert!(self.is("pass"), "{what}: {}", self.shown());
        self.not_red(what)
    }

    /// The types of which the verdict says that the suite cannot see their loss.
    fn unseen(&self) -> Vec<&str> {
        let metrics = self.judgement["metrics"].as_object().expect("metrics");
        let swaps = metrics.values().map(|metric| &metric["swaps"]);
        let unseen = swaps.filter(|swaps| swaps["unseen"] == true);
        unseen
            .filter_map(|swaps| swaps["of_type"].as_str())
            .collect()
    }

    /// A pass that does not even say that the suite cannot see the loss of this type.
    fn is_plain_pass(&self, unit: &str) -> bool {
        let reasons = self.judgement["reasons"].as_array().expect("a list");
        let names = |reason: &Value| reason["text"].as_str().unwrap_or_default().contains(unit);
        let is_told = self.unseen().contains(&unit) && reasons.iter().any(names);
        self.is("pass") && !is_told
    }

    /// The heading and the sentence below it.
    fn first_lines(&self) -> String {
        self.page.lines().take(3).collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn says_first(&self, words: &str) -> &Self {
        assert!(
            self.first_lines().contains(words),
            "{words}: {}",
            self.shown()
        );
        self
    }

    #[track_caller]
    fn leaves_something_to_do(&self, what: &str) -> &Self {
        let calm = leaves_nothing_to_do(&self.page);
        assert!(!calm, "{what}: {}", self.shown());
        self
    }

    fn shown(&self) -> String {
        let reasons = self.judgement["reasons"].as_array().expect("a list");
        let texts = reasons.iter().filter_map(|reason| reason["text"].as_str());
        let texts: Vec<&str> = texts.collect();
        format!("{}\n{}", self.first_lines(), texts.join("\n"))
    }
}

/// The last step of `SplitMix64`, which scatters neighbouring numbers.
const fn mixed(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
