//! The address of a database, as a URL.

use url::{Url, form_urlencoded};

/// Shorter passwords occur in too many texts by accident to be masked.
const SHORTEST_PASSWORD: usize = 3;
/// A shorter password occurs in too many texts by accident, so it is never reported as revealed.
const SHORTEST_SECRET: usize = 8;
/// Passwords in examples, which also occur as words in messages about a database.
const WORDS: [&str; 5] = ["password", "postgres", "postgresql", "database", "changeme"];

/// A URL of a scheme that the driver knows.
#[derive(Clone)]
pub(super) struct DatabaseUrl(Url);

impl DatabaseUrl {
    /// Parses a URL. A scheme may also name a driver, as in `postgresql+psycopg://`. If a text is not a URL, the error
    /// does not show it, since it may contain a password.
    pub(super) fn read(text: &str, schemes: &[&str]) -> Result<Self, String> {
        let example = format!("`{}://user:password@host/database`", schemes[0]);
        let url = Url::parse(text.trim()).map_err(|error| {
            format!(
                "this is no URL such as {example}: {error} (in a name or a password, `@`, `:`, `/`, `#` and \
                 `%` are written as `%40`, `%3A`, `%2F`, `%23` and `%25`)"
            )
        })?;
        let scheme = url.scheme().split('+').next().unwrap_or_default();
        if !schemes.contains(&scheme) || url.cannot_be_a_base() {
            return Err(format!("this is no URL such as {example}"));
        }
        Ok(Self(url))
    }

    /// The address with another database of the same server.
    pub(super) fn with_database(&self, name: &str) -> Self {
        let mut url = self.0.clone();
        url.set_path(name);
        let others: Vec<(String, String)> = self
            .parameters()
            .filter(|(name, _)| name != "dbname")
            .collect();
        url.set_query(None);
        for (name, value) in &others {
            url.query_pairs_mut().append_pair(name, value);
        }
        Self(url)
    }

    /// The whole address as a text.
    pub(super) fn text(&self) -> String {
        self.0.as_str().to_owned()
    }

    /// The address with another scheme, and only with the named parameters.
    pub(super) fn for_driver(&self, scheme: &str, parameters: &[&str]) -> String {
        let mut url = self.0.clone();
        url.set_query(None);
        for (name, value) in self.parameters() {
            if parameters.contains(&&*name) {
                url.query_pairs_mut().append_pair(&name, &value);
            }
        }
        let text = url.as_str();
        // In a query string, a space is written as a plus, which drivers do not understand.
        let text = match text.split_once('?') {
            Some((place, query)) => format!("{place}?{}", query.replace('+', "%20")),
            None => text.to_owned(),
        };
        let rest = text.split_once(':').map_or("", |(_, rest)| rest);
        format!("{scheme}:{rest}")
    }

    fn parameters(&self) -> impl Iterator<Item = (String, String)> {
        self.0
            .query_pairs()
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
    }

    /// The value of the first parameter that has one of these names.
    pub(super) fn parameter(&self, names: &[&str]) -> Option<String> {
        let found = self.parameters().find(|(name, _)| names.contains(&&**name));
        found.map(|(_, value)| value)
    }

    /// The host name; none if the server is reached in another way.
    pub(super) fn host(&self) -> Option<String> {
        let host = self.0.host_str()?;
        let host = host.trim_matches(['[', ']']);
        (!host.is_empty() && !host.contains('%')).then(|| host.to_owned())
    }

    /// The name of the database in the address; empty if there is none.
    fn database(&self) -> &str {
        self.0.path().trim_start_matches('/')
    }

    /// The parts of the address that must not be revealed, each with a word for it. These are the password, if it is
    /// long enough to be distinguished from other words; the user together with the password, even if it is short,
    /// since clients write the rest of an address in their own way; and the whole address, unless it names only a
    /// database of this machine.
    pub(super) fn secrets(&self) -> Vec<(&'static str, String)> {
        let parts = [self.0.username(), self.database(), self.0.scheme()];
        let host = self.host().unwrap_or_default();
        let is_a_word = |password: &String| {
            let small = password.to_lowercase();
            host == small || parts.iter().chain(&WORDS).any(|word| *word == small)
        };
        let mut secrets: Vec<(&str, String)> = Vec::new();
        let passwords = self.passwords().into_iter();
        let passwords = passwords
            .filter(|password| password.chars().count() >= SHORTEST_SECRET && !is_a_word(password));
        secrets.extend(passwords.map(|password| ("password", password)));
        if let Some(password) = self.0.password().filter(|password| !password.is_empty()) {
            secrets.push(("address", format!("{}:{password}@", self.0.username())));
        }
        let is_here = ["", "localhost", "127.0.0.1", "::1"].contains(&&*host);
        if !is_here || self.password().is_some_and(|password| !password.is_empty()) {
            secrets.push(("address", self.text()));
        }
        secrets
    }

    fn password(&self) -> Option<String> {
        let password = self.0.password().map(str::to_owned);
        password.or_else(|| self.parameter(&["password"]))
    }

    /// The password in every form in which it may occur in a text.
    pub(super) fn passwords(&self) -> Vec<String> {
        let Some(written) = self.password() else {
            return Vec::new();
        };
        let pair = format!("p={}", written.replace('+', "%2B"));
        let read = form_urlencoded::parse(pair.as_bytes()).next();
        let read = read.map_or_else(|| written.clone(), |(_, value)| value.into_owned());
        let mut all = vec![written, read];
        all.dedup();
        // A password that equals the name of the user is not a secret, and masking it would hide a word that explains
        // much.
        let user = self.0.username();
        all.retain(|password| password.len() >= SHORTEST_PASSWORD && password != user);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> DatabaseUrl {
        DatabaseUrl::read(text, &["postgres", "postgresql"]).expect("it is one")
    }

    #[test]
    fn the_database_is_exchanged_and_everything_else_is_kept() {
        for (text, other) in [
            ("postgres://u:p@h:5/db", "postgres://u:p@h:5/other"),
            ("postgresql://h", "postgresql://h/other"),
            (
                "postgres://u@h/db?sslmode=require&dbname=x",
                "postgres://u@h/other?sslmode=require",
            ),
            ("postgresql+psycopg://h/db", "postgresql+psycopg://h/other"),
            (
                "postgres:///db?host=/run/pg",
                "postgres:///other?host=%2Frun%2Fpg",
            ),
        ] {
            assert_eq!(read(text).with_database("other").text(), other);
        }
        assert_eq!(
            read("postgresql+psycopg://h/db?options=-c%20a%3Db&schema=public")
                .for_driver("postgres", &["options"]),
            "postgres://h/db?options=-c%20a%3Db"
        );
    }

    #[test]
    fn what_is_no_address_is_refused_and_not_shown() {
        let mut told = std::collections::BTreeSet::new();
        for text in [
            "secret-password",
            "host=localhost password=secret-password",
            "mysql://u:secret-password@h/db",
            "postgres://u:secret-password@h:port/db",
            "postgres:secret-password",
        ] {
            let refused = DatabaseUrl::read(text, &["postgres"]).err().expect(text);
            assert!(!refused.contains("secret-password"), "{refused}");
            told.insert(refused);
        }
        insta::assert_snapshot!(Vec::from_iter(told).join("\n"), @"
        this is no URL such as `postgres://user:password@host/database`
        this is no URL such as `postgres://user:password@host/database`: invalid port number (in a name or a password, `@`, `:`, `/`, `#` and `%` are written as `%40`, `%3A`, `%2F`, `%23` and `%25`)
        this is no URL such as `postgres://user:password@host/database`: relative URL without a base (in a name or a password, `@`, `:`, `/`, `#` and `%` are written as `%40`, `%3A`, `%2F`, `%23` and `%25`)
        ");
    }

    #[test]
    fn a_password_is_known_in_both_of_its_forms() {
        assert_eq!(
            read("postgres://u:p%40s+s@h/db").passwords(),
            ["p%40s+s", "p@s+s"]
        );
        assert_eq!(read("postgres://u:pass@h/db").passwords(), ["pass"]);
        assert_eq!(read("postgres://u@h/db").passwords(), [""; 0]);
        assert_eq!(
            read("postgres://postgres:postgres@h/db").passwords(),
            [""; 0]
        );
        assert_eq!(read("postgres://[::1]:5/db").host(), Some("::1".to_owned()));
        assert_eq!(read("postgres:///db?host=/run").host(), None);
    }

    #[test]
    fn a_password_and_a_whole_address_are_secret_and_the_words_of_an_example_are_not() {
        let secrets = |text: &str| read(text).secrets();
        assert_eq!(
            secrets("postgres://u:long%40secret@localhost/db"),
            [
                ("password", "long%40secret".to_owned()),
                ("password", "long@secret".to_owned()),
                ("address", "u:long%40secret@".to_owned()),
                (
                    "address",
                    "postgres://u:long%40secret@localhost/db".to_owned()
                ),
            ]
        );
        for text in [
            "postgres://kelvin:password@localhost/postgres",
            "postgres://u:short@localhost/db",
            "postgres://u:warehouse@localhost/warehouse",
        ] {
            let found = secrets(text);
            assert!(
                found.iter().all(|(what, _)| *what == "address"),
                "{found:?}"
            );
            assert_eq!(found.len(), 2, "{found:?}");
        }
        assert_eq!(secrets("postgres://u@localhost:5/db"), []);
        let far = "postgres://db.internal/db";
        assert_eq!(secrets(far), [("address", far.to_owned())]);
    }
}
