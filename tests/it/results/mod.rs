//! Evaluators of known truth through the results probe: what they find is paired by case, and nothing that is missing,
//! old, cached or broken passes.

mod ci;
mod noise;
pub(crate) mod pytest;
mod rescore;
mod tools;

use kelvin_fixtures::text::{lines_with, redacted};
use serde_json::{Value, json};

use crate::project::{Project, Said, mixed};
use crate::repository::{bare, commit, git, pushed, save, verdict};

/// An evaluator of twenty cases. `broken` beside the project lists the cases that are answered wrongly now, `slip` says how
/// many of a hundred answers are wrong by chance, and `errors` lists the cases that cannot be scored. It writes the cases of
/// its second argument, or all.
const EVALUATOR: &str = concat!(
    mixed!(),
    r#"
echo x >> ../runs
run=$(wc -l < ../runs)
touch ../broken ../errors
slip=$(cat ../slip 2>/dev/null || echo 0)
[ -z "$2" ] || wc -l < "$2" >> ../asked
some="
$([ -z "$2" ] || cat "$2")
" broken="
$(cat ../broken)
" errors="
$(cat ../errors)
"
echo "id,question,expected,answer,ok,secs,error" > "$1"
$ORDER cases.txt | while read -r id question; do
  line="
$id
"
  case $some in *"$line"*) ;; *) [ -z "$2" ] || continue;; esac
  ok=1 error=
  mixed "$id $run"
  [ $((mixed % 100)) -ge "$slip" ] || ok=0
  case $broken in *"$line"*) ok=0;; esac
  case $errors in *"$line"*) ok= error="the judge did not answer";; esac
  echo "$id,$question,yes,answer $ok,$ok,0.5,$error" >> "$1"
done
exit 1
"#
);

const SUITE: &str = "results:\n  - name: qa\n    run: ORDER=cat sh eval.sh {output}\n    format: csv\n    \
                     columns: {case: id, input: [question], expected: [expected], answer: answer, error: error}\n    \
                     metrics:\n      correct: {column: ok, better: higher, range: [0, 1]}\n      \
                     secs: {better: lower, gate: false}\n";

const RERUN: &str = "    rerun: ORDER=cat sh eval.sh {output} {cases_file}\n";

/// A project whose base is measured with some lines added to its suite.
fn measured(more: &str, repeats: usize) -> Project {
    let project = Project::new("");
    project.write("eval.sh", EVALUATOR);
    let cases: String = (1..=20)
        .map(|n| format!("case-{n:02} what is {n}?\n"))
        .collect();
    project.write("cases.txt", &cases);
    configure(&project, more, repeats);
    project
        .kelvin(&["check", "--no-history", "--out", "../base"])
        .expect(0);
    project
}

fn configure(project: &Project, more: &str, repeats: usize) {
    project.write("kelvin.yaml", &format!("{SUITE}{more}repeats: {repeats}\n"));
}

fn gate(project: &Project, more: &[&str]) -> (Said, Value) {
    let mut arguments = vec!["gate", "--no-history", "--baseline", "../base/report.json"];
    arguments.extend(more);
    let said = project.kelvin(&arguments);
    let judgement = match project.path("kelvin/gate.json").exists() {
        true => project.json("kelvin/gate.json"),
        false => Value::Null,
    };
    (said, judgement)
}

/// The names of cases, a line each.
fn lines(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name}\n")).collect()
}

#[test]
fn an_unchanged_evaluator_passes_and_its_figures_are_those_of_its_file() {
    let project = measured("", 1);
    let report = project.json("../base/report.json");
    let figure = |name: &str| report["metrics"][format!("results.qa.{name}")]["value"].clone();
    assert_eq!(figure("correct"), json!(1.0));
    assert_eq!(figure("secs"), json!(0.5));
    assert_eq!(figure("failure_rate"), json!(0.0));
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    // It ends with 1, as many evaluators do where a case fails, and the file decides.
    let page = project.read("kelvin/report.html");
    assert!(
        page.contains("what is 7?") && page.contains("results.qa.correct"),
        "{page}"
    );
}

#[test]
fn noise_passes_and_broken_cases_are_a_regression_that_names_them_and_runs_only_doubtful_ones_again()
 {
    let project = measured(RERUN, 3);
    project.write("../slip", "5");
    project
        .kelvin(&["check", "--no-history", "--out", "../base"])
        .expect(0);
    let (said, judgement) = gate(&project, &[]);
    assert_ne!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_ne!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    project.write(
        "../broken",
        &lines(&["case-03", "case-07", "case-11", "case-19"]),
    );
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    let comment = project.read("kelvin/gate.md");
    for case in ["case-03", "case-07", "case-11", "case-19"] {
        assert!(comment.contains(&format!("qa/{case}")), "{case}: {comment}");
    }
    assert!(!comment.contains("case-05"), "{comment}");
}

#[test]
fn two_broken_cases_are_run_again_and_found_by_the_guard_of_single_cases() {
    let project = measured(RERUN, 3);
    project.write("../broken", &lines(&["case-03"]));
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    assert!(said.stdout.contains("case-03"), "{}", said.stdout);
}

#[test]
fn one_run_on_each_side_that_cannot_be_repeated_is_no_pass_where_cases_moved_and_names_them() {
    let project = measured("", 1);
    project.write("../broken", &lines(&["case-03", "case-07", "case-11"]));
    let (said, judgement) = gate(&project, &["--no-rerun"]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_eq!(
        judgement["verdict"],
        json!("inconclusive"),
        "{}",
        said.stdout
    );
    let comment = project.read("kelvin/gate.md");
    for case in ["case-03", "case-07", "case-11"] {
        assert!(comment.contains(case), "{comment}");
    }
    assert!(comment.contains("repeats"), "{comment}");
}

#[test]
fn what_an_evaluator_did_not_come_to_was_not_removed() {
    let project = measured("", 1);
    let ends_at = |rows: usize| {
        let last = rows + 1;
        format!(
            "sh all.sh \"$@\"\nhead -n {last} \"$1\" > ../part && mv ../part \"$1\"\necho the model went away >&2\nexit 4\n"
        )
    };
    project.write("all.sh", EVALUATOR);
    for (rows, word, code) in [(19, "inconclusive", 0), (7, "unmeasured", 3)] {
        project.write("eval.sh", &ends_at(rows));
        let (said, judgement) = gate(&project, &[]);
        assert_eq!(
            (&judgement["verdict"], said.code),
            (&json!(word), Some(code)),
            "{}",
            said.stdout
        );
        let first = &judgement["reasons"][0];
        assert_eq!(first["code"], json!("unfinished"));
        let text = first["text"].as_str().expect("a text");
        assert!(
            text.contains("ended early, with exit code 4, and printed last: the model went away"),
            "{text}"
        );
        let page = project.read("kelvin/gate.md");
        let headline = page.lines().next().unwrap_or_default();
        for words in ["ended early: *the model went away*", "not measured"] {
            assert!(headline.contains(words), "{headline}");
        }
        assert!(!headline.contains("removed"), "{headline}");
        assert!(
            !project.read("kelvin/gate.md").contains("max_missing:"),
            "no such leave is advised"
        );
    }
    // An evaluator that ends so where a case fails did so on the base too.
    project.write("eval.sh", &ends_at(20));
    project
        .kelvin(&["check", "--no-history", "--out", "../base"])
        .expect(0);
    project.write("eval.sh", &ends_at(19));
    let (_, judgement) = gate(&project, &[]);
    let reasons = judgement["reasons"].as_array().expect("a list");
    assert!(
        !reasons.iter().any(|one| one["code"] == json!("unfinished")),
        "{reasons:?}"
    );
}

#[test]
fn a_crash_an_absent_file_and_a_stale_one_are_never_green() {
    let project = measured("", 1);
    let fails = |script: &str, config: &str, told: &str| {
        project.write("eval.sh", script);
        if !config.is_empty() {
            project.write("kelvin.yaml", config);
        }
        let (said, _) = gate(&project, &[]);
        assert!(
            !matches!(said.code, Some(0)),
            "{told}: {}{}",
            said.stdout,
            said.stderr
        );
        let all = format!("{}{}", said.stdout, said.stderr);
        let words: Vec<&str> = all.split_whitespace().collect();
        assert!(words.join(" ").contains(told), "{told}: {all}");
        let comment = project.read("kelvin/gate.md");
        assert!(comment.contains("`qa`"), "{comment}");
    };
    fails("echo no such model >&2; exit 3", "", "no such model");
    fails("exit 0", "", "no file of results");
    fails("kill -9 $$", "", "signal");
    fails("echo id,ok > \"$1\"", "", "holds no sample");
    // The reviewer sees the comment alone, and it names the exception.
    let crash = "printf 'Traceback (most recent call last):\\n  File \"eval.py\", line 3\\nTimeoutError: no answer\\n\
                 make: *** [eval] Error 1\\n' >&2; exit 2";
    fails(crash, "", "no file of results");
    let comment = project.read("kelvin/gate.md");
    let cause = "(it ended with exit code 2: TimeoutError: no answer)";
    assert!(comment.contains(cause), "{comment}");
    // The cause stands where there is no baseline either.
    project.kelvin(&["gate", "--no-history"]).expect(2);
    let comment = project.read("kelvin/gate.md");
    assert!(comment.contains("`qa`"), "{comment}");
    // What another run has left where the evaluator always writes.
    let fixed = SUITE.replace(
        "run: ORDER=cat sh eval.sh {output}",
        "file: old.csv\n    run: sh eval.sh",
    );
    project.write(
        "old.csv",
        "id,question,expected,answer,ok,secs,error\na,b,c,d,1,1,\n",
    );
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(600);
    let file = std::fs::File::options()
        .append(true)
        .open(project.path("old.csv"))
        .expect("opened");
    file.set_modified(old).expect("set");
    fails("exit 0", &fixed, "older than this run");
}

#[test]
fn rows_beside_a_summary_in_one_object_are_read_and_an_object_without_rows_is_named_with_what_it_has()
 {
    let project = measured("", 1);
    let suite = SUITE.replace("format: csv", "format: jsonl");
    assert_ne!(suite, SUITE);
    project.write("kelvin.yaml", &suite);
    let write = |records: &str, ok: &dyn Fn(usize) -> bool| {
        let rows: Vec<Value> = (1..=20)
            .map(|n| {
                json!({
                    "id": format!("case-{n:02}"), "question": n, "expected": n, "answer": n, "ok": ok(n), "secs": 0.5,
                    "error": null,
                })
            })
            .collect();
        let run = json!({"run": {"model": "m"}, records: rows, "notes": ["a", "b"]});
        let pretty = serde_json::to_string_pretty(&run).expect("JSON");
        project.write("run.json", &pretty);
    };
    project.write("eval.sh", "cp run.json \"$1\"\n");
    write("records", &|_| true);
    project
        .kelvin(&["check", "--no-history", "--out", "../base"])
        .expect(0);
    write("records", &|n| n > 12);
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_eq!(judgement["verdict"], json!("regression"));

    project.write(
        "run.json",
        "{\n  \"run\": {\"model\": \"m\"},\n  \"score\": 0.5\n}\n",
    );
    let (said, _) = gate(&project, &[]);
    assert_eq!(said.code, Some(2), "{}{}", said.stdout, said.stderr);
    let comment = project.read("kelvin/gate.md");
    let told = "the file is one object without a list of objects; it has `run`, `score`; write the rows as a list of objects, or \
                one object on each line";
    assert!(comment.contains(told), "{comment}");
}

#[test]
fn the_lines_that_are_proposed_for_a_table_of_ones_own_read_it() {
    let project = Project::new("");
    project.write(
        "eval.sh",
        "printf '{\"accuracy\": 1, \"rows\": [{\"id\": \"a\", \"got\": \"x\", \"correct\": true, \"ms\": 0.5}, \
         {\"id\": \"b\", \"got\": \"y\", \"correct\": true, \"ms\": 1}]}' > out.json\n",
    );
    let suite = "results:\n  - name: qa\n    run: sh eval.sh\n    file: out.json\n";
    project.write("kelvin.yaml", suite);
    let said = project.kelvin(&["check"]).expect(2);
    let named = said
        .stdout
        .lines()
        .find(|line| line.starts_with("The first failure"));
    let named = named.expect("it is named");
    let (proposed, formats) = named.split_once(" would read it").expect("it is proposed");
    insta::assert_snapshot!(proposed, @"The first failure, qa, the suite: `out.json`: its format is not plain; `format: jsonl`, `columns: {case: id, answer: got}` and `metrics: {correct: {better: higher, range: [0, 1]}}`");
    let before = formats.split("csv").next();
    insta::assert_snapshot!(before.unwrap_or(formats), @", if each `better` is right; else name it with `format:`, one of ");
    // What stands between two marks is a line to paste.
    let lines = proposed
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|line| line.contains(": "));
    let lines: String = lines.map(|line| format!("    {line}\n")).collect();
    project.write("kelvin.yaml", &format!("{suite}{lines}"));
    project.kelvin(&["check"]).expect(0);
    let metrics = project.json("kelvin/report.json")["metrics"].clone();
    assert_eq!(
        metrics["results.qa.correct"]["value"],
        json!(1.0),
        "{metrics}"
    );
}

#[test]
fn results_that_are_committed_and_as_on_the_base_say_nothing_of_a_change() {
    let (_remote, url) = bare();
    let project = pushed(&url, "");
    let table: String = (1..=12).map(|n| format!("case-{n:02},1\n")).collect();
    project.write("results.csv", &format!("case,correct\n{table}"));
    project.write(
        "kelvin.yaml",
        "results:\n  - name: qa\n    file: results.csv\n    format: csv\n    columns: {case: case}\n    \
         metrics:\n      correct: {better: higher, range: [0, 1]}\n",
    );
    commit(&project, "an evaluator");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    let judged = || {
        let said = project.kelvin(&["gate", "--no-history"]).expect(0);
        (verdict(&project, &said)["verdict"].clone(), said.stdout)
    };
    assert_eq!(judged().0, json!("pass"), "nothing is edited");
    project.write("answer.sh", "echo worse\n");
    commit(&project, "another pipeline");
    let (word, said) = judged();
    assert_eq!(word, json!("inconclusive"), "{said}");
    let comment = project.read("kelvin/gate.md");
    let first: Vec<&str> = comment.lines().take(6).collect();
    let first = first.join("\n");
    insta::assert_snapshot!(first, @"
    ### ⚠️ Kelvin: inconclusive, passes

    **The results in `results.csv` are committed, and as the base has them: nothing was measured of what this change edits**

    Measure what this change is now, then judge that.
    ");
    // The change itself cannot declare that what it edits is harmless.
    let config = project.read("kelvin.yaml");
    project.write("kelvin.yaml", &format!("harmless: [\"**\"]\n{config}"));
    commit(&project, "everything is harmless");
    assert_eq!(judged().0, json!("inconclusive"));
    project.write("kelvin.yaml", &config);
    commit(&project, "as it was");
    // A step that has written the file anew has measured the change.
    project.write("results.csv", &format!("case,correct\n{table}\n"));
    assert_eq!(judged().0, json!("pass"));
}

#[test]
fn an_answer_that_an_evaluator_gives_no_more_is_never_fine_though_its_score_is() {
    let project = measured("", 1);
    let config = project.read("kelvin.yaml");
    let without = |cases: &str| {
        let cut = format!("sed -i -E '/^({cases}),/s/,answer [01],/,,/' \"$1\"\nexit 1\n");
        project.write("eval.sh", &EVALUATOR.replace("exit 1\n", &cut));
        let (said, judgement) = gate(&project, &[]);
        assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
        (judgement, project.read("kelvin/gate.md"))
    };
    let (judgement, page) = without("case-03|case-04");
    assert_eq!(
        judgement["answers"]["results"]["gone_items"],
        json!(["qa/case-03", "qa/case-04"])
    );
    let first: Vec<&str> = page.lines().take(8).collect();
    let first = first.join("\n");
    insta::assert_snapshot!(lines_with(&first, &["### ", "`qa/case-03`"]), @"
    ### ⚠️ Kelvin: passes on what is left, 2 cases are answered no more
    **`qa/case-03` is answered no more (and 1 more case)**
    Look first at case `qa/case-03`: what is missing is compared with nothing, so that a drop there does not show.
    ");
    // Every answer of a file may be gone, while the file still has the column.
    let (judgement, page) = without("case-..");
    assert_eq!(judgement["answers"]["results"]["gone"], json!(20));
    assert!(page.starts_with("### ⚠️"), "{page}");
    // Whoever asks for the same answers gets no other ones, and not none.
    project.write("kelvin.yaml", &format!("{config}gate: {{answers: same}}\n"));
    let (said, _) = gate(&project, &[]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
}

#[test]
fn results_that_are_older_than_an_edit_do_not_let_it_pass() {
    let (_remote, url) = bare();
    let project = pushed(&url, "");
    let table: String = (1..=12).map(|n| format!("case-{n:02},1\n")).collect();
    let made = |minutes: u64| {
        project.write("results.csv", &format!("case,correct\n{table}"));
        let file = project.path("results.csv");
        let file = std::fs::File::options().append(true).open(file);
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(60 * minutes);
        file.expect("opened").set_modified(time).expect("set");
    };
    project.write(".gitignore", "results.csv\n");
    project.write("answer.sh", "echo right\n");
    project.write(
        "kelvin.yaml",
        "harmless: [\"*.md\"]\nresults:\n  - name: qa\n    file: results.csv\n    format: csv\n    columns: {case: case}\n    \
         metrics:\n      correct: {better: higher, range: [0, 1]}\n",
    );
    commit(&project, "an evaluator");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    made(0);
    save(&project);
    project
        .kelvin(&["gate", "--no-history", "--base", "HEAD"])
        .expect(0);
    let page = project.read("kelvin/gate.md");
    let itself = "The base is this commit itself, so no change is compared";
    assert!(page.contains(itself), "{page}");
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.write("answer.sh", "echo worse\n");
    commit(&project, "another pipeline");
    made(10);
    let judged = |variables: &[(&str, &str)]| {
        let mut command = project.command(&["gate", "--no-history"]);
        command.env_remove("CI").envs(variables.iter().copied());
        let said = Said::of(&mut command).expect(0);
        (verdict(&project, &said)["verdict"].clone(), said.stdout)
    };
    let (word, said) = judged(&[]);
    assert_eq!(word, json!("inconclusive"), "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "the results in `results.csv` are older than the last edit of `answer.sh`";
    assert!(said.contains(why), "{said}");
    // The files of a checkout of a job are all new.
    assert_eq!(judged(&[("CI", "true")]).0, json!("pass"));
    made(0);
    assert_eq!(judged(&[]).0, json!("pass"));
    project.write("NOTES.md", "later\n");
    commit(&project, "notes");
    assert_eq!(judged(&[]).0, json!("pass"), "notes are harmless");
}

#[test]
fn the_order_of_the_file_means_nothing_and_a_case_put_in_at_the_top_mispairs_none() {
    let project = measured("", 1);
    let shuffled = project
        .read("kelvin.yaml")
        .replace("ORDER=cat", "ORDER=tac");
    project.write("kelvin.yaml", &shuffled);
    let cases = project.read("cases.txt");
    project.write("cases.txt", &format!("a-new-one what is new?\n{cases}"));
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    insta::assert_snapshot!(lines_with(&said.stdout, &["Gate  "]), @"Gate         pass, 1 case was added");
}

#[test]
fn cases_that_the_change_deletes_or_edits_are_told_and_many_of_them_do_not_pass() {
    let project = measured("", 1);
    let cases = project.read("cases.txt");
    let edited = cases.replace("what is 4?", "what is four?");
    project.write("cases.txt", &edited);
    let (said, _) = gate(&project, &[]);
    insta::assert_snapshot!(lines_with(&said.stdout, &["Gate  "]), @"Gate         pass, 1 of 20 cases was edited");
    let fewer: String = cases
        .lines()
        .skip(1)
        .map(|line| format!("{line}\n"))
        .collect();
    project.write("cases.txt", &fewer);
    let (said, _) = gate(&project, &[]);
    insta::assert_snapshot!(lines_with(&said.stdout, &["Gate  "]), @"Gate         passes on what is left, 1 of 20 cases was removed");
    let few: String = cases
        .lines()
        .skip(8)
        .map(|line| format!("{line}\n"))
        .collect();
    project.write("cases.txt", &few);
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_ne!(judgement["verdict"], json!("pass"));
}

#[test]
fn an_error_in_the_place_of_a_failure_is_no_failure_and_not_green() {
    let project = measured(RERUN, 1);
    project.write("../errors", &lines(&["case-02"]));
    let (said, judgement) = gate(&project, &[]);
    assert_ne!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    let report = project.json("kelvin/report.json");
    let value = &report["metrics"]["results.qa.correct"];
    assert_eq!(value["value"], json!(1.0), "an error is in no mean");
    // More of them than may be leave nothing measured.
    project.write("../errors", &lines(&["case-02", "case-05", "case-08"]));
    let (_, judgement) = gate(&project, &["--no-rerun"]);
    assert_eq!(judgement["verdict"], json!("unmeasured"));
    let report = project.json("kelvin/report.json");
    let reason = report["metrics"]["results.qa.correct"]["reason"].to_string();
    insta::assert_snapshot!(reason, @r#""15.0 % of the samples are errors where each case counts alike, more than `max_errors` (10 %) allows; the first such sample is one of the case `case-02`""#);
}

#[test]
fn a_case_that_must_pass_is_red_by_itself_and_a_flaky_one_never_is() {
    let keys = format!("{RERUN}    must_pass: [case-09]\n    flaky: [case-10]\n");
    let project = measured(&keys, 1);
    git(project.root(), &["init", "--quiet"]);
    commit(&project, "an evaluator");
    project.write("../broken", &lines(&["case-10"]));
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    let report = project.read("kelvin/report.md");
    insta::assert_snapshot!(redacted(&lines_with(&report, &["case-10"])), @r"- **flaky cases** 1 case of the suite \`qa\` is shown and never gated, since \`flaky\` names it: case-10 (since [TIME])");
    project.write("../broken", &lines(&["case-09"]));
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    assert!(said.stdout.contains("must_pass"), "{}", said.stdout);
}

#[test]
fn what_cannot_be_gated_is_refused_with_what_to_write() {
    let project = Project::new("");
    project.write("eval.sh", EVALUATOR);
    project.write("cases.txt", "one what is 1?\n");
    let suite = SUITE.replace(
        "correct: {column: ok, better: higher, range: [0, 1]}",
        "correct: {column: ok, gate: true}",
    );
    project.write("kelvin.yaml", &suite);
    let said = project.kelvin(&["check", "--no-history"]).expect(2);
    let all = format!("{}{}", said.stdout, said.stderr);
    let words: Vec<&str> = all.split_whitespace().collect();
    let all = words.join(" ");
    assert!(all.contains("better: higher"), "{all}");
    let mut texts = Vec::new();
    for (from, to) in [
        ("run: ORDER=cat sh eval.sh {output}", "run: sh eval.sh"),
        ("run: ORDER=cat sh eval.sh {output}", "format: csv"),
        ("metrics:\n", "rerun: sh eval.sh {output}\n    metrics:\n"),
        (
            "metrics:\n",
            "rerun: sh eval.sh {output} '{cases_regex}'\n    metrics:\n",
        ),
    ] {
        project.write(
            "kelvin.yaml",
            &SUITE
                .replace(from, to)
                .replace("format: csv\n    format: csv\n", "format: csv\n"),
        );
        let said = project.kelvin(&["check", "--no-history"]).expect(1);
        texts.push(said.stderr.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @r#"
    error: `run` has no placeholder `{output}`
     --> kelvin.yaml:3:10
      |
    3 |     run: sh eval.sh
      |          ^^^^^^^^^^
      |
      = help: put `{output}` where the command takes the file to write, or add `file` with the path that it always writes; pytest needs neither with `-p kelvin_action.pytest`

    error: the suite has neither `run` nor `file`
     --> kelvin.yaml:2:5
      |
    2 |   - name: qa
      |     ^
      |
      = help: add `run: "COMMAND {output}"`, or the `file` that an earlier step has written

    error: `rerun` has neither `{cases_regex}` nor `{cases_file}`
     --> kelvin.yaml:6:12
      |
    6 |     rerun: sh eval.sh {output}
      |            ^^^^^^^^^^^^^^^^^^^
      |
      = help: it has to run the named cases alone; leave it out, and the whole suite is run again

    error: `{cases_regex}` has to be a word of its own, without quotes around it
     --> kelvin.yaml:6:12
      |
    6 |     rerun: sh eval.sh {output} '{cases_regex}'
      |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: it is quoted where it is put in: write `--filter {cases_regex}` or `--filter={cases_regex}`
    "#);
}

/// A file of JUnit of ten tests, of which some fail and some are skipped.
fn junit(failing: &[&str], skipped: &[&str]) -> String {
    let tests = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].map(|name| {
        let inner = match (failing.contains(&name), skipped.contains(&name)) {
            (true, _) => "<failure message=\"assert 1 == 2\">assert</failure>",
            (_, true) => "<skipped message=\"the service is away\"/>",
            _ => "",
        };
        format!("<testcase classname=\"t\" name=\"test_{name}\">{inner}</testcase>")
    });
    format!(
        "<testsuites><testsuite name=\"pytest\">{}</testsuite></testsuites>",
        tests.join("\n")
    )
}

#[test]
fn what_an_earlier_step_has_left_is_advised_no_re_run_and_a_skipped_test_was_not_removed() {
    let project = Project::new("");
    project.write(
        "kelvin.yaml",
        "results: [{name: qa, file: out/junit.xml, max_missing: 0.2}]\n",
    );
    project.write("out/junit.xml", &junit(&[], &[]));
    let said = project
        .kelvin(&[
            "check",
            "--no-history",
            "--out",
            "../base",
            "--repeats",
            "5",
        ])
        .expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["is read once", "earlier step", "lets kelvin"]), @r#"
    ~ the suite `qa` is read once, not 5 times: it has no `run`, and the file of an
      earlier step stays as it is. The repeats in that file are its repeats; a `run`
      lets kelvin repeat it
    "#);
    project.write("out/junit.xml", &junit(&["c", "d"], &[]));
    let (said, judgement) = gate(&project, &["--rerun"]);
    assert_eq!(
        judgement["verdict"],
        json!("inconclusive"),
        "{}",
        said.stdout
    );
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let reasons = judgement["reasons"].as_array().expect("a list");
    let reasons: Vec<&str> = reasons
        .iter()
        .filter(|reason| !reason["effect"].is_null())
        .filter_map(|reason| reason["text"].as_str())
        .collect();
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    `results.qa.pass` fell from 1.0000 to 0.8000 over 10 tests, by 0.2000 (the limit is 0.0500), which noise may explain: of single runs chance alone makes as much with a probability of 0.2500; an earlier step has left its values, and nothing here can make them again; without re-runs the limit alone decides (`on_suspected: auto`); several repeats in what that step leaves, a command that the gate can start, or `deterministic: true` if nothing varies, would decide more; most of it in `qa/t::test_c`, `qa/t::test_d`
    2 of 10 tests of the suite `qa` are worse, and each was run once on each side, so that nothing tells noise from a drop: t::test_c, t::test_d; have the step before answer each case several times (`--repeat 3` or the like of the evaluator), or give the suite a `run`, so that kelvin can run it again
    "#);
    let page = project.read("kelvin/gate.md");
    insta::assert_snapshot!(lines_with(&page, &["It may be noise"]), @"It may be noise. Look first at test `qa/t::test_c`. Nothing here can run again what an earlier step has left: several answers to each of the tests in it, more tests, or a command that the gate can start would tell more.");
    // Where nothing varies, one run tells a drop, and no repeat is asked for.
    let varies = project.read("kelvin.yaml");
    project.write(
        "kelvin.yaml",
        &format!("{varies}gate: {{deterministic: true}}\n"),
    );
    let (said, judgement) = gate(&project, &["--rerun"]);
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    assert!(!said.stdout.contains("noise"), "{}", said.stdout);
    project.write("kelvin.yaml", &varies);
    // It is missing all the same, and no verdict is calm about it.
    project.write("out/junit.xml", &junit(&[], &["c"]));
    let (said, judgement) = gate(&project, &["--max-drop", "0.2"]);
    assert_eq!(judgement["turnover"]["results"]["skipped"], json!(1));
    assert_ne!(judgement["turnover"]["results"]["removed"], json!(0));
    let first = said.stdout.lines().find(|line| line.starts_with("Gate "));
    insta::assert_snapshot!(first.unwrap_or_default(), @"Gate         passes on what is left, 1 of 10 tests was skipped");
}

/// A suite whose results are the rows of a file.
const ROWS: &str = "results:\n  - name: qa\n    run: cp rows.csv {output}\n    format: csv\n    columns: {case: id}\n    \
                    metrics:\n      correct: {column: ok, better: higher, range: [0, 1]}\n";

#[test]
fn on_a_scale_of_points_the_limit_is_a_share_of_the_scale() {
    let project = Project::new("");
    let configure = |metric: &str, more: &str| {
        let text = format!(
            "results:\n  - name: qa\n    run: cp rows.csv {{output}}\n    format: csv\n    columns: {{case: id}}\n    \
             metrics:\n      points: {{better: higher{metric}}}\ngate: {{deterministic: true{more}}}\n"
        );
        project.write("kelvin.yaml", &text);
    };
    let score = |points: f64| {
        let rows: String = (0..20).map(|at| format!("c{at},{points}\n")).collect();
        project.write("rows.csv", &format!("id,points\n{rows}"));
    };
    for (metric, more, points, passes) in [
        (", range: [0, 100]", "", 75.5, true),
        (", range: [0, 100]", "", 74.5, false),
        // What is written counts.
        (", range: [0, 100], max_drop: 1", "", 78.5, false),
        (", range: [0, 100]", ", max_drop: 0.5", 79.0, false),
        // Without a range nobody knows what a point is worth.
        ("", "", 79.9, false),
    ] {
        configure(metric, more);
        score(80.0);
        let base = ["check", "--no-history", "--out", "../base"];
        project.kelvin(&base).expect(0);
        score(points);
        let (said, judgement) = gate(&project, &[]);
        assert_eq!(
            judgement["passed"],
            json!(passes),
            "{metric}{more}: {}",
            said.stdout
        );
    }
}

/// Rows of so many cases, each with these results.
fn rows(cases: usize, results: impl Fn(usize) -> Vec<usize>) -> String {
    let rows = (0..cases).flat_map(|case| {
        let results = results(case).into_iter();
        results.map(move |ok| format!("case-{case:02},{ok}\n"))
    });
    std::iter::once("id,ok\n".to_owned()).chain(rows).collect()
}

#[test]
fn results_of_a_case_that_are_not_written_are_never_green() {
    let project = Project::new("");
    project.write("kelvin.yaml", ROWS);
    project.write("rows.csv", &rows(20, |_| vec![1, 0, 1]));
    project
        .kelvin(&["check", "--no-history", "--out", "../base"])
        .expect(0);
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    // Only what passed is written.
    project.write("rows.csv", &rows(20, |_| vec![1]));
    let (said, judgement) = gate(&project, &[]);
    assert_eq!(
        judgement["verdict"],
        json!("inconclusive"),
        "{}",
        said.stdout
    );
    insta::assert_snapshot!(lines_with(&project.read("kelvin/gate.md"), &["fewer results"]), @"**20 of 20 cases of the suite `qa` have fewer results in a run than on the base, 20 and not 60: case-00, case-01, case-02, case-03, case-04, case-05, case-06, case-07 and 12 more; what an evaluator does not write may be what failed: have it write every result, a failed one with an empty score, or have base and change run as often**");
}

#[test]
fn two_broken_cases_of_a_hundred_are_run_again_with_a_base_that_can_be_run() {
    let project = Project::new("");
    project.write(
        "kelvin.yaml",
        &format!("{ROWS}baseline: {{compute: true}}\n"),
    );
    project.write("rows.csv", &rows(100, |_| vec![1]));
    project.write(".gitignore", "/kelvin/\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "base");
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.write("note.md", "Nothing changed.\n");
    commit(&project, "note");
    let said = project.kelvin(&["gate", "--no-history", "--base", "main"]);
    assert_eq!(verdict(&project, &said)["verdict"], json!("pass"));
    project.write(
        "rows.csv",
        &rows(100, |case| vec![usize::from(case % 50 != 3)]),
    );
    commit(&project, "change");
    let said = project.kelvin(&["gate", "--no-history", "--base", "main"]);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    for case in ["qa/case-03", "qa/case-53"] {
        assert!(said.stdout.contains(case), "{}", said.stdout);
    }
}
