//! The state of a database: the objects to which the names in a query refer, and the settings with which the query is
//! run. The states before and after the pipeline are compared. So a check examines the original object, and not
//! something that the pipeline has put in its place under the same name.

use serde_json::Value;
use std::collections::BTreeMap;

use crate::interpolate;
use crate::scenario::Scenario;
use crate::sql::{BoundSql, Dialect};

/// The state of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DatabaseState {
    /// The settings with which a session begins, by name. SQLite stores none in a file.
    pub(super) settings: BTreeMap<String, String>,
    /// The object to which a name refers, in words; after a unit separator come all other data about it that affect the
    /// result of a query.
    pub(super) relations: BTreeMap<String, String>,
}

impl DatabaseState {
    /// The settings that differ from those of `before`, each with its value in this state.
    #[cfg_attr(
        not(feature = "sql"),
        expect(dead_code, reason = "SQLite has no settings of a session")
    )]
    pub(super) fn restoring(&self, before: &Self) -> BTreeMap<String, String> {
        let names = self.settings.keys().chain(before.settings.keys());
        let differing = names.filter(|name| self.settings.get(*name) != before.settings.get(*name));
        differing
            .map(|name| {
                let value = before.settings.get(name).cloned();
                (name.clone(), value.unwrap_or_default())
            })
            .collect()
    }

    /// The first name in a query that referred to another object before, in a sentence. If a table no longer exists, or
    /// did not exist before, the query itself fails.
    pub(super) fn replaced(&self, before: &Self, query: &str) -> Option<String> {
        let query = without_texts(query);
        let differing = before.relations.iter().find_map(|(name, was)| {
            let is = self.relations.get(name).filter(|is| *is != was)?;
            names(&query, name).then_some((name, was, is))
        });
        let (name, was, is) = differing?;
        let shown = |what: &str| what.split('\u{1f}').next().unwrap_or_default().to_owned();
        let (was, is) = (shown(was), shown(is));
        Some(match was == is {
            true => format!(
                "`{name}` is {is} with another definition than before the pipeline ran, so what it brings is \
                 not what the scenario began with"
            ),
            false => format!(
                "`{name}` was {was} before the pipeline ran and is {is} now, so what it brings is not what the \
                 scenario began with"
            ),
        })
    }
}

/// A query without its texts in single quotes, which are not names.
fn without_texts(query: &str) -> String {
    let outside: Vec<&str> = query.split('\'').step_by(2).collect();
    outside.join("''").to_lowercase()
}

/// Whether a name occurs in a query as a separate word.
fn names(query: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_of_a_name = |c: char| c.is_alphanumeric() || c == '_';
    query.match_indices(&name).any(|(at, _)| {
        let before = query[..at].chars().next_back();
        let after = query[at + name.len()..].chars().next();
        !before.is_some_and(is_of_a_name) && !after.is_some_and(is_of_a_name)
    })
}

/// The script of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Init {
    sql: BoundSql,
}

impl Init {
    /// Parses a script. Fails if a field is inside quotes, or if the script would reveal the expected value.
    pub(super) fn of(text: &str, dialect: Dialect) -> Result<Self, (&'static str, String)> {
        let sql = BoundSql::script(text, dialect).map_err(|what| ("init", what))?;
        if sql.names.iter().any(|name| name == interpolate::EXPECTED) {
            let what = format!(
                "`${{{}}}` stands for what is expected, which the pipeline must not find in its database",
                interpolate::EXPECTED
            );
            return Err(("init", what));
        }
        Ok(Self { sql })
    }

    /// The script with expressions in place of the fields.
    pub(super) fn text(&self) -> &str {
        &self.sql.text
    }

    /// The values that are set in the session first, each with its name in the script. Fails with what the scenario
    /// lacks.
    pub(super) fn values(&self, scenario: &Scenario) -> Result<Vec<(String, Value)>, String> {
        let mut names: Vec<&String> = self.sql.names.iter().collect();
        names.sort();
        names.dedup();
        let values = names.into_iter();
        values
            .map(|name| Ok((name.to_lowercase(), scenario.field(name)?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(relations: &[(&str, &str)]) -> DatabaseState {
        let owned = relations.iter();
        DatabaseState {
            settings: BTreeMap::new(),
            relations: owned
                .map(|(name, what)| ((*name).to_owned(), (*what).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_told_where_the_query_has_it() {
        let before = state(&[("orders", "a table\u{1f}"), ("sums", "a view\u{1f}1")]);
        let after = state(&[
            ("orders", "a view\u{1f}3"),
            ("sums", "a view\u{1f}2"),
            ("rooms", "a view\u{1f}1"),
        ]);
        let mut all_told = std::collections::BTreeSet::new();
        for query in [
            "SELECT count(*) FROM Orders",
            "SELECT count(*) FROM \"orders\" WHERE a = 'b'",
            "SELECT 1 FROM public.orders",
        ] {
            let told = after.replaced(&before, query).expect(query);
            all_told.insert(told);
        }
        insta::assert_snapshot!(Vec::from_iter(all_told).join("\n"), @"`orders` was a table before the pipeline ran and is a view now, so what it brings is not what the scenario began with");
        let told = after.replaced(&before, "SELECT * FROM sums").expect("told");
        insta::assert_snapshot!(told, @"`sums` is a view with another definition than before the pipeline ran, so what it brings is not what the scenario began with");
        for query in [
            "SELECT * FROM orders_of_today, reorders, rooms",
            "SELECT type FROM sqlite_schema WHERE name = 'orders'",
        ] {
            assert_eq!(after.replaced(&before, query), None, "{query}");
        }
        assert_eq!(before.replaced(&before, "SELECT * FROM orders"), None);
        assert_eq!(
            DatabaseState::default().replaced(&before, "SELECT * FROM orders"),
            None
        );
    }

    #[test]
    fn settings_that_were_changed_are_given_back_and_new_ones_are_emptied() {
        let settings = |all: &[(&str, &str)]| DatabaseState {
            settings: all
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..DatabaseState::default()
        };
        let before = settings(&[("search_path", "public"), ("TimeZone", "UTC")]);
        let after = settings(&[
            ("search_path", "evil, public"),
            ("TimeZone", "UTC"),
            ("app.user", "eve"),
        ]);
        let restoring: Vec<(String, String)> = after.restoring(&before).into_iter().collect();
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(restoring, [of("app.user", ""), of("search_path", "public")]);
        assert!(before.restoring(&before).is_empty());
    }
}
