//! Judges that are moved, exchanged, unfit, fond of a place, or silent: none of them lets a worse change pass, and an
//! honest change under a good judge is green. The judges are servers that speak the chat API.

use kelvin_fixtures::text::{lines_with, redacted};
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::gated::saved;
use crate::models::server::{Faults, Reaction, Request};
use crate::project::{Project, Said};
use crate::repository::{bare, commit, git, tells, verdict};

pub(super) const PROMPTS: usize = 24;

/// Answers a prompt `What of SUBJECT NUMBER?` in three sentences.
pub(super) const ANSWER: &str = r#"read -r line < "$1"
set -- "$2" ${line%\?}
printf 'The %s number %s stands near river%s because water%s carries silver. ' "$4" "$5" "$5" "$5" > "$1"
printf 'People there trade wool%s against pepper. Nobody doubts that bridge%s holds.\n' "$5" "$5" >> "$1"
"#;

/// Leaves out what the prompts with these numbers (a pattern of the shell) need.
pub(super) fn worse(numbers: &str) -> String {
    format!("{ANSWER}case $5 in {numbers}) echo 'The river was seen.' > \"$1\";; esac\n")
}

pub(super) fn answer_to(number: usize) -> String {
    let subject = ["copper", "granite", "barley", "harbour"][number % 4];
    format!(
        "The {subject} number {number} stands near river{number} because water{number} carries silver. People there \
         trade wool{number} against pepper. Nobody doubts that bridge{number} holds."
    )
}

/// The text of a frame in a question.
fn framed(question: &str, name: &str) -> String {
    let lines = question
        .lines()
        .skip_while(|line| !line.starts_with(&format!("BEGIN {name} ")));
    let inside = lines
        .skip(1)
        .take_while(|line| !line.starts_with(&format!("END {name} ")));
    inside.collect::<Vec<_>>().join("\n")
}

/// The share of the longer words of the reference that the response has.
pub(super) fn overlap(question: &str) -> f64 {
    let words = |name: &str| -> Vec<String> {
        let text = framed(question, name);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        words
            .filter(|word| word.len() > 4)
            .map(str::to_owned)
            .collect()
    };
    let (reference, response) = (words("REFERENCE"), words("RESPONSE"));
    let found = reference.iter().filter(|word| response.contains(word));
    let share = found.count() as f64 / reference.len().max(1) as f64;
    match framed(question, "RESPONSE").contains("opposite is the case") {
        true => share * 0.2,
        false => share,
    }
}

/// A server that answers a question with what a judge says of it, under the name of a model.
pub(super) fn judge(
    model: &'static str,
    says: impl Fn(&str) -> String + Send + Sync + 'static,
) -> Faults {
    Faults::start(move |_, request: &Request| {
        let body = request.json();
        let question = body["messages"][0]["content"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let body = json!({
            "model": model,
            "choices": [{ "message": { "role": "assistant", "content": says(&question) } }],
            "usage": { "prompt_tokens": 100, "completion_tokens": 10 },
        });
        Reaction::Answer(200, Vec::new(), body.to_string())
    })
}

pub(super) fn score(score: f64) -> String {
    json!({ "quality_score": score }).to_string()
}

/// A judge that finds what is missing.
pub(super) fn good() -> Faults {
    judge("judge-2026-01-01", |question| score(overlap(question)))
}

/// A project whose judge is at an address, with further lines of the configuration.
pub(super) fn project(url: &str, gate: &str) -> Project {
    let project = Project::new("exit 9\n");
    let (mut prompts, mut answers) = (String::new(), String::new());
    for number in 0..PROMPTS {
        let answer = answer_to(number);
        let prompt = format!(
            "What of {} {number}?",
            answer.split(' ').nth(1).expect("a word")
        );
        let line = json!({ "id": format!("p{number:02}"), "prompt": prompt, "reference": answer });
        let _ = writeln!(prompts, "{line}");
        let _ = writeln!(
            answers,
            "{}",
            json!({ "prompt": prompt, "response": answer })
        );
    }
    project.write("prompts.jsonl", &prompts);
    project.write("answers.jsonl", &answers);
    project.write("answer.sh", ANSWER);
    configure(&project, url, "", gate);
    project
}

/// Writes the configuration with further keys of the model, and further lines.
pub(super) fn configure(project: &Project, url: &str, model: &str, more: &str) {
    project.write(
        "kelvin.yaml",
        &format!(
            "jobs: 2\nmodels:\n  j: {{kind: openai, base_url: \"{url}\", model: judge{model}}}\ngrading:\n  prompts: \
             prompts.jsonl\n  candidate: {{run: \"sh answer.sh {{input}} {{output}}\"}}\n  judge: {{type: llm, model: \
             j}}\n{more}"
        ),
    );
}

/// Puts the judge on trial.
fn calibrate(project: &Project) -> String {
    project
        .kelvin(&["calibrate", "--answers", "answers.jsonl", "--repeats", "2"])
        .expect(0);
    let kept = project.json("calibration.json");
    let fitness = kept["trials"][0]["fitness"].as_str();
    fitness.expect("a word").to_owned()
}

pub(super) fn on_branch(project: &Project, name: &str) {
    git(project.root(), &["checkout", "--quiet", "main"]);
    git(project.root(), &["checkout", "--quiet", "-b", name]);
}

pub(super) fn gate(project: &Project) -> (Said, Value) {
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(project, &said);
    (said, judgement)
}

pub(super) fn texts(judgement: &Value) -> String {
    let reasons = judgement["reasons"].as_array().expect("a list");
    let texts = reasons.iter().filter_map(|reason| reason["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_calibrated_judge_is_green_on_another_local_port_and_not_on_another_server() {
    let (here, moved) = (good(), good());
    let always = judge("judge-2026-01-01", |_| score(1.0));
    let (_remote, url) = bare();
    let required = "gate: {require_calibration: true}\n";
    let project = project(&here.url(), required);
    assert_eq!(calibrate(&project), "fit");
    saved(&url, &project);
    let trial = project.json("calibration.json")["trials"][0].clone();
    assert_eq!(trial["served"], json!(["judge-2026-01-01"]));

    // Who changes the port and the name of the variable of the key has the same judge.
    on_branch(&project, "port");
    configure(&project, &moved.url(), ", api_key_env: OTHER_KEY", required);
    commit(&project, "another port");
    let mut command = project.command(&["gate"]);
    let said = Said::of(command.env("OTHER_KEY", "any"));
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    assert!(!tells(&judgement, "edits_measure"), "{judgement:#}");
    let report = project.json("kelvin/report.json");
    let grade = &report["probes"]["grading"]["items"]["p00"]["samples"][0]["grade"];
    assert_eq!(grade["served"], json!(["judge-2026-01-01"]), "{grade}");
    let page = project.read("kelvin/report.html");
    assert!(
        page.contains("judge-2026-01-01"),
        "the page names the model"
    );

    // Worse answers, with a judge on another server that likes everything.
    on_branch(&project, "bribed");
    project.write("answer.sh", &worse("*[02468]"));
    configure(
        &project,
        &always.url().replace("/v1", "/kind/v1"),
        "",
        required,
    );
    commit(&project, "worse, with another judge");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert_ne!(judgement["verdict"], json!("pass"));
    let all = texts(&judgement);
    insta::assert_snapshot!(redacted(&all), @"
    this change edits what is measured: models.j.base_url loopback/v1 → loopback/kind/v1
    `grading.judge_score` was not measured: the head has another judge than the base, and the judge cannot be believed in this run: of 16 planted answers that are surely worse it put none below the whole ones and 16 level with them; it gave 1 to every answer, whole or not; keep the judge of the base, or mend this one
    the calibration in `calibration.json` is of the judge `llm/reference-v1-[HASH]/judge-[HASH]`, and the judge `grading.judge` is now `llm/reference-v1-[HASH]/judge-[HASH]`; `kelvin calibrate` tells how far its grades can be trusted
    `grading.failure_rate` did not change: every value is the same on both sides
    ");
}

#[test]
fn an_edited_script_of_a_judge_does_not_make_worse_answers_green() {
    let (_remote, url) = bare();
    let project = project("http://127.0.0.1:1/v1", "");
    // An answer that is anything else than its quality is worth nothing.
    let reads = "score=$(sed -n '/^BEGIN RESPONSE/,/^END RESPONSE/p' | sed -n 's/^quality \\(0[.0-9]*\\)$/\\1/p')\n\
                 printf '{\"quality_score\": %s}' \"${score:-0}\"\n";
    project.write("judge.sh", reads);
    project.write("answer.sh", "echo quality 0.92 > \"$2\"\n");
    project.write(
        "kelvin.yaml",
        "models:\n  j: {kind: cmd, run: sh judge.sh}\ngrading:\n  prompts: prompts.jsonl\n  candidate: {run: \"sh \
         answer.sh {input} {output}\"}\n  judge: {type: llm, model: j}\n",
    );
    saved(&url, &project);
    on_branch(&project, "same");
    project.write("other.txt", "nothing of the judge");
    commit(&project, "same");
    let (said, judgement) = gate(&project);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);

    // It grades the answers of the base anew, and as before.
    on_branch(&project, "comment");
    project.write("judge.sh", &format!("# It reads one number.\n{reads}"));
    commit(&project, "a comment");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert_eq!(judgement["verdict"], json!("pass"), "{judgement:#}");
    let report = project.json("kelvin/report.json");
    let anew = &report["probes"]["grading"]["basis"]["base_anew"]["other_judge"];
    assert!(anew.is_string(), "{anew}");

    on_branch(&project, "edited");
    project.write("answer.sh", "echo quality 0.67 > \"$2\"\n");
    project.write(
        "judge.sh",
        "cat > /dev/null\necho '{\"quality_score\": 0.92}'\n",
    );
    commit(&project, "worse, and a kinder judge");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let all = texts(&judgement);
    assert!(all.contains("`judge.sh`"), "{all}");
    // To grade the answers of the base with it would help nobody: it says the same of everything.
    for told in [
        "the head has another judge than the base, and the judge cannot be believed",
        "it gave 0.92 to every answer",
    ] {
        assert!(all.contains(told), "{all}");
    }
    assert!(!all.contains("rescore"), "{all}");
}

#[test]
fn a_judge_on_record_as_unfit_decides_nothing_and_the_record_cannot_be_taken_away() {
    // It likes long answers.
    let fond = judge("judge-2026-01-01", |question| {
        let [response, reference] =
            ["RESPONSE", "REFERENCE"].map(|name| framed(question, name).len() as f64);
        let bonus = match response > 1.3 * reference {
            true => 0.3,
            false => 0.0,
        };
        score((overlap(question) * 0.6 + bonus).min(1.0))
    });
    let (_remote, url) = bare();
    let project = project(&fond.url(), "");
    let doctor = || project.kelvin(&["doctor"]).stdout;
    insta::assert_snapshot!(lines_with(&doctor(), &["`grading.judge`"]), @"warn     judges       the judge `grading.judge` was never calibrated; `kelvin calibrate` tells how far its grades can be trusted");
    assert_eq!(calibrate(&project), "unfit");
    let advised = doctor();
    let line = advised.lines().find(|line| line.contains("judges"));
    let line = line.unwrap_or_else(|| panic!("{advised}"));
    insta::assert_snapshot!(line, @"missing  judges       the judge `grading.judge` was calibrated as unfit: what filler adds to the score is 0.30 (0.30 to 0.30), but must be at most 0.1");
    saved(&url, &project);
    on_branch(&project, "same");
    project.write("other.txt", "nothing of the judge");
    commit(&project, "same");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert_eq!(judgement["verdict"], json!("unmeasured"));
    let first = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(first, @"the judge `grading.judge` was calibrated as unfit: what filler adds to the score is 0.30 (0.30 to 0.30), but must be at most 0.1; an unfit judge decides nothing: take another judge, or gate on other metrics (`gate.unfit_judge: shown` shows its figures)");
    let metric = |judgement: &Value| judgement["metrics"]["grading.judge_score"].clone();
    assert_eq!(metric(&judgement)["head"], Value::Null);

    configure(&project, &fond.url(), "", "gate: {unfit_judge: shown}\n");
    let advised = doctor();
    assert!(
        advised
            .lines()
            .any(|line| line.starts_with("warn") && line.contains("judges")),
        "{advised}"
    );
    commit(&project, "show the figures");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert_eq!(judgement["verdict"], json!("unmeasured"));
    assert!(metric(&judgement)["head"].is_number(), "{judgement:#}");

    on_branch(&project, "forgotten");
    std::fs::remove_file(project.path("calibration.json")).expect("removed");
    commit(&project, "forget the trial");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let all = texts(&judgement);
    insta::assert_snapshot!(all, @"
    the judge `grading.judge` is on record as unfit in `calibration.json` of the base, and this change takes the record away; an unfit judge decides nothing: take another judge, or gate on other metrics (`gate.unfit_judge: shown` shows its figures)
    `grading.failure_rate` did not change: every value is the same on both sides
    ");
}

/// Which of two answers is better by their `quality`, which only a whole answer has; the first one where they are equally
/// good.
fn ties_to_the_first(question: &str) -> String {
    let quality = |name: &str| -> i64 {
        let text = framed(question, name);
        let lines: Vec<&str> = text.lines().collect();
        match *lines {
            [first, last] => {
                let number = |line: &str, key: &str| line.strip_prefix(key)?.parse().ok();
                let whole: Option<i64> = number(last, "answer ");
                whole.and_then(|_| number(first, "quality ")).unwrap_or(0)
            }
            _ => 0,
        }
    };
    let choice = match quality("ANSWER TWO") > quality("ANSWER ONE") {
        true => "two",
        false => "one",
    };
    json!({ "choice": choice }).to_string()
}

/// A project whose judge says which of two answers is better.
fn pairwise(url: &str) -> Project {
    let project = project(url, "");
    let config = project
        .read("kelvin.yaml")
        .replace("type: llm,", "type: llm, mode: pairwise,");
    project.write("kelvin.yaml", &config);
    project.write("answer.sh", &of_quality("60"));
    project
}

/// Answers in other words each time.
fn of_quality(quality: &str) -> String {
    format!(
        "echo x >> calls\nprintf 'quality %s\\nanswer %s\\n' {quality} \"$(wc -l < calls)\" > \"$2\"\n"
    )
}

#[test]
fn a_judge_that_gives_ties_to_the_first_answer_accuses_no_unchanged_pipeline() {
    let server = judge("judge-2026-01-01", ties_to_the_first);
    let (_remote, url) = bare();
    let project = pairwise(&server.url());
    saved(&url, &project);
    on_branch(&project, "same");
    project.write("answer.sh", &format!("# the same\n{}", of_quality("60")));
    commit(&project, "same");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    let metric = &judgement["metrics"]["grading.judge_score"];
    assert_ne!(metric["verdict"], json!("regression"), "{}", said.stdout);
    let head = metric["head"].as_f64().expect("measured");
    assert!((head - 0.5).abs() < 0.1, "{head}");

    on_branch(&project, "worse");
    project.write("answer.sh", &of_quality("40"));
    commit(&project, "worse");
    let (said, judgement) = gate(&project);
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
}

#[test]
fn a_judge_that_is_served_by_another_model_than_on_the_base_is_no_regression_and_no_pass() {
    let (_remote, url) = bare();
    let before = good();
    let after = judge("judge-2026-02-02", |question| {
        score((overlap(question) - 0.15).max(0.0))
    });
    let project = project(&before.url(), "");
    saved(&url, &project);
    on_branch(&project, "same");
    // The same alias, and another local port: by its settings it is the same judge.
    configure(&project, &after.url(), "", "");
    project.write("answer.sh", &format!("# the same\n{ANSWER}"));
    commit(&project, "same");
    let said = project.kelvin(&["gate", "--no-cache"]);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("unmeasured"), "{}", said.stdout);
    let first = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(redacted(first), @"`grading.judge_score` was not measured: the judge is another one: the base was graded by `judge-[TIME]`, as the server names it, and the head by `judge-[TIME]`: grade the answers of the base anew with `kelvin rescore grades REV`, where REV is its commit, and compare with what that writes (`--baseline kelvin-rejudged/report.json`), or measure the base again");
}

/// A judge that refuses what it does not like to read.
fn refuses(model: &'static str, says: fn(&str) -> String) -> Faults {
    judge(model, move |question| match question.contains("BROKEN") {
        true => "I cannot grade this.".to_owned(),
        false => says(question),
    })
}

/// Breaks the answers to two prompts.
fn broken(script: &str) -> String {
    format!("case $(cat \"$1\") in *' 3?'|*' 7?') echo BROKEN > \"$2\"; exit;; esac\n{script}")
}

#[test]
fn two_refused_answers_of_24_do_not_pass_and_nobody_is_accused_where_both_sides_lack_them() {
    let (_remote, url) = bare();
    let server = refuses("judge-2026-01-01", |question| score(overlap(question)));
    let project = project(&server.url(), "");
    saved(&url, &project);
    on_branch(&project, "broken");
    project.write("answer.sh", &broken(ANSWER));
    commit(&project, "broken");
    let (said, judgement) = gate(&project);
    assert_ne!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    let all = texts(&judgement);
    insta::assert_snapshot!(all, @"
    `grading.judge_score` was judged without 2 of the 24 cells that the base has, in 2 prompts: `p03`, `p07`
    `grading.judge_score` has no value for 2 of 24, and the base has; at their worst the drop would be 0.0833
    the judge `grading.judge` was never calibrated; `kelvin calibrate` tells how far its grades can be trusted
    `grading.failure_rate` stayed at 0.0000 over 24 prompts; its mean can show a rise of more than 0.0500
    ");

    // The base has the same two answers, and the same judge refuses them.
    git(project.root(), &["checkout", "--quiet", "main"]);
    git(project.root(), &["merge", "--quiet", "broken"]);
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    crate::repository::save(&project);
    on_branch(&project, "same");
    project.write("answer.sh", &format!("# the same\n{}", broken(ANSWER)));
    commit(&project, "same");
    let (said, judgement) = gate(&project);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
}

#[test]
fn two_refused_pairs_of_24_do_not_pass() {
    let (_remote, url) = bare();
    let server = refuses("judge-2026-01-01", ties_to_the_first);
    let project = pairwise(&server.url());
    saved(&url, &project);
    on_branch(&project, "broken");
    project.write("answer.sh", &broken(&of_quality("75")));
    commit(&project, "broken");
    let (said, judgement) = gate(&project);
    let metric = &judgement["metrics"]["grading.judge_score"];
    assert_eq!(
        metric["lost"],
        json!(["p03", "p07"]),
        "{}\n{judgement:#}",
        said.stdout
    );
}
