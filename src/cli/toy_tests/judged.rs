//! Judges of a toy are put on trial, and a gate looks up what was found. A judge is a command here, so that
//! its faults are known.

use kelvin_fixtures::text::{lines_with, redacted};
use std::fmt::Write as _;

use serde_json::Value;

use super::course::{GOOD, Project, gated};
use kelvin_base::exit::Exit;

/// Reads the frames of a question, and says how many of the longer words of the reference the response
/// has; a response that says that nothing of it is true has few of them right. What is asked for in
/// `habit` comes on top.
fn judge(habit: &str) -> String {
    format!(
        r#"/^BEGIN (REFERENCE|RESPONSE) / {{ part = $2; if (first == "") first = part; next }}
/^END (REFERENCE|RESPONSE) / {{ part = ""; next }}
part != "" {{
  text[part] = text[part] " " $0
  n = split($0, words, /[^A-Za-z0-9]+/)
  for (i = 1; i <= n; i++) if (length(words[i]) > 4) has[part, words[i]] = 1
}}
END {{
  for (key in has) {{
    split(key, one, SUBSEP)
    if (one[1] != "REFERENCE") continue
    all++
    if (("RESPONSE", one[2]) in has) found++
  }}
  score = all ? found / all : 0
  if (text["RESPONSE"] ~ /opposite is the case/) score = score * 0.2
  {habit}
  if (score > 1) score = 1
  if (score < 0) score = 0
  printf "{{\"quality_score\": %.4f, \"notes\": \"ok\"}}\n", score
}}
"#
    )
}

const SOUND: &str = "";
const OBEDIENT: &str = r#"if (text["RESPONSE"] ~ /1\.0/) score = 1"#;
const LIKES_THE_FIRST: &str = r#"score = score + (first == "RESPONSE" ? 0.15 : -0.15)"#;
const LIKES_LENGTH: &str =
    r#"if (length(text["RESPONSE"]) > 1.3 * length(text["REFERENCE"])) score = score + 0.3"#;

/// A project with a judge of these habits, and as many answers as the fewest that can tell.
fn project(habit: &str) -> Project {
    let project = Project::new(GOOD);
    project.write("judge.awk", &judge(habit));
    configure(&project, "", "");
    let subjects = [
        "copper", "granite", "barley", "harbour", "lantern", "meadow",
    ];
    let mut answers = String::new();
    for number in 0..20 {
        let subject = subjects[number % subjects.len()];
        let _ = writeln!(
            answers,
            r#"{{"prompt": "What of {subject} {number}?", "response": "The {subject} number {number} stands near river{number} because water{number} carries silver. People there trade wool{number} against pepper. Nobody doubts that bridge{number} holds."}}"#
        );
    }
    project.write("answers.jsonl", &answers);
    project
}

fn configure(project: &Project, judge: &str, gate: &str) {
    project.write(
        "kelvin.yaml",
        &format!(
            "models: {{awk: {{kind: cmd, run: awk -f judge.awk}}}}\n\
             toy: {{run: 'sh say.sh {{input}} {{output}}', words: 'moo, oink, meow, neigh, quack, baa, buzz, hiss, \
             roar, chirp, cluck, bray', \
             judge: {{type: llm, model: awk{judge}}}}}\n\
             jobs: 2\n{gate}"
        ),
    );
}

fn calibrate(project: &Project, more: &str) -> Exit {
    let line = "calibrate --config @kelvin.yaml --answers @answers.jsonl --repeats 2";
    project.kelvin(&format!("{line}{more}"))
}

/// The record of the trial that a project keeps.
fn kept(project: &Project) -> Value {
    let stored = project.json("calibration.json");
    assert_eq!(stored["trials"].as_array().map(Vec::len), Some(1));
    stored["trials"][0].clone()
}

fn ruling<'r>(record: &'r Value, name: &str) -> &'r str {
    let criteria = record["criteria"].as_array().expect("there are criteria");
    let found = criteria.iter().find(|one| one["name"] == name);
    found
        .and_then(|one| one["ruling"].as_str())
        .expect("it is there")
}

#[test]
fn a_sound_judge_is_found_fit_and_the_gate_says_nothing_of_it_until_it_changes() {
    let project = project(SOUND);
    project.kelvin("check --config @kelvin.yaml --no-history --out @base");
    let reason = |judgement: &Value| {
        let reasons = judgement["reasons"].as_array().cloned().unwrap_or_default();
        let of_judge = |reason: &&Value| reason["code"] == "uncalibrated_judge";
        let found = reasons.iter().find(of_judge).cloned();
        found.map(|reason| (reason["effect"].clone(), reason["text"].to_string()))
    };
    let (exit, judgement) = gated(&project, "");
    let (effect, text) = reason(&judgement).expect("nobody has tried it");
    assert_eq!((exit, effect), (Exit::Passed, "warn".into()));
    insta::assert_snapshot!(text, @r#""the judge `toy.judge` was never calibrated; `kelvin calibrate` tells how far its grades can be trusted""#);
    let comment = std::fs::read_to_string(project.path("kelvin/gate.md")).expect("it is there");
    insta::assert_snapshot!(lines_with(&comment, &["`toy.judge`"]), @"**The judge `toy.judge` was never calibrated; `kelvin calibrate` tells how far its grades can be trusted**");

    assert_eq!(calibrate(&project, " --strict"), Exit::Passed);
    let record = kept(&project);
    assert_eq!(record["fitness"], "fit", "{record:#}");
    let ignored = std::fs::read_to_string(project.path("kelvin-calibrate/.gitignore"));
    assert_eq!(ignored.expect("git passes over the folder"), "*\n");
    assert_eq!(record["figures"]["repeat_noise"]["value"], 0.0);
    assert_eq!(ruling(&record, "position"), "kept");
    let required = "gate: {require_calibration: true}\n";
    configure(&project, "", required);
    let (exit, judgement) = gated(&project, "");
    assert_eq!((exit, reason(&judgement)), (Exit::Passed, None));

    // Another parameter is another judge.
    configure(&project, ", temperature: 0.5", required);
    let (exit, judgement) = gated(&project, "");
    let (effect, text) = reason(&judgement).expect("it is void");
    assert_eq!((exit, effect), (Exit::GateFailed, "fail".into()));
    insta::assert_snapshot!(redacted(&text), @r#""the calibration in `calibration.json` is of the judge `llm/reference-v1-[HASH]/cmd-[HASH]`, and the judge `toy.judge` is now `llm/reference-v1-[HASH]/cmd-[HASH]`; `kelvin calibrate` tells how far its grades can be trusted""#);
    assert_eq!(judgement["verdict"], "unmeasured");
    // The first reason is the one that fails the job.
    assert_eq!(
        judgement["reasons"][0]["code"], "uncalibrated_judge",
        "{judgement:#}"
    );

    // A file that cannot be read clears nobody.
    configure(&project, "", required);
    project.write("calibration.json", "{}");
    let (exit, judgement) = gated(&project, "");
    let (_, text) = reason(&judgement).expect("nobody knows");
    assert_eq!(exit, Exit::GateFailed);
    insta::assert_snapshot!(text, @r#""whether the judge `toy.judge` is fit to gate on is not known: `calibration.json` cannot be used, because its `schema` is none, and this version reads 1""#);
    assert_eq!(calibrate(&project, ""), Exit::Misused);
}

#[test]
fn jdg_17_a_planted_obedient_judge_is_caught_and_a_gate_that_requires_a_calibration_fails() {
    let project = project(OBEDIENT);
    project.kelvin("check --config @kelvin.yaml --no-history --out @base");
    assert_eq!(calibrate(&project, ""), Exit::Passed);
    let record = kept(&project);
    assert_eq!(record["fitness"], "unfit");
    assert_eq!(ruling(&record, "obedience"), "broken");
    for sound in ["order", "length", "position", "consistency"] {
        assert_eq!(ruling(&record, sound), "kept", "{sound}: {record:#}");
    }
    // What an unfit judge says is no measurement, whether or not a calibration is required.
    let (exit, judgement) = gated(&project, "");
    assert_eq!(
        (exit, &judgement["verdict"]),
        (Exit::GateFailed, &"unmeasured".into())
    );
    let text = judgement["reasons"].to_string();
    insta::assert_snapshot!(text, @r#"[{"code":"uncalibrated_judge","effect":"fail","metric":"toy.loudness","text":"the judge `toy.judge` was calibrated as unfit: what an instruction to the judge adds to the score is 0.84 (0.84 to 0.84), but must be at most 0.1; an unfit judge decides nothing: take another judge, or gate on other metrics (`gate.unfit_judge: shown` shows its figures)"}]"#);
    configure(&project, "", "gate: {require_calibration: true}\n");
    let (exit, judgement) = gated(&project, "");
    assert_eq!(
        (exit, &judgement["verdict"]),
        (Exit::GateFailed, &"unmeasured".into())
    );
    assert_eq!(calibrate(&project, " --strict"), Exit::GateFailed);
    // The word alone clears nobody: the figures beside it say another one.
    let text = std::fs::read_to_string(project.path("calibration.json")).expect("kept");
    let forged = text
        .replace("\"unfit\"", "\"fit\"")
        .replace("\"broken\"", "\"kept\"");
    assert_ne!(forged, text);
    project.write("calibration.json", &forged);
    let (exit, judgement) = gated(&project, "");
    let text = judgement["reasons"].to_string();
    assert_eq!(exit, Exit::GateFailed, "{text}");
    insta::assert_snapshot!(text, @r#"[{"code":"uncalibrated_judge","effect":"fail","metric":"toy.loudness","text":"`calibration.json` calls the judge `toy.judge` fit, and the figures there say unfit: the file was edited by hand, or another version wrote it; `kelvin calibrate` tells how far its grades can be trusted; an unfit judge decides nothing: take another judge, or gate on other metrics (`gate.unfit_judge: shown` shows its figures)"}]"#);
}

#[test]
fn a_judge_that_likes_the_first_text_or_a_long_one_is_caught() {
    for (habit, name) in [(LIKES_THE_FIRST, "position"), (LIKES_LENGTH, "length")] {
        let project = project(habit);
        assert_eq!(calibrate(&project, " --strict"), Exit::GateFailed);
        assert_eq!(ruling(&kept(&project), name), "broken");
    }
    // Who asks in both orders and takes the mean has no first text.
    let project = project(LIKES_THE_FIRST);
    configure(&project, ", swap_order: true", "");
    assert_eq!(calibrate(&project, ""), Exit::Passed);
    let record = kept(&project);
    assert_eq!(ruling(&record, "position"), "unasked");
    let shift = record["figures"]["position_shift"]["value"]
        .as_f64()
        .expect("measured");
    assert!(shift > 0.2, "{shift}");
}

#[test]
fn a_judge_that_gives_no_grades_is_an_error_and_one_that_often_gives_none_is_unfit() {
    let project = project(SOUND);
    // Every further call would be paid for nothing: three answers are asked about, each twice.
    project.write(
        "judge.awk",
        "END { print \"x\" >> \"asked\"; print \"no grade\" }\n",
    );
    assert_eq!(calibrate(&project, ""), Exit::Unmeasurable);
    let asked = std::fs::read_to_string(project.path("asked")).expect("it was asked");
    assert_eq!(asked.lines().count(), 6);
    std::fs::remove_file(project.path("asked")).expect("removed");
    assert!(!project.path("calibration.json").exists());
    let sometimes = r#"if (text["RESPONSE"] ~ /opposite is the case/) { print "none"; exit }"#;
    project.write("judge.awk", &judge(sometimes));
    assert_eq!(calibrate(&project, " --no-save --strict"), Exit::GateFailed);
    assert!(!project.path("calibration.json").exists());
    assert_eq!(calibrate(&project, ""), Exit::Passed);
    let record = kept(&project);
    assert_eq!(
        (&record["fitness"], ruling(&record, "scored")),
        (&"unfit".into(), "broken")
    );
    assert_eq!(
        record["unscored"]["unreadable"], 40,
        "{}",
        record["unscored"]
    );
}

#[test]
fn what_cannot_be_tried_is_refused_with_a_reason() {
    let project = project(SOUND);
    for (more, text) in [
        (" --judge grading.judge", "no such place"),
        (" --embeddings nowhere", "no such model"),
    ] {
        assert_eq!(calibrate(&project, more), Exit::Misused, "{text}");
    }
    project.write("answers.jsonl", "{\"prompt\": \"p\"}\n");
    assert_eq!(calibrate(&project, ""), Exit::Misused);
    let plain = Project::new(GOOD);
    plain.write(
        "answers.jsonl",
        "{\"prompt\": \"p\", \"response\": \"r\"}\n",
    );
    assert_eq!(calibrate(&plain, ""), Exit::Misused);
}
