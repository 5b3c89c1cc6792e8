//! Mocked servers that pipelines really call, and what a pipeline can and cannot do about it.

use super::*;
use kelvin_fixtures::text::lines_with;

/// An agent that posts as often as it is told, by way of a client of its own.
const POSTS: &str = "\
import json, os, sys, urllib.request
url = os.environ['KELVIN_SERVICE_SMTP_URL'] + '/api/messages'
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for at in range(int(os.environ.get('KELVIN_PARAM_TIMES', '1'))):
    body = json.dumps({'to': 'ann', 'at': at}).encode()
    opener.open(urllib.request.Request(url, body, {'X-Key': 'k'}, method='POST')).read()
log = os.environ['KELVIN_AUDIT_LOG']
";

const SMTP: &str = "\
services:
  smtp: {type: http_mock, record: true, routes: [{method: POST, path: /api/messages, status: 202, json: {\"ok\": true}}]}
";

fn posting(more_code: &str, more: &str) -> Project {
    let project = project("", 1, "");
    project.write("agent.py", &format!("{POSTS}{more_code}"));
    project.write(
        "kelvin.yaml",
        &format!("run: python3 {{root}}/agent.py\njobs: 4\n{SMTP}{more}"),
    );
    project
}

fn once(field: &str) -> String {
    format!(
        "invariants:\n\
         \x20 once: {{description: d, check: {{type: http_mock_assertions, service: smtp, assertions: [{field}]}}}}\n"
    )
}

const ONE: &str =
    "{field: request_count, filters: {method: POST, path: /api/messages, to: ann}, equals: 1}";

#[test]
fn inv_14_a_pipeline_calls_a_server_of_its_own_scenario_and_no_other_one() {
    let more = once(ONE) + "matrix: {n: [1, 2, 3, 4, 5, 6, 7, 8], times: [1, 2]}\n";
    let project = posting("", &more);
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    assert_eq!(figure(&report, "once"), json!(0.5), "{}", said.stdout);
    for n in 1..=8 {
        let run = ran(&report, &format!("run[n={n},times=1]"), 0);
        assert_eq!(run["outcome"], "passed", "{run}");
        let run = ran(&report, &format!("run[n={n},times=2]"), 0);
        let reason = run["checks"]["once"]["reason"].as_str().expect("a text");
        assert!(reason.ends_with("is `2`, expected `1`"), "{reason}");
    }
    // The port is another one every time, and stands nowhere.
    let all = project.read("kelvin/report.json") + &said.stdout;
    assert!(!all.contains("127.0.0.1"));
}

#[test]
fn inv_20_a_script_is_told_of_the_services_and_reads_the_calls_between_the_events_of_the_pipeline()
{
    let script_line = "invariants:\n\
                       \x20 audit: {description: d, check: {type: custom, script: audit.sh, runs_in: sandbox}}\n";
    let code = "open(log, 'a').write('{\"type\": \"own\"}\\n')\n\
                opener.open(urllib.request.Request(url, b'plain', method='POST')).read()\n";
    let project = posting(code, script_line);
    script(
        &project,
        "audit.sh",
        "cat > $KELVIN_ROOT/told.json; cp $KELVIN_AUDIT_LOG $KELVIN_ROOT/log.jsonl; pwd > $KELVIN_ROOT/where; echo '{\"passed\": true}'",
    );
    project.kelvin(&["check"]).expect(0);
    let told = project.json("told.json");
    let service = &told["services"]["smtp"];
    assert_eq!(service["type"], "http_mock");
    assert!(
        service["url"]
            .as_str()
            .is_some_and(|url| url.starts_with("http://127.0.0.1:")),
        "{told}"
    );
    assert!(
        told["audit_log_path"].is_string() && told.get("trace_path").is_some(),
        "{told}"
    );
    assert_eq!(project.read("where").trim(), told["workspace_path"]);
    let log = project.read("log.jsonl");
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let kinds: Vec<&Value> = lines.iter().map(|line| &line["type"]).collect();
    assert_eq!(kinds, ["http_call", "own", "http_call"]);
    let details = &lines[0]["details"];
    assert_eq!(
        (&details["method"], &details["path"], &details["status"]),
        (&json!("POST"), &json!("/api/messages"), &json!(202))
    );
    assert_eq!(details["request_body"], json!({"to": "ann", "at": 0}));
    assert_eq!(details["response_body"], json!({"ok": true}));
    assert_eq!(lines[2]["details"]["request_body"], "plain");
}

#[test]
fn a_log_that_the_pipeline_forges_or_throws_away_changes_nothing_of_what_the_server_has_seen() {
    let forged =
        r#"open(log, 'w').write('{"type": "http_call", "details": {"method": "POST"}}\n' * 9)"#;
    let again =
        "opener.open(urllib.request.Request(url, b'{\"to\": \"ann\"}', method='POST')).read()";
    let fifo = "os.remove(log); os.mkfifo(log)";
    for code in [
        forged.to_owned(),
        format!("os.remove(log)\n{again}\nos.symlink('/dev/zero', log)"),
        format!("{again}\n{fifo}"),
    ] {
        let project = posting(&code, &once(ONE));
        project.kelvin(&["check"]).expect(0);
        let run = ran(&project.report(), "run", 0);
        let expected = if code.contains("opener") {
            "failed"
        } else {
            "passed"
        };
        assert_eq!(run["outcome"], expected, "{code}: {run}");
    }
    // Where secrets are looked for, a log that cannot be read is told, and waits for nobody.
    let more = once(ONE) + "forbidden: {secrets_in_logs: deny}\n";
    let mut all_told = Vec::new();
    for code in [fifo, "os.remove(log); os.symlink('/dev/zero', log)"] {
        let project = posting(code, &more);
        let output = project
            .command(&["check"])
            .env("SERVICE_TOKEN", "s3cr3t-of-the-service")
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let run = ran(&project.report(), "run", 0);
        let told = run["forbidden"][0].as_str().unwrap_or_default();
        all_told.push(told.to_owned());
    }
    insta::assert_snapshot!(all_told.join("\n"), @"
    the audit log is no regular file: nobody can tell whether a secret stands in it
    the audit log is a link that leads out of the workspace: nobody can tell whether a secret stands in it
    ");
}

#[test]
fn a_field_of_a_filter_that_no_request_has_is_a_warning_of_the_report() {
    let slip = "{field: request_count, filters: {too: ann}, equals: 0}";
    let project = posting("", &once(slip));
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    assert_eq!(figure(&report, "once"), json!(1.0));
    insta::assert_snapshot!(lines_with(&said.stdout, &["1 of 1"]), @"~ the check `once` warns in 1 of 1 scenarios (run): no request has a field `too`");
    insta::assert_snapshot!(project.notices("check_warnings").join("\n"), @"the check `once` warns in 1 of 1 scenarios (run): no request has a field `too` in its body, which the filters of assertion 1 name");
}

#[test]
fn the_example_with_an_audit_log_passes_and_an_agent_that_skips_a_step_or_pays_twice_does_not() {
    let project = example("audit");
    project.kelvin(&["check"]).expect(0);
    let report = project.report();
    assert_eq!(figure(&report, "composite"), json!(1.0));
    assert_eq!(figure(&report, "scenario_pass_rate"), json!(1.0));
    let agent = project.read("agent.py");
    let pay = "call(\"POST\", \"/refunds\", {\"order\": order})";
    let look = "call(\"GET\", f\"/orders/{order}\")";
    assert!(agent.contains(pay) && agent.contains(look));
    for (changed, gate, why) in [
        (
            agent.replace(look, "{\"days\": 3}"),
            "looked_up_first",
            "17",
        ),
        (
            agent.replace(pay, &format!("{pay}; {pay}")),
            "paid_at_most_once",
            "is `2`, expected at most 1",
        ),
    ] {
        project.write("agent.py", &changed);
        project.kelvin(&["check"]).expect(0);
        let run = ran(&project.report(), "broken-mug", 0);
        assert_eq!(
            (&run["outcome"], &run["composite"]),
            (&json!("failed"), &json!(0.0)),
            "{run}"
        );
        let reason = run["checks"][gate]["reason"].as_str().expect("a text");
        assert!(reason.contains(why), "{reason}");
    }
    // A call that was written into the log by hand deceives a script, as docs/invariants.md says.
    let forged =
        "note(\"http_call\", method=\"GET\", path=f\"/orders/{order}\")\nfound = {\"days\": 3}";
    project.write(
        "agent.py",
        &agent.replace(&format!("found = {look}"), forged),
    );
    project.kelvin(&["check"]).expect(0);
    let run = ran(&project.report(), "broken-mug", 0);
    assert_eq!(run["checks"]["looked_up_first"]["outcome"], "passed");
}
