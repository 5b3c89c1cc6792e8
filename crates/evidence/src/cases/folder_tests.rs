use std::fs;
use std::path::Path;

use super::fixture::settings;
use super::*;
use kelvin_base::exit::Exit;

/// Loads the files of a temporary folder as the cases in `cases`.
fn load_files(files: &[(&str, &[u8])], cases: &str, governing: &[&str]) -> Loaded {
    let root = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in files {
        put(root.path(), path, text);
    }
    load_from(root.path(), cases, governing)
}

type Loaded = Result<(Corpus, Vec<Notice>), String>;

fn load_from(root: &Path, cases: &str, governing: &[&str]) -> Loaded {
    let mut settings = settings(governing);
    settings.cases = cases.to_owned();
    load(root, &settings).map_err(|error| {
        assert_eq!(Exit::of(&error), Exit::Misused, "{error:#}");
        let text = format!("{error:#}");
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
        text
    })
}

fn put(root: &Path, path: &str, text: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("made");
    fs::write(path, text).expect("written");
}

fn names(corpus: &Corpus) -> Vec<&str> {
    corpus.cases.iter().map(|case| &*case.name).collect()
}

#[test]
fn cases_of_a_folder_are_sorted_by_name() {
    let files: [(&str, &[u8]); 3] = [
        ("cases/b.md", b"## A\nx\n"),
        ("cases/a-1.md", b"## A\ny\n"),
        ("cases/a.md", b"## A\nz\n"),
    ];
    let (corpus, notices) = load_files(&files, "./cases/", &["a"]).expect("loaded");
    assert_eq!(names(&corpus), ["a", "a-1", "b"]);
    assert_eq!(&*corpus.cases[1].file, "cases/a-1.md");
    assert!(notices.is_empty(), "{notices:?}");
    let first = &corpus.cases[0].units[0].unit_type;
    assert!(Arc::ptr_eq(first, &corpus.cases[1].units[0].unit_type));
}

#[test]
fn defect_4d_files_that_are_no_case_are_told_of() {
    let root = tempfile::tempdir().expect("a temporary folder");
    for path in [
        "a.md",
        ".hidden.md",
        "old/b.md",
        "c.MD",
        "d.markdown",
        "e.txt",
        "f.md/x",
        ".git/g.md",
    ] {
        put(root.path(), &format!("cases/{path}"), b"## A\nx\n");
    }
    std::os::unix::fs::symlink("nowhere", root.path().join("cases/g.md")).expect("linked");
    std::os::unix::fs::symlink("a.md", root.path().join("cases/h.md")).expect("linked");
    let (corpus, notices) = load_from(root.path(), "cases", &["a"]).expect("loaded");
    assert_eq!(names(&corpus), ["a", "h"]);
    let texts: Vec<&str> = notices.iter().map(|notice| notice.text.as_str()).collect();
    assert!(
        notices
            .iter()
            .all(|notice| notice.code == Code::IgnoredFile)
    );
    insta::assert_snapshot!(texts.join("\n"), @r"
    ignored: cases/.hidden.md (hidden)
    ignored: cases/old/b.md (in a folder below the one of the cases; a glob such as `cases/**/*.md` takes them in)
    ignored: cases/c.MD, cases/d.markdown (the name does not end in `.md`, in lower case)
    ignored: cases/e.txt (not Markdown)
    ignored: cases/f.md (not a regular file)
    ignored: cases/g.md (a link to nothing, or unreadable)
    ");
}

#[test]
fn a_glob_takes_in_nested_cases_and_never_the_output_folder() {
    let files: [(&str, &[u8]); 7] = [
        ("out/.kelvin-run", b""),
        ("out/a/baseline/input.md", b"## A\nx\n"),
        ("set/a.md", b"## A\nx\n"),
        ("set/deep/er/b.md", b"## A\ny\n"),
        ("set/deep/c.txt", b"no"),
        ("kelvin/a/baseline/input.md", b"## A\nx\n"),
        ("kelvin/b/baseline/input.md", b"## A\nx\n"),
    ];
    for glob in [
        "set/**/*.md",
        "./set/**/*.md",
        "**/*.md",
        "{set,other}/**/*.md",
    ] {
        let (corpus, _) = load_files(&files, glob, &["a"]).expect("loaded");
        assert_eq!(names(&corpus), ["a", "b"], "{glob}");
        assert_eq!(&*corpus.cases[1].file, "set/deep/er/b.md", "{glob}");
    }
    let (corpus, _) = load_files(&files, "set/*.md", &["a"]).expect("loaded");
    assert_eq!(names(&corpus), ["a"]);
}

#[test]
fn all_unusable_cases_are_named_in_one_error() {
    let files: [(&str, &[u8]); 9] = [
        ("cases/a.md", b"## A\nx\n"),
        ("cases/latin.md", b"## A\n\nr\xe8gle\n"),
        ("cases/wide.md", b"\xff\xfe#\0"),
        ("cases/empty.md", b"##\n"),
        ("cases/report.json.md", b"## A\n"),
        ("cases/Report.HTML.md", b"## A\n"),
        ("cases/..md", b"## A\n"),
        ("cases/...md", b"## A\n"),
        ("cases/bell\x07.md", b"## A\n"),
    ];
    let error = load_files(&files, "cases", &["a"]).expect_err("refused");
    insta::assert_snapshot!(error, @r"
    8 problems in the cases
    - cases/...md: the name of a case becomes the name of a folder, and this one is no name
      help: rename the file
    - cases/..md: the name of a case becomes the name of a folder, and this one is no name
      help: rename the file
    - cases/Report.HTML.md: the name of a case becomes the name of a folder, and this one is kept for the report itself
      help: rename the file
    - cases/bell\u{7}.md: the name of a case becomes the name of a folder, and this one has a control character in it
      help: rename the file
    - cases/report.json.md: the name of a case becomes the name of a folder, and this one is kept for the report itself
      help: rename the file
    - cases/empty.md:1: this level-2 heading has no text, so its unit has no type
      help: give the heading a name, or take it out
    - cases/latin.md:3: not UTF-8: byte 0xe8 at offset 7
      help: save it as UTF-8
    - cases/wide.md:1: not UTF-8: byte 0xff at offset 0
      help: it looks like UTF-16: save it as UTF-8
    ");
}

#[test]
fn defect_4b_a_case_file_that_is_not_utf_8_is_an_error_with_file_line_and_byte() {
    let error = load_files(&[("cases/a.md", b"## A\r\n\xff")], "cases", &[]).expect_err("refused");
    insta::assert_snapshot!(error, @"
    cases/a.md:2: not UTF-8: byte 0xff at offset 6
      help: save it as UTF-8
    ");
}

#[test]
fn defect_4b_a_folder_or_dangling_link_named_like_a_case_does_not_stop_the_run() {
    let root = tempfile::tempdir().expect("a temporary folder");
    put(root.path(), "cases/a.md", b"## A\nx\n");
    put(root.path(), "cases/dir.md/inner.md", b"## A\nx\n");
    std::os::unix::fs::symlink("nowhere", root.path().join("cases/gone.md")).expect("linked");
    let (corpus, notices) = load_from(root.path(), "cases", &["a"]).expect("loaded");
    assert_eq!(names(&corpus), ["a"]);
    assert_eq!(notices.len(), 2, "{notices:?}");
}

#[test]
fn p14_no_case_name_is_a_path_outside_the_output_folder() {
    for name in ["..md", "...md", "....md", "report.md.md", "x\n.md"] {
        let path = format!("cases/{name}");
        let files: [(&str, &[u8]); 2] = [(&path, b"## A\nx\n"), ("cases/ok.md", b"## A\ny\n")];
        let Ok((corpus, _)) = load_files(&files, "cases", &["a"]) else {
            continue;
        };
        assert_eq!(names(&corpus), ["ok"], "{name:?}");
    }
    for name in ["a", "a b", "a\\..\\b", "~", "-x", "$(x)"] {
        assert!(
            Path::new(&kelvin_base::file::slug(name))
                .components()
                .count()
                == 1
        );
    }
}

#[test]
fn cases_of_the_same_name_are_refused_with_both_paths() {
    let files: [(&str, &[u8]); 3] = [
        ("cases/x/a.md", b"## A\nx\n"),
        ("cases/y/a.md", b"## A\ny\n"),
        ("cases/y/b.md", b"## A\ny\n"),
    ];
    let error = load_files(&files, "cases/**/*.md", &["a"]).expect_err("refused");
    insta::assert_snapshot!(error, @"
    cases/x/a.md and cases/y/a.md are both case `a`, or differ in upper and lower case only
      help: rename one: the name without folder and `.md` has to be distinct
    ");
}

#[test]
fn kel_04_an_absent_or_empty_folder_is_refused() {
    let absent = load_files(&[], "cases", &[]).expect_err("refused");
    insta::assert_snapshot!(absent, @"
    the folder of the cases, `cases`, does not exist
      help: `cases` in the configuration, or `--cases` of `kelvin init`, names a folder with one Markdown file a case, or a file of records such as `cases.jsonl`, relative to the configuration file
    ");
    let absent = load_files(&[], "no/where/*.md", &[]).expect_err("refused");
    insta::assert_snapshot!(absent, @"
    the folder of the cases, `no/where`, does not exist
      help: `cases` in the configuration, or `--cases` of `kelvin init`, names a folder with one Markdown file a case, or a file of records such as `cases.jsonl`, relative to the configuration file
    ");
    let empty = load_files(&[("cases/a.txt", b"x")], "cases", &[]).expect_err("refused");
    insta::assert_snapshot!(empty, @"
    no case was found in `cases`
      ignored: cases/a.txt (not Markdown)
      help: put at least one `.md` file there, or let `cases` name another folder
    ");
    let file = load_files(&[("cases", b"x")], "cases", &[]).expect_err("refused");
    insta::assert_snapshot!(file, @"
    `cases: cases` is a file, and these cases are a folder with one Markdown file each
      help: name such a folder; a file with one scenario a line is named by `scenarios`
    ");
    let glob = load_files(&[], "[x", &[]).expect_err("refused");
    insta::assert_snapshot!(glob, @"
    `cases: [x` is not a glob: unclosed character class; missing ']'
      help: name a folder, or a glob such as `cases/**/*.md`
    ");
}

#[test]
fn kel_18_a_governing_type_that_no_case_has_is_refused_with_the_nearest() {
    let files: [(&str, &[u8]); 1] = [("cases/a.md", b"## Gate Rule\nx\n## Facts\ny\n")];
    let error = load_files(&files, "cases", &["gaterule", "facts", "zebra"]).expect_err("refused");
    insta::assert_snapshot!(error, @"
    `governing_types` names a type that no case has: `gaterule` (is it `gate_rule`?), `zebra`
      help: the types that occur, with how often: facts (1), gate_rule (1)
    ");
    assert!(load_files(&files, "cases", &["facts"]).is_ok());
    let bare = load_files(&[("cases/a.md", b"text")], "cases", &["facts"]).expect_err("refused");
    insta::assert_snapshot!(bare, @"
    `governing_types` names a type that no case has: `facts`
      help: no case has a unit; a unit starts at a level-2 heading such as `## Gate Rule`, or is a text at the top of a record, or one that `records: {units: {TYPE: PLACE}}` names
    ");
}

#[test]
fn defect_4d_a_case_without_units_is_told_of() {
    let files: [(&str, &[u8]); 2] = [("cases/a.md", b"## A\nx\n"), ("cases/empty.md", b"")];
    let (corpus, notices) = load_files(&files, "cases", &["a"]).expect("loaded");
    assert_eq!(names(&corpus), ["a", "empty"]);
    assert_eq!(notices.len(), 1);
    assert_eq!(
        (notices[0].code.clone(), notices[0].case.as_deref()),
        (Code::own("no_units"), Some("empty"))
    );
}

#[test]
fn defect_4d_types_that_look_alike_are_told_of() {
    let text = b"## Gate Rule\nx\n## Gate-Rule:\ny\n## Other\n## R\xc3\xa9sum\xc3\xa9\n## Resume\n";
    let (_, notices) = load_files(&[("cases/a.md", text)], "cases", &[]).expect("loaded");
    let texts: Vec<&str> = notices.iter().map(|notice| notice.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts[0].contains("`gate-rule:` (cases/a.md:3), `gate_rule` (cases/a.md:1)"),
        "{texts:?}"
    );
    assert!(
        notices
            .iter()
            .all(|notice| notice.code == Code::own("look_alike_types"))
    );
}

#[test]
fn labels_lie_beside_the_cases_that_they_are_of_and_nowhere_else() {
    let files: [(&str, &[u8]); 6] = [
        ("cases/a.md", b"## A\nx\n"),
        ("cases/expected.csv", b"case,expected\na,one\n"),
        ("cases/deep/b.md", b"## A\ny\n"),
        ("cases/deep/expected.csv", b"expected,case\ntwo,b\n"),
        ("cases/data/expected.csv", b"something,else\n"),
        ("cases/data/notes.txt", b"x"),
    ];
    let labels = |loaded: Loaded| -> Vec<(String, Option<String>)> {
        let (corpus, notices) = loaded.expect("loaded");
        let told = format!("{notices:?}");
        assert!(!told.contains("expected.csv"), "{told}");
        let cases = corpus.cases.into_iter();
        cases
            .map(|case| (case.name.to_string(), case.expected))
            .collect()
    };
    let of = |name: &str, label: &str| (name.to_owned(), Some(label.to_owned()));
    let in_folder = load_files(&files, "cases", &["a"]);
    assert_eq!(labels(in_folder), [of("a", "one")]);
    for glob in ["cases/**/*.md", "**/*.md"] {
        let found = load_files(&files, glob, &["a"]);
        assert_eq!(labels(found), [of("a", "one"), of("b", "two")], "{glob}");
    }
    // Two tables may name the same case only if it is told.
    let mut twice = files;
    twice[3] = ("cases/deep/expected.csv", b"case,expected\na,two\nb,two\n");
    let refused = load_files(&twice, "cases/**/*.md", &["a"]).expect_err("refused");
    let told = "cases/expected.csv:2: `a` is labelled otherwise in cases/deep/expected.csv:2";
    let other = "cases/deep/expected.csv:2: `a` is labelled otherwise in cases/expected.csv:2";
    assert!(
        refused.contains(told) || refused.contains(other),
        "{refused}"
    );
}

#[cfg(unix)]
#[test]
fn a_table_of_labels_that_cannot_be_read_is_not_taken_for_none() {
    let root = tempfile::tempdir().expect("a temporary folder");
    put(root.path(), "cases/a.md", b"## A\nx\n");
    let table = root.path().join("cases/expected.csv");
    std::os::unix::fs::symlink("nowhere.csv", table).expect("linked");
    let refused = load_from(root.path(), "cases", &["a"]).expect_err("refused");
    insta::assert_snapshot!(refused, @"cases/expected.csv: cannot be read: No such file or directory (os error 2)");
    put(root.path(), "cases/nowhere.csv", b"case,expected\na,\xff\n");
    let refused = load_from(root.path(), "cases", &["a"]).expect_err("refused");
    assert!(
        refused.contains("cases/expected.csv:2: not UTF-8"),
        "{refused}"
    );
}

#[test]
fn a_title_is_the_line_that_tells_most() {
    let title = |text: &str| {
        let case = Case::parse("a", "cases/a.md", text).expect("it parses");
        case.title()
    };
    let titled = |text| title(text).unwrap_or_default();
    assert_eq!(titled("# Loan 7\n\n## Rule\n\nx\n"), "Loan 7");
    assert_eq!(titled("---\nid: 7\n---\n\nMay  he?\n\n# Loan\n"), "Loan");
    assert_eq!(
        titled("\u{feff}***\n\nMay \t he?\n\n## Rule\nx\n"),
        "May he?"
    );
    assert_eq!(titled("## Rule\n\nCustomers wait.\n"), "Customers wait.");
    assert_eq!(titled("## Rule\r\n"), "Rule");
    assert_eq!(title("\n---\n\n***\n"), None);
    assert_eq!(titled(&"é".repeat(500)).chars().count(), 200);
}
