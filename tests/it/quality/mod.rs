mod gate;
mod rescore;

use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use crate::project::{CONSTANT, Project, Said};
use crate::repository::{bare, commit, git, verdict};

/// A pipeline that answers a scenario with its decision, its reasons and what it has used. `$used` is how
/// many of a hundred tokens are answered in each of three runs.
fn pipeline(used: [u32; 3]) -> String {
    let [first, second, third] = used;
    format!(
        "case $KELVIN_REPEAT in 2) out={second};; 3) out={third};; *) out={first};; esac\n\
         printf '{{\"decision\": \"go\", \"reasons\": [\"it fits\"], \"usage\": {{\"input\": %s, \"output\": %s}}}}' \
         $((100 - out)) $out\n"
    )
}

const QUALITY: &str = "\
quality:
  contract: {decision: string, reasons: array}
  required_outputs: [/decision, /reasons]
  usage: {input: /usage/input, output: /usage/output}
";

/// So many scenarios, whose pipeline prints its answer.
fn project(script: &str, cases: usize, more: &str) -> Project {
    let project = Project::new(script);
    std::fs::remove_dir_all(project.path("cases")).expect("removed");
    for at in 0..cases {
        project.write(&format!("cases/s{at:02}.md"), &format!("Give room {at}.\n"));
    }
    configure(&project, more);
    project
}

fn configure(project: &Project, more: &str) {
    project.write(
        "kelvin.yaml",
        &format!(
            "run: sh {{root}}/pipeline.sh\ncases: cases\njobs: 4\nrepeats: 3\n\
             invariants:\n  answers: {{description: It answers, check: {{type: contains, value: decision}}}}\n{more}"
        ),
    );
}

fn figure(report: &Value, name: &str) -> Value {
    report["metrics"][format!("quality.{name}")]["value"].clone()
}

fn near(value: &Value, wanted: f64) -> bool {
    value
        .as_f64()
        .is_some_and(|value| (value - wanted).abs() < 1e-12)
}

#[test]
fn qlt_28_the_outputs_of_scenarios_are_looked_at_and_not_what_the_checks_say_of_them() {
    let project = project(&pipeline([36, 36, 36]), 3, QUALITY);
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    assert!(near(&figure(&report, "quality_score"), 0.84), "{report:#}");
    assert_eq!(figure(&report, "conformance"), json!(1.0));
    assert!(near(&figure(&report, "efficiency"), 0.36));
    let case = &report["probes"]["quality"]["items"]["s01"]["probes"]["checks"];
    assert_eq!(case["runs"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        case["runs"][0]["token_counts"],
        json!({ "input": 64, "output": 36, "total": 100 })
    );
    for part in ["quality_score (good)", "3 cases", "0.20"] {
        let page = project.read("kelvin/report.html");
        assert!(
            said.stdout.contains(part) || page.contains(part),
            "{part}: {}",
            said.stdout
        );
    }
    // The basis and the weights are stored with the scores.
    let basis = &report["probes"]["quality"]["basis"];
    assert_eq!(basis["scorer"], "weighted_sum/1");
    assert_eq!(
        basis["weights"],
        json!({ "conformance": 0.4, "completeness": 0.35, "efficiency": 0.25 })
    );
}

#[test]
fn qlt_28_variants_and_baselines_of_every_probe_are_kept_and_variants_are_in_no_score() {
    let project = Project::new(CONSTANT);
    project.config(
        "quality: {required_outputs: [/decision, /reasons], live_runs: 1, groups: {trees: ['*d*']}}\n\
         invariants: {runs: {description: It runs, check: {type: command_exit, command: 'true'}}}\n",
    );
    // The pipeline of the scenarios begins in a workspace.
    let config = project
        .read("kelvin.yaml")
        .replace("sh pipeline.sh", "sh {root}/pipeline.sh");
    project.write("kelvin.yaml", &config);
    project.kelvin(&["check"]).expect(0);
    let report = project.report();
    let case = &report["probes"]["quality"]["items"]["alder"]["probes"];
    assert_eq!(case["checks"]["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(case["evidence"]["runs"].as_array().map(Vec::len), Some(1));
    let planned = report["probes"]["evidence"]["items"]["alder"]["variants"].as_object();
    let planned = planned.map(|planned| planned.keys().cloned().collect::<Vec<_>>());
    let seen = case["evidence"]["variants"].as_object().expect("variants");
    if let Some(planned) = planned {
        assert_eq!(seen.keys().cloned().collect::<Vec<_>>(), planned);
    }
    assert!(seen.len() > 3);
    // Half of what must be there is there, and nothing else was asked for.
    assert_eq!(figure(&report, "quality_score"), json!(0.5));
    assert_eq!(figure(&report, "variants"), json!(0.5));
    assert_eq!(figure(&report, "group.trees"), json!(0.5));
    assert!(report["metrics"].get("quality.conformance").is_none());
    let html = project.read("kelvin/report.html");
    insta::assert_snapshot!(lines_with(&html, &["0.80"]), @"<p>The score of an invocation is the weighted sum of its factors (completeness 1.0000), by weighted_sum&#x2f;1. The configuration does not provide for conformance and efficiency, so the other weights were scaled to add up to 1. From 0.80 is good: keep it. From 0.60, below 0.80 is review: have a person look at the outputs. Below 0.60 is poor: fix it, or return to the last good version. A case needs 1 live run with a score, or it is insufficient and has none. An invocation that leaves no output that can be read has 0 in every factor; one in which a factor is missing has no score. So few runs cannot resolve a drop of 0.05 in a single case whose score varies between runs.</p>");
}

#[test]
fn qlt_16_answers_of_the_cache_make_the_same_report_and_without_a_section_nothing_changes() {
    let plain = project(&pipeline([36, 12, 0]), 2, "cache: true\n");
    git(plain.root(), &["init", "--quiet"]);
    plain.kelvin(&["check"]).expect(0);
    let before = plain.read("kelvin/report.json");
    assert!(!before.contains("quality"), "{before}");
    configure(&plain, &format!("cache: true\n{QUALITY}"));
    plain.kelvin(&["check"]).expect(0);
    let first = plain.report();
    plain.kelvin(&["check"]).expect(0);
    let second = plain.json("kelvin/report.json");
    assert!(
        second["run"]["session"]["cost"]["cache_hits"].as_u64() > Some(0),
        "{second:#}"
    );
    assert_eq!(plain.report(), first);
    assert!(near(
        &figure(&first, "quality_score"),
        (0.84 + 0.78 + 0.75) / 3.0
    ));
}

#[test]
fn qlt_07_hostile_outputs_count_with_nothing_and_never_panic() {
    let script = r#"
case $KELVIN_SCENARIO in
s00) printf '{"decision": NaN, "reasons": [1]}';;
s01) printf '{"decision": "a", "decision": "b", "reasons": [1], "usage": {"input": 0, "output": 9}}';;
s02) printf '{"decision": 1e400, "reasons": [1]}';;
s03) head -c 100000 /dev/zero | tr '\0' '[';;
s04) echo decision;;
s05) exit 7;;
s06) printf '{"decision": "go", "reasons": [1], "usage": {"input": -5, "output": 5}}';;
s07) printf '{"decision": "\\u001b[31m@here", "reasons": "<script>alert(1)", "usage": {"input": 0, "output": 0}}';;
esac
"#;
    let project = project(script, 8, QUALITY);
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    let score = |case: &str| {
        let runs = &report["probes"]["quality"]["items"][case]["probes"]["checks"]["runs"];
        runs[0]["quality_score"].clone()
    };
    for case in ["s00", "s01", "s02", "s03", "s04", "s05"] {
        assert_eq!(score(case), json!(0.0), "{case}");
    }
    for case in ["s06", "s07"] {
        assert_eq!(score(case), Value::Null, "{case}");
    }
    assert_eq!(figure(&report, "quality_score"), json!(0.0));
    assert!(!said.stdout.contains('\u{1b}'), "{}", said.stdout);
    let html = project.read("kelvin/report.html");
    assert!(
        !html.contains("<script>alert"),
        "text of an output is no markup"
    );
    let notices = report["notices"].to_string();
    insta::assert_snapshot!(notices, @r#"[{"code":"unscored","text":"6 invocations without a quality score, as in `s06`: `/usage/input` is `-5`, and no count of tokens"},{"code":"few_runs","got":6,"text":"2 cases of the quality score, `s06` first, have fewer than 3 live runs with a score, so each is insufficient and has no score, with at most 3 that have a score","wanted":8},{"code":"scenarios_failed","text":"in 1 of 8 scenarios the pipeline or a service failed; no check was made there: s05"}]"#);
}

#[test]
fn qlt_35_recorded_outputs_are_looked_at_and_told_apart() {
    let dry = format!("{QUALITY}  dry_runs: 2\n  recorded: recorded\n");
    let project = project(&pipeline([36, 36, 36]), 3, QUALITY);
    let usage = "\"usage\": {\"input\": 64, \"output\": 36}";
    let whole = format!("{{\"decision\": \"go\", \"reasons\": [1], {usage}}}");
    project.write("recorded/s00.json", &whole);
    // Of three the last two count, and the first would be worth nothing.
    project.write("recorded/s01/a.json", "none");
    project.write("recorded/s01/b.json", &whole);
    project.write(
        "recorded/s01/c.json",
        &format!("{{\"decision\": \"go\", {usage}}}"),
    );
    project.write("recorded/other.json", "none");
    configure(&project, &dry);
    project.kelvin(&["check"]).expect(0);
    let report = project.report();
    assert!(near(&figure(&report, "quality_score"), 0.84), "{report:#}");
    let lacking = 0.35 * 0.5 + 0.25 * 0.36;
    assert!(
        near(&figure(&report, "dry_runs"), (0.84 + 0.84 + lacking) / 3.0),
        "{report:#}"
    );
    let items = &report["probes"]["quality"]["items"];
    assert_eq!(items["s01"]["dry_runs"].as_array().map(Vec::len), Some(2));
    assert!(items["s02"].get("dry_runs").is_none());
}

#[test]
fn the_example_says_what_its_page_says() {
    let project = Project::new("");
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quality");
    for name in [
        "kelvin.yaml",
        "pipeline.py",
        "decision.schema.json",
        "questions.jsonl",
    ] {
        std::fs::copy(from.join(name), project.path(name)).expect("copied");
    }
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    let document = std::fs::read_to_string(from.join("README.md")).expect("it is there");
    for name in ["quality_score", "conformance", "completeness", "efficiency"] {
        let shown = report["metrics"][format!("quality.{name}")]["display"].clone();
        let line = format!("| {name} | {} |", shown.as_str().expect("a text"));
        assert!(document.contains(&line), "{line}: {}", said.stdout);
    }
}

#[test]
fn a_required_output_that_is_in_no_output_is_said_first_and_nothing_is_called_good() {
    let with = |required: &str| {
        let more = QUALITY.replace("[/decision, /reasons]", required);
        let project = project(&pipeline([36, 36, 36]), 3, &more);
        let said = project.kelvin(&["check"]).expect(0);
        (said.stdout, project.read("kelvin/report.md"))
    };
    // One wrong name of four leaves a score from 0.80.
    let slip = "[/decision, /reasons, /usage/input, /usage/outptu]";
    let (terminal, markdown) = with(slip);
    insta::assert_snapshot!(lines_with(&terminal, &["`/usage/outptu`"]), @"! The required output `/usage/outptu` is in no output of all 3 cases: the");
    insta::assert_snapshot!(lines_with(&markdown, &["`/usage/outptu`"]), @"- ❗ The required output `/usage/outptu` is in no output of all 3 cases: the pipeline never writes it, or `required_outputs` has another name for it");
    assert!(
        !terminal.contains("(good)") && !terminal.contains("(from 0.80)"),
        "{terminal}"
    );
    assert!(!markdown.contains("(good)"), "{markdown}");
    // What is there in one case only is no slip of the configuration.
    let (right, _) = with("[/decision, /reasons, /usage/input, /usage/output]");
    insta::assert_snapshot!(lines_with(&right, &["0.80"]), @"= The outputs of all 3 cases are good (from 0.80)");
    assert!(!right.lines().any(|line| line.starts_with("! ")), "{right}");
}
