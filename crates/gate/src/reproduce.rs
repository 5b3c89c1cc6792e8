//! How a reader can run the gate again: a shell command, and its requirements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Judgement;

/// The parts of a `kelvin gate` command that gives the same verdict in the root of a clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduction {
    /// The commit that was judged; null if the configuration lies in no repository.
    pub commit: Option<String>,
    /// Whether the work tree had changes that were not committed.
    pub dirty: bool,
    /// The arguments after `kelvin gate`, without `--only`.
    pub arguments: Vec<String>,
    /// The cases that the gate was restricted to; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// What the command needs that the repository does not have, and how to get it; missing if the repository has
    /// everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

impl Reproduction {
    /// The command. The command is restricted to the case that a reader should examine first if that case was run in
    /// several variants: one case with a single input is not enough to get the same verdict.
    pub fn command(&self, judgement: &Judgement) -> String {
        let worst = judgement.cases.iter().find(|case| case.is_worse());
        let worst = worst.filter(|case| {
            let mut variants = case.variants.iter();
            variants.any(|change| change.variant.is_some())
        });
        let only = match worst {
            Some(case) => std::slice::from_ref(&case.case),
            None => self.only.as_slice(),
        };
        let mut words = vec!["kelvin".to_owned(), "gate".to_owned()];
        words.extend(self.arguments.iter().map(|argument| quoted(argument)));
        // A line break in a name cannot be shown in one line; in this case every case is run.
        if only.iter().all(|name| !name.contains(char::is_control)) {
            words.extend(only.iter().map(|name| quoted(&format!("--only={name}"))));
        }
        words.join(" ")
    }

    /// Where to run the command, and what the command needs, as a sentence without its end.
    pub fn place(&self) -> String {
        let clone = match (&self.commit, self.dirty) {
            (Some(commit), false) => {
                format!("in the root of a clone, at commit `{}`", short(commit))
            }
            (Some(commit), true) => format!(
                "in the root of a clone, at commit `{}` with the changes that were not committed",
                short(commit)
            ),
            (None, _) => "where the gate was run".to_owned(),
        };
        match &self.needs {
            Some(needs) => format!("{clone}; {needs}"),
            None => clone,
        }
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// A word for a shell: unchanged if it is plain, otherwise in single quotes.
pub fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=,:+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_every_word_as_it_was() {
        for word in [
            "a",
            "",
            "a b",
            "it's",
            "$(x)`y`\"\\",
            "--only=-x",
            "näme",
            "a;b&c|d>e",
        ] {
            let script = format!("printf %s {}", quoted(word));
            let output = Command::new("sh")
                .args(["-c", &script])
                .output()
                .expect("sh starts");
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}
