//! Cells of a golden set that name several documents, as people write them.

use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use crate::door::fresh;
use crate::project::Project;

/// A search that finds both documents of a question, each under the name that it has in this list.
const FINDS: &str = r#"PAGES = {"fee": ["FIRST", "SECOND"], "return": ["returns"], "ship": ["shipping"]}

def search(query):
    return [page for word, pages in PAGES.items() if word in query for page in pages]
"#;

/// A golden set whose first question has this cell, and names of documents alone below.
fn golden(cell: &str) -> String {
    format!(
        "question,source\nWhat is the fee?,{cell}\nMay I return it?,returns\nDo you ship?,shipping\n"
    )
}

fn asks(pages: (&str, &str), golden: &str) -> Project {
    let finds = FINDS.replace("FIRST", pages.0).replace("SECOND", pages.1);
    let (_remote, project) = fresh(&[("app.py", &finds), ("golden.csv", golden)]);
    project.write(
        "kelvin.yaml",
        "retrieval:\n  run: {python: \"app:search\"}\n  golden: golden.csv\n  \
         golden_fields: {query: question, expected_doc_ids: source}\n",
    );
    project
}

fn figures(project: &Project) -> [Value; 2] {
    let report = project.report();
    ["found", "recall_doc@10"]
        .map(|name| report["metrics"][format!("retrieval.{name}")]["value"].clone())
}

#[test]
fn each_way_to_write_several_documents_into_a_cell_is_read_and_one_that_is_lost_is_red() {
    for cell in [
        "d04;d15",
        "\"d04, d15\"",
        "d04|d15",
        "\"d04\nd15\"",
        "\"['d04', 'd15']\"",
        "\"[\"\"d04\"\", \"\"d15\"\"]\"",
    ] {
        let project = asks(("d04", "d15"), &golden(cell));
        project.kelvin(&["check"]).expect(0);
        assert_eq!(figures(&project), [json!(1.0), json!(1.0)], "{cell}");
    }
    let project = asks(("d04", "d15"), &golden("\"d04,d15\""));
    let said = project.kelvin(&["lint"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["note", "read:"]), @r#"
    note: 1 cell of the golden set `golden.csv` is read as several ids: line 2, `source`: `d04,d15`; write one id that has such a sign in it as `["…"]`
    kelvin.yaml: nothing is wrong with it; read: 3 queries
    "#);
    project.kelvin(&["check"]).expect(0);
    project.write("base.json", &project.read("kelvin/report.json"));
    let worse = project.read("app.py").replace("\"d04\", ", "");
    project.write("app.py", &worse);
    project
        .kelvin(&["gate", "--baseline", "base.json"])
        .expect(3);
}

#[test]
fn a_cell_that_may_name_one_document_or_several_is_told_with_its_place_and_what_to_do() {
    let project = asks(("Paris, Texas", "Reno"), &golden("\"Paris, Texas\""));
    let said = project.kelvin(&["lint"]).expect(0);
    insta::assert_snapshot!(said.stdout, @r#"
    note: 1 cell of the golden set `golden.csv` has a comma, `|` or brackets and is read as one id, since nothing tells whether there are several: line 2, `source`: `Paris, Texas`; put `;` between several ids, write a single one as `["…"]`, or name the `corpus`, which tells which documents there are
    kelvin.yaml: can be run, but look at the note above; read: 3 queries
    next: kelvin check
    "#);
    let said = project.kelvin(&["check"]).expect(0);
    let words: Vec<&str> = said.stdout.split_whitespace().collect();
    let told = words.join(" ");
    assert!(told.contains("line 2, `source`: `Paris, Texas`"), "{told}");
    let notices = project.report()["notices"].to_string();
    assert!(notices.contains("unclear_ids"), "{notices}");
    // It is one document here, which is found.
    assert_eq!(figures(&project), [json!(1.0), json!(1.0)]);
    // Either way to write it leaves no doubt.
    for cell in ["\"[\"\"Paris, Texas\"\"]\"", "\"Paris, Texas; Reno\""] {
        project.write("golden.csv", &golden(cell));
        let said = project.kelvin(&["lint"]).expect(0);
        assert!(said.stdout.contains("nothing is wrong"), "{}", said.stdout);
        project.kelvin(&["check"]).expect(0);
        assert_eq!(figures(&project), [json!(1.0), json!(1.0)], "{cell}");
    }
}

#[test]
fn a_corpus_tells_whether_a_cell_names_one_document_or_several() {
    let project = asks(("Reno, Nevada", "Old Paris"), &golden("\"Reno, Nevada\""));
    let config = project.read("kelvin.yaml");
    project.write("kelvin.yaml", &format!("{config}  corpus: corpus.jsonl\n"));
    let ids = ["Reno, Nevada", "Old Paris", "returns", "shipping"];
    let corpus = ids.map(|id| json!({ "doc_id": id }).to_string() + "\n");
    project.write("corpus.jsonl", &corpus.concat());
    for (cell, recall) in [
        ("\"Reno, Nevada\"", 1.0),
        ("\"Old Paris, returns\"", 5.0 / 6.0),
    ] {
        project.write("golden.csv", &golden(cell));
        let said = project.kelvin(&["lint"]).expect(0);
        assert!(said.stdout.contains("nothing is wrong"), "{}", said.stdout);
        project.kelvin(&["check"]).expect(0);
        assert_eq!(figures(&project), [json!(1.0), json!(recall)], "{cell}");
    }
    project.write("golden.csv", &golden("\"Old Paris, d99\""));
    let said = project.kelvin(&["lint"]).expect(1);
    assert!(
        said.stdout.contains("the corpus has no document `d99`"),
        "{}",
        said.stdout
    );
}

#[test]
fn init_says_how_it_reads_cells_with_commas() {
    let set = golden("\"d04, d15\"") + "What is the fee of Paris?,\"Paris, Texas\"\n";
    let finds = FINDS.replace("FIRST", "d04").replace("SECOND", "d15");
    let (_remote, project) = fresh(&[("app.py", &finds), ("golden.csv", &set)]);
    let said = project.kelvin(&["init", "--yes"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["of the golden set"]), @r#"
    1 cell of the golden set `golden.csv` has a comma, `|` or brackets and is read as one id, since nothing tells whether there are several: line 5, `source`: `Paris, Texas`; put `;` between several ids, write a single one as `["…"]`, or name the `corpus`, which tells which documents there are
    1 cell of the golden set `golden.csv` is read as several ids: line 2, `source`: `d04, d15`; write one id that has such a sign in it as `["…"]`
    "#);
}
