use std::fs;
use std::process::Command as Process;

use super::*;

/// A repository with a reftable, one commit and one tag; none where this git does not make one.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn with_reftable() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    let form = [
        "init",
        "--quiet",
        "--initial-branch=main",
        "--ref-format=reftable",
    ];
    let mut git = Process::new("git");
    let made = git.args(form).current_dir(folder.path()).status();
    if !made.is_ok_and(|ended| ended.success()) {
        eprintln!("SKIPPED: this git makes no reftable");
        return None;
    }
    fs::write(folder.path().join("file"), "1").expect("written");
    git_in(folder.path(), &["add", "--all"]);
    git_in(folder.path(), &["commit", "--quiet", "-m", "one"]);
    git_in(folder.path(), &["tag", "-a", "-m", "tag", "v1"]);
    Some(folder)
}

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
    Repository::around(folder, Owner::Checked).expect("it opens")
}

#[test]
fn a_view_has_every_reference_and_sees_what_has_moved_after_it_was_renewed() {
    let Some(folder) = with_reftable() else {
        return;
    };
    let folder = folder.path();
    git_in(folder, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let head = [
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ];
    git_in(folder, &head);
    let repo = around(folder);
    let first = id(&git_in(folder, &["rev-parse", "HEAD"])).expect("a name");
    assert_eq!(repo.head().expect("there").target(), Some(first));
    assert_eq!(repo.head().expect("there").shorthand(), Ok("main"));
    let symbolic = repo
        .find_reference("refs/remotes/origin/HEAD")
        .expect("there");
    assert_eq!(
        symbolic.symbolic_target(),
        Ok(Some("refs/remotes/origin/main"))
    );
    let tagged = repo.revparse_single("v1").expect("there").peel_to_commit();
    assert_eq!(tagged.expect("a commit").id(), first);
    assert_eq!(
        repo.commondir().canonicalize().ok(),
        folder.join(".git").canonicalize().ok()
    );
    git_in(folder, &["commit", "--quiet", "--allow-empty", "-m", "two"]);
    git_in(
        folder,
        &["symbolic-ref", "--delete", "refs/remotes/origin/HEAD"],
    );
    repo.renew().expect("it can be read");
    let second = id(&git_in(folder, &["rev-parse", "HEAD"])).expect("a name");
    assert_ne!(first, second);
    assert_eq!(repo.head().expect("there").target(), Some(second));
    assert!(repo.find_reference("refs/remotes/origin/HEAD").is_err());
    git_in(folder, &["checkout", "--quiet", "--detach", "HEAD~1"]);
    repo.renew().expect("it can be read");
    assert_eq!(repo.head().expect("there").target(), Some(first));
    assert!(repo.head_detached().expect("told"));
}

#[test]
fn a_reference_is_moved_only_from_where_it_was_seen() {
    let Some(folder) = with_reftable() else {
        return;
    };
    let name = "refs/kelvin/x";
    let ordinary = tempfile::tempdir().expect("a folder");
    git_in(ordinary.path(), &["init", "--quiet"]);
    git_in(
        ordinary.path(),
        &["commit", "--quiet", "--allow-empty", "-m", "one"],
    );
    for folder in [ordinary.path(), folder.path()] {
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
}

#[test]
fn no_hook_is_run_and_no_login_is_written_down() {
    let Some(folder) = with_reftable() else {
        return;
    };
    let folder = folder.path();
    let hook = folder.join(".git/hooks/reference-transaction");
    fs::create_dir_all(hook.parent().expect("it has one")).expect("made");
    fs::write(
        &hook,
        format!("#!/bin/sh\n: > '{}'\n", folder.join("ran").display()),
    )
    .expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, mode).expect("set");
    for (name, value) in [
        (
            "http.https://github.com/.extraheader",
            "AUTHORIZATION: basic c2VjcmV0",
        ),
        ("remote.origin.url", "https://github.com/acme/widgets"),
        ("alias.for-each-ref", "!touch ran"),
        ("core.pager", "touch ran"),
        ("core.fsmonitor", "touch ran"),
        // What git knows and libgit2 does not.
        ("extensions.partialClone", "origin"),
        ("url.https://\"a\\b\".insteadOf", "x\ny\tz: #;\\"),
    ] {
        git_in(folder, &["config", name, value]);
    }
    fs::write(
        folder.join("more.config"),
        "[user]\nname = \"a # \\\"b\\\" \\\\ ;\"\n",
    )
    .expect("written");
    git_in(folder, &["config", "include.path", "../more.config"]);
    let repo = around(folder);
    let first = repo.head().expect("there").target().expect("a commit");
    assert!(
        repo.point("refs/kelvin/x", first, None, "why")
            .expect("written")
    );
    assert!(!folder.join("ran").exists());
    let config = fs::read_to_string(repo.path().join("config")).expect("read");
    assert!(
        !config.contains("c2VjcmV0") && !config.contains("refstorage"),
        "{config}"
    );
    let settings = repo.config().expect("read");
    assert_eq!(
        settings.get_string("user.name").ok().as_deref(),
        Some("a # \"b\" \\ ;")
    );
    assert_eq!(
        settings.get_string("url.https://\"a\\b\".insteadof").ok(),
        Some("x\ny\tz: #;\\".to_owned())
    );
    let remote = repo.find_remote("origin").expect("there");
    assert_eq!(remote.url(), Ok("https://github.com/acme/widgets"));
    let data = fs::metadata(repo.path()).expect("there");
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&data) & 0o777, 0o700);
    let place = repo.path().to_owned();
    drop(remote);
    drop(repo);
    assert!(!place.exists());
}

#[test]
fn a_repository_before_its_first_commit_has_a_branch_and_no_commit() {
    let Some(folder) = with_reftable() else {
        return;
    };
    git_in(
        folder.path(),
        &["symbolic-ref", "HEAD", "refs/heads/unborn"],
    );
    let repo = around(folder.path());
    let error = repo.head().err().expect("no commit");
    assert_eq!(error.code(), ErrorCode::UnbornBranch);
}

#[test]
fn a_repository_of_another_user_is_opened_only_where_that_was_asked_for() {
    let Some(folder) = with_reftable() else {
        return;
    };
    let mut paths = vec![folder.path().to_owned()];
    while let Some(path) = paths.pop() {
        // Only root may give files away, and the owner is only checked where it is another.
        if std::os::unix::fs::lchown(&path, Some(12_345), None).is_err() {
            return;
        }
        let below = fs::read_dir(&path).into_iter().flatten().flatten();
        paths.extend(below.map(|entry| entry.path()));
    }
    let top = folder.path().canonicalize().expect("there");
    let refused = Repository::around(folder.path(), Owner::Checked).err();
    assert!(
        matches!(&refused, Some(Closed::Foreign(found)) if *found == top),
        "{refused:?}"
    );
    let repo = Repository::around(folder.path(), Owner::Anybody).expect("it opens");
    assert!(repo.head().is_ok());
    assert_eq!(
        repo.trust(),
        Some(format!("safe.directory={}", top.display()))
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

#[test]
fn what_git_has_said_is_told_in_one_line() {
    let Some(folder) = with_reftable() else {
        return;
    };
    git_in(folder.path(), &["config", "extensions.ofTomorrow", "true"]);
    let why = unread(folder.path()).expect("it cannot be read");
    assert!(
        why.contains("unknown repository extension found: oftomorrow"),
        "{why}"
    );
    assert!(!why.contains('\n'), "{why}");
}
