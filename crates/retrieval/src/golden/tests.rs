use super::*;
use kelvin_fixtures::text::redacted;

fn refusal(text: &str) -> String {
    let found = understand(text, None).expect_err("refused");
    format!(
        "{:#}",
        diagnostic::misuse(Path::new("golden.yaml"), text, found)
    )
}

#[test]
fn a_golden_set_is_read_with_what_is_known_and_what_is_not() {
    let text = "- {id: a, query: why?}\n- {id: b, query: who?, expected_doc_ids: []}\n\
                - id: c\n  query: when?\n  expected_doc_ids: [x, x]\n  tags: [t]\n";
    let queries = understand(text, None).expect("fine");
    let refuses: Vec<bool> = queries.iter().map(GoldenQuery::refuses).collect();
    assert_eq!(refuses, [false, true, false]);
    assert_eq!(queries[0].expected_doc_ids, None);
    assert_eq!(queries[2].docs().len(), 1);
    let mut other = queries[2].clone();
    other.tags.clear();
    assert_eq!(other.digest(), queries[2].digest());
    other.query.push('!');
    assert_ne!(other.digest(), queries[2].digest());
}

#[test]
fn a_large_set_is_read_and_a_few_lines_of_aliases_are_not() {
    let entry = |at: usize| {
        format!(
            "- {{id: q{at}, query: why {at}?, expected_doc_ids: [d{at}], must_contain: [a, b]}}\n"
        )
    };
    let text: String = (0..8_000).map(entry).collect();
    assert_eq!(understand(&text, None).expect("fine").len(), 8_000);
    let bomb: String = ('b'..'j').fold("- &a [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, name| {
        let last = (name as u8 - 1) as char;
        format!(
            "{text}- &{name} [{}]\n",
            vec![format!("*{last}"); 9].join(",")
        )
    });
    insta::assert_snapshot!(refusal(&bomb), @"
    this is more than one file may hold
     --> golden.yaml:5:10
      |
    5 | - &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]
      |          ^^
      |
      = help: write the values out, without aliases, and nest them less deep
    ");
}

#[test]
fn ret_01_duplicate_ids_are_refused_with_the_full_sorted_list() {
    let entry = |id: &str| format!("- {{id: {id}, query: q}}\n");
    let text: String = ["b", "a", "b", "c", "a"].map(entry).concat();
    let shown = refusal(&text);
    insta::assert_snapshot!(shown, @"
    2 ids are there twice: a, b
    --> golden.yaml

    error: the id `b` is there twice
     --> golden.yaml:3:8
      |
    3 | - {id: b, query: q}
      |        ^
      |
      = help: an id names one query

    error: the id `a` is there twice
     --> golden.yaml:5:8
      |
    5 | - {id: a, query: q}
      |        ^
      |
      = help: an id names one query
    ");
}

#[test]
fn ret_22_should_refuse_with_expected_documents_is_an_error() {
    let shown = refusal("- id: a\n  query: q\n  should_refuse: true\n  expected_doc_ids: [x]\n");
    assert!(shown.contains("has `expected_doc_ids`"), "{shown}");
    assert!(shown.contains("golden.yaml:3:18"), "{shown}");
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_line_and_column() {
    let text = "- id: a\n  query: [1]\n  expected_docs: [x]\n- query: q\n- id: b\n  query: q\n  \
                expected_spans: [{doc_id: d, start: 9, end: 3}]\n";
    let shown = refusal(text);
    insta::assert_snapshot!(shown, @"
    `queries.1.query` must be a string, found a list
     --> golden.yaml:2:10
      |
    2 |   query: [1]
      |          ^

    error: unknown key `expected_docs` in `queries.1`
     --> golden.yaml:3:3
      |
    3 |   expected_docs: [x]
      |   ^^^^^^^^^^^^^
      |
      = help: did you mean `expected_doc_ids`?

    error: the key `id` is missing in `queries.2`
     --> golden.yaml:4:3
      |
    4 | - query: q
      |   ^

    error: a span must end behind its start, found 9 to 3
     --> golden.yaml:7:20
      |
    7 |   expected_spans: [{doc_id: d, start: 9, end: 3}]
      |                    ^
    ");
    let mut told = Vec::new();
    for text in ["", "a: b\n", "- {id: a\n", "[]"] {
        let shown = refusal(text);
        told.push(shown.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    the file has no queries
    --> golden.yaml
     = help: add an entry with `id` and `query`
    `queries` must be a list, each entry a mapping, found one mapping
    --> golden.yaml
     = help: write an entry for each query, such as `- {id: q1, query: "How long can I return a product?", expected_doc_ids: [returns]}`, in a file such as `golden.yaml`; of `queries` and `relevant_docs` by id, as LlamaIndex writes them, take an entry for each id
    this is not YAML: unclosed bracket '{'
     --> golden.yaml:1:3
      |
    1 | - {id: a
      |   ^
      |
      = help: text that begins with `{` or `[` goes in quotes
    the list has no queries
     --> golden.yaml:1:1
      |
    1 | []
      | ^
    "#);
}

#[test]
fn expected_ids_that_the_corpus_lacks_are_listed_with_their_places() {
    let documents = BTreeSet::from(["d".to_owned()]);
    let chunks = BTreeMap::from([("d#1".to_owned(), "d".to_owned())]);
    let read = |text: &str, chunks: &BTreeMap<String, String>| {
        let found = understand(text, Some((&documents, chunks)));
        let found = found.map_or_else(|found| found, |_| Vec::new());
        found
            .into_iter()
            .map(|problem| problem.message)
            .collect::<Vec<_>>()
    };
    let one = "- {id: a, query: q, expected_doc_ids: [d, e], expected_chunk_ids: [d#2]}\n";
    let (document, chunk) = (
        "the corpus has no document `e`",
        "the corpus has no chunk `d#2`",
    );
    // A chunk that stands for all of them was cut anew; where there are no chunks at all, nothing was.
    assert_eq!(read(one, &chunks), [document]);
    assert_eq!(read(one, &BTreeMap::new()), [document, chunk]);
    // One of ten is a slip.
    let nine: String = (0..9)
        .map(|at| format!("- {{id: b{at}, query: q, expected_chunk_ids: [d#1]}}\n"))
        .collect();
    assert_eq!(read(&format!("{one}{nine}"), &chunks), [document, chunk]);
}

fn from_file(name: &str, text: &str, named: &[(&str, &str)]) -> Result<Vec<GoldenQuery>, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join(name);
    std::fs::write(&file, text).expect("written");
    let named = named
        .iter()
        .map(|(name, field)| ((*name).to_owned(), (*field).to_owned()));
    let set = read(&file, &named.collect(), None).map_err(|error| error.to_string())?;
    Ok(set.queries)
}

#[test]
fn a_table_json_lines_and_a_list_say_the_same() {
    let list = from_file(
        "golden.yaml",
        r#"- {id: '1', query: 'How long, please?', expected_doc_ids: [returns, faq], must_contain: ['30 days; no more']}
- {id: '2', query: "Who is \"it\"?\nAnd why?", should_refuse: true}
- {id: '3', query: Late?, expected_doc_ids: ['17']}
"#,
        &[],
    )
    .expect("fine");
    let rows = "1,\"How long, please?\",returns; faq,\"[\"\"30 days; no more\"\"]\",\n\
                2,\"Who is \"\"it\"\"?\nAnd why?\",,,TRUE\n\n\
                3,Late?,17,,\n";
    let table = format!("id,query,expected_doc_ids,must_contain,should_refuse\n{rows}");
    assert_eq!(from_file("golden.csv", &table, &[]), Ok(list.clone()));
    let table = format!("\u{feff}nr,question,source,text,refuse\r\n{rows}");
    let named = [
        ("id", "nr"),
        ("query", "question"),
        ("expected_doc_ids", "source"),
        ("must_contain", "text"),
        ("should_refuse", "refuse"),
    ];
    assert_eq!(from_file("Golden.CSV", &table, &named), Ok(list.clone()));
    let lines = r#"{"nr": 1, "question": "How long, please?", "source": ["returns", "faq"], "text": ["30 days; no more"], "more": 5}
{"nr": 2, "question": "Who is \"it\"?\nAnd why?", "source": null, "refuse": true}

{"nr": 3, "question": "Late?", "source": 17}
"#;
    assert_eq!(from_file("golden.jsonl", lines, &named), Ok(list));
    let made = from_file("golden.csv", "query,expected_doc_ids\nHow long?,a\n", &[]);
    assert_eq!(made.expect("fine")[0].id, "how-long");
}

#[test]
fn what_is_wrong_in_a_table_is_told_with_its_line() {
    let told = |name: &str, text: &str, named: &[(&str, &str)]| {
        from_file(name, text, named).expect_err("refused")
    };
    let said = told(
        "g.csv",
        "id,query,expected_docs\n\n\"a\",\"x\ny\",d\na,z,d\n",
        &[],
    );
    assert!(
        said.contains("g.csv:3:") && said.contains("expected_docs"),
        "{said}"
    );
    assert!(
        said.contains("g.csv:5:") && said.contains("twice"),
        "{said}"
    );
    let said = told("g.csv", "q,d\nHow?,a\n", &[("query", "question")]);
    insta::assert_snapshot!(redacted(&said), @"
    no item has `question`, which stands for `query`
    --> [TEMP]/g.csv
     = help: the file has `d`, `q`
    ");
    let said = told("g.yaml", "- {id: a, query: b}\n", &[("query", "q")]);
    assert!(said.contains("golden_fields"), "{said}");
    let said = told("g.csv", "query,expected_doc_ids\nHow?,a,b\n", &[]);
    assert!(said.contains("g.csv:2:"), "{said}");
    let said = told("g.csv", "query,expected_doc_ids\n\"How?,a\nx,b\n", &[]);
    insta::assert_snapshot!(redacted(&said), @r#"
    a quote that opens in this row or before it is never closed
     --> [TEMP]/g.csv:2:1
      |
    2 | "How?,a
      | ^^^^^^^
      |
      = help: write a quote within a cell as two, and the cell between quotes
    "#);
    let said = told("g.jsonl", "{\"query\": \"a\"}\n[1]\n{\n", &[]);
    assert!(
        said.contains("g.jsonl:2:") && said.contains("g.jsonl:3:"),
        "{said}"
    );
    let said = told("g.xlsx", "PK", &[]);
    assert!(said.contains(".csv"), "{said}");
}

#[test]
fn a_text_that_is_no_list_is_told_with_the_form_that_is_read() {
    let shown = refusal("question,expected_doc\nHow long?,returns\n");
    insta::assert_snapshot!(shown, @r#"
    the file has no list of queries, but a text
     --> golden.yaml:1:1
      |
    1 | / question,expected_doc
    2 | | How long?,returns
      | |_________________^
      |
      = help: write an entry for each query, such as `- {id: q1, query: "How long can I return a product?", expected_doc_ids: [returns]}`, in a file such as `golden.yaml`
    "#);
    assert!(!shown.contains("queries: ["), "{shown}");
    // What the advice says can be read.
    let form = FORM.split('`').nth(1).expect("an example");
    assert_eq!(understand(form, None).expect("fine").len(), 1);
}

#[test]
fn judgements_without_questions_and_one_mapping_are_refused_with_what_to_write_instead() {
    let judgements = refusal("- {query-id: q1, corpus-id: d1, score: 1}\n- {query-id: q2}\n");
    insta::assert_snapshot!(judgements, @"
    no entry has a `query`
     --> golden.yaml:1:3
      |
    1 | - {query-id: q1, corpus-id: d1, score: 1}
      |   ^
      |
      = help: the first has `query-id`, `corpus-id`, `score`; if one of these is the question, name it with `golden_fields: {query: …}`; judgements without questions, as of BEIR or TREC, need an entry for each question with its documents in `expected_doc_ids`, or `kelvin eval --qrels` with the hits of a run
    ");
    let mapping = refusal("{queries: {q1: Which?}, relevant_docs: {q1: [d1]}}");
    insta::assert_snapshot!(mapping, @r#"
    `queries` must be a list, each entry a mapping, found one mapping
     --> golden.yaml:1:1
      |
    1 | {queries: {q1: Which?}, relevant_docs: {q1: [d1]}}
      | ^
      |
      = help: write an entry for each query, such as `- {id: q1, query: "How long can I return a product?", expected_doc_ids: [returns]}`, in a file such as `golden.yaml`; of `queries` and `relevant_docs` by id, as LlamaIndex writes them, take an entry for each id
    "#);
}
