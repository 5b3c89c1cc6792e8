use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use git2::{IndexAddOption, Repository, Signature};
use tempfile::TempDir;

use super::{Code, code};
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;

/// A work tree in a temporary folder.
struct Work(TempDir);

impl Work {
    fn new() -> Self {
        let work = Self(tempfile::tempdir().expect("a folder"));
        work.write("src/pipeline.py", "print(1)\n");
        work.write("README.md", "# Read me\n");
        work
    }

    /// With everything committed.
    fn committed() -> Self {
        let work = Self::new();
        Repository::init(work.root()).expect("made");
        work.commit();
        work
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.root().join(path), text);
    }

    fn commit(&self) -> String {
        commit(self.root())
    }

    fn code(&self) -> Code {
        self.code_with(&[], &[])
    }

    fn code_with(&self, globs: &[&str], exclude: &[&str]) -> Code {
        self.try_code(globs, exclude).expect("read")
    }

    fn try_code(&self, globs: &[&str], exclude: &[&str]) -> anyhow::Result<Code> {
        let globs: Vec<String> = globs.iter().map(|&glob| glob.to_owned()).collect();
        let exclude: Vec<PathBuf> = exclude.iter().map(|path| self.root().join(path)).collect();
        code(self.root(), &globs, &exclude)
    }

    fn digest(&self) -> Digest {
        self.code().digest.expect("a repository")
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

fn commit(folder: &Path) -> String {
    let repository = Repository::open(folder).expect("there");
    let mut index = repository.index().expect("there");
    index
        .add_all(["*"], IndexAddOption::DEFAULT, None)
        .expect("added");
    index.update_all(["*"], None).expect("updated");
    index.write().expect("written");
    let tree = index.write_tree().expect("written");
    let tree = repository.find_tree(tree).expect("there");
    let who = Signature::now("a", "a@example.org").expect("a signature");
    let head = repository.head().and_then(|head| head.peel_to_commit());
    let parents: Vec<_> = head.iter().collect();
    repository
        .commit(Some("HEAD"), &who, &who, "x", &tree, &parents)
        .expect("committed")
        .to_string()
}

#[test]
fn p9_the_same_content_has_the_same_fingerprint_committed_staged_or_neither() {
    let work = Work::committed();
    let before = work.digest();
    assert_eq!(before, Work::committed().digest(), "wherever it lies");
    work.write("src/pipeline.py", "print(2)\n");
    work.write("src/new folder/new.py", "print(3)\n");
    fs::remove_file(work.root().join("README.md")).expect("removed");
    let neither = work.code();
    assert_ne!(neither.digest, Some(before));
    assert!(neither.dirty);
    let repository = Repository::open(work.root()).expect("there");
    let mut index = repository.index().expect("there");
    index
        .add_all(["*"], IndexAddOption::DEFAULT, None)
        .expect("added");
    index.write().expect("written");
    let staged = work.code();
    assert_eq!((staged.digest, staged.dirty), (neither.digest, true));
    let head = work.commit();
    let committed = work.code();
    assert_eq!(committed.digest, neither.digest);
    assert_eq!((committed.commit, committed.dirty), (Some(head), false));
}

#[test]
fn what_another_run_wrote_is_no_code_unless_git_tracks_it() {
    let work = Work::committed();
    let before = work.digest();
    work.write("other output/.kelvin-run", "");
    work.write("other output/a/input.md", "x");
    assert_eq!(work.digest(), before);
    assert!(!work.code().dirty);
    work.write("other output.py", "x");
    assert_ne!(work.digest(), before);
    fs::remove_file(work.root().join("other output.py")).expect("removed");
    // A mark at the top would hide everything that is not committed yet.
    work.write(".kelvin-run", "");
    work.write("new.py", "x");
    assert_ne!(work.digest(), before);
    fs::remove_file(work.root().join(".kelvin-run")).expect("removed");
    fs::remove_file(work.root().join("new.py")).expect("removed");
    work.commit();
    assert_ne!(work.digest(), before, "a change cannot hide its code so");
}

#[test]
fn a_repository_before_its_first_commit_has_a_fingerprint() {
    let work = Work::new();
    Repository::init(work.root()).expect("made");
    let code = work.code();
    assert_eq!(code.digest, Some(Work::committed().digest()));
    assert_eq!((code.commit, code.dirty), (None, true));
}

#[test]
fn ignored_files_do_not_count_and_untracked_ones_do() {
    let work = Work::committed();
    work.write(".gitignore", "*.log\n/node_modules/\n");
    let before = work.digest();
    work.write("a.log", "x");
    work.write("node_modules/x/y.js", "x");
    assert_eq!(work.digest(), before);
    work.write("b.txt", "x");
    assert_ne!(work.digest(), before);
}

#[test]
fn what_is_excluded_changes_nothing_whether_git_knows_it_or_not() {
    let work = Work::committed();
    let exclude = [
        "cases",
        "kelvin",
        "odd [name]*",
        "kelvin.yaml",
        "/elsewhere",
    ];
    let digest = || work.code_with(&[], &exclude);
    let before = digest();
    assert!(!before.dirty);
    for path in [
        "cases/a.md",
        "kelvin/a/b.json",
        "odd [name]*/x",
        "kelvin.yaml",
    ] {
        work.write(path, "x");
    }
    assert_eq!(digest(), before, "untracked");
    work.write("odd n/x", "x");
    assert_ne!(digest().digest, before.digest);
    fs::remove_dir_all(work.root().join("odd n")).expect("removed");
    work.commit();
    assert_eq!(digest().digest, before.digest, "committed");
    work.write("cases/a.md", "edited");
    assert_eq!(digest().digest, before.digest, "edited");
    work.write("cases.md", "a name that only begins alike");
    assert_ne!(digest().digest, before.digest);
}

#[test]
fn the_whole_work_tree_counts_where_the_configuration_lies_below() {
    let work = Work::committed();
    work.write("evals/kelvin.yaml", "x");
    let below = || {
        code(&work.root().join("evals"), &[], &[])
            .expect("read")
            .digest
    };
    let before = below();
    work.write("src/pipeline.py", "print(2)\n");
    assert_ne!(below(), before);
}

#[test]
fn execute_permission_and_links_count() {
    let work = Work::committed();
    let before = work.digest();
    let path = work.root().join("src/pipeline.py");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
    let executable = work.digest();
    assert_ne!(executable, before);
    work.commit();
    assert_eq!(work.digest(), executable);
    let link = work.root().join("link");
    let mut digests = Vec::new();
    for target in ["src/pipeline.py", "README.md", "nowhere"] {
        let _ = fs::remove_file(&link);
        symlink(target, &link).expect("linked");
        let untracked = work.digest();
        work.commit();
        assert_eq!(work.digest(), untracked);
        digests.push(untracked);
    }
    digests.dedup();
    assert_eq!(digests.len(), 3);
    // A circle is no endless walk.
    symlink("..", work.root().join("src/up")).expect("linked");
    work.code_with(&["**/*.py"], &[]);
}

#[test]
fn a_repository_within_the_work_tree_counts_with_its_files() {
    let work = Work::committed();
    let inner = work.root().join("vendor/lib");
    Repository::init(&inner).expect("made");
    write(&inner.join("lib.py"), "1");
    let before = work.digest();
    commit(&inner);
    assert_eq!(work.digest(), before, "committing changes no content");
    write(&inner.join("lib.py"), "2");
    let edited = work.digest();
    assert_ne!(edited, before);
    // As a submodule, which is what adding it makes of it.
    commit(&inner);
    let repository = Repository::open(work.root()).expect("there");
    let mut index = repository.index().expect("there");
    index.add_path(Path::new("vendor/lib")).expect("added");
    index.write().expect("written");
    assert_eq!(
        index
            .get_path(Path::new("vendor/lib"), 0)
            .expect("there")
            .mode,
        0o160_000
    );
    assert_eq!(work.digest(), edited);
    write(&inner.join("lib.py"), "3");
    assert_ne!(work.digest(), edited);
}

#[test]
fn without_a_repository_only_globs_tell_the_code() {
    let work = Work::new();
    assert_eq!(
        work.code(),
        Code {
            digest: None,
            commit: None,
            dirty: false
        }
    );
    let of = |globs: &[&str]| {
        work.code_with(globs, &["cases", "kelvin"])
            .digest
            .expect("named")
    };
    let before = of(&["src/**/*.py"]);
    assert_eq!(before, of(&["./src/**/*.py"]));
    assert_eq!(before, of(&["src"]), "a folder means all that is in it");
    assert_eq!(before, of(&["src/pipeline.py"]));
    assert_ne!(before, of(&["**/*"]));
    let whole = of(&["."]);
    work.write("README.md", "# Edited\n");
    work.write("src/notes.txt", "x");
    work.write("kelvin/report.json", "x");
    assert_eq!(of(&["src/**/*.py"]), before);
    assert_ne!(of(&["**"]), whole);
    work.write("src/deep/er.py", "x");
    assert_ne!(of(&["src/**/*.py"]), before);
    assert_eq!(of(&["src/*.py"]), before, "a star is no path");
    let inside = code(&work.root().join("src"), &["../README.md".to_owned()], &[]);
    assert!(inside.expect("read").digest.is_some());
}

#[test]
fn globs_narrow_what_git_would_tell_and_keep_the_commit() {
    let work = Work::committed();
    let before = work.code_with(&["src/**"], &[]);
    assert!(before.commit.is_some());
    work.write("README.md", "# Edited\n");
    let after = work.code_with(&["src/**"], &[]);
    assert_eq!(after.digest, before.digest);
    assert!(after.dirty);
}

#[test]
fn a_glob_that_names_no_file_is_refused() {
    let work = Work::new();
    for glob in ["src/*.rb", "nowhere/**", "nowhere.py"] {
        let error = work.try_code(&["src", glob], &[]).expect_err("refused");
        let misuse = error
            .downcast_ref::<Misuse>()
            .expect("the user can mend it");
        assert!(misuse.what.contains(glob), "{misuse}");
    }
}

#[test]
fn an_unreadable_file_is_told_or_counted_but_never_a_crash() {
    let work = Work::committed();
    work.write("secret", "x");
    let path = work.root().join("secret");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("set");
    assert!(work.code().digest.is_some());
    if fs::read(&path).is_err() {
        let error = work.try_code(&["secret"], &[]).expect_err("refused");
        assert!(format!("{error:#}").contains("secret"), "{error:#}");
    }
}

#[test]
fn a_file_that_git_was_told_not_to_look_at_is_looked_at() {
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        let work = Work::committed();
        let before = work.code();
        let marked = std::process::Command::new("git")
            .args(["update-index", mark, "src/pipeline.py"])
            .current_dir(work.root())
            .status();
        assert!(marked.expect("git starts").success());
        assert_eq!(work.code(), before, "{mark}");
        work.write("src/pipeline.py", "print(2)\n");
        let after = work.code();
        assert_ne!(after.digest, before.digest, "{mark}");
        assert!(after.dirty, "{mark}");
        fs::remove_file(work.root().join("src/pipeline.py")).expect("removed");
        // A sparse checkout leaves files out, and stays the checkout of its commit.
        let is_sparse = mark == "--skip-worktree";
        assert_eq!(work.code() == before, is_sparse, "{mark}");
    }
}

#[test]
fn a_repository_of_another_user_is_read_all_the_same() {
    let work = Work::committed();
    work.write("src/pipeline.py", "print(2)\n");
    let own = work.code();
    let mut paths = vec![work.root().to_path_buf(), work.root().join(".git")];
    while let Some(path) = paths.pop() {
        // Only root may give files away, and the owner is only checked where it is another.
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
            return;
        }
    }
    assert_eq!(
        Repository::open(work.root())
            .err()
            .map(|error| error.code()),
        Some(git2::ErrorCode::Owner)
    );
    assert_eq!(work.code(), own);
    assert_eq!(code(&work.root().join("src"), &[], &[]).expect("read"), own);
}

#[test]
fn a_broken_repository_is_as_good_as_none() {
    let work = Work::committed();
    fs::write(work.root().join(".git/index"), "nonsense").expect("written");
    assert_eq!(work.code().digest, None);
    fs::write(work.root().join(".git/HEAD"), "nonsense").expect("written");
    work.code();
    assert!(work.code_with(&["src"], &[]).digest.is_some());
}
