//! From a folder with nothing but a pipeline and its data to a first true report, a first true green and a first true red:
//! one folder for each kind of pipeline, with the answers that somebody in a hurry types.

use std::fs;

use kelvin_fixtures::text::lines_with;
use serde_json::json;

use crate::models::server::{Faults, says};
use crate::project::{GROUNDED, Project};
use crate::repository::{bare, commit, git};
use crate::wizard::Typist;

/// A question and what is typed; nothing typed takes what is proposed.
type Answers<'a> = [(&'a str, &'a str)];

/// A folder in git that has these files and nothing of Kelvin, and its remote.
pub(crate) fn fresh(files: &[(&str, &str)]) -> (tempfile::TempDir, Project) {
    let (remote, url) = bare();
    let project = Project::in_folder("my project", GROUNDED);
    for gone in ["kelvin.yaml", "pipeline.sh"] {
        fs::remove_file(project.path(gone)).expect("removed");
    }
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for (name, text) in files {
        fs::create_dir_all(project.path(name).parent().expect("a folder")).expect("made");
        project.write(name, text);
    }
    project.write(".gitignore", "__pycache__/\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    git(project.root(), &["remote", "add", "origin", &url]);
    (remote, project)
}

/// Answers at most six questions, and returns what was on the screen: the first report is at its end.
fn answered(project: &Project, answers: &Answers<'_>) -> String {
    assert!(answers.len() <= 6, "{} questions", answers.len());
    let mut typist = Typist::start(project, "");
    for (question, answer) in answers {
        typist.answer(question, &format!("{answer}\r"));
    }
    let (code, shown) = typist.end();
    assert_eq!(code, Some(0), "{shown}");
    shown
}

/// Keeps the report of the base; an unchanged branch is green, and a change for the worse is red.
fn green_and_red(project: &Project, (file, worse): (&str, &str), metric: &str) {
    commit(project, "kelvin");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    project.kelvin(&["check"]).expect(0);
    project.kelvin(&["baseline", "save"]).expect(0);
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.write("notes.txt", "Nothing of the pipeline.\n");
    commit(project, "a note");
    let said = project.kelvin(&["gate"]);
    assert_eq!(
        project.json("kelvin/gate.json")["verdict"],
        json!("pass"),
        "{}",
        said.stdout
    );
    let text = project.read(file);
    project.write(file, worse);
    assert_ne!(text, worse);
    commit(project, "an idea");
    let said = project.kelvin(&["gate"]);
    let judgement = project.json("kelvin/gate.json");
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    assert_eq!(said.code, Some(3));
    assert!(said.stdout.contains(metric), "{metric}: {}", said.stdout);
}

const DECIDES: &str = r#"import re

def _amount(text):
    return int(re.search(r"\d+", text).group())

def decide(claim, policy):
    """Pays a claim up to the limit of its policy."""
    return "pay" if _amount(claim) <= _amount(policy) else "refuse"
"#;

fn claims() -> String {
    let amounts = [
        (50, 100),
        (150, 100),
        (300, 400),
        (500, 400),
        (20, 30),
        (90, 60),
        (700, 800),
        (900, 800),
    ];
    let lines = amounts.iter().enumerate().map(|(at, (claim, limit))| {
        let label = if claim <= limit { "pay" } else { "refuse" };
        json!({
            "id": format!("claim-{at}"),
            "claim": format!("The repair cost {claim} euros."),
            "policy": format!("At most {limit} euros are paid."),
            "label": label
        })
        .to_string()
            + "\n"
    });
    lines.collect()
}

#[test]
fn a_function_and_a_file_of_records_decide() {
    let (_remote, project) = fresh(&[("app.py", DECIDES), ("data.jsonl", &claims())]);
    let shown = answered(
        &project,
        &[
            ("What does your pipeline do? [1] ", ""),
            ("as `module:function`) [app:decide] ", ""),
            ("to see its output? (yes or no) [yes] ", ""),
            (
                "Which types should govern the decision? (numbers, with commas between them) [2] ",
                "",
            ),
            // On a loaded machine it proposes to begin with fewer.
            ("Measure ", ""),
        ],
    );
    for words in [
        "the cases are the records of `data.jsonl`",
        "`label` is the label of a case",
        "the decision is `decision`",
        "does it answer as labelled?",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let worse = DECIDES.replace("_amount(claim) <= _amount(policy)", "_amount(claim) <= 200");
    green_and_red(&project, ("app.py", &worse), "evidence.agrees_with_labels");
}

const CONVERSES: &str = r#"said = {}

def decide(
    input,
    conversation_id: str,
    turn: int = 1,
):
    """Pays where hail was told of in any turn."""
    said[conversation_id] = said.get(conversation_id, "") + str(input)
    return "yes" if "hail" in said[conversation_id] else "no"
"#;

/// Conversations of three turns; the first or the second of them says what happened.
fn conversations(field: &str) -> String {
    let lines = (0..12).map(|at: usize| {
        let told = |hail: bool| if hail { "hail" } else { "rain" };
        let (first, second) = (at.is_multiple_of(4), at.is_multiple_of(2));
        let turns = json!([
            {"claim": format!("There was {} in street {at}.", told(first))},
            {"photos": [format!("A roof after {} in street {at}.", told(second)), format!("House {at}.")]},
            format!("So, is house {at} covered?"),
        ]);
        let expected = if first || second { "yes" } else { "no" };
        json!({"id": format!("c{at:02}"), field: turns, "expected": expected}).to_string() + "\n"
    });
    lines.collect()
}

#[test]
fn a_function_that_asks_for_its_conversation_is_given_the_turns_of_the_records() {
    for field in ["turns", "conversation"] {
        let (_remote, project) =
            fresh(&[("app.py", CONVERSES), ("data.jsonl", &conversations(field))]);
        let shown = answered(
            &project,
            &[
                ("What does your pipeline do? [1] ", ""),
                ("as `module:function`) [app:decide] ", ""),
                ("to see its output? (yes or no) [yes] ", ""),
                ("Which types should govern the decision? ", "1,2"),
                ("Measure ", ""),
            ],
        );
        for words in [
            &format!("`{field}` has the turns of a conversation"),
            "the decision is `decision`",
            "does it answer as labelled?",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        let config = project.read("kelvin.yaml");
        let records = format!("\nrecords: {{turns: \"{field}\"}}\n");
        assert!(config.contains(&records), "{config}");
        if field == "turns" {
            let forgets = CONVERSES.replace("said.get(conversation_id, \"\") + ", "");
            green_and_red(
                &project,
                ("app.py", &forgets),
                "evidence.agrees_with_labels",
            );
        }
    }
}

#[test]
fn what_is_true_of_many_records_is_told_once() {
    // This pipeline asks for no conversation, so it is given the records as they are, and none has a text of its own.
    let takes_all = "def decide(record):\n    return 'yes'\n";
    let (_remote, project) = fresh(&[
        ("app.py", takes_all),
        (
            "data.jsonl",
            &conversations("exchanges")
                .replace("\"So, ", "[\"So, ")
                .replace("covered?\"", "covered?\"]"),
        ),
    ]);
    let said = project.kelvin(&["init", "--yes"]).expect(1);
    let told = "data.jsonl: there is nothing to perturb: the record has no text that is a unit";
    assert_eq!(said.stdout.matches(told).count(), 1, "{}", said.stdout);
    assert!(
        said.stdout.contains(&format!("{told} (12 cases)")),
        "{}",
        said.stdout
    );
}

const SEARCHES: &str = r#"PAGES = {
    "returns": "You may return a product within thirty days.",
    "shipping": "We ship a parcel to any country in a week.",
    "warranty": "The warranty covers broken parts for two years.",
    "payment": "We accept cards and invoices.",
}

def search(query, top_k=3):
    words = set(query.lower().strip("?").split())
    def common(page):
        return len(words & set(PAGES[page].lower().strip(".").split()))
    return sorted(PAGES, key=common, reverse=True)[:top_k]
"#;

const QUESTIONS: &str = "question,source\n\"May I return a product, please?\",returns\nDo you ship a parcel to any country?,shipping\n\
                         Are broken parts covered by the warranty for years?,warranty\nWhich cards do you accept?,payment\n";

#[test]
fn a_search_and_a_table_of_questions() {
    let (_remote, project) = fresh(&[
        ("app/find.py", SEARCHES),
        ("app/__init__.py", ""),
        ("questions.csv", QUESTIONS),
    ]);
    let shown = answered(
        &project,
        &[
            ("What does your pipeline do? [2] ", ""),
            ("as `module:function`) [app.find:search] ", ""),
            ("Run the pipeline once, on query `", ""),
            (
                "Measure the first 3 of 4 queries now, with at least 3 calls? ",
                "",
            ),
        ],
    );
    for words in [
        "`question` is taken for `query`",
        "`source` is taken for `expected_doc_ids`",
        "recall_doc@1,3,5,10   1.0000",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let worse = SEARCHES.replace(", reverse=True", "");
    green_and_red(&project, ("app/find.py", &worse), "recall_doc@");
}

/// A pipeline as it is before anybody has heard of Kelvin: other names for everything, and its text in a parameter of
/// another name.
const RAG: &str = r#"PAGES = {
    "docs/returns.md": "You may return a product within thirty days.",
    "docs/shipping.md": "We ship a parcel to any country in a week.",
    "docs/warranty.md": "The warranty covers broken parts for two years.",
    "docs/payment.md": "We accept cards and invoices.",
}

def ask(question):
    words = set(question.lower().strip("?").split())
    def common(page):
        return len(words & set(PAGES[page].lower().strip(".").split()))
    found = sorted(PAGES, key=common, reverse=True)[:3]
    documents = [{"page_content": PAGES[page], "metadata": {"source": page}} for page in found]
    return {"result": PAGES[found[0]], "source_documents": documents}
"#;

#[test]
fn a_rag_with_names_of_its_own_is_set_up_by_one_run_of_it() {
    let rows = QUESTIONS.replace("question,source", "question,page");
    let paths = ["returns", "shipping", "warranty", "payment"];
    let golden = paths.iter().fold(rows.clone(), |rows, page| {
        rows.replace(&format!(",{page}\n"), &format!(",docs/{page}.md\n"))
    });
    let (_remote, project) = fresh(&[("rag.py", RAG), ("questions.csv", &golden)]);
    let said = project.kelvin(&["init", "--yes"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["taken for"]), @r"
    `question` is taken for `query`
    `page` is taken for `expected_doc_ids`
    `source_documents` of the output is taken for `hits`
    `result` of the output is taken for `answer`
    `metadata.source` of the output is taken for `doc_id`
    `page_content` of the output is taken for `text`
    ");
    let written = fs::read_to_string(project.path("kelvin.yaml")).expect("written");
    insta::assert_snapshot!(lines_with(&written, &["output_fields"]), @"  output_fields: {hits: source_documents, answer: result, doc_id: metadata.source, text: page_content}");
    let checked = project.kelvin(&["check"]).expect(0);
    insta::assert_snapshot!(lines_with(&checked.stdout, &["recall_doc", "answered_rate"]), @r"
    recall_doc@1,3,5,10   1.0000  1.0000  1.0000  1.0000 (n=4)
    answered_rate         1.0000 (n=4); 95 % interval 0.39 to 1.00
    ");
    let worse = RAG.replace(", reverse=True", "");
    green_and_red(&project, ("rag.py", &worse), "recall_doc@");

    // Documents whose names are written otherwise would make every figure 0, and this is said before.
    let (_remote, project) = fresh(&[("rag.py", RAG), ("questions.csv", &rows)]);
    let said = project.kelvin(&["init", "--yes"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["docs/returns.md`"]), @"No hit names a document that any question expects: the first hit names `docs/returns.md`, and one of the questions expects `returns`. As long as the two are written differently, every figure is 0.");
}

const ANSWERS: &str = r#"FACTS = {"Paris": "Paris is the capital of France.", "Rome": "Rome is the capital of Italy."}

def answer(question: str) -> str:
    for city, fact in FACTS.items():
        if city in question:
            return fact
    return "Berlin is the capital of Germany."
"#;

/// A judge that finds an answer good where it names the country.
fn judge() -> Faults {
    Faults::start(|_, request| {
        let asked = request.json().to_string();
        let is_good = ["France.", "Italy.", "Germany."]
            .iter()
            .any(|country| asked.matches(country).count() >= 2);
        let score = if is_good { 1.0 } else { 0.0 };
        says(&json!({"notes": "by its country", "quality_score": score}).to_string())
    })
}

#[test]
fn answers_in_prose_and_a_model_that_grades_them() {
    let server = judge();
    let cities = [
        ("Paris", "France"),
        ("Rome", "Italy"),
        ("Berlin", "Germany"),
    ];
    let prompts: String = (0..12)
        .map(|at| {
            let (city, country) = cities[at % 3];
            json!({
                "question": format!("Tell me in {at} words or more what {city} is."),
                "answer": format!("{city} is the capital of {country}.")
            })
            .to_string()
                + "\n"
        })
        .collect();
    let (_remote, project) = fresh(&[("bot.py", ANSWERS), ("prompts.jsonl", &prompts)]);
    let url = server.url();
    let shown = answered(
        &project,
        &[
            ("What does your pipeline do? [3] ", ""),
            ("as `module:function`) [bot:answer] ", ""),
            ("Which language model grades the answers? ", "gemma"),
            ("At which address? ", &url),
            ("Run the pipeline once, on prompt `", ""),
            ("Measure the first 3 of 12 prompts now, with at least ", ""),
        ],
    );
    for words in [
        "`question` is taken for `prompt`",
        "`answer` is taken for `reference`",
        "\"Paris is the capital of France.\"",
        "judge_score",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let worse = ANSWERS.replace("return fact", "return \"It is a city.\"");
    green_and_red(&project, ("bot.py", &worse), "judge_score");
}

const AGENT: &str = r#"import os, pathlib, sys
prompt = pathlib.Path(sys.argv[1]).read_text()
pathlib.Path("answer.txt").write_text("done: " + prompt)
"#;

#[test]
fn an_agent_and_the_command_that_looks_at_what_it_left() {
    let scenarios = "{\"id\": \"one\", \"prompt\": \"Say hello.\"}\n{\"id\": \"two\", \"prompt\": \"Say goodbye.\"}\n";
    let (_remote, project) = fresh(&[
        ("agent.py", AGENT),
        ("tasks.jsonl", scenarios),
        ("workspace/README.md", "Answers go into answer.txt.\n"),
    ]);
    let shown = answered(
        &project,
        &[
            ("What does your pipeline do? ", "4"),
            (
                "Which command runs your pipeline? ",
                "python3 {root}/agent.py {input} {output}",
            ),
            ("Which folder does each run get a copy of? ", "workspace"),
            (
                "ends with 0 where all is right? ",
                "grep -q done: answer.txt",
            ),
            ("Measure all 2 scenarios now, with at least ", ""),
        ],
    );
    for words in [
        "the scenarios are those of `tasks.jsonl`",
        "All 2 scenarios pass",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    green_and_red(
        &project,
        ("agent.py", &AGENT.replace("done: ", "")),
        "checks.is_right",
    );
}

#[test]
fn a_suite_of_pytest() {
    let suite = "import json, pathlib\n\nimport pytest\n\nANSWERS = json.loads(pathlib.Path('answers.json').read_text())\n\n\
                 @pytest.mark.parametrize('name', sorted(ANSWERS))\ndef test_answer(name):\n    assert ANSWERS[name]\n";
    let answers = |right: usize| {
        let all = (0..12).map(|at| (format!("case-{at:02}"), at < right));
        json!(all.collect::<std::collections::BTreeMap<_, _>>()).to_string()
    };
    let Some(python) = crate::results::pytest::python() else {
        return;
    };
    let (_remote, project) = fresh(&[
        ("evals/test_answers.py", suite),
        ("answers.json", &answers(12)),
    ]);
    let shown = answered(
        &project,
        &[(
            "Shall Kelvin run it and judge its results? (yes or no) [yes] ",
            "",
        )],
    );
    assert!(shown.contains("pytest (`evals`)"), "{shown}");
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/python");
    let own = format!(
        "env PYTHONPATH={plugin} {} -m pytest -p no:cacheprovider",
        python.display()
    );
    // The tests keep their pytest in an environment of their own.
    let config = project.read("kelvin.yaml");
    project.write("kelvin.yaml", &config.replace("python3 -m pytest", &own));
    green_and_red(&project, ("answers.json", &answers(5)), "tests");
}

/// An evaluator that scores six answers of a file, writes them into one that is named by the time, and ends with 1 as
/// many do where an answer is wrong.
const EVALS: &str = r#"
out=${1:-results-$(date +%Y%m%d-%H%M%S).csv}
echo "id,question,expected,output,correct,hallucination,latency_ms" > "$out"
while IFS=, read -r id answer; do
  [ "$answer" = right ] && ok=1 || ok=0
  echo "$id,what is $id?,right,$answer,$ok,$((1 - ok)),12.5" >> "$out"
done < answers.txt
exit 1
"#;

fn answers(text: &str) -> String {
    let lines = "abcdef".chars().map(|id| format!("{id},{text}\n"));
    lines.collect()
}

#[test]
fn an_evaluator_of_ones_own_and_the_file_that_it_writes() {
    let (_remote, project) = fresh(&[("evals.sh", EVALS), ("answers.txt", &answers("right"))]);
    let shown = answered(
        &project,
        &[
            ("What does your pipeline do?", "5"),
            ("Which command runs your evaluator?", ""),
            ("Run the evaluator once, to see its output?", "y"),
        ],
    );
    for told in [
        "its results are in `results-*.csv`",
        "taken for scores: `correct` (higher is better), `hallucination` (lower is better)",
        "next: kelvin check",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let config = project.read("kelvin.yaml");
    insta::assert_snapshot!(lines_with(&config, &["    run:", "file:", "format:", "columns:", "metrics:"]), @r#"
    run: sh evals.sh
    file: "results-*.csv"
    format: csv
    columns: {case: id, input: [question], expected: [expected], answer: output}
    metrics: {correct: {better: higher, range: [0, 1]}, hallucination: {better: lower, range: [0, 1]}}
    "#);
    assert!(project.read(".gitignore").contains("/results-*.csv\n"));
    green_and_red(&project, ("answers.txt", &answers("wrong")), "correct");
}

#[test]
fn rows_that_an_evaluator_prints_are_taken_by_the_command_that_is_offered() {
    let prints = "printf '[{\"id\": \"a\", \"ok\": true}, {\"id\": \"b\", \"ok\": true}]'\n";
    let (_remote, project) = fresh(&[("evals.sh", prints)]);
    answered(
        &project,
        &[
            ("What does your pipeline do?", "5"),
            ("Which command runs your evaluator?", "sh evals.sh {output}"),
            ("Run the evaluator once, to see its output?", "y"),
            ("Try that command?", "y"),
        ],
    );
    let config = project.read("kelvin.yaml");
    insta::assert_snapshot!(lines_with(&config, &["    run:", "metrics:"]), @"
    run: sh evals.sh > {output}
    metrics: {ok: {better: higher, range: [0, 1]}}
    ");
    project.kelvin(&["check"]).expect(0);
}

#[test]
fn what_starts_an_evaluator_is_offered_where_no_pipeline_is_found() {
    let (_remote, project) = fresh(&[("evals.sh", EVALS), ("answers.txt", &answers("right"))]);
    let said = project.kelvin(&["init", "--yes"]).expect(1);
    let command = said
        .stderr
        .split('`')
        .find(|part| part.starts_with("kelvin init"));
    insta::assert_snapshot!(command.expect("it is named"), @"kelvin init --kind=scores '--run=sh evals.sh' --yes");
    let init = |run: &str, code| {
        let run = format!("--run={run}");
        let said = project.kelvin(&["init", "--yes", "--force", "--kind=scores", &run]);
        said.expect(code).stderr
    };
    // The same with the place of the file as an argument.
    init("sh evals.sh {output}", 0);
    let config = project.read("kelvin.yaml");
    assert!(!config.contains("file:"), "{config}");
    project.kelvin(&["check"]).expect(0);
    // A mean that is printed, two files, and one that has no scores.
    insta::assert_snapshot!(init("echo accuracy 0.9", 1), @"
    error: the evaluator has written no file of results
      help: let it write a row for each case into a file: CSV or JSON, with the name of the case and its scores; a mean that is printed says nothing of a case. If it takes the path as an argument, put `{output}` there; if it prints the rows, end the command with `> {output}`; if it writes further away, name the file with `--scores FILE`
    ");
    insta::assert_snapshot!(init("echo pytest says 3 passed", 1), @"
    error: the evaluator has written no file of results
      help: `-p kelvin_action.pytest` in the command hands over what pytest finds: docs/evaluators.md#pytest
    ");
    insta::assert_snapshot!(init("sh evals.sh a.csv; sh evals.sh b.csv", 1), @"
    error: the evaluator has written 2 files that may have its results: `a.csv`, `b.csv`
      help: name the right one with `--scores FILE`
    ");
    insta::assert_snapshot!(init("echo id,ms > c.csv; echo a,12 >> c.csv", 1), @"
    error: `c.csv`: no column of it is taken for a case and its score; it has id, ms; let it have a row for each case, with the name of the case in a column `case` and each score in a column of its own, as 0 or 1 or a number between
      help: docs/evaluators.md has the formats and the keys; `--scores FILE` names another file
    ");
    insta::assert_snapshot!(init("echo the key is missing >&2; exit 4", 2), @"
    error: the evaluator failed: it ended with exit code 4
    the key is missing
    ");
    let said = project
        .kelvin(&["init", "--force", "--scores=nowhere.csv"])
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: `--scores`: there is no file `nowhere.csv`
      help: run your evaluator once before, or give its command too, with `--run`
    ");
    // What was written before is read without a run.
    project
        .kelvin(&["init", "--force", "--scores=a.csv"])
        .expect(0);
    let config = project.read("kelvin.yaml");
    assert!(
        !config.contains("run:") && config.contains("file: a.csv"),
        "{config}"
    );
    project.kelvin(&["check"]).expect(0);
}
