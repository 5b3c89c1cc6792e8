//! With `baseline: {texts: none}` no word of an answer is on the branch of reports, nor in anything that a workflow shows
//! or uploads; and it is still told which answers are other ones.

use kelvin_fixtures::text::lines_with;
use std::collections::BTreeMap;

use serde_json::json;

use super::*;

/// A word that stands in everything that the pipelines answer, and nowhere else.
const MARKER: &str = "zebrafish";

/// Decides about the cases, does a scenario, and fails in several ways, with the marker in all that it says.
const PIPELINE: &str = r####"
read=$(cat "$1")
case "$read" in
  *'one fails'*) echo 'zebrafish printed'; echo 'zebrafish log' >&2; exit 1;;
  *'one is prose'*) echo 'zebrafish is no JSON' > "$2"; exit 0;;
  *'one is odd'*) echo '{"zebrafish": 1}' > "$2"; exit 0;;
  *'one is a list'*) echo '{"decision": ["zebrafish"]}' > "$2"; exit 0;;
  *crash*) word=BUG;;
  *) word=FEATURE;;
esac
printf '{"decision": "zebrafish %s", "reason": "the zebrafish said %s", "citations": ["zebrafish %s"]}' $word $word $word > "$2"
"####;

const ASK: &str = r#"printf '{"hits": [{"doc_id": "d", "text": "a zebrafish passage"}], "answer": {"text": "the zebrafish WORD", "grounded": true, "citations": [{"doc_id": "zebrafish"}]}}' > "$2"
"#;

const SAY: &str = "echo \"a zebrafish WORD $(cat \"$1\")\" > \"$2\"\n";

/// Looks at what a scenario left, and quotes it.
const LOOK: &str = r#"#!/usr/bin/env python3
import json, sys
with open(json.load(sys.stdin)["agent_output_path"]) as output:
    said = output.read()
print(json.dumps({"passed": "FEATURE" in said, "score": 0.5, "reason": f"it said {said}", "details": {"warnings": [said]}}))
"#;

/// A repository whose change answers everything otherwise, in every probe.
fn rig(texts: &str, change: &str) -> Rig {
    let server = Server::start();
    let (remote, url) = bare();
    let project = pushed(&url, &script(PIPELINE, ["bug", "feature"]));
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for at in 0..8 {
        let what = if at % 2 == 0 {
            "a crash"
        } else {
            "a dark mode"
        };
        let text = format!(
            "# Ticket {at}\n\n## Rule\n\nThere is {what}, {at} times.\n\n## Facts\n\nPlan {at}.\n"
        );
        project.write(&format!("cases/t{at}.md"), &text);
    }
    for (at, how) in ["one fails", "one is prose", "one is odd", "one is a list"]
        .iter()
        .enumerate()
    {
        let text = format!("# Ticket z{at}\n\n## Rule\n\nThis {how}.\n\n## Facts\n\nPlan z{at}.\n");
        project.write(&format!("cases/z{at}.md"), &text);
    }
    let query = |at| format!("- {{id: q{at}, query: question {at}, expected_doc_ids: [d]}}\n");
    project.write("golden.yaml", &(0..4).map(query).collect::<String>());
    let prompt = |at| {
        format!("{{\"id\": \"p{at}\", \"prompt\": \"Say {at}\", \"reference\": \"good {at}\"}}\n")
    };
    project.write("prompts.jsonl", &(0..4).map(prompt).collect::<String>());
    let scenario = |at| format!("{{\"id\": \"s{at}\", \"prompt\": \"Do {at}\"}}\n");
    let failing = "{\"id\": \"s9\", \"prompt\": \"This one fails\"}\n";
    project.write(
        "scenarios.jsonl",
        &((0..4).map(scenario).collect::<String>() + failing),
    );
    project.write("look.py", LOOK);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(project.path("look.py"), executable).expect("made executable");
    project.write("ask.sh", &ASK.replace("WORD", "one"));
    project.write("say.sh", &SAY.replace("WORD", "one"));
    project.write(
        "decision.schema.json",
        r#"{"properties": {"decision": {"enum": ["yes", "no"]}}}"#,
    );
    project.write("kelvin.yaml", &format!(
        "run: sh {{root}}/pipeline.sh {{input}} {{output}}\ncases: cases\ndecision_field: decision\ngoverning_types: [rule]\n\
         scenarios: scenarios.jsonl\ninvariants:\n  looked_at: {{description: It is looked at, check: {{type: custom, script: look.py}}}}\n\
         retrieval: {{run: 'sh ask.sh {{input}} {{output}}', golden: golden.yaml}}\n\
         grading: {{prompts: prompts.jsonl, candidate: {{run: 'sh say.sh {{input}} {{output}}'}}, judge: {{type: exact_match}}}}\n\
         quality: {{output_schema: decision.schema.json, required_outputs: [/decision, /absent]}}\n\
         baseline: {{texts: {texts}}}\njobs: 2\n"
    ));
    project.write(".gitignore", "/kelvin/\n/.kelvin/\n");
    commit(&project, "configuration");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    Rig::requested(server, (project, remote), change, |project| {
        project.write("ask.sh", &ASK.replace("WORD", "two"));
        project.write("say.sh", &SAY.replace("WORD", "two"));
    })
}

/// The pipeline with the two words that it answers.
fn script(text: &str, [bug, feature]: [&str; 2]) -> String {
    text.replace("BUG", bug)
        .replace("=FEATURE", &format!("={feature}"))
}

/// All that a workflow shows and uploads, by its place.
fn shown(rig: &Rig, ran: &Ran) -> BTreeMap<String, String> {
    let mut shown = BTreeMap::from([
        ("log".to_owned(), ran.log()),
        ("summary".to_owned(), ran.summary.clone()),
        ("outputs".to_owned(), ran.outputs.clone()),
    ]);
    let state = rig.server.state();
    let comments = state.comments.values().map(|comment| &*comment.body);
    shown.insert(
        "comments".to_owned(),
        comments.collect::<Vec<_>>().join("\n"),
    );
    shown.insert(
        "check runs".to_owned(),
        format!("{:?} {:?}", state.check_runs, state.annotations),
    );
    shown.insert("requests".to_owned(), format!("{:?}", state.log));
    drop(state);
    // The step after this one uploads what this one names.
    let files = ran.outputs.lines().filter(|line| line.starts_with('/'));
    for file in files {
        shown.insert(
            file.to_owned(),
            fs::read_to_string(file).expect("it is there"),
        );
    }
    shown
}

/// Everything that lies on the branch of reports.
fn on_the_branch(rig: &Rig) -> String {
    let list = git(
        rig.remote.path(),
        &["ls-tree", "-r", "--name-only", "kelvin-reports"],
    );
    let files = list.lines();
    files
        .map(|file| {
            git(
                rig.remote.path(),
                &["show", &format!("kelvin-reports:{file}")],
            )
        })
        .collect()
}

#[test]
fn no_word_of_an_answer_leaves_a_workflow_that_keeps_none() {
    let mut rig = rig("none", &script(PIPELINE, ["feature", "bug"]));
    assert!(
        rig.project.read("kelvin/report.json").contains(MARKER),
        "a laptop has the texts"
    );
    assert!(!on_the_branch(&rig).contains(MARKER), "the branch has none");
    for arguments in [&["--check-run"][..], &["--comment", "later"]] {
        let ran = rig.on("pull_request", arguments);
        let places = shown(&rig, &ran);
        let files: Vec<&str> = places
            .keys()
            .filter_map(|place| place.rsplit_once('/'))
            .map(|(_, name)| name)
            .collect();
        let bundle = ["bundle.json"]
            .iter()
            .filter(|_| arguments[0] == "--comment");
        let uploaded = [
            "gate.json",
            "gate.md",
            "report.html",
            "report.json",
            "report.md",
        ];
        assert_eq!(
            files,
            bundle.chain(&uploaded).copied().collect::<Vec<_>>(),
            "{}",
            ran.log()
        );
        for (place, text) in &places {
            let at = text
                .find(MARKER)
                .map(|at| text[..at + 40].chars().rev().take(300).collect::<String>());
            let around = at.map(|around| around.chars().rev().collect::<String>());
            assert_eq!(around, None, "{place} has a word of an answer");
        }
        // It is still told how many are other ones, and which.
        let judgement = rig.project.json("kelvin/gate.json");
        for (probe, first, others) in [
            ("evidence", "t0", 8),
            ("retrieval", "q0", 4),
            ("grading", "p0", 4),
        ] {
            let answers = &judgement["answers"][probe];
            assert_eq!(answers["other"], json!(others), "{probe}: {answers}");
            assert_eq!(answers["answers"][0]["item"], json!(first));
            let [base, head] =
                ["base", "head"].map(|side| answers["answers"][0][side].as_str().expect("a text"));
            assert!(
                base.contains("(not kept: ") && head.contains("(not kept: ") && base != head,
                "{base} {head}"
            );
        }
        let told = if arguments[0] == "--comment" {
            &ran.summary
        } else {
            &places["comments"]
        };
        assert!(
            told.contains("`t0` is answered otherwise (and 7 more cases)"),
            "{told}"
        );
    }
    // What a push keeps is no more.
    git(
        rig.project.root(),
        &["checkout", "--quiet", "-B", "main", "HEAD"],
    );
    let tip = git(rig.project.root(), &["rev-parse", "HEAD"]);
    let mut payload = rig.payload("push");
    payload["after"] = tip.as_str().into();
    let ran = rig.ci("push", &payload, &[]);
    let kept = on_the_branch(&rig);
    assert!(kept.contains(&tip), "{}", ran.log());
    assert!(
        !kept.contains(MARKER) && !ran.log().contains(MARKER),
        "{}",
        ran.log()
    );
}

#[test]
fn where_all_texts_are_kept_a_workflow_shows_and_uploads_them() {
    let mut rig = rig("full", &script(PIPELINE, ["feature", "bug"]));
    assert!(on_the_branch(&rig).contains(MARKER));
    let ran = rig.on("pull_request", &["--check-run"]);
    let places = shown(&rig, &ran);
    for place in ["comments", "summary", "log"] {
        assert!(places[place].contains(MARKER), "{place}: {}", places[place]);
    }
    for (place, text) in places.iter().filter(|(place, _)| place.starts_with('/')) {
        assert!(text.contains(MARKER), "{place}");
    }
}

#[test]
fn an_output_that_has_no_decision_is_not_quoted_by_the_error() {
    let change = r#"echo '{"zebrafish": "zebrafish"}' > "$2""#;
    let mut rig = rig("none", change);
    let ran = rig.on("pull_request", &["--check-run"]);
    insta::assert_snapshot!(lines_with(&ran.log(), &["`t0`"]), @"
    ::error title=Kelvin::the first baseline, of case `t0`, has no usable decision: its output has no decision in the field that should hold it help: `decision_field` in `kelvin.yaml` is `decision`: have the output give that field again, or name another whose value the scorer can compare; nothing else was run
    error: the first baseline, of case `t0`, has no usable decision: its output has no decision in the field that should hold it
    ");
    for (place, text) in shown(&rig, &ran) {
        assert!(!text.contains(MARKER), "{place}: {text}");
    }
}
