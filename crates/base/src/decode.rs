//! Reads a JSON value that another program or a person wrote; errors describe wrong values without the names of our
//! types.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a value.
///
/// # Errors
///
/// The position within the value and the problem there: "`hits[0]`: missing field `doc_id`".
pub fn decoded<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let place = error.path().to_string();
        let said = plain(&error.into_inner().to_string());
        match &*place {
            "." | "?" => said,
            _ => format!("`{place}`: {said}"),
        }
    })
}

/// The message of serde in words for people who do not know our types: "expected struct Output" becomes "expected an
/// object".
pub fn plain(said: &str) -> String {
    const TYPES: [(&str, &str); 5] = [
        ("expected internally tagged enum ", "expected an object"),
        ("expected struct ", "expected an object"),
        ("expected enum ", "expected one of its names"),
        ("expected a map", "expected an object"),
        ("expected a sequence", "expected a list"),
    ];
    let mut said = said.to_owned();
    for (words, plain) in TYPES {
        // The found value comes first in the message, and may contain the same words.
        let Some(at) = said.rfind(words) else {
            continue;
        };
        let rest = &said[at + words.len()..];
        // The name of the type is removed too.
        let name = match words.ends_with(' ') {
            true => rest.find(|c: char| !c.is_alphanumeric() && c != '_'),
            false => Some(0),
        };
        let after = name.map_or("", |end| &rest[end..]).to_owned();
        said = format!("{}{plain}{after}", &said[..at]);
    }
    said
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the errors of reading it matter")]
    struct Found {
        hits: Vec<FoundHit>,
        answer: Option<FoundAnswer>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the errors of reading it matter")]
    struct FoundHit {
        doc_id: String,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the errors of reading it matter")]
    struct FoundAnswer {
        text: String,
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_without_the_name_of_a_type() {
        for (value, said) in [
            (json!("x"), "invalid type: string \"x\", expected an object"),
            (json!({}), "missing field `hits`"),
            (
                json!({"hits": 3}),
                "`hits`: invalid type: integer `3`, expected a list",
            ),
            (
                json!({"hits": [{"doc_id": "a"}, {"doc": "b"}]}),
                "`hits[1]`: missing field `doc_id`",
            ),
            (
                json!({"hits": [], "answer": "text"}),
                "`answer`: invalid type: string \"text\", expected an object",
            ),
        ] {
            assert_eq!(decoded::<Found>(&value).expect_err("it is wrong"), said);
        }
        let quoted = json!("expected struct Output");
        assert_eq!(
            decoded::<Found>(&quoted).expect_err("it is wrong"),
            "invalid type: string \"expected struct Output\", expected an object"
        );
        assert_eq!(
            plain("invalid type: null, expected struct Raw_2 at line 1 column 4"),
            "invalid type: null, expected an object at line 1 column 4"
        );
    }
}
