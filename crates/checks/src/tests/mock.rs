//! Mocked servers in `kelvin.yaml`, and what is asserted of them.

use super::*;

#[test]
fn inv_15_a_mocked_server_and_its_assertions_are_looked_at_before_anything_runs() {
    let assertions = "{type: http_mock_assertions, service: smtp, assertions: [{field: request_count, equals: 1}]}";
    let mock = |inside: &str| {
        format!(
            "{}services:\n  smtp: {{type: http_mock{inside}}}\n",
            with(assertions)
        )
    };
    let route = ", record: true, routes: [{method: POST, path: /api/messages, status: 202, json: {\"ok\": true}}]";
    load(&mock(route)).expect("the example of the issue is complete");
    let mut each = Vec::new();
    for text in [
        mock(""),
        mock(", record: false"),
        mock(route).replace("service: smtp", "service: smpt"),
        mock(route).replace("service: smtp, ", ""),
        mock(", record: true, routes: [{path: x}]"),
        mock(", record: true, routes: [{path: /x, status: 99}]"),
        mock(", record: true, routes: [{path: /x, response: {}}]"),
        mock(", record: true, ports: [80]"),
        mock(", reocrd: true"),
        mock(route).replace("field: request_count", "field: request-count"),
        mock(route).replace("equals: 1", "equlas: 1"),
        mock(route).replace("equals: 1", "matches: '('"),
        mock(", record: true, routes: [{path: /x, body: '${NOT_SET_ANYWHERE}'}]"),
    ] {
        let told = refusal(&text);
        each.push(problems(&told));
    }
    insta::assert_snapshot!(each.join("\n"), @"
    the service `smtp` keeps no requests: add `record: true` to it
     --> kelvin.yaml:5:50
    the service `smtp` keeps no requests: add `record: true` to it
     --> kelvin.yaml:5:50
    no service is called `smpt`: did you mean `smtp`?
     --> kelvin.yaml:5:50
    the key `service` is missing in `invariants.made.check`
     --> kelvin.yaml:5:12
    route 1: the path `x` does not begin with `/`
     --> kelvin.yaml:7:49
    route 1: invalid status code
     --> kelvin.yaml:7:49

    error: `services.smtp.routes.1.status` must be a whole number from 200 to 599, found `99`
     --> kelvin.yaml:7:69
    unknown key `response` in `services.smtp.routes.1`
     --> kelvin.yaml:7:61
      = help: known here: body, headers, json, method, path, status
    unknown key `ports` in `services.smtp`
     --> kelvin.yaml:7:41
      = help: known here: default_response, record, routes, type
    the service `smtp` keeps no requests: add `record: true` to it
     --> kelvin.yaml:5:50

    error: unknown key `reocrd` in `services.smtp`
     --> kelvin.yaml:7:27
      = help: did you mean `record`?
    assertion 1: `request-count` is no field: write `request_count`, `last_request.PART` or `requests[0].PART`
     --> kelvin.yaml:5:68
    unknown key `equlas` in `invariants.made.check.assertions.1`
     --> kelvin.yaml:5:92
      = help: did you mean `equals`?
    assertion 1: this is no regular expression: unclosed group
     --> kelvin.yaml:5:68
    the variable `NOT_SET_ANYWHERE` is not set in the environment
     --> kelvin.yaml:7:67
      = help: set it, or write `$${NOT_SET_ANYWHERE}` where the text itself is meant
    ");
}
