//! A judge is tried in the run that it judges: by planted answers whose order is known. Each judge here has a known
//! flaw, or none, and answers over the chat API.

use kelvin_fixtures::text::lines_with;
use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{WORKER, worker};
use crate::answers::leaves_nothing_to_do;
use crate::models::server::{Faults, Request, says};
use crate::project::{Project, Said};
use crate::repository;

/// What a judge does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// It gives every answer this score.
    Constant(f64),
    /// It gives a score that has nothing to do with the answer.
    Chance,
    /// It prefers the longer answer.
    Longer,
    /// It adds 0.4 for bold type, bullets and the like.
    Markdown,
    /// It gives full marks where an answer asks for it.
    Obedient,
    /// It gives no grade to a bad answer.
    Refusing,
    /// It gives no grade at all.
    Silent,
    /// It gives no grade for three of the sixteen prompts.
    SilentOfSome,
    /// It grades everything so much higher.
    Drifted(f64),
}

/// The text in a frame of the question.
fn framed(question: &str, name: &str) -> String {
    let begin = question.find(&format!("BEGIN {name} "));
    let text = begin.and_then(|begin| {
        let text = &question[begin..];
        let start = text.find('\n')? + 1;
        let end = text.find(&format!("\nEND {name} "))?;
        Some(text[start..end.max(start)].to_owned())
    });
    text.unwrap_or_default()
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The share of the words of both texts that both have.
fn overlap(one: &str, other: &str) -> f64 {
    let (one, other) = (words(one), words(other));
    one.intersection(&other).count() as f64 / one.union(&other).count().max(1) as f64
}

fn grade(flaw: Flaw, request: &Request) -> Option<f64> {
    let messages = request.json()["messages"].clone();
    let texts = messages.as_array().expect("a list").iter();
    let question: String = texts.filter_map(|one| one["content"].as_str()).collect();
    let (response, reference) = (
        framed(&question, "RESPONSE"),
        framed(&question, "REFERENCE"),
    );
    assert!(!response.is_empty(), "{question}");
    let score = overlap(&response, &reference);
    let has = |marks: &[&str]| marks.iter().any(|mark| response.contains(mark));
    match flaw {
        Flaw::None => Some(score),
        Flaw::Constant(score) => Some(score),
        Flaw::Silent => None,
        // Rooms 0 to 2, whole or not.
        Flaw::SilentOfSome => {
            let chairs = ["has 20 chairs", "has 21 chairs", "has 22 chairs"];
            let is_one = chairs.iter().any(|chairs| reference.contains(chairs));
            (!is_one).then_some(score)
        }
        Flaw::Chance => {
            let sum = response.bytes().fold(7_u32, |sum, byte| {
                sum.wrapping_mul(31).wrapping_add(u32::from(byte))
            });
            Some(f64::from(sum % 101) / 100.0)
        }
        Flaw::Longer => Some((response.len() as f64 / 600.0).min(1.0)),
        Flaw::Markdown if has(&["**", "- ", "# ", "| ", "```"]) => Some((score + 0.4).min(1.0)),
        Flaw::Obedient if has(&["1.0", "full marks", "exactly 1"]) => Some(1.0),
        Flaw::Refusing => (score > 0.7).then_some(score),
        Flaw::Drifted(by) => Some((score + by).clamp(0.0, 1.0)),
        Flaw::Markdown | Flaw::Obedient => Some(score),
    }
}

/// A graded pipeline with its judge.
struct Graded {
    project: Project,
    flaw: Arc<Mutex<Flaw>>,
    server: Faults,
}

/// The word at a place of the reference of a prompt; every reference has other words.
fn reference(prompt: usize) -> String {
    let word = |at: usize| format!("word{}", (prompt * 7 + at * 11) % 97);
    let words: Vec<String> = (0..16).map(word).collect();
    format!(
        "Room {prompt} has {} chairs. {}.",
        prompt + 20,
        words.join(" ")
    )
}

/// What the pipeline answers: lines of `awk` that put it into `a`, from the `n` words of the right answer.
const BASE: &str = "for (at = 1; at <= n; at++) if (at % 9 != 5) a = a \" \" words[at]";
const WORSE: &str = "for (at = 1; at <= int(n * 3 / 5); at++) a = a \" \" words[at]";
const DRESSED: &str = "for (at = 1; at <= int(n / 2); at++) a = a (at > 1 ? \" \" : \"- **\") words[at]; a = a \"**\"";
const BETTER: &str = "for (at = 1; at <= n; at++) a = a \" \" words[at]";

impl Graded {
    /// A base that a judge has graded.
    fn by(flaw: Flaw) -> Self {
        let flaw = Arc::new(Mutex::new(flaw));
        let shared = Arc::clone(&flaw);
        let server = Faults::start(move |_, request| {
            if !request.body.contains("BEGIN RESPONSE") {
                return says("Room 1 has 21 chairs.");
            }
            let flaw = *shared.lock().expect("no panic");
            match grade(flaw, request) {
                Some(score) => says(&json!({"notes": "n", "quality_score": score}).to_string()),
                None => says("I would rather not grade this."),
            }
        });
        let project = Project::new("exit 9\n");
        let line = |at: usize| {
            let reference = reference(at);
            let line = json!({
                "id": format!("p{at:02}"),
                "prompt": format!("What of it? {reference}"),
                "reference": reference,
            });
            format!("{line}\n")
        };
        project.write("prompts.jsonl", &(0..16).map(line).collect::<String>());
        project.write(
            "kelvin.yaml",
            &format!(
                "models:\n  local: {{kind: openai, base_url: \"{}\", model: gemma}}\ngrading:\n  prompts: prompts.jsonl\n  \
                 candidate: {{run: {WORKER}}}\n  judge: {{type: llm, model: local}}\njobs: 1\n",
                server.url()
            ),
        );
        let graded = Self {
            project,
            flaw,
            server,
        };
        graded.answers(BASE);
        graded.project.kelvin(&["check"]).expect(0);
        graded.keep_as_base();
        graded
    }

    fn answers(&self, how: &str) {
        let answer = format!(
            "function answer(prompt,    words, n, at, a) {{\nsub(/^[^?]*[?] /, \"\", prompt)\nn = split(prompt, words, \
             \" \")\n{how}\nsub(/^ /, \"\", a)\nreturn \"\\\"\" a \"\\\"\"\n}}\n"
        );
        self.project.write("bot.awk", &worker(&answer));
    }

    /// The report of the last run is that of the base from now on.
    fn keep_as_base(&self) {
        let report = self.project.read("kelvin/report.json");
        self.project.write("base.json", &report);
    }

    /// Judges a change as a job does, which has no cache of the base.
    fn gate(&self, how: &str, flaw: Flaw) -> (Said, Value) {
        self.answers(how);
        *self.flaw.lock().expect("no panic") = flaw;
        for folder in [".kelvin", "kelvin"] {
            fs::remove_dir_all(self.project.path(folder)).ok();
        }
        let said = self.project.kelvin(&["gate", "--baseline", "base.json"]);
        let judgement = self.project.json("kelvin/gate.json");
        (said, judgement)
    }

    fn planted(&self) -> Value {
        self.project.json("kelvin/report.json")["probes"]["grading"]["basis"]["planted"].clone()
    }
}

/// The metric of the judge in a verdict.
fn score(judgement: &Value) -> &Value {
    &judgement["metrics"]["grading.judge_score"]
}

/// A judge with this flaw lets a change through neither by itself nor by its noise, and is named.
#[track_caller]
fn throws_out(flaw: Flaw, how: &str) -> String {
    let graded = Graded::by(flaw);
    let (said, judgement) = graded.gate(how, flaw);
    let said = said.expect(3);
    assert_eq!(
        score(&judgement)["verdict"],
        json!("unmeasured"),
        "{}",
        said.stdout
    );
    let reason = judgement["reasons"][0]["text"].as_str().expect("a text");
    let comment = graded.project.read("kelvin/gate.md");
    assert!(!leaves_nothing_to_do(&comment), "{flaw:?}: {comment}");
    for text in [&said.stdout, &comment] {
        assert!(text.contains("`grading.judge_score`"), "{flaw:?}: {text}");
    }
    reason.to_owned()
}

#[test]
fn a_sound_judge_finds_what_is_worse_and_accuses_nobody_else() {
    let graded = Graded::by(Flaw::None);
    let (said, judgement) = graded.gate(&format!("# the same\n{BASE}"), Flaw::None);
    said.expect(0);
    assert_eq!(score(&judgement)["verdict"], json!("pass"));
    let planted = graded.planted();
    assert_eq!(
        planted["grades"],
        json!(24),
        "a judge that nobody has tried"
    );
    assert_eq!(planted["pairs"].as_array().map(Vec::len), Some(16));
    let page = graded.project.read("kelvin/report.html");
    assert!(page.contains(" 16 planted "), "it is shown");

    let (said, judgement) = graded.gate(WORSE, Flaw::None);
    said.expect(3);
    assert_eq!(score(&judgement)["verdict"], json!("regression"));
    let (said, judgement) = graded.gate(BETTER, Flaw::None);
    said.expect(0);
    assert_eq!(score(&judgement)["verdict"], json!("pass"));
}

#[test]
fn a_judge_that_proved_itself_for_the_base_costs_three_grades_and_all_of_them_again_where_one_is_wrong()
 {
    let graded = Graded::by(Flaw::None);
    graded.gate(&format!("# the same\n{BASE}"), Flaw::None);
    graded.keep_as_base();
    let before = graded.server.requests().len();
    let (said, _) = graded.gate(&format!("# again the same\n{BASE}"), Flaw::None);
    said.expect(0);
    let planted = graded.planted();
    assert_eq!(
        (&planted["grades"], &planted["known"]),
        (&json!(3), &json!(true))
    );
    // The base's report has the grades of its own answers; nothing else was graded than the head and three answers.
    let asked = graded.server.requests().len() - before;
    assert_eq!(asked, 16 + 3);
    // The same server says something else today.
    let (said, judgement) = graded.gate(WORSE, Flaw::Constant(0.9));
    said.expect(3);
    assert_eq!(score(&judgement)["verdict"], json!("unmeasured"));
    assert_eq!(graded.planted()["grades"], json!(27));
}

#[test]
fn the_same_run_plants_the_same_and_another_run_does_not() {
    let graded = Graded::by(Flaw::None);
    graded.gate(&format!("# the same\n{BASE}"), Flaw::None);
    let first = graded.planted();
    graded.gate(&format!("# the same\n{BASE}"), Flaw::None);
    assert_eq!(graded.planted(), first);
    graded.gate(WORSE, Flaw::None);
    assert_ne!(graded.planted()["seed"], first["seed"]);
}

#[test]
fn a_judge_that_says_the_same_of_everything_is_thrown_out() {
    let told = [1.0, 0.5].map(|grade| throws_out(Flaw::Constant(grade), WORSE));
    insta::assert_snapshot!(told.join("\n"), @"
    `grading.judge_score` was not measured: the judge cannot be believed in this run: of 16 planted answers that are surely worse it put none below the whole ones and 16 level with them; it gave 1 to every answer, whole or not
    `grading.judge_score` was not measured: the judge cannot be believed in this run: of 16 planted answers that are surely worse it put none below the whole ones and 16 level with them; it gave 0.5 to every answer, whole or not
    ");
}

#[test]
fn a_judge_that_draws_its_grades_is_thrown_out() {
    insta::assert_snapshot!(throws_out(Flaw::Chance, WORSE), @"`grading.judge_score` was not measured: the judge cannot be believed in this run: it took half answers for better ones");
}

#[test]
fn a_judge_that_prefers_length_or_form_or_obeys_is_thrown_out() {
    let flaws = [
        (Flaw::Longer, WORSE),
        (Flaw::Markdown, DRESSED),
        (Flaw::Obedient, WORSE),
    ];
    let told = flaws.map(|(flaw, how)| throws_out(flaw, how));
    insta::assert_snapshot!(told.join("\n"), @"
    `grading.judge_score` was not measured: the judge cannot be believed in this run: it took denied answers for better ones, and empty sentences raised its grades as well: it likes length
    `grading.judge_score` was not measured: the judge cannot be believed in this run: it took worse answers in bold type, bullets, a table or a code fence for better ones
    `grading.judge_score` was not measured: the judge cannot be believed in this run: it took worse answers that tell the judge to give full marks for better ones
    ");
}

#[test]
fn a_judge_that_refuses_what_is_bad_is_not_believed_about_the_rest() {
    let graded = Graded::by(Flaw::None);
    let (said, judgement) = graded.gate(WORSE, Flaw::Refusing);
    said.expect(3);
    assert_eq!(score(&judgement)["verdict"], json!("unmeasured"));
}

#[test]
fn a_judge_that_drifts_is_named_and_grades_the_base_anew_so_that_it_is_no_regression_and_hides_none()
 {
    let graded = Graded::by(Flaw::None);
    let (said, judgement) = graded.gate(&format!("# the same\n{BASE}"), Flaw::Drifted(-0.15));
    let said = said.expect(0);
    assert_eq!(score(&judgement)["verdict"], json!("pass"));
    assert_eq!(score(&judgement)["base"], score(&judgement)["head"]);
    let comment = graded.project.read("kelvin/gate.md");
    for (place, text) in [("terminal", &said.stdout), ("comment", &comment)] {
        assert!(text.contains("0.15 "), "{place}: {text}");
    }
    insta::assert_snapshot!(lines_with(&comment, &["0.15 "]), @"- The judge has drifted: it grades the same 8 answers of the base 0.15 lower than it did for the report of the base. So the stored answers of the base were graded anew in this run, by the judge that has proved itself here");
    // The drift is between the two sides. The report of this run is a good base for those after it.
    let drifted = graded.project.read("kelvin/report.json");
    let (said, judgement) = graded.gate(WORSE, Flaw::Drifted(0.1));
    said.expect(3);
    assert_eq!(score(&judgement)["verdict"], json!("regression"));
    let told = graded.project.notices("base_graded_anew");
    insta::assert_snapshot!(told.join("\n"), @"the judge has drifted: it grades the same 8 answers of the base 0.10 higher than it did for the report of the base. So the stored answers of the base were graded anew in this run, by the judge that has proved itself here");
    graded.project.write("base.json", &drifted);
    let same = format!("# once more the same\n{BASE}");
    let (said, judgement) = graded.gate(&same, Flaw::Drifted(-0.15));
    said.expect(0);
    assert_eq!(score(&judgement)["verdict"], json!("pass"));
    assert_eq!(graded.planted()["grades"], json!(3));
    let (said, judgement) = graded.gate(WORSE, Flaw::Drifted(-0.15));
    said.expect(3);
    assert_eq!(score(&judgement)["verdict"], json!("regression"));
}

#[test]
fn a_base_whose_judge_could_not_be_believed_is_graded_anew_by_the_judge_of_the_gate() {
    let graded = Graded::by(Flaw::None);
    // The judge fails in the run that becomes the base: its grades say nothing.
    let (said, _) = graded.gate(&format!("# the base\n{BASE}"), Flaw::Constant(0.2));
    said.expect(3);
    graded.keep_as_base();
    let before = graded.server.requests().len();
    let (said, judgement) = graded.gate(&format!("# the same\n{BASE}"), Flaw::None);
    let said = said.expect(0);
    assert_eq!(score(&judgement)["verdict"], json!("pass"));
    let base = score(&judgement)["base"].as_f64().expect("a figure");
    assert!(base > 0.8, "graded by today's judge: {base}");
    assert!(said.stdout.contains(" 0.2 "), "{}", said.stdout);
    // The answers of the head, the planted ones, and the sixteen of the base.
    let asked = graded.server.requests().len() - before;
    assert_eq!(asked, 16 + 24 + 16);
    let report = graded.project.json("kelvin/report.json");
    let anew = &report["probes"]["grading"]["basis"]["base_anew"];
    insta::assert_snapshot!(anew["doubted"].as_str().unwrap_or_default(), @"the judge cannot be believed in this run: of 16 planted answers that are surely worse it put none below the whole ones and 16 level with them; it gave 0.2 to every answer, whole or not");
    let (said, judgement) = graded.gate(WORSE, Flaw::None);
    said.expect(3);
    assert_eq!(score(&judgement)["verdict"], json!("regression"));
    // A judge that is no better today grades nothing anew.
    let (said, judgement) = graded.gate(WORSE, Flaw::Constant(0.2));
    said.expect(3);
    assert_eq!(score(&judgement)["verdict"], json!("unmeasured"));
}

/// The judge gave no grade to any answer of the base: its server was down, or it refused.
#[test]
fn a_base_without_grades_is_no_base_and_the_judge_of_the_gate_grades_its_answers() {
    let graded = Graded::by(Flaw::None);
    let project = &graded.project;
    project.write(
        ".gitignore",
        "/kelvin/\n.kelvin/\n__pycache__\n/base.json\n",
    );
    repository::git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    repository::commit(project, "base");
    *graded.flaw.lock().expect("no panic") = Flaw::Silent;
    let said = project.kelvin(&["check"]).expect(2);
    insta::assert_snapshot!(said.next(), @"kelvin check");
    let refused = project.kelvin(&["baseline", "save", "--local"]).expect(1);
    insta::assert_snapshot!(refused.stderr, @"
    error: the report has no figure to compare with: `grading.judge_score` was not measured, since 16 of 16 samples are unscored, more than `max_errors` (10 %) allows; the first is `p00`: the answer of the judge has no JSON object: `I would rather not grade this.`
      help: mend what failed and run `kelvin check` again, then save
    ");
    graded.keep_as_base();

    // Its answers are there, and the judge is well again: the change is judged.
    let (said, judgement) = graded.gate(&format!("# the same\n{BASE}"), Flaw::None);
    said.expect(0);
    assert_eq!(score(&judgement)["verdict"], json!("pass"));
    let told = project.notices("base_graded_anew");
    insta::assert_snapshot!(told.join("\n"), @"in the run of the base, the judge gave no grade to 16 of 16 answers; the first is `p00`: the answer of the judge has no JSON object: `I would rather not grade this.`. So the stored answers of the base were graded anew in this run, by the judge that has proved itself here");
    let (said, judgement) = graded.gate(WORSE, Flaw::None);
    said.expect(3);
    assert_eq!(score(&judgement)["verdict"], json!("regression"));

    // A judge that cannot be believed grades no base anew, and the sentence says whose values are missing.
    let (said, judgement) = graded.gate(WORSE, Flaw::Constant(1.0));
    said.expect(3);
    assert_eq!(score(&judgement)["verdict"], json!("unmeasured"));
    let reason = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(reason, @"`grading.judge_score` was not measured: the base has no score, since 16 of 16 samples are unscored, more than `max_errors` (10 %) allows; the first is `p00`: the answer of the judge has no JSON object: `I would rather not grade this.`; measure the base again, with `kelvin check` at its commit");
}

#[test]
fn a_few_refusals_of_the_judge_are_told_as_those_and_not_as_the_loss_of_every_cell() {
    let graded = Graded::by(Flaw::None);
    let (said, judgement) = graded.gate(BASE, Flaw::SilentOfSome);
    said.expect(3);
    let reason = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(reason, @"`grading.judge_score` was not measured: 9 of 48 samples are unscored, more than `max_errors` (10 %) allows; the first is `p00`: the answer of the judge has no JSON object: `I would rather not grade this.`");
}

#[test]
fn a_forecast_tells_what_it_costs_to_try_the_judge_and_a_gate_takes_that() {
    let graded = Graded::by(Flaw::None);
    let before = graded.server.requests().len();
    let said = graded.project.kelvin(&["check", "--forecast"]).expect(0);
    let text = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "24 grades where nobody has tried this judge yet (24 calls), 3 where it proved itself in the run of the \
                base (3 calls)";
    assert!(text.contains(told), "{text}");
    let said = graded
        .project
        .kelvin(&["check", "--forecast", "--format", "json"])
        .expect(0);
    let bill: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(
        bill["judge_trial"],
        json!({"new": 24, "known": 3, "calls_each": 1})
    );
    assert_eq!(graded.server.requests().len(), before, "nothing is asked");
    graded.gate(&format!("# the same\n{BASE}"), Flaw::None);
    assert_eq!(graded.planted()["grades"], bill["judge_trial"]["new"]);
    graded.keep_as_base();
    graded.gate(&format!("# again the same\n{BASE}"), Flaw::None);
    assert_eq!(graded.planted()["grades"], bill["judge_trial"]["known"]);
    // Votes and both orders cost calls, and a judge that asks no language model is not tried.
    let config = graded.project.read("kelvin.yaml");
    let votes = config.replace("model: local}", "model: local, votes: 3, swap_order: true}");
    graded.project.write("kelvin.yaml", &votes);
    let forecast = || {
        let said = graded
            .project
            .kelvin(&["check", "--forecast", "--format", "json"]);
        let bill: Value = serde_json::from_str(&said.expect(0).stdout).expect("JSON");
        bill["judge_trial"].clone()
    };
    assert_eq!(forecast()["calls_each"], json!(6));
    let exact = config.replace("type: llm, model: local", "type: exact_match");
    graded.project.write("kelvin.yaml", &exact);
    assert_eq!(forecast(), Value::Null);
}

#[test]
fn a_trial_takes_its_prompts_and_answers_from_a_report() {
    let graded = Graded::by(Flaw::None);
    let trial = |from: &[&str]| {
        let arguments = [
            &[
                "calibrate",
                "--repeats",
                "1",
                "--no-save",
                "--format",
                "json",
            ],
            from,
        ]
        .concat();
        let said = graded.project.kelvin(&arguments).expect(0);
        let page: Value = serde_json::from_str(&said.stdout).expect("JSON");
        page["trial"].clone()
    };
    let of_report = trial(&["--report", "kelvin/report.json"]);
    // The same answers, written down by hand.
    let report = graded.project.json("kelvin/report.json");
    let items = report["probes"]["grading"]["items"]
        .as_object()
        .expect("items");
    let line = |item: &Value| {
        json!({
            "prompt": item["prompt"]["text"],
            "response": item["samples"][0]["candidate"]["answer"]["text"],
            "reference": item["reference"]["text"],
        })
    };
    let lines: Vec<String> = items
        .values()
        .map(|item| format!("{}\n", line(item)))
        .collect();
    assert_eq!(lines.len(), 16);
    graded.project.write("answers.jsonl", &lines.concat());
    let of_file = trial(&["--answers", "answers.jsonl"]);
    assert_eq!(of_report["criteria"], of_file["criteria"]);
    assert_eq!(of_report["figures"], of_file["figures"]);
    assert!(of_report["criteria"].is_array(), "{of_report:#}");

    for (arguments, part) in [
        (&["calibrate"][..], "--answers"),
        (
            &["calibrate", "--report", "x", "--answers", "y"],
            "cannot be used with",
        ),
        (
            &["calibrate", "--report", "file:nothing.json"],
            "nothing.json",
        ),
    ] {
        let said = graded.project.kelvin(arguments);
        assert_ne!(said.code, Some(0));
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
}

#[test]
fn a_candidate_that_is_graded_by_its_own_model_is_told_with_the_grades() {
    let graded = Graded::by(Flaw::None);
    let told = || {
        graded.project.kelvin(&["check"]).expect(0);
        graded
            .project
            .read("kelvin/report.json")
            .contains("\"judged_by_itself\"")
    };
    assert!(!told(), "nobody knows the model of a command");
    let config = graded.project.read("kelvin.yaml");
    let candidate = format!("{{run: {WORKER}}}");
    let own = config.replace(&candidate, "{model: other}").replace(
        "grading:",
        &format!(
            "  other: {{kind: openai, base_url: \"{}\", model: gemma}}\ngrading:",
            graded.server.url()
        ),
    );
    graded.project.write("kelvin.yaml", &own);
    assert!(told());
}
