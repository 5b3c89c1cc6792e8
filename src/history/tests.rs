use super::write::RunScene;
use super::*;
use crate::registry::Registry;
use kelvin_fixtures::report as fixture;
use kelvin_fixtures::text::redacted;

fn scene() -> RunScene {
    RunScene {
        configuration: "kelvin".to_owned(),
        branch: Some("main".to_owned()),
    }
}

fn refusal(root: &Path) -> String {
    match History::create(root) {
        Ok(_) => panic!("it was opened"),
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn every_report_comes_back_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut history = History::create(folder.path()).expect("made");
    for report in [
        fixture::good(),
        fixture::bad(),
        fixture::noisy(),
        fixture::unmeasured(),
        fixture::hostile("'; DROP TABLE runs; --"),
    ] {
        let id = history.record(&report, &scene()).expect("recorded");
        let wanted = WantedRun::read(&id[..6]).expect("it can name a run");
        assert_eq!(history.find(&wanted).expect("read"), Some(id.clone()));
        assert_eq!(
            history.report(&id, Registry::shipped()).expect("read"),
            report
        );
    }
    let runs = history.runs(3).expect("listed");
    assert_eq!(runs.len(), 3);
    let latest = history.find(&WantedRun::Back(0)).expect("read");
    assert_eq!(latest.as_deref(), Some(&*runs[2].id));
    let previous = history.find(&WantedRun::Back(1)).expect("read");
    assert_eq!(previous.as_deref(), Some(&*runs[1].id));
    assert_eq!(history.find(&WantedRun::Back(5)).expect("read"), None);
    let mode: String = history
        .connection
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .expect("read");
    assert_eq!(mode, "wal");
}

#[test]
fn a_prefix_of_several_runs_names_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut history = History::create(folder.path()).expect("made");
    for id in ["abcd000001", "abcd000002"] {
        let recorded = history
            .record(&fixture::good(), &scene())
            .expect("recorded");
        history
            .connection
            .execute("UPDATE runs SET id = ? WHERE id = ?", [id, &*recorded])
            .expect("renamed");
    }
    let find = |text: &str| history.find(&WantedRun::read(text).expect("it can name a run"));
    let said = format!("{:#}", find("abcd").expect_err("there are two"));
    assert!(said.contains("abcd000001, abcd000002"), "{said}");
    assert_eq!(
        find("ABCD000002").expect("one").as_deref(),
        Some("abcd000002")
    );
    assert_eq!(find("dddd").expect("none"), None);
    for text in ["abc", "main", "", "%%%%", "xyz12"] {
        assert_eq!(WantedRun::read(text), None, "{text}");
    }
}

#[test]
fn the_oldest_runs_go_with_all_their_items() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut history = History::create(folder.path()).expect("made");
    let mut ids = Vec::new();
    for _ in 0..5 {
        let report = fixture::half();
        ids.push(
            history
                .record_within(&report, &scene(), 3)
                .expect("recorded"),
        );
    }
    let runs = history.runs(10).expect("listed");
    let left: Vec<&str> = runs.iter().map(|run| &*run.id).collect();
    assert_eq!(left, ids[2..]);
    let items: i64 = history
        .connection
        .query_row("SELECT count(DISTINCT run) FROM items", [], |row| {
            row.get(0)
        })
        .expect("counted");
    assert_eq!(items, 3);
}

#[test]
fn a_run_takes_less_than_half_the_room_of_its_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut history = History::create(folder.path()).expect("made");
    let report = fixture::large(200);
    let mut text = Vec::new();
    kelvin_gate::report::json::write(&mut text, &report).expect("memory takes it");
    history.record(&report, &scene()).expect("recorded");
    drop(history);
    let size = std::fs::metadata(folder.path().join(FILE))
        .expect("there")
        .len();
    assert!(size * 2 < text.len() as u64, "{size} of {}", text.len());
}

#[test]
fn a_newer_database_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut history = History::create(folder.path()).expect("made");
    history
        .record(&fixture::half(), &scene())
        .expect("recorded");
    history
        .connection
        .pragma_update(None, "user_version", 7)
        .expect("set");
    drop(history);
    let before = everything(folder.path());
    let said = refusal(folder.path());
    insta::assert_snapshot!(redacted(&said), @"
    the history `[TEMP]/.kelvin/history.db` was written by a newer kelvin (version 7, this one knows up to 4) and is left as it is
      help: update kelvin, or move the file away to begin a new history
    ");
    assert_eq!(everything(folder.path()), before);
}

/// Every file beside the database, with its bytes.
fn everything(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(root.join(".kelvin")).expect("listed");
    let mut files: Vec<(PathBuf, Vec<u8>)> = entries
        .map(|entry| {
            let path = entry.expect("listed").path();
            let bytes = std::fs::read(&path).expect("read");
            (path, bytes)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn what_is_no_database_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join(".kelvin")).expect("made");
    let file = folder.path().join(FILE);
    let mut told = Vec::new();
    for bytes in [&b"text"[..], &[0xff; 4096], b"SQLite format 3\0"] {
        std::fs::write(&file, bytes).expect("written");
        let said = refusal(folder.path());
        told.push(redacted(&said));
        assert_eq!(std::fs::read(&file).expect("read"), bytes);
    }
    std::fs::remove_file(&file).expect("removed");
    std::fs::create_dir(&file).expect("made");
    told.push(redacted(&refusal(folder.path())));
    insta::assert_snapshot!(told.join("\n"), @"
    `[TEMP]/.kelvin/history.db` is no history of kelvin
      help: move it away; the next check makes a new one
    `[TEMP]/.kelvin/history.db` is no history of kelvin
      help: move it away; the next check makes a new one
    `[TEMP]/.kelvin/history.db` is no history of kelvin
      help: move it away; the next check makes a new one
    the history `[TEMP]/.kelvin/history.db` is no file
    ");
}

#[test]
fn a_damaged_database_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut history = History::create(folder.path()).expect("made");
    let id = history
        .record(&fixture::half(), &scene())
        .expect("recorded");
    history
        .connection
        .execute("UPDATE items SET record = x'00'", [])
        .expect("damaged");
    let error = history
        .report(&id, Registry::shipped())
        .expect_err("it is damaged");
    assert!(format!("{error:#}").contains("damaged"), "{error:#}");
    drop(history);
    let file = folder.path().join(FILE);
    let mut bytes = std::fs::read(&file).expect("read");
    bytes[100..].fill(0xa5);
    std::fs::write(&file, &bytes).expect("written");
    refusal_or_error(folder.path());
}

fn refusal_or_error(root: &Path) {
    let done =
        History::create(root).and_then(|mut history| history.record(&fixture::half(), &scene()));
    assert!(done.is_err());
}

#[test]
fn an_older_database_takes_the_steps_it_lacks_and_only_these() {
    let steps = [
        "CREATE TABLE runs (id TEXT); INSERT INTO runs VALUES ('first')",
        "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'none'",
        "CREATE TABLE more (id TEXT)",
    ];
    let mut connection = Connection::open_in_memory().expect("opened");
    migrate::run(&mut connection, &steps[..1]).expect("the first");
    migrate::run(&mut connection, &steps).expect("the others");
    migrate::run(&mut connection, &steps).expect("nothing");
    let (runs, note): (i64, String) = connection
        .query_row("SELECT count(*), min(note) FROM runs", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .expect("read");
    assert_eq!((runs, note.as_str()), (1, "none"));
    let error = migrate::run(&mut connection, &steps[..2]).expect_err("it is newer");
    insta::assert_snapshot!(format!("{error:#}"), @"it was written by a newer kelvin (version 3, this one knows up to 2) and is left as it is: update kelvin, or move the file away");
}

#[test]
fn a_step_that_fails_leaves_the_database_at_its_version() {
    let steps = [
        "CREATE TABLE runs (id TEXT)",
        "CREATE TABLE a (id TEXT); nonsense",
    ];
    let mut connection = Connection::open_in_memory().expect("opened");
    migrate::run(&mut connection, &steps[..1]).expect("the first");
    let error = migrate::run(&mut connection, &steps).expect_err("it is nonsense");
    insta::assert_snapshot!(format!("{error:#}"), @r#"failed to bring it to version 2: near "nonsense": syntax error in  nonsense at offset 1: Error code 1: SQL logic error"#);
    let version: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .expect("read");
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
        .expect("read");
    assert_eq!((version, tables), (1, 1));
}

#[test]
fn a_sparkline_goes_from_the_least_to_the_largest() {
    let line = sparkline(&[Some(0.0), None, Some(0.5), Some(1.0)], None);
    assert_eq!(line, "▁·▅█");
    assert_eq!(sparkline(&[Some(0.3), Some(0.3)], None), "▄▄");
    assert_eq!(sparkline(&[None], None), "·");
    assert_eq!(sparkline(&[], None), "");
    // With ends a small change looks small, whatever the other values are.
    let ends = Some((0.0, 1.0));
    assert_eq!(sparkline(&[Some(0.98), Some(0.97)], ends), "██");
    assert_eq!(sparkline(&[Some(0.0), Some(1.0), Some(1.2)], ends), "▁██");
}
