//! The gate in the systems of docs/action.md: its own lines are run in a clone, with the variables that each system sets.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use super::{EVALUATOR, SUITE, lines};
use crate::project::{Project, Said};
use crate::repository::{commit, git};

/// A program that writes its arguments, and its input, to a file beside the project.
const STUB: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.arguments\"\n";

/// A repository whose branch breaks some cases, with a folder of stubs beside it; and the commit of the base.
fn merge_request(broken: &[&str]) -> (Project, String) {
    let project = Project::new("");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    // What is committed is code, and nothing may write to it during a run.
    let script = EVALUATOR
        .replace("touch ../broken ../errors", "touch errors")
        .replace("../broken", "broken")
        .replace("../errors", "errors")
        .replace("../slip", "slip");
    // The base is run in a folder of its own, so nothing may stand beside it.
    let script = script
        .replace("../runs", "runs")
        .replace("../asked", "asked");
    project.write("eval.sh", &script);
    let cases: String = (1..=20)
        .map(|n| format!("case-{n:02} what is {n}?\n"))
        .collect();
    project.write("cases.txt", &cases);
    project.write(
        "kelvin.yaml",
        &format!("{SUITE}repeats: 3\nbaseline: {{compute: true}}\n"),
    );
    project.write(
        ".gitignore",
        "/kelvin/\n/kelvin.xml\n/note.json\n/runs\n/asked\n/slip\n/errors\n",
    );
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    project.write("broken", "");
    let base = commit(&project, "base");
    git(
        project.root(),
        &[
            "remote",
            "add",
            "origin",
            &format!("file://{}", project.root().display()),
        ],
    );
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.write("broken", &lines(broken));
    commit(&project, "change");
    for name in ["curl", "buildkite-agent"] {
        let stub = project.path("../stubs").join(name);
        fs::create_dir_all(project.path("../stubs")).expect("made");
        fs::write(&stub, STUB).expect("written");
        fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).expect("set");
    }
    (project, base)
}

/// A block of the document that begins so, as data.
fn block(begin: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/action.md");
    let text = fs::read_to_string(file).expect("the document");
    let at = text.find(&format!("```yaml\n{begin}")).expect("the block");
    let text = &text[at + "```yaml\n".len()..];
    let text = &text[..text.find("```").expect("its end")];
    serde_yaml::from_str(text).expect("YAML")
}

fn run(project: &Project, script: &str, variables: &[(&str, &str)]) -> Said {
    let mut command = project.pasted(script);
    let stubs = project.path("../stubs").into_os_string();
    let path = command
        .get_envs()
        .find(|(name, _)| *name == "PATH")
        .and_then(|(_, path)| path)
        .expect("a path")
        .to_owned();
    command.env("PATH", [stubs, path].join(OsStr::new(":")));
    command.envs(variables.iter().copied());
    Said::of(&mut command)
}

/// The text of the attribute of the first element that begins so.
fn element<'t>(xml: &'t str, begin: &str) -> &'t str {
    let at = xml.find(begin).unwrap_or_else(|| panic!("{begin}: {xml}"));
    let end = xml[at..].find('>').expect("its end");
    &xml[at..at + end]
}

/// What the file for the system has to have of a regression in these cases.
fn is_red(xml: &str, broken: &[&str]) {
    assert!(
        element(xml, "<testsuite name=\"verdict\"").contains("failures=\"2\""),
        "{xml}"
    );
    let of_probe = element(xml, "<testsuite name=\"results\"");
    let count = format!("tests=\"20\" failures=\"{}\"", broken.len());
    assert!(of_probe.contains(&count), "{of_probe}: {xml}");
    for case in broken {
        let at = xml.find(&format!("name=\"qa/{case}\"")).expect("the case");
        let case = &xml[at..at + xml[at..].find("</testcase>").expect("its end")];
        assert!(case.contains("<failure message="), "{case}");
    }
    assert!(xml.contains("results.qa.correct"), "{xml}");
}

#[test]
fn the_lines_for_gitlab_post_a_note_and_leave_a_report_that_it_shows() {
    let broken = ["case-03", "case-07", "case-11", "case-19"];
    let (project, base) = merge_request(&broken);
    let job = &block("kelvin:")["kelvin"];
    let script: Vec<&str> = job["script"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|line| line.as_str().expect("a line"))
        .collect();
    let variables = [
        ("CI_PIPELINE_SOURCE", "merge_request_event"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", base.as_str()),
        ("CI_API_V4_URL", "https://gitlab.example.org/api/v4"),
        ("CI_PROJECT_ID", "7"),
        ("CI_MERGE_REQUEST_IID", "42"),
        ("GITLAB_CI", "true"),
        ("CI", "true"),
        ("KELVIN_TOKEN", "not-a-token"),
    ];
    let said = run(&project, &script.join("\n"), &variables);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    is_red(&project.read("kelvin.xml"), &broken);
    let posted = project.read("../stubs/curl.arguments");
    let address = "https://gitlab.example.org/api/v4/projects/7/merge_requests/42/notes";
    assert!(
        posted.contains(address) && posted.contains("body=<kelvin/gate.md"),
        "{posted}"
    );
    assert!(project.read("kelvin/gate.md").contains("case-03"));
    assert_eq!(job["artifacts"]["reports"]["junit"], "kelvin.xml");
}

#[test]
fn the_lines_for_buildkite_annotate_the_build_and_pass_where_nothing_changed() {
    let (project, _) = merge_request(&[]);
    let step = &block("steps:")["steps"][0];
    let script = step["command"].as_str().expect("a text").replace("$$", "$");
    let variables = [
        ("BUILDKITE", "true"),
        ("CI", "true"),
        ("BUILDKITE_PULL_REQUEST_BASE_BRANCH", "main"),
    ];
    let said = run(&project, &script, &variables);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let xml = project.read("kelvin.xml");
    assert!(
        element(&xml, "<testsuites").contains("failures=\"0\" errors=\"0\" skipped=\"0\""),
        "{xml}"
    );
    assert!(xml.contains("name=\"qa/case-20\""), "{xml}");
    let posted = project.read("../stubs/buildkite-agent.arguments");
    assert!(
        posted.contains("annotate") && posted.contains("success"),
        "{posted}"
    );
}

#[test]
fn what_stays_open_is_skipped_and_an_item_without_an_answer_is_an_error() {
    let project = super::measured("", 1);
    project.write("../errors", &lines(&["case-02"]));
    let said = project.kelvin(&["check", "--no-history", "--format", "junit"]);
    let xml = said.stdout;
    assert!(
        element(&xml, "<testsuites").contains("tests=\"20\" failures=\"0\" errors=\"1\""),
        "{xml}"
    );
    assert!(xml.contains("the judge did not answer"), "{xml}");
    project.write("../errors", "");
    project.write("../broken", "case-05\n");
    let said = project.kelvin(&[
        "gate",
        "--no-history",
        "--no-rerun",
        "--fail-on",
        "never",
        "--baseline",
        "../base/report.json",
        "--format",
        "junit",
    ]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let verdict = element(&said.stdout, "<testsuite name=\"verdict\"");
    assert!(verdict.contains("failures=\"0\""), "{}", said.stdout);
    assert!(!said.stdout.contains("<failure"), "{}", said.stdout);
}
