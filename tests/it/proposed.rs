//! What `kelvin init --yes` takes for a label, a golden set or a pipeline, in projects that name everything in their own
//! way.

use std::fmt::Write as _;
use std::fs;

use kelvin_fixtures::text::lines_with;
use serde_json::json;

use crate::door::fresh;
use crate::project::Project;

/// The lines of the configuration that `init` has written, without its comments.
fn written(project: &Project) -> String {
    let text = project.read("kelvin.yaml");
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().starts_with("# "));
    lines.fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "{line}");
        all
    })
}

/// A pipeline that tells every field that it is given, and decides by the first one.
const CLASSIFIES: &str = r#"import json, pathlib

def classify(record):
    fields = record if isinstance(record, dict) else {"text": record}
    with pathlib.Path("../given.txt").open("a") as file:
        file.write(json.dumps(fields) + "\n")
    return {"department": "Billing" if "invoice" in fields["text"] else "Support", "model": "rules", "seconds": 1}
"#;

/// Tickets with their right answers in fields of these names.
fn tickets(fields: &[&str]) -> String {
    let lines = (0..6).map(|at| {
        let (about, right) = match at % 2 {
            0 => ("The invoice", "Billing"),
            _ => ("The server", "Support"),
        };
        let mut record =
            json!({"id": format!("t{at}"), "text": format!("{about} of month {at} is wrong.")});
        for field in fields {
            record[*field] = json!(right);
        }
        record.to_string() + "\n"
    });
    lines.collect()
}

#[test]
fn a_label_of_the_usual_forms_is_not_given_to_the_pipeline() {
    for label in [
        "expected_department",
        "true_department",
        "gold_team",
        "golden_department",
        "correct_answer",
        "target_department",
        "trueDepartment",
        "department_label",
        "department_expected",
        "departmentGold",
    ] {
        let (_remote, project) = fresh(&[
            ("app.py", CLASSIFIES),
            ("tickets.jsonl", &tickets(&[label])),
        ]);
        let said = project.kelvin(&["init", "--yes", "--decision-field", "department", "--probe"]);
        let said = said.expect(0);
        let told = format!("`{label}` is the label of a case");
        assert!(said.stdout.contains(&told), "{}", said.stdout);
        assert!(
            !said.stdout.contains("`governing_types`"),
            "{}",
            said.stdout
        );
        let config = written(&project);
        assert!(
            config.contains(&format!("records: {{expected: \"{label}\"}}")),
            "{config}"
        );
        assert!(config.contains("governing_types:\n  - text\n"), "{config}");
        let checked = project.kelvin(&["check"]).expect(0);
        assert!(
            checked.stdout.contains("does it answer as labelled?"),
            "{}",
            checked.stdout
        );
        let given = fs::read_to_string(project.root().join("../given.txt"));
        let given = given.expect("the pipeline was given something");
        assert!(!given.contains(label), "{given}");
    }
}

#[test]
fn of_several_labels_that_of_the_decision_is_taken_and_the_others_are_named() {
    let (_remote, project) = fresh(&[
        ("app.py", CLASSIFIES),
        (
            "tickets.jsonl",
            &tickets(&["category", "expected_department", "true_urgency"]),
        ),
    ]);
    let only = CLASSIFIES.replace(", \"model\": \"rules\", \"seconds\": 1", "");
    project.write("app.py", &only);
    let said = project.kelvin(&["init", "--yes"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["label", "right answer"]), @r"
    `category` is the label of a case: the pipeline is not given it, and its decisions are held against it
    the decision is `department`, which has what the case is labelled with (`--decision-field` names another)
    `expected_department` is the label and not `category`, since its name is that of the decision `department`
    `true_urgency` may have a right answer too, and the pipeline is given it: leave it out of the records, or let `records: {expected: ...}` name it in place of the other
    ");
    // What is left over besides the text is a field that may be an input, so somebody has to say which types govern.
    assert!(
        said.stderr.contains("`category`, `text`"),
        "{}",
        said.stderr
    );
}

#[test]
fn an_id_of_another_name_that_differs_from_record_to_record_names_the_cases() {
    let records: String = (0..6)
        .map(|at| {
            let text = format!("The invoice of month {at} is wrong.");
            let record =
                json!({"db_id": "crm", "ticket_id": format!("T-{at}"), "text": text, "label": "Billing"});
            record.to_string() + "\n"
        })
        .collect();
    let only = CLASSIFIES.replace(", \"model\": \"rules\", \"seconds\": 1", "");
    let (_remote, project) = fresh(&[("app.py", &only), ("tickets.jsonl", &records)]);
    let said = project
        .kelvin(&["init", "--yes", "--governing-type", "text"])
        .expect(0);
    let told = ["the cases are named by `ticket_id`", "on case `T-0`"];
    let is_told = told.map(|told| said.stdout.contains(told));
    assert_eq!(is_told, [true; 2], "{}", said.stdout);
    let config = written(&project);
    assert!(
        config.contains("records: {id: \"ticket_id\", expected: \"label\"}\n"),
        "{config}"
    );
}

#[test]
fn a_function_that_takes_the_fields_of_the_records_is_offered_before_its_helpers() {
    let app = "def classify(state):\n    return state\n\n\ndef route(state):\n    return state\n\n\n\
               def run_agent(tenant, messages, retries=2):\n    return {\"status\": \"open\"}\n";
    let record = "{\"tenant\": \"acme\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"expected_status\": \"open\"}\n";
    let (_remote, project) = fresh(&[("app.py", app), ("chats.jsonl", record)]);
    let said = project.kelvin(&["init", "--yes"]).expect(1);
    assert!(
        said.stderr.contains("add `--run app:run_agent`, "),
        "{}",
        said.stderr
    );
}

#[test]
fn a_document_to_extract_from_is_told_where_its_fields_are_checked_and_how_it_becomes_a_case() {
    let extracts =
        "def extract(text):\n    return {\"number\": text.split()[1], \"currency\": \"EUR\"}\n";
    let (_remote, project) = fresh(&[
        ("app.py", extracts),
        ("invoices/a.txt", "Invoice 17\nTotal: EUR 12.00\n"),
    ]);
    let init = [
        "init",
        "--yes",
        "--run",
        "app:extract",
        "--cases",
        "invoices/*.txt",
    ];
    let said = project.kelvin(&init).expect(1);
    insta::assert_snapshot!(said.stderr, @r#"
    error: the output has several fields that can be the decision: currency = "EUR", number = "17"
      help: name one, e.g. `--decision-field currency`; where each field has to be right, as of a document that is read, `kelvin init --kind acts` checks what is answered: docs/invariants.md
    "#);
    let named = [&init[..], &["--decision-field", "number"]].concat();
    let said = project.kelvin(&named).expect(1);
    assert!(
        said.stderr
            .contains("let a text without parts be a record, as `{\"text\": \"...\"}` on a line of `cases.jsonl`"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_field_that_is_the_decision_itself_is_not_proposed_to_govern() {
    let records = tickets(&["team"]);
    let only = CLASSIFIES.replace(", \"model\": \"rules\", \"seconds\": 1", "");
    let (_remote, project) = fresh(&[("app.py", &only), ("tickets.jsonl", &records)]);
    let said = project.kelvin(&["init", "--yes"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["team", "governed"]), @r"
    `team` is the decision itself in the first case, and the pipeline is given it: if it has the right answers, let `kelvin.yaml` say `records: {expected: team}`
    the decision is to be governed by: text (`--governing-type` names others)
    ");
    assert!(written(&project).contains("governing_types:\n  - text\n"));
}

const SEARCHES: &str = r#"PAGES = {
    "returns.md": "You may return a product within thirty days.",
    "shipping.md": "We ship a parcel to any country in a week.",
}

def search(query):
    words = set(query.lower().strip("?").split())
    def common(page):
        return len(words & set(PAGES[page].lower().strip(".").split()))
    return [{"doc_id": page, "text": PAGES[page]} for page in sorted(PAGES, key=common, reverse=True)]
"#;

/// Two questions whose documents stand in a field of this name, in a list or alone.
fn questions(field: &str, is_list: bool) -> String {
    let lines = [
        ("May I return a product?", "returns.md"),
        ("Do you ship a parcel to any country?", "shipping.md"),
    ];
    let lines = lines.map(|(question, page)| {
        let mut record = json!({"question": question});
        record[field] = if is_list { json!([page]) } else { json!(page) };
        record.to_string() + "\n"
    });
    lines.concat()
}

#[test]
fn the_documents_of_a_golden_set_are_known_by_the_usual_names() {
    for (field, is_list) in [
        ("expected_sources", true),
        ("expectedSource", false),
        ("source_docs", true),
        ("expectedDocIds", true),
    ] {
        let golden = questions(field, is_list);
        let (_remote, project) = fresh(&[("app.py", SEARCHES), ("golden.jsonl", &golden)]);
        project.kelvin(&["init", "--yes"]).expect(0);
        let config = written(&project);
        let named =
            format!("golden_fields: {{query: \"question\", expected_doc_ids: \"{field}\"}}");
        assert!(config.contains(&named), "{config}");
        let checked = project.kelvin(&["check"]).expect(0);
        assert!(
            checked.stdout.contains("recall_doc@1,3,5,10   1.0000"),
            "{}",
            checked.stdout
        );
    }
    let golden = questions("pages_to_be_found", true);
    let (_remote, project) = fresh(&[("app.py", SEARCHES), ("golden.jsonl", &golden)]);
    let said = project
        .kelvin(&["init", "--yes", "--kind", "searches"])
        .expect(1);
    insta::assert_snapshot!(lines_with(&said.stderr, &["help"]), @"  help: write a `kelvin.yaml` with `golden_fields: {expected_doc_ids: ITS_NAME}` for a field of another name, call the field `expected_doc_ids`, or run `kelvin init` on a terminal, where you are asked for it");
}

#[test]
fn of_a_search_and_what_answers_with_it_the_search_is_taken() {
    let more = "\n\ndef words(text):\n    return set(text.split())\n\n\ndef ask(question):\n    return search(question)\n";
    let golden = questions("expected_sources", true);
    let app = format!("{SEARCHES}{more}");
    let (_remote, project) = fresh(&[("app.py", &app), ("golden.jsonl", &golden)]);
    project.kelvin(&["init", "--yes"]).expect(0);
    let config = written(&project);
    assert!(config.contains("run: {python: \"app:search\"}"), "{config}");
    project.kelvin(&["check"]).expect(0);
}

#[test]
fn the_file_that_is_named_like_a_golden_set_is_taken_and_an_ignored_one_is_not_offered() {
    let golden = questions("expected_sources", true);
    let other = "{\"id\": \"1\", \"text\": \"You may return a product.\", \"source_file\": \"returns.md\"}\n";
    let (_remote, project) = fresh(&[
        ("app.py", SEARCHES),
        ("data/a_chunks.jsonl", other),
        ("data/latest.jsonl", other),
        ("data/golden_eval_set.jsonl", &golden),
        ("runs/eval.jsonl", &golden),
    ]);
    project.write(".gitignore", "__pycache__/\n/runs/\n");
    let said = project.kelvin(&["init", "--yes"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["the questions are"]), @"the questions are those of `data/golden_eval_set.jsonl` (`--cases` names others)");
    assert!(written(&project).contains("golden: data/golden_eval_set.jsonl"));
    // An ignored file that is named is read as any other.
    let named = [
        "init",
        "--yes",
        "--force",
        "--kind",
        "searches",
        "--cases",
        "runs/eval.jsonl",
    ];
    let said = project.kelvin(&named).expect(0);
    assert!(
        said.stdout.contains("`expected_sources` is taken"),
        "{}",
        said.stdout
    );
}

const SERVICE: &str = r#"from fastapi import APIRouter
from app.schemas import AskBody

router = APIRouter()

@router.post(
    "/decide",
    response_model=None,
)
async def decide(text: str):
    return {"decision": "yes"}

def triage(body: AskBody):
    return {"decision": "yes"}
"#;

#[test]
fn a_function_that_only_its_framework_can_call_is_not_proposed() {
    let (_remote, project) = fresh(&[
        ("service.py", SERVICE),
        ("tickets.jsonl", &tickets(&["label"])),
    ]);
    let said = project.kelvin(&["init", "--yes"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stderr, &["help"]), @"  help: add `--run 'python3 pipeline.py {input} {output}'`, with what fits your pipeline; `service:decide`, `service:triage` are routes of a service, or take objects that only their program makes: name the address of the running service, or a function that takes a text; scores that a script of yours writes into a file need no pipeline: `--kind scores --run COMMAND`");
    let plain = "from typing import Annotated, Optional, TypedDict\n\nclass AskBody:\n    pass\n\nclass Ticket(TypedDict):\n    text: str\n\n\
                 def decide(\n    record: Annotated[Ticket, dict(a=1)],\n    body: Optional[AskBody] = None,\n):\n    \
                 return {\"decision\": \"Billing\"}\n";
    project.write("rules.py", plain);
    let said = project.kelvin(&["init", "--yes"]).expect(0);
    assert!(
        said.stdout.contains("the pipeline is `rules:decide`"),
        "{}",
        said.stdout
    );
}

#[test]
fn a_package_below_src_is_imported_by_its_own_name() {
    let pipeline = "from shop.pages import PAGES\n\n".to_owned()
        + SEARCHES.split_once("\n\n").expect("pages").1;
    let pages = SEARCHES.split_once("\n\n").expect("pages").0;
    let golden = questions("expected_sources", true);
    let (_remote, project) = fresh(&[
        (
            "pyproject.toml",
            "[project]\nname = \"shop\"\nversion = \"1\"\n",
        ),
        ("src/shop/__init__.py", ""),
        ("src/shop/pages.py", pages),
        ("src/shop/find.py", &pipeline),
        ("golden.jsonl", &golden),
    ]);
    let said = project.kelvin(&["init", "--yes"]).expect(0);
    assert!(
        said.stdout.contains("the pipeline is `shop.find:search`"),
        "{}",
        said.stdout
    );
    let checked = project.kelvin(&["check"]).expect(0);
    assert!(
        checked.stdout.contains("recall_doc@1,3,5,10   1.0000"),
        "{}",
        checked.stdout
    );
    let doctor = project.kelvin(&["doctor"]);
    assert!(
        !doctor.stdout.contains("installed package"),
        "{}",
        doctor.stdout
    );
    // Where the modules import each other by way of `src`, that is the name.
    project.write(
        "src/shop/find.py",
        &pipeline.replace("from shop.", "from src.shop."),
    );
    let said = project.kelvin(&["init", "--yes", "--force"]).expect(0);
    assert!(
        said.stdout
            .contains("the pipeline is `src.shop.find:search`"),
        "{}",
        said.stdout
    );
}

/// A pytest that only loads the plugin which it is told to load.
const PYTEST: &str =
    "import importlib, sys\nimportlib.import_module(sys.argv[sys.argv.index('-p') + 1])\n";

#[test]
fn a_plugin_that_is_not_installed_is_told_with_its_package() {
    let (_remote, project) = fresh(&[
        ("evals/test_answers.py", "def test_one(): pass\n"),
        ("pytest.py", PYTEST),
    ]);
    project.kelvin(&["init", "--yes"]).expect(0);
    assert!(written(&project).contains("python3 -m pytest evals -p kelvin_action.pytest"));
    let doctor = project.kelvin(&["doctor"]).expect(1);
    insta::assert_snapshot!(lines_with(&doctor.stdout, &["kelvin_action"]), @"missing  services     `tests` cannot be used: the Python that runs pytest does not have the plugin `kelvin_action.pytest`, which `pip install kelvin-action` in its environment brings");
    let checked = project.kelvin(&["check"]);
    insta::assert_snapshot!(lines_with(&(checked.stdout + &checked.stderr), &["pip install"]), @"The first failure, tests, the suite: there is no file of results (`results.xml`): see what the evaluator printed, and whether it writes there (it ended with exit code 1: ModuleNotFoundError: No module named 'kelvin_action'); the Python that runs pytest does not have the plugin `kelvin_action.pytest`, which `pip install kelvin-action` in its environment brings");
    fs::create_dir(project.path("kelvin_action")).expect("made");
    project.write("kelvin_action/__init__.py", "");
    project.write("kelvin_action/pytest.py", "");
    let doctor = project.kelvin(&["doctor"]);
    assert!(
        !doctor.stdout.contains("kelvin_action"),
        "{}",
        doctor.stdout
    );
}

#[test]
fn the_last_line_of_the_doctor_counts_its_warnings() {
    let (_remote, project) = fresh(&[
        ("app.py", SEARCHES),
        ("golden.jsonl", &questions("source_docs", true)),
    ]);
    project.kelvin(&["init", "--yes"]).expect(0);
    let judge = "{kind: openai, base_url: \"https://models.example/v1\", model: m, api_key_env: KELVIN_UNSET_KEY}";
    let config = project.read("kelvin.yaml") + &format!("\nmodels: {{judge: {judge}}}\n");
    project.write("kelvin.yaml", &config);
    crate::repository::commit(&project, "kelvin");
    crate::repository::git(project.root(), &["push", "--quiet", "origin", "main"]);
    let said = project.kelvin(&["doctor"]).expect(0);
    let warnings = said
        .stdout
        .lines()
        .filter(|line| line.starts_with("warn"))
        .count();
    assert_eq!(warnings, 2, "{}", said.stdout);
    assert!(
        said.stdout.contains("`KELVIN_UNSET_KEY` is empty here"),
        "{}",
        said.stdout
    );
    let told = format!("Nothing stops a run; {warnings} warnings say what it does without.");
    assert!(said.stdout.contains(&told), "{}", said.stdout);
    assert!(
        !said.stdout.contains("Nothing is missing"),
        "{}",
        said.stdout
    );
    assert_eq!(said.next(), "kelvin check");
}

#[test]
fn a_pipeline_that_answers_in_prose_is_tried_before_it_is_written_down() {
    let asks = |body: &str| format!("def answer(question):\n    {body}\n");
    let prompt = r#"{"question": "What is Paris?", "answer": "Paris is the capital of France."}"#;
    let (_remote, project) = fresh(&[
        ("bot.py", &asks("return open('no such file').read()")),
        ("prompts.jsonl", prompt),
    ]);
    let init = [
        "init",
        "--yes",
        "--judge",
        "m",
        "--judge-url",
        "http://127.0.0.1:1/v1",
    ];
    let said = project.kelvin(&init).expect(2);
    assert!(
        said.stderr.contains("the pipeline failed on prompt `"),
        "{}",
        said.stderr
    );
    assert!(!project.path("kelvin.yaml").exists());
    project.write("bot.py", &asks("return 'A city of ' + question"));
    let said = project.kelvin(&init).expect(0);
    assert!(
        said.stdout.contains("\"A city of What is Paris?\""),
        "{}",
        said.stdout
    );
    assert!(written(&project).contains("candidate: {run: {python: \"bot:answer\"}}"));
}

#[test]
fn a_function_that_needs_what_no_record_has_is_not_run() {
    let lacks = "def decide(text, model):\n    return {\"decision\": model(text)}\n";
    let fits = "def decide_all(text, channel):\n    return {\"decision\": channel}\n";
    let record = |at: usize| {
        let channel = ["mail", "phone"][at % 2];
        format!(
            "{{\"id\": \"t{at}\", \"text\": \"Ticket {at}.\", \"channel\": \"{channel}\", \"expected\": \"{channel}\"}}\n"
        )
    };
    let records: String = (0..6).map(record).collect();
    let (_remote, project) = fresh(&[("app.py", lacks), ("cases.jsonl", &records)]);
    let said = project.kelvin(&["init", "--yes"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stderr, &["model"]), @"  help: add `--run 'python3 pipeline.py {input} {output}'`, with what fits your pipeline; `app:decide` needs `model`, which is no field of the records: give it a default, or name a function that needs fields alone; scores that a script of yours writes into a file need no pipeline: `--kind scores --run COMMAND`");
    assert!(
        !said.stdout.contains("running the pipeline"),
        "{}",
        said.stdout
    );
    // Another function, which can be called, is the one that is meant.
    let both = format!("{lacks}\n\n{fits}");
    let (_remote, project) = fresh(&[("app.py", &both), ("cases.jsonl", &records)]);
    project
        .kelvin(&["init", "--yes", "--governing-type", "channel"])
        .expect(0);
    assert!(written(&project).contains("app:decide_all"));
}

#[test]
fn a_function_in_a_folder_that_is_no_package_finds_the_modules_beside_it() {
    let (_remote, project) = fresh(&[
        (
            "src/app.py",
            "import helper\n\n\ndef decide(text, channel):\n    return {\"decision\": helper.of(channel)}\n",
        ),
        ("src/helper.py", "def of(channel):\n    return channel\n"),
        (
            "cases.jsonl",
            &["mail", "phone", "mail", "phone"]
                .iter()
                .enumerate()
                .map(|(at, channel)| format!("{{\"id\": \"t{at}\", \"text\": \"Ticket {at}.\", \"channel\": \"{channel}\", \"expected\": \"{channel}\"}}\n"))
                .collect::<String>(),
        ),
    ]);
    project
        .kelvin(&["init", "--yes", "--governing-type", "channel"])
        .expect(0);
    assert!(written(&project).contains("src.app:decide"));
}
