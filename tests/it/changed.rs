//! Code that changes while it runs: which code gave which answer is not known, so nothing of the run
//! counts and nothing is kept.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::project::{CONSTANT, GROUNDED, Project, Said};
use crate::repository::{bare, commit, git, pushed, save};

/// A committed project whose cache is on and whose pipeline is in a file of its own.
fn committed(script: &str) -> Project {
    let project = Project::new("sh src/decide.sh \"$1\" \"$2\"\n");
    project.write("src/decide.sh", script);
    project.write(".gitignore", "/kelvin/\n");
    project.config("cache: true\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "base");
    project
}

/// A condition that holds once, after so many calls; calls run beside each other.
fn first_after(number: usize) -> String {
    format!("[ \"$(wc -l < ../calls.log)\" -ge {number} ] && mkdir ../acted-{number} 2> /dev/null")
}

/// A script that does something at its so-manieth call, before it decides; it counts in a file that
/// is no code.
fn at_call(number: usize, act: &str, then: &str) -> String {
    format!(
        "echo x >> ../calls.log\nif {}; then\n{act}\nfi\n{then}",
        first_after(number)
    )
}

/// What a run has to leave where its code changed.
#[track_caller]
fn nothing_is_known(project: &Project, said: &Said, named: &str) {
    let out = format!("{}{}", said.stdout, said.stderr);
    assert_eq!(said.code, Some(2), "{out}");
    let report = project.json("kelvin/report.json");
    assert_eq!(report["run"]["ending"], "changed");
    assert_eq!(report["run"]["fingerprints"]["pipeline"], Value::Null);
    assert_eq!(report["run"]["session"]["dirty"], true);
    let metrics = report["metrics"].as_object().expect("an object");
    assert!(metrics.values().all(|metric| metric["value"].is_null()));
    let notices = report["notices"].to_string();
    assert!(notices.contains(named), "{named}: {notices}");
    let file = named.trim_matches('`').rsplit('/').next();
    let file = file.expect("a name");
    for page in ["kelvin/report.md", "kelvin/report.html"] {
        assert!(project.read(page).contains(file), "{file}: {page}");
    }
    assert!(out.contains(file), "{file}: {out}");
    assert_eq!(entries(&project.path(".kelvin-cache/answers")), 0, "{out}");
    assert_eq!(project.read("kelvin/.journal.jsonl"), "");
}

/// How many files there are below a folder.
fn entries(folder: &Path) -> usize {
    let Ok(list) = fs::read_dir(folder) else {
        return 0;
    };
    list.map(|entry| entry.expect("listed").path())
        .map(|path| if path.is_dir() { entries(&path) } else { 1 })
        .sum()
}

/// What somebody may do to the code while it runs, and what the report has to say of it.
const CHANGES: &[(&str, &str, &str)] = &[
    (
        "rewritten",
        "printf 'exit 1\n' > src/decide.sh",
        "`src/decide.sh`",
    ),
    (
        "rewritten and restored",
        "cp src/decide.sh keep.log; echo exit > src/decide.sh; cat keep.log > src/decide.sh",
        "`src/decide.sh`",
    ),
    (
        "restored, with its old time of modification",
        "cp -p src/decide.sh keep.log; echo exit > src/decide.sh; cat keep.log > src/decide.sh; \
         touch -r keep.log src/decide.sh",
        "`src/decide.sh`",
    ),
    (
        "replaced by a file with the same content and time",
        "cp -p src/decide.sh new.log; mv new.log src/decide.sh",
        "`src/decide.sh`",
    ),
    (
        "hidden behind a link for a while",
        "mv src/decide.sh old.log; ln -s ../old.log src/decide.sh; rm src/decide.sh; \
         mv old.log src/decide.sh",
        "src",
    ),
    (
        "a link instead",
        // In one step: a look may come between two.
        "cp -p src/decide.sh old.log; ln -s ../old.log new.log; mv new.log src/decide.sh",
        "`src/decide.sh`",
    ),
    (
        "in a folder that was swapped and put back",
        "mv src old.log; mkdir src; echo exit > src/decide.sh; rm -r src; mv old.log src",
        "src",
    ),
    ("a new file", "echo 1 > src/new.py", "`src/new.py`"),
    (
        "a new file in a new folder",
        "mkdir src/deep; echo 1 > src/deep/new.py",
        "`src/deep/new.py`",
    ),
    ("a file less", "rm src/words.txt", "`src/words.txt`"),
];

#[test]
fn code_that_changes_during_a_run_is_found_out_and_nothing_of_the_run_is_kept() {
    for (what, act, told) in CHANGES {
        let project = committed(&at_call(10, act, GROUNDED));
        project.write("src/words.txt", "one two\n");
        commit(&project, "words");
        let said = project.kelvin(&["check"]);
        nothing_is_known(&project, &said, told);
        let said = project
            .kelvin(&["baseline", "save", "--allow-dirty"])
            .expect(1);
        insta::allow_duplicates! {
            insta::assert_snapshot!(said.stderr, @"
            error: the code of the pipeline changed while the report was made, so it is the report of no commit
              help: run `kelvin check` again, and leave the files of the pipeline alone until it ends
            ");
        }
        // The clean commit gets its own answers, and nothing of the run before is gone on with.
        git(project.root(), &["checkout", "--quiet", "--force", "HEAD"]);
        git(project.root(), &["clean", "--quiet", "--force", "-d"]);
        project.kelvin(&["check", "--resume"]).expect(0);
        assert_eq!(
            project.json("kelvin/report.json")["run"]["session"]["cost"]["resumed"],
            0,
            "{what}"
        );
        assert_eq!(project.figure("invariance"), 1.0, "{what}");
        assert_eq!(project.figure("sensitivity"), 1.0, "{what}");
    }
}

#[test]
fn a_run_whose_code_has_changed_ends_before_all_of_its_calls_are_paid_for() {
    let calls = |change: &str| {
        // The calls are dear beside a look at the files, also on a busy machine, so that looks are
        // due long before the last call.
        let project = committed(&at_call(10, change, &format!("sleep 0.4\n{GROUNDED}")));
        project.kelvin(&["check"]);
        project.read("../calls.log").lines().count()
    };
    let all = calls("true");
    let paid = calls("echo exit > src/decide.sh");
    assert!(paid < all, "{paid} of {all} calls were paid for");
}

#[test]
fn what_a_pipeline_writes_that_is_no_code_changes_nothing_and_is_answered_by_the_cache() {
    let writes = "mkdir -p src/__pycache__; echo $$ > src/__pycache__/decide.cpython-311.pyc; \
                  echo $$ >> run.log; echo $$ > \"src/$$.tmp\"; rm \"src/$$.tmp\"; \
                  echo $$ >> store/answers.db";
    for globs in ["", "fingerprint: [src, pipeline.sh]\n"] {
        let project = committed(&format!("{writes}\n{GROUNDED}"));
        project.write("store/README", "answers\n");
        project.config(&format!("cache: true\n{globs}"));
        commit(&project, "store");
        project.check();
        assert_eq!(project.figure("invariance"), 1.0);
        let cost = |project: &Project| {
            project.json("kelvin/report.json")["run"]["session"]["cost"].clone()
        };
        let asked = cost(&project)["invocations"].as_u64();
        project.check();
        let again = cost(&project);
        assert_eq!(again["invocations"], 0, "{globs}: {again}");
        assert_eq!(again["cache_hits"].as_u64(), asked, "{globs}");
    }
}

#[test]
fn files_that_globs_name_are_watched_behind_links_too() {
    let project = committed(&at_call(10, "echo exit > ../outside.sh", CONSTANT));
    project.write("../outside.sh", "true\n");
    std::os::unix::fs::symlink("../../outside.sh", project.path("src/outside.sh")).expect("made");
    project.config("cache: true\nfingerprint: [src]\n");
    commit(&project, "globs");
    let said = project.kelvin(&["check"]);
    nothing_is_known(&project, &said, "`src/outside.sh`");
}

#[test]
fn a_gate_on_code_that_changed_is_unmeasured_whatever_the_policy_and_never_passes() {
    for (has_base, more) in [
        (false, &[][..]),
        (true, &[]),
        (true, &["--fail-on", "never"]),
        (true, &["--rerun"]),
    ] {
        let (_remote, url) = bare();
        let project = pushed(&url, GROUNDED);
        if has_base {
            save(&project);
        }
        let changing = at_call(10, "touch pipeline.sh", GROUNDED);
        project.write("pipeline.sh", &changing);
        let said = project.kelvin(&[&["gate"][..], more].concat());
        assert_eq!(said.code, Some(2), "{}", said.stdout);
        let judgement = project.json("kelvin/gate.json");
        assert_eq!(judgement["verdict"], "unmeasured");
        let page = project.read("kelvin/gate.md");
        assert!(page.contains("`pipeline.sh`"), "{page}");
        assert!(!page.contains('✅'), "{page}");
    }
}

#[test]
fn code_that_changes_while_doubtful_cases_are_run_again_is_found_out() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    // What answers is another code from the variants of one case on, and everything is asked twice.
    project.write("pipeline.sh", CONSTANT);
    project.check();
    let first = project.json("kelvin/report.json")["run"]["session"]["cost"]["invocations"].clone();
    let first = first.as_u64().expect("a number");
    let once = usize::try_from(first).expect("few") + 2;
    let noisy = "printf '{\"decision\": \"%s\"}' \"$(($(wc -l < ../calls.log) % 2))\" > \"$2\"";
    project.write("pipeline.sh", &at_call(once, "touch pipeline.sh", noisy));
    let said = project.kelvin(&["gate", "--rerun", "--budget", "500"]);
    assert!(
        project.read("../calls.log").lines().count() >= once,
        "{}",
        said.stdout
    );
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    assert_eq!(project.json("kelvin/gate.json")["verdict"], "unmeasured");
}

#[test]
fn a_shard_whose_code_changed_makes_the_whole_unmeasured() {
    let project = committed(GROUNDED);
    let shard = |number: usize| {
        let (share, out) = (format!("{number}/2"), format!("kelvin/{number}"));
        project.kelvin(&["check", "--shard", &share, "--out", &out])
    };
    shard(1).expect(0);
    project.write(
        "src/decide.sh",
        &at_call(5, "touch src/decide.sh", GROUNDED),
    );
    assert_eq!(shard(2).code, Some(2));
    let said = project.kelvin(&["merge", "kelvin/1", "kelvin/2", "--out", "joined"]);
    assert_ne!(said.code, Some(0), "{}", said.stdout);
}

#[test]
fn a_new_file_that_is_there_for_a_while_and_taken_away_is_found_out() {
    // It stays for longer than any call takes on a busy machine. Were it not found out by then, the
    // calls after that would take it away, and the last look would see nothing.
    let first = first_after(8);
    let script = format!(
        "echo x >> ../calls.log\n\
         if {first}; then\necho 1 > src/new.py\ndate +%s > ../since.log\n\
         elif [ -e ../since.log ] && [ $(($(date +%s) - $(cat ../since.log))) -ge 7 ]; then\n\
         rm -f src/new.py\nfi\nsleep 0.5\n{GROUNDED}"
    );
    let project = committed(&script);
    let said = project.kelvin(&["check"]);
    nothing_is_known(&project, &said, "`src/new.py`");
}
