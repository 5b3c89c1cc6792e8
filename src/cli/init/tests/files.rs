//! What is there already, and what comes beside it.

use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;

use super::{complete, load, project, request, run};
use crate::cli::init::Request;
use crate::registry::Registry;
use kelvin_base::exit::Exit;

#[test]
fn nothing_is_overwritten_without_force() {
    let folder = project();
    let config = folder.path().join("kelvin.yaml");
    fs::write(&config, "mine").expect("written");
    let error = run(&complete(folder.path()), None).0.expect_err("refused");
    assert_eq!(Exit::of(&error), Exit::Misused);
    assert!(error.to_string().contains("--force"), "{error}");
    assert_eq!(fs::read(&config).expect("read"), b"mine");
    let forced = Request {
        force: true,
        ..complete(folder.path())
    };
    assert_eq!(run(&forced, None).0.expect("written"), Exit::Passed);
    load(folder.path());
}

#[test]
fn a_workflow_that_is_there_is_kept_unless_forced() {
    let folder = project();
    let place = folder.path().join(".github/workflows");
    fs::create_dir_all(&place).expect("made");
    fs::write(place.join("kelvin.yml"), "mine").expect("written");
    let request = Request {
        workflow: Some(true),
        ..complete(folder.path())
    };
    let error = run(&request, None).0.expect_err("refused");
    assert!(error.to_string().contains("kelvin.yml"), "{error}");
    assert!(!folder.path().join("kelvin.yaml").exists());
    assert_eq!(
        run(
            &Request {
                force: true,
                ..request.clone()
            },
            None
        )
        .0
        .expect("written"),
        Exit::Passed
    );
    assert_ne!(fs::read(place.join("kelvin.yml")).expect("read"), b"mine");
    fs::remove_file(folder.path().join("kelvin.yaml")).expect("removed");
    assert_eq!(
        run(&request, None).0.expect("it is as it would be"),
        Exit::Passed
    );
}

#[test]
fn a_gitignore_keeps_its_lines_and_gets_ours_once() {
    for (before, after) in [
        ("", "/kelvin/\n/.kelvin-cache/\n/.kelvin/history.db*\n"),
        (
            "target",
            "target\n/kelvin/\n/.kelvin-cache/\n/.kelvin/history.db*\n",
        ),
        (
            "a\r\nb\r\n",
            "a\r\nb\r\n/kelvin/\r\n/.kelvin-cache/\r\n/.kelvin/history.db*\r\n",
        ),
        (
            "kelvin\n",
            "kelvin\n/.kelvin-cache/\n/.kelvin/history.db*\n",
        ),
        (
            "kelvin/\n.kelvin-cache\n",
            "kelvin/\n.kelvin-cache\n/.kelvin/history.db*\n",
        ),
    ] {
        let folder = project();
        let path = folder.path().join(".gitignore");
        fs::write(&path, before).expect("written");
        let request = Request {
            gitignore: Some(true),
            force: true,
            ..complete(folder.path())
        };
        for _ in 0..2 {
            assert_eq!(run(&request, None).0.expect("written"), Exit::Passed);
            assert_eq!(fs::read_to_string(&path).expect("read"), after);
        }
    }
}

#[test]
fn what_lies_beside_the_configuration_is_installed_and_otherwise_what_lies_at_the_top() {
    let top = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(top.path().join(".git")).expect("made");
    let inner = top.path().join("my pipeline");
    fs::rename(project().path(), &inner).expect("moved");
    let request = Request {
        workflow: Some(true),
        force: true,
        ..complete(&inner)
    };
    let workflow = top.path().join(".github/workflows/kelvin.yml");
    let setup = || {
        assert_eq!(run(&request, None).0.expect("written"), Exit::Passed);
        let text = fs::read_to_string(&workflow).expect("read");
        let (_, behind) = text.split_once("setup: ")?;
        let (setup, _) = behind.split_once(", base-repeats")?;
        Some(setup.to_owned())
    };
    assert_eq!(setup(), None);
    for (file, command) in [
        ("package-lock.json", r#""npm ci""#),
        (
            "my pipeline/package-lock.json",
            r#""npm ci --prefix 'my pipeline'""#,
        ),
        (
            "my pipeline/requirements.txt",
            r#""pip install -r 'my pipeline/requirements.txt'""#,
        ),
    ] {
        fs::write(top.path().join(file), "").expect("written");
        assert_eq!(setup().as_deref(), Some(command), "{file}");
    }
}

#[test]
fn in_a_repository_the_workflow_stands_at_its_top_and_names_the_configuration() {
    let top = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(top.path().join(".git")).expect("made");
    fs::write(top.path().join("requirements.txt"), "").expect("written");
    let inner = top.path().join("my pipeline");
    fs::rename(project().path(), &inner).expect("moved");
    let request = Request {
        workflow: Some(true),
        ..complete(&inner)
    };
    assert_eq!(run(&request, None).0.expect("written"), Exit::Passed);
    let text = fs::read_to_string(top.path().join(".github/workflows/kelvin.yml")).expect("read");
    insta::assert_snapshot!(lines_with(&text, &["kelvin.yaml"]), @r#"        with: { config: "my pipeline/kelvin.yaml", setup: "pip install -r requirements.txt", base-repeats: 5, comment: later }"#);
    let post = top.path().join(".github/workflows/kelvin-post.yml");
    let post = fs::read_to_string(post).expect("read");
    // The name of the configuration is read from the file.
    let with = "        with: { config: \"my pipeline/kelvin.yaml\" }\n";
    assert!(post.ends_with(with), "{post}");
    assert!(text.contains("branches: [main]"), "{text}");
    // In a repository the output folder is kept out of it without being asked.
    assert!(inner.join(".gitignore").exists() && !top.path().join(".gitignore").exists());
}

#[test]
fn the_workflows_alone_are_written_beside_a_configuration_that_is_there() {
    let folder = project();
    fs::create_dir(folder.path().join(".git")).expect("made");
    assert_eq!(
        run(&complete(folder.path()), None).0.expect("written"),
        Exit::Passed
    );
    let before = fs::read(folder.path().join("kelvin.yaml")).expect("read");
    let alone = Request {
        workflow: Some(true),
        ..request(folder.path())
    };
    // A further answer is for another configuration, and that is not overwritten.
    let more = Request {
        run: Some("./other.sh {input} {output}".to_owned()),
        ..alone.clone()
    };
    let error = run(&more, None).0.expect_err("refused").to_string();
    assert!(error.contains("`kelvin init --workflow`"), "{error}");

    let (ended, said) = run(&alone, None);
    assert_eq!(ended.expect("written"), Exit::Passed);
    let place = folder.path().join(".github/workflows");
    let post = fs::read_to_string(place.join("kelvin-post.yml")).expect("read");
    assert!(post.contains("workflow_run"), "{post}");
    assert!(place.join("kelvin.yml").is_file(), "{said}");
    assert_eq!(
        fs::read(folder.path().join("kelvin.yaml")).expect("read"),
        before
    );
    let (ended, said) = run(&alone, None);
    assert_eq!(ended.expect("nothing to do"), Exit::Passed);
    insta::assert_snapshot!(redacted(&lines_with(&said, &["kelvin.yml", "kelvin-post.yml"])), @"
    [TEMP]/.github/workflows/kelvin.yml is there already
    [TEMP]/.github/workflows/kelvin-post.yml is there already
    ");

    // One that is missing is not written beside one that is another.
    fs::remove_file(place.join("kelvin.yml")).expect("removed");
    fs::write(place.join("kelvin-post.yml"), "mine").expect("written");
    let error = run(&alone, None).0.expect_err("refused").to_string();
    insta::assert_snapshot!(redacted(&error), @"
    `[TEMP]/.github/workflows/kelvin-post.yml` is there already, and is not what `kelvin init --workflow` would write
      help: move it away first; nothing was written
    ");
    assert!(!place.join("kelvin.yml").exists());
    fs::write(folder.path().join("kelvin.yaml"), "run: [\n").expect("written");
    fs::remove_file(place.join("kelvin-post.yml")).expect("removed");
    run(&alone, None)
        .0
        .expect_err("the configuration is no YAML");
    assert!(!place.join("kelvin-post.yml").exists());
}

#[test]
fn the_pages_of_a_repository_are_proposed_as_harmless_apart_from_what_the_answers_name() {
    let proposed = |pages: &[&str], cases: &str, in_git: bool| -> Vec<String> {
        let folder = project();
        let root = folder.path();
        for page in pages {
            let path = root.join(page);
            fs::create_dir_all(path.parent().expect("it has one")).expect("made");
            fs::write(path, "A page.\n").expect("written");
        }
        if in_git {
            fs::create_dir(root.join(".git")).expect("made");
        }
        if cases != "cases" {
            let to = root.join(cases);
            fs::create_dir_all(to.parent().expect("it has one")).expect("made");
            fs::rename(root.join("cases"), to).expect("moved");
        }
        let request = Request {
            cases: Some(cases.to_owned()),
            ..complete(root)
        };
        assert_eq!(run(&request, None).0.expect("written"), Exit::Passed);
        let file = root.join("kelvin.yaml");
        let text = fs::read_to_string(&file).expect("it was written");
        let config = Registry::shipped().configured_by(&text, &file);
        config.expect("it loads").harmless
    };
    let pages = ["README.md", "LICENSE", "docs/a.md", "notes.md"];
    // A pipeline may search the pages of a folder, so none is proposed.
    assert_eq!(proposed(&pages, "cases", true), ["LICENSE", "README.md"]);
    assert_eq!(
        proposed(&pages, "docs/cases", true),
        ["LICENSE", "README.md"]
    );
    assert!(proposed(&pages, "cases", false).is_empty());
    assert!(proposed(&["notes.md", "docs/a.py"], "cases", true).is_empty());
}
