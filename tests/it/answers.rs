//! What was answered then and now stands beside each other, in every probe, before any figure; and no more of it leaves
//! the machine than is allowed.

use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::project::{HAS, Project, Said, step};
use crate::repository::{bare, commit, git, publish};

/// A classifier of tickets: everything with `crash` in it is a bug. The words that it answers are the parameters.
fn classifier(bug: &str, feature: &str) -> String {
    format!(
        "{HAS}if has \"$1\" crash; then d='{bug}'; else d='{feature}'; fi\nprintf '{{\"decision\": \"%s\"}}' \"$d\" > \"$2\"\n"
    )
}

fn tickets(script: &str) -> Project {
    let project = Project::new(script);
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for at in 0..8 {
        let what = if at % 2 == 0 {
            "The app has a crash"
        } else {
            "Please add a dark mode"
        };
        let text = format!(
            "# Ticket {at}\n\n## Rule\n\n{what}, {at} times a day.\n\n## Facts\n\nPlan {at}.\n\n## Note\n\nSent on day {at}.\n"
        );
        project.write(&format!("cases/t{at:02}.md"), &text);
    }
    project
}

/// Checks, and judges the next state of the project by that.
fn gate_after(project: &Project, change: impl FnOnce(&Project)) -> (Said, Value) {
    project.check();
    project.write("base.json", &project.read("kelvin/report.json"));
    change(project);
    let said = project.kelvin(&["gate", "--baseline", "base.json"]);
    let judgement = project.json("kelvin/gate.json");
    (said, judgement)
}

/// The lines below `Gate`, without the colours.
fn gate_of(said: &Said) -> Vec<&str> {
    let lines = said
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("Gate "));
    lines.map(str::trim).collect()
}

#[test]
fn labels_that_are_exchanged_are_told_first_although_no_figure_moves() {
    let project = tickets(&classifier("bug", "feature"));
    let (said, judgement) = gate_after(&project, |project| {
        project.write("pipeline.sh", &classifier("feature", "bug"));
    });
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    let answers = &judgement["answers"]["evidence"];
    let counts = ["same", "other", "gone", "new"].map(|key| answers[key].clone());
    assert_eq!(counts, [0, 8, 0, 0].map(|count| json!(count)), "{answers}");
    let lines = gate_of(&said);
    insta::assert_snapshot!(lines[0], @"Gate         pass, 8 of 8 cases are answered otherwise");
    insta::assert_snapshot!(lines[1], @"! `t00` is answered `feature` instead of `bug` (and 7 more cases)");
    assert!(lines.contains(&"t01: feature → bug"), "{lines:?}");
    let comment = project.read("kelvin/gate.md");
    assert!(!leaves_nothing_to_do(&comment), "{comment}");
    let first: Vec<&str> = comment.lines().take(3).collect();
    assert_eq!(
        first,
        [
            "### ✅ Kelvin: pass, 8 of 8 cases are answered otherwise",
            "",
            "**`t00` is answered *feature* instead of *bug* (and 7 more cases)**",
        ]
    );
    insta::assert_snapshot!(lines_with(&comment, &["`t00`", "`report.html`"]), @"
    **`t00` is answered *feature* instead of *bug* (and 7 more cases)**
    Look whether the other answers are right, first that of case `t00`. With labels of what is right, the gate would judge them itself.
    | `t00`<br>Ticket 0 | bug | feature |
    and 5 more answers, in `report.html`
    ");
    let page = project.read("kelvin/report.html");
    for text in [
        "8 of 8 cases are answered otherwise",
        "<mark>bug</mark>",
        "<mark>feature</mark>",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

/// A tagger of tickets, which gives several tags or none.
#[test]
fn a_tagger_that_loses_one_of_its_tags_is_shown_the_lists_and_their_order_is_none_of_its_changes() {
    let tagger = |tags: &str| {
        let script = classifier("BUG", "[]").replace(r#""%s""#, "%s");
        script.replace("BUG", tags)
    };
    let project = tickets(&tagger(r#"["app", "bug"]"#));
    let said = project.kelvin(&["check"]).expect(2);
    insta::assert_snapshot!(lines_with(&said.stderr, &["error"]), @"error: the first baseline, of case `t00`, has no usable decision: the decision in `decision` is a list of 2, which `scorer: set` compares, and not a string, number, boolean or null");
    project.config("scorer: set\n");
    let (said, judgement) = gate_after(&project, |project| {
        project.write("pipeline.sh", &tagger(r#"["bug", "app"]"#));
    });
    assert_eq!(judgement["answers"]["evidence"]["other"], json!(0));
    insta::assert_snapshot!(gate_of(&said)[0], @"Gate         pass");
    let (said, _) = gate_after(&project, |project| {
        project.write("pipeline.sh", &tagger(r#"["bug"]"#));
    });
    insta::assert_snapshot!(gate_of(&said)[..2].join("\n"), @r#"
    Gate         pass, 4 of 8 cases are answered otherwise
    ! `t00` is answered `["bug"]` instead of `["app", "bug"]` (and 3 more cases)
    "#);
    let (said, _) = gate_after(&project, |project| {
        project.write("pipeline.sh", &tagger("[]"));
    });
    insta::assert_snapshot!(gate_of(&said)[..2].join("\n"), @"
    Gate         regression, 4 of 8 cases are answered otherwise
    ✗ `t07` now stays at `[]` in 3 of 3 rewrites with other facts, where it moved
    ");
}

#[test]
fn a_terminal_shows_ten_of_the_other_answers_or_all_of_them() {
    let project = tickets(&classifier("bug", "feature"));
    for at in 8..13 {
        let text = project
            .read("cases/t00.md")
            .replace("Ticket 0", &format!("Ticket {at}"));
        project.write(&format!("cases/t{at:02}.md"), &text);
    }
    let (said, _) = gate_after(&project, |project| {
        project.write("pipeline.sh", &classifier("feature", "bug"));
    });
    let shown = |said: &Said| {
        let lines = gate_of(said).into_iter();
        let lines = lines.filter(|line| line.starts_with('t') && line.contains(" → "));
        lines
            .map(|line| line[..3].to_owned())
            .collect::<Vec<String>>()
    };
    let all: Vec<String> = (0..13).map(|at| format!("t{at:02}")).collect();
    assert_eq!(shown(&said), all[..10]);
    assert!(
        gate_of(&said).contains(&"and 3 more, with `--all`"),
        "{}",
        said.stdout
    );
    let said = project.kelvin(&["gate", "--all", "--baseline", "base.json"]);
    assert_eq!(shown(&said), all);
    insta::assert_snapshot!(lines_with(&said.stdout, &["t12: "]), @"  t12: bug → feature");
    let compared = ["compare", "base.json", "kelvin/report.json"];
    let said = project.kelvin(&compared).expect(0);
    assert_eq!(shown(&said), all[..10]);
    assert!(
        gate_of(&said).contains(&"and 3 more, with `--all`"),
        "{}",
        said.stdout
    );
    let said = project
        .kelvin(&[&compared[..], &["--all"]].concat())
        .expect(0);
    assert_eq!(shown(&said), all);
}

#[test]
fn other_answers_fail_where_the_same_are_asked_for_and_noise_does_not() {
    let project = tickets(&classifier("bug", "feature"));
    project.config("gate: {answers: same}\n");
    let (said, judgement) = gate_after(&project, |project| {
        project.write("pipeline.sh", &classifier("crash", "feature"));
    });
    assert_eq!(
        (said.code, &judgement["verdict"]),
        (Some(3), &json!("regression")),
        "{}",
        said.stdout
    );
    let lines = gate_of(&said);
    insta::assert_snapshot!(lines[0], @"Gate         regression, 4 of 8 cases are answered otherwise");
    insta::assert_snapshot!(lines[1], @"✗ `t00` is answered `crash` instead of `bug` (and 3 more cases)");
    assert_eq!(judgement["reasons"][0]["code"], json!("other_answers"));
    project.write(
        "pipeline.sh",
        &format!("# the same\n{}", classifier("bug", "feature")),
    );
    project
        .kelvin(&["gate", "--baseline", "base.json"])
        .expect(0);
}

#[test]
fn the_same_answers_are_not_taken_for_granted_where_none_was_compared() {
    let project = tickets(&classifier("bug", "feature"));
    project.config("gate: {answers: same}\n");
    let (said, judgement) = gate_after(&project, |project| {
        project.write("pipeline.sh", &classifier("feature", "bug"));
        for at in 0..8 {
            let case = format!("cases/t{at:02}.md");
            project.write(&case, &format!("{}Again.\n", project.read(&case)));
        }
    });
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let reasons = judgement["reasons"].as_array().expect("a list");
    let reason = reasons
        .iter()
        .find(|reason| reason["code"] == "other_answers");
    let text = reason.expect("it is told")["text"].to_string();
    insta::assert_snapshot!(text, @r#""no answer of `evidence` was compared with that of the base, and `gate.answers` asks for the same answers""#);
}

#[test]
fn an_unchanged_pipeline_has_no_other_answers_and_nothing_to_do() {
    let project = tickets(&classifier("bug", "feature"));
    let (said, judgement) = gate_after(&project, |_| {});
    let answers = &judgement["answers"]["evidence"];
    assert_eq!(
        (&answers["same"], &answers["other"]),
        (&json!(8), &json!(0))
    );
    let lines = gate_of(&said);
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        ["Gate", "pass"],
        "{}",
        said.stdout
    );
    insta::assert_snapshot!(step(&project.read("kelvin/gate.md")), @"Nothing to do.");
}

/// The step that the gate advises after a change that loses nothing. It is asked of the program, so that the tests that
/// demand it, or another one, do not know the sentence.
static NOTHING_TO_DO: LazyLock<String> = LazyLock::new(|| {
    let project = tickets(&classifier("bug", "feature"));
    gate_after(&project, |_| {});
    step(&project.read("kelvin/gate.md")).to_owned()
});

/// Whether a page of the gate says that there is nothing to do.
pub(crate) fn leaves_nothing_to_do(page: &str) -> bool {
    page.split("\n\n").any(|part| part == *NOTHING_TO_DO)
}

#[test]
fn a_pipeline_that_no_longer_answers_some_cases_says_how_many() {
    let project = tickets(&classifier("bug", "feature"));
    let (said, judgement) = gate_after(&project, |project| {
        let script = classifier("bug", "feature");
        project.write(
            "pipeline.sh",
            &format!("{HAS}has \"$1\" 'Plan 3' && exit 1\n{script}"),
        );
    });
    assert_eq!(judgement["answers"]["evidence"]["gone"], json!(1));
    assert_eq!(judgement["passed"], json!(false), "{}", said.stdout);
    let lines = gate_of(&said);
    insta::assert_snapshot!(lines[0], @"Gate         regression, 1 case is answered no more");
}

#[test]
fn hostile_answers_are_shown_and_do_nothing() {
    const HOSTILE: &str =
        "<script>alert(1)</script> ![x](http://x/y) \\u001b[31mred \\u202egnp.exe | `x`";
    let project = tickets(&classifier("bug", "feature"));
    let (said, _) = gate_after(&project, |project| {
        let script = with_reason(HOSTILE, "feature", HOSTILE);
        project.write("pipeline.sh", &script);
    });
    let (comment, page) = (
        project.read("kelvin/gate.md"),
        project.read("kelvin/report.html"),
    );
    for text in [&said.stdout, &comment, &page] {
        assert!(!text.contains('\u{202e}') && !text.contains("\u{1b}[31mred"));
    }
    assert!(
        !comment.contains("<script") && !comment.contains("![x](http"),
        "{comment}"
    );
    assert!(!page.contains("<script>alert"), "a script in the page");
    // The row of the table keeps its columns, whatever an answer has in it.
    let row = comment.lines().find(|line| line.starts_with("| `t00`"));
    let row = row.expect("it is listed").replace("\\|", "");
    assert_eq!(row.matches('|').count(), 4, "{row}");
}

/// Tickets whose classifier gives a reason too.
fn with_reason(bug: &str, feature: &str, reason: &str) -> String {
    format!(
        "{HAS}if has \"$1\" crash; then d='{bug}'; else d='{feature}'; fi\nprintf '{{\"decision\": \"%s\", \"reason\": \"%s\"}}' \
         \"$d\" '{reason}' > \"$2\"\n"
    )
}

#[test]
fn a_reason_beside_the_decision_is_shown_and_decides_nothing() {
    let project = tickets(&with_reason("bug", "feature", "it was thought over"));
    let (said, judgement) = gate_after(&project, |project| {
        let script = with_reason("bug", "feature", "for another reason");
        project.write("pipeline.sh", &script);
    });
    let answers = &judgement["answers"]["evidence"];
    assert_eq!(answers["other"], json!(0), "{answers}");
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    // One reason for all tickets is no free text, so that another one is no noise.
    let lines = gate_of(&said);
    insta::assert_snapshot!(lines[..3].join("\n"), @"
    Gate         pass, 8 of 8 cases get the same answer with another `reason`
    ! `t00` gets the same answer, but its `reason` is `for another reason` instead
    of `it was thought over` (and 7 more cases)
    ");
    insta::assert_snapshot!(lines_with(&project.read("kelvin/gate.md"), &["Look "]), @"Look whether `reason` is still right, first that of case `t00`: the gate compares the answers, and not what stands beside them.");
    project.write(
        "pipeline.sh",
        &with_reason("feature", "bug", "for another reason"),
    );
    project.kelvin(&["gate", "--baseline", "base.json"]);
    let answers = &project.json("kelvin/gate.json")["answers"]["evidence"]["answers"];
    let reason = json!({"base": "it was thought over", "head": "for another reason"});
    assert_eq!(answers[0]["beside"], json!({ "reason": reason }));
    let page = project.read("kelvin/report.html");
    for text in ["it was thought over", "for another reason"] {
        let shown = format!("<dt>reason</dt><dd>{text}</dd>");
        assert!(page.contains(&shown), "{text}");
    }
    // A reason of a page is cut; an output that is too large to be kept has none.
    let long = "word ".repeat(100);
    project.write("pipeline.sh", &with_reason("feature", "bug", &long));
    project.check();
    let report = project.json("kelvin/report.json");
    let kept = report["probes"]["evidence"]["items"]["t00"]["beside"][0]["reason"].to_string();
    assert!(kept.len() <= 210 && kept.ends_with("word…\""), "{kept}");
    let script = with_reason("feature", "bug", &"word ".repeat(20_000));
    project.write("pipeline.sh", &script);
    project.check();
    let report = project.json("kelvin/report.json");
    assert!(
        report["probes"]["evidence"]["items"]["t00"]
            .get("beside")
            .is_none()
    );
}

#[test]
fn a_reason_that_is_worded_otherwise_each_time_is_not_told_and_one_that_never_was_is() {
    // Each ticket has a reason of its own, and so does each run where it varies.
    let worded = |begin: &str, is_varied: bool| {
        let call = if is_varied { "$KELVIN_SAMPLE" } else { "" };
        format!(
            "{HAS}read -r _ _ number < \"$1\"\nif has \"$1\" crash; then d=bug; else d=feature; fi\n\
             printf '{{\"decision\": \"%s\", \"reason\": \"%s\"}}' \"$d\" \"{begin} $number {call}\" > \"$2\"\n"
        )
    };
    let told = |is_varied: bool, repeats: usize| {
        let project = tickets(&worded("as in ticket", is_varied));
        let config = project.read("kelvin.yaml");
        project.write("kelvin.yaml", &format!("{config}\nrepeats: {repeats}\n"));
        let (said, judgement) = gate_after(&project, |project| {
            project.write("pipeline.sh", &worded("go away", is_varied));
        });
        assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
        let is_calm = leaves_nothing_to_do(&project.read("kelvin/gate.md"));
        (
            judgement["answers"]["evidence"]["asides"][0]["items"].clone(),
            is_calm,
        )
    };
    assert_eq!(told(true, 3), (Value::Null, true));
    assert_eq!(told(false, 3), (json!(8), false));
    // One run does not tell the two apart.
    assert_eq!(told(true, 1), (Value::Null, true));
}

#[test]
fn calls_that_take_much_longer_than_on_the_base_leave_something_to_do() {
    let project = tickets(&classifier("bug", "feature"));
    project.config("variants: {swap: 1, reorder: 1, pad_length: 1, pad_content: 1}\n");
    let (said, judgement) = gate_after(&project, |project| {
        let script = classifier("bug", "feature");
        project.write("pipeline.sh", &format!("sleep 0.7\n{script}"));
    });
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    insta::assert_snapshot!(step(&project.read("kelvin/gate.md")), @"Look at why a call takes so much longer than on the base.");
    let told = judgement["differences"].to_string();
    assert!(told.contains("s on average and took 0."), "{told}");
}

/// A search and prompts, which are answered with a text that is written as a literal of Python.
fn texts(text: &str) -> Project {
    let project = Project::new("exit 9\n");
    let of_two = |line: fn(usize) -> String| (0..2).map(line).collect::<String>();
    project.write(
        "prompts.jsonl",
        &of_two(|at| {
            format!("{{\"id\": \"p{at}\", \"prompt\": \"Say {at}\", \"reference\": \"good\"}}\n")
        }),
    );
    project.write(
        "golden.yaml",
        &of_two(|at| format!("- {{id: q{at}, query: what is {at}, expected_doc_ids: [d]}}\n")),
    );
    project.write(
        "kelvin.yaml",
        "grading:\n  prompts: prompts.jsonl\n  candidate: {run: \"python3 -SE answer.py say {input} {output}\"}\n  judge: {type: \
         exact_match}\nretrieval: {run: \"python3 -SE answer.py ask {input} {output}\", golden: golden.yaml}\n",
    );
    answered_with(&project, text);
    project
}

fn answered_with(project: &Project, text: &str) {
    let script = format!(
        "import json, sys\nkind, _, to = sys.argv[1:]\ntext = {text}\nanswer = {{'text': text, 'grounded': True, \
         'citations': []}}\nfound = {{'hits': [{{'doc_id': 'd', 'title': text[:400]}}], 'answer': answer}}\nopen(to, \
         'w').write(text if kind == 'say' else json.dumps(found))\n"
    );
    project.write("answer.py", &script);
}

/// The search finds what it found, and no label says what the answers should be.
#[test]
fn a_generator_that_refuses_every_question_is_no_pass_though_nothing_labels_its_answers() {
    let project = Project::new("exit 9\n");
    let question = |at: usize| {
        format!("- {{id: q{at}, query: what is in room {at}, expected_doc_ids: [d]}}\n")
    };
    project.write("golden.yaml", &(0..8).map(question).collect::<String>());
    project.write(
        "kelvin.yaml",
        "retrieval: {run: \"python3 -SE rag.py {input} {output}\", golden: golden.yaml}\n",
    );
    let says = |answer: &str| {
        let script = format!(
            "import json, sys\nasked = json.load(open(sys.argv[1]))['query']\nanswer = {{'text': {answer}, 'grounded': \
             True, 'citations': []}}\njson.dump({{'hits': [{{'doc_id': 'd'}}], 'answer': answer}}, open(sys.argv[2], 'w'))\n"
        );
        project.write("rag.py", &script);
    };
    says("'You asked ' + asked");
    let (said, judgement) = gate_after(&project, |_| says("'I cannot help with that.'"));
    assert_eq!(judgement["verdict"], "inconclusive", "{}", said.stdout);
    let comment = project.read("kelvin/gate.md");
    let first: Vec<&str> = comment.lines().take(5).collect();
    insta::assert_snapshot!(first.join("\n"), @r"
    ### ⚠️ Kelvin: inconclusive, passes, 8 of 8 queries are answered otherwise

    **8 queries get one and the same answer, `I cannot help with that.`, where the base gives 8 different ones**

    Read what the pipeline answers now: no metric looks at what these answers say. If one answer for all queries is right, labels that say so let this pass.
    ");
    // Other words for each question are for people to read, and no doubt.
    let (said, judgement) = gate_after(&project, |_| says("'Asked: ' + asked"));
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
}

/// Without variants that should hold, the only answers to an item are those of its one run.
#[test]
fn a_total_loss_needs_no_second_run_where_nothing_varies() {
    for (declared, word) in [
        ("{}", "inconclusive"),
        ("{deterministic: true}", "regression"),
    ] {
        let project = tickets(&classifier("bug", "feature"));
        project.config(&format!(
            "variants: {{reorder: 0, pad_length: 0, pad_content: 0, \
             swap: 3}}\ngate: {declared}\n"
        ));
        let (said, judgement) = gate_after(&project, |project| {
            project.write("pipeline.sh", &classifier("no", "no"));
        });
        assert_eq!(judgement["verdict"], word, "{}", said.stdout);
    }
}

/// No query that should be refused is among those that are asked.
#[test]
fn a_run_of_some_queries_is_not_blamed_for_a_metric_that_they_cannot_have() {
    let project = Project::new("exit 9\n");
    project.write(
        "golden.yaml",
        "- {id: a, query: a, expected_doc_ids: [d]}\n- {id: b, query: b, should_refuse: true}\n",
    );
    project.write(
        "kelvin.yaml",
        "retrieval: {run: \"python3 -SE rag.py {input} {output}\", golden: golden.yaml}\n",
    );
    project.write(
        "rag.py",
        "import json, sys\nknown = json.load(open(sys.argv[1]))['query'] == 'a'\nanswer = {'text': 'it', 'grounded': known, \
         'citations': []}\njson.dump({'hits': [{'doc_id': 'd'}] * known, 'answer': answer}, open(sys.argv[2], 'w'))\n",
    );
    project.check();
    project.write("base.json", &project.read("kelvin/report.json"));
    for (only, verdict) in [("a", "pass"), ("b", "pass")] {
        let said = project.kelvin(&["gate", "--baseline", "base.json", "--only", only]);
        let judgement = project.json("kelvin/gate.json");
        assert_eq!(judgement["verdict"], verdict, "{only}: {}", said.stdout);
    }
}

#[test]
fn hostile_texts_of_a_search_and_of_prompts_do_nothing_either() {
    let project = texts("'harmless'");
    let (said, judgement) = gate_after(&project, |project| {
        answered_with(
            project,
            r"'<script>alert(1)</script> ![x](http://x/y) \x1b[31mred \u202egnp.exe | `x`'",
        );
    });
    for probe in ["grading", "retrieval"] {
        assert_eq!(judgement["answers"][probe]["other"], json!(2), "{probe}");
    }
    let (comment, page) = (
        project.read("kelvin/gate.md"),
        project.read("kelvin/report.html"),
    );
    for text in [&said.stdout, &comment, &page] {
        assert!(text.contains("gnp.exe"), "it is shown: {text}");
        assert!(!text.contains('\u{202e}') && !text.contains("\u{1b}[31mred"));
    }
    assert!(!comment.contains("<script") && !comment.contains("![x](http"));
    assert!(!page.contains("<script>alert"), "a script in the page");
}

/// Quotes all that a scenario left.
const QUOTE: &str = r#"#!/usr/bin/env python3
import json, sys
with open(json.load(sys.stdin)["agent_output_path"]) as output:
    said = output.read()
print(json.dumps({"passed": said == "harmless", "score": 0.5, "reason": f"it said {said[:3000000]}", "details": {"said": said[:3000]}}))
"#;

#[test]
fn ten_megabytes_of_hostile_text_are_harmless_and_shown_in_little_room_in_every_probe() {
    let project = texts("'harmless'");
    project.write(
        "scenarios.jsonl",
        "{\"id\": \"s0\", \"prompt\": \"Do it\"}\n",
    );
    project.write("quote.py", QUOTE);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.path("quote.py"), executable).expect("made executable");
    let more = "run: \"python3 {root}/answer.py say {input} {output}\"\nscenarios: scenarios.jsonl\ninvariants:\n  \
         is_short: {description: It is short, check: {type: contains, value: harmless}}\n  \
         is_quoted: {description: It is quoted, check: {type: custom, script: quote.py}}\ngate: {deterministic: true}\n";
    let configuration = project.read("kelvin.yaml") + more;
    project.write("kelvin.yaml", &configuration);
    let (said, judgement) = gate_after(&project, |project| {
        let line =
            r"'<script>alert(1)</script> ![x](http://x/y) \x1b[31mred \u202egnp.exe | `x`\n'";
        answered_with(project, &format!("{line} * 150_000"));
    });
    for output in [
        "retrieval/q0/baseline/output.json",
        "grading/candidate/p0/baseline/output.json",
    ] {
        let size = fs::metadata(project.path(&format!("kelvin/{output}")));
        assert!(size.is_ok_and(|file| file.len() > 10_000_000), "{output}");
    }
    for (probe, items) in [("grading", 2), ("retrieval", 2), ("checks", 1)] {
        let answers = &judgement["answers"][probe];
        assert_eq!(answers["other"], json!(items), "{probe}: {answers}");
    }
    let file = |name: &str| project.read(&format!("kelvin/{name}"));
    for (name, text, most) in [
        ("the terminal", said.stdout.clone() + &said.stderr, 20_000),
        ("gate.md", file("gate.md"), 60_000),
        ("report.md", file("report.md"), 60_000),
        ("report.html", file("report.html"), 400_000),
    ] {
        assert!(text.len() < most, "{name}: {}", text.len());
        for hostile in ["\u{202e}", "\u{1b}[31mred"] {
            assert!(!text.contains(hostile), "{name} has {hostile:?}");
        }
        // A terminal shows a tag as it is, and no page has one.
        let is_script = name != "the terminal" && text.contains("<script>alert");
        let is_image = name.ends_with(".md") && text.contains("![x](http");
        assert!(!is_script && !is_image, "{name} has a script or an image");
    }
    for name in ["gate.json", "report.json"] {
        let text = file(name);
        assert!(text.len() < 400_000, "{name}: {}", text.len());
        assert!(!text.contains('\u{1b}'), "{name} has a control character");
    }
    assert!(file("report.html").contains("gnp.exe"), "it is shown");
}

/// Prompts whose answers have a secret in them, in a repository with a saved base.
fn graded(texts: &str) -> (tempfile::TempDir, Project) {
    let (remote, url) = bare();
    let project = Project::new("exit 9\n");
    let line = |at: usize| {
        format!("{{\"id\": \"p{at}\", \"prompt\": \"Say {at}\", \"reference\": \"good {at}\"}}\n")
    };
    project.write("prompts.jsonl", &(0..6).map(line).collect::<String>());
    project.write(
        "answer.sh",
        "echo \"The answer is wordy $(cat \"$1\") and ghp_abcdefghijklmnopqrstuvwxyz0123\" > \"$2\"\n",
    );
    project.write(
        "kelvin.yaml",
        &format!(
            "grading:\n  prompts: prompts.jsonl\n  candidate: {{run: \"sh answer.sh {{input}} {{output}}\"}}\n  judge: \
             {{type: exact_match}}\nbaseline: {{texts: {texts}}}\n"
        ),
    );
    project.write(".gitignore", "/kelvin/\n/.kelvin/\n");
    publish(&project, &url);
    project.check();
    project.kelvin(&["baseline", "save"]).expect(0);
    (remote, project)
}

/// Everything that lies on the branch of reports.
fn on_the_branch(remote: &tempfile::TempDir) -> String {
    let list = git(
        remote.path(),
        &["ls-tree", "-r", "--name-only", "kelvin-reports"],
    );
    let files = list
        .lines()
        .map(|file| git(remote.path(), &["show", &format!("kelvin-reports:{file}")]));
    files.collect()
}

#[test]
fn no_word_of_an_answer_is_kept_on_the_branch_where_none_is_allowed() {
    let (remote, project) = graded("none");
    let kept = on_the_branch(&remote);
    assert!(kept.contains("Say 0"), "it is the report");
    for word in ["wordy", "ghp_"] {
        assert!(!kept.contains(word), "{word}");
    }
    assert!(
        project.read("kelvin/report.json").contains("wordy"),
        "the run has it"
    );
    // That an answer is another one is known by its digest.
    project.write("answer.sh", "echo \"Another $(cat \"$1\")\" > \"$2\"\n");
    commit(&project, "another");
    project.kelvin(&["gate"]);
    let answers = &project.json("kelvin/gate.json")["answers"]["grading"];
    assert_eq!(answers["other"], json!(6), "{answers}");
    let base = answers["answers"][0]["base"].as_str().unwrap_or_default();
    assert!(base.starts_with("(not kept: "), "{base}");
}

#[test]
fn what_a_failed_call_has_printed_and_what_a_check_warns_of_are_no_more_kept() {
    let (remote, url) = bare();
    let project = Project::new(
        "echo a wordy answer; case $(cat \"$1\") in *two*) echo wordy log >&2; exit 1;; esac\n",
    );
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for name in ["one", "two", "three"] {
        project.write(&format!("cases/{name}.md"), &format!("Say {name}.\n"));
    }
    project.write(
        "look.py",
        "#!/usr/bin/env python3\nimport json\nprint(json.dumps({'passed': False, 'score': 0.5, 'message': 'a wordy reason', \
         'details': {'warnings': ['a wordy warning']}}))\n",
    );
    let look = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.path("look.py"), look).expect("made executable");
    project.write(
        "kelvin.yaml",
        "run: sh {root}/pipeline.sh {input}\ncases: cases\nbaseline: {texts: none}\ninvariants:\n  looked_at: {description: \
         It is looked at, check: {type: custom, script: look.py}}\n",
    );
    project.write(".gitignore", "/kelvin/\n/.kelvin/\n");
    publish(&project, &url);
    project.check();
    let own = project.read("kelvin/report.json");
    for words in ["wordy answer", "wordy log", "wordy warning"] {
        assert!(own.contains(words), "the run has not {words}: {own}");
    }
    project.kelvin(&["baseline", "save"]).expect(0);
    let kept = on_the_branch(&remote);
    assert!(
        kept.contains("Say one") && !kept.contains("wordy"),
        "{kept}"
    );
    // It still serves as a base.
    let said = project.kelvin(&["gate"]);
    insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["branch kelvin-reports"])), @"    base [HASH], from branch kelvin-reports");
}

#[test]
fn a_secret_in_an_answer_is_kept_on_no_branch() {
    let (remote, _project) = graded("full");
    let kept = on_the_branch(&remote);
    assert!(kept.contains("wordy"), "the answers are there");
    assert!(!kept.contains("ghp_"), "a secret is on the branch");
}
