//! What a scenario must not give away.

use std::collections::BTreeSet;

use serde_json::Value;

/// A text that must not be given away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Secret {
    /// The word for the secret, as the subject of a sentence.
    pub(crate) what: String,
    /// The text itself.
    pub(crate) text: String,
}

impl Secret {
    /// The forms that the secret may have in another text: as it is, within JSON, and within an address.
    pub(crate) fn forms(&self) -> BTreeSet<String> {
        let json = Value::from(&*self.text).to_string();
        let form: String = form_urlencoded::byte_serialize(self.text.as_bytes()).collect();
        let percent = form.replace('+', "%20").replace("%7E", "~");
        BTreeSet::from([
            self.text.clone(),
            json[1..json.len() - 1].to_owned(),
            percent,
            form,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_as_it_is_in_json_and_in_an_address() {
        let secret = Secret {
            what: "it".to_owned(),
            text: "a\"b c~d".to_owned(),
        };
        let forms = secret.forms();
        for form in ["a\"b c~d", "a\\\"b c~d", "a%22b%20c~d", "a%22b+c%7Ed"] {
            assert!(forms.contains(form), "{form}: {forms:?}");
        }
    }
}
