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
    for (text, parts) in [
        (
            mock(""),
            vec![":5:", "`smtp` keeps no requests: add `record: true`"],
        ),
        (mock(", record: false"), vec![":5:", "add `record: true`"]),
        (
            mock(route).replace("service: smtp", "service: smpt"),
            vec![":5:", "did you mean `smtp`?"],
        ),
        (
            mock(route).replace("service: smtp, ", ""),
            vec![":5:", "the key `service` is missing"],
        ),
        (
            mock(", record: true, routes: [{path: x}]"),
            vec![":7:", "route 1: the path `x` does not begin with `/`"],
        ),
        (
            mock(", record: true, routes: [{path: /x, status: 99}]"),
            vec![":7:", "200"],
        ),
        (
            mock(", record: true, routes: [{path: /x, response: {}}]"),
            vec![":7:", "`json` or as `body`"],
        ),
        (
            mock(", record: true, ports: [80]"),
            vec![":7:", "KELVIN_SERVICE_NAME_URL"],
        ),
        (
            mock(", reocrd: true"),
            vec![":7:", "did you mean `record`?"],
        ),
        (
            mock(route).replace("field: request_count", "field: request-count"),
            vec![":5:", "assertion 1: `request-count` is no field"],
        ),
        (
            mock(route).replace("equals: 1", "equlas: 1"),
            vec![":5:", "did you mean `equals`?"],
        ),
        (
            mock(route).replace("equals: 1", "matches: '('"),
            vec![":5:", "unclosed group"],
        ),
        (
            mock(", record: true, routes: [{path: /x, body: '${NOT_SET_ANYWHERE}'}]"),
            vec![":7:", "`NOT_SET_ANYWHERE` is not set"],
        ),
    ] {
        let told = refusal(&text);
        for part in parts {
            assert!(
                told.contains(part),
                "{part}\nis not told of\n{text}\nbut\n{told}"
            );
        }
    }
}
