//! A change whose own program sees to it that its base cannot be asked for, or is another one.

use super::*;

#[test]
fn a_workflow_whose_repository_or_remote_was_taken_away_has_an_unreachable_base() {
    let (_remote, project) = worse();
    let runner = tempfile::tempdir().expect("a temporary folder");
    let path = event(&project, runner.path());
    // The pipeline of the change runs before the base is looked for.
    let attacked = |attack: &str| {
        project.write("pipeline.sh", &format!("{attack} 2>/dev/null\n{CONSTANT}"));
        let server = "https://github.example";
        ci(&project, project.root(), server, "", &path)
    };
    let said = attacked("git remote remove origin").expect(3);
    let verdict = judgement(project.root())["verdict"].clone();
    assert_eq!(verdict, json!("baseline_unreachable"), "{}", said.stdout);
    // Without a repository it is not even known that the change was measured, nor which code it is:
    // whichever is noticed first, nothing passes.
    let said = attacked("mv .git ../taken");
    assert!(matches!(said.code, Some(1 | 3)), "{}", said.stderr);
    let told = [
        "it is not known which commit is checked out",
        "the code of the pipeline changed",
    ];
    let all = [said.stdout, said.stderr].concat();
    assert!(told.iter().any(|text| all.contains(text)), "{all}");
    // On a laptop both are simply a project without a baseline.
    project.write("pipeline.sh", CONSTANT);
    if !project.path("../taken").exists() {
        fs::rename(project.path(".git"), project.path("../taken")).expect("moved");
    }
    project.kelvin(&["gate"]).expect(0);
    assert_eq!(judgement(project.root())["verdict"], json!("no_baseline"));
    fs::rename(project.path("../taken"), project.path(".git")).expect("moved back");
    project.kelvin(&["gate", "--base", "main"]).expect(0);
    assert_eq!(judgement(project.root())["verdict"], json!("no_baseline"));
}

#[test]
fn a_baseline_that_the_change_brings_along_is_not_used_where_the_server_was_made_unreachable() {
    let (remote, project) = worse();
    let there = format!("file://{}", remote.path().display());
    let runner = tempfile::tempdir().expect("a temporary folder");
    let path = event(&project, runner.path());
    // A repository whose report of the base was measured with the pipeline of the change.
    let forged = runner.path().join("forged.git");
    let shown = forged.display().to_string();
    git(
        runner.path(),
        &["clone", "--quiet", "--bare", &there, &shown],
    );
    git(&forged, &["update-ref", "-d", "refs/heads/kelvin-reports"]);
    let forger = runner.path().join("forger");
    let place = forger.display().to_string();
    git(runner.path(), &["clone", "--quiet", &shown, &place]);
    fs::write(forger.join("pipeline.sh"), CONSTANT).expect("written");
    for arguments in [&["check"][..], &["baseline", "save", "--allow-dirty"]] {
        let said = kelvin_in(&project, &forger, arguments);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let bring =
        format!("git fetch -q '{shown}' +kelvin-reports:refs/remotes/origin/kelvin-reports");
    for attack in [
        // Its branch of reports, and a server that cannot be asked.
        format!("{bring}; git remote set-url origin http://127.0.0.1:9/acme/widgets"),
        // The whole repository in the place of the remote.
        format!("git remote set-url origin '{shown}'"),
        format!("git config 'url.{shown}.insteadOf' '{there}'"),
    ] {
        project.write(
            "pipeline.sh",
            &format!("({attack}) >/dev/null 2>&1\n{CONSTANT}"),
        );
        ci(
            &project,
            project.root(),
            "https://github.example",
            "",
            &path,
        )
        .expect(3);
        let judgement = judgement(project.root());
        assert_eq!(
            judgement["verdict"],
            json!("baseline_unreachable"),
            "{attack}"
        );
        let mine = format!("url.{shown}.insteadOf");
        let _ = std::process::Command::new("git")
            .arg("-C")
            .arg(project.root())
            .args(["config", "--unset-all", &mine])
            .status();
        lead(&project, &there);
    }
    // Brought along alone, it is written over by what the server has.
    project.write(
        "pipeline.sh",
        &format!("({bring}) >/dev/null 2>&1\n{CONSTANT}"),
    );
    ci(
        &project,
        project.root(),
        "https://github.example",
        "",
        &path,
    )
    .expect(3);
    assert_ne!(
        judgement(project.root())["verdict"],
        json!("baseline_unreachable")
    );
    assert_eq!(
        judgement(project.root())["metrics"]["evidence.following.rule"]["base"],
        json!(1.0)
    );
}
