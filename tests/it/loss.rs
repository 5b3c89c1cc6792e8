use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::answers::leaves_nothing_to_do;
use crate::project::{KNOWING, Project, Said};
use crate::repository::{bare, commit, git, pushed, verdict};

/// How a pipeline decides. It knows every case by the line of its title.
struct Pipeline<'a> {
    /// Cases in which it does not look at the rule.
    deaf_to_rule: &'a [usize],
    /// Cases in which it does not look at the claim.
    deaf_to_claim: &'a [usize],
    /// What it does first, as shell.
    first: &'a str,
}

const RIGHT: Pipeline<'static> = Pipeline {
    deaf_to_rule: &[],
    deaf_to_claim: &[],
    first: "",
};

const SUITE: usize = 20;

fn name(case: usize) -> String {
    format!("c{case:02}")
}

fn title(case: usize) -> String {
    format!("# Request {}", name(case))
}

impl Pipeline<'_> {
    /// The decision is the text of the rule and of the claim.
    fn script(&self) -> String {
        let list = |cases: &[usize]| {
            let titles: Vec<String> = cases.iter().map(|case| title(*case)).collect();
            format!("|{}|", titles.join("|"))
        };
        let before = if self.first.is_empty() { "" } else { KNOWING };
        format!(
            "{before}{}\n\
             r=1 c=1 at= a= b=; read -r title < \"$1\"\n\
             case '{}' in *\"|$title|\"*) r=;; esac\n\
             case '{}' in *\"|$title|\"*) c=;; esac\n\
             while IFS= read -r line || [ \"$line\" ]; do case $line in\n\
             '## '*) at=${{line#'## '}};;\n\
             *[!\\ ]*) case $at in Rule*) a=$a${{r:+$line}};; Claim*) b=$b${{c:+$line}};; esac;; esac\n\
             done < \"$1\"\n\
             printf '{{\"decision\": \"%s;%s\"}}' \"$a\" \"$b\" > \"$2\"\n",
            self.first,
            list(self.deaf_to_rule),
            list(self.deaf_to_claim),
        )
    }
}

fn text(case: usize) -> String {
    format!(
        "{}\n\nSent in on day {case}.\n\n## Summary\n\nThe team of {case} asks for a room.\n\n\
         ## Rule\n\nAt most {} people may use it.\n\n## Claim\n\n{} people come.\n\n\
         ## History\n\nThey had room {} last year.\n",
        title(case),
        case + 3,
        2 * case + 1,
        case + 40,
    )
}

fn file(case: usize) -> String {
    format!("cases/{}.md", name(case))
}

const TYPES: &str = "governing_types: [rule, claim]\n";
const FEW: &str = "variants: {reorder: 2, pad_length: 1, pad_content: 1, swap: 2}\n";

fn configuration(types: &str, more: &str) -> String {
    format!(
        "run: sh pipeline.sh {{input}} {{output}}\ncases: cases\ndecision_field: decision\n\
         jobs: 2\n{types}{more}"
    )
}

/// So many cases with a right pipeline, its report saved, and a branch to change it on.
fn suite(count: usize, more: &str) -> (TempDir, Project) {
    let (remote, url) = bare();
    let project = pushed(&url, &RIGHT.script());
    for case in ["alder", "birch", "cedar", "dogwood"] {
        fs::remove_file(project.path(&format!("cases/{case}.md"))).expect("removed");
    }
    for case in 1..=count {
        project.write(&file(case), &text(case));
    }
    project.write("kelvin.yaml", &configuration(TYPES, more));
    commit(&project, "the suite");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    project.check();
    project.kelvin(&["baseline", "save"]).expect(0);
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    (remote, project)
}

fn decides(project: &Project, pipeline: &Pipeline<'_>) {
    project.write("pipeline.sh", &pipeline.script());
}

/// Writes a case with an empty line more at its end.
fn edit(project: &Project, case: usize) {
    project.write(&file(case), &format!("{}\n\n", text(case)));
}

/// The verdict, the exit code, and the first lines of the page.
struct Gated {
    judgement: Value,
    said: Said,
    heading: String,
}

fn gate(project: &Project, arguments: &[&str]) -> Gated {
    commit(project, "the change");
    let arguments: Vec<&str> = [&["gate"], arguments].concat();
    let said = project.kelvin(&arguments);
    let judgement = verdict(project, &said);
    let page = project.read("kelvin/gate.md");
    Gated {
        judgement,
        said,
        heading: page.lines().next().unwrap_or_default().to_owned(),
    }
}

impl Gated {
    #[track_caller]
    fn is(&self, word: &str, code: i32) -> &Self {
        let shown = format!("{}\n{}", self.said.stdout, self.judgement["reasons"]);
        assert_eq!(self.judgement["verdict"], json!(word), "{shown}");
        assert_eq!(self.said.code, Some(code), "{shown}");
        self
    }

    /// In the first line of the page, and on the line of the terminal.
    #[track_caller]
    fn says(&self, words: &str) -> &Self {
        assert!(self.heading.contains(words), "{}", self.heading);
        assert!(self.said.stdout.contains(words), "{}", self.said.stdout);
        self
    }

    fn of(&self, metric: &str) -> &Value {
        &self.judgement["metrics"][metric]
    }
}

const SENSITIVITY: &str = "evidence.following.rule";
const OF_CLAIM: &str = "evidence.following.claim";
const FAILURES: &str = "evidence.failure_rate";

#[test]
fn a_drop_is_not_hidden_by_an_empty_line_in_the_cases_that_drop() {
    // 8 of 20 cases no longer heed the rule, so that 16 of its 40 swaps are lost.
    let (_remote, project) = suite(SUITE, FEW);
    let moved: Vec<usize> = (1..=8).collect();
    let worse = Pipeline {
        deaf_to_rule: &moved,
        ..RIGHT
    };
    decides(&project, &worse);
    let open = gate(&project, &[]);
    open.is("regression", 3);
    let drop = |gated: &Gated| gated.of(SENSITIVITY)["drop"].as_f64().expect("a number");
    assert!((drop(&open) - 0.4).abs() < 1e-9, "{}", drop(&open));
    for case in &moved {
        edit(&project, *case);
    }
    for arguments in [&[][..], &["--rerun"]] {
        let hidden = gate(&project, arguments);
        hidden.is("regression", 3).says("8 of 20 cases were edited");
        assert_eq!(hidden.of(SENSITIVITY)["unpaired"], json!(true));
        assert!((drop(&hidden) - 0.4).abs() < 1e-9, "{}", drop(&hidden));
    }
    // The rest of the cases edited as well, but for one.
    for case in 1..SUITE {
        edit(&project, case);
    }
    let alone = gate(&project, &[]);
    alone.is("regression", 3).says("19 of 20 cases were edited");
}

#[test]
fn runs_that_exist_already_are_not_a_budget_that_forbids_them() {
    // Three of 10 edited cases no longer heed the rule, and five runs of each have been made already.
    let more = format!("{FEW}repeats: 5\n");
    let (_remote, project) = suite(10, &more);
    let moved: Vec<usize> = (1..=3).collect();
    decides(
        &project,
        &Pipeline {
            deaf_to_rule: &moved,
            ..RIGHT
        },
    );
    for case in &moved {
        edit(&project, *case);
    }
    let gated = gate(&project, &["--rerun"]);
    gated.is("inconclusive", 0);
    let reasons = gated.judgement["reasons"].as_array().expect("a list");
    let of_metric = reasons
        .iter()
        .find(|one| one["metric"] == json!("evidence.following.rule"));
    let told = of_metric.expect("it is open")["text"]
        .as_str()
        .expect("a text");
    insta::assert_snapshot!(redacted(told), @"`evidence.following.rule` fell from 1.0000 to 0.7000 over 10 cases of the same name, with the inputs that changed, by 0.3000 (the limit is 0.0500), which the inputs that changed or noise may explain: it is between -0.0664 and 0.5113; after re-runs such a drop warns (`on_suspected: auto`); most of it in `c01`, `c02`, `c03`");
}

#[test]
fn edited_cases_of_a_right_pipeline_are_no_regression_and_the_page_says_how_many() {
    let (_remote, project) = suite(SUITE, FEW);
    edit(&project, 3);
    let one = gate(&project, &[]);
    one.is("pass", 0).says("1 of 20 cases was edited");
    assert!(one.heading.starts_with("### ✅"), "{}", one.heading);
    assert!(leaves_nothing_to_do(&project.read("kelvin/gate.md")));
    for case in 1..SUITE {
        edit(&project, case);
    }
    let many = gate(&project, &[]);
    many.is("pass", 0).says("19 of 20 cases were edited");
    assert!(many.heading.starts_with("### ⚠️"), "{}", many.heading);
    insta::assert_snapshot!(lines_with(&many.said.stdout, &["`evidence.failure_rate`"]), @"
      ! `evidence.failure_rate` rests on few pairs: only 9 of 180 cells, in 1 case,
      · `evidence.failure_rate` did not change: every value is the same on both
    ");
    let strict = format!("{FEW}gate: {{on_edited: fail}}\n");
    project.write("kelvin.yaml", &configuration(TYPES, &strict));
    let failed = gate(&project, &[]);
    failed
        .is("inconclusive", 3)
        .says("19 of 20 cases were edited");
}

#[test]
fn edits_that_hide_a_loss_fail_where_edits_are_meant_to() {
    let strict = format!("{FEW}gate: {{on_edited: fail}}\n");
    for (deaf, exit) in [(&[1, 2][..], 3), (&[], 0)] {
        let (_remote, project) = suite(20, &strict);
        decides(
            &project,
            &Pipeline {
                deaf_to_rule: deaf,
                ..RIGHT
            },
        );
        for case in [1, 2] {
            edit(&project, case);
        }
        project.write("pipeline.txt", "another file of the pipeline\n");
        let gated = gate(&project, &["--rerun"]);
        assert_eq!(gated.said.code, Some(exit), "{deaf:?}");
        let reasons = gated.judgement["reasons"].as_array().expect("a list");
        let told = reasons
            .iter()
            .find(|one| one["code"] == json!("measured_as_base"));
        let failing = told.expect("it was asked")["effect"] == json!("fail");
        assert_eq!(failing, exit == 3, "{reasons:?}");
    }
}

#[test]
fn an_edited_case_that_is_answered_otherwise_leaves_something_to_look_at() {
    let (_remote, project) = suite(SUITE, FEW);
    let edited = text(3).replace("7 people come", "70 people come");
    assert_ne!(edited, text(3));
    project.write(&file(3), &edited);
    let other = gate(&project, &[]);
    other
        .is("pass", 0)
        .says("1 edited case is answered otherwise");
    let page = project.read("kelvin/gate.md");
    assert!(!leaves_nothing_to_do(&page), "{page}");
    for told in [
        "`c03`, which this change edits, is answered",
        "| `c03`<br>edited",
        "`c03`: ",
    ] {
        assert!(page.contains(told), "{told} in {page}");
    }
    // The base may answer the edited text too, and answers the same.
    project.write(
        "kelvin.yaml",
        &configuration(TYPES, &format!("{FEW}baseline: {{compute: true}}\n")),
    );
    let asked = gate(&project, &["--baseline", "compute"]);
    asked.is("pass", 0).says("1 of 20 cases was edited");
    insta::assert_snapshot!(asked.heading, @"### ✅ Kelvin: pass, 1 of 20 cases was edited");
}

#[test]
fn inputs_that_crash_where_the_answer_would_be_wrong_are_lost_and_fail() {
    let (_remote, project) = suite(SUITE, FEW);
    let moved: Vec<usize> = (1..=11).collect();
    project.tell_places();
    // It crashes on the exchanges of the rule in the very cases in which it does not heed it.
    let crash = "case \"$place\" in */c0[1-9]/*/swap-rule*|*/c1[01]/*/swap-rule*) exit 4;; esac";
    decides(
        &project,
        &Pipeline {
            deaf_to_rule: &moved,
            first: crash,
            ..RIGHT
        },
    );
    let crashed = gate(&project, &[]);
    crashed.is("regression", 3);
    // A swap that gets no answer moves nothing.
    assert_eq!(crashed.of(SENSITIVITY)["verdict"], json!("regression"));
    assert_eq!(crashed.of(SENSITIVITY)["coverage"]["lost"], json!(22));
    assert_eq!(crashed.of(FAILURES)["verdict"], json!("regression"));
    // Too few crashes for the failure rate, but with the wrong answers they hide more of one type than may be lost.
    let crash = "case \"$place\" in */c0[1-4]/*/swap-rule-01*|*/c05/*/swap-rule*) exit 4;; esac";
    decides(
        &project,
        &Pipeline {
            deaf_to_rule: &[1, 2, 3],
            first: crash,
            ..RIGHT
        },
    );
    let few = gate(&project, &[]);
    few.is("regression", 3);
    let reasons = few.judgement["reasons"].as_array().expect("a list");
    let texts: Vec<String> = reasons.iter().map(|one| one["text"].to_string()).collect();
    insta::assert_snapshot!(texts[0], @r#""`rule` decides less often: 40 of 40 swaps of it moved the decision on the base, 31 do now (at most 2 may be lost)""#);
    insta::assert_snapshot!(texts[1], @r#""`evidence.following.rule` was judged without 6 of the 40 cells that the base has, in 5 cases: `c01`, `c02`, `c03` and 2 more""#);
}

#[test]
fn a_pipeline_that_gives_no_answer_any_more_fails_in_each_way_it_may() {
    let (_remote, project) = suite(12, FEW);
    project.tell_places();
    for first in [
        "case \"$place\" in */c0[1-4]/*) exit 4;; esac",
        "case \"$place\" in */c0[1-4]/*) exit 0;; esac",
        "case \"$place\" in */c0[1-4]/*) echo '{}' > \"$2\"; exit 0;; esac",
        "case \"$place\" in */c0[1-4]/*swap-*) sleep 9;; esac",
    ] {
        decides(&project, &Pipeline { first, ..RIGHT });
        let slow = format!("{FEW}timeout_s: 0.5\n");
        project.write("kelvin.yaml", &configuration(TYPES, &slow));
        commit(&project, "the change");
        let said = project.kelvin(&["gate"]);
        assert_ne!(said.code, Some(0), "{first}: {}", said.stdout);
        if said.code == Some(3) {
            let judgement = project.json("kelvin/gate.json");
            assert_ne!(
                judgement["metrics"][SENSITIVITY]["verdict"],
                json!("pass"),
                "{first}"
            );
        }
    }
    // Where every call fails, a reason has the exception, and not only how the command ended.
    project.write(
        "pipeline.sh",
        "echo 'ValueError: no such model' >&2\nexit 4\n",
    );
    commit(&project, "the change");
    project.kelvin(&["gate"]).expect(2);
    let judgement = project.json("kelvin/gate.json");
    let reasons = judgement["reasons"].as_array().expect("a list");
    let mut texts = reasons.iter().filter_map(|reason| reason["text"].as_str());
    let why = "; in `c01`: it ended with exit code 4: ValueError: no such model";
    assert!(texts.any(|text| text.ends_with(why)), "{reasons:?}");
}

#[test]
fn what_a_change_withdraws_is_unmeasured_with_its_name() {
    let (_remote, project) = suite(SUITE, FEW);
    // The type that the pipeline now ignores is taken off the list.
    let all: Vec<usize> = (1..=SUITE).collect();
    decides(
        &project,
        &Pipeline {
            deaf_to_claim: &all,
            ..RIGHT
        },
    );
    project.write(
        "kelvin.yaml",
        &configuration("governing_types: [rule]\n", FEW),
    );
    let off = gate(&project, &[]);
    off.is("unmeasured", 3);
    assert_eq!(off.of(OF_CLAIM)["cause"], json!("no_value"));
    let reasons = off.judgement["reasons"].as_array().expect("a list");
    let lost = reasons.iter().find(|reason| reason["metric"] == OF_CLAIM);
    insta::assert_snapshot!(lost.expect("it is told")["text"].as_str().expect("a text"), @"`evidence.following.claim` was not measured: the head does not have it");
    // The cases call it otherwise, and so does the list.
    for case in 1..=SUITE {
        project.write(&file(case), &text(case).replace("## Claim", "## Demand"));
    }
    let types = "governing_types: [rule, demand]\n";
    project.write("kelvin.yaml", &configuration(types, FEW));
    let renamed = gate(&project, &[]);
    renamed
        .is("unmeasured", 3)
        .says("20 of 20 cases were edited");
    assert_eq!(renamed.of(OF_CLAIM)["cause"], json!("no_value"));
    // It stays on the list, and the cases that do not heed it call it otherwise.
    decides(
        &project,
        &Pipeline {
            deaf_to_claim: &[1, 2, 3, 4, 5],
            ..RIGHT
        },
    );
    project.write("kelvin.yaml", &configuration(TYPES, FEW));
    for case in 6..=SUITE {
        project.write(&file(case), &text(case));
    }
    let some = gate(&project, &[]);
    some.is("unmeasured", 3).says("5 of 20 cases were edited");
    // Nothing has it any more: that is an error of the configuration, and as red.
    for case in 1..=SUITE {
        project.write(&file(case), &text(case).replace("## Claim", "## Demand"));
    }
    commit(&project, "the change");
    project.kelvin(&["gate"]).expect(1);
}

#[test]
fn kinds_and_variants_that_are_turned_off_are_lost() {
    let (_remote, project) = suite(SUITE, FEW);
    for fewer in [
        // A quarter of the invariance.
        "variants: {reorder: 2, pad_length: 1, pad_content: 0, swap: 2}\n",
        "variants: {reorder: 1, pad_length: 1, pad_content: 1, swap: 2}\n",
        // Half of the swaps.
        "variants: {reorder: 2, pad_length: 1, pad_content: 1, swap: 1}\n",
    ] {
        project.write("kelvin.yaml", &configuration(TYPES, fewer));
        let gated = gate(&project, &[]);
        gated.is("unmeasured", 3);
    }
    // More of them are none of that.
    let more = "variants: {reorder: 3, pad_length: 1, pad_content: 2, swap: 3}\n";
    project.write("kelvin.yaml", &configuration(TYPES, more));
    gate(&project, &[]).is("pass", 0);
}

#[test]
fn cases_that_are_removed_or_renamed_are_lost_and_added_ones_hide_nothing() {
    let (_remote, project) = suite(SUITE, FEW);
    let remove = |case: usize| fs::remove_file(project.path(&file(case))).expect("removed");
    remove(7);
    let one = gate(&project, &[]);
    one.is("pass", 0).says("1 of 20 cases was removed");
    // The three in which nothing is heeded, instead of a drop of .15.
    decides(
        &project,
        &Pipeline {
            deaf_to_rule: &[1, 2, 3],
            deaf_to_claim: &[1, 2, 3],
            ..RIGHT
        },
    );
    for case in 1..=3 {
        remove(case);
    }
    let gone = gate(&project, &[]);
    gone.is("unmeasured", 3).says("4 of 20 cases were removed");
    // They stay, and forty easy ones come: 6 of 60 would not be much.
    for case in (1..=3).chain([7]).chain(21..=60) {
        project.write(&file(case), &text(case));
    }
    let diluted = gate(&project, &["--rerun"]);
    diluted.is("regression", 3).says("40 cases were added");
    // All of them renamed, with a right pipeline and with a wrong one.
    decides(&project, &RIGHT);
    for case in 1..=60 {
        remove(case);
    }
    for case in 1..=SUITE {
        project.write(&format!("cases/new-{case:02}.md"), &text(case));
    }
    let renamed = gate(&project, &[]);
    renamed
        .is("unmeasured", 3)
        .says("20 of 20 cases were removed");
}

#[test]
fn honest_changes_of_a_suite_stay_green() {
    let (_remote, project) = suite(12, FEW);
    // One added case of twelve turns over part of what others put in.
    project.write(&file(13), &text(13));
    gate(&project, &[]).is("pass", 0).says("1 case was added");
    for case in 14..=15 {
        project.write(&file(case), &text(case));
    }
    gate(&project, &[]).is("pass", 0).says("3 cases were added");
    project.write(
        &file(2),
        &text(2).replace("asks for a room", "needs a room"),
    );
    gate(&project, &[])
        .is("pass", 0)
        .says("1 of 12 cases was edited, 3 added");
}

#[test]
fn another_seed_turns_everything_over_and_says_so() {
    let (_remote, project) = suite(SUITE, FEW);
    let seeded = format!("seed: 7\n{FEW}");
    project.write("kelvin.yaml", &configuration(TYPES, &seeded));
    let same = gate(&project, &[]);
    same.is("pass", 0);
    assert!(same.heading.starts_with("### ⚠️"), "{}", same.heading);
    let all: Vec<usize> = (1..=SUITE).collect();
    decides(
        &project,
        &Pipeline {
            deaf_to_rule: &all,
            ..RIGHT
        },
    );
    gate(&project, &[]).is("regression", 3);
}

#[test]
fn what_makes_two_runs_mean_different_things_is_unmeasured() {
    let (_remote, project) = suite(12, FEW);
    let script = RIGHT.script();
    let (quoted, listed) = ("\\\"%s;%s\\\"", "[\\\"%s;%s\\\"]");
    for (script, more) in [
        (script.replace(quoted, listed), "scorer: set\n"),
        (script.replace("decision", "other"), ""),
    ] {
        project.write("pipeline.sh", &script);
        let text = configuration(TYPES, &format!("{FEW}{more}"));
        let field = if more.is_empty() {
            "field: other"
        } else {
            "field: decision"
        };
        project.write("kelvin.yaml", &text.replace("field: decision", field));
        gate(&project, &[]).is("unmeasured", 3);
    }
}

#[test]
fn a_change_that_allows_itself_more_loss_is_told_so_first() {
    let (_remote, project) = suite(SUITE, FEW);
    project.tell_places();
    let crash = "case \"$place\" in */c0[1-5]/*/swap-rule*) exit 4;; esac";
    decides(
        &project,
        &Pipeline {
            deaf_to_rule: &[1, 2, 3, 4, 5],
            first: crash,
            ..RIGHT
        },
    );
    gate(&project, &[]).is("regression", 3);
    let more = format!("{FEW}gate: {{max_missing: 0.9}}\n");
    project.write("kelvin.yaml", &configuration(TYPES, &more));
    let lax = gate(&project, &[]);
    assert_ne!(lax.said.code, Some(0), "the failure rate is gated too");
    let more = format!(
        "{FEW}gate: {{max_missing: 0.9, metrics: {{evidence.failure_rate: {{policy: info}}}}}}\n"
    );
    project.write("kelvin.yaml", &configuration(TYPES, &more));
    let laxer = gate(&project, &[]);
    // A swap that gets no answer moves nothing, so the type is lost all the same.
    assert_eq!(laxer.said.code, Some(3), "{}", laxer.judgement["reasons"]);
    let first = laxer.judgement["reasons"][0]["text"].to_string();
    insta::assert_snapshot!(first, @r#""this change edits the gate: max_missing 0.1 → 0.9, metrics.evidence.failure_rate.policy unset → info""#);
}

/// The report as another version of kelvin has made it, which gave other inputs to some of the variants.
fn as_of_another_version(project: &Project, rewritten: &str) {
    let mut report = project.json("kelvin/report.json");
    report["tool"]["version"] = json!("0.0.9");
    let other = |at: usize| json!(format!("{at:064x}"));
    let mut at = 0;
    let metrics = report["metrics"].as_object_mut().expect("an object");
    for metric in metrics.values_mut() {
        let Some(cases) = metric.get_mut("per_case").and_then(Value::as_object_mut) else {
            continue;
        };
        for case in cases.values_mut() {
            let cells = case.get_mut("cells").and_then(Value::as_object_mut);
            for (variant, cell) in cells.into_iter().flatten() {
                if variant.starts_with(rewritten) {
                    at += 1;
                    cell["input"] = other(at);
                }
            }
        }
    }
    assert!(at > 0);
    project.write(".kelvin/baseline.json", &report.to_string());
    commit(project, "a report of another version");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    git(project.root(), &["checkout", "--quiet", "-B", "change"]);
}

#[test]
fn a_base_of_another_version_and_unchanged_code_pass() {
    let (_remote, project) = suite(12, FEW);
    for rewritten in ["reorder", "pad_", "swap"] {
        git(project.root(), &["checkout", "--quiet", "main"]);
        project.check();
        as_of_another_version(&project, rewritten);
        let gated = gate(&project, &[]);
        gated.is("pass", 0);
        assert_eq!(gated.judgement["base"]["source"], json!("tree"));
        assert_eq!(gated.of(FAILURES)["verdict"], json!("pass"));
    }
}
