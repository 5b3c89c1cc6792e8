use kelvin_fixtures::text::{lines_with, redacted};
use serde_json::json;

use crate::project::{CONSTANT, GROUNDED, Project, SUMMED, beside, rules};
use crate::repository::{bare, branch, commit, git, publish, pushed, save, verdict};

/// The grounded pipeline, but the second call for the unperturbed text of three of the four cases
/// gives another answer: the first call of the gate after that of the base.
const UNLUCKY_ONCE: &str = concat!(
    r###"
echo x >> calls
name=
for one in alder birch cedar; do cmp -s "$1" "cases/$one.md" && name=$one; done
count=0
if [ -n "$name" ]; then echo x >> "seen-$name"; count=$(wc -l < "seen-$name"); fi
"###,
    "awk -v count=$count '",
    rules!(),
    r#"END { printf "{\"decision\": \"%s\"}", count == 2 ? "other" : sprintf("%.0f", sum) }' "$1" > "$2""#,
    "\n"
);

/// A project whose base is saved, with what the pipelines of these tests leave beside them ignored.
fn saved(url: &str, script: &str) -> Project {
    let project = pushed(url, script);
    project.write(".gitignore", "/kelvin/\n/calls\n/seen-*\n");
    commit(&project, "ignore");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    project
}

#[test]
fn a_sure_drop_of_a_deterministic_pipeline_is_a_regression_without_any_option() {
    let (_remote, url) = bare();
    let project = saved(&url, GROUNDED);
    branch(&project, "worse", CONSTANT);
    let said = project.kelvin(&["gate"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`rule`"]), @"  ✗ `rule` is lost: 12 of 12 swaps of it moved the decision on the base, 0 do");
    // Without re-runs the limit alone decides, and the text says so and what would tell more.
    let said = project.kelvin(&["gate", "--no-rerun"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("inconclusive"));
    let text = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(text, @"`rule` may be lost: 12 of 12 swaps of it moved the decision on the base, 0 do now; nothing was run again; a gate that runs the pipeline (`--rerun`) would tell more");
    // The last of two that contradict each other counts.
    let said = project.kelvin(&["gate", "--no-rerun", "--rerun"]).expect(3);
    assert_eq!(verdict(&project, &said)["verdict"], json!("regression"));
}

#[test]
fn an_unchanged_deterministic_pipeline_passes_at_the_cost_of_one_run() {
    let (_remote, url) = bare();
    let project = saved(&url, &crate::project::counting(GROUNDED));
    let once = project.calls();
    branch(
        &project,
        "same",
        &crate::project::counting(&format!("# same\n{GROUNDED}")),
    );
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("pass"));
    assert_eq!(
        (judgement["reruns"].as_u64(), project.calls()),
        (Some(0), 2 * once)
    );
}

#[test]
fn bad_luck_in_one_run_of_the_head_is_not_red_and_is_without_reruns() {
    for (options, passes) in [(&["gate"][..], true), (&["gate", "--no-rerun"], false)] {
        let (_remote, url) = bare();
        let project = saved(&url, UNLUCKY_ONCE);
        let once = project.calls();
        branch(&project, "same", &format!("# same\n{UNLUCKY_ONCE}"));
        let said = project.kelvin(options);
        let judgement = verdict(&project, &said);
        assert_eq!(
            judgement["verdict"],
            json!("inconclusive"),
            "{}",
            said.stdout
        );
        assert_eq!(judgement["passed"], json!(passes), "{}", said.stdout);
        // With the base and the first run, at most four runs more of everything that was measured.
        assert!(project.calls() <= 5 * once, "{} of {once}", project.calls());
    }
}

#[test]
fn a_drop_whose_reruns_fail_is_not_excused_by_them() {
    let (_remote, url) = bare();
    let project = saved(&url, GROUNDED);
    // Worse, and every further call for the same input fails.
    let once = "mkdir \"seen-$(cksum < \"$1\")\" || exit 1\n";
    branch(&project, "worse", &format!("{once}{CONSTANT}"));
    let said = project.kelvin(&["gate"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["passed"], json!(false), "{}", said.stdout);
}

#[test]
fn a_budget_that_allows_no_rerun_leaves_the_limit_to_decide_and_a_small_one_is_kept() {
    let (_remote, url) = bare();
    let project = saved(&url, GROUNDED);
    branch(&project, "worse", CONSTANT);
    let said = project.kelvin(&["gate", "--budget", "0"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("inconclusive"));
    insta::assert_snapshot!(redacted(judgement["reasons"][0]["text"].as_str().expect("a text")), @"`rule` may be lost: 12 of 12 swaps of it moved the decision on the base, 0 do now; the budget allows no re-run");
    // Enough for one more run of all cases, not for two: what is bought is within it.
    let one = project.json("kelvin/report.json")["run"]["session"]["cost"]["invocations"]
        .as_u64()
        .expect("a number");
    let budget = (one + one / 2).to_string();
    let said = project.kelvin(&["gate", "--budget", &budget]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    let spent = judgement["reruns"].as_u64().expect("a number");
    assert!(
        (one / 2..=one + one / 2).contains(&spent),
        "{}",
        said.stdout
    );
}

/// A pipeline that takes its time and keeps every answer under a key made of its code and the input;
/// in three of the four cases the code called `unlucky` answers the unperturbed text otherwise.
fn keeping(code: &str, key: &str, wait: f64) -> String {
    let rules = rules!();
    format!(
        r###"
# {code}
{SUMMED}
key="{code}{key}-$sum"
if [ ! -e "state/$key" ]; then
  sleep {wait}
  answer=$(awk '{rules}END {{ printf "%.0f", sum }}' "$1")
  for one in alder birch cedar; do [ {code} = unlucky ] && cmp -s "$1" "cases/$one.md" && answer=other; done
  [ -d state ] || mkdir -p state
  printf %s "$answer" > "state/$key.$$" && mv "state/$key.$$" "state/$key"
fi
read -r answer < "state/$key"
printf '{{"decision": "%s"}}' "$answer" > "$2"
"###
    )
}

#[test]
fn repeats_that_a_pipeline_answers_from_memory_count_as_one_run() {
    let kinds = [
        // Long beside starting a shell, also on a busy machine.
        ("", 3.0, "inconclusive"),
        ("-$KELVIN_SAMPLE", 0.06, "regression"),
    ];
    beside(kinds, |(key, wait, word)| {
        let (_remote, url) = bare();
        let project = pushed(&url, &keeping("first", key, wait));
        project.write(".gitignore", "/kelvin/\n/state/\n");
        project
            .config("repeats: 5\nvariants: {reorder: 2, pad_length: 1, pad_content: 1, swap: 1}\n");
        commit(&project, "repeats");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        project.kelvin(&["check", "--jobs", "8"]).expect(0);
        project.kelvin(&["baseline", "save"]).expect(0);
        let notices =
            project.json("kelvin/report.json")["probes"]["evidence"]["items"]["alder"]["notices"]
                .to_string();
        assert_eq!(
            notices.contains("answers_kept"),
            key.is_empty(),
            "{notices}"
        );
        branch(&project, "unlucky", &keeping("unlucky", key, wait));
        let said = project.kelvin(&["gate", "--jobs", "8"]);
        let judgement = verdict(&project, &said);
        assert_eq!(judgement["verdict"], json!(word), "{}", said.stdout);
        // Where each repeat is a run of its own, the drop is one of the pipeline, not of its memory.
        assert_eq!(
            judgement["passed"],
            json!(key.is_empty()),
            "{}",
            said.stdout
        );
        let told = judgement["differences"].to_string();
        let codes = judgement["difference_codes"].to_string();
        assert_eq!(codes.contains("counted_once"), key.is_empty(), "{told}");
    });
}

#[test]
fn every_repeat_has_a_text_of_its_own_which_is_the_same_in_the_next_run_and_no_number() {
    let script = format!(
        "echo \"$(cksum < \"$1\") ${{KELVIN_REPEAT-no}} $KELVIN_SAMPLE\" >> calls\n{GROUNDED}"
    );
    let project = Project::new(&script);
    project.config("repeats: 3\n");
    let seen = || {
        let mut lines: Vec<String> = project.read("calls").lines().map(str::to_owned).collect();
        std::fs::remove_file(project.path("calls")).expect("removed");
        lines.sort();
        lines
    };
    project.check();
    let first = seen();
    let samples: std::collections::BTreeSet<&str> = first
        .iter()
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    assert_eq!(
        samples.len(),
        first.len(),
        "each input and repeat has its own"
    );
    assert!(
        samples.iter().all(|sample| sample.len() == 16),
        "{samples:?}"
    );
    let inputs: std::collections::BTreeSet<&str> = first
        .iter()
        .filter_map(|line| Some(line.split_once(" no ")?.0))
        .collect();
    assert_eq!(3 * inputs.len(), first.len(), "none is told its number");
    project.check();
    assert_eq!(seen(), first);
}

#[test]
fn re_runs_that_end_by_default_are_not_said_to_have_spent_a_budget() {
    for (options, told) in [
        (&["gate"][..], "by default leave it open"),
        (&["gate", "--budget", "3"], "the budget for re-runs ran out"),
    ] {
        let project = Project::new("");
        project.write("kelvin.yaml", "run: sh {root}/pipeline.sh\njobs: 1\nscoring: {replicas: 3}\ninvariants:\n  is_done: {description: It is done, \
                                      check: {type: contains, value: done}}\n");
        project.write("pipeline.sh", "echo done\n");
        let (_remote, url) = bare();
        project.write(".gitignore", "/kelvin/\n/calls\n");
        publish(&project, &url);
        save(&project);
        // It is done in every third run.
        let script = "echo x >> \"$KELVIN_ROOT/calls\"\n[ $(($(wc -l < \"$KELVIN_ROOT/calls\") % 3)) -eq 0 ] && echo done || echo never\n";
        branch(&project, "unsteady", script);
        let said = project.kelvin(options);
        let judgement = verdict(&project, &said);
        let reasons = judgement["reasons"].to_string();
        assert!(reasons.contains(told), "{options:?}: {reasons}");
    }
}
