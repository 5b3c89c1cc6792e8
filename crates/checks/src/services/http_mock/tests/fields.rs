//! Which requests are meant, what stands in them, and what is refused.

use super::*;

fn record() -> Arc<MockRecord> {
    let mock = Mock::plain();
    let json = "Content-Type: application/json\r\nAuthorization: Bearer one\r\n";
    let form = "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n";
    mock.ask(
        "POST /send?page=1&tag=a&tag=b",
        json,
        r#"{"to": "ann", "n": 1, "in": {"x": [true]}}"#,
    );
    mock.ask("POST /%73end", json, r#"{"to": "bob", "n": "1"}"#);
    mock.ask("PUT /send", form, "to=a%6En&cc=x&cc=y");
    mock.ask("GET /list", "", "");
    mock.record()
}

#[test]
fn inv_16_the_count_honours_filters_by_method_path_headers_query_and_fields_of_the_body() {
    let record = record();
    for (filters, count) in [
        (json!({}), 4),
        (json!({"method": "post"}), 2),
        (json!({"path": "/send"}), 3),
        (json!({"path": "/s%65nd", "method": "PUT"}), 1),
        (json!({"path": "/sen"}), 0),
        (json!({"headers": {"AUTHORIZATION": "Bearer one"}}), 2),
        (json!({"headers": {"authorization": "bearer one"}}), 0),
        (json!({"query": {"page": 1}}), 1),
        (json!({"query": {"tag": "b"}}), 1),
        (json!({"query": {"tag": "c"}}), 0),
        (json!({"to": "ann"}), 2),
        (json!({"to": "ann", "method": "POST"}), 1),
        (json!({"n": 1}), 1),
        (json!({"n": "1"}), 1),
        (json!({"in.x[0]": true}), 1),
        (json!({"cc": ["x", "y"]}), 1),
        (json!({"nothing": null}), 0),
    ] {
        assert_eq!(
            value(&record, "request_count", filters.clone()),
            json!(count),
            "{filters}"
        );
    }
}

#[test]
fn json_that_a_client_calls_a_form_is_json() {
    let mock = Mock::plain();
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    mock.ask("POST /send", form, r#"{"to": "ann", "n": 1}"#);
    mock.ask("POST /send", form, "5");
    let record = mock.record();
    assert_eq!(
        value(&record, "request_count", json!({"to": "ann", "n": 1})),
        json!(1)
    );
    assert_eq!(value(&record, "requests[0].body.n", json!({})), json!(1));
    assert_eq!(value(&record, "requests[1].body.5", json!({})), json!(""));
}

#[test]
fn inv_17_what_is_not_there_is_told_with_what_is() {
    let record = record();
    let nothing = |field: &str, filters: Value| match seen(&record, field, filters) {
        FieldSeen::Nothing(why) => why,
        other => unreachable!("{field}: {other:?}"),
    };
    let none = json!({"path": "/never"});
    let last = nothing("last_request.body", none.clone());
    assert_eq!(nothing("requests[0].body", none), last);
    insta::assert_snapshot!(last, @"has no request");
    let nine = nothing("requests[9].body", json!({}));
    insta::assert_snapshot!(nine, @"has no request 9, the last of them is 3");
    insta::assert_snapshot!(nothing("requests[1].path", json!({"path": "/list"})), @"has no request 1, the last of them is 0");
    assert!(nothing("last_request.body.to", json!({})).contains("not JSON"));
    assert!(nothing("requests[0].body.cc", json!({})).contains("no `cc`"));
    insta::assert_snapshot!(nothing("requests[0].headers.x-none", json!({})), @"has no header `x-none`");
    insta::assert_snapshot!(nothing("requests[0].query.none", json!({})), @"has no parameter `none` in its query");
    assert_eq!(
        value(&record, "requests[0].query.tag", json!({})),
        json!(["a", "b"])
    );
    assert_eq!(
        value(&record, "last_request.body.to", json!({"method": "PUT"})),
        json!("ann")
    );
}

#[test]
fn a_field_that_no_request_ever_had_is_named() {
    let record = record();
    let unknown = |filters: Value| {
        let filters = serde_json::from_value(filters).expect("a mapping");
        let filter = Filter::of(&filters).expect("a filter");
        let fields = filter.unknown_fields(&record).into_iter();
        fields.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        unknown(json!({"too": "ann", "to": "nobody", "method": "POST"})),
        ["too"]
    );
    assert!(unknown(json!({"in.x": 1})).is_empty());
    assert_eq!(unknown(json!({"in.y": 1})), ["in.y"]);
}

#[test]
fn fields_filters_and_routes_that_make_no_sense_are_refused() {
    let mut told = Vec::new();
    for field in [
        "request-count",
        "last_request",
        "last_request.bdy",
        "last_request.method.x",
        "requests.body",
        "requests[x].body",
        "requests[-1].body",
        "requests[0]",
        "last_request.body.",
        "last_request.headers.a b",
    ] {
        let refused = RequestField::parse(field).expect_err("it is refused");
        told.push(refused.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `request-count` is no field: write `request_count`, `last_request.PART` or `requests[0].PART`
    `last_request` names no part of the request: add one of `.method`, `.path`, `.query`, `.headers`, `.body`
    `last_request.bdy` names no part of the request: a request has `.method`, `.path`, `.query`, `.headers`, `.body`
    `last_request.method.x`: the method has no parts
    `requests.body` is no field: write `request_count`, `last_request.PART` or `requests[0].PART`
    `requests[x]` is no request: they are numbered from 0, as `requests[0]`
    `requests[-1]` is no request: they are numbered from 0, as `requests[0]`
    `requests[0]` names no part of the request: add one of `.method`, `.path`, `.query`, `.headers`, `.body`
    `` is no path into JSON: write it as `items[0].name`
    `a b` is no name of a header
    ");
    let mut texts = Vec::new();
    for filters in [
        json!({"method": "P OST"}),
        json!({"method": 5}),
        json!({"path": "send"}),
        json!({"path": "/send?x=1"}),
        json!({"headers": "x"}),
        json!({"headers": {"a b": "x"}}),
        json!({"query": {"a": []}}),
        json!({"a..b": 1}),
    ] {
        let filters = serde_json::from_value(filters).expect("a mapping");
        let refused = Filter::of(&filters).expect_err("it is refused");
        texts.push(refused.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    `P OST` is no method of HTTP, e.g. `POST`
    `method` takes a text
    the path `send` does not begin with `/`
    the path `/send?x=1` has more than a path: paths are compared without the query
    `headers` takes names with their values
    `a b` is no name of a header
    `query.a` takes a text
    `a..b` is no path into JSON: write it as `items[0].name`
    ");
    let mut all_told = Vec::new();
    for route in [
        json!({"path": "x"}),
        json!({"path": "/x", "method": "G T"}),
        json!({"path": "/x", "json": 1, "body": "x"}),
        json!({"path": "/x", "status": 204, "body": "x"}),
        json!({"path": "/x", "headers": {"Content-Length": "5"}}),
        json!({"path": "/x", "headers": {"X": "a\r\nb"}}),
    ] {
        let (at, what) = Routes::of(&keys(json!({"routes": [{"path": "/first"}, route]})))
            .expect_err("it is refused");
        assert!(at == Some(1));
        all_told.push(what.to_string());
    }
    insta::assert_snapshot!(all_told.join("\n"), @"
    the path `x` does not begin with `/`
    `G T` is no method of HTTP, e.g. `POST`
    give `json` or `body`, not both
    an answer with the status 204 has no body
    the server makes the header `Content-Length` itself
    the value of the header `X` has a character that no header can have
    ");
    let hidden = json!({"routes": [{"path": "/x"}, {"path": "/%78", "method": "GET"}]});
    let (at, what) = Routes::of(&keys(hidden)).expect_err("it is refused");
    assert_eq!(at, Some(1), "{what}");
    insta::assert_snapshot!(what, @"an earlier route answers every request to `/%78`, so that this one never does");
    let otherwise = json!({"default_response": {"status": 304, "body": "x"}});
    assert_eq!(Routes::of(&keys(otherwise)).expect_err("refused").0, None);
}
