//! The key of a server. It comes from the environment, is sent in one header of a request, and is never written
//! anywhere.

use std::{env, fmt};

use kelvin_base::exit::Misuse;

/// A shorter key is not removed from answers: servers that need no key are often given a word such as `none`, and an
/// answer may contain that word.
const SHORTEST_SCRUBBED: usize = 8;
/// The text that replaces the key if an answer or an error repeats it.
const HIDDEN: &str = "***";

/// The key of a server, if the server needs one.
#[derive(Clone)]
pub(in crate::targets) enum ServerKey {
    /// The server needs no key.
    None,
    /// The variable for the key is not set.
    Missing(String),
    /// The variable contains a text that cannot be a key.
    Unusable(String),
    /// The key.
    Known(String),
}

impl ServerKey {
    /// Reads the key from the variable of this name.
    pub(in crate::targets) fn of(variable: Option<&str>) -> Self {
        let Some(variable) = variable else {
            return Self::None;
        };
        let text = env::var(variable).unwrap_or_default();
        let text = text.trim();
        if text.is_empty() {
            Self::Missing(variable.to_owned())
        } else if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Self::Known(text.to_owned())
        } else {
            Self::Unusable(variable.to_owned())
        }
    }

    /// The key, if there is one.
    pub(in crate::targets) fn text(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            _ => None,
        }
    }

    /// Checks that the key allows calls; `of` names the caller, such as "the model `local`". Fails with a [`Misuse`] if
    /// the variable for the key contains no usable key.
    pub(in crate::targets) fn check(&self, of: &str) -> Result<(), Misuse> {
        let (variable, what, verb) = match self {
            Self::None | Self::Known(_) => return Ok(()),
            Self::Missing(variable) => (variable, "is not set", "set"),
            Self::Unusable(variable) => (variable, "holds characters that no key has", "correct"),
        };
        Err(Misuse::new(format!(
            "the environment variable `{variable}`, which holds the key of {of}, {what}"
        ))
        .help(format!(
            "{verb} it, e.g. from a secret of the workflow under `env:`; nothing was called"
        )))
    }

    /// A copy of a text without the key.
    pub(in crate::targets) fn scrub(&self, text: &str) -> String {
        match self.text().filter(|key| key.len() >= SHORTEST_SCRUBBED) {
            Some(key) => text.replace(key, HIDDEN),
            None => text.to_owned(),
        }
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Missing(_) => "Missing",
            Self::Unusable(_) => "Unusable",
            Self::Known(_) => HIDDEN,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_in_no_text_and_no_debug_output() {
        let key = ServerKey::Known("sk-planted-0123456789".to_owned());
        assert_eq!(key.scrub("no sk-planted-0123456789!"), "no ***!");
        assert_eq!(format!("{key:?}"), "***");
        // A short word is no secret, and answers contain words.
        assert_eq!(ServerKey::Known("none".to_owned()).scrub("none"), "none");
    }

    #[test]
    fn a_variable_that_is_not_set_is_told_by_its_name() {
        let key = ServerKey::of(Some("KELVIN_TEST_NO_SUCH_KEY"));
        let refused = key
            .check("the model `local`")
            .expect_err("not set")
            .to_string();
        insta::assert_snapshot!(refused, @"
        the environment variable `KELVIN_TEST_NO_SUCH_KEY`, which holds the key of the model `local`, is not set
          help: set it, e.g. from a secret of the workflow under `env:`; nothing was called
        ");
        assert!(ServerKey::of(None).check("the model `local`").is_ok());
        let broken = ServerKey::Unusable("BROKEN".to_owned()).check("the model `local`");
        assert!(
            broken
                .expect_err("not a key")
                .to_string()
                .contains("BROKEN")
        );
    }
}
