use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::targets::Address;
use crate::targets::model::wire::Wire;
use kelvin_base::failure::FailureKind;

fn endpoint(text: Value) -> Endpoint {
    serde_json::from_value(text).expect("a model")
}

fn model(endpoint_text: Value) -> ModelSettings {
    ModelSettings {
        name: "local".to_owned(),
        endpoint: endpoint(endpoint_text),
        files: None,
        recorded: None,
        recorder: None,
    }
}

fn openai() -> Value {
    json!({ "kind": "openai", "base_url": "http://127.0.0.1:8080/v1/", "model": "gemma" })
}

fn anthropic() -> Value {
    json!({ "kind": "anthropic", "model": "claude" })
}

fn wire(model: Value, call: CallKind) -> Box<dyn Wire> {
    match (endpoint(model), call) {
        (Endpoint::OpenAi(endpoint), CallKind::Chat(asking)) => {
            let base = base_url::check(&endpoint.base_url).expect("an address");
            Box::new(openai::Chat::new(endpoint, asking, &base))
        }
        (Endpoint::OpenAi(endpoint), CallKind::Embedding) => {
            let base = base_url::check(&endpoint.base_url).expect("an address");
            Box::new(openai::Embedding::new(endpoint, &base))
        }
        (Endpoint::Anthropic(endpoint), CallKind::Chat(asking)) => {
            let base = base_url::check(&endpoint.base_url).expect("an address");
            Box::new(anthropic::Messages::new(endpoint, asking, &base))
        }
        _ => panic!("no server has this call"),
    }
}

fn chat(model: Value, asking: Asking) -> Box<dyn Wire> {
    wire(model, CallKind::Chat(asking))
}

fn asking() -> Asking {
    Asking {
        system: Some("Grade it.".to_owned()),
        schema: Some(json!({ "type": "object" })),
        temperature: Some(0.0),
        seed: Some(7),
        max_tokens: Some(50),
    }
}

fn with(mut model: Value, more: Value) -> Value {
    let more = more.as_object().expect("fields").clone();
    model.as_object_mut().expect("a mapping").extend(more);
    model
}

fn bytes(wire: &dyn Wire, input: &str) -> String {
    wire.request(input).expect("a request").to_string()
}

/// The cache takes equal settings for equal requests. Whoever has to change a line here adds 1 to
/// [`REQUESTS`], so that answers to the old requests are not taken for answers to the new ones.
#[test]
fn the_bytes_of_the_requests_are_those_of_this_version() {
    assert_eq!(REQUESTS, 1);
    let plain = chat(openai(), Asking::default());
    assert_eq!(plain.url(), "http://127.0.0.1:8080/v1/chat/completions");
    assert_eq!(
        bytes(&*plain, "Hi \"you\"\n"),
        r#"{"messages":[{"content":"Hi \"you\"\n","role":"user"}],"model":"gemma"}"#
    );
    assert_eq!(
        bytes(&*chat(openai(), asking()), "x"),
        r#"{"max_tokens":50,"messages":[{"content":"Grade it.","role":"system"},{"content":"x","role":"user"}],"model":"gemma","response_format":{"json_schema":{"name":"answer","schema":{"type":"object"},"strict":true},"type":"json_schema"},"seed":7,"temperature":0.0}"#
    );
    let embedding = wire(openai(), CallKind::Embedding);
    assert_eq!(embedding.url(), "http://127.0.0.1:8080/v1/embeddings");
    assert_eq!(
        bytes(&*embedding, r#"["a", "b"]"#),
        r#"{"input":["a","b"],"model":"gemma"}"#
    );
    let messages = chat(anthropic(), asking());
    assert_eq!(messages.url(), "https://api.anthropic.com/v1/messages");
    assert_eq!(
        bytes(&*messages, "x"),
        r#"{"max_tokens":50,"messages":[{"content":"x","role":"user"}],"model":"claude","system":"Grade it.","temperature":0.0,"tool_choice":{"name":"answer","type":"tool"},"tools":[{"description":"Gives the answer.","input_schema":{"type":"object"},"name":"answer"}]}"#
    );
    assert_eq!(
        bytes(&*chat(anthropic(), Asking::default()), "x"),
        r#"{"max_tokens":1024,"messages":[{"content":"x","role":"user"}],"model":"claude"}"#
    );
}

#[test]
fn what_a_call_asks_outranks_the_model_and_the_further_fields_outrank_both() {
    let own = json!({ "temperature": 0.9, "top_p": 0.5, "seed": 1, "max_tokens": 9 });
    let request = |model: Value, asking: Asking| chat(model, asking).request("x").expect("made");
    let model = with(openai(), own);
    let request_of_model = request(model.clone(), Asking::default());
    assert_eq!(
        (&request_of_model["temperature"], &request_of_model["seed"]),
        (&json!(0.9), &json!(1))
    );
    let asked = request(model.clone(), asking());
    assert_eq!(
        (&asked["temperature"], &asked["seed"]),
        (&json!(0.0), &json!(7))
    );
    assert_eq!(
        (&asked["top_p"], &asked["max_tokens"]),
        (&json!(0.5), &json!(50))
    );
    // A model that takes neither a temperature nor this name of a limit.
    let body = json!({ "temperature": null, "max_tokens": null, "max_completion_tokens": 99 });
    let replaced = request(with(model, json!({ "body": body })), asking());
    assert!(replaced.get("temperature").is_none() && replaced.get("max_tokens").is_none());
    assert_eq!(replaced["max_completion_tokens"], json!(99));
}

#[test]
fn keys_go_into_the_header_of_their_format() {
    let headers = |wire: &dyn Wire| -> BTreeMap<String, String> {
        let headers = wire.headers(Some("sk-1")).into_iter();
        headers
            .map(|(name, value)| {
                let is_key = value.to_str().is_ok_and(|text| text.contains("sk-1"));
                assert_eq!(value.is_sensitive(), is_key, "{name}");
                (name.to_string(), value.to_str().expect("text").to_owned())
            })
            .collect()
    };
    let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let plain = chat(openai(), Asking::default());
    assert_eq!(
        headers(&*plain),
        BTreeMap::from([of("authorization", "Bearer sk-1")])
    );
    assert!(plain.headers(None).is_empty());
    let messages = chat(anthropic(), Asking::default());
    let expected = [
        of("anthropic-version", "2023-06-01"),
        of("x-api-key", "sk-1"),
    ];
    assert_eq!(headers(&*messages), BTreeMap::from(expected));
    let newer = with(
        anthropic(),
        json!({ "headers": { "anthropic-version": "2030-01-01" } }),
    );
    let newer = headers(&*chat(newer, Asking::default()));
    assert_eq!(newer["anthropic-version"], "2030-01-01");
}

#[test]
fn texts_and_tokens_are_read_from_where_each_format_has_them() {
    let output =
        |wire: &dyn Wire, body: Value| wire.output(&body, "x").map_err(|failure| failure.kind);
    let plain = chat(openai(), Asking::default());
    let says = |content: Value| json!({ "choices": [{ "message": { "content": content } }] });
    assert_eq!(output(&*plain, says(json!("a\n"))), Ok("a\n".to_owned()));
    let parts = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
    assert_eq!(output(&*plain, says(parts)), Ok("ab".to_owned()));
    assert_eq!(
        output(&*plain, says(json!(null))),
        Err(FailureKind::EmptyContent)
    );
    assert_eq!(
        output(&*plain, json!({ "choices": "x" })),
        Err(FailureKind::MalformedBody)
    );
    let usage = json!({ "usage": { "prompt_tokens": 3, "completion_tokens": 4 } });
    assert_eq!(plain.tokens(&usage), Some((3, 4)));
    assert_eq!(plain.tokens(&json!({ "usage": null })), None);

    let messages = chat(anthropic(), Asking::default());
    let text = json!({ "content": [{ "type": "thinking", "text": "hm" }, { "type": "text", "text": "a" }] });
    assert_eq!(output(&*messages, text), Ok("a".to_owned()));
    assert_eq!(
        output(&*messages, json!({ "content": [] })),
        Err(FailureKind::EmptyContent)
    );
    assert_eq!(
        output(&*messages, json!([])),
        Err(FailureKind::MalformedBody)
    );
    let tool =
        json!({ "content": [{ "type": "tool_use", "name": "answer", "input": { "q": 1 } }] });
    let schema = chat(anthropic(), asking());
    assert_eq!(output(&*schema, tool.clone()), Ok(r#"{"q":1}"#.to_owned()));
    assert_eq!(
        output(&*messages, tool),
        Err(FailureKind::EmptyContent),
        "nobody asked for a tool"
    );
    let usage = json!({ "usage": {
        "input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 10,
        "cache_creation_input_tokens": 100,
    } });
    assert_eq!(messages.tokens(&usage), Some((113, 4)));
}

#[test]
fn vectors_are_in_the_order_of_the_texts_and_as_many() {
    let wire = wire(openai(), CallKind::Embedding);
    let output = |data: Value| {
        let output = wire.output(&json!({ "data": data }), r#"["a", "b"]"#);
        output.map_err(|failure| failure.kind)
    };
    let vector = |index: u64, embedding: Value| json!({ "index": index, "embedding": embedding });
    let swapped = json!([vector(1, json!([0.5, 1])), vector(0, json!([-2]))]);
    assert_eq!(output(swapped), Ok("[[-2],[0.5,1]]".to_owned()));
    let unnumbered = json!([{ "embedding": [1] }, { "embedding": [2] }]);
    assert_eq!(output(unnumbered), Ok("[[1],[2]]".to_owned()));
    for data in [
        json!([]),
        json!([vector(0, json!([1]))]),
        json!([vector(0, json!([1])), vector(0, json!([1]))]),
        json!([vector(0, json!([1])), vector(2, json!([1]))]),
        json!([vector(0, json!([1])), vector(1, json!(["x"]))]),
        json!([vector(0, json!([1])), vector(1, json!("AAAA"))]),
        json!("none"),
    ] {
        assert_eq!(
            output(data.clone()),
            Err(FailureKind::MalformedBody),
            "{data}"
        );
    }
    let no_list = wire.request("just a text").map_err(|failure| failure.kind);
    assert_eq!(no_list.err(), Some(FailureKind::MalformedBody));
}

#[test]
fn an_address_holds_what_the_answers_depend_on_and_no_more_counts() {
    let address = |more: Value| model(with(openai(), more)).chat(&asking());
    let plain = address(json!({}));
    for more in [
        json!({ "price": { "input_per_million": 1, "output_per_million": 2 } }),
        json!({ "limits": { "max_calls": 3 } }),
        json!({ "api_key_env": "LOCAL_KEY" }),
        json!({ "insecure_http": true }),
    ] {
        let other = address(more.clone());
        assert_ne!(other, plain, "{more}");
        assert_eq!(other.text(), plain.text(), "{more}");
    }
    for more in [
        json!({ "model": "other" }),
        json!({ "base_url": "http://127.0.0.1:8081/v1" }),
        json!({ "top_p": 0.5 }),
        json!({ "headers": { "x-a": "b" } }),
        json!({ "body": { "a": null } }),
    ] {
        assert_ne!(address(more.clone()).text(), plain.text(), "{more}");
    }
    let local = model(openai());
    assert_ne!(local.chat(&Asking::default()).text(), plain.text());
    assert_ne!(
        local.embedding().text(),
        local.chat(&Asking::default()).text()
    );
    // The name under which it is declared is no part of what it answers.
    let renamed = ModelSettings {
        name: "other".to_owned(),
        ..local.clone()
    };
    assert_eq!(renamed.embedding().text(), local.embedding().text());
    assert_eq!(renamed.embedding().called_model().as_deref(), Some("other"));
    // Of a recording its content counts, wherever it lies.
    let tape = |file: &str, content: &[u8]| {
        let model = ModelSettings {
            recorded: Some(Digest::of(content)),
            ..model(json!({ "kind": "replay", "file": file }))
        };
        model.chat(&Asking::default()).text().into_owned()
    };
    assert_eq!(tape("a.jsonl", b"1"), tape("b.jsonl", b"1"));
    assert_ne!(tape("a.jsonl", b"1"), tape("a.jsonl", b"2"));
}

#[test]
fn a_name_is_resolved_once_and_nothing_is_made_up_for_one_that_is_not_declared() {
    let local = model(openai());
    let find = |name: &str| Some(&local).filter(|model| model.name == name);
    let resolve = |written: Value| {
        let address: Address = serde_json::from_value(written).expect("an address");
        address.resolved(find)
    };
    let plain = resolve(json!({ "model": "local" })).expect("declared");
    assert_eq!(plain, local.chat(&Asking::default()));
    assert_eq!(plain.clone().resolved(find), Ok(plain.clone()), "again");
    let asked = resolve(json!({ "model": { "name": "local", "seed": 3 } })).expect("declared");
    let seed = Some(3);
    let asking = Asking {
        seed,
        ..Asking::default()
    };
    assert_eq!(asked, local.chat(&asking));
    let refused = resolve(json!({ "model": "other" })).expect_err("not declared");
    assert!(refused.contains("`other`"), "{refused}");
    let command = Address::command("p {input} {output}");
    assert_eq!(command.clone().resolved(find), Ok(command));
    // An address keeps its meaning in a file.
    let text = serde_json::to_string(&plain).expect("written");
    assert_eq!(serde_json::from_str::<Address>(&text).expect("read"), plain);
}
