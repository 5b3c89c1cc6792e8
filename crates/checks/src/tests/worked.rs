//! The worked file of the document with a database, a mocked server and a judge.

use super::{load, refusal};

/// As the document writes it, with `run` for its agent.
const WORKED: &str = "\
run: agent
services:
  db: {type: sqlite, path: shop.db}
  smtp:
    type: http_mock
    record: true
    routes: [{method: POST, path: /api/messages, status: 202, json: {ok: true}}]
invariants:
  order_cancelled:
    description: The order is cancelled
    weight: 0.5
    gate: true
    check: {type: sql, service: db, query: \"SELECT status FROM orders WHERE id = 17\", equals: cancelled}
  mail_sent:
    description: One mail is sent to the customer
    weight: 0.3
    check:
      type: http_mock_assertions
      service: smtp
      assertions:
        - {field: request_count, filters: {method: POST, path: /api/messages, to: ann@example.com}, equals: 1}
  tone:
    description: The mail is polite
    weight: 0.2
    check:
      type: llm_as_judge
      model: claude-sonnet
      criteria: The mail is polite and says what happens next.
      input_from: smtp.last_request.body
      rubric: 1.0 = excellent, 0.5 = acceptable, 0.0 = rude
      temperature: 0
      pass_threshold: 0.7
scoring:
  pass_threshold: 0.85
  replicas: 3
  replica_aggregation: all
";

#[test]
fn inv_35_the_worked_file_with_every_type_needs_its_model_declared_and_nothing_else() {
    let told = refusal(WORKED);
    assert_eq!(told.matches("-->").count(), 1, "{told}");
    assert!(
        told.contains("claude-sonnet") && told.contains("kelvin.yaml:27:14"),
        "{told}"
    );
    let declared = "models:\n  claude-sonnet: {kind: anthropic, model: claude-sonnet-4-5}\n";
    load(&format!("{declared}{WORKED}")).expect("nothing else is needed");
}
