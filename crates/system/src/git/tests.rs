use std::process::Command as Process;

use super::*;

fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let said = Process::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git starts");
    assert!(said.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}

fn around(folder: &Path) -> Repository {
    Repository::around(folder, AcceptedOwners::Checked).expect("it opens")
}

#[test]
fn a_reference_is_moved_only_from_where_it_was_seen() {
    let name = "refs/kelvin/x";
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    git_in(folder, &["init", "--quiet"]);
    git_in(folder, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
    let repo = around(folder);
    let first = repo.head().expect("there").target().expect("a commit");
    git_in(folder, &["commit", "--quiet", "--allow-empty", "-m", "two"]);
    let second = id(&git_in(folder, &["rev-parse", "HEAD"])).expect("a name");
    let point = |to, from| repo.point(name, to, from, "why").expect("written");
    assert!(point(first, Some(None)));
    assert!(!point(second, Some(None)));
    assert!(!point(second, Some(Some(second))));
    assert_eq!(repo.refname_to_id(name).ok(), Some(first));
    assert!(point(second, Some(Some(first))));
    assert_eq!(repo.refname_to_id(name).ok(), Some(second));
    assert!(point(first, None));
    assert_eq!(git_in(folder, &["rev-parse", name]), first.to_string());
    assert!(repo.point("refs/heads/a..b", first, None, "why").is_err());
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn a_reftable_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut git = Process::new("git");
    let made = git
        .args(["init", "--quiet", "--ref-format=reftable"])
        .current_dir(folder.path())
        .status();
    if !made.is_ok_and(|ended| ended.success()) {
        eprintln!("SKIPPED: this git makes no reftable");
        return;
    }
    let why = unread(folder.path()).expect("it cannot be read");
    assert!(
        why.contains("reftable") && why.contains("`git refs migrate --ref-format=files`"),
        "{why}"
    );
}

#[test]
fn the_name_of_an_object_tells_its_format() {
    for (name, format) in [
        ("a".repeat(40), ObjectFormat::Sha1),
        ("b".repeat(64), ObjectFormat::Sha256),
    ] {
        let found = id(&name).expect("a name");
        assert_eq!((found.object_format(), found.to_string()), (format, name));
    }
    for wrong in [
        String::new(),
        "x".repeat(40),
        "a".repeat(41),
        "a".repeat(65),
    ] {
        assert!(id(&wrong).is_err(), "{wrong}");
    }
}
