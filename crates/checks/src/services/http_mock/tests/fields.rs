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
    assert_eq!(nothing("last_request.body", none.clone()), "has no request");
    assert_eq!(nothing("requests[0].body", none), "has no request");
    let nine = nothing("requests[9].body", json!({}));
    assert_eq!(
        nine,
        "has no request 9, there are 4, the last of which is 3"
    );
    assert!(nothing("requests[1].path", json!({"path": "/list"})).contains("there is one"));
    assert!(nothing("last_request.body.to", json!({})).contains("not JSON"));
    assert!(nothing("requests[0].body.cc", json!({})).contains("no `cc`"));
    assert!(nothing("requests[0].headers.x-none", json!({})).contains("no header `x-none`"));
    assert!(nothing("requests[0].query.none", json!({})).contains("no parameter `none`"));
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
    for (field, why) in [
        ("request-count", "write `request_count`"),
        ("last_request", "names no part"),
        ("last_request.bdy", "a request has `.method`"),
        ("last_request.method.x", "has no parts"),
        ("requests.body", "no field"),
        ("requests[x].body", "numbered from 0"),
        ("requests[-1].body", "numbered from 0"),
        ("requests[0]", "names no part"),
        ("last_request.body.", "no path into JSON"),
        ("last_request.headers.a b", "no name of a header"),
    ] {
        let refused = RequestField::parse(field).expect_err("it is refused");
        assert!(refused.contains(why), "{field}: {refused}");
    }
    for (filters, why) in [
        (json!({"method": "P OST"}), "no method"),
        (json!({"method": 5}), "takes a text"),
        (json!({"path": "send"}), "begin with `/`"),
        (json!({"path": "/send?x=1"}), "more than a path"),
        (json!({"headers": "x"}), "names with their values"),
        (json!({"headers": {"a b": "x"}}), "no name of a header"),
        (json!({"query": {"a": []}}), "`query.a` takes a text"),
        (json!({"a..b": 1}), "no path into JSON"),
    ] {
        let filters = serde_json::from_value(filters).expect("a mapping");
        let refused = Filter::of(&filters).expect_err("it is refused");
        assert!(refused.contains(why), "{refused}");
    }
    for (route, why) in [
        (json!({"path": "x"}), "begin with `/`"),
        (json!({"path": "/x", "method": "G T"}), "no method"),
        (json!({"path": "/x", "json": 1, "body": "x"}), "not both"),
        (
            json!({"path": "/x", "status": 204, "body": "x"}),
            "has no body",
        ),
        (
            json!({"path": "/x", "headers": {"Content-Length": "5"}}),
            "makes the header",
        ),
        (
            json!({"path": "/x", "headers": {"X": "a\r\nb"}}),
            "no header can have",
        ),
    ] {
        let (at, what) = Routes::of(&keys(json!({"routes": [{"path": "/first"}, route]})))
            .expect_err("it is refused");
        assert!(at == Some(1) && what.contains(why), "{what}");
    }
    let hidden = json!({"routes": [{"path": "/x"}, {"path": "/%78", "method": "GET"}]});
    let (at, what) = Routes::of(&keys(hidden)).expect_err("it is refused");
    assert!(at == Some(1) && what.contains("an earlier route"), "{what}");
    let otherwise = json!({"default_response": {"status": 304, "body": "x"}});
    assert_eq!(Routes::of(&keys(otherwise)).expect_err("refused").0, None);
}
