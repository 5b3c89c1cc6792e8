//! Converts conversations from the formats of several recording tools into the format of cases: messages with `role`
//! and `content`.

use serde_json::{Map, Value};

/// The messages of a value, if it is a conversation.
pub(super) fn conversation(value: &Value) -> Option<Vec<Value>> {
    let items = value.as_array().filter(|items| !items.is_empty())?;
    // LangChain records a batch that contains one conversation.
    if let [Value::Array(_)] = items.as_slice() {
        return conversation(&items[0]);
    }
    items.iter().map(message).collect()
}

/// A message in the format of cases; none if a value is not a message.
fn message(value: &Value) -> Option<Value> {
    let object = value.as_object()?;
    // LangChain: the fields of the message are in its field `kwargs`, and its class names the sender.
    let object = match object.get("kwargs").or_else(|| object.get("data")) {
        Some(Value::Object(inside)) if inside.contains_key("content") => inside,
        _ => object,
    };
    let text_of = |key: &str| object.get(key).and_then(Value::as_str);
    let role = match (text_of("role"), text_of("type")) {
        (Some(role), _) => role,
        (None, Some(role @ ("human" | "ai" | "system" | "tool"))) => role,
        _ => return None,
    };
    let role = match role {
        "human" => "user",
        "ai" => "assistant",
        role => role,
    };
    let content = object.get("parts").or_else(|| object.get("content"));
    if content.is_none() && !object.contains_key("tool_calls") {
        return None;
    }
    let content = match content {
        Some(Value::Array(parts)) => {
            joined(parts).map_or_else(|| content.cloned().unwrap_or_default(), Value::String)
        }
        content => content.cloned().unwrap_or_default(),
    };
    let mut message = Map::new();
    message.insert("role".to_owned(), Value::from(role));
    message.insert("content".to_owned(), content);
    for key in ["name", "tool_calls", "tool_call_id"] {
        let says_something = |value: &&Value| match value {
            Value::Null => false,
            Value::Array(values) => !values.is_empty(),
            _ => true,
        };
        if let Some(value) = object.get(key).filter(says_something) {
            message.insert(key.to_owned(), value.clone());
        }
    }
    Some(Value::Object(message))
}

/// The texts of all parts, separated by blank lines; none if a part is not a text.
pub(super) fn joined(parts: &[Value]) -> Option<String> {
    let texts = parts.iter().map(|part| match part {
        Value::String(text) => Some(text.as_str()),
        part => {
            let is_text = matches!(
                part["type"].as_str(),
                Some("text" | "input_text" | "output_text")
            );
            let text = part["content"].as_str().or_else(|| part["text"].as_str());
            text.filter(|_| is_text)
        }
    });
    let texts: Option<Vec<&str>> = texts.collect();
    texts.map(|texts| texts.join("\n\n"))
}

/// The messages up to the last message of the user, including the instructions right after it, and how many messages
/// are left out: the pipeline should write those itself.
pub(super) fn unanswered(mut messages: Vec<Value>) -> (Vec<Value>, usize) {
    let is_of = |message: &Value, roles: &[&str]| {
        message["role"]
            .as_str()
            .is_some_and(|role| roles.contains(&role))
    };
    let all = messages.len();
    match messages
        .iter()
        .rposition(|message| is_of(message, &["user"]))
    {
        Some(last) => {
            let behind = messages[last + 1..].iter();
            let instructions =
                behind.take_while(|message| is_of(message, &["system", "developer"]));
            let end = last + 1 + instructions.count();
            messages.truncate(end);
        }
        None => {
            let kept = messages
                .iter()
                .rposition(|message| !is_of(message, &["assistant", "tool"]));
            messages.truncate(kept.map_or(0, |last| last + 1));
        }
    }
    let left_out = all - messages.len();
    (messages, left_out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_of_a_conversation_becomes_the_same_messages() {
        let wanted = json!([
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi\n\nthere"},
            {"role": "assistant", "content": "Hello."},
        ]);
        for recorded in [
            json!([
                {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
                {"role": "user", "parts": [{"type": "text", "content": "Hi"}, {"type": "text", "content": "there"}]},
                {"role": "assistant", "parts": [{"type": "text", "content": "Hello."}], "finish_reason": "stop"},
            ]),
            json!([
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "input_text", "text": "there"}]},
                {"role": "assistant", "content": "Hello.", "tool_calls": null},
            ]),
            json!([[
                {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "SystemMessage"],
                 "kwargs": {"type": "system", "content": "Be kind."}},
                {"type": "human", "content": "Hi\n\nthere"},
                {"type": "ai", "data": {"type": "ai", "content": "Hello.", "tool_calls": []}},
            ]]),
        ] {
            let found = conversation(&recorded).expect("a conversation");
            assert_eq!(Value::Array(found), wanted, "{recorded}");
        }
        for other in [
            json!([]),
            json!("x"),
            json!([{"role": "user"}]),
            json!([{"type": "text", "content": "x"}]),
        ] {
            assert_eq!(conversation(&other), None, "{other}");
        }
    }

    #[test]
    fn a_message_that_is_more_than_text_keeps_its_parts() {
        let recorded = json!([
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "find", "arguments": {}}]},
            {"role": "tool", "content": "12", "tool_call_id": "1"},
        ]);
        let found = conversation(&recorded).expect("a conversation");
        assert_eq!(found[0]["content"][0]["name"], "find");
        assert_eq!(found[1]["tool_call_id"], "1");
    }

    #[test]
    fn what_stands_behind_the_turn_to_be_answered_is_left_out() {
        let of = |roles: &[&str]| {
            let messages = roles
                .iter()
                .map(|role| json!({"role": role, "content": "x"}));
            let (kept, left_out) = unanswered(messages.collect());
            (kept.len(), left_out)
        };
        assert_eq!(
            of(&[
                "system",
                "user",
                "assistant",
                "user",
                "system",
                "assistant",
                "tool"
            ]),
            (5, 2)
        );
        assert_eq!(of(&["user"]), (1, 0));
        assert_eq!(of(&["system", "assistant"]), (1, 1));
        assert_eq!(of(&["assistant", "tool"]), (0, 2));
    }
}
