//! The cache that `kelvin ci` turns on: only where nobody has turned it off, and never for answers of
//! another environment.

use super::*;

/// What the pipeline was called for, of all that was asked, in the last run.
fn calls(rig: &Rig) -> (u64, u64) {
    let cost = rig.project.json("kelvin/report.json")["run"]["session"]["cost"].clone();
    let number = |name: &str| cost[name].as_u64().expect("a number");
    (number("invocations"), number("cache_hits"))
}

fn settings(rig: &mut Rig, more: &str) {
    rig.project
        .write(".gitignore", "/kelvin/\n/.kelvin-cache/\n");
    rig.project.config(more);
    git(rig.project.root(), &["add", "--all"]);
    git(rig.project.root(), &["commit", "--quiet", "-m", "settings"]);
    rig.head = git(rig.project.root(), &["rev-parse", "HEAD"]);
    let mut state = rig.server.state();
    state.pulls.get_mut(&PULL).expect("there").head_sha = rig.head.clone();
}

#[test]
fn a_cache_that_the_configuration_turns_off_stays_off() {
    for (says, hits) in [
        ("", true),
        ("cache: true\n", true),
        ("cache: false\n", false),
    ] {
        let mut rig = Rig::new(GROUNDED);
        settings(&mut rig, says);
        rig.on("pull_request", &[]).expect(0);
        let asked = calls(&rig).0;
        assert!(asked > 0);
        rig.on("pull_request", &[]).expect(0);
        let expected = if hits { (0, asked) } else { (asked, 0) };
        assert_eq!(calls(&rig), expected, "{says:?}");
        assert_eq!(rig.project.path(".kelvin-cache").exists(), hits, "{says:?}");
    }
}

#[test]
fn another_environment_gets_no_answer_of_the_one_before() {
    // What decides lies outside of the repository: what `setup` installs, and a variable.
    let script = "if [ \"$MODEL$(cat ../installed)\" = mv1 ]; then\n:\nelse\n\
                  printf '{\"decision\": \"go\"}' > \"$2\"\nexit 0\nfi\n";
    let mut rig = Rig::new(&format!("{script}{GROUNDED}"));
    settings(&mut rig, "fingerprint: [pipeline.sh]\n");
    let run = |rig: &mut Rig, model: &str, setup: &str, code: i32| {
        let payload = rig.payload("pull_request");
        let (mut command, _) = rig.command("pull_request", &payload, &["--setup", setup]);
        said(command.env("MODEL", model).output().expect("it starts")).expect(code);
        calls(rig)
    };
    let (asked, _) = run(&mut rig, "m", "printf v1 > ../installed", 0);
    assert_eq!(
        run(&mut rig, "m", "printf v1 > ../installed", 0),
        (0, asked)
    );
    // Each of these is worse, and was taken for what it had been.
    let (again, hits) = run(&mut rig, "m", "printf v2 > ../installed", 3);
    assert!(again >= asked && hits == 0, "{again} {hits}");
    let (again, hits) = run(&mut rig, "n", "printf v1 > ../installed", 3);
    assert!(again >= asked && hits == 0, "{again} {hits}");
    assert_eq!(
        run(&mut rig, "m", "printf v1 > ../installed", 0),
        (0, asked)
    );
    // Where variables are declared, only these count: a session of its own for each run would leave
    // nothing to find.
    settings(&mut rig, "fingerprint: [pipeline.sh]\nenv: [MODEL]\n");
    run(&mut rig, "m", "printf v1 > ../installed", 0);
    assert_eq!(run(&mut rig, "m", "printf v1 > ../installed", 0).0, 0);
    assert!(run(&mut rig, "n", "printf v1 > ../installed", 3).0 >= asked);
}
