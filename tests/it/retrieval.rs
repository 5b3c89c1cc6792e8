use kelvin_fixtures::text::lines_with;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::answers::leaves_nothing_to_do;
use crate::project::{GROUNDED, Project, Said};
use crate::repository::{bare, commit, git, pushed, save, verdict};

/// Has the script of the example answer from a function: to start Python for each query takes ten times as long as to
/// answer it.
const SERVED: &str = r#"
import json, pathlib, sys, tempfile
import ask

def search(path):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "output.json")
        sys.argv = ["ask.py", "--query", path, "--output", str(output)]
        ask.main()
        return json.loads(output.read_text())
"#;

/// The example, whose script is started once.
fn example() -> Project {
    let project = example_as_it_is();
    let settings = project.read("kelvin.yaml");
    let command = "run: python3 ask.py --query {input} --output {output}";
    assert!(settings.contains(command), "{settings}");
    let settings = settings.replace(command, "run: { python: \"serve:search\" }");
    project.write("kelvin.yaml", &settings);
    project.write("serve.py", SERVED);
    project
}

/// A project that is a copy of the example and nothing else.
fn example_as_it_is() -> Project {
    let project = Project::new("");
    for path in ["cases", "pipeline.sh", "kelvin.yaml"] {
        let path = project.path(path);
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/retrieval");
    for name in ["ask.py", "corpus.jsonl", "golden.yaml", "kelvin.yaml"] {
        fs::copy(from.join(name), project.path(name)).expect("copied");
    }
    project
}

fn metric(report: &Value, name: &str) -> Value {
    report["metrics"][format!("retrieval.{name}")]["value"].clone()
}

#[test]
fn the_example_finds_what_it_should_and_a_worse_variant_is_flagged_by_the_gate() {
    let project = example_as_it_is();
    let said = project.kelvin(&["check"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["= "]), @"= All 26 queries did as they should");
    let page = project.read("kelvin/report.html");
    assert!(page.contains("<svg"), "no plot");
    let report = project.report();
    assert_eq!(metric(&report, "success@1"), json!(1.0));
    assert_eq!(metric(&report, "refusal_correctness"), json!(1.0));
    assert_eq!(
        report["metrics"]["retrieval.refusal_correctness"]["n"],
        json!(3)
    );
    assert_eq!(metric(&report, "total_queries"), json!(26.0));
    assert!(report["run"].get("decision_field").is_none());
    let input = project.read("kelvin/retrieval/join/baseline/input.json");
    let input: Value = serde_json::from_str(&input).expect("JSON");
    assert_eq!(
        input,
        json!({ "id": "join", "query": "What must I bring to join?" })
    );

    let project = example();
    project.kelvin(&["check"]).expect(0);
    assert_eq!(
        project.report()["metrics"],
        report["metrics"],
        "a function answers as the script does"
    );
    project.write("base.json", &project.read("kelvin/report.json"));
    let same = project
        .kelvin(&["gate", "--baseline", "base.json"])
        .expect(0);
    assert!(same.stdout.contains("pass"), "{}", same.stdout);

    // Common words weigh as much as rare ones, and nothing is refused.
    let worse = project
        .read("ask.py")
        .replace(
            "return math.log(1 + (len(self.chunks) - n + 0.5) / (n + 0.5))",
            "return n",
        )
        .replace("REFUSE_BELOW = 2.5", "REFUSE_BELOW = -1");
    project.write("ask.py", &worse);
    let said = project.kelvin(&["check"]).expect(0);
    let words: Vec<&str> = said.stdout.split_whitespace().collect();
    let told = words.join(" ");
    assert!(
        told.contains(" ~ ") && told.contains(" of 26 queries"),
        "{told}"
    );
    // An index in which every text stands under the name of another document finds next to nothing.
    let ask = project.read("ask.py");
    let corpus = project.read("corpus.jsonl");
    let lines: Vec<Value> = corpus
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let shifted = (0..lines.len()).map(|at| {
        let mut line = lines[at].clone();
        line["text"] = lines[(at + 7) % lines.len()]["text"].clone();
        format!("{line}\n")
    });
    project.write("old.jsonl", &shifted.collect::<String>());
    project.write("ask.py", &ask.replace("\"corpus.jsonl\"", "\"old.jsonl\""));
    let said = project.kelvin(&["check"]).expect(0);
    let told = said.stdout.lines().find(|line| line.starts_with("! "));
    let told = told.unwrap_or_else(|| panic!("nothing is alarming: {}", said.stdout));
    insta::assert_snapshot!(told, @"! 23 of 26 queries did not do as they should: `bench-hours`, `children-age`,");
    project.write("ask.py", &ask);
    let said = project
        .kelvin(&["gate", "--baseline", "base.json"])
        .expect(3);
    assert!(said.stdout.contains("retrieval.mrr"), "{}", said.stdout);
    let judgement = project.json("kelvin/gate.json");
    assert_eq!(judgement["verdict"], json!("regression"));
    let change = &judgement["retrieval"];
    assert_eq!(change["chunker_version_match"], json!("exact"));
    let hurt = change["counts"]["loss"].as_u64().unwrap_or(0)
        + change["counts"]["regression"].as_u64().unwrap_or(0);
    assert!(hurt >= 2, "{change}");
    let page = project.read("kelvin/gate.md");
    assert!(
        page.contains("## Retrieval") && page.contains("| loss |"),
        "{page}"
    );
}

/// The verdict on a metric that fails the gate.
fn word_of(project: &Project, metric: &str) -> Value {
    let told = &project.json("kelvin/gate.json")["metrics"][format!("retrieval.{metric}")];
    assert_eq!(told["policy"], json!("gate"), "{told}");
    told["verdict"].clone()
}

/// The example with a change of its answers.
fn answers_by(project: &Project, from: &str, to: &str) {
    let ask = project.read("ask.py");
    assert!(ask.contains(from), "{from}");
    project.write("ask.py", &ask.replace(from, to));
}

#[test]
fn a_changed_answer_stands_beside_the_hits_of_both_sides_and_leads_to_its_files() {
    let project = example();
    let text = r#""doc_id": chunk["doc_id"], "text": chunk["text"],"#;
    answers_by(&project, r#""doc_id": chunk["doc_id"],"#, text);
    project.kelvin(&["check"]).expect(0);
    project.write("base.json", &project.read("kelvin/report.json"));
    answers_by(&project, "return found[:most]", "return found[:most][::-1]");
    project
        .kelvin(&["gate", "--baseline", "base.json"])
        .expect(3);
    let judgement = project.json("kelvin/gate.json");
    let answers = judgement["answers"]["retrieval"]["answers"].as_array();
    let answers = answers.expect("a list");
    let changed = answers.iter().find(|answer| answer["item"] == "renew");
    let hits = &changed.expect("it is answered otherwise")["hits"];
    let (base, head) = (&hits["base"], &hits["head"]);
    // What was expected stood first and is last now.
    assert_eq!(base[0]["name"], json!("borrowing#2"), "{hits}");
    assert_eq!(base[0]["expected"], json!(true));
    let title = base[0]["title"].as_str().expect("a title");
    insta::assert_snapshot!(title, @"A loan can be renewed twice, online or at the counter, as long as nobody else h…");
    assert_eq!(
        hits["expected"][0],
        json!({ "name": "borrowing#2", "title": title }),
        "{hits}"
    );
    let last = base[0]["other_rank"].as_u64().expect("the head has it");
    assert!(last > 1, "{hits}");
    let at = usize::try_from(last).expect("a rank") - 1;
    assert_eq!(
        (
            &head[at]["name"],
            &head[at]["other_rank"],
            &head[at]["expected"]
        ),
        (&json!("borrowing#2"), &json!(1), &json!(true))
    );
    let page = project.read("kelvin/report.html");
    for text in [
        "<summary>Hits<span class=\"hidden\"> of renew</span>, base and now</summary>",
        "<code>borrowing#2</code> <q>A loan can be renewed twice",
        &format!(
            "<b>expected</b> <span class=\"moved down\"><span aria-hidden=\"true\">▼</span> down to {last}</span>"
        ),
        "down from 1</span>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for (what, file) in [("input", "input.json"), ("output", "output.json")] {
        let path = format!("retrieval/renew/baseline/{file}");
        let address = path.replace('/', "&#x2f;");
        let link = format!("<a href=\".&#x2f;{address}\">{what}<");
        assert!(page.contains(&link), "{link}");
        project.read(&format!("kelvin/{path}"));
    }
    // In a workflow the page is kept without these files.
    project.write("event.json", "{}");
    let flags = ["--event", "event.json", "--event-name", "workflow_dispatch"];
    project
        .kelvin(&[&["gate", "--baseline", "base.json"][..], &flags].concat())
        .expect(3);
    let page = project.read("kelvin/report.html");
    assert!(page.contains(" of renew</span>, base and now</summary>"));
    assert!(!page.contains("href=\".&#x2f;"), "it leads to files");
}

#[test]
fn a_search_that_never_cites_hears_no_word_about_it_and_one_that_stops_citing_is_red() {
    let project = example();
    project.kelvin(&["check", "--out", "cites"]).expect(0);
    answers_by(
        &project,
        r#""citations": [{"doc_id": best["doc_id"], "chunk_id": best["chunk_id"]}],"#,
        r#""citations": [],"#,
    );
    let said = project.kelvin(&["check", "--out", "bare"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["= "]), @"= All 26 queries did as they should");
    for page in ["report.md", "report.html"] {
        let page = project.read(&format!("bare/{page}"));
        assert!(!page.contains("no citation"), "{page}");
    }
    let against = |base| project.kelvin(&["gate", "--baseline", base]);
    against("bare/report.json").expect(0);
    against("cites/report.json").expect(3);
    assert_eq!(word_of(&project, "citation_coverage"), json!("regression"));
}

#[test]
fn five_questions_that_could_be_answered_and_are_refused_are_red() {
    let project = example();
    project.kelvin(&["check", "--out", "base"]).expect(0);
    let asked = project.read("golden.yaml");
    let asked = asked.lines().filter_map(|line| line.strip_prefix("- id: "));
    let ids: Vec<&str> = asked.take(5).collect();
    assert_eq!(ids.len(), 5, "{ids:?}");
    answers_by(
        &project,
        "if found and found[0][0] >= REFUSE_BELOW:",
        &format!(
            "asked = json.loads(options.query.read_text())[\"id\"]\n    \
             if found and found[0][0] >= REFUSE_BELOW and asked not in {ids:?}:"
        ),
    );
    // Without a base, too, the first thing that is said is how many are wrong, and none is told to be right.
    let said = project.kelvin(&["check"]).expect(0);
    let words = |said: &Said| -> Vec<String> {
        let lines = said.stdout.lines();
        let told = lines.filter(|line| line.starts_with(['!', '~', '=']));
        told.map(str::to_owned).collect()
    };
    let told = words(&said);
    assert!(
        told[0].starts_with("~ 5 of 26 queries did not do as they should: "),
        "{told:?}"
    );
    insta::assert_snapshot!(told[1], @"~ Query `how-many-tools` was refused with “I do not know.”");
    assert_eq!(told.len(), 2, "{told:?}");
    project
        .kelvin(&["gate", "--baseline", "base/report.json"])
        .expect(3);
    // What the answers must contain is missing too, so the word of this metric itself is looked at.
    assert_eq!(word_of(&project, "answered_rate"), json!("regression"));
    let page = project.read("kelvin/report.md");
    insta::assert_snapshot!(lines_with(&page, &["`how-many-tools`"]), @"
    - ⚠️ 5 of 26 queries did not do as they should: `how-many-tools`, `late-fee`, `loan-length` and 2 more; the first one: refused, and should have been answered
    - ⚠️ Query `how-many-tools` was refused with “I do not know.”
    | `how-many-tools` | How many tools can I borrow at once? | refused: I do not know. | `borrowing#1`; `late-returns#2`; `batteries#1` | refused, and should have been answered; the answer lacks five |
    ");
}

#[test]
fn a_change_that_edits_the_golden_set_or_the_corpus_is_told_so_first() {
    let (_remote, url) = bare();
    let project = example();
    project.write(".gitignore", "/kelvin/\n");
    let root = project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["remote", "add", "origin", &url]);
    commit(&project, "base");
    git(root, &["push", "--quiet", "origin", "main"]);
    git(root, &["checkout", "--quiet", "-b", "change"]);
    let told = |project: &Project| -> Vec<Value> {
        project.kelvin(&["gate", "--no-rerun"]).expect(0);
        let judgement = project.json("kelvin/gate.json");
        let reasons = judgement["reasons"].as_array().expect("a list").iter();
        let edits = reasons.filter(|reason| reason["code"] == json!("edits_measure"));
        edits.map(|reason| reason["text"].clone()).collect()
    };
    let golden = project.read("golden.yaml");
    project.write("golden.yaml", &format!("# The same queries.\n\n{golden}"));
    commit(&project, "a remark");
    assert_eq!(told(&project), Vec::<Value>::new());
    let fewer = golden.replacen("- id: join", "- id: join-us", 1);
    assert_ne!(fewer, golden, "{golden}");
    project.write("golden.yaml", &fewer);
    let corpus = project.read("corpus.jsonl");
    let first = corpus.lines().next().expect("a chunk");
    let mut more: Value = serde_json::from_str(first).expect("JSON");
    more["chunk_id"] = json!("another#1");
    project.write("corpus.jsonl", &format!("{}\n{more}\n", corpus.trim_end()));
    commit(&project, "other queries");
    assert_eq!(
        told(&project),
        [
            json!("this change edits the golden set `golden.yaml`"),
            json!("this change edits the corpus `corpus.jsonl`"),
        ]
    );
}

#[test]
fn shards_of_a_golden_set_join_to_the_report_of_the_whole() {
    let project = example();
    for share in ["1/3", "2/3", "3/3"] {
        let out = format!("shards/{}", &share[..1]);
        project
            .kelvin(&["check", "--shard", share, "--out", &out])
            .expect(0);
    }
    project
        .kelvin(&["merge", "shards", "--out", "joined"])
        .expect(0);
    project.check();
    let joined = project.json("joined/report.json");
    let whole = project.json("kelvin/report.json");
    for part in ["metrics", "retrieval", "notices"] {
        assert_eq!(joined[part], whole[part], "{part}");
    }
    assert_eq!(metric(&joined, "total_queries"), json!(26.0));
}

#[test]
fn both_probes_share_one_report_and_each_can_be_run_alone() {
    let project = Project::new(crate::project::GROUNDED);
    // Twelve, since the gate looks at fewer on request only.
    let golden: String = (0..12)
        .map(|at| match at {
            0 => "- {id: alder, query: q, expected_doc_ids: [d]}\n".to_owned(),
            at => format!("- {{id: q{at}, query: q, expected_doc_ids: [d]}}\n"),
        })
        .collect();
    project.write("golden.yaml", &golden);
    project.write(
        "ask.sh",
        "printf '{\"hits\":[{\"doc_id\":\"d\"}]}' > \"$2\"\n",
    );
    project.config("retrieval: {run: 'sh ask.sh {input} {output}', golden: golden.yaml}\n");
    project.kelvin(&["check"]).expect(0);
    let both = project.report();
    assert_eq!(both["metrics"]["evidence.invariance"]["value"], json!(1.0));
    assert_eq!(metric(&both, "recall_doc@1"), json!(1.0));
    // A case and a query of the same name are two things.
    assert!(both["probes"]["evidence"]["items"]["alder"].is_object());
    assert!(both["probes"]["retrieval"]["items"]["alder"].is_object());
    project.write("base.json", &project.read("kelvin/report.json"));
    project.write("ask.sh", "printf '{\"hits\":[]}' > \"$2\"\n");
    project.config(
        "retrieval: {run: 'sh ask.sh {input} {output}', golden: golden.yaml}\n\
         gate: {deterministic: true}\n",
    );
    let said = project
        .kelvin(&["gate", "--baseline", "base.json"])
        .expect(3);
    assert!(said.stdout.contains("recall_doc@10"), "{}", said.stdout);

    project.kelvin(&["check", "--probe", "retrieval"]).expect(0);
    let alone = project.report();
    assert!(alone["metrics"].get("evidence.invariance").is_none());
    assert_eq!(metric(&alone, "recall_doc@1"), json!(0.0));
    project.kelvin(&["check", "--probe", "evidence"]).expect(0);
    assert!(project.report().get("retrieval").is_none());
    let said = project.kelvin(&["check", "--only", "nobody"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: there is no case `nobody`
      help: the cases and queries are: alder, birch, cedar, dogwood, q1, q10, q11, q2, q3, q4, q5, q6, q7, q8, q9
    ");
}

#[test]
fn an_output_with_names_of_its_own_has_the_figures_of_one_with_the_usual_names() {
    let project = example();
    project.kelvin(&["check"]).expect(0);
    let usual = project.report()["metrics"].clone();
    let own = SERVED.replace(
        "return json.loads(output.read_text())",
        "return renamed(json.loads(output.read_text()))",
    );
    project.write(
        "serve.py",
        &format!(
            "{own}\ndef renamed(output):\n    \
             documents = [{{\"metadata\": {{\"source\": hit[\"doc_id\"], \"part\": hit.get(\"chunk_id\")}},\n                  \
             \"spans\": hit.get(\"spans\", []), \"title\": hit.get(\"title\")}} for hit in output.pop(\"hits\")]\n    \
             return {{\"result\": output.get(\"answer\"), \"context\": {{\"documents\": documents}}}}\n"
        ),
    );
    let said = project.kelvin(&["check"]);
    assert_eq!(said.code, Some(2), "{}{}", said.stdout, said.stderr);
    let advice = "`context`, `result`";
    let all = format!("{}{}", said.stdout, said.stderr);
    assert!(all.contains(advice), "{all}");
    let settings = project.read("kelvin.yaml");
    let fields = "{hits: context.documents, doc_id: metadata.source, chunk_id: metadata.part, answer: result}";
    let named = settings.replace(
        "  golden: golden.yaml",
        &format!("  golden: golden.yaml\n  output_fields: {fields}"),
    );
    assert_ne!(named, settings);
    project.write("kelvin.yaml", &named);
    for from in ["called", "kept"] {
        project.kelvin(&["check"]).expect(0);
        assert_eq!(project.report()["metrics"], usual, "{from}");
    }
}

#[test]
fn a_search_whose_hits_can_match_no_label_never_ends_with_nothing_to_do() {
    // The labels name chunks, and the hits name none: every rank is 0 for ever.
    let project = example();
    let own = SERVED.replace(
        "return json.loads(output.read_text())",
        "return [hit[\"doc_id\"] for hit in json.loads(output.read_text())[\"hits\"]]",
    );
    project.write("serve.py", &own);
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "the search");
    project.kelvin(&["check"]).expect(0);
    project.kelvin(&["baseline", "save", "--local"]).expect(0);
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.write("serve.py", &format!("# The same.\n{own}"));
    commit(&project, "a comment");
    project.kelvin(&["gate", "--base", "main"]).expect(0);
    let page = project.read("kelvin/gate.md");
    insta::assert_snapshot!(kelvin_fixtures::text::lines_with(&page, &["None of", "Look at"]), @"
    **None of 5 gated metrics dropped beyond what is allowed; `retrieval.found` and 2 more are at their worst everywhere, so that no loss of them can be seen**
    Look at why `retrieval.found` is at its worst everywhere: no change can make it worse, so that it guards nothing.
    ");
    assert!(!leaves_nothing_to_do(&page), "{page}");
}

#[test]
fn a_failed_query_counts_zero_is_listed_and_the_others_go_on() {
    let project = example_as_it_is();
    let broken = project.read("ask.py").replace(
        "    index = Index(",
        "    if \"join\" in options.query.read_text():\n        raise SystemExit(7)\n    index = Index(",
    );
    project.write("ask.py", &broken);
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    assert_eq!(metric(&report, "failed_queries"), json!(1.0));
    assert_eq!(metric(&report, "success@1"), json!(22.0 / 23.0));
    let run = &report["probes"]["retrieval"]["items"]["join"]["runs"][0];
    assert_eq!(run["failure"]["kind"], json!({ "exit": 7 }));
    insta::assert_snapshot!(lines_with(&said.stdout, &["1 of 26"]), @"
    ~ 1 of 26 queries did not do as they should: `join`; the first one: failed: it
    ~ 1 of 26 queries failed, and counts 0 in the ranking measures: join
    ");
}

/// Runs `kelvin eval` on the texts of two files.
fn eval(qrels: &[u8], run: &[u8]) -> (Said, Option<Value>) {
    eval_of(("qrels", qrels), ("run", run))
}

/// Evaluates a run by judgements, each a file with its name.
fn eval_of(qrels: (&str, &[u8]), run: (&str, &[u8])) -> (Said, Option<Value>) {
    let project = Project::new("");
    for (name, bytes) in [qrels, run] {
        fs::write(project.path(name), bytes).expect("written");
    }
    let said = project.kelvin(&["eval", "--qrels", qrels.0, "--run", run.0, "--out", "out"]);
    let report = fs::read(project.path("out/report.json")).ok();
    let report = report.map(|bytes| serde_json::from_slice(&bytes).expect("JSON"));
    if report.is_some() {
        assert!(said.stdout.starts_with("kelvin eval: "), "{}", said.stdout);
    }
    (said, report)
}

#[test]
fn ret_33_a_trec_run_has_the_figures_that_trec_eval_gives() {
    // Worked by hand: ties go to the document that comes last, so that q1 is b, a, c.
    let qrels = b"q1 0 a 1\nq1 0 b 0\nq1 0 c 2\nq2 0 x 1\n";
    let run = b"q1 Q0 a 1 2.5 t\nq1 Q0 b 2 2.5 t\nq1 Q0 c 3 1 t\nq3 Q0 z 1 1 t\n";
    let (said, report) = eval(qrels, run);
    said.expect(0);
    let report = report.expect("written");
    assert_eq!(metric(&report, "mrr"), json!(0.25));
    assert_eq!(metric(&report, "success@1"), json!(0.0));
    assert_eq!(metric(&report, "recall_doc@3"), json!(0.5));
    assert_eq!(metric(&report, "map"), json!((0.5 + 2.0 / 3.0) / 2.0 / 2.0));
    assert_eq!(
        report["probes"]["retrieval"]["basis"]["unknown"],
        json!(["q3"])
    );
    assert_eq!(
        report["probes"]["retrieval"]["items"]["q2"]["runs"][0]["missing"],
        json!(true)
    );
}

#[test]
fn two_evaluated_runs_of_which_one_lost_a_query_lead_to_their_page_and_not_to_another_run() {
    let project = Project::new("");
    let queries = 0..20;
    let qrels: String = queries
        .clone()
        .map(|at| format!("q{at} 0 d{at} 1\n"))
        .collect();
    project.write("qrels", &qrels);
    let hits = |lost: usize| -> String {
        let found = |at: usize| {
            if at == lost {
                "other".to_owned()
            } else {
                format!("d{at}")
            }
        };
        queries
            .clone()
            .map(|at| format!("q{at} Q0 {} 1 1 t\n", found(at)))
            .collect()
    };
    for (name, lost) in [("a", 20), ("b", 7)] {
        project.write("run", &hits(lost));
        project
            .kelvin(&["eval", "--qrels", "qrels", "--run", "run", "--out", name])
            .expect(0);
    }
    let said = project.kelvin(&["compare", "a/report.json", "b/report.json"]);
    let said = said.expect(0);
    assert!(said.stdout.contains("inconclusive"), "{}", said.stdout);
    let next = said.next();
    insta::assert_snapshot!(next, @"kelvin compare --format=markdown a/report.json b/report.json");
}

#[test]
fn bad_files_are_refused_with_file_and_line() {
    let (qrels, run): (&[u8], &[u8]) = (b"q 0 a 1\n", b"q Q0 a 1 1 t\n");
    let cases: [(&[u8], &[u8], &str); 9] = [
        (b"q 0 a 1\nq 0 b\n", run, "`qrels`, line 2"),
        (b"q 0 a one\n", run, "`qrels`, line 1"),
        (b"q 0 a 1\nq 0 a 2\n", run, "`qrels`, line 2"),
        (b"", run, "`qrels`, line 1"),
        (qrels, b"", "`run`, line 1"),
        (qrels, b"q Q0 a 1 1 t\nq Q0 a 2 0.5 t\n", "`run`, line 2"),
        (qrels, b"q Q0 a 1 nan t\n", "`run`, line 1"),
        (qrels, b"q Q0 a 1\n", "`run`, line 1"),
        (qrels, b"q Q0 a 1 1 t\nq Q0 \xff 2 0 t\n", "`run`, line 2"),
    ];
    for (qrels, run, said) in cases {
        let (answer, report) = eval(qrels, run);
        let answer = answer.expect(1);
        assert!(answer.stderr.contains(said), "{said}: {}", answer.stderr);
        assert!(report.is_none());
    }
    // As BEIR has them, with names above the columns and without, and with line ends of Windows.
    for qrels in [
        "query-id\tcorpus-id\tscore\nq\tb b\t1\nq\ta\t0\n",
        "\u{feff}Query-ID\tCorpus-ID\tScore\r\nq\tb b\t1\r\n",
        "q\ta\t0\n\nq\tb b\t1\n",
    ] {
        let run = "{\"query_id\": \"q\", \"doc_id\": \"a\", \"score\": 2}\n{\"query_id\": \"q\", \"doc_id\": \"b b\", \"score\": 1}\n";
        let (said, report) = eval_of(
            ("qrels.tsv", qrels.as_bytes()),
            ("run.jsonl", run.as_bytes()),
        );
        said.expect(0);
        assert_eq!(
            metric(&report.expect("written"), "mrr"),
            json!(0.5),
            "{qrels}"
        );
    }
    let (said, _) = eval(b"query-id\tcorpus-id\tscore\nq\ta\n", run);
    let said = said.expect(1).stderr;
    insta::assert_snapshot!(lines_with(&said, &["columns"]), @r"error: `qrels`, line 2: 3 columns with tabs between them are needed (query-id, corpus-id, score), found 2: `q\ta`");
    let (said, report) = eval(b"q 0 a -1\nq 0 b 1\n", b"q Q0 a 1 2 t\nq Q0 b 2 1 t\n");
    said.expect(0);
    assert_eq!(metric(&report.expect("written"), "mrr"), json!(0.5));
}

#[test]
fn a_query_that_is_gone_is_missing_and_not_broken_and_is_told_once_for_all_metrics() {
    let project = example();
    let folder = TempDir::new().expect("a folder");
    project.kelvin(&["check"]).expect(0);
    let base = folder.path().join("base.json");
    fs::copy(project.path("kelvin/report.json"), &base).expect("copied");
    let golden = project.read("golden.yaml");
    let renewal = golden.find("- id: renew\n").expect("a query");
    let next = golden.find("- id: red-tag\n").expect("the next one");
    let without = format!("{}{}", &golden[..renewal], &golden[next..]);
    project.write("golden.yaml", &without);
    let said = project.kelvin(&["gate", "--baseline", &base.display().to_string()]);
    said.expect(0);
    let page = project.read("kelvin/gate.md");
    insta::assert_snapshot!(lines_with(&page.replace('\u{200b}', ""), &["`renew`"]), @"
    **`retrieval.answered_rate` was judged without 1 of the 23 cells that the base has, in 1 query: `renew`; the same of `retrieval.citation_coverage` and 6 more**
    Look first at query `renew`: what is missing is compared with nothing, so that a drop there does not show.
    - ⚠️ `retrieval.failure_rate` was judged without 1 of the 26 cells that the base has, in 1 query: `renew`
    | `renew` | `retrieval.answered_rate` | removed | 1.00 | - |  |
    | `renew` | `retrieval.citation_coverage` | removed | 1.00 | - |  |
    | `renew` | `retrieval.citation_precision` | removed | 1.00 | - |  |
    | `renew` | `retrieval.failure_rate` | removed | 0.00 | - |  |
    | `renew` | `retrieval.found` | removed | 1.00 | - |  |
    | `renew` | `retrieval.groundedness` | removed | 1.00 | - |  |
    | `renew` | `retrieval.mrr` | removed | 1.00 | - |  |
    | `renew` | `retrieval.ndcg@10` | removed | 1.00 | - |  |
    | `renew` | `retrieval.recall_doc@10` | removed | 1.00 | - |  |
    ");
    assert!(!page.contains("broke"), "{page}");
}

#[test]
fn ret_30_compare_ends_well_whatever_it_finds_and_strict_refuses_another_chunker() {
    let project = example();
    let folder = TempDir::new().expect("a folder");
    project.kelvin(&["check"]).expect(0);
    let base = folder.path().join("base.json");
    fs::copy(project.path("kelvin/report.json"), &base).expect("copied");
    let config = project.read("kelvin.yaml");
    project.write(
        "kelvin.yaml",
        &config.replace("chunker_version: \"1\"", "chunker_version: \"2\""),
    );
    let rechunked = project.read("corpus.jsonl").replace("#", "/");
    project.write("corpus.jsonl", &rechunked);
    let golden = project
        .read("golden.yaml")
        .replace("#1\"", "/1\"")
        .replace("#2\"", "/2\"");
    project.write("golden.yaml", &golden.replace("#3\"", "/3\""));
    project.kelvin(&["check"]).expect(0);
    let base = base.display().to_string();
    let arguments = ["compare", &base, "kelvin/report.json"];
    let said = project
        .kelvin(&[&arguments[..], &["--format", "json"]].concat())
        .expect(0);
    let judgement: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(
        judgement["retrieval"]["chunker_version_match"],
        json!("fallback_doc_span"),
        "the base's hits tell what the expected chunks covered"
    );
    assert_eq!(
        judgement["retrieval"]["deltas"]["retrieval.mrr"]["delta"],
        json!(0.0)
    );
    let page = project
        .kelvin(&[&arguments[..], &["--format", "markdown"]].concat())
        .expect(0);
    insta::assert_snapshot!(lines_with(&page.stdout, &["`fallback_doc_span`"]), @"Chunker version match: `fallback_doc_span`, span rule `half_together` (base 1, head 2).");
    let said = project
        .kelvin(&[&arguments[..], &["--strict-chunker-version"]].concat())
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: the chunker version of the base is `1`, that of the head is `2`
      help: leave `--strict-chunker-version` out to compare them by document
    ");
}

#[test]
fn a_comparison_is_pinned_as_json_and_as_markdown() {
    let project = Project::new("");
    let qrels: String = ["a", "b", "c", "d"]
        .iter()
        .map(|query| format!("{query} 0 right 1\n{query} 0 useful 2\n"))
        .collect();
    project.write("qrels", &qrels);
    // Where the first relevant document stands: 1, 4, nowhere, 2; and 2, 1, 1, nowhere.
    let run = |ranks: [Option<usize>; 4]| -> String {
        let mut lines = String::new();
        for (query, rank) in ["a", "b", "c", "d"].iter().zip(ranks) {
            for place in 1..=5 {
                let document = match rank == Some(place) {
                    true => "right".to_owned(),
                    false => format!("other-{place}"),
                };
                lines.push_str(&format!("{query} Q0 {document} {place} {} t\n", 10 - place));
            }
        }
        lines
    };
    for (name, ranks) in [
        ("base", [Some(1), Some(4), None, Some(2)]),
        ("head", [Some(2), Some(1), Some(1), None]),
    ] {
        project.write(name, &run(ranks));
        let out = format!("{name}-out");
        project
            .kelvin(&["eval", "--qrels", "qrels", "--run", name, "--out", &out])
            .expect(0);
    }
    let compared = |format: &str| {
        let arguments = ["compare", "base-out/report.json", "head-out/report.json"];
        project
            .kelvin(&[&arguments[..], &["--format", format]].concat())
            .expect(0)
            .stdout
    };
    let judgement: Value = serde_json::from_str(&compared("json")).expect("JSON");
    let queries = serde_json::to_string_pretty(&judgement["retrieval"]).expect("JSON");
    insta::assert_snapshot!("comparison_json", queries);
    let page = compared("markdown");
    let section = &page[page.find("## Retrieval").expect("it has one")..];
    let end = section[2..]
        .find("\n## ")
        .map_or(section.len(), |at| at + 2);
    insta::assert_snapshot!("comparison_markdown", section[..end].trim());
}

#[test]
fn other_names_for_an_output_do_not_hide_a_worse_search() {
    let (_remote, url) = bare();
    let search = "import json, sys\ndef search(query):\n    found = FOUND\n    \
                  return {'sources': [{'source': found}], 'others': [{'source': query.split()[0]}]}\n";
    let project = pushed(&url, GROUNDED);
    project.write("find.py", &search.replace("FOUND", "query.split()[0]"));
    project.write(
        "golden.csv",
        "query,expected_doc_ids\nalder pays,alder\nbirch pays,birch\ncedar pays,cedar\ndogwood pays,dogwood\nelm pays,elm\n",
    );
    let config = |names: &str| {
        format!(
            "retrieval:\n  run: {{python: \"find:search\"}}\n  golden: golden.csv\n  output_fields: {{hits: {names}, doc_id: source}}\n"
        )
    };
    project.write("kelvin.yaml", &config("sources"));
    commit(&project, "a search");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    git(project.root(), &["checkout", "--quiet", "-b", "worse"]);
    project.write("find.py", &search.replace("FOUND", "'nothing'"));
    project.write("kelvin.yaml", &config("others"));
    commit(&project, "worse, and other names");
    let said = project.kelvin(&["gate"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    assert_eq!(judgement["reasons"][0]["code"], json!("measured_as_base"));
}

#[test]
fn a_time_in_the_output_is_no_answer_that_varies() {
    let project = Project::new("");
    project.write(
        "golden.csv",
        "query,expected_doc_ids\nalder,alder\nbirch,birch\ncedar,cedar\ndogwood,dogwood\nelm,elm\n",
    );
    project.write(
        "kelvin.yaml",
        "retrieval:\n  run: {python: \"find:search\"}\n  golden: golden.csv\n",
    );
    let told = |found: &str| {
        project.write(
            "find.py",
            &format!(
                "import random\ndef search(query):\n    open('calls', 'a').write('x\\n')\n    name = query.split()[0]\n    \
                 return {{'hits': [{{'doc_id': {found}, 'score': random.random()}}], 'timings': random.random()}}\n"
            ),
        );
        let before = project.calls();
        project.check();
        let unknown = project.notices("order_unknown").len();
        (project.calls() - before, unknown)
    };
    // Five queries, and four of them alone and in two orders; only hits that vary are asked for three times more.
    assert_eq!(told("name"), (5 + 12, 0));
    assert_eq!(told("name + str(random.random())"), (5 + 48, 1));
}

#[test]
fn a_golden_set_that_is_not_there_is_told_with_its_key_its_line_and_what_is_there() {
    let project = Project::new("");
    project.write(
        "sets/golden.yaml",
        "- {id: a, query: what is due?, expected_doc_ids: [fees]}\n",
    );
    let told = |golden: &str| {
        let text =
            format!("retrieval: {{run: 'sh ask.sh {{input}} {{output}}', golden: {golden}}}\n");
        project.write("kelvin.yaml", &text);
        project.kelvin(&["check", "--no-history"]).expect(1).stderr
    };
    insta::assert_snapshot!(told("sets/goldn.yaml"), @r#"
    error: the golden set `sets/goldn.yaml` is missing
     --> kelvin.yaml:1:56
      |
    1 | retrieval: {run: 'sh ask.sh {input} {output}', golden: sets/goldn.yaml}
      |                                                        ^^^^^^^^^^^^^^^
      |
      = help: `retrieval.golden` names it, relative to the folder of the configuration; did you mean `sets/golden.yaml`?
    "#);
    insta::assert_snapshot!(told("golden.yaml"), @r#"
    error: the golden set `golden.yaml` is missing
     --> kelvin.yaml:1:56
      |
    1 | retrieval: {run: 'sh ask.sh {input} {output}', golden: golden.yaml}
      |                                                        ^^^^^^^^^^^
      |
      = help: `retrieval.golden` names it, relative to the folder of the configuration; its folder has no other file with that ending
    "#);
}
