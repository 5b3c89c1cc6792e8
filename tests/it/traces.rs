//! Traces of production: a small app whose traces are made here, in two forms and with private values of every kind, as
//! cases.

use kelvin_fixtures::text::lines_with;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::project::{Project, Said, text};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

const TRACES: usize = 8;

/// What no file and no line may show, with the rule that finds it.
const PRIVATE: [(&str, &str); TRACES] = [
    ("email", "ann.lee@example.com"),
    ("phone", "+49 151 2345678"),
    ("card", "4111 1111 1111 1111"),
    ("iban", "DE89 3704 0044 0532 0130 00"),
    ("ip", "203.0.113.77"),
    ("key", "sk-proj-abcdefghijklmnop1234"),
    ("customer", "K-104477"),
    ("email", "bob@example.org"),
];

/// Decides by the last message and by the passages. An input that holds an answer of production is answered otherwise.
const PIPELINE: &str = concat!(
    text!(),
    r#"case $text in *broken*) one=broken;; *) one=late;; esac
case $text in *"within 30 days"*) two=within;; *) two=never;; esac
case $text in *"told the customer"*) two=leaked;; esac
printf '{"decision": "%s, %s"}' "$one" "$two" > "$2"
"#
);

fn trace_id(at: usize) -> String {
    format!("5b8efff798038103d269b633813fc6{at:02x}")
}

/// What the app was given, found and answered.
fn seen(at: usize) -> (Value, [String; 2], String) {
    let (kind, private) = PRIVATE[at];
    let what = if at.is_multiple_of(2) {
        "is broken"
    } else {
        "came late"
    };
    let rule = if (at / 2).is_multiple_of(2) {
        "within 30 days"
    } else {
        "by nobody"
    };
    let messages = json!([
        {"role": "system", "content": "You help the customers of a shop."},
        {"role": "user", "content": format!("Hello, here is customer {at} again.")},
        {"role": "assistant", "content": "What can I do?"},
        {"role": "user", "content": format!("My order {at} {what}; my {kind} is {private}.")},
    ]);
    let passages = [
        format!("In shop {at} goods are returned {rule}."),
        format!("Shop {at} is led by bob@example.org."),
    ];
    (
        messages,
        passages,
        format!("We told the customer {at} what we do about {private}."),
    )
}

/// An attribute of OTLP.
fn attribute(key: &str, value: &Value) -> Value {
    json!({"key": key, "value": {"stringValue": value.as_str().map_or_else(|| value.to_string(), str::to_owned)}})
}

/// The spans of one trace: the search first, which ends before the root does.
fn spans(at: usize, trace: &str) -> [Value; 2] {
    let (messages, passages, answer) = seen(at);
    let parts = |message: &Value| json!({"role": message["role"], "parts": [{"type": "text", "content": message["content"]}]});
    let messages: Vec<Value> = messages
        .as_array()
        .expect("a list")
        .iter()
        .map(parts)
        .collect();
    let second = 1_793_613_600 + at;
    let root = json!({
        "traceId": trace, "spanId": format!("eee19b7ec3c1b1{at:02x}"), "parentSpanId": "", "name": format!("answer {}", PRIVATE[0].1),
        "startTimeUnixNano": format!("{second}000000000"), "status": {},
        "attributes": [
            attribute("gen_ai.input.messages", &json!(messages)),
            attribute("gen_ai.output.messages", &json!([{"role": "assistant", "parts": [{"type": "text", "content": answer}]}])),
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "120"}},
        ],
    });
    let documents = passages.iter().enumerate().map(|(place, text)| {
        attribute(
            &format!("retrieval.documents.{place}.document.content"),
            &json!(text),
        )
    });
    let kind = attribute("openinference.span.kind", &json!("RETRIEVER"));
    let attributes: Value = std::iter::once(kind).chain(documents).collect();
    let search = json!({
        "traceId": trace, "spanId": format!("aaa19b7ec3c1b1{at:02x}"), "parentSpanId": root["spanId"], "name": "search",
        "startTimeUnixNano": format!("{second}500000000"),
        "attributes": attributes,
    });
    [search, root]
}

fn request(spans: &[Value]) -> String {
    format!(
        "{}\n",
        json!({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "app"}, "spans": spans}]}]})
    )
}

/// Requests as a collector writes them: a trace lies in several, and its root comes last.
fn otlp() -> String {
    let all: Vec<[Value; 2]> = (0..TRACES).map(|at| spans(at, &trace_id(at))).collect();
    let searches: Vec<Value> = all.iter().map(|[search, _]| search.clone()).collect();
    let roots = all
        .iter()
        .rev()
        .map(|[_, root]| request(std::slice::from_ref(root)));
    request(&searches) + &roots.collect::<String>()
}

/// The same as Langfuse exports it.
fn langfuse() -> String {
    let traces = (0..TRACES).map(|at| {
        let (messages, passages, answer) = seen(at);
        let found: Vec<Value> = passages.iter().map(|text| json!({"page_content": text, "metadata": {}})).collect();
        json!({
            "id": trace_id(at), "timestamp": format!("2026-11-02T10:00:0{at}Z"), "name": "answer", "input": messages, "output": answer,
            "userId": PRIVATE[0].1,
            "observations": [{"id": format!("o{at}"), "type": "RETRIEVER", "name": "search", "input": PRIVATE[0].1, "output": found}],
        })
    });
    serde_json::to_string_pretty(&traces.collect::<Value>()).expect("it is JSON")
}

/// A project without cases, and the export beside it.
fn project() -> Project {
    let project = Project::new(PIPELINE);
    fs::remove_dir_all(project.path("cases")).expect("removed");
    fs::remove_file(project.path("kelvin.yaml")).expect("removed");
    project
}

const RULE: &str = "--redact=customer=K-[0-9]{6}";

/// Nothing private is shown.
#[track_caller]
fn is_clean(said: &Said) {
    for (kind, private) in PRIVATE {
        assert!(
            !said.stdout.contains(private) && !said.stderr.contains(private),
            "{kind}: {}",
            said.stdout
        );
    }
}

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("listed") {
        let path = entry.expect("listed").path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// Nothing private and no answer of production lies in any file of the project, nor beside it.
#[track_caller]
fn nothing_private_in(project: &Project, exports: &[&str]) {
    let mut found = Vec::new();
    files(&project.path(".."), &mut found);
    assert!(found.len() > 20, "{found:?}");
    for file in found {
        if exports.iter().any(|name| file.ends_with(name)) {
            continue;
        }
        let text = fs::read(&file).expect("read");
        let text = String::from_utf8_lossy(&text);
        for (kind, private) in PRIVATE {
            assert!(!text.contains(private), "{kind} in {}", file.display());
        }
        // The pipeline has these words in its code.
        let is_code = file.ends_with("pipeline.sh");
        assert!(
            is_code || !text.contains("We told the customer"),
            "{}",
            file.display()
        );
    }
}

#[test]
fn both_forms_of_the_same_traces_make_the_same_cases_and_nothing_private_is_left() {
    let project = project();
    project.write("../spans.jsonl", &otlp());
    project.write("../export.json", &langfuse());
    let files_before = fs::read_dir(project.root()).expect("listed").count();
    let said = project
        .kelvin(&["import", "--otlp", "../spans.jsonl", RULE])
        .expect(0);
    is_clean(&said);
    assert_eq!(
        fs::read_dir(project.root()).expect("listed").count(),
        files_before,
        "nothing is written"
    );
    for shown in [
        "5b8efff798038103d269b633813fc600  2026-11-02T10:00:00Z  answer [email 1]",
        "4 messages: system \"You help the customers of a shop.\" … user \"My order 0 is broken; my email is [email 1].\"",
        "2 texts: \"In shop 0 goods are returned within 30 days.\" … \"Shop 0 is led by [email 2].\"",
        "answered  \"We told the customer 0 what we do about [email 1].\" (in production; not in the case)",
        "8 traces of 16 spans",
        "replaced: card 2, customer 2, email 20, iban 2, ip 2, key 2, phone 2",
        "8 cases can be made; nothing is written without `--into FILE`",
    ] {
        assert!(said.stdout.contains(shown), "{shown}: {}", said.stdout);
    }
    let said = project.paste(said.next()).expect(0);
    is_clean(&said);
    let still = "`../spans.jsonl` still has what was replaced: keep it out of the repository";
    assert!(said.stdout.contains(still), "{}", said.stdout);
    let first: Value =
        serde_json::from_str(project.read("cases.jsonl").lines().next().expect("a case"))
            .expect("JSON");
    let (mut messages, _, _) = seen(0);
    messages[3]["content"] = json!("My order 0 is broken; my email is [email 1].");
    let passages = [
        "In shop 0 goods are returned within 30 days.",
        "Shop 0 is led by [email 2].",
    ];
    assert_eq!(
        first,
        json!({"id": trace_id(0), "messages": messages, "passages": passages})
    );

    // The answers go into a file of their own.
    let langfuse = [
        "import",
        "--langfuse",
        "../export.json",
        RULE,
        "--into",
        "more.jsonl",
        "--answers",
        "answers.jsonl",
    ];
    let said = project.kelvin(&langfuse).expect(0);
    is_clean(&said);
    assert_eq!(project.read("more.jsonl"), project.read("cases.jsonl"));
    let answers = project.read("answers.jsonl");
    let answer = "{\"id\":\"5b8efff798038103d269b633813fc600\",\"production_output\":\"We told the customer 0 what we do about [email 1].\"}\n";
    assert!(
        answers.starts_with(answer) && answers.lines().count() == TRACES,
        "{answers}"
    );
    for text in [answers, project.read("more.jsonl")] {
        assert!(PRIVATE.iter().all(|(_, private)| !text.contains(private)));
    }
}

#[test]
fn the_gate_over_imported_cases_passes_an_unchanged_app_and_holds_a_broken_one() {
    let (_remote, url) = bare();
    let project = pushed(&url, PIPELINE);
    fs::remove_dir_all(project.path("cases")).expect("removed");
    fs::remove_file(project.path("kelvin.yaml")).expect("removed");
    project.write("../spans.jsonl", &otlp());
    let said = project
        .kelvin(&[
            "import",
            "--otlp",
            "../spans.jsonl",
            RULE,
            "--into",
            "cases.jsonl",
        ])
        .expect(0);
    insta::assert_snapshot!(said.next(), @"kelvin init --cases=cases.jsonl --governing-type=last_user_turn --governing-type=passages");
    let rest =
        "--yes --no-workflow --run 'sh pipeline.sh {input} {output}' --decision-field decision";
    project.paste(&format!("{} {rest}", said.next())).expect(0);
    // With a configuration there, what comes next is a look at it.
    let again = project
        .kelvin(&[
            "import",
            "--otlp",
            "../spans.jsonl",
            RULE,
            "--into",
            "cases.jsonl",
            "--force",
        ])
        .expect(0);
    assert_eq!(again.next(), "kelvin lint");
    project.paste(again.next()).expect(0);
    commit(&project, "cases");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    assert_eq!(project.figure("invariance"), json!(1.0));
    let answers = |case: usize| {
        project.json(&format!("kelvin/{}/baseline/output.json", trace_id(case)))["decision"].clone()
    };
    assert_eq!(
        (answers(0), answers(3)),
        (json!("broken, within"), json!("late, never"))
    );

    branch(&project, "unchanged", &format!("# said again\n{PIPELINE}"));
    let said = project.kelvin(&["gate"]);
    assert_eq!(
        verdict(&project, &said)["verdict"],
        json!("pass"),
        "{}",
        said.stdout
    );
    git(project.root(), &["checkout", "--quiet", "--force", "main"]);
    branch(
        &project,
        "broken",
        &PIPELINE.replace("*broken*)", "*nothing*)"),
    );
    let said = project.kelvin(&["gate"]);
    assert_eq!(
        verdict(&project, &said)["verdict"],
        json!("regression"),
        "{}",
        said.stdout
    );
    nothing_private_in(&project, &["spans.jsonl"]);
}

/// Traces that are not all good: one that failed, one that says the same again, one that was cut off, one without
/// contents, one whose root is missing, and lines that are no requests.
fn odd() -> String {
    let plain = |id: u8, more: Value| {
        let mut span = json!({"traceId": format!("{id:032x}"), "spanId": format!("{id:016x}"), "name": "answer", "startTimeUnixNano": u64::from(id) * 1_000_000_000});
        span.as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().expect("an object"));
        request(&[span])
    };
    let input = |text: &str| json!({"attributes": [attribute("input.value", &json!(text))]});
    let mut failed = input("Where is it?");
    failed["status"] = json!({"code": 2, "message": "no answer for ann.lee@example.com"});
    let mut orphan = input("{\"question\": \"Who?\", \"expected\": \"x\", \"id\": \"own\"}");
    orphan["parentSpanId"] = json!("00000000000000ff");
    [
        plain(1, input("Where is my parcel?")),
        plain(2, input("Where is my parcel?")),
        plain(3, failed),
        plain(4, json!({"attributes": [attribute("gen_ai.input.messages", &json!("[{\"role\": \"user\", \"par"))]})),
        plain(5, json!({})),
        plain(6, orphan),
        "{\"resourceSpans\": [{\"scopeSp\n".to_owned(),
        "{\"resourceLogs\": []}\n".to_owned(),
    ]
    .concat()
}

#[test]
fn what_no_case_is_made_of_is_listed_with_the_reason() {
    let project = project();
    project.write("../odd.jsonl", &odd());
    let said = project
        .kelvin(&["import", "--otlp", "../odd.jsonl"])
        .expect(0);
    is_clean(&said);
    for shown in [
        "left out, 4 traces:",
        "00000000000000000000000000000002  its input is that of `00000000000000000000000000000001`",
        "00000000000000000000000000000003  the span `answer` ended with an error: no answer for [email 1]",
        "00000000000000000000000000000004  its input is not whole: `gen_ai.input.messages`: it is no whole JSON",
        "00000000000000000000000000000005  no span of it has an input: record the contents",
        "not read, 2 parts; export them again, or take the lines out:",
        "../odd.jsonl:7: not JSON: it is cut off in column",
        "../odd.jsonl:8: no span in it; a request has `resourceSpans`, and this has `resourceLogs`",
        "note      its root is not in the file",
        "2 cases can be made",
    ] {
        assert!(said.stdout.contains(shown), "{shown}: {}", said.stdout);
    }
    let said = project.paste(said.next()).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["2 cases"]), @"wrote 2 cases into `cases.jsonl`");
    // The input of one has an `id`, so another field names the cases.
    assert!(
        project
            .read("cases.jsonl")
            .contains("{\"case_id\":\"00000000000000000000000000000006\""),
        "{}",
        project.read("cases.jsonl")
    );
}

#[test]
fn nothing_is_overwritten() {
    let project = project();
    project.write("../spans.jsonl", &otlp());
    let list = ["import", "--otlp", "../spans.jsonl", RULE];
    let into = [&list[..], &["--into", "cases.jsonl"]].concat();
    project.kelvin(&into).expect(0);
    let written = project.read("cases.jsonl");
    project.write("cases.jsonl", "mine\n");
    let said = project.kelvin(&into).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: `cases.jsonl` is there already
      help: name another file, or overwrite this one with `--force`
    ");
    // What comes next is a name that is free.
    let said = project.kelvin(&list).expect(0);
    project.paste(said.next()).expect(0);
    assert_eq!(project.read("cases.jsonl"), "mine\n");
    assert_eq!(project.read("cases-2.jsonl"), written);
}

#[test]
fn a_slip_is_told_with_what_to_do() {
    let project = project();
    project.write("../spans.jsonl", &otlp());
    project.write("loans.csv", "id,rule\na,x\n");
    project.write("plain.jsonl", "{\"question\": \"x\"}\n");
    project.write("half.json", "{\n  \"resourceSpans\": [\n");
    project.write("deep.jsonl", &format!("{}\n", "[".repeat(100_000)));
    let otlp = "--otlp=../spans.jsonl";
    let mut texts = Vec::new();
    for arguments in [
        &[][..],
        &["--otlp", "plain.jsonl"],
        &["--langfuse", "plain.jsonl"],
        &["--langfuse", "loans.csv"],
        &["--otlp", "half.json"],
        &["--otlp", "deep.jsonl"],
        &["--otlp", "none.jsonl"],
        &[otlp, "--langfuse", "x.json"],
        &[otlp, "--into", "cases.csv"],
        &[otlp, "--redact", "name=("],
        &[otlp, "--redact", "email=x"],
    ] {
        let said = project.kelvin(&[&["import"], arguments].concat()).expect(1);
        texts.push(said.stderr.to_string());
        assert!(!project.path("cases.csv").exists());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    error: no file with traces is named
      help: `--otlp` takes spans of OpenTelemetry, `--langfuse` an export of Langfuse; a file with records needs no import: write `cases: FILE` into kelvin.yaml

    error: there is no trace in the file; plain.jsonl:1: no span in it; a request has `resourceSpans`, and this has `question`
      help: `--otlp` takes spans of OpenTelemetry, `--langfuse` an export of Langfuse; a file with records needs no import: write `cases: FILE` into kelvin.yaml

    error: there is no trace in the file; plain.jsonl:1: no trace in it: it has no `id`, but `question`
      help: `--otlp` takes spans of OpenTelemetry, `--langfuse` an export of Langfuse; a file with records needs no import: write `cases: FILE` into kelvin.yaml

    error: there is no trace in the file; loans.csv:1: not JSON: expected value, in column 1
      help: `--otlp` takes spans of OpenTelemetry, `--langfuse` an export of Langfuse; a file with records needs no import: write `cases: FILE` into kelvin.yaml

    error: there is no trace in the file; half.json:3: not JSON: it is cut off in column 0
      help: `--otlp` takes spans of OpenTelemetry, `--langfuse` an export of Langfuse; a file with records needs no import: write `cases: FILE` into kelvin.yaml

    error: there is no trace in the file; deep.jsonl:1: not JSON: recursion limit exceeded, in column 128
      help: `--otlp` takes spans of OpenTelemetry, `--langfuse` an export of Langfuse; a file with records needs no import: write `cases: FILE` into kelvin.yaml

    error: none.jsonl: cannot be read: No such file or directory (os error 2)

    error: the argument '--otlp <FILE>' cannot be used with '--langfuse <FILE>'

    Usage: kelvin import --otlp <FILE>

    For more information, try '--help'.

    error: `cases.csv` would be read in another form by its name
      help: name a file that ends in `.jsonl`: one case a line is written

    error: invalid value 'name=(' for '--redact <NAME=REGEX>': regex parse error:
        (
        ^
    error: unclosed group

    For more information, try '--help'.

    error: invalid value 'email=x' for '--redact <NAME=REGEX>': `email` is the name of a rule that ships; give this one another name

    For more information, try '--help'.
    ");
    // What is hostile where it is shown.
    let hostile = json!({"traceId": "\u{1b}[2Jx\ny", "spanId": "b", "name": "::error::\u{202e}x", "attributes": {"input.value": "a\u{1b}[31m\nnext: rm -rf"}});
    project.write("../hostile.jsonl", &format!("{hostile}\n"));
    let said = project
        .kelvin(&["import", "--otlp", "../hostile.jsonl"])
        .expect(0);
    assert!(
        !said.stdout.contains(['\u{1b}', '\u{202e}']),
        "{}",
        said.stdout
    );
    insta::assert_snapshot!(said.next(), @"kelvin import --otlp=../hostile.jsonl --into=cases.jsonl");
}

/// What the SDK of OpenTelemetry writes of two requests, of which one fails: spans as it prints them, a line each and over
/// many lines, and a request as the writer of protocol buffers makes JSON of it.
const SDK: &str = r#"
import json, sys
from google.protobuf.json_format import MessageToJson
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode
memory = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(memory))
tracer = provider.get_tracer("app")
def said(role, text):
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])
with tracer.start_as_current_span("answer") as root:
    root.set_attribute("gen_ai.input.messages", said("user", "Where is the order of ann.lee@example.com?"))
    root.set_attribute("gen_ai.usage.input_tokens", 12)
    with tracer.start_as_current_span("search") as search:
        search.set_attribute("openinference.span.kind", "RETRIEVER")
        search.set_attribute("retrieval.documents.0.document.content", "It is on its way.")
        search.set_attribute("retrieval.documents.0.document.score", 0.5)
    root.set_attribute("gen_ai.output.messages", said("assistant", "On its way."))
with tracer.start_as_current_span("answer") as root:
    root.set_attribute("input.value", "x")
    root.set_status(Status(StatusCode.ERROR, "late"))
spans = memory.get_finished_spans()
open("lines.jsonl", "w").write("".join(span.to_json(indent=None) + "\n" for span in spans))
open("printed.json", "w").write("".join(span.to_json() + "\n" for span in spans))
open("request.json", "w").write(MessageToJson(encode_spans(spans)))
"#;

#[test]
#[ignore = "installs the SDK of OpenTelemetry from PyPI"]
fn spans_of_the_real_sdk_are_read_in_each_form_that_it_writes() {
    let project = project();
    project.write("export.py", SDK);
    let install = "python3 -m venv .venv && .venv/bin/pip install --quiet opentelemetry-sdk \
                   opentelemetry-exporter-otlp-proto-common && .venv/bin/python export.py";
    project.paste(install).expect(0);
    let mut cases = Vec::new();
    for file in ["lines.jsonl", "printed.json", "request.json"] {
        let said = project
            .kelvin(&["import", "--otlp", file, "--into", "cases.jsonl", "--force"])
            .expect(0);
        let tells = |line: &str| line.contains("`answer`") && line.contains("late");
        assert!(said.stdout.lines().any(tells), "{}", said.stdout);
        cases.push(project.read("cases.jsonl"));
    }
    let case: Value = serde_json::from_str(&cases[0]).expect("one case");
    assert_eq!(
        case["messages"],
        json!([{"role": "user", "content": "Where is the order of [email 1]?"}])
    );
    assert_eq!(case["passages"], json!(["It is on its way."]));
    assert_eq!(cases[1], cases[0]);
    assert_eq!(cases[2], cases[0]);
}
