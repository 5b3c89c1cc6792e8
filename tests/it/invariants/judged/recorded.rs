//! A judge reads what a mocked server was sent.

use super::*;

/// Sends one mail with the given words.
fn sends(words: &str) -> String {
    format!(
        "import json, os, urllib.request\n\
         url = os.environ['KELVIN_SERVICE_SMTP_URL'] + '/api/messages'\n\
         opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))\n\
         body = json.dumps({{'to': 'ann', 'text': '{words}'}}).encode()\n\
         opener.open(urllib.request.Request(url, body, method='POST')).read()\n\
         print('sent')\n"
    )
}

/// One scenario, whose mail is graded: `field` of what the server recorded.
fn mailed(agent: &str, field: &str) -> Project {
    let project = project("", 1, "");
    project.write("agent.py", agent);
    project.write("judge.sh", JUDGE);
    project.write(
        "kelvin.yaml",
        &format!(
            "run: python3 {{root}}/agent.py\n\
             models:\n  grader: {{kind: cmd, run: sh judge.sh}}\n\
             services:\n  smtp: {{type: http_mock, record: true, routes: [{{method: POST, path: /api/messages, status: 202}}]}}\n\
             invariants:\n\
             \x20 tone: {{description: The mail is polite, check: {{type: llm_as_judge, model: grader, criteria: It is polite., input_from: {field}}}}}\n"
        ),
    );
    project
}

fn graded(project: &Project) -> Value {
    project.kelvin(&["check"]).expect(0);
    let report = project.report();
    let items = report["probes"]["checks"]["items"].as_object();
    let one = items.and_then(|items| items.values().next());
    one.expect("one scenario")["runs"][0]["checks"]["tone"].clone()
}

#[test]
fn a_judge_grades_one_field_of_the_last_request_and_sees_nothing_else_of_it() {
    let field = "smtp.last_request.body.text";
    for (words, outcome, score) in [("GOOD day", "passed", 0.7), ("pay now", "failed", 0.2)] {
        let project = mailed(&sends(words), field);
        let tone = graded(&project);
        assert_eq!(
            (&tone["outcome"], &tone["score"]),
            (&json!(outcome), &json!(score)),
            "{tone}"
        );
        let question = hostile::question(&project);
        assert!(question.contains(words), "{question}");
        assert!(!question.contains("ann"), "{question}");
    }
    // The whole body is given as JSON.
    let project = mailed(&sends("GOOD day"), "smtp.last_request.body");
    assert_eq!(graded(&project)["outcome"], "passed");
    assert!(hostile::question(&project).contains(r#""to": "ann""#));
}

#[test]
fn a_request_that_never_came_fails_and_asks_no_judge() {
    let project = mailed("print('GOOD')\n", "smtp.last_request.body.text");
    let tone = graded(&project);
    assert_eq!(tone["outcome"], "failed", "{tone}");
    let reason = tone["reason"].as_str().expect("a text");
    assert!(reason.contains("smtp.last_request.body.text"), "{reason}");
    let session = &project.json("kelvin/report.json")["run"]["session"];
    assert!(session["judge_cost"]["invocations"].as_u64().unwrap_or(0) == 0);
}
