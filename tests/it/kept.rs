use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::project::{CONSTANT, KNOWING, Project, counting};

#[test]
fn a_run_prunes_once_a_day_and_says_so() {
    let project = Project::usual(CONSTANT);
    project.config("variants: {}\nfingerprint: [pipeline.sh]\ncache: true\n");
    project.check();
    let aged = |path: &str, days: u64| {
        let file = fs::File::options().write(true).open(project.path(path));
        let time = SystemTime::now() - Duration::from_secs(days * 24 * 3600);
        file.expect("opened").set_modified(time).expect("set");
    };
    let answers = project.files(".kelvin-cache/answers");
    let first = answers.keys().next().expect("an answer");
    aged(&format!(".kelvin-cache/answers/{first}"), 91);
    aged(".kelvin-cache/pruned", 2);
    project.check();
    let notices = project.json("kelvin/report.json")["notices"].to_string();
    insta::assert_snapshot!(notices, @r#"[{"code":"unmeasured","text":"evidence.following.rule was not measured: no swap could show anything: the answers of donor and case are no further apart than two answers of one case"},{"code":"cache","text":"answers that no run has used for 90 days, or the oldest beyond 1 GiB, were removed from the cache: 1"}]"#);
    assert_eq!(
        project.json("kelvin/report.json")["run"]["session"]["cost"]["cache_hits"],
        json!(51)
    );
}

#[test]
fn an_answer_is_not_that_of_another_interpreter_or_of_an_ignored_file_that_the_command_names() {
    let project = Project::new("");
    project.write("tool", "#!/bin/sh\nexec sh \"$@\"\n");
    let program = project.path("tool");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).expect("set");
    project.write("pipeline.sh", &counting(CONSTANT));
    project.write("weights.bin", "1");
    project.write(
        ".gitignore",
        "tool\nweights.bin\ncalls*\nkelvin/\n.kelvin*\n",
    );
    for words in [&["init", "-q"][..], &["add", "-A"]] {
        let git = std::process::Command::new("git")
            .args(words)
            .current_dir(project.root())
            .status();
        assert!(git.expect("git starts").success());
    }
    project.write(
        "kelvin.yaml",
        "run: ./tool pipeline.sh {input} {output} weights.bin\ncases: cases\ndecision_field: decision\n\
         governing_types: [rule]\ncache: true\n",
    );
    let hits = || {
        project.check();
        project.json("kelvin/report.json")["run"]["session"]["cost"]["cache_hits"]
            .as_u64()
            .expect("a number")
    };
    assert_eq!(hits(), 0);
    let all = hits();
    assert!(all > 40, "{all}");
    project.write("weights.bin", "2");
    assert_eq!(hits(), 0, "another file that the command names");
    assert_eq!(hits(), all);
    project.write("tool", "#!/bin/sh\n# new\nexec sh \"$@\"\n");
    assert_eq!(hits(), 0, "another program");
    assert_eq!(hits(), all);
}

#[test]
fn a_decision_over_64_kib_is_refused_and_an_output_over_the_limit_removed() {
    let long = |bytes: usize| {
        format!(
            "printf '{{\"decision\": \"%s\"}}' \"$(head -c {bytes} /dev/zero | tr '\\0' x)\" > \"$2\""
        )
    };
    let project = Project::new(&long(70_000));
    let said = project.kelvin(&["check"]).expect(2);
    for word in ["70002 bytes", "65536", "decision_field"] {
        assert!(said.stderr.contains(word), "{}", said.stderr);
    }
    project.write("pipeline.sh", &long(60_000));
    project.check();
    project.write(
        "pipeline.sh",
        &format!(
            "{KNOWING}case \"$place\" in *reorder-02*) {}; exit;; esac\n{CONSTANT}",
            long(60_000)
        ),
    );
    project.tell_places();
    project.config("max_output_bytes: 50000\n");
    project.check();
    let outputs = |name: &str| {
        let files = project.files("kelvin");
        files
            .keys()
            .filter(|file| file.contains(name) && file.ends_with("output.json"))
            .count()
    };
    assert_eq!((outputs("reorder-02"), outputs("reorder-01")), (0, 4));
}

#[test]
fn no_secret_is_in_what_a_check_reports_prints_or_records() {
    let secrets = [
        ("OPENAI_API_KEY", "sk-proj-abcdefgh12345678"),
        ("SIGNING_SECRET", "/9j4AAQSkZJRgABAQ+x/y=="),
        ("DB_PASSWORD", "p@ss word&1=2"),
        ("PIN_SECRET", "8675309867"),
    ];
    let project = Project::usual(&format!(
        "{KNOWING}echo \"key $OPENAI_API_KEY and $SIGNING_SECRET\" >&2\n\
         printf '%s' \"user:$DB_PASSWORD!\" | base64 >&2\n\
         case \"$place\" in *reorder-02*) echo \"pin $PIN_SECRET\" >&2; exit 3;; esac\n\
         printf '{{\"decision\": \"go with %s\"}}' \"$SIGNING_SECRET\" > \"$2\"",
    ));
    project.tell_places();
    let mut command = project.command(&["check"]);
    let output = command.envs(secrets).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(0));
    let mut written = project.files(".kelvin");
    for name in ["report.json", "report.html", "report.md"] {
        let bytes = fs::read(project.path(&format!("kelvin/{name}"))).unwrap_or_default();
        written.insert(name.to_owned(), bytes);
    }
    written.insert(
        "printed".to_owned(),
        [output.stdout, output.stderr].concat(),
    );
    let report = String::from_utf8_lossy(&written["report.json"]).into_owned();
    assert!(report.contains("go with ***"), "it is masked, not lost");
    assert!(report.contains("pin ***"), "what a failed call printed too");
    // The middle of `user:p@ss word&1=2!` in base64.
    let parts = secrets.map(|(_, secret)| secret);
    for secret in parts.iter().chain(&["QHNzIHdvcmQmMT0y"]) {
        for (name, bytes) in &written {
            let found = bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} in {name}");
        }
    }
}
