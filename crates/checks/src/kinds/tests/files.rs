//! Checks of files: what there is, what is in them, and no way out of the workspace.

use super::*;

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
    for check in ["file_exists", "file_absent"] {
        left.is_error(
            json!({"type": check, "path": "outside"}),
            "leads out of the workspace",
        );
    }
}

#[test]
fn inv_07_a_path_that_leads_out_is_refused_before_anything_runs() {
    for path in ["../x", "/etc/passwd", "a/../../x", "..", ""] {
        let (key, what) = refusal(json!({"type": "file_exists", "path": path}));
        assert_eq!(key, "path");
        assert!(what.contains("leads out of the workspace"), "{what}");
        let content = json!({"type": "file_content", "path": path, "contains": "x"});
        assert_eq!(refusal(content).0, "path");
    }
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
    left.fails(
        on(json!({"contains": "three", "pattern": "one"})),
        "does not contain `three`",
    );
    left.fails(
        on(json!({"not_contains": "two", "contains": "one"})),
        "contains `two`",
    );
    left.fails(on(json!({"pattern": "^two"})), "does not match `^two`");
    left.passes(on(json!({"pattern": "(?m)^two"})));
    left.passes(on(json!({"pattern": "wo 2"})));
    left.fails(
        json!({"type": "file_content", "path": "gone", "contains": "x"}),
        "`gone` is not there",
    );
    // A file that is not there has nothing in it, and is not what the opposite asks for either.
    left.fails(
        json!({"type": "file_content", "path": "gone", "contains": "x", "not": true}),
        "`gone` is not there",
    );
    left.passes(on(json!({"contains": "three", "not": true})));
    left.fails(
        json!({"type": "file_content", "path": ".", "contains": "x"}),
        "is a folder",
    );
    left.demand(
        json!({"type": "file_content", "path": "bad", "contains": "a"}),
        Outcome::Passed,
        Some(1.0),
        "not UTF-8",
    );
    let (key, what) = refusal(json!({"type": "file_content", "path": "log"}));
    assert_eq!((key, what.contains("nothing is asked")), ("", true));
}

#[test]
fn inv_11_a_pattern_that_explodes_elsewhere_takes_linear_time_and_a_bad_one_is_refused() {
    let left = Left::new("").with("long", "a".repeat(10_000_000));
    let start = Instant::now();
    for pattern in ["(a+)+$b", "(a|aa)+b", "(.*)*b", r"(a?){30}a{30}b"] {
        left.fails(
            json!({"type": "file_content", "path": "long", "pattern": pattern}),
            "does not match",
        );
    }
    // An engine that goes back would not end within anybody's life.
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
    for (pattern, what) in [
        ("(", "no regular expression: unclosed group"),
        ("(?=a)", "look-around"),
        (r"\w{500}{500}", "too large"),
    ] {
        let (key, told) = refusal(json!({"type": "regex", "pattern": pattern}));
        assert_eq!(key, "pattern");
        assert!(told.contains(what), "{pattern}: {told}");
    }
}

#[test]
fn a_file_that_is_too_large_or_waits_for_somebody_is_no_trap() {
    let left = Left::new("");
    let large = fs::File::create(left.path("large")).expect("made");
    large.set_len(1 << 40).expect("a file with nothing in it");
    left.is_error(
        json!({"type": "file_content", "path": "large", "contains": "x"}),
        "more than the 64 MiB",
    );
    rustix::fs::mknodat(
        rustix::fs::CWD,
        left.path("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .expect("a pipe");
    left.fails(
        json!({"type": "file_content", "path": "pipe", "contains": "x"}),
        "no regular file",
    );
    left.passes(json!({"type": "file_exists", "path": "pipe"}));
}
