//! The parts of a request: its body, which is the input alone or in a template, its address, and headers with the
//! conversation.

use std::fmt::Write as _;

use minijinja::value::Kwargs;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, context};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::targets::handed::{HandedInput, HandedTurn};

/// The form of a body.
pub(super) struct RequestBody {
    /// The template, if there is one.
    pub(super) template: Option<String>,
    /// Whether the body has to be JSON.
    pub(super) is_json: bool,
}

impl RequestBody {
    /// The body for an input, which may be a record. The text `call` differs from call to call and reveals nothing
    /// about the call. Fails with the reason why the template gives no body, without quoting the input.
    pub(super) fn of_input(&self, input: &HandedInput<'_>, call: &str) -> Result<Vec<u8>, String> {
        let Some(template) = &self.template else {
            return Ok(alone(input).into_bytes());
        };
        let body = render(template, value(input), call, input.turn.as_ref()).map_err(|error| {
            let why = why_not_filled(&error, input);
            format!("`run.http.body` cannot be filled: {why}")
        })?;
        if self.is_json
            && let Err(error) = serde_json::from_str::<IgnoredAny>(&body)
        {
            return Err(format!(
                "`run.http.body` makes no JSON of this input (line {}, column {} of what it makes): \
                 `{{{{ input | tojson }}}}` writes a text with its quotes; where JSON is not meant, `headers` \
                 names another `Content-Type`",
                error.line(),
                error.column()
            ));
        }
        Ok(body.into_bytes())
    }
}

/// The body without a template. A record keeps its bytes.
fn alone(input: &HandedInput<'_>) -> String {
    let record = serde_json::from_str::<&RawValue>(&input.text).ok();
    let value = match record.filter(|_| input.is_record) {
        Some(record) => format!(" {}", record.get()),
        None => json!(input.text).to_string(),
    };
    let turn = input.turn.as_ref().map_or_else(String::new, |turn| {
        format!(
            ",\"conversation_id\":\"{}\",\"turn\":{}",
            turn.conversation, turn.number
        )
    });
    format!("{{\"input\":{value}{turn}}}")
}

fn render(
    template: &str,
    input: minijinja::Value,
    call: &str,
    turn: Option<&HandedTurn>,
) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("tojson", tojson);
    filled(&environment, template, input, call, turn)
}

fn filled(
    environment: &Environment<'_>,
    template: &str,
    input: minijinja::Value,
    call: &str,
    turn: Option<&HandedTurn>,
) -> Result<String, minijinja::Error> {
    let template = environment.template_from_str(template)?;
    match turn {
        None => template.render(context! { input, call }),
        Some(turn) => template.render(
            context! { input, call, conversation_id => &*turn.conversation, turn => turn.number },
        ),
    }
}

/// An input in the form that a template gets: a record as an object, anything else as a string.
fn value(input: &HandedInput<'_>) -> minijinja::Value {
    let record = || serde_json::from_str::<minijinja::Value>(&input.text).ok();
    let value = input.is_record.then(record).flatten();
    value.unwrap_or_else(|| minijinja::Value::from(&*input.text))
}

/// The value of a header that contains data of the conversation. Fails with the reason why it is not a valid template.
pub(super) fn of_conversation(template: &str, turn: &HandedTurn) -> Result<String, String> {
    if !is_template(template) {
        return Ok(template.to_owned());
    }
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let rendered = environment
        .template_from_str(template)
        .and_then(|template| {
            template
                .render(context! { conversation_id => &*turn.conversation, turn => turn.number })
        });
    rendered.map_err(|error| in_words(&error))
}

/// The address for an input. A value that a template inserts is always a single part of the address: characters such as
/// `/`, `?` and `&` are escaped. Fails with the reason why the template gives no address, without quoting the input.
pub(super) fn address(
    template: &str,
    input: &HandedInput<'_>,
    call: &str,
) -> Result<String, String> {
    if !is_template(template) {
        return Ok(template.to_owned());
    }
    filled(
        &environment_of_addresses(UndefinedBehavior::Strict),
        template,
        value(input),
        call,
        input.turn.as_ref(),
    )
    .map_err(|error| why_not_filled(&error, input))
}

fn environment_of_addresses(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    environment.set_formatter(|out, _, value| {
        for byte in value.to_string().bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    out.write_char(char::from(byte))?;
                }
                _ => write!(out, "%{byte:02X}")?,
            }
        }
        Ok(())
    });
    environment
}

/// An example of the address, made before there is an input.
pub(super) fn example(url: &str) -> String {
    let environment = environment_of_addresses(UndefinedBehavior::Chainable);
    let turn = some_turn();
    let input = minijinja::Value::from("input");
    let made = filled(&environment, url, input, "call", Some(&turn));
    made.unwrap_or_else(|_| url.to_owned())
}

/// The problem of an address as a template, and advice.
pub(super) fn problem_of_address(url: &str) -> Option<(String, String)> {
    const NAMES: [&str; 4] = ["input", "call", "conversation_id", "turn"];
    let environment = Environment::new();
    let template = match environment.template_from_str(url) {
        Ok(template) => template,
        Err(error) => {
            let help = "write it as `https://example.com/search?q={{ input.query }}`";
            return Some((
                format!("`url` is no template: {}", in_words(&error)),
                help.to_owned(),
            ));
        }
    };
    let named = template.undeclared_variables(false);
    let mut strange: Vec<&String> = named
        .iter()
        .filter(|name| !NAMES.contains(&&***name))
        .collect();
    strange.sort();
    let strange = strange.first()?;
    Some((
        format!("`url` names `{strange}`, which has no value"),
        format!("the names that have one are: {}", NAMES.join(", ")),
    ))
}

/// Whether a template uses the input.
pub(super) fn names_the_input(template: &str) -> bool {
    names_one_of(template, &["input"])
}

/// Whether a template uses the conversation or its turn.
pub(super) fn names_a_conversation(template: &str) -> bool {
    names_one_of(template, &["conversation_id", "turn"])
}

fn names_one_of(template: &str, names: &[&str]) -> bool {
    let environment = Environment::new();
    let named = environment.template_from_str(template);
    let named = named.map(|template| template.undeclared_variables(false));
    named.is_ok_and(|named| names.iter().any(|name| named.contains(*name)))
}

/// Whether a text is a template: it contains an expression or a block.
pub(super) fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"]
        .iter()
        .any(|begins| text.contains(begins))
}

/// An example of a turn, for checks before there is a conversation.
pub(super) fn some_turn() -> HandedTurn {
    HandedTurn {
        conversation: "1".into(),
        number: 1,
        of: 1,
    }
}

/// Replaces the built-in filter of that name, which would turn a missing field into null.
fn tojson(
    value: &minijinja::Value,
    indent: Option<minijinja::Value>,
    named: Kwargs,
) -> Result<minijinja::Value, minijinja::Error> {
    match value.is_undefined() {
        true => Err(minijinja::Error::from(ErrorKind::UndefinedError)),
        false => minijinja::filters::tojson(value, indent, named),
    }
}

/// An error message without any text that could come from the input.
fn in_words(error: &minijinja::Error) -> String {
    let detail = match error.kind() {
        ErrorKind::SyntaxError
        | ErrorKind::UnknownFilter
        | ErrorKind::UnknownFunction
        | ErrorKind::UnknownTest
        | ErrorKind::UnknownMethod => error.detail(),
        _ => None,
    };
    let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
    let line = error
        .line()
        .map_or_else(String::new, |line| format!(" in line {line}"));
    format!("{}{detail}{line}", error.kind())
}

/// Why a template cannot be filled with an input. Where a name has no value, what `input` is comes with it, since the
/// template alone does not show that: the names of the fields of a record, never their values.
fn why_not_filled(error: &minijinja::Error, input: &HandedInput<'_>) -> String {
    let mut why = in_words(error);
    if error.kind() == ErrorKind::UndefinedError {
        let names: Vec<String> = match value(input).try_iter() {
            Ok(names) if input.is_record => {
                names.take(12).map(|name| format!("`{name}`")).collect()
            }
            _ => Vec::new(),
        };
        why += &match names.is_empty() {
            true => "; `input` is a text here and has no fields".to_owned(),
            false => format!("; `input` has the fields {}", names.join(", ")),
        };
    }
    why
}

/// The problem of a template, and advice, as far as the template can be checked without an input.
pub(super) fn problem(template: &str, is_json: bool) -> Option<(String, &'static str)> {
    if let Err(error) = Environment::new().template_from_str(template) {
        return Some((
            format!("`body` is no template: {}", in_words(&error)),
            "write it as `{\"text\": {{ input | tojson }}}`, between single quotes",
        ));
    }
    // A common mistake: quotes around a text that may itself contain quotes and line breaks.
    let is_valid = |input: &str| {
        let turn = some_turn();
        let body = render(template, minijinja::Value::from(input), "call", Some(&turn)).ok();
        body.map(|body| serde_json::from_str::<Value>(&body).is_ok())
    };
    let breaks = is_json && is_valid("a") == Some(true) && is_valid("\"a\"\n") == Some(false);
    breaks.then(|| {
        (
            "`body` is JSON only for an input without quotes and line ends".to_owned(),
            "write `{{ input | tojson }}`, without quotes around it",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(template: Option<&str>, input: &str, is_record: bool) -> Result<String, String> {
        let body = RequestBody {
            template: template.map(str::to_owned),
            is_json: true,
        };
        let input = HandedInput {
            text: input.into(),
            is_record,
            file: None,
            turn: None,
        };
        let made = body.of_input(&input, "c4ll")?;
        Ok(String::from_utf8(made).expect("text"))
    }

    #[test]
    fn a_record_is_an_object_with_its_own_bytes_and_markdown_is_a_text() {
        let record = r#"{"z": 1.50, "a": 123456789012345678901234567890}"#;
        assert_eq!(
            made(None, record, true),
            Ok(format!("{{\"input\": {record}}}"))
        );
        assert_eq!(
            made(None, record, false),
            Ok(json!({ "input": record }).to_string())
        );
        // What is no JSON is a text, whatever the name of its file is.
        assert_eq!(
            made(None, "# a\n\"b\"", true),
            Ok(r##"{"input":"# a\n\"b\""}"##.to_owned())
        );
    }

    #[test]
    fn a_name_without_a_value_is_told_with_what_the_input_is() {
        let template = Some(r#"{"q": {{ input.question | tojson }}}"#);
        let refused = |input, is_record| made(template, input, is_record).expect_err("refused");
        insta::assert_snapshot!(refused(r#"{"id": "a", "query": "secret"}"#, true), @"`run.http.body` cannot be filled: undefined value in line 1; `input` has the fields `id`, `query`");
        insta::assert_snapshot!(refused("a prompt", false), @"`run.http.body` cannot be filled: undefined value in line 1; `input` is a text here and has no fields");
        let input = HandedInput {
            text: "a prompt".into(),
            is_record: false,
            file: None,
            turn: None,
        };
        let refused = address("https://example.com/{{ input.id }}", &input, "c4ll");
        let refused = refused.expect_err("refused");
        insta::assert_snapshot!(refused, @"undefined value in line 1; `input` is a text here and has no fields");
    }

    #[test]
    fn a_template_has_the_input_with_its_fields_in_their_order() {
        let template = Some(
            r#"{"q": {{ input.q | tojson }}, "all": {{ input | tojson }}, "id": "{{ call }}"}"#,
        );
        let body = made(template, r#"{"z": "a\"b", "q": [1, "x"]}"#, true);
        let want = r#"{"q": [1, "x"], "all": {"z": "a\"b", "q": [1, "x"]}, "id": "c4ll"}"#;
        let body = body.expect("a body").replace(", ", ",").replace(": ", ":");
        assert_eq!(body, want.replace(", ", ",").replace(": ", ":"));
        let text = made(
            Some(r#"{"t": {{ input | tojson }}}"#),
            "<a>\n'b' \"c\" ü",
            false,
        );
        let text: Value = serde_json::from_str(&text.expect("a body")).expect("JSON");
        assert_eq!(text["t"], "<a>\n'b' \"c\" ü");
    }

    #[test]
    fn a_turn_has_its_conversation_beside_the_input_and_in_templates() {
        let turn = HandedTurn {
            conversation: "c0de".into(),
            number: 2,
            of: 3,
        };
        let body = |text: &str, is_record, template: Option<&str>| {
            let input = HandedInput {
                text: text.into(),
                is_record,
                file: None,
                turn: Some(turn.clone()),
            };
            let body = RequestBody {
                template: template.map(str::to_owned),
                is_json: true,
            };
            let made = body.of_input(&input, "c4ll").expect("a body");
            String::from_utf8(made).expect("text")
        };
        let beside = r#","conversation_id":"c0de","turn":2}"#;
        assert_eq!(
            body("a\"b", false, None),
            format!(r#"{{"input":"a\"b"{beside}"#)
        );
        assert_eq!(
            body(r#"{"n": 1.50}"#, true, None),
            format!(r#"{{"input": {{"n": 1.50}}{beside}"#)
        );
        let template = r#"{"t": {{ turn }}, "of": "{{ conversation_id }}"}"#;
        assert_eq!(
            body("a", false, Some(template)),
            r#"{"t": 2, "of": "c0de"}"#
        );
        assert!(names_a_conversation(template));
        assert!(!names_a_conversation("{{ input.turn }} {{ call }} turn"));
        let path = of_conversation("/{{ conversation_id }}/{{ turn }}", &turn);
        assert_eq!(path.as_deref(), Ok("/c0de/2"));
        assert!(of_conversation("/{{ case }}", &turn).is_err());
        let first = "{% if turn == 1 %}new{% else %}old{% endif %}";
        assert_eq!(of_conversation(first, &turn).as_deref(), Ok("old"));
        assert_eq!(example("http://h/{{ turn }}/{port}"), "http://h/1/{port}");
    }

    #[test]
    fn an_address_with_blocks_alone_is_a_template() {
        let url = "http://h/{% if input.kind == 'a' %}first{% else %}second{% endif %}";
        let of = |text: &str| {
            let input = HandedInput {
                text: text.into(),
                is_record: true,
                file: None,
                turn: None,
            };
            address(url, &input, "c4ll")
        };
        assert_eq!(of(r#"{"kind": "a"}"#).as_deref(), Ok("http://h/first"));
        assert_eq!(of(r#"{"kind": "b"}"#).as_deref(), Ok("http://h/second"));
    }

    #[test]
    fn a_template_that_fits_no_input_is_told_without_the_input() {
        let secret = "pass\"word";
        for template in [
            r#"{"t": "{{ input }}"}"#,
            r#"{"t": {{ input.absent | tojson }}}"#,
            r#"{"t": {{ inputs | tojson }}}"#,
            r#"{"t": {{ input + 1 }}}"#,
        ] {
            let why = made(Some(template), secret, false).expect_err(template);
            assert!(
                why.contains("`run.http.body`") && !why.contains("word"),
                "{why}"
            );
        }
    }

    #[test]
    fn a_template_is_looked_at_before_there_is_an_input() {
        let of = |template| problem(template, true).map(|(what, _)| what);
        assert_eq!(of(r#"{"t": {{ input | tojson }}}"#), None);
        assert_eq!(of(r#"{"t": {{ input.text | tojson }}}"#), None);
        insta::assert_snapshot!(of("{{ input").expect("unclosed"), @"`body` is no template: syntax error: unexpected end of input, expected end of variable block in line 1");
        let quoted = r#"{"t": "{{ input }}"}"#;
        insta::assert_snapshot!(of(quoted).expect("quotes"), @"`body` is JSON only for an input without quotes and line ends");
        assert_eq!(problem(quoted, false), None);
    }
}
