//! Decisions in prose, compared by a judge: pipelines whose right answer is known, and a judge that is a
//! command and can tell what they mean.

mod gated;
mod known;

use kelvin_fixtures::report::EvidenceReport as _;
use kelvin_fixtures::text::redacted;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{CheckRequest, check, recompute};
use crate::registry::Registry;
use kelvin_base::notice::Code;
use kelvin_gate::report::Report;
use kelvin_record::Shard;
use kelvin_run::Silent;
use kelvin_run::config::Overrides;

/// Answers by the rule of the case, in words that depend on everything else.
const PARAPHRASES: &str = r#"
verdict='is not allowed'
while IFS= read -r line; do case $line in *'x holds'*) verdict='is allowed';; esac; done < "$1"
sum=$(cksum < "$1")
case $((${sum%% *} % 3)) in
0) text="This $verdict." ;;
1) text="By the rule, it $verdict" ;;
*) text="The request $verdict, as the rule says." ;;
esac
printf '{"decision": "%s"}' "$text" > "$2"
"#;

/// The same words, and a verdict that depends on what should not matter.
const CHANGES_ITS_MIND: &str = r#"
sum=$(cksum < "$1")
if test $((${sum%% *} % 2)) = 0; then verdict='is allowed'; else verdict='is not allowed'; fi
printf '{"decision": "By the rule, it %s"}' "$verdict" > "$2"
"#;

/// Tells whether both texts say the same, and counts its calls.
const JUDGE: &str = r#"
question=$(cat)
echo call >> calls.log
verdict() { text=${question#*BEGIN TEXT $1 }; case ${text%%END TEXT*} in *'not allowed'*) verdict=no;; *) verdict=yes;; esac; }
verdict ONE
one=$verdict
verdict TWO
if test "$one" = "$verdict"; then score=1; else score=0; fi
printf 'My grade:\n```json\n{"notes": "as the rule says", "quality_score": %s}\n```\n' "$score"
"#;

/// A judge that cannot make anything of one of the wordings.
const STUMBLES: &str = r#"
question=$(cat)
echo call >> calls.log
case $question in *"
By the rule"*) echo 'hard to say'; exit;; esac
printf '{"quality_score": 1}'
"#;

/// Vectors that tell the two verdicts apart, and nothing else.
const EMBEDDER: &str = r#"
texts=$(cat)
echo call >> calls.log
vector() { case "$1" in *'not allowed'*) printf '[0, 1]' ;; *) printf '[1, 0]' ;; esac; }
one=${texts%%'","'*}
other=${texts#*'","'}
printf '[%s, %s]' "$(vector "$one")" "$(vector "$other")"
"#;

struct Project(TempDir);

impl Project {
    fn new(pipeline: &str, judge: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir(root.join("cases")).expect("made");
        for (name, rule) in [("a", "x holds"), ("b", "y holds"), ("c", "x holds, z too")] {
            let text = format!(
                "## Rule\n\n{rule}\n\n## Note\n\nn {name}\n\n## Other\n\no\n\n## More\n\nm\n"
            );
            fs::write(root.join(format!("cases/{name}.md")), text).expect("written");
        }
        fs::write(root.join("pipeline.sh"), pipeline).expect("written");
        fs::write(root.join("judge.sh"), judge).expect("written");
        Self(folder)
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    /// The configuration with this scorer, and further lines.
    fn configured(&self, scorer: &str, more: &str) -> anyhow::Result<PathBuf> {
        let file = self.root().join("kelvin.yaml");
        let text = format!(
            "run: sh pipeline.sh {{input}} {{output}}\ncases: cases\ndecision_field: decision\n\
             governing_types: [rule]\nvariants: {{reorder: 4, pad_length: 3, pad_content: 0, swap: 2}}\n\
             scorer: {scorer}\nmodels: {{judge: {{kind: cmd, run: sh judge.sh}}}}\n{more}"
        );
        fs::write(&file, text)?;
        Ok(file)
    }

    fn check(&self, scorer: &str, more: &str) -> anyhow::Result<Report> {
        self.check_shard(scorer, more, None)
    }

    /// The same of a share of the cases, into a folder of its own.
    fn check_shard(
        &self,
        scorer: &str,
        more: &str,
        shard: Option<Shard>,
    ) -> anyhow::Result<Report> {
        let file = self.configured(scorer, more)?;
        let out = shard.map(|shard| self.root().join(format!("shards/{}", shard.index)));
        let request = CheckRequest {
            overrides: Overrides {
                file: Some(file),
                ..Overrides::default()
            },
            shard,
            out,
            ..CheckRequest::new(Registry::shipped())
        };
        Ok(check(&request, &Silent)?.report)
    }

    /// How many calls of the judge there were since the last time.
    fn calls(&self) -> usize {
        let log = self.root().join("calls.log");
        let calls = fs::read_to_string(&log).unwrap_or_default().lines().count();
        let _ = fs::remove_file(log);
        calls
    }
}

fn value(report: &Report, id: &str) -> Option<f64> {
    report.metrics[id].value
}

fn why(report: &Report, id: &str) -> String {
    report.metrics[id].reason.clone().unwrap_or_default()
}

#[test]
fn paraphrases_are_a_change_for_exact_and_none_for_a_judge() {
    let project = Project::new(PARAPHRASES, JUDGE);
    let exact = project.check("exact", "").expect("measured");
    assert!(value(&exact, "evidence.invariance") < Some(0.7));
    assert_eq!(
        project.calls(),
        0,
        "no run calls a model unless it is configured"
    );

    let judged = project
        .check("{llm: {model: judge}}", "")
        .expect("measured");
    assert_eq!(value(&judged, "evidence.invariance"), Some(1.0));
    // What a swap moves is not hidden by it.
    assert!(value(&judged, "evidence.sensitivity") > Some(0.0));
    assert!(value(&judged, "evidence.sensitivity") < value(&exact, "evidence.sensitivity"));
    let calls = project.calls();
    let pairs: usize = judged.basis().cases;
    assert!(calls >= pairs, "{calls} calls");
    let compared: usize = judged.metrics["evidence.invariance"].n;
    assert!(
        calls < compared,
        "equal decisions and known pairs ask nobody: {calls} of {compared}"
    );
}

#[test]
fn a_pipeline_that_changes_its_mind_is_not_invariant_for_a_judge_either() {
    let project = Project::new(CHANGES_ITS_MIND, JUDGE);
    let judged = project
        .check("{llm: {model: judge}}", "")
        .expect("measured");
    assert!(value(&judged, "evidence.invariance") < Some(0.8));
    let exact = project.check("exact", "").expect("measured");
    assert_eq!(
        value(&judged, "evidence.invariance"),
        value(&exact, "evidence.invariance")
    );
}

#[test]
fn vectors_tell_a_meaning_that_they_hold() {
    let project = Project::new(PARAPHRASES, EMBEDDER);
    let judged = project
        .check("{embedding: {model: judge}}", "")
        .expect("measured");
    assert_eq!(value(&judged, "evidence.invariance"), Some(1.0));
    let project = Project::new(CHANGES_ITS_MIND, EMBEDDER);
    let judged = project
        .check("{embedding: {model: judge}}", "")
        .expect("measured");
    assert!(value(&judged, "evidence.invariance") < Some(0.8));
}

#[test]
fn the_judge_is_asked_about_the_donors_of_the_swaps_too() {
    let project = Project::new(PARAPHRASES, JUDGE);
    let judged = project
        .check("{llm: {model: judge}}", "")
        .expect("measured");
    assert_eq!(value(&judged, "evidence.following"), Some(1.0));
    assert!(value(&judged, "evidence.donor_contrast") > Some(0.0));
}

#[test]
fn pairs_without_a_score_are_counted_and_too_many_of_them_leave_nothing_measured() {
    let project = Project::new(PARAPHRASES, STUMBLES);
    let judged = project
        .check("{llm: {model: judge}}", "")
        .expect("measured");
    let told: Vec<&str> = judged
        .notices
        .iter()
        .chain(judged.cases().values().flat_map(|case| &case.notices))
        .filter(|notice| notice.code == Code::Unscored)
        .map(|notice| notice.text.as_str())
        .collect();
    assert!(!told.is_empty());
    insta::assert_snapshot!(told[0], @"the judge gave no score for 4 of 4 pairs of decisions, which are in no figure: the answer of the judge has no JSON object: `hard to say`");
    assert_eq!(value(&judged, "evidence.invariance"), None);
    let reason = why(&judged, "evidence.invariance");
    insta::assert_snapshot!(reason, @"12 of 27 samples are unscored, more than `max_errors` (10 %) allows");
    assert!(judged.metrics["evidence.invariance"].n_failed > 0);
    assert_eq!(value(&judged, "evidence.failure_rate"), Some(0.0));
    // It stays so when the figures are made again.
    let again = recompute("run", judged);
    assert!(again.changed.is_empty(), "{:?}", again.changed.keys());
}

#[test]
fn a_decision_that_is_no_text_is_refused() {
    let number = "printf '{\"decision\": 7}' > \"$2\"\n";
    let project = Project::new(number, JUDGE);
    let error = project
        .check("{llm: {model: judge}}", "")
        .expect_err("refused")
        .to_string();
    insta::assert_snapshot!(redacted(&error), @"
    the first baseline, of case `a`, has no usable decision: the decision in `decision` is a number, not a text
      help: set `decision_field` in `[TEMP]/kelvin.yaml` to a field whose value the scorer can compare; nothing else was run
    ");
    assert_eq!(project.calls(), 0);
}

#[test]
fn a_score_that_is_high_enough_may_count_as_no_change() {
    let near = "cat > /dev/null\nprintf '{\"quality_score\": 0.9}'\n";
    let project = Project::new(PARAPHRASES, near);
    let plain = project
        .check("{llm: {model: judge}}", "")
        .expect("measured");
    let invariance = value(&plain, "evidence.invariance").expect("measured");
    assert!(invariance > 0.9 && invariance < 1.0, "{invariance}");
    let bound = project
        .check("{llm: {model: judge, same_from: 0.85}}", "")
        .expect("measured");
    assert_eq!(value(&bound, "evidence.invariance"), Some(1.0));
    // Figures of the two are never compared.
    assert_ne!(plain.basis().scorer, bound.basis().scorer);
    assert_ne!(plain.run.fingerprints.config, bound.run.fingerprints.config);
}

#[test]
fn what_is_wrong_with_such_a_scorer_is_told_at_its_place() {
    let project = Project::new(PARAPHRASES, JUDGE);
    let refused = |scorer: &str| {
        let error = project.check(scorer, "").expect_err("refused").to_string();
        assert!(error.contains("scorer: {"), "the line is shown: {error}");
        error
    };
    let mut told = Vec::new();
    for scorer in [
        "{llm: {}}",
        "{llm: {model: nobody}}",
        "{llm: {model: judge, vots: 3}}",
        "{llm: {model: judge, votes: 0}}",
        "{llm: {model: judge, choices: {A: 1}}}",
        "{llm: {model: judge, same_from: 2}}",
        "{llm: {model: judge, mode: pairwise}}",
        "{embedding: {model: judge, votes: 3}}",
    ] {
        let found = refused(scorer);
        told.push(found.to_string());
    }
    insta::assert_snapshot!(redacted(&told.join("\n")), @"
    the key `model` is missing in `scorer.llm`
     --> [TEMP]/kelvin.yaml:6:15
      |
    6 | scorer: {llm: {}}
      |               ^
    `scorer.llm.model` names the model `nobody`, which is not declared
     --> [TEMP]/kelvin.yaml:6:23
      |
    6 | scorer: {llm: {model: nobody}}
      |                       ^^^^^^
      |
      = help: declared under `models`: judge
    unknown key `vots` in `scorer.llm`
     --> [TEMP]/kelvin.yaml:6:30
      |
    6 | scorer: {llm: {model: judge, vots: 3}}
      |                              ^^^^
      |
      = help: did you mean `votes`?
    `scorer.llm.votes` must be a whole number from 1 to 99, found `0`
     --> [TEMP]/kelvin.yaml:6:37
      |
    6 | scorer: {llm: {model: judge, votes: 0}}
      |                                     ^
    a single choice is none (add another one)
     --> [TEMP]/kelvin.yaml:6:9
      |
    6 | scorer: {llm: {model: judge, choices: {A: 1}}}
      |         ^
    `scorer.llm.same_from` must be a number from 0 to 1, found `2`
     --> [TEMP]/kelvin.yaml:6:41
      |
    6 | scorer: {llm: {model: judge, same_from: 2}}
      |                                         ^
    unknown key `mode` in `scorer.llm`
     --> [TEMP]/kelvin.yaml:6:30
      |
    6 | scorer: {llm: {model: judge, mode: pairwise}}
      |                              ^^^^
      |
      = help: did you mean `model`?
    unknown key `votes` in `scorer.embedding`
     --> [TEMP]/kelvin.yaml:6:36
      |
    6 | scorer: {embedding: {model: judge, votes: 3}}
      |                                    ^^^^^
      |
      = help: known here: model, same_from; `votes` is a key of `grading.judge`
    ");
    assert_eq!(project.calls(), 0);
}

#[test]
fn a_list_of_what_would_be_run_has_the_most_calls_of_the_judge_and_makes_none() {
    let project = Project::new(PARAPHRASES, JUDGE);
    let listed = |scorer: &str, more: &str| {
        let file = project.configured(scorer, more).expect("written");
        let overrides = Overrides {
            file: Some(file),
            ..Overrides::default()
        };
        let request = CheckRequest {
            overrides,
            ..CheckRequest::new(Registry::shipped())
        };
        super::asked::list(&request, false)
            .expect("listed")
            .invocations
    };
    let once = listed("{llm: {model: judge}}", "");
    let variants: usize = once
        .iter()
        .filter(|(kind, _)| is_variant(kind))
        .map(|(_, n)| n)
        .sum();
    let pairs = variants + once["swap"];
    assert_eq!(once["judge (at most)"], pairs);
    let twice = listed("{llm: {model: judge, swap_order: true, votes: 3}}", "");
    assert_eq!(twice["judge (at most)"], 6 * pairs);
    let floor = listed(
        "{embedding: {model: judge}}",
        "noise_floor: {enabled: true, replications: 4}\n",
    );
    assert_eq!(floor["judge (at most)"], pairs + 3 * 6);
    assert!(!listed("exact", "").contains_key("judge (at most)"));
    assert_eq!(project.calls(), 0);
}

fn is_variant(kind: &str) -> bool {
    kind != "baseline" && !kind.starts_with("judge")
}
