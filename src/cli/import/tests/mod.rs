//! Files of records, good and hostile, in a temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

mod chats;

use super::*;
use kelvin_evidence::cases::Case;

/// A folder with a file.
fn folder(name: &str, bytes: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join(name), bytes).expect("written");
    folder
}

fn args(folder: &Path, name: &str) -> CasesArgs {
    CasesArgs {
        file: folder.join(name),
        into: folder.join("cases"),
        ..CasesArgs::default()
    }
}

/// Only the units are chosen.
fn units(units: &[&str]) -> Mapping {
    let units = units.iter().map(|unit| {
        let Ok(unit) = UnitField::parse(unit);
        unit
    });
    Mapping {
        units: units.collect(),
        ..Mapping::default()
    }
}

/// How it ended, and what was said.
fn run(args: &CasesArgs) -> (anyhow::Result<()>, String) {
    let mut out = Vec::new();
    let ended = import(args, &mut out);
    (ended, String::from_utf8(out).expect("it is text"))
}

/// Why it was refused; nothing was written.
fn refused(args: CasesArgs) -> String {
    let into = args.into.clone();
    let (ended, said) = run(&args);
    let error = ended.expect_err(&said);
    assert_eq!(Exit::of(&error), Exit::Misused, "{error:#}");
    assert!(!into.exists(), "nothing is written before all is read");
    format!("{error:#}")
}

/// Every case: its name, its preamble, and its units as type and body.
type Read = BTreeMap<String, (String, Vec<(String, String)>)>;

fn read(folder: &Path) -> Read {
    let mut cases = BTreeMap::new();
    for file in fs::read_dir(folder.join("cases")).expect("listed") {
        let path = file.expect("listed").path();
        let text = fs::read_to_string(&path).expect("read");
        let name = path
            .file_stem()
            .expect("it has a name")
            .to_string_lossy()
            .into_owned();
        let case = Case::parse(&*name, "a.md", text).expect("it is a case");
        let units = case.units.iter().map(|unit| {
            let body = case.body(unit);
            let (_, text) = body.split_once("\n\n").expect("a heading and a text");
            (unit.unit_type.to_string(), text.to_owned())
        });
        let units = units.collect();
        cases.insert(name, (case.preamble().to_owned(), units));
    }
    cases
}

fn unit(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

#[test]
fn the_three_forms_make_the_same_cases() {
    let json = r#"[{"id": "a", "q": "Is it paid?", "gate_rule": "If x, then y.", "facts": "1\n2"},
        {"id": 2, "q": "", "gate_rule": "If z.", "facts": null}]"#;
    let jsonl = "{\"id\": \"a\", \"q\": \"Is it paid?\", \"gate_rule\": \"If x, then y.\", \"facts\": \"1\\n2\"}\r\n\n\
                 {\"id\": 2, \"q\": \"\", \"gate_rule\": \"If z.\", \"facts\": null}";
    let csv =
        "\u{feff}id,q,gate_rule,facts\r\na,Is it paid?,\"If x, then y.\",\"1\n2\"\r\n2,,If z.,\r\n";
    let semicolons = "id;q;gate_rule;facts\na;Is it paid?;If x, then y.;\"1\n2\"\n2;;If z.;\n";
    let mut all = Vec::new();
    for (name, text, delimiter) in [
        ("d.json", json, None),
        ("d.jsonl", jsonl, None),
        ("d.csv", csv, None),
        ("e.csv", semicolons, Some(b';')),
    ] {
        let folder = folder(name, text.as_bytes());
        let (ended, said) = run(&CasesArgs {
            mapping: Mapping {
                id: Some("id".to_owned()),
                preamble: Some("q".to_owned()),
                ..units(&["gate_rule", "facts=The Facts"])
            },
            delimiter,
            ..args(folder.path(), name)
        });
        ended.expect("imported");
        assert!(
            said.contains("units: Gate rule (2), The Facts (1)"),
            "{said}"
        );
        assert!(said.contains("1 value missing or empty"), "{said}");
        assert!(said.contains("wrote 2 cases"), "{said}");
        all.push(read(folder.path()));
    }
    let wanted: Read = BTreeMap::from([
        (
            "a".to_owned(),
            (
                "Is it paid?\n\n".to_owned(),
                vec![
                    unit("gate_rule", "If x, then y."),
                    unit("the_facts", "1\n2"),
                ],
            ),
        ),
        (
            file::slug("2"),
            (String::new(), vec![unit("gate_rule", "If z.")]),
        ),
    ]);
    for read in all {
        assert_eq!(read, wanted);
    }
}

#[test]
fn every_item_of_a_list_is_a_unit_and_objects_say_text_and_heading() {
    let text = r###"[{"in": {"docs": ["one", "## two", 3]}, "evidence": [
        {"kind": "Gate Rule", "body": "x"}, {"kind": "*facts*", "body": "y"}]}]"###;
    let folder = folder("d.json", text.as_bytes());
    let request = CasesArgs {
        mapping: Mapping {
            text_key: Some("body".to_owned()),
            heading_key: Some("kind".to_owned()),
            ..units(&["/in/docs", "evidence"])
        },
        ..args(folder.path(), "d.json")
    };
    let (ended, said) = run(&request);
    ended.expect("imported");
    assert!(said.contains("the cases are numbered"), "{said}");
    let read = read(folder.path());
    assert_eq!(
        read["case-0001"].1,
        [
            unit("docs", "one"),
            unit("docs", "```text\n## two\n```"),
            unit("docs", "3"),
            unit("gate_rule", "x"),
            unit("*facts*", "y"),
        ]
    );
    let wrong = CasesArgs {
        mapping: Mapping {
            text_key: Some("txt".to_owned()),
            ..units(&["evidence"])
        },
        into: folder.path().join("other"),
        ..args(folder.path(), "d.json")
    };
    let said = refused(wrong);
    assert!(
        said.contains(
            "d.json: object 1: an item of `evidence` has no key `txt`; it has body, kind"
        ),
        "{said}"
    );
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    for (name, bytes, found) in [
        ("d.json", &b"{\"a\": []}"[..], "d.json:1:"),
        (
            "d.json",
            b"[{\"a\": \"b\"},\n {\"a\" 1}]",
            "d.json:2:7: expected `:`",
        ),
        (
            "d.json",
            b"[{\"a\": \"b\"}, 3]",
            "object 2: a number stands where an object",
        ),
        ("d.json", b"[{\"a\": \"b\"}] x", "trailing characters"),
        ("d.json", b"[{\"a\": \"\xff\"}]", "d.json:1:"),
        ("d.json", b"[]", "there is no record in it"),
        ("d.json", b"", "d.json:1:0"),
        ("d.jsonl", b"{\"a\": \"b\"}\n{\"a\": \"b\"\n", "d.jsonl:2:"),
        (
            "d.jsonl",
            b"{\"a\": \"b\"}\n\n{\"a\": \"\xc3\"}\n",
            "d.jsonl:3:8: not UTF-8",
        ),
        ("d.jsonl", b"[1]\n", "d.jsonl:1: a list stands"),
        (
            "d.csv",
            b"a,b\nx,y\nz\n",
            "d.csv:3: this row has 1 cells, and the first line has 2",
        ),
        (
            "d.csv",
            b"a,b\nx,\"y\nz\"\nx,\xff\n",
            "d.csv:4:3: not UTF-8",
        ),
        (
            "d.csv",
            b"a,a\nx,y\n",
            "column 2 has the name `a` of another",
        ),
        ("d.csv", b"", "the file is empty"),
        (
            "d.csv",
            b"a,b\nx,y\nx,\"y\nz,z\n",
            "d.csv:3: a quote that opens in this row or before",
        ),
        ("d.csv", b"\xff\xfea\0", "UTF-16"),
        ("d.txt", b"a", "add `--from json`"),
    ] {
        let folder = folder(name, bytes);
        let said = refused(CasesArgs {
            mapping: units(&["a"]),
            ..args(folder.path(), name)
        });
        assert!(said.contains(found), "{found:?} in {said}");
    }
    let long = "a".repeat((32 << 20) + 1);
    let large = folder("d.csv", format!("a\n{long}\n").as_bytes());
    let said = refused(CasesArgs {
        mapping: units(&["a"]),
        ..args(large.path(), "d.csv")
    });
    assert!(
        said.contains("d.csv:2: this record has over 32 MiB"),
        "{said}"
    );
    let deep = "[".repeat(100_000);
    let folder = folder("d.json", format!("[{{\"a\": {deep}").as_bytes());
    let said = refused(CasesArgs {
        mapping: units(&["a"]),
        ..args(folder.path(), "d.json")
    });
    assert!(said.contains("recursion limit"), "{said}");
}

#[test]
fn names_are_safe_and_each_is_there_once() {
    let names = |ids: &[&str]| {
        let lines = ids
            .iter()
            .map(|id| serde_json::json!({"id": id, "a": "x"}).to_string() + "\n");
        let folder = folder("d.jsonl", lines.collect::<String>().as_bytes());
        let request = CasesArgs {
            mapping: Mapping {
                id: Some("id".to_owned()),
                ..units(&["a"])
            },
            ..args(folder.path(), "d.jsonl")
        };
        run(&request)
            .0
            .map(|()| read(folder.path()).into_keys().collect::<Vec<String>>())
    };
    let odd = [
        "../../etc/passwd",
        "a/b",
        "a:b",
        "..",
        "report.x",
        "x\ny",
        &"é".repeat(300),
    ];
    let written = names(&odd).expect("imported");
    assert_eq!(written.len(), odd.len(), "{written:?}");
    let is_safe = |name: &String| {
        name.len() < 120 && !name.contains(['/', '\n', ':']) && !name.starts_with('.')
    };
    assert!(written.iter().all(is_safe), "{written:?}");
    for twice in [["a", "a"], ["Case", "case"], ["a", " a "]] {
        let said = names(&twice).expect_err("refused").to_string();
        assert!(
            said.contains("d.jsonl:2") && said.contains("d.jsonl:1 too"),
            "{said}"
        );
    }
    let said = names(&["a", " "]).expect_err("refused").to_string();
    assert!(
        said.contains("d.jsonl:2: `id` is no name for a case"),
        "{said}"
    );
}

#[test]
fn a_field_that_is_not_there_is_told_with_those_that_are() {
    let folder = folder("d.jsonl", b"{\"a\": \"x\", \"b\": 1}\n{\"b\": 1}\n");
    let base = || args(folder.path(), "d.jsonl");
    let said = refused(base());
    assert!(
        said.contains("    a  \"x\"\n    b  1") && said.contains("--units=a --units=b --dry-run`"),
        "{said}"
    );
    let said = refused(CasesArgs {
        mapping: units(&["a"]),
        ..base()
    });
    assert!(
        said.contains("d.jsonl:2: nothing stands in the fields of the units: a"),
        "{said}"
    );
    let said = refused(CasesArgs {
        mapping: Mapping {
            preamble: Some("c".to_owned()),
            ..units(&["b"])
        },
        ..base()
    });
    assert!(
        said.contains("d.jsonl:1: it has no field `c`; it has a, b"),
        "{said}"
    );
}

#[test]
fn nothing_is_overwritten_without_force_and_a_dry_run_writes_nothing() {
    let folder = folder("d.csv", b"a\nx\ny\n");
    let base = || CasesArgs {
        mapping: units(&["a"]),
        ..args(folder.path(), "d.csv")
    };
    let (ended, said) = run(&CasesArgs {
        dry_run: true,
        ..base()
    });
    ended.expect("shown");
    assert!(said.contains("case-0001.md:\n\n## A\n\nx\n"), "{said}");
    assert!(said.contains("2 cases would be written"), "{said}");
    assert!(!folder.path().join("cases").exists());

    fs::create_dir(folder.path().join("cases")).expect("made");
    let second = folder.path().join("cases/case-0002.md");
    fs::write(&second, "mine").expect("written");
    let error = run(&base()).0.expect_err("refused");
    assert!(
        error.to_string().contains("case-0002.md` is there already"),
        "{error}"
    );
    assert!(!folder.path().join("cases/case-0001.md").exists());
    assert_eq!(fs::read(&second).expect("read"), b"mine");
    run(&CasesArgs {
        force: true,
        ..base()
    })
    .0
    .expect("imported");
    assert_eq!(fs::read(&second).expect("read"), b"## A\n\ny\n");
}

/// The import that the command itself proposes for a file.
fn proposed(folder: &Path) -> CasesArgs {
    let file = folder.join("d.jsonl");
    let first = first_record(&file).expect("a record");
    CasesArgs {
        file,
        into: folder.join("cases"),
        mapping: proposal(&first),
        ..CasesArgs::default()
    }
}

#[test]
fn without_units_the_fields_are_shown_with_a_proposal_that_can_be_pasted() {
    let text =
        r#"{"id": "a", "q": "Why?", "docs": [{"text": "x", "kind": "Rule"}], "label": "yes"}"#;
    let folder = folder("d.jsonl", text.as_bytes());
    let said = refused(args(folder.path(), "d.jsonl"));
    assert!(
        said.contains(
            "    docs   a list of 1: [{\"kind\":\"Rule\",\"text\":\"x\"}]\n    id     \"a\"\n"
        ),
        "{said}"
    );
    let flags = " --id=id --preamble=q --units=docs --text-key=text --heading-key=kind --dry-run`";
    assert!(said.contains(flags), "{said}");
    run(&proposed(folder.path())).0.expect("imported");
    let read = read(folder.path());
    assert_eq!(read["a"], ("Why?\n\n".to_owned(), vec![unit("rule", "x")]));
}

#[test]
fn the_right_answer_is_a_unit_only_where_somebody_wants_it() {
    let table = b"question,expected_doc,goldAnswer,note\nWhy?,x,y,z\n";
    let csv = folder("d.csv", table);
    let said = refused(args(csv.path(), "d.csv"));
    assert!(
        said.contains(" --preamble=question --units=note --dry-run`"),
        "{said}"
    );

    // Where nothing else is left, the question is a unit too.
    let csv = folder("d.csv", b"question,expected_doc\nWhy?,x\n");
    let said = refused(args(csv.path(), "d.csv"));
    assert!(said.contains(" --units=question --dry-run`"), "{said}");

    // Named by hand, it is told what that means.
    let named = CasesArgs {
        mapping: units(&["expected_doc"]),
        dry_run: true,
        ..args(csv.path(), "d.csv")
    };
    let (ended, said) = run(&named);
    ended.expect("shown");
    assert!(
        said.contains("`expected_doc` is the right answer, by its name: it stands in the input"),
        "{said}"
    );
}

#[test]
fn a_file_in_the_place_of_the_folder_is_told_before_anything_is_read() {
    let csv = folder("d.csv", b"question\nWhy?\n");
    for into in ["d.csv", "d.csv/below"] {
        let given = CasesArgs {
            into: csv.path().join(into),
            ..args(csv.path(), "d.csv")
        };
        let (ended, said) = run(&given);
        let error = ended.expect_err(&said).to_string();
        assert!(
            error.contains("d.csv` is a file, and the cases need a folder"),
            "{error}"
        );
    }
}
