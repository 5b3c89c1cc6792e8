//! Changes that touch only files which the base lists as harmless: nothing is run for them. Everything else is.

use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::project::{CONSTANT, GROUNDED, Project, Said};
use crate::repository::{bare, commit, git, pushed, verdict};

/// What a change does.
type Edit<'e> = &'e dyn Fn(&Project);

const LIST: &str = "harmless: [docs/**, '*.md', '*.lock', /package.json, 'wiki/*']\n\
                    variants: {reorder: 1, pad_length: 1, pad_content: 1, swap: 1}\n";

/// A script that also counts its calls.
fn counted(script: &str) -> String {
    format!("echo x >> ../calls.log\n{script}")
}

/// A repository whose base is kept, unless `is_kept` says otherwise.
struct Listed {
    project: Project,
    _remote: TempDir,
    branches: std::cell::Cell<usize>,
}

impl Listed {
    fn new(edit: Edit<'_>) -> Self {
        let listed = Self::without_a_report(edit);
        listed.project.check();
        let save = ["baseline", "save"];
        listed.project.kelvin(&save).expect(0);
        listed
    }

    fn without_a_report(edit: Edit<'_>) -> Self {
        let (remote, url) = bare();
        let project = pushed(&url, &counted(GROUNDED));
        project.config(LIST);
        for (path, text) in [
            ("README.md", "Read me.\n"),
            ("docs/a.md", "A.\n"),
            ("docs/b.md", "B.\n"),
            ("Cargo.lock", "one\n"),
            ("package.json", "{}\n"),
            ("src/tool.py", "print(1)\n"),
        ] {
            project.write(path, text);
        }
        edit(&project);
        commit(&project, "with a list");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        Self {
            project,
            _remote: remote,
            branches: 0.into(),
        }
    }

    /// Makes a change on a branch of its own, and commits it.
    fn change(&self, edit: Edit<'_>) {
        self.fresh();
        edit(&self.project);
        commit(&self.project, "a change");
    }

    /// A new branch at the base.
    fn fresh(&self) {
        let root = self.project.root();
        git(root, &["checkout", "--quiet", "--force", "main"]);
        git(root, &["clean", "--quiet", "--force", "-d"]);
        self.branches.set(self.branches.get() + 1);
        let name = format!("change-{}", self.branches.get());
        git(root, &["checkout", "--quiet", "-b", &name]);
    }

    /// Runs the gate; the number of calls, and the judgement.
    fn gate(&self, more: &[&str]) -> (usize, Value, Said) {
        fs::write(self.project.path("../calls.log"), "").expect("written");
        let arguments: Vec<&str> = [&["gate"], more].concat();
        let said = self.project.kelvin(&arguments);
        let judgement = verdict(&self.project, &said);
        let calls = self.project.read("../calls.log").lines().count();
        (calls, judgement, said)
    }

    #[track_caller]
    fn is_unaffected(&self, what: &str) -> (Value, Said) {
        let (calls, judgement, said) = self.gate(&[]);
        assert_eq!(calls, 0, "{what}: {}", said.stderr);
        assert_eq!(
            judgement["verdict"], "unaffected",
            "{what}: {}",
            said.stderr
        );
        assert_eq!(judgement["passed"], true, "{what}");
        (judgement, said)
    }

    /// Demands that the check was run, and says why it was.
    #[track_caller]
    fn runs(&self, what: &str) -> (Value, String) {
        let (calls, judgement, said) = self.gate(&[]);
        assert!(calls > 0, "{what}: {}", said.stdout);
        assert_ne!(judgement["verdict"], "unaffected", "{what}");
        let why = redacted(&lines_with(&said.stderr, &["`harmless`: "]));
        (judgement, why)
    }

    /// Demands that the check was run, for a reason that names this.
    #[track_caller]
    fn is_run(&self, what: &str, named: &str) -> Value {
        let (judgement, why) = self.runs(what);
        assert!(why.contains(named), "{what}: {why}");
        judgement
    }
}

#[test]
fn where_the_base_misses_its_min_a_change_of_listed_files_is_run() {
    let listed = Listed::new(&|project| {
        project.config(&format!(
            "{LIST}gate: {{metrics: {{evidence.sensitivity: {{min: 1.01}}}}}}\n"
        ));
    });
    listed.change(&|project| project.write("docs/a.md", "AA.\n"));
    let (calls, judgement, said) = listed.gate(&[]);
    assert!(calls > 0, "{}", said.stdout);
    assert_ne!(judgement["verdict"], "unaffected");
    insta::assert_snapshot!(redacted(&lines_with(&said.stderr, &["`min`"])), @"`harmless`: the check runs, since the base [HASH] misses the `min` of `evidence.sensitivity`");
}

#[test]
fn a_change_of_listed_files_alone_costs_no_call_and_passes_with_a_word_of_its_own() {
    let listed = Listed::new(&|_| {});
    let project = &listed.project;
    let edits: [(&str, Edit<'_>); 4] = [
        ("an edit", &|project| project.write("docs/a.md", "AA.\n")),
        ("a new file", &|project| {
            project.write("docs/deep/new.md", "N.\n")
        }),
        ("a file that is gone", &|project| {
            fs::remove_file(project.path("docs/b.md")).expect("removed");
        }),
        ("a file that moves", &|project| {
            git(project.root(), &["mv", "docs/b.md", "docs/c.md"]);
        }),
    ];
    for (what, edit) in edits {
        listed.change(edit);
        listed.is_unaffected(what);
    }
    listed.change(&|project| {
        project.write("docs/a.md", "AA.\n");
        project.write("README.md", "Read me again.\n");
        project.write("src/notes.md", "N.\n");
    });
    let (judgement, said) = listed.is_unaffected("three files");
    let told = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(redacted(told), @"nothing was run: the change touches only `README.md` and 2 more files, which `harmless` of the base [HASH] lists");
    insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["~ "])), @"
    ~ Not enough to tell whether it follows the evidence: it takes 5 swaps in 3
    ~ Few samples: invariance may be 0.39 to 1.00; more cases would tell
    ~ nothing was run: these are the figures that were measured for [HASH]
    ");
    assert_eq!(judgement["reasons"][0]["code"], "unaffected");
    assert_eq!(judgement["base"]["source"], "branch");
    // The figures are those of the base.
    let metric = &judgement["metrics"]["evidence.sensitivity"];
    assert_eq!(metric["verdict"], "unaffected");
    assert_eq!(
        (&metric["drop"], &metric["head"]),
        (&json!(0.0), &metric["base"])
    );
    let report = project.json("kelvin/report.json");
    assert_eq!(
        report["metrics"]["evidence.sensitivity"]["value"],
        metric["base"]
    );
    assert_eq!(report["run"]["session"]["cost"]["invocations"], 0);
    let head = git(project.root(), &["rev-parse", "HEAD"]);
    let base = git(project.root(), &["rev-parse", "main"]);
    assert_eq!(report["run"]["session"]["commit"], head.as_str());
    assert_eq!(
        report["run"]["session"]["copied_from"]["base"],
        base.as_str()
    );
    assert_eq!(report["run"]["fingerprints"]["pipeline"], Value::Null);
    let page = project.read("kelvin/report.html");
    assert!(page.contains("unaffected"), "the page says it too");
    let page = project.read("kelvin/report.md");
    assert!(page.starts_with("# Kelvin check: "), "{page}");
    // Nothing was measured for this commit, so nothing is kept for it.
    let said = project.kelvin(&["baseline", "save"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: the report repeats the figures of another commit, since nothing was run for this one
      help: run `kelvin check`, which runs whatever a change touches, then save
    ");
    let again = ["gate", "--report", "kelvin/report.json"];
    let said = project.kelvin(&again).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: the report `kelvin/report.json` repeats the figures of its base, since nothing was run
      help: run `kelvin check`, which runs whatever a change touches, and judge its report
    ");
    let history = project.kelvin(&["history"]);
    assert!(!history.stdout.contains(&head[..7]), "{}", history.stdout);
    // `check` compares with nothing, and runs.
    project.check();
    assert!(!project.read("../calls.log").is_empty());
}

#[test]
fn what_is_not_committed_and_not_tracked_belongs_to_a_change_on_a_laptop() {
    let listed = Listed::new(&|_| {});
    listed.fresh();
    let project = &listed.project;
    project.write("docs/a.md", "AA.\n");
    listed.is_unaffected("an edit");
    assert_eq!(
        project.json("kelvin/report.json")["run"]["session"]["dirty"],
        true
    );
    project.write("docs/untracked.md", "N.\n");
    listed.is_unaffected("a new file");
    project.write("sitecustomize.py", "");
    listed.is_run("a new file that is not listed", "`sitecustomize.py`");
    listed.fresh();
    project.write("docs/a.md", "AA.\n");
    project.write("pipeline.sh", &counted(CONSTANT));
    let judgement = listed.is_run("an edit of the pipeline", "`pipeline.sh`");
    assert_eq!(judgement["verdict"], "regression");
}

#[test]
fn whatever_may_change_an_answer_is_run() {
    let listed = Listed::new(&|project| {
        project.write("docs/linked.md", "L.\n");
        symlink("docs/linked.md", project.path("prompt.txt")).expect("linked");
        project.write("docs/named.md", "N.\n");
        let script = project.read("pipeline.sh");
        project.write(
            "pipeline.sh",
            &format!("cat docs/named.md > /dev/null\n{script}"),
        );
    });
    let edits: [(&str, Edit<'_>); 11] = [
        ("code too", &|project| {
            project.write("docs/a.md", "AA.\n");
            project.write("src/tool.py", "print(2)\n");
        }),
        ("a new file outside", &|project| {
            project.write("json.py", "\n")
        }),
        ("code that becomes a page", &|project| {
            git(project.root(), &["mv", "src/tool.py", "docs/x.md"]);
        }),
        ("a link", &|project| {
            fs::remove_file(project.path("docs/a.md")).expect("removed");
            symlink("../pipeline.sh", project.path("docs/a.md")).expect("linked");
        }),
        ("a lock file", &|project| {
            project.write("Cargo.lock", "two\n")
        }),
        ("a manifest", &|project| {
            project.write("package.json", "{ }\n")
        }),
        ("a file at the end of a link", &|project| {
            project.write("docs/linked.md", "LL.\n")
        }),
        ("a file that a script names", &|project| {
            project.write("docs/named.md", "NN.\n")
        }),
        ("a case", &|project| {
            let case = project.read("cases/alder.md");
            project.write("cases/alder.md", &format!("{case}\n\nMore.\n"));
        }),
        ("a workflow", &|project| {
            project.write(".github/a.md", "A.\n")
        }),
        ("nothing", &|_| {}),
    ];
    let mut told = Vec::new();
    for (what, edit) in edits {
        listed.change(edit);
        told.push(listed.runs(what).1);
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `harmless`: the check runs, since `src/tool.py` is not listed by the base [HASH]
    `harmless`: the check runs, since `json.py` is not listed by the base [HASH]
    `harmless`: the check runs, since `src/tool.py` is not listed by the base [HASH]
    `harmless`: the check runs, since `docs/a.md` may change an answer: it is a symbolic link, which may lead anywhere
    `harmless`: the check runs, since `Cargo.lock` may change an answer: such a file says what is installed or built
    `harmless`: the check runs, since `package.json` may change an answer: such a file says what is installed or built
    `harmless`: the check runs, since `docs/linked.md` may change an answer: the link `prompt.txt` leads to it
    `harmless`: the check runs, since `docs/named.md` may change an answer: `pipeline.sh` names it
    `harmless`: the check runs, since `cases/alder.md` may change an answer: the check reads it
    `harmless`: the check runs, since `.github/a.md` may change an answer: workflows may lie in `.github`
    `harmless`: the check runs, since nothing differs from the base [HASH]
    ");
}

#[test]
fn a_list_cannot_be_made_wider_by_the_change_that_needs_it() {
    let listed = Listed::new(&|_| {});
    listed.change(&|project| {
        project.config(&LIST.replace("docs/**", "'**'"));
        project.write("pipeline.sh", &counted(CONSTANT));
    });
    let judgement = listed.is_run("a wider list", "`kelvin.yaml`");
    assert_eq!(judgement["verdict"], "regression");
    let reasons = judgement["reasons"].to_string();
    insta::assert_snapshot!(lines_with(&reasons, &["`rule`"]), @r#"[{"code":"edits_rules","effect":"warn","text":"this change edits the gate: harmless [\"docs/**\",\"*.md\",\"*.lock\",\"/package.json\",\"wiki/*\"] → [\"**\",\"*.md\",\"*.lock\",\"/package.json\",\"wiki/*\"]"},{"code":"metric","effect":"fail","metric":"evidence.following.rule","text":"`rule` is lost: 4 of 4 swaps of it moved the decision on the base, 0 do now"},{"code":"metric","effect":null,"metric":"evidence.failure_rate","text":"`evidence.failure_rate` stayed at 0.0000 over 4 cases; its mean can show a rise of more than 0.0500"},{"code":"metric","effect":null,"metric":"evidence.invariance","text":"`evidence.invariance` stayed at 1.0000 over 4 cases; its mean can show a drop of more than 0.0500"}]"#);
    // The list counts once it is merged, and even then the configuration itself does not.
    listed.fresh();
    listed.project.config(&LIST.replace("docs/**", "'**'"));
    commit(&listed.project, "a wider list");
    git(listed.project.root(), &["branch", "--force", "main"]);
    git(
        listed.project.root(),
        &["push", "--quiet", "origin", "HEAD:main"],
    );
    listed.change(&|project| {
        project.config(&LIST.replace("docs/**", "'**', more"));
    });
    listed.is_run("the configuration", "it is the configuration");
    listed.change(&|project| project.write("pipeline.sh", &counted(CONSTANT)));
    listed.is_run(
        "a file of the command",
        "the configuration names `pipeline.sh`",
    );
    listed.change(&|project| project.write("src/tool.py", "print(3)\n"));
    listed.is_unaffected("a file of the wider list");
}

#[test]
fn cases_in_a_folder_that_is_listed_are_no_pages() {
    let listed = Listed::new(&|project| {
        git(project.root(), &["mv", "cases", "docs/cases"]);
        let config = project.read("kelvin.yaml");
        project.write(
            "kelvin.yaml",
            &config.replace("cases: cases", "cases: docs/cases"),
        );
    });
    listed.change(&|project| project.write("docs/a.md", "AA.\n"));
    listed.is_unaffected("a page");
    listed.change(&|project| {
        let case = project.read("docs/cases/alder.md");
        project.write("docs/cases/alder.md", &format!("{case}\n\nMore.\n"));
    });
    listed.is_run("an edit", "`docs/cases/alder.md`");
    listed.change(&|project| {
        fs::remove_file(project.path("docs/cases/alder.md")).expect("removed");
    });
    listed.is_run("a case that is gone", "`docs/cases`");
    let said = listed.project.kelvin(&["lint"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`harmless`"]), @"
    note: `*.lock` in `harmless` lists `Cargo.lock`, and such a file says what is installed or built: a change of it is run all the same
    note: `*.md` in `harmless` lists `docs/cases/birch.md` (and 2 more like it), and the check reads it: a change of it is run all the same
    note: `/package.json` in `harmless` lists `package.json`, and such a file says what is installed or built: a change of it is run all the same
    note: `docs/**` in `harmless` lists `docs/cases/birch.md` (and 2 more like it), and the check reads it: a change of it is run all the same
    note: `wiki/*` in `harmless` lists no file of this commit
    ");
}

#[test]
fn without_a_report_of_the_base_everything_is_run() {
    let listed = Listed::without_a_report(&|_| {});
    listed.change(&|project| project.write("docs/a.md", "AA.\n"));
    let judgement = listed.is_run("no report", "`harmless`");
    assert_eq!(judgement["verdict"], "no_baseline");
    // A report that was measured with other settings says nothing of these.
    listed.project.kelvin(&["check", "--seed", "4"]).expect(0);
    git(listed.project.root(), &["checkout", "--quiet", "main"]);
    listed.project.kelvin(&["check"]).expect(0);
    listed.project.kelvin(&["baseline", "save"]).expect(0);
    listed.change(&|project| project.write("docs/a.md", "AA.\n"));
    listed.is_unaffected("the report is kept now");
    let (calls, judgement, said) = listed.gate(&["--seed", "4"]);
    assert!(calls > 0, "{}", said.stdout);
    insta::assert_snapshot!(redacted(&lines_with(&said.stderr, &["`harmless`"])), @"`harmless`: the check runs, since the report that is kept for the base [HASH] was measured with other settings, or not as a whole");
    assert_ne!(judgement["verdict"], "unaffected");
    // A part of the cases is asked for by hand, and is run.
    let (calls, judgement, _) = listed.gate(&["--only", "alder"]);
    assert!(calls > 0);
    assert_ne!(judgement["verdict"], "unaffected");
}

#[test]
fn a_pattern_that_cannot_be_read_is_told_at_its_place() {
    let project = Project::new(GROUNDED);
    project.config("harmless: ['docs/[', '', '!a.md', '*.md', '*.md']\n");
    let said = project.kelvin(&["lint"]).expect(1);
    for text in [
        "`docs/[` is not a glob",
        "`` in `harmless` lists no file",
        "`!a.md` in `harmless` takes something out",
        "the pattern `*.md` is listed twice",
        "kelvin.yaml:6",
    ] {
        assert!(said.stdout.contains(text), "{text}: {}", said.stdout);
    }
}

#[test]
fn files_outside_the_folder_of_the_configuration_are_named_where_no_others_changed() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    fs::create_dir(project.path("app")).expect("made");
    for name in ["kelvin.yaml", "cases", "pipeline.sh"] {
        let moved = format!("app/{name}");
        fs::rename(project.path(name), project.path(&moved)).expect("moved");
    }
    project.write(".gitignore", "kelvin/\n.kelvin-cache/\n");
    commit(&project, "moved");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    let config = "--config=app/kelvin.yaml";
    project.kelvin(&["check", config]).expect(0);
    project.kelvin(&["baseline", "save", config]).expect(0);
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    let mut told = Vec::new();
    for file in [
        "packages/web/package.json",
        "README.md",
        "docs/a.md",
        "app/pipeline.sh",
    ] {
        project.write(file, &format!("{GROUNDED}# another\n"));
        commit(&project, file);
        project.kelvin(&["gate", config]).expect(0);
        told.push(project.json("app/kelvin/gate.json")["differences"][0].to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    "files of the repository changed outside the folder of the configuration: `packages/web/package.json`; they count as the pipeline, since `fingerprint` names no files"
    "files of the repository changed outside the folder of the configuration: `README.md`, `packages/web/package.json`; they count as the pipeline, since `fingerprint` names no files"
    "files of the repository changed outside the folder of the configuration: `README.md`, `docs/a.md` and 1 more; they count as the pipeline, since `fingerprint` names no files"
    "the pipeline changed"
    "#);
}
