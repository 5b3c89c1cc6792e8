//! A base whose code needs what git does not keep: the packages that are installed beside it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::project::{Project, Said};
use crate::repository::{commit, git, save, tells, verdict};

/// A search in a package below `src`, which needs a package that is installed.
const SEARCH: &str = "import installed\n\nPAGES = {'ship': 'parcel', 'pay': 'card', 'return': 'refund', 'warn': 'broken'}\n\n\
     def search(query):\n    found = [name for name, words in PAGES.items() if words in query]\n    return found\n";

/// The words of each page are those of another one.
const LOSS: (&str, &str) = ("in query]", "not in query][:1]");

/// A repository with such a search, and a change that finds nothing any more.
fn repository(settings: &str) -> (tempfile::TempDir, Project) {
    let project = Project::new("");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    project.write("src/shop/find.py", SEARCH);
    project.write(
        "questions.jsonl",
        "{\"query\": \"Where is my parcel?\", \"expected_doc_ids\": [\"ship\"]}\n\
         {\"query\": \"Do you take a card?\", \"expected_doc_ids\": [\"pay\"]}\n\
         {\"query\": \"May I have a refund?\", \"expected_doc_ids\": [\"return\"]}\n\
         {\"query\": \"Is a broken one covered?\", \"expected_doc_ids\": [\"warn\"]}\n",
    );
    project.write(
        "kelvin.yaml",
        &format!("retrieval:\n  run: {{python: \"shop.find:search\"}}\n  golden: questions.jsonl\njobs: 1\nharmless: []\n{settings}"),
    );
    let (remote, url) = crate::repository::bare();
    project.write(".gitignore", "/kelvin/\n__pycache__/\n.venv/\nindex.txt\n");
    let root = project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["remote", "add", "origin", &url]);
    commit(&project, "base");
    git(root, &["push", "--quiet", "origin", "main"]);
    (remote, project)
}

/// Makes an environment of Python with the package that the search needs, and with the search itself, installed in place.
/// Returns the folder of the packages.
fn environment(folder: &Path, project: &Project) -> PathBuf {
    let about =
        "import sys; print(sys.base_prefix, f'python{sys.version_info[0]}.{sys.version_info[1]}')";
    let about = Command::new("python3").args(["-c", about]).output();
    let about = String::from_utf8(about.expect("python starts").stdout).expect("text");
    let (prefix, version) = about.trim().rsplit_once(' ').expect("two words");
    let home = Path::new(prefix).join("bin");
    let packages = folder.join("lib").join(version).join("site-packages");
    fs::create_dir_all(&packages).expect("made");
    fs::create_dir(folder.join("bin")).expect("made");
    for name in ["python", "python3"] {
        symlink(home.join(version), folder.join("bin").join(name)).expect("linked");
    }
    let settings = format!("home = {}\n", home.display());
    fs::write(folder.join("pyvenv.cfg"), settings).expect("written");
    fs::write(packages.join("installed.py"), "").expect("written");
    let place = format!("{}\n", project.path("src").display());
    fs::write(packages.join("__editable__.shop-0.1.0.pth"), place).expect("written");
    packages
}

fn lose(project: &Project) {
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    let worse = SEARCH.replace(LOSS.0, LOSS.1);
    assert_ne!(worse, SEARCH);
    project.write("src/shop/find.py", &worse);
    commit(project, "worse");
}

fn found(judgement: &Value, side: &str) -> Value {
    judgement["metrics"]["retrieval.found"][side].clone()
}

#[test]
fn the_base_runs_with_the_environment_of_the_project_and_with_its_own_code() {
    for stored in [true, false] {
        let (_remote, project) = repository("baseline: {compute: true}\n");
        environment(&project.path(".venv"), &project);
        if stored {
            save(&project);
        }
        lose(&project);
        let said = project.kelvin(&["gate"]);
        let judgement = verdict(&project, &said);
        assert_eq!(said.code, Some(3), "{}", said.stdout);
        assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
        // What was installed in place from the work tree is the code of the base for the base.
        assert_eq!(found(&judgement, "base"), json!(1.0), "{}", said.stdout);
        assert_eq!(found(&judgement, "head"), json!(0.0), "{}", said.stdout);
        assert!(!tells(&judgement, "base_not_checked"), "{}", said.stdout);
    }
}

#[test]
fn a_change_of_a_package_is_not_held_against_a_base_that_has_the_same_package() {
    // The list of the package; how often the stored report of the base has run it, if there is one; and the verdicts on a
    // package that finds nothing any more, and on one that finds what it found.
    for (file, stored, of_loss, of_same) in [
        ("requirements.txt", None, "inconclusive", "inconclusive"),
        ("setup.py", Some("1"), "regression", "inconclusive"),
        ("requirements.txt", Some("3"), "regression", "pass"),
    ] {
        let (_remote, project) = repository("baseline: {compute: true}\n");
        let packages = environment(&project.path(".venv"), &project);
        let install = |version: &str, code: &str| {
            let list = format!("installed=={version}\n");
            project.write(file, &list);
            let code = format!("def best(found):\n    return {code}\n");
            fs::write(packages.join("installed.py"), code).expect("written");
        };
        let search = SEARCH.replace("return found", "return installed.best(found)");
        project.write("src/shop/find.py", &search);
        install("1.0", "found");
        commit(&project, "a package");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        if let Some(repeats) = stored {
            project.kelvin(&["check", "--repeats", repeats]).expect(0);
            project.kelvin(&["baseline", "save"]).expect(0);
        }
        for (code, wanted) in [("found[1:]", of_loss), ("found[:9]", of_same)] {
            git(
                project.root(),
                &["checkout", "--quiet", "-B", "change", "main"],
            );
            install("2.0", code);
            commit(&project, "upgrade");
            let said = project.kelvin(&["gate"]);
            let judgement = verdict(&project, &said);
            let all = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(judgement["verdict"], wanted, "{stored:?}, {code}: {all}");
            assert!(tells(&judgement, "base_not_checked"), "{all}");
            assert!(all.contains(&format!("the change edits `{file}`")), "{all}");
            if wanted == "regression" {
                assert_eq!(found(&judgement, "base"), json!(1.0), "{all}");
                assert_eq!(found(&judgement, "head"), json!(0.0), "{all}");
            }
            // A remark in the list is no other package.
            project.write(file, "# What it needs.\ninstalled==1.0\n");
            commit(&project, "a remark");
            let said = project.kelvin(&["gate"]);
            assert!(!tells(&verdict(&project, &said), "base_not_checked"));
        }
    }
}

#[test]
fn a_python_of_the_machine_that_leads_to_the_change_measures_no_base() {
    let (_remote, project) = repository("baseline: {compute: true}\n");
    let machine = project.folder().join("machine");
    environment(&machine, &project);
    let with = |arguments: &[&str]| {
        let mut command = project.command(arguments);
        let path = std::env::var("PATH").expect("a path");
        command.env("PATH", format!("{}/bin:{path}", machine.display()));
        Said::of(&mut command)
    };
    lose(&project);
    let said = with(&["gate"]);
    assert_eq!(verdict(&project, &said)["verdict"], "no_baseline");
    let all = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        all.contains("has a package that is installed in place from this work tree"),
        "{all}"
    );
    let doctor = with(&["doctor"]);
    assert!(
        doctor.stdout.contains("installed in place"),
        "{}",
        doctor.stdout
    );
}

#[test]
fn a_search_path_into_the_work_tree_measures_no_base_and_a_relative_one_does() {
    let (_remote, project) = repository("baseline: {compute: true}\n");
    project.write("src/installed.py", "");
    commit(&project, "all that it needs");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    lose(&project);
    let with = |path: &Path| {
        let mut command = project.command(&["gate"]);
        command.env("PYTHONPATH", path);
        let said = Said::of(&mut command);
        (verdict(&project, &said), said)
    };
    let (judgement, said) = with(&project.path("src"));
    assert_eq!(judgement["verdict"], "no_baseline", "{}", said.stdout);
    assert!(
        said.stdout.contains("`PYTHONPATH` names"),
        "{}",
        said.stdout
    );
    let (judgement, said) = with(Path::new("src"));
    assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
    assert_eq!(found(&judgement, "base"), json!(1.0), "{}", said.stdout);
}

#[test]
fn a_base_that_fails_beside_the_change_leaves_its_stored_answers() {
    let (_remote, project) = repository("baseline: {compute: true}\n");
    environment(&project.path(".venv"), &project);
    // What git does not keep, and no environment has.
    let needs = format!("open('index.txt').read()\n{SEARCH}");
    project.write("src/shop/find.py", &needs);
    project.write("index.txt", "pages");
    commit(&project, "an index");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.write("src/shop/find.py", &needs.replace(LOSS.0, LOSS.1));
    commit(&project, "worse");
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
    assert_eq!(found(&judgement, "base"), json!(1.0), "{}", said.stdout);
    assert!(tells(&judgement, "base_not_checked"), "{}", said.stdout);
    let all = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        all.contains("the code of the base gave no answer here to 4 of 4 items"),
        "{all}"
    );
    assert!(
        all.contains("No such file or directory: 'index.txt'"),
        "{all}"
    );
}

/// A function of Node that needs a package.
const NODE: &str =
    "import found from 'dep';\nexport const decide = text => ({decision: String(found(text))});\n";

#[test]
#[expect(clippy::print_stderr, reason = "`.ci/run` collects what was skipped")]
fn the_packages_of_node_are_there_for_the_base_unless_they_are_code_of_the_change() {
    if Command::new("node").arg("--version").output().is_err() {
        eprintln!("SKIPPED: the packages of Node were not tried: it is not installed");
        return;
    }
    for is_workspace in [false, true] {
        let project = Project::new("");
        project.write("app.mjs", NODE);
        project.write(
            "kelvin.yaml",
            "run: {node: 'app.mjs:decide'}\ncases: cases\ndecision_field: decision\n\
             governing_types: [rule]\nbaseline: {compute: true}\nvariants: {reorder: 1, swap: 1}\n",
        );
        let code = "module.exports = text => text.length % 7;\n";
        project.write("packages/dep/index.js", code);
        project.write(".gitignore", "/kelvin/\nnode_modules/\n");
        fs::create_dir(project.path("node_modules")).expect("made");
        let dep = project.path("node_modules/dep");
        if is_workspace {
            symlink("../packages/dep", &dep).expect("linked");
        } else {
            project.write("node_modules/dep/index.js", code);
        }
        let root = project.root();
        git(root, &["init", "--quiet", "--initial-branch=main"]);
        commit(&project, "base");
        git(root, &["checkout", "--quiet", "-b", "change"]);
        project.write("packages/dep/index.js", "module.exports = text => 'x';\n");
        project.write("app.mjs", &format!("{NODE}// another\n"));
        commit(&project, "change");
        let said = project.kelvin(&["gate", "--base", "main"]);
        let judgement = verdict(&project, &said);
        let invariance = &judgement["metrics"]["evidence.failure_rate"];
        match is_workspace {
            // The base has no packages, which is told, and is not measured with those of the change.
            true => assert_ne!(judgement["verdict"], "pass", "{}", said.stdout),
            false => {
                assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
                assert_eq!(invariance["base"], json!(0.0), "{}", said.stdout);
            }
        }
    }
}
