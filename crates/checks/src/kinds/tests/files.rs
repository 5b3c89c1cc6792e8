//! Checks of files: what there is, what is in them, and no way out of the workspace.

use super::*;
use kelvin_fixtures::text::redacted;

#[test]
fn inv_06_file_exists_and_file_absent_are_complements_on_every_path() {
    let left = Left::new("").with("file", "x");
    fs::create_dir(left.path("folder")).expect("made");
    for link in [
        ("inside", "file"),
        ("dangling", "nowhere"),
        ("outside", "../private"),
    ] {
        std::os::unix::fs::symlink(link.1, left.path(link.0)).expect("linked");
    }
    for path in [
        "file", "folder", "folder/", "./file", "inside", "dangling", "nothing", "file/x",
    ] {
        let is_there = left.look(json!({"type": "file_exists", "path": path}));
        let is_not = left.look(json!({"type": "file_absent", "path": path}));
        assert_ne!(is_there.outcome, is_not.outcome, "{path}");
        let negated = left.look(json!({"type": "file_exists", "path": path, "not": true}));
        assert_eq!(negated.outcome, is_not.outcome, "{path}");
    }
    left.passes(json!({"type": "file_exists", "path": "folder"}));
    left.passes(json!({"type": "file_absent", "path": "dangling"}));
    let mut each = Vec::new();
    for check in ["file_exists", "file_absent"] {
        each.push(left.is_error(json!({"type": check, "path": "outside"})));
    }
    insta::assert_snapshot!(each.join("\n"), @"
    `outside` is a link that leads out of the workspace
    `outside` is a link that leads out of the workspace
    ");
}

#[test]
fn inv_07_a_path_that_leads_out_is_refused_before_anything_runs() {
    let mut told = std::collections::BTreeSet::new();
    for path in ["../x", "/etc/passwd", "a/../../x", "..", ""] {
        let (key, what) = refusal(json!({"type": "file_exists", "path": path}));
        assert_eq!(key, "path");
        told.insert(what);
        let content = json!({"type": "file_content", "path": path, "contains": "x"});
        assert_eq!(refusal(content).0, "path");
    }
    insta::assert_snapshot!(Vec::from_iter(told).join("\n"), @"
    `../x` leads out of the workspace: a path is relative to it, without `..`
    `..` leads out of the workspace: a path is relative to it, without `..`
    `/etc/passwd` leads out of the workspace: a path is relative to it, without `..`
    `` leads out of the workspace: a path is relative to it, without `..`
    `a/../../x` leads out of the workspace: a path is relative to it, without `..`
    ");
    let from = json!({"type": "contains", "value": "x", "input_from": "file:../x"});
    assert_eq!(refusal(from).0, "input_from");
}

#[test]
fn inv_08_inv_09_inv_10_all_conditions_on_a_file_have_to_hold() {
    let left = Left::new("")
        .with("log", "one\ntwo 22\n")
        .with("bad", b"a\xffb");
    let on = |more: Value| {
        let mut check = json!({"type": "file_content", "path": "log"});
        for (key, value) in more.as_object().expect("a mapping") {
            check[key] = value.clone();
        }
        check
    };
    left.passes(on(
        json!({"contains": "two", "not_contains": "three", "pattern": r"\d+"}),
    ));
    insta::assert_snapshot!(left.fails(on(json!({"contains": "three", "pattern": "one"}))), @"`log` does not contain `three`");
    insta::assert_snapshot!(left.fails(on(json!({"not_contains": "two", "contains": "one"}))), @"`log` contains `two`");
    insta::assert_snapshot!(left.fails(on(json!({"pattern": "^two"}))), @"`log` does not match `^two`");
    left.passes(on(json!({"pattern": "(?m)^two"})));
    left.passes(on(json!({"pattern": "wo 2"})));
    insta::assert_snapshot!(left.fails(json!({"type": "file_content", "path": "gone", "contains": "x"})), @"`gone` is not there");
    // A file that is not there has nothing in it, and is not what the opposite asks for either.
    insta::assert_snapshot!(left.fails(json!({"type": "file_content", "path": "gone", "contains": "x", "not": true})), @"`gone` is not there");
    left.passes(on(json!({"contains": "three", "not": true})));
    insta::assert_snapshot!(left.fails(json!({"type": "file_content", "path": ".", "contains": "x"})), @"`.` is a folder");
    insta::assert_snapshot!(left.demand(json!({"type": "file_content", "path": "bad", "contains": "a"}), Outcome::Passed, Some(1.0)), @"`bad` is as it should be (bytes that are not UTF-8 were replaced)");
    let (key, what) = refusal(json!({"type": "file_content", "path": "log"}));
    assert_eq!(key, "");
    insta::assert_snapshot!(what, @"nothing is asked of the file: give `contains`, `not_contains` or `pattern`");
}

#[test]
fn inv_11_a_pattern_that_explodes_elsewhere_takes_linear_time_and_a_bad_one_is_refused() {
    let left = Left::new("").with("long", "a".repeat(10_000_000));
    let start = Instant::now();
    let mut each = Vec::new();
    for pattern in ["(a+)+$b", "(a|aa)+b", "(.*)*b", r"(a?){30}a{30}b"] {
        each.push(left.fails(json!({"type": "file_content", "path": "long", "pattern": pattern})));
    }
    insta::assert_snapshot!(each.join("\n"), @"
    `long` does not match `(a+)+$b`
    `long` does not match `(a|aa)+b`
    `long` does not match `(.*)*b`
    `long` does not match `(a?){30}a{30}b`
    ");
    // An engine that goes back would not end within anybody's life.
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
    let mut refusals = Vec::new();
    for pattern in ["(", "(?=a)", r"\w{500}{500}"] {
        let (key, told) = refusal(json!({"type": "regex", "pattern": pattern}));
        assert_eq!(key, "pattern");
        refusals.push(told.to_string());
    }
    insta::assert_snapshot!(redacted(&refusals.join("\n")), @"
    this is no regular expression: unclosed group
    this is no regular expression: look-around, including look-ahead and look-behind, is not supported
    the pattern is too large: compiled it takes more than [HASH] bytes
    ");
}

#[test]
fn a_file_that_is_too_large_or_waits_for_somebody_is_no_trap() {
    let left = Left::new("");
    let large = fs::File::create(left.path("large")).expect("made");
    large.set_len(1 << 40).expect("a file with nothing in it");
    insta::assert_snapshot!(left.is_error(json!({"type": "file_content", "path": "large", "contains": "x"})), @"`large` has more than the 64 MiB that a check reads");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        left.path("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .expect("a pipe");
    insta::assert_snapshot!(left.fails(json!({"type": "file_content", "path": "pipe", "contains": "x"})), @"`pipe` is no regular file");
    left.passes(json!({"type": "file_exists", "path": "pipe"}));
}
