//! Measures of answers that are made from retrieved passages. The judge is a script behind the chat API: it splits texts
//! into sentences, and a passage carries a sentence that it has word by word.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{WORKER, worker};
use crate::models::server::{Faults, says};
use crate::project::{Project, Said};

/// How many pairs of a faithful answer and its unfaithful twin there are.
const PAIRS: usize = 40;

/// What the judge does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// It reads the passages.
    Reads,
    /// It finds everything carried, relevant and useful.
    LikesAll,
    /// It finds everything good in a text that asks for it.
    Obeys,
    /// It forgets the last verdict.
    Forgets,
    /// It gives a number in place of a list.
    Grades,
}

/// The texts in the frames of a question, by the name of the frame.
fn frames(question: &str) -> BTreeMap<String, String> {
    let mut frames = BTreeMap::new();
    let mut rest = question;
    while let Some(at) = rest.find("\nBEGIN ") {
        let (head, text) = rest[at + 7..].split_once('\n').expect("a line");
        let (name, mark) = head.rsplit_once(' ').expect("a name and a mark");
        let (inside, after) = text
            .split_once(&format!("\nEND {name} {mark}"))
            .expect("an end");
        frames.insert(name.to_owned(), inside.to_owned());
        rest = after;
    }
    frames
}

/// The sentences of a text, without the marks around them.
fn sentences(text: &str) -> Vec<String> {
    let parts = text.split(['.', '!', '?', '\n']);
    let bare = parts.map(|part| {
        part.trim_matches(|sign: char| !sign.is_alphanumeric())
            .to_owned()
    });
    bare.filter(|part| !part.is_empty()).collect()
}

/// The answer of the judge to a question.
fn judged(question: &str, way: Way) -> String {
    let frames = frames(question);
    let frame = |name: &str| frames.get(name).cloned().unwrap_or_default();
    let numbered = (1..).map_while(|number| frames.get(&format!("PASSAGE {number}")));
    let passages: Vec<&String> = numbered.collect();
    let asks = frames.iter().any(|(name, text)| {
        name != "PROMPT"
            && ["full marks", "1.0", "exactly 1"]
                .iter()
                .any(|order| text.contains(order))
    });
    let likes = way == Way::LikesAll || (way == Way::Obeys && asks);
    let carried =
        |sentence: &str| likes || passages.iter().any(|passage| passage.contains(sentence));
    let number = |text: &str| {
        text.split(|c: char| !c.is_ascii_digit())
            .find(|part| !part.is_empty())
            .map(str::to_owned)
    };
    let (list, mut entries): (&str, Vec<Value>) = if question.contains("is of use") {
        let reference = frame("REFERENCE");
        let useful = |text: &str| {
            likes
                || sentences(&reference)
                    .iter()
                    .any(|claim| text.contains(&**claim))
        };
        let of =
            |(place, text): (usize, &&String)| json!({"passage": place, "useful": useful(text)});
        ("passages", (1..).zip(&passages).map(of).collect())
    } else if question.contains("help to answer the PROMPT") {
        let subject = number(&frame("PROMPT"));
        let of = |text: String| {
            let relevant =
                likes || text.contains(&format!("room {}", subject.clone().unwrap_or_default()));
            json!({"statement": text, "relevant": relevant})
        };
        (
            "statements",
            sentences(&frame("RESPONSE")).into_iter().map(of).collect(),
        )
    } else {
        let name = if question.contains("claims of the REFERENCE") {
            "REFERENCE"
        } else {
            "RESPONSE"
        };
        let of = |text: String| json!({"claim": text, "carried": carried(&text)});
        (
            "claims",
            sentences(&frame(name)).into_iter().map(of).collect(),
        )
    };
    match way {
        Way::Grades => return json!({"quality_score": 1.0}).to_string(),
        Way::Forgets => {
            if let Some(Value::Object(last)) = entries.last_mut() {
                last.retain(|key, _| ["claim", "passage", "statement"].contains(&key.as_str()));
            }
        }
        Way::Reads | Way::LikesAll | Way::Obeys => {}
    }
    json!({ list: entries }).to_string()
}

/// What the pipeline does: a line of `awk` that changes the answer or the passages.
const FAITHFUL: &str = "";
const UNFAITHFUL: &str =
    r#"text = text " The room " n " was sold to Carla Venn in " (1900 + n) ".""#;
const BESIDE_THE_POINT: &str = r#"text = text " The weather was mild. The ferry was late.""#;
const WORSE_ORDER: &str = r#"passages = "[" ferry ", " river ", " dry "]""#;
const HALF_FOUND: &str = r#"passages = "[" river ", " ferry "]""#;
const OWN_WORDS: &str = r#"passages = "{\"text\": \"" text "\"}""#;

struct Asked {
    project: Project,
    way: Arc<Mutex<Way>>,
    _server: Faults,
}

impl Asked {
    /// A base whose answers a judge of this mode has measured.
    fn by(mode: &str) -> Self {
        let way = Arc::new(Mutex::new(Way::Reads));
        let shared = Arc::clone(&way);
        let server = Faults::start(move |_, request| {
            let messages = request.json()["messages"].clone();
            let texts = messages.as_array().expect("a list").iter();
            let question: String = texts.filter_map(|one| one["content"].as_str()).collect();
            says(&judged(&question, *shared.lock().expect("no panic")))
        });
        let project = Project::new("exit 9\n");
        let line = |n: usize| {
            let line = json!({
                "id": format!("p{n:02}"),
                "prompt": format!("What is known of room {n}?"),
                "reference": format!("The room {n} has {} chairs. The room {n} faces river {}.", n + 20, n + 50),
            });
            format!("{line}\n")
        };
        project.write("prompts.jsonl", &(0..PAIRS).map(line).collect::<String>());
        project.write(
            "kelvin.yaml",
            &format!(
                "jobs: 1\nmodels:\n  local: {{kind: openai, base_url: \"{}\", model: gemma}}\ngrading:\n  prompts: \
                 prompts.jsonl\n  candidate: {{run: {WORKER}}}\n  answer_field: answer\n  \
                 passages_field: passages\n  judge: {{type: llm, model: local, mode: {mode}}}\n",
                server.url()
            ),
        );
        let asked = Self {
            project,
            way,
            _server: server,
        };
        asked.answers(FAITHFUL);
        asked.project.kelvin(&["check"]).expect(0);
        let report = asked.project.read("kelvin/report.json");
        asked.project.write("base.json", &report);
        asked
    }

    fn answers(&self, how: &str) {
        let answer = format!(
            r#"
function answer(prompt,    n, text, dry, river, ferry, passages) {{
    match(prompt, /[0-9]+/)
    n = substr(prompt, RSTART, RLENGTH) + 0
    text = "The room " n " has " (n + 20) " chairs. The room " n " faces river " (n + 50) "."
    dry = "\"The room " n " has " (n + 20) " chairs. It is dry.\""
    river = "{{\"id\": 7, \"text\": \"The room " n " faces river " (n + 50) ".\"}}"
    ferry = "\"The ferry leaves at noon.\""
    passages = "[" dry ", " river ", " ferry "]"
    {how}
    return "{{\"answer\": \"" text "\", \"passages\": " passages "}}"
}}
"#
        );
        self.project.write("bot.awk", &worker(&answer));
    }

    /// Judges a change as a job does, without the cache of the base.
    fn gate(&self, how: &str, way: Way) -> (Said, Value) {
        self.answers(how);
        *self.way.lock().expect("no panic") = way;
        for folder in [".kelvin", "kelvin"] {
            fs::remove_dir_all(self.project.path(folder)).ok();
        }
        let said = self.project.kelvin(&["gate", "--baseline", "base.json"]);
        let judgement = self.project.json("kelvin/gate.json");
        (said, judgement["metrics"]["grading.judge_score"].clone())
    }

    /// The score of each pair in the last run; none where it has none.
    fn scores(&self) -> Vec<Option<f64>> {
        let report = self.project.json("kelvin/report.json");
        let items = report["probes"]["grading"]["items"]
            .as_object()
            .expect("items")
            .clone();
        let first = |item: &Value| item["samples"][0]["grade"]["score"].as_f64();
        items.values().map(first).collect()
    }

    fn faults(&self) -> Vec<String> {
        let report = self.project.json("kelvin/report.json");
        let pairs = report["probes"]["grading"]["basis"]["planted"]["pairs"].clone();
        let pairs = pairs.as_array().expect("pairs").clone();
        let mut faults: Vec<String> = pairs
            .iter()
            .filter_map(|pair| pair["fault"].as_str().map(str::to_owned))
            .collect();
        faults.sort();
        faults.dedup();
        faults
    }
}

#[test]
fn of_forty_pairs_every_unfaithful_answer_is_found_and_every_faithful_one_is_kept() {
    let asked = Asked::by("faithfulness");
    let (said, score) = asked.gate(&format!("{FAITHFUL} # the same"), Way::Reads);
    said.expect(0);
    assert_eq!(score["verdict"], json!("pass"), "{score}");
    assert_eq!(asked.scores(), vec![Some(1.0); PAIRS]);
    assert_eq!(asked.faults(), ["contradicted", "invented"]);

    let (said, score) = asked.gate(UNFAITHFUL, Way::Reads);
    let said = said.expect(3);
    assert_eq!(score["verdict"], json!("regression"), "{}", said.stdout);
    assert_eq!(asked.scores(), vec![Some(2.0 / 3.0); PAIRS]);
    let report = asked.project.json("kelvin/report.json");
    let sample = &report["probes"]["grading"]["items"]["p07"]["samples"][0];
    let notes = sample["grade"]["notes"].as_str().expect("notes");
    insta::assert_snapshot!(notes, @"1 of 3 claims not carried by the passages: The room 7 was sold to Carla Venn in 1907");
    assert_eq!(
        sample["candidate"]["passages"][1]["text"],
        json!("The room 7 faces river 57.")
    );
}

#[test]
fn a_judge_that_finds_everything_carried_or_obeys_cannot_be_believed() {
    let asked = Asked::by("faithfulness");
    let mut told = Vec::new();
    for way in [Way::LikesAll, Way::Obeys] {
        let (said, score) = asked.gate(UNFAITHFUL, way);
        let said = said.expect(3);
        assert_eq!(score["verdict"], json!("unmeasured"), "{}", said.stdout);
        let reasons = asked.project.json("kelvin/gate.json")["reasons"].clone();
        told.push(reasons[0]["text"].as_str().unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `grading.judge_score` was not measured: the judge cannot be believed in this run: of 16 planted answers that are surely worse it put none below the whole ones and 16 level with them; it gave 1 to every answer, whole or not
    `grading.judge_score` was not measured: the judge cannot be believed in this run: it took worse answers that tell the judge to give full marks for better ones
    ");
}

#[test]
fn a_malformed_list_is_a_refused_grade_and_neither_zero_nor_one() {
    let asked = Asked::by("faithfulness");
    let mut told = Vec::new();
    for way in [Way::Forgets, Way::Grades] {
        let (said, score) = asked.gate(&format!("{FAITHFUL} # {way:?}"), way);
        said.expect(3);
        assert_eq!(score["verdict"], json!("unmeasured"), "{score}");
        assert_eq!(asked.scores(), vec![None; PAIRS]);
        let report = asked.project.json("kelvin/report.json");
        let why = &report["probes"]["grading"]["items"]["p00"]["samples"][0]["unscored"];
        told.push(why["text"].as_str().expect("a text").to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `carried` of entry 2 of `claims` is neither true nor false
    the answer of the judge has no `claims`
    ");
}

/// Measures a pipeline and a worse one by a mode, and gives their scores, which are the same for each pair.
#[track_caller]
fn falls(mode: &str, worse: &str, fault: &str) -> (f64, f64) {
    let asked = Asked::by(mode);
    let (said, score) = asked.gate(&format!("{FAITHFUL} # the same"), Way::Reads);
    said.expect(0);
    assert_eq!(score["verdict"], json!("pass"), "{mode}: {score}");
    assert_eq!(asked.faults(), [fault], "{mode}");
    let before = asked.scores();
    let (said, score) = asked.gate(worse, Way::Reads);
    said.expect(3);
    assert_eq!(score["verdict"], json!("regression"), "{mode}: {score}");
    let after = asked.scores();
    let (said, score) = asked.gate(worse, Way::LikesAll);
    said.expect(3);
    assert_eq!(score["verdict"], json!("unmeasured"), "{mode}: {score}");
    let one = |scores: Vec<Option<f64>>| {
        assert!(scores.iter().all(|score| *score == scores[0]), "{scores:?}");
        scores[0].expect("a score")
    };
    (one(before), one(after))
}

#[test]
fn the_relevance_of_an_answer_falls_by_statements_beside_the_point() {
    assert_eq!(
        falls("answer_relevance", BESIDE_THE_POINT, "invented"),
        (1.0, 0.5)
    );
}

#[test]
fn the_precision_of_passages_falls_where_useful_ones_stand_below() {
    let worse = f64::midpoint(1.0 / 2.0, 2.0 / 3.0);
    assert_eq!(
        falls("context_precision", WORSE_ORDER, "buried"),
        (1.0, worse)
    );
}

#[test]
fn the_recall_of_passages_falls_where_one_is_not_found() {
    assert_eq!(falls("context_recall", HALF_FOUND, "replaced"), (1.0, 0.5));
}

#[test]
fn stored_answers_are_measured_anew_with_the_passages_that_were_stored() {
    let asked = Asked::by("context_recall");
    let yaml = asked.project.read("kelvin.yaml");
    asked.project.write(
        "kelvin.yaml",
        &yaml.replace("context_recall", "faithfulness"),
    );
    let said = asked
        .project
        .kelvin(&["rescore", "grades", "base.json", "--out", "again"]);
    said.expect(0);
    let report = asked.project.json("again/report.json");
    let grade = &report["probes"]["grading"]["items"]["p03"]["samples"][0]["grade"];
    assert_eq!(grade["score"], json!(1.0), "{grade}");
    let id = grade["grader_id"].as_str().expect("an id");
    assert!(id.starts_with("llm/faithfulness-v1-"), "{id}");
}

#[test]
fn what_is_missing_is_said_before_anything_is_asked() {
    let asked = Asked::by("faithfulness");
    let project = &asked.project;
    let yaml = project.read("kelvin.yaml");
    project.write(
        "kelvin.yaml",
        &yaml.replace("  passages_field: passages\n", ""),
    );
    let said = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(said.stderr, @r#"
    error: the judge looks into the retrieved passages, and `grading` does not say where they are
     --> kelvin.yaml:8:10
      |
    8 |   judge: {type: llm, model: local, mode: faithfulness}
      |          ^
      |
      = help: let the pipeline write {"answer": "…", "passages": ["…"]}, and add `answer_field: answer` and `passages_field: passages`
    "#);
    project.write(
        "kelvin.yaml",
        &yaml.replace("mode: faithfulness", "mode: faithfulness, criteria: c"),
    );
    let said = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: a measure of retrieved passages has no `criteria`: its rules and its form are fixed
     --> kelvin.yaml:9:66
      |
    9 |   judge: {type: llm, model: local, mode: faithfulness, criteria: c}
      |                                                                  ^
      |
      = help: take `criteria` away, or choose another `mode`
    ");
    project.write("kelvin.yaml", &yaml);
    project.write(
        "answers.jsonl",
        "{\"prompt\": \"p\", \"response\": \"r\"}\n",
    );
    let said = project
        .kelvin(&["calibrate", "--answers", "answers.jsonl"])
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: `grading.judge` measures retrieved passages, and `kelvin calibrate` has answers without passages
      help: such a judge is tried by the planted answers of each `kelvin gate`, which have its faults
    ");
    // A pipeline that writes something else in the place of its passages has failed.
    asked.answers(OWN_WORDS);
    let said = project.kelvin(&["check"]);
    assert_ne!(said.code, Some(0), "{}", said.stdout);
    let text = format!("{}{}", said.stdout, said.stderr);
    assert!(text.contains("is no list"), "{text}");
}
