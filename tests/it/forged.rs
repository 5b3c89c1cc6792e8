//! Reports on the branch of reports that are not what they say they are, and honest ones that cannot be held
//! against their commit.

use kelvin_fixtures::text::redacted;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::project::{CONSTANT, FIRST_UNIT, GROUNDED, Project};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

/// Keeps a report on the branch of reports, as whoever may push to it can.
fn forge(project: &Project, commit: &str, report: &Value) {
    keep(project, &[(commit, report)]);
}

/// Keeps these reports there and no others, each under its commit.
pub(crate) fn keep(project: &Project, reports: &[(&str, &Value)]) {
    let folder = project.path(".git/forged");
    fs::create_dir_all(&folder).expect("made");
    let file = folder.join("report.json");
    let root = project.root();
    let mut files: Vec<String> = reports
        .iter()
        .map(|(commit, report)| {
            fs::write(&file, report.to_string()).expect("written");
            let blob = git(root, &["hash-object", "-w", &file.display().to_string()]);
            format!("100644 blob {blob}\t{commit}.json\n")
        })
        .collect();
    files.sort_by(|one, other| one[53..].cmp(&other[53..]));
    let tree = |line: String| {
        let mut made = Command::new("git");
        made.arg("-C").arg(root).arg("mktree");
        made.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut made = made.spawn().expect("git starts");
        let mut input = made.stdin.take().expect("it is piped");
        std::io::Write::write_all(&mut input, line.as_bytes()).expect("written");
        drop(input);
        let made = made.wait_with_output().expect("git ends");
        String::from_utf8_lossy(&made.stdout).trim().to_owned()
    };
    let inner = tree(files.concat());
    let outer = tree(format!("040000 tree {inner}\tkelvin\n"));
    let tip = git(root, &["commit-tree", "-m", "Reports", &outer]);
    let refspec = format!("+{tip}:refs/heads/kelvin-reports");
    git(root, &["push", "--quiet", "origin", &refspec]);
}

/// The reports that the remote keeps, by their commits.
pub(crate) fn kept(project: &Project) -> BTreeMap<String, Value> {
    let root = project.root();
    let refspec = "+refs/heads/kelvin-reports:refs/kept";
    git(root, &["fetch", "--quiet", "origin", refspec]);
    let names = git(root, &["ls-tree", "-r", "--name-only", "refs/kept"]);
    let names = names.lines().filter(|name| name.ends_with(".json"));
    names
        .map(|name| {
            let text = git(root, &["show", &format!("refs/kept:{name}")]);
            let commit = name.trim_start_matches("kelvin/").trim_end_matches(".json");
            let report = serde_json::from_str(&text).expect("it is JSON");
            (commit.to_owned(), report)
        })
        .collect()
}

/// A base that is grounded, and a head that answers everything alike.
fn worse(url: &str) -> (Project, String) {
    let project = pushed(url, GROUNDED);
    save(&project);
    let base = git(project.root(), &["rev-parse", "HEAD"]);
    branch(&project, "worse", CONSTANT);
    (project, base)
}

/// The sentence of the reason of this code.
fn reason<'a>(judgement: &'a Value, code: &str) -> Option<&'a Value> {
    let mut reasons = judgement["reasons"].as_array().expect("a list").iter();
    reasons.find(|reason| reason["code"] == json!(code))
}

#[test]
fn a_report_that_is_not_that_of_its_commit_is_no_baseline() {
    let (_remote, url) = bare();
    let (project, base) = worse(&url);
    let honest = project.json("kelvin/report.json");
    // That of the change, as it is.
    project.check();
    let own = project.json("kelvin/report.json");
    // The same, called that of the base.
    let mut renamed = own.clone();
    renamed["run"]["session"]["commit"] = json!(base);
    // That of the base, measured by a change that is half as bad and was never committed.
    project.write("pipeline.sh", FIRST_UNIT);
    project.check();
    let mut other = project.json("kelvin/report.json");
    other["run"]["session"]["commit"] = json!(base);
    other["run"]["session"]["dirty"] = json!(false);
    // That of the base with other cases, and with other settings.
    git(project.root(), &["checkout", "--quiet", "--force", "main"]);
    fs::remove_file(project.path("cases/birch.md")).expect("removed");
    project.check();
    let mut fewer = project.json("kelvin/report.json");
    fewer["run"]["session"]["dirty"] = json!(false);
    git(project.root(), &["checkout", "--quiet", "--force", "main"]);
    project.config("variants: {reorder: 1}\n");
    project.check();
    let mut weaker = project.json("kelvin/report.json");
    weaker["run"]["session"]["dirty"] = json!(false);
    // That of the base with figures that are lower than what it measured.
    let mut lowered = honest.clone();
    lowered["metrics"]["evidence.following.rule"]["value"] = json!(0.0);
    let cases = &mut lowered["metrics"]["evidence.following.rule"]["per_case"];
    for case in cases.as_object_mut().expect("a mapping").values_mut() {
        for cell in case["cells"].as_object_mut().expect("cells").values_mut() {
            cell["values"] = json!([0.0]);
        }
    }
    // The same in the pairs of answers alone, which are what the gate takes where there are any.
    let mut paired = honest.clone();
    let cases = &mut paired["metrics"]["evidence.following.rule"]["per_case"];
    for case in cases.as_object_mut().expect("a mapping").values_mut() {
        for cell in case["cells"].as_object_mut().expect("cells").values_mut() {
            cell["pairs"] = json!([[0.0]]);
        }
    }
    git(project.root(), &["checkout", "--quiet", "--force", "worse"]);
    let mut told = Vec::new();
    for (name, report) in [
        ("its own", &own),
        ("its own, renamed", &renamed),
        ("that of other code", &other),
        ("fewer cases", &fewer),
        ("weaker settings", &weaker),
        ("lowered", &lowered),
        ("lowered in pairs", &paired),
    ] {
        forge(&project, &base, report);
        let said = project.kelvin(&["gate"]).expect(3);
        let judgement = verdict(&project, &said);
        assert_eq!(
            judgement["verdict"],
            json!("baseline_unreachable"),
            "{name}"
        );
        let why = judgement["reasons"][0]["text"].as_str().expect("a text");
        told.push(why.to_string());
    }
    insta::assert_snapshot!(redacted(&told.join("\n")), @"
    whether there is a baseline is not known, so nothing was compared: branch: the report of [HASH] on `kelvin-reports` says that it is of [HASH]; check who may push to that branch, and replace the report by running the job of that commit again
    whether there is a baseline is not known, so nothing was compared: branch: the report of [HASH] on `kelvin-reports` is not of that commit, which has other code; check who may push to that branch, and replace the report by running the job of that commit again
    whether there is a baseline is not known, so nothing was compared: branch: the report of [HASH] on `kelvin-reports` is not of that commit, which has other code; check who may push to that branch, and replace the report by running the job of that commit again
    whether there is a baseline is not known, so nothing was compared: branch: the report of [HASH] on `kelvin-reports` is not of that commit, which has other cases; check who may push to that branch, and replace the report by running the job of that commit again
    whether there is a baseline is not known, so nothing was compared: branch: the report of [HASH] on `kelvin-reports` is not of that commit, which has other settings; check who may push to that branch, and replace the report by running the job of that commit again
    whether there is a baseline is not known, so nothing was compared: branch: the report of [HASH] on `kelvin-reports` has figures that its own records do not give; check who may push to that branch, and replace the report by running the job of that commit again
    whether there is a baseline is not known, so nothing was compared: branch: the report of [HASH] on `kelvin-reports` has figures that its own records do not give; check who may push to that branch, and replace the report by running the job of that commit again
    ");
    forge(&project, &base, &honest);
    let said = project.kelvin(&["gate"]).expect(3);
    assert_eq!(verdict(&project, &said)["verdict"], json!("regression"));
}

#[test]
fn a_report_of_a_commit_that_is_no_ancestor_does_not_count() {
    let (_remote, url) = bare();
    let (project, _) = worse(&url);
    project.check();
    let own = project.json("kelvin/report.json");
    let head = git(project.root(), &["rev-parse", "HEAD"]);
    forge(&project, &head, &own);
    let said = project.kelvin(&["gate"]).expect(0);
    assert_eq!(verdict(&project, &said)["verdict"], json!("no_baseline"));
}

#[test]
fn a_report_whose_own_word_keeps_it_from_being_checked_is_told_first() {
    let (_remote, url) = bare();
    let (project, base) = worse(&url);
    project.check();
    let mut own = project.json("kelvin/report.json");
    own["run"]["session"]["commit"] = json!(base);
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 3] = [
        ("files differed", |report| {
            report["run"]["session"]["dirty"] = json!(true)
        }),
        ("was made by kelvin 0.0.1", |report| {
            report["tool"]["version"] = json!("0.0.1")
        }),
        ("of which code", |report| {
            let prints = report["run"]["fingerprints"].as_object_mut();
            prints
                .expect("a mapping")
                .insert("pipeline".to_owned(), Value::Null);
        }),
    ];
    let mut told = Vec::new();
    for (says, change) in changes {
        let mut report = own.clone();
        change(&mut report);
        forge(&project, &base, &report);
        let said = project.kelvin(&["gate"]).expect(0);
        let judgement = verdict(&project, &said);
        let first = &judgement["reasons"][0];
        assert_eq!(first["code"], json!("base_not_checked"), "{says}: {first}");
        assert_eq!(first["effect"], json!("warn"), "{says}");
        let text = first["text"].as_str().expect("a text");
        told.push(text.to_owned());
        // It is told where the reason stands.
        let shown = project.read("kelvin/gate.md");
        let reason = shown.lines().nth(2).unwrap_or_default();
        assert!(
            reason.to_lowercase().contains(&text.to_lowercase()),
            "{says}: {shown}"
        );
    }
    insta::assert_snapshot!(redacted(&told.join("\n")), @"
    whether the report of the base is that of its commit is not known: it differs from its commit in its code, but it was made while files differed from the commit
    whether the report of the base is that of its commit is not known: it differs from its commit in its code, but it was made by kelvin 0.0.1, which may compute digests in another way
    whether the report of the base is that of its commit is not known: it does not say of which code it is
    ");
}

#[test]
fn an_honest_report_is_never_called_a_forgery() {
    type Act = fn(&Project);
    let honest: [(&str, Act); 7] = [
        ("a file that the job makes", |project| {
            project.write("built.txt", "made")
        }),
        ("line endings by attribute", |project| {
            project.write(".gitattributes", "*.md text eol=crlf\n*.sh text eol=lf\n");
        }),
        ("cases that git does not keep", |project| {
            project.write(".gitignore", "/kelvin/\n/calls\n/cases/cedar.md\n");
            git(
                project.root(),
                &["rm", "--quiet", "--cached", "cases/cedar.md"],
            );
        }),
        ("a built file among the globs", |project| {
            project.write(".gitignore", "/kelvin/\n/calls\n/built/\n");
            project.write("built/model", "weights");
            project.config("fingerprint: [pipeline.sh, built]\n");
        }),
        ("a repository within", |project| {
            git(project.root(), &["init", "--quiet", "inner"]);
            project.write("inner/tool.sh", "true");
            git(&project.path("inner"), &["add", "--all"]);
            git(&project.path("inner"), &["commit", "--quiet", "-m", "one"]);
        }),
        ("settings that the job writes", |project| {
            project.write(".gitignore", "/kelvin/\n/calls\n/kelvin.yaml\n");
            git(
                project.root(),
                &["rm", "--quiet", "--cached", "kelvin.yaml"],
            );
        }),
        ("a folder of output that is kept", |project| {
            project.write("kelvin.md", "notes")
        }),
    ];
    for (name, prepare) in honest {
        let (_remote, url) = bare();
        let project = pushed(&url, GROUNDED);
        prepare(&project);
        commit(&project, "prepared");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        if name == "a file that the job makes" {
            project.write("made-by-the-job.txt", "made");
        }
        project.check();
        project
            .kelvin(&["baseline", "save", "--allow-dirty"])
            .expect(0);
        git(project.root(), &["checkout", "--quiet", "-b", "same"]);
        project.write("notes.txt", "nothing that matters");
        git(project.root(), &["add", "notes.txt"]);
        git(project.root(), &["commit", "--quiet", "-m", "notes"]);
        let said = project.kelvin(&["gate"]);
        let judgement = verdict(&project, &said);
        assert_eq!(
            judgement["verdict"],
            json!("pass"),
            "{name}: {}",
            said.stdout
        );
        if let Some(told) = reason(&judgement, "base_not_checked") {
            assert_eq!(told["effect"], Value::Null, "{name}: {told}");
        }
    }
}
