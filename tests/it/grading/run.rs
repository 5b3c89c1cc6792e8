use kelvin_fixtures::text::{lines_with, redacted};
use serde_json::{Value, json};

use super::{configure, project};

fn samples<'a>(report: &'a Value, id: &str) -> &'a Value {
    &report["probes"]["grading"]["items"][id]["samples"]
}

#[test]
fn answers_are_graded_next_to_their_references() {
    let project = project(4);
    project.write(
        "answer.sh",
        "case $(cat \"$1\") in *word-3) echo no > \"$2\";; *) sed 's/.*: //' \"$1\" > \"$2\";; esac\n",
    );
    let said = project.check();
    assert!(
        said.stdout.contains("judge_score           0.7500 (n=4)"),
        "{}",
        said.stdout
    );
    let report = project.report();
    assert_eq!(
        report["metrics"]["grading.judge_score"]["value"],
        json!(0.75)
    );
    assert_eq!(
        report["metrics"]["grading.judge_score"]["per_case"]["p03"]["value"],
        json!(0.0)
    );
    let sample = &samples(&report, "p03")[0];
    assert_eq!(sample["candidate"]["answer"]["text"], json!("no\n"));
    assert_eq!(sample["grade"]["grader_id"], json!("exact-match/ws-v1"));
    // The same again is the same, byte by byte, but for what the session took.
    project.check();
    assert_eq!(project.report(), report);
}

#[test]
fn jdg_12_both_pipelines_get_the_same_prompt_and_the_same_settings_and_the_baseline_comes_first() {
    let project = project(3);
    let log = "printf '%s %s %s %s\\n' NAME \"$(cksum < \"$1\")\" \"$KELVIN_SAMPLE\" \"$(pwd)\" >> calls\n";
    for name in ["answer", "before"] {
        let script = log.replace("NAME", name) + "sed 's/.*: //' \"$1\" > \"$2\"\n";
        project.write(&format!("{name}.sh"), &script);
    }
    configure(
        &project,
        "  baseline: {run: \"sh before.sh {input} {output}\"}\nrepeats: 2\n",
    );
    let told = project.read("kelvin.yaml");
    project.check();
    let calls = project.read("calls");
    let of = |name: &str| -> Vec<String> {
        let mut of = Vec::new();
        for line in calls.lines() {
            if let Some(rest) = line.strip_prefix(name) {
                of.push(rest.to_owned());
            }
        }
        of.sort();
        of
    };
    assert_eq!((of("before"), of("before").len()), (of("answer"), 6));
    let names: Vec<&str> = calls
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(names, [["before"; 6], ["answer"; 6]].concat());
    assert_eq!(project.read("kelvin.yaml"), told);
    // Two good answers are a tie, which counts one half.
    let report = project.report();
    assert_eq!(report["metrics"]["grading.win_rate"]["value"], json!(0.5));
    assert_eq!(
        samples(&report, "p00")[1]["baseline_grade"]["score"],
        json!(1.0)
    );
    let page = project.read("kelvin/report.html");
    assert!(page.matches("answered:").count() >= 2, "{page}");
}

#[test]
fn jdg_03_both_answers_are_kept_as_they_are() {
    let project = project(1);
    project.write("answer.sh", "printf ' two\\n\\tlines  \\n\\n' > \"$2\"\n");
    project.write("before.sh", "printf 'word-0' > \"$2\"\n");
    configure(
        &project,
        "  baseline: {run: \"sh before.sh {input} {output}\"}\n",
    );
    project.check();
    let report = project.report();
    let sample = &samples(&report, "p00")[0];
    assert_eq!(
        sample["candidate"]["answer"]["text"],
        json!(" two\n\tlines  \n\n")
    );
    assert_eq!(sample["baseline"]["answer"]["text"], json!("word-0"));
    assert_eq!(report["metrics"]["grading.win_rate"]["value"], json!(0.0));
}

#[test]
fn jdg_13_an_answer_that_fails_says_how_and_too_many_leave_the_score_unmeasured() {
    let project = project(12);
    project.write(
        "answer.sh",
        "case $(cat \"$1\") in *word-0) sleep 9;; *word-1) exit 4;; *word-2) printf ' \\n' > \"$2\";; *word-3) ;; *) sed 's/.*: //' \
         \"$1\" > \"$2\";; esac\n",
    );
    configure(&project, "timeout_s: 1.5\njobs: 4\n");
    let said = project.check();
    let report = project.report();
    let failure = |id: &str| samples(&report, id)[0]["candidate"]["failure"].clone();
    assert_eq!(failure("p00")["kind"], json!("timeout"));
    assert_eq!(failure("p01")["kind"], json!({"exit": 4}));
    assert_eq!(failure("p02")["message"], json!("its answer is empty"));
    assert_ne!(failure("p02")["message"], failure("p03")["message"]);
    let code = |id: &str| samples(&report, id)[0]["unscored"]["code"].clone();
    for id in ["p00", "p01", "p02", "p03"] {
        assert_eq!(code(id), json!("candidate_failed"), "{id}");
    }
    assert_eq!(code("p04"), Value::Null);
    let metric = |name: &str| report["metrics"][format!("grading.{name}")].clone();
    assert_eq!(metric("judge_score")["value"], Value::Null);
    let reason = metric("judge_score")["reason"].to_string();
    assert!(
        reason.contains("4 of 12 samples") && reason.contains("`p00`"),
        "{reason}"
    );
    assert_eq!(metric("unscored")["value"], json!(4.0));
    assert_eq!(metric("failure_rate")["value"], json!(4.0 / 12.0));
    for part in ["4 of 12 samples", "p00, p01, p02, p03"] {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
    let page = project.read("kelvin/report.md");
    insta::assert_snapshot!(lines_with(&page, &["## "]), @"
    ## Samples without a score (4)
    ## 4 failed invocations
    ");
    // As many may be without a score as the configuration allows.
    configure(&project, "  max_errors: 0.4\ntimeout_s: 1.5\njobs: 4\n");
    project.check();
    assert_eq!(
        project.report()["metrics"]["grading.judge_score"]["value"],
        json!(1.0)
    );
}

#[test]
fn an_answer_may_stand_in_a_field_of_a_json_output() {
    let project = project(2);
    project.write(
        "answer.sh",
        "printf '{\"a\": {\"text\": \"%s\"}}' \"$(sed 's/.*: //' \"$1\")\" > \"$2\"\n",
    );
    configure(&project, "  answer_field: /a/text\n");
    project.check();
    assert_eq!(
        project.report()["metrics"]["grading.judge_score"]["value"],
        json!(1.0)
    );
}

#[test]
fn hostile_answers_and_prompts_are_shown_and_do_nothing() {
    let project = project(1);
    let hostile =
        "</pre><script>alert(1)</script> @octocat | ![x](http://e.example/x.png) \\u001b[31m";
    let line = json!({"id": "a|b<i>", "prompt": hostile, "reference": "r", "tags": ["<b>t</b>"]});
    project.write("prompts.jsonl", &format!("{line}\n"));
    project.write("answer.sh", "cat \"$1\" > \"$2\"\n");
    project.check();
    let page = project.read("kelvin/report.html");
    assert!(
        !page.contains("<script>alert") && !page.contains("<b>t</b>") && !page.contains("a|b<i>"),
        "{page}"
    );
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    let page = project.read("kelvin/report.md");
    assert!(
        !page.contains("<script>") && !page.contains("![x](http"),
        "{page}"
    );
}

#[test]
fn a_judge_that_needs_a_reference_is_refused_where_there_is_nothing_to_compare_with() {
    let project = project(1);
    project.write("prompts.jsonl", "{\"id\": \"a\", \"prompt\": \"p\"}\n");
    let said = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: kelvin.yaml: the judge of `grading` compares an answer with a reference, and the prompts in `prompts.jsonl` have none
      help: give every prompt a `reference`; a judge that measures no retrieved passages can do without: name a `baseline` to compare with, or take a judge that says which of two answers is better: {type: llm, mode: pairwise}
    ");
    // Next to a baseline it says how like the answers are, and not which is better.
    project.write("answer.sh", "echo one > \"$2\"\n");
    configure(
        &project,
        "  baseline: {run: \"sh answer.sh {input} {output}\"}\n",
    );
    project.check();
    let report = project.report();
    assert_eq!(
        report["probes"]["grading"]["basis"]["scoring"],
        json!("likeness")
    );
    assert_eq!(
        report["metrics"]["grading.judge_score"]["value"],
        json!(1.0)
    );
    assert_eq!(report["metrics"]["grading.win_rate"]["value"], Value::Null);
}

#[test]
fn a_slip_in_the_section_is_told_with_its_place_and_what_to_do() {
    let project = project(1);
    project.write(
        "kelvin.yaml",
        "grading:\n  prompts: prompts.jsonl\n  candidate: {run: \"sh answer.sh {input}\", model: m}\n  judge: {type: \
         exact_match}\n  baseline: {}\n",
    );
    let said = project.kelvin(&["check"]).expect(1);
    for part in [
        "`grading.candidate` has both `run` and `model`",
        "`grading.baseline` has neither `run` nor `model`",
        "`run` has no placeholder `{output}`",
        "kelvin.yaml:3",
        "kelvin.yaml:5",
    ] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
}

#[test]
fn the_shards_of_a_run_make_the_report_of_the_whole() {
    let project = project(5);
    project
        .kelvin(&["check", "--no-history", "--out", "whole"])
        .expect(0);
    for share in ["1/2", "2/2"] {
        let out = format!("shards/{}", &share[..1]);
        project
            .kelvin(&["check", "--no-history", "--shard", share, "--out", &out])
            .expect(0);
    }
    project
        .kelvin(&["merge", "shards", "--out", "joined"])
        .expect(0);
    let (whole, joined) = (
        project.json("whole/report.json"),
        project.json("joined/report.json"),
    );
    assert_eq!(whole["probes"], joined["probes"]);
    assert_eq!(whole["metrics"], joined["metrics"]);
    let times = joined["run"]["session"]["item_seconds"]["grading"]
        .as_object()
        .map(serde_json::Map::len);
    assert_eq!(times, Some(5));
    // What is made again from the records is what was measured.
    project.check();
    let said = project.kelvin(&["rescore", "figures", "latest"]).expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @"
    run [HASH], measured by kelvin [VERSION]: 4 figures made again by kelvin [VERSION], 0 changed
    next: kelvin history
    ");
}
