//! SQL as a text: what a query may do, and where fields of a scenario stand in it. Checks ask databases with such
//! texts, and services are filled with them; no database is touched here.

mod statement;

use crate::interpolate::{self, TextPart};

pub(super) use statement::{Dialect, reads};

/// The word that stands for a field while its place is looked at; no statement has it.
const WORD: &str = "kelvin_field_of_the_scenario_";

/// A text of SQL, and the names of the fields in it, in the order of their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BoundSql {
    /// The text, with a placeholder or an expression in each place.
    pub(crate) text: String,
    /// The names, one for each place.
    pub(crate) names: Vec<String>,
    /// The text between the places: one piece more than there are names.
    pub(crate) between: Vec<String>,
}

impl BoundSql {
    /// One statement with the placeholders that the driver knows.
    ///
    /// # Errors
    ///
    /// Where a field stands within quotes or a comment, or is a part of a longer word.
    pub(crate) fn query(text: &str, dialect: Dialect) -> Result<Self, String> {
        Self::of(text, dialect, &|at, _| match dialect {
            Dialect::Postgres => format!("${at}"),
            Dialect::Mysql => "?".to_owned(),
            Dialect::Sqlite => format!("?{at}"),
        })
    }

    /// A script of many statements. No driver has placeholders for it, so each place has an expression that reads what
    /// the session was given before.
    ///
    /// # Errors
    ///
    /// As for [`query`](Self::query).
    pub(crate) fn script(text: &str, dialect: Dialect) -> Result<Self, String> {
        Self::of(text, dialect, &|_, name| {
            let name = name.to_lowercase();
            match dialect {
                // Each value is in a table of the session with one row, whose column has the type of the value.
                Dialect::Postgres => format!("(SELECT value FROM pg_temp.{name})"),
                Dialect::Mysql => format!("@{name}"),
                Dialect::Sqlite => format!("(SELECT value FROM temp.{name})"),
            }
        })
    }

    fn of(
        text: &str,
        dialect: Dialect,
        put: &dyn Fn(usize, &str) -> String,
    ) -> Result<Self, String> {
        let parts: Vec<TextPart<'_>> = interpolate::fields(text);
        let with = |stands: &dyn Fn(usize, &str) -> String| {
            let mut at = 0;
            let texts = parts.iter().map(|part| match part {
                TextPart::Text(text) => (*text).to_owned(),
                TextPart::Variable(name) => {
                    at += 1;
                    stands(at, name)
                }
            });
            texts.collect::<String>()
        };
        let names: Vec<&str> = parts
            .iter()
            .filter_map(|part| match part {
                TextPart::Variable(name) => Some(*name),
                TextPart::Text(_) => None,
            })
            .collect();
        if !names.is_empty() {
            let looked_at = with(&|at, _| format!("{WORD}{at}"));
            for (at, name) in (1..).zip(&names) {
                if !statement::is_word(&looked_at, dialect, &format!("{WORD}{at}"))? {
                    return Err(format!(
                        "`${{{name}}}` stands within quotes, a comment or a longer word: leave the quotes out, since it is \
                         bound as a value and never becomes a part of the text (join texts with `||` or CONCAT)"
                    ));
                }
            }
        }
        let mut between = vec![String::new()];
        for part in &parts {
            match part {
                TextPart::Text(text) => between
                    .last_mut()
                    .expect("one was put in first")
                    .push_str(text),
                TextPart::Variable(_) => between.push(String::new()),
            }
        }
        Ok(Self {
            text: with(put),
            between,
            names: names.into_iter().map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_a_placeholder_and_never_within_quotes() {
        let query = "SELECT count(*) FROM a WHERE b=${KELVIN_PARAM_B} AND c > ${KELVIN_EXPECTED} -- ${OTHER}";
        for (dialect, text) in [
            (Dialect::Postgres, "b=$1 AND c > $2 -- ${OTHER}"),
            (Dialect::Mysql, "b=? AND c > ? -- ${OTHER}"),
            (Dialect::Sqlite, "b=?1 AND c > ?2 -- ${OTHER}"),
        ] {
            let bound = BoundSql::query(query, dialect).expect("each is a word");
            assert!(bound.text.ends_with(text), "{}", bound.text);
            assert_eq!(bound.names, ["KELVIN_PARAM_B", "KELVIN_EXPECTED"]);
            assert_eq!(
                bound.between,
                [
                    "SELECT count(*) FROM a WHERE b=",
                    " AND c > ",
                    " -- ${OTHER}"
                ]
            );
        }
        for query in [
            "SELECT '${KELVIN_PARAM_B}'",
            "SELECT 'it''s ${KELVIN_PARAM_B}'",
            "SELECT \"${KELVIN_PARAM_B}\"",
            "SELECT 1 -- ${KELVIN_PARAM_B}",
            "SELECT 1 /* ${KELVIN_PARAM_B} */",
            "SELECT a${KELVIN_PARAM_B}",
            "SELECT ${KELVIN_PARAM_B}b",
            "SELECT ${KELVIN_PARAM_B}, '${KELVIN_PARAM_B}'",
        ] {
            for dialect in [Dialect::Postgres, Dialect::Mysql, Dialect::Sqlite] {
                let refused = BoundSql::query(query, dialect).expect_err(query);
                assert!(refused.contains("leave the quotes out"), "{refused}");
            }
        }
        // Where a backslash may stand before what is no end, the place has to be outside of quotes either way.
        BoundSql::query("SELECT '\\', ${KELVIN_PARAM_B}, '\\'", Dialect::Mysql)
            .expect_err("either");
    }
}
