use super::*;
use crate::cases::{Corpus, fixture, load};
use crate::config::RecordUnits;
use crate::perturb::{self, Peers, Planner, Variant};

/// Settings for a file of records with this text.
fn settings(name: &str, governing: &[&str], units: &[(&str, &str)]) -> EvidenceSettings {
    let mut settings = fixture::settings(governing);
    settings.cases = name.to_owned();
    let units = units.iter().map(|(unit_type, place)| RecordUnits {
        unit_type: (*unit_type).to_owned(),
        place: (*place).to_owned(),
        reorder: false,
    });
    settings.records.units = units.collect();
    settings
}

/// Loads a file of records.
fn load_text(text: &str, settings: &EvidenceSettings) -> Result<(Corpus, Vec<Notice>), String> {
    let root = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(root.path().join(&settings.cases), text).expect("written");
    load(root.path(), settings).map_err(|error| {
        let misuse = error.downcast::<Misuse>().expect("a misuse");
        format!("{}\n{}", misuse.what, misuse.help.unwrap_or_default())
    })
}

fn corpus(text: &str, settings: &EvidenceSettings) -> Corpus {
    load_text(text, settings).expect("the records are right").0
}

#[test]
fn labels_that_the_configuration_names_and_no_record_has_are_told() {
    let told = |field: &str| -> Vec<String> {
        let mut settings = settings("cases.jsonl", &["policy"], &[]);
        settings.records.expected = Some(field.to_owned());
        let (_, notices) = load_text(&format!("{RECORD}\n"), &settings).expect("right");
        let warnings = notices.into_iter().filter(Notice::is_warning);
        let texts = warnings.map(|notice| notice.text);
        texts
            .filter(|text| text.contains("records.expected"))
            .collect()
    };
    assert_eq!(
        told("outputs.intent"),
        [
            "cases.jsonl: no record has the field `outputs.intent` that `records.expected` names, so no case has a label; it \
             is a field at the top of a record, and not one within another: the first record has `id`, `policy`, \
             `passages`, `score`, `expected`"
        ]
    );
    assert!(told("expected").is_empty());
}

#[test]
fn a_label_whose_field_differs_in_upper_and_lower_case_is_told_with_what_to_write() {
    let told = |field: Option<&str>| {
        let mut settings = settings("cases.jsonl", &["policy"], &[]);
        settings.records.expected = field.map(str::to_owned);
        let records = RECORD.replace("expected", "Expected");
        let (_, notices) = load_text(&format!("{records}\n"), &settings).expect("right");
        let texts = notices.into_iter().map(|notice| notice.text);
        let told = texts.filter(|text| text.contains("write `records: {expected: Expected}`"));
        told.count()
    };
    assert_eq!([None, Some("expected"), Some("EXPECTED")].map(told), [1; 3]);
    assert_eq!(told(Some("Expected")), 0);
}

/// The units of a case: their types and texts.
fn units(case: &Case) -> Vec<(&str, &str)> {
    let units = case.units.iter();
    units
        .map(|unit| (&*unit.unit_type, case.body(unit)))
        .collect()
}

fn variants(corpus: &Corpus, at: usize, settings: &EvidenceSettings) -> Vec<(Variant, String)> {
    let peers = Peers::of(corpus, settings);
    let plan = Planner::new(corpus, settings, &peers).plan(at);
    let rendered = |variant: Variant| {
        let text = variant.render(corpus, at, settings);
        (variant, text)
    };
    plan.variants.into_iter().map(rendered).collect()
}

const RECORD: &str = r#"{"id": "a", "policy": "Approve.", "passages": ["One.", "Two."], "score": 1.50, "expected": "yes"}"#;

#[test]
fn without_a_declaration_every_text_and_every_array_of_texts_at_the_top_is_taken() {
    let settings = settings("cases.jsonl", &["policy"], &[]);
    let text = format!(
        "\u{feff}{RECORD}\r\n\r\n{{\"id\": 7, \"policy\": \"Deny. \", \"meta\": {{}}}}\r\n"
    );
    let (corpus, _) = load_text(&text, &settings).expect("right");
    let names: Vec<&str> = corpus.cases.iter().map(|case| &*case.name).collect();
    assert_eq!(names, ["7", "a"]);
    let [seven, a] = &corpus.cases[..] else {
        panic!("two cases")
    };
    assert_eq!(
        units(a),
        [
            ("policy", "Approve."),
            ("passages", "One."),
            ("passages", "Two.")
        ]
    );
    assert_eq!((a.units[0].line, seven.units[0].line), (1, 3));
    assert_eq!(a.expected.as_deref(), Some("yes"));
    assert_eq!(
        a.input(),
        "{\"id\": \"a\", \"policy\": \"Approve.\", \"passages\": [\"One.\", \"Two.\"], \"score\": 1.50}\n"
    );
    assert_eq!(units(seven), [("policy", "Deny.")]);
    insta::assert_snapshot!(corpus.remarks[0].text, @"cases.jsonl: 2 record(s); units: `passages` (2, elements of arrays in 1), `policy` (2); given to the pipeline and never changed: `meta` (an object), `score` (a number); `records: {units: {...}}` declares others");
}

/// The names of the cases of a file, in the order of its records.
fn names(records: &[&str]) -> Vec<String> {
    let settings = settings("cases.jsonl", &["policy"], &[]);
    let corpus = corpus(&(records.join("\n") + "\n"), &settings);
    let mut named: Vec<(usize, String)> = corpus
        .cases
        .iter()
        .map(|case| (case.units[0].line, case.name.to_string()))
        .collect();
    named.sort();
    named.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn a_record_without_an_id_keeps_its_name_wherever_it_stands_and_whatever_else_it_says() {
    let plain = [
        r#"{"policy": "Approve.", "expected": "yes"}"#,
        r#"{"policy": "Deny.", "expected": "no"}"#,
    ];
    let [approve, deny] = names(&plain).try_into().expect("two names");
    assert!(
        approve.starts_with("case-") && approve.len() == 17,
        "{approve}"
    );
    let moved = [
        r#"{"policy": "Ask."}"#,
        r#"{"expected": "yes", "policy": "Deny."}"#,
        r#"{"policy": "Approve.", "source": "web"}"#,
    ];
    assert_eq!(names(&moved)[1..], [deny, approve.clone()]);

    // What governs is the same, so that the rest tells the two apart; and two that are the same in all are counted.
    let alike = names(&[
        r#"{"policy": "Approve.", "tenant": "a"}"#,
        r#"{"policy": "Approve.", "tenant": "b"}"#,
        r#"{"tenant": "b", "policy": "Approve."}"#,
    ]);
    assert_ne!(alike[0], alike[1]);
    assert_ne!(alike[0], approve);
    assert_eq!(alike[2], format!("{}-2", alike[1]));
}

#[test]
fn an_array_and_a_table_are_read_like_lines() {
    let pretty =
        "[\n  {\n    \"policy\": \"Approve.\",\n    \"n\": 1\n  },\n  {\"policy\": \"Deny.\"}\n]\n";
    let of_array = settings("cases.json", &["policy"], &[]);
    let corpus_of_array = corpus(pretty, &of_array);
    let mut inputs: Vec<(usize, String)> = corpus_of_array
        .cases
        .iter()
        .map(|case| (case.units[0].line, case.input().to_string()))
        .collect();
    inputs.sort();
    assert_eq!(
        inputs,
        [
            (2, "{\"policy\": \"Approve.\", \"n\": 1}\n".to_owned()),
            (6, "{\"policy\": \"Deny.\"}\n".to_owned())
        ]
    );

    let table = "\u{feff}id,policy,expected\r\nb,\"Approve,\r\nif \"\"x\"\".\",1\r\na,Deny.,\r\n";
    let of_table = settings("cases.csv", &["policy"], &[]);
    let corpus = corpus(table, &of_table);
    assert_eq!(
        corpus.cases[1].input(),
        "{\"id\": \"b\", \"policy\": \"Approve,\\r\\nif \\\"x\\\".\"}\n"
    );
    assert_eq!(corpus.cases[1].expected.as_deref(), Some("\"1\""));
    assert_eq!(corpus.cases[0].expected, None);
}

#[test]
fn the_layout_of_the_file_and_the_order_of_the_keys_make_no_other_input() {
    let settings = settings("cases.json", &["policy"], &[]);
    let inputs = |text: &str| -> Vec<(String, Digest)> {
        let corpus = corpus(text, &settings);
        let all = corpus.cases.iter().enumerate();
        let inputs = all.flat_map(|(at, case)| {
            let variants = variants(&corpus, at, &settings).into_iter();
            let variants =
                variants.map(|(variant, text)| (variant.id.to_string(), case.digest_of(&text)));
            let own = (case.name.to_string(), case.digest());
            variants.chain([own]).collect::<Vec<_>>()
        });
        let mut inputs: Vec<(String, Digest)> = inputs.collect();
        inputs.sort();
        inputs
    };
    let records = [("a", "Approve é."), ("b", "Deny.")].map(|(id, policy)| {
        format!(
            r#"{{"id":"{id}","policy":"{policy}","passages":["{id} one.","{id} two."],"meta":{{"x":1,"w":2}},"expected":"yes"}}"#
        )
    });
    let plain = format!("[{}]", records.join(","));
    let wanted = inputs(&plain);
    assert!(wanted.len() > 10, "{}", wanted.len());
    let indented = plain
        .replace(',', ",\n    ")
        .replace(':', " : ")
        .replace('é', "\\u00e9");
    let sorted = [("a", "Approve é."), ("b", "Deny.")].map(|(id, policy)| {
        format!(
            r#"{{"expected": "yes", "id": "{id}", "meta": {{"w": 2, "x": 1}}, "passages": ["{id} one.", "{id} two."], "policy": "{policy}"}}"#
        )
    });
    let sorted = format!("[{}]", sorted.join(", "));
    for (same, what) in [(indented, "indented"), (sorted, "sorted")] {
        assert_eq!(inputs(&same), wanted, "{what}");
    }
    for edit in [
        plain.replace("Approve", "approve"),
        plain.replace(r#""x":1"#, r#""x":1.0"#),
    ] {
        assert_ne!(inputs(&edit), wanted, "{edit}");
    }
}

#[test]
fn declared_places_lead_to_texts_numbers_elements_and_texts_within_elements() {
    let declared = [
        ("policy", "/rule/text"),
        ("limit", "/rule/limit"),
        ("history", "/customer/history/*"),
        ("passages", "/docs/*/body"),
        ("first", "/pair/0"),
        ("items", "/groups/*/items"),
    ];
    let settings = settings("cases.jsonl", &["policy"], &declared);
    let text = r#"{"rule": {"text": "R.", "limit": 12.50}, "customer": {"history": ["h1", 2, true]}, "docs": [{"id": 1, "body": "d1"}, {"id": 2, "body": "d2"}], "pair": ["p", "q"], "groups": [{"items": ["a"]}, {"items": ["b", "c"]}]}"#;
    let corpus = corpus(text, &settings);
    assert_eq!(
        units(&corpus.cases[0]),
        [
            ("policy", "R."),
            ("limit", "12.50"),
            ("history", "h1"),
            ("history", "2"),
            ("history", "true"),
            ("passages", "d1"),
            ("passages", "d2"),
            ("first", "p"),
            ("items", "a"),
            ("items", "b"),
            ("items", "c"),
        ]
    );
}

#[test]
fn messages_are_units_of_their_roles_and_keep_their_places() {
    let settings = settings("cases.jsonl", &["last_user_turn"], &[("turns", "messages")]);
    let text = r#"{"messages": [{"role": "system", "content": "S."}, {"role": "user", "content": "U1"}, {"role": "assistant", "content": null, "tool_calls": []}, {"role": "tool", "content": "T"}, {"role": "user", "content": "U2"}]}"#;
    let corpus = corpus(&format!("{text}\n{}", text.replace("U2", "V2")), &settings);
    assert_eq!(
        units(&corpus.cases[0]),
        [
            ("system", "S."),
            ("user_turn", "U1"),
            ("tool_turn", "T"),
            ("last_user_turn", "U2")
        ]
    );
    let found = variants(&corpus, 0, &settings);
    let (swap, text) = &found[0];
    assert_eq!((found.len(), swap.kind), (1, "swap"));
    assert_eq!(*text, corpus.cases[1].input());
}

#[test]
fn the_texts_among_the_parts_of_a_message_are_units_and_the_other_parts_stay() {
    let settings = settings("cases.jsonl", &["last_user_turn"], &[]);
    let text = r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "U1"}]}, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "U2"}, {"type": "text", "text": "U3"}]}]}"#;
    let corpus = corpus(&format!("{text}\n{}", text.replace("U2", "V2")), &settings);
    let wanted = [
        ("user_turn", "U1"),
        ("last_user_turn", "U2"),
        ("last_user_turn", "U3"),
    ];
    assert_eq!(units(&corpus.cases[0]), wanted);
    for (_, variant) in variants(&corpus, 0, &settings) {
        assert!(
            variant.contains(r#"{"type": "image_url", "image_url": {"url": "x"}}"#),
            "{variant}"
        );
    }
}

#[test]
fn a_conversation_with_an_answer_behind_the_last_turn_of_the_user_is_told() {
    let settings = settings("cases.jsonl", &["last_user_turn"], &[]);
    let asked = r#"{"messages": [{"role": "user", "content": "U1"}, {"role": "assistant", "content": "A"}, {"role": "user", "content": "U2"}]}"#;
    let answered = asked.replace("}]}", "}, {\"role\": \"assistant\", \"content\": \"B\"}]}");
    let said = |text: &str| {
        let (_, notices) = load_text(text, &settings).expect("right");
        let notices = notices.into_iter().map(|notice| notice.text);
        notices.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(said(&format!("{asked}\n")), "");
    let told = said(&format!("{asked}\n{answered}\n"));
    insta::assert_snapshot!(told, @"cases.jsonl: in 1 of 2 records the conversation goes on behind the last message of the user, so that the pipeline is given what was answered: line 2; take these messages out");
}

#[test]
fn messages_change_places_where_that_is_declared_and_elements_keep_theirs_where_that_is() {
    let declared = [("turns", "messages"), ("passages", "passages")];
    let mut settings = settings("cases.jsonl", &["policy"], &declared);
    settings.governing_types.clear();
    settings.keep_order = vec!["passages".to_owned()];
    let read = corpus(&every_form(), &settings);
    assert!(
        variants(&read, 0, &settings)
            .iter()
            .all(|(variant, _)| variant.kind != "reorder")
    );
    settings.records.units[0].reorder = true;
    let read = corpus(&every_form(), &settings);
    let found = variants(&read, 0, &settings);
    let reordered = found.iter().find(|(variant, _)| variant.kind == "reorder");
    let (_, text) = reordered.expect("two messages have another order");
    let turned =
        r#"[{"role": "user", "content": "Last 0."}, {"role": "user", "content": "Turn 0."}]"#;
    assert!(text.contains(turned), "{text}");
    assert!(
        text.contains(r#"["Passage 0 one.", "Passage 0 é two.", "Passage 0 three."]"#),
        "{text}"
    );
}

/// The message, and the help below it.
fn refused(name: &str, text: &str, units: &[(&str, &str)]) -> String {
    load_text(text, &settings(name, &["policy"], units)).expect_err("it is refused")
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_what_to_do() {
    let good = "{\"id\": 1, \"policy\": \"x\"}\n";
    let mut texts = Vec::new();
    for (name, text, units) in [
        (
            "c.jsonl",
            format!(
                "{}{{\"id\": 17, \"policy\": }}\n",
                good.repeat(0) + "\n".repeat(16).as_str()
            ),
            &[][..],
        ),
        ("c.jsonl", format!("{good}[1]\n"), &[]),
        ("c.jsonl", format!("{good}{good}"), &[]),
        ("c.jsonl", format!("{good}{{\"policy\": \"y\"}}\n"), &[]),
        (
            "c.jsonl",
            "{\"policy\": \"x\", \"policy\": \"y\"}".to_owned(),
            &[],
        ),
        ("c.jsonl", "{\"policy\": \"\\ud83d\"}".to_owned(), &[]),
        ("c.jsonl", "{\"id\": [], \"policy\": \"x\"}".to_owned(), &[]),
        ("c.jsonl", good.to_owned(), &[("policy", "/polcy")]),
        (
            "c.jsonl",
            "{\"policy\": {\"text\": \"x\"}}".to_owned(),
            &[("policy", "policy")],
        ),
        (
            "c.jsonl",
            "{\"policy\": [\"a\", null]}".to_owned(),
            &[("policy", "policy")],
        ),
        (
            "c.jsonl",
            "{\"policy\": [{\"id\": 1, \"text\": \"a\"}]}".to_owned(),
            &[("policy", "policy")],
        ),
        (
            "c.jsonl",
            "{\"policy\": \"a\"}".to_owned(),
            &[("policy", "/policy/*")],
        ),
        (
            "c.jsonl",
            "{\"policy\": [{\"a\": \"x\", \"b\": \"y\"}]}".to_owned(),
            &[("a", "/policy/*/a"), ("policy", "/policy/*/b")],
        ),
        ("c.json", "{\"policy\": \"x\"}".to_owned(), &[]),
        (
            "c.json",
            "[{\"policy\": \"x\"},\n {\"policy\" 1}]".to_owned(),
            &[],
        ),
        ("c.csv", "id,policy\na,x,y\n".to_owned(), &[]),
        ("c.csv", "id,policy\na,\"x\nb,y\n".to_owned(), &[]),
        ("c.csv", "id,id\na,x\n".to_owned(), &[]),
        ("c.jsonl", String::new(), &[]),
        ("c.jsonl", "\n\n".to_owned(), &[]),
    ] {
        let told = refused(name, &text, units);
        texts.push(told.to_string());
        assert!(told.trim_end().lines().count() > 1, "what to do: {told}");
    }
    insta::assert_snapshot!(texts.join("\n"), @r#"
    c.jsonl:17: not JSON: expected value, in column 22 of the record
    write one whole JSON object a record; a line end within a text is written as `\n`
    c.jsonl:2: not a record: invalid type: sequence, expected an object
    a record is an object such as `{"id": "a", "policy": "..."}`, each key once
    c.jsonl:2: the id `1` is that of line 1 too, or differs in upper and lower case only
    give every record an id of its own; `records: {id: FIELD}` names another field
    c.jsonl:2: the record has no `id`, which other records have; it has `policy`
    give every record an id, or take it out of all: then they are named by their texts
    c.jsonl:1: not a record: the key "policy" stands in the object twice
    a record is an object such as `{"id": "a", "policy": "..."}`, each key once
    c.jsonl:1: the text at `policy` has half of a surrogate pair, such as `\ud83d` alone
    write the character whole: no reader can tell what the half stands for
    c.jsonl:1: `id` is an array, and a case is named by a text or a number
    write a short text, or name another field with `records: {id: FIELD}`
    `records.units.policy` names `/polcy`, and no record of c.jsonl has a text there
    name a field, or a JSON pointer such as `/customer/history/*`; the first record has `id`, `policy`
    c.jsonl:1: `policy` is an object, and a unit is a text; it has `text`
    name the text in it with a JSON pointer such as `/customer/name`
    c.jsonl:1: element 2 of `policy` has null where a text is looked for
    name the text of each element with a JSON pointer such as `/passages/*/text`, and leave out elements without one
    c.jsonl:1: element 1 of `policy` has an object where a text is looked for; it has `id`, `text`
    name the text of each element with a JSON pointer such as `/passages/*/text`, and leave out elements without one
    c.jsonl:1: `/policy/*`: `*` stands for the elements of an array, and there is a text
    leave `*` out, or name the array
    c.jsonl:1: a unit `a` and a unit `policy` lie in one element of an array, which changes its place as a whole
    declare one text of each element under `records.units`
    c.json:1: the file is one object, and an array of objects is looked for
    write `[{…}, {…}]`, or one object a line into a file that ends in `.jsonl`
    c.json:2: not JSON: expected `:`, in column 12
    write `[{…}, {…}]`, or one object a line into a file that ends in `.jsonl`
    c.csv:2: this row has 3 cells, and the first line has 2
    put a cell with a comma, a quote or a line end between quotes
    c.csv:2: a quote that opens in this row or before it is never closed
    write a quote within a cell as two, and the cell between quotes
    c.csv:1: two columns are called `id`
    give every column a name of its own
    c.jsonl has no record
    put one record a case there
    c.jsonl has no record
    put one record a case there
    "#);
    // A file of another form has a problem in every line.
    let told = refused("c.jsonl", &"nothing\n".repeat(300), &[]);
    let last = told
        .lines()
        .find(|line| line.contains("280"))
        .expect("a count");
    insta::assert_snapshot!(last, @"- c.jsonl: 280 further problems like these");
}

/// Records with every form of value around the units.
fn every_form() -> String {
    let record = |number: usize| {
        format!(
            r#"{{"z": 1e999999, "id": "c{number}", "policy" : "Requests above 10{number} are denied.", "note": "It is fine.  \n", "a":{{"deep": [[[{number}]]], "half": "\ud83d"}}, "passages": [ "Passage {number} one.",  "Passage {number} \u00e9 two.", "Passage {number} three." ], "docs": [{{"id": {number}, "text": "Doc {number} one.", "score": 0.50}}, {{"id": 9, "text": "Doc {number} two.", "score": 0.10}}], "amount": 12{number}.0, "messages": [{{"role": "user", "content": "Turn {number}."}}, {{"role": "user", "content": "Last {number}."}}]}}"#
        )
    };
    (0..6).map(|number| record(number) + "\n").collect()
}

/// The text without the values of the units, which are the only ones that may change.
fn skeleton(document: &str, of: &[&str]) -> Vec<String> {
    let members = json::members(document, &(0..document.len())).expect("a variant is a record");
    members
        .iter()
        .map(|member| match of.contains(&&*member.key) {
            true => member.key.clone(),
            false => format!("{}: {}", member.key, &document[member.value.clone()]),
        })
        .collect()
}

#[test]
fn every_kind_keeps_the_record_valid_and_its_other_fields_untouched() {
    let declared = [
        ("policy", "policy"),
        ("note", "note"),
        ("passages", "passages"),
        ("docs", "/docs/*/text"),
        ("amount", "amount"),
        ("turns", "messages"),
    ];
    let mut settings = settings("cases.jsonl", &["policy", "docs", "amount"], &declared);
    let opt_in = perturb::ALL.iter().filter(|kind| !kind.is_default);
    settings.perturbations.enable = opt_in.map(|kind| kind.name.to_owned()).collect();
    let corpus = corpus(&every_form(), &settings);
    let of = ["policy", "note", "passages", "docs", "amount", "messages"];
    let mut kinds = BTreeSet::new();
    for (at, case) in corpus.cases.iter().enumerate() {
        let before = skeleton(case.input(), &of);
        for (variant, text) in variants(&corpus, at, &settings) {
            kinds.insert(variant.kind);
            assert_eq!(skeleton(&text, &of), before, "{}: {text}", variant.id);
            assert_ne!(text, case.input(), "{}", variant.id);
            let read: serde_json::Value =
                serde_json::from_str(&text.replace("1e999999", "1").replace("\\ud83d", ""))
                    .expect("valid JSON");
            for doc in read["docs"].as_array().expect("an array") {
                let keys: Vec<&String> = doc.as_object().expect("an object").keys().collect();
                assert_eq!(keys.len(), 3, "{text}");
            }
            for message in read["messages"].as_array().expect("an array") {
                assert_eq!(message["role"], "user");
            }
            assert_eq!(read["messages"].as_array().map(Vec::len), Some(2));
            assert!(read["amount"].is_number(), "{}: {text}", variant.id);
            // What was written into the record is read again as the same units.
            let raw = RawRow { line: 1, text };
            let scorer = judge::chosen_scorer(&settings.scorer);
            let again = one_record(&raw, &settings.records, &*scorer);
            assert!(again.problems.is_empty(), "{:?}", again.problems);
            assert_eq!(
                again.found.units.len(),
                variant.pieces.len(),
                "{}",
                variant.id
            );
        }
    }
    for kind in [
        "reorder",
        "pad_length",
        "pad_content",
        "swap",
        "numeric_magnitude",
        "drop",
        "duplicate",
        "position",
    ] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}

#[test]
fn an_array_is_exchanged_as_a_whole_and_what_comes_in_goes_into_arrays_of_its_type() {
    let settings = settings(
        "cases.jsonl",
        &["docs"],
        &[("docs", "/docs/*/text"), ("passages", "passages")],
    );
    let corpus = corpus(&every_form(), &settings);
    let docs = |text: &str| {
        let members = json::members(text, &(0..text.len())).expect("a record");
        let docs = members.iter().find(|member| member.key == "docs");
        text[docs.expect("there are docs").value.clone()].to_owned()
    };
    let theirs: Vec<String> = corpus.cases.iter().map(|case| docs(case.input())).collect();
    let found = variants(&corpus, 0, &settings);
    let swaps = found.iter().filter(|(variant, _)| variant.kind == "swap");
    let swapped: Vec<String> = swaps.map(|(_, text)| docs(text)).collect();
    assert_eq!(swapped.len(), 3);
    assert!(
        swapped.iter().all(|docs| theirs[1..].contains(docs)),
        "{swapped:?}"
    );
    for (variant, text) in &found {
        if variant.kind.starts_with("pad_") {
            assert_eq!(docs(text), theirs[0], "{}", variant.id);
            assert!(text.matches("Doc 0").count() == 2 && !text.contains("Doc 1"));
        }
    }
}

#[test]
fn a_changed_number_stays_a_number_where_it_reads_as_one() {
    let settings = settings("cases.jsonl", &[], &[("n", "n")]);
    let corpus = corpus("{\"n\": 12}", &settings);
    let record = corpus.cases[0].record().expect("a record");
    let value = |text: &str| record.value_of(&record.slots[0], text);
    assert_eq!(value("60"), "60");
    assert_eq!(value("about 60"), "\"about 60\"");
    assert_eq!(value("null"), "\"null\"");
}

mod hostile {
    use proptest::prelude::*;

    use super::*;

    const PIECES: [&str; 30] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"id\"",
        "\"policy\"",
        "\"passages\"",
        "\"expected\"",
        "\"role\"",
        "\"content\"",
        "\\",
        "\\ud83d",
        "\\u0000",
        "1e400",
        "-0",
        "00",
        "null",
        "true",
        "NaN",
        " ",
        "\n",
        "\r\n",
        "\u{feff}",
        "é",
        "\"a\"",
        "{\"policy\": \"x\"}",
        "[[",
    ];

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..40)
                .prop_map(|pieces| pieces.concat()),
            "\\PC{0,60}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn any_text_is_read_or_refused(text in text(), kind in 0..4_usize, declared in any::<bool>()) {
            let name = ["c.jsonl", "c.json", "c.csv", "c.jsonl"][kind];
            let units: &[(&str, &str)] = match declared {
                true => &[("policy", "policy"), ("p", "/passages/*"), ("q", "/a/*/b/0")],
                false => &[],
            };
            let text = match kind {
                3 => format!("{{\"policy\": {text}}}"),
                _ => text,
            };
            let settings = settings(name, &[], units);
            if let Ok((corpus, _)) = load_text(&text, &settings) {
                for at in 0..corpus.cases.len() {
                    for (_, text) in variants(&corpus, at, &settings) {
                        prop_assert!(json::members(&text, &(0..text.len())).is_ok(), "{}", text);
                    }
                }
            }
        }
    }
}
