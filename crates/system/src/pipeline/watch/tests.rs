use std::fs;

use super::*;

/// A folder with one file, and a watch over it.
fn watched() -> (tempfile::TempDir, PathBuf, Watch) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("code.py");
    fs::write(&file, "1\n").expect("written");
    let (_, watch) =
        begin(folder.path(), &["*.py".to_owned()], &[], Made::default()).expect("listed");
    (folder, file, watch.expect("globs name files"))
}

#[test]
fn a_file_that_is_edited_before_the_first_call_is_found_out() {
    let (_folder, file, watch) = watched();
    assert_eq!(watch.look(), Seen::Same);
    fs::write(&file, "2\n").expect("written");
    assert_eq!(watch.look(), Seen::Changed);
    assert_eq!(watch.changes(), "`code.py` was written to");
    fs::write(&file, "1\n").expect("written");
    assert_eq!(watch.look_at_the_end(), Seen::Changed);
}

#[test]
fn an_edit_right_after_the_code_was_written_is_told_from_it() {
    for round in 0..20 {
        let (_folder, file, watch) = watched();
        // The same size, within the step of the clock of many file systems.
        fs::write(&file, "2\n").expect("written");
        assert_eq!(watch.look(), Seen::Changed, "round {round}");
    }
}

#[test]
fn a_new_file_is_a_change_at_the_end_and_until_then_may_be_taken_away() {
    let (folder, _, watch) = watched();
    let new = folder.path().join("new.py");
    fs::write(&new, "").expect("written");
    assert_eq!(watch.look(), Seen::Unsure);
    fs::remove_file(&new).expect("removed");
    assert_eq!(watch.look(), Seen::Same);
    assert_eq!(watch.look_at_the_end(), Seen::Same);
    fs::write(&new, "").expect("written");
    assert_eq!(watch.look(), Seen::Unsure);
    assert_eq!(watch.look_at_the_end(), Seen::Changed);
    assert_eq!(watch.changes(), "`new.py` is new");
}

#[test]
fn a_new_file_that_stays_longer_than_any_call_is_a_change() {
    let (folder, _, watch) = watched();
    fs::write(folder.path().join("new.py"), "").expect("written");
    assert_eq!(watch.look(), Seen::Unsure);
    std::thread::sleep(STAY + Duration::from_millis(50));
    assert_eq!(watch.look(), Seen::Changed);
}

#[test]
fn a_look_that_is_dear_waits_for_a_call_that_is_dearer() {
    let (_folder, _, watch) = watched();
    {
        let mut state = watch.state();
        state.cost = Duration::from_secs(1);
        state.ended = Instant::now();
    }
    assert!(!watch.is_due(Duration::from_secs(2)));
    assert!(watch.is_due(Duration::from_secs(30)));
}

#[test]
fn many_changes_are_counted() {
    let (_folder, _, watch) = watched();
    let file = |number: u8| PathChange::File(number.to_string().into(), "is new");
    watch.state().changes = (0..8).map(file).collect();
    let told = watch.changes();
    assert!(told.ends_with("`4` is new, and 3 more"), "{told}");
}

#[test]
fn data_that_the_first_call_has_written_to_is_named_for_gitignore_and_code_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let repository = git2::Repository::init(folder.path()).expect("made");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("code.py", "1\n");
    let mut index = repository.index().expect("read");
    index.add_path(Path::new("code.py")).expect("added");
    index.write().expect("written");
    for name in ["state [1].json", "helper.py"] {
        write(name, "1\n");
    }
    let begin = || {
        let (_, watch) = begin(folder.path(), &[], &[], Made::default()).expect("listed");
        let watch = watch.expect("git names the files");
        watch.learns(true);
        watch
    };
    let watch = begin();
    for name in ["state [1].json", "helper.py", "code.py"] {
        write(name, "2\n");
    }
    assert_eq!(watch.look_at_the_end(), Seen::Changed);
    let lines: Vec<String> = watch.ignorable().into_iter().collect();
    assert_eq!(lines, [r"/state\ \[1\].json"]);
    assert_eq!(watch.damaged().as_deref(), Some("`code.py` was written to"));
    let rules = watch.left().into_iter().collect::<Vec<_>>().join("\n");
    fs::write(folder.path().join(".gitignore"), rules).expect("written");
    let ignored = |name: &str| repository.is_path_ignored(name).expect("asked");
    assert!(ignored("state [1].json") && !ignored("code.py") && !ignored("helper.py"));

    let watch = begin();
    fs::create_dir_all(folder.path().join("out")).expect("made");
    for name in ["out/a.csv", "out/b.csv", "trace.md", "index.bin"] {
        write(name, "1\n");
    }
    let lines: Vec<String> = watch.left().into_iter().collect();
    assert_eq!(lines, ["/index.bin", "/out/*.csv", "/trace.md"]);
    assert_eq!(watch.damaged(), None);
}
