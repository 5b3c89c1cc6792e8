use kelvin_fixtures::text::redacted;
use serde_json::{Value, json};

use super::super::{example, figure, ran};

#[test]
fn the_example_with_a_database_a_mocked_server_and_a_judge_has_a_composite_of_0_94_offline() {
    let project = example("sql-http-judge");
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    let composite = figure(&report, "composite").as_f64().expect("measured");
    assert!(
        (composite - 0.94).abs() < 1e-12,
        "{composite}\n{}",
        said.stdout
    );
    assert_eq!(figure(&report, "pass_rate"), json!(1.0));
    for (name, score) in [("cancelled", 1.0), ("mail_sent", 1.0), ("polite", 0.7)] {
        let found = figure(&report, name).as_f64().expect("measured");
        assert!((found - score).abs() < 1e-12, "{name}: {found}");
    }
    // Two orders instead of one: the gate makes it 0, whatever the judge says.
    let agent = project.read("agent.py");
    project.write(
        "agent.py",
        &agent.replace(" WHERE id = ?\", (order,)", "\""),
    );
    project.kelvin(&["check"]).expect(0);
    assert_eq!(ran(&project.report(), "cancel", 0)["composite"], json!(0.0));
    // What the agent says otherwise nobody has graded, so nobody knows how good it is.
    project.write("agent.py", &agent.replace("I have cancelled", "Away with"));
    project.kelvin(&["check"]).expect(0);
    let run = ran(&project.report(), "cancel", 0);
    assert_eq!(
        (&run["outcome"], &run["composite"]),
        (&json!("error"), &Value::Null)
    );
    let reason = run["checks"]["polite"]["reason"].as_str().expect("a text");
    insta::assert_snapshot!(redacted(reason), @"the judge gave no score: no answer is recorded for this prompt (request [HASH])");
}
