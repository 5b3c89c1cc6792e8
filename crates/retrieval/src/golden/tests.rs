use super::*;

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
    assert!(refusal(&bomb).contains("more than one file may hold"));
}

#[test]
fn ret_01_duplicate_ids_are_refused_with_the_full_sorted_list() {
    let entry = |id: &str| format!("- {{id: {id}, query: q}}\n");
    let text: String = ["b", "a", "b", "c", "a"].map(entry).concat();
    let shown = refusal(&text);
    assert!(shown.contains("2 ids are there twice: a, b"), "{shown}");
    assert!(shown.contains("golden.yaml:3:8"), "{shown}");
    assert!(shown.contains("golden.yaml:5:8"), "{shown}");
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
    for part in [
        "golden.yaml:2:10",
        "`queries.1.query` must be a string, found a list",
        "unknown key `expected_docs`",
        "did you mean `expected_doc_ids`?",
        "the key `id` is missing in `queries.2`",
        "a span must end behind its start, found 9 to 3",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    for (text, said) in [
        ("", "no queries"),
        ("a: b\n", "`queries` must be a list"),
        ("- {id: a\n", "not YAML"),
        ("[]", "the list has no queries"),
    ] {
        let shown = refusal(text);
        assert!(shown.contains(said), "{text:?}\n{shown}");
    }
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
    read(&file, &named.collect(), None).map_err(|error| error.to_string())
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
    assert!(
        said.contains("no item has `question`") && said.contains("`d`, `q`"),
        "{said}"
    );
    let said = told("g.yaml", "- {id: a, query: b}\n", &[("query", "q")]);
    assert!(said.contains("golden_fields"), "{said}");
    let said = told("g.csv", "query,expected_doc_ids\nHow?,a,b\n", &[]);
    assert!(said.contains("g.csv:2:"), "{said}");
    let said = told("g.csv", "query,expected_doc_ids\n\"How?,a\nx,b\n", &[]);
    assert!(said.contains("never closed"), "{said}");
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
    assert!(shown.contains("no list of queries, but a text"), "{shown}");
    assert!(shown.contains("`- {id: q1, query: "), "{shown}");
    assert!(!shown.contains("queries: ["), "{shown}");
    // What the advice says can be read.
    let form = FORM.split('`').nth(1).expect("an example");
    assert_eq!(understand(form, None).expect("fine").len(), 1);
}

#[test]
fn judgements_without_questions_and_one_mapping_are_refused_with_what_to_write_instead() {
    let judgements = refusal("- {query-id: q1, corpus-id: d1, score: 1}\n- {query-id: q2}\n");
    for part in [
        "no entry has a `query`",
        "the first has `query-id`, `corpus-id`, `score`",
        "golden_fields",
        "kelvin eval --qrels",
    ] {
        assert!(judgements.contains(part), "{part}: {judgements}");
    }
    assert!(!judgements.contains("unknown key"), "{judgements}");
    let mapping = refusal("{queries: {q1: Which?}, relevant_docs: {q1: [d1]}}");
    assert!(mapping.contains("found one mapping"), "{mapping}");
    assert!(mapping.contains("take an entry for each id"), "{mapping}");
}
