//! SQL as a text: what a query may do, and where it contains fields of a scenario. Checks query databases with such
//! texts, and services are filled with them; this module never accesses a database.
//!
//! A query is checked before it is run: it has to be a single statement that only reads. The session of a check is also
//! read-only; this module rejects what such a session would still allow, e.g. making the server write a file. It also
//! reports mistakes when the configuration is read.

use crate::interpolate::{self, TextPart};

/// The word that replaces a field while its place is examined; it occurs in no statement.
const WORD: &str = "kelvin_field_of_the_scenario_";

/// An SQL text, and the names of the fields in it, in order.
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
    /// The statement, with the placeholders of the driver. Fails if a field is inside quotes or a comment, or is a part
    /// of a longer word.
    pub(crate) fn query(text: &str, dialect: Dialect) -> Result<Self, String> {
        Self::of(text, dialect, &|at, _| match dialect {
            Dialect::Postgres => format!("${at}"),
            Dialect::Mysql => "?".to_owned(),
            Dialect::Sqlite => format!("?{at}"),
        })
    }

    /// A script with many statements. No driver supports placeholders in a script, so each place contains an expression
    /// that reads a value which was set in the session before. Fails like [`query`](Self::query).
    pub(crate) fn script(text: &str, dialect: Dialect) -> Result<Self, String> {
        Self::of(text, dialect, &|_, name| {
            let name = name.to_lowercase();
            match dialect {
                // For each value, the session has a table with one row; its column has the type of the value.
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
                if !is_word(&looked_at, dialect, &format!("{WORD}{at}"))? {
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

/// The syntax of texts and comments in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Postgres,
    Mysql,
    Sqlite,
}

impl Dialect {
    /// The types of the services that are queried with SQL.
    pub(crate) const SERVICES: [&'static str; 3] = ["postgres", "mysql", "sqlite"];

    /// The dialect of a type of service.
    pub(crate) fn of(service: &str) -> Self {
        match service {
            "postgres" => Self::Postgres,
            "mysql" => Self::Mysql,
            _ => Self::Sqlite,
        }
    }
}

/// The words with which a statement may begin.
const BEGINNINGS: [&str; 4] = ["SELECT", "WITH", "VALUES", "SHOW"];

/// Checks whether a query may be run. Fails with the reason why it may not.
pub(super) fn reads(query: &str, dialect: Dialect) -> Result<(), String> {
    let all = words(query, dialect, dialect == Dialect::Mysql)?;
    allowed(&all)?;
    if all.last() == Some(&StatementWord::Unclosed) {
        return Err("a quote in the query is not closed".to_owned());
    }
    // A server can be configured to read a backslash in a text as an ordinary character: then the text ends elsewhere.
    // If the text does not end at all in this case, the server rejects the statement.
    if dialect == Dialect::Mysql && query.contains('\\') {
        allowed(&words(query, dialect, false)?)?;
    }
    Ok(())
}

/// Whether a text contains `word` as a separate word, outside of quotes and comments, however the server reads a
/// backslash. Fails if nobody can tell what is quoted.
fn is_word(text: &str, dialect: Dialect, word: &str) -> Result<bool, String> {
    let mut readings = vec![words(text, dialect, dialect == Dialect::Mysql)?];
    if dialect == Dialect::Mysql && text.contains('\\') {
        readings.push(words(text, dialect, false)?);
    }
    Ok(readings
        .iter()
        .all(|words| words.contains(&StatementWord::Name(word))))
}

fn allowed(words: &[StatementWord<'_>]) -> Result<(), String> {
    let first = words
        .iter()
        .find(|word| **word != StatementWord::Parenthesis);
    match first {
        Some(StatementWord::Name(name)) if BEGINNINGS.iter().any(|known| is(name, known)) => {}
        Some(StatementWord::Name(name)) => {
            return Err(format!(
                "a query begins with SELECT, WITH, VALUES or SHOW, and not with `{name}`: a check only reads"
            ));
        }
        _ => return Err("there is no statement in the query".to_owned()),
    }
    let end = words.iter().position(|word| *word == StatementWord::End);
    if end.is_some_and(|end| words[end..].iter().any(|word| *word != StatementWord::End)) {
        return Err("the query has more than one statement".to_owned());
    }
    if words
        .iter()
        .any(|word| matches!(word, StatementWord::Name(name) if is(name, "INTO")))
    {
        return Err(
            "the query has INTO, which writes a table or a file: a check only reads (a column of \
             that name goes in quotes)"
                .to_owned(),
        );
    }
    Ok(())
}

fn is(name: &str, known: &str) -> bool {
    name.eq_ignore_ascii_case(known)
}

/// The parts of a statement that determine whether it may be run: texts, quoted names and comments do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatementWord<'q> {
    Name(&'q str),
    Parenthesis,
    End,
    /// A text that is not closed; it is the end of the query.
    Unclosed,
    Other,
}

fn words(query: &str, dialect: Dialect, escapes: bool) -> Result<Vec<StatementWord<'_>>, String> {
    let mut words = Vec::new();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        if is_of_a_name(first) {
            // A dollar inside a name does not begin a text.
            let name = rest.find(|c| !is_of_a_name(c) && c != '$');
            let name = name.unwrap_or(rest.len());
            let (word, after) = rest.split_at(name);
            // In a text such as `E'\''`, a backslash before a quote means that the quote does not end the text.
            let is_escaped =
                dialect == Dialect::Postgres && is(word, "e") && after.starts_with('\'');
            words.push(StatementWord::Name(word));
            rest = match is_escaped.then(|| quoted(after, '\'', true)) {
                Some(Some(length)) => &after[length..],
                Some(None) => return Ok(unclosed(words)),
                None => after,
            };
            continue;
        }
        let skipped = match first {
            '\'' => quoted(rest, '\'', escapes),
            '"' => quoted(rest, '"', escapes),
            '`' if dialect != Dialect::Postgres => quoted(rest, '`', false),
            '[' if dialect == Dialect::Sqlite => until(rest, "]"),
            '$' if dialect == Dialect::Postgres => dollars(rest),
            '#' if dialect == Dialect::Mysql => Some(line(rest)),
            '-' if is_line_comment(rest, dialect) => Some(line(rest)),
            '/' if rest.starts_with("/*") => Some(comment(rest, dialect)?),
            _ => Some(0),
        };
        let Some(skipped) = skipped else {
            return Ok(unclosed(words));
        };
        if skipped > 0 {
            // A quoted text separates two words, as a comment does.
            if !matches!(first, '-' | '#' | '/') {
                words.push(StatementWord::Other);
            }
            rest = &rest[skipped..];
            continue;
        }
        if !first.is_whitespace() {
            words.push(match first {
                '(' => StatementWord::Parenthesis,
                ';' => StatementWord::End,
                '\0' => return Err("the query has a NUL character".to_owned()),
                _ => StatementWord::Other,
            });
        }
        rest = &rest[first.len_utf8()..];
    }
    Ok(words)
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn unclosed(mut words: Vec<StatementWord<'_>>) -> Vec<StatementWord<'_>> {
    words.push(StatementWord::Unclosed);
    words
}

/// The length of a text in quotes, which a doubled quote does not end; none if the text has no end.
fn quoted(text: &str, quote: char, escapes: bool) -> Option<usize> {
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' && escapes {
            letters.next();
        } else if letter == quote && letters.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + quote.len_utf8());
        }
    }
    None
}

fn until(text: &str, end: &str) -> Option<usize> {
    text.find(end).map(|at| at + end.len())
}

/// The length of a text between dollars, such as `$$it's$$` or `$tag$it's$tag$`; 0 for a single dollar.
fn dollars(text: &str) -> Option<usize> {
    let tag = text[1..].find(|c| !is_of_a_name(c)).map(|end| end + 1);
    let begins_with_digit = text[1..].starts_with(|c: char| c.is_ascii_digit());
    match tag {
        Some(tag) if text[tag..].starts_with('$') && !begins_with_digit => {
            let quote = &text[..=tag];
            let inside = &text[quote.len()..];
            Some(quote.len() + until(inside, quote)?)
        }
        _ => Some(0),
    }
}

/// The length up to the end of the line.
fn line(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// `--` begins a comment; in MySQL only before a space, since `1--1` is 2.
fn is_line_comment(text: &str, dialect: Dialect) -> bool {
    let after = text.strip_prefix("--");
    after.is_some_and(|after| {
        dialect != Dialect::Mysql
            || after.is_empty()
            || after.starts_with(|c: char| c.is_whitespace() || c.is_control())
    })
}

/// The length of a comment. In PostgreSQL, comments can be nested.
fn comment(text: &str, dialect: Dialect) -> Result<usize, String> {
    if dialect == Dialect::Mysql && (text.starts_with("/*!") || text.starts_with("/*M!")) {
        return Err(
            "the query has a comment that MySQL runs (`/*!`): leave it out, or write what is in it"
                .to_owned(),
        );
    }
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") && (depth == 0 || dialect == Dialect::Postgres) {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Ok(at);
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    Err("a comment in the query is not closed".to_owned())
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
        let mut told = std::collections::BTreeSet::new();
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
                told.insert(refused);
            }
        }
        insta::assert_snapshot!(Vec::from_iter(told).join("\n"), @"`${KELVIN_PARAM_B}` stands within quotes, a comment or a longer word: leave the quotes out, since it is bound as a value and never becomes a part of the text (join texts with `||` or CONCAT)");
        // Where a backslash may stand before what is no end, the place has to be outside of quotes either way.
        BoundSql::query("SELECT '\\', ${KELVIN_PARAM_B}, '\\'", Dialect::Mysql)
            .expect_err("either");
    }

    const ALL: [Dialect; 3] = [Dialect::Postgres, Dialect::Mysql, Dialect::Sqlite];

    #[test]
    fn inv_12_a_query_that_reads_is_asked() {
        for query in [
            "SELECT 1",
            "select count(*) from users;",
            " -- how many\n (SELECT 1) UNION (SELECT 2) ; -- done",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "VALUES (1)",
            "/* a */SHOW server_version",
            "SELECT 'moved into; DROP TABLE a', \"into\" FROM a",
            "SELECT 'it''s; into'",
            "SELECT * FROM intone WHERE drop_into = 'x'",
            "SELECT update, \"insert\" FROM a /* ; into */",
        ] {
            for dialect in ALL {
                assert_eq!(reads(query, dialect), Ok(()), "{dialect:?} {query}");
            }
        }
        for (dialect, query) in [
            (
                Dialect::Postgres,
                "SELECT $$; into$$, $a$ $$; into $a$, E'\\'; into'",
            ),
            (Dialect::Postgres, "SELECT /* /* ; */ into */ 1"),
            (Dialect::Postgres, "SELECT a$b FROM c WHERE d = 1 # 2"),
            (Dialect::Mysql, "SELECT `into`, 'a\\'b' # ; into\n"),
            (Dialect::Mysql, "SELECT 1--1"),
            (Dialect::Sqlite, "SELECT [into], `into`"),
        ] {
            assert_eq!(reads(query, dialect), Ok(()), "{dialect:?} {query}");
        }
    }

    #[test]
    fn inv_12_a_query_that_does_more_than_read_is_refused() {
        let mut refusals = Vec::new();
        for query in [
            "COMMIT; INSERT INTO a VALUES (1)",
            "SELECT 1; INSERT INTO a VALUES (1)",
            "SELECT 1;;DROP TABLE a",
            "SELECT 1; -- a\nDROP TABLE a",
            "COPY a TO PROGRAM 'touch x'",
            "DROP TABLE a",
            "EXPLAIN ANALYZE DELETE FROM a",
            "SELECT * INTO b FROM a",
            "SELECT 1 InTo/**/OUTFILE '/tmp/x'",
            "SELECT 1 /* a */ INTO DUMPFILE '/tmp/x'",
            "SELECT 'a''' INTO b",
            "PRAGMA writable_schema = 1",
            "ATTACH 'x' AS y",
            "SET ROLE admin",
            "CALL a()",
            "-- SELECT 1",
            ";",
            "",
            "'SELECT'",
            "SELECT 'a",
            "SELECT /* a",
            "SELECT 1\0",
        ] {
            let [refused, second, third] =
                ALL.map(|dialect| reads(query, dialect).expect_err(query));
            assert_eq!((&second, &third), (&refused, &refused), "{query}");
            refusals.push(refused);
        }
        insta::assert_snapshot!(refusals.join("\n"), @"
        a query begins with SELECT, WITH, VALUES or SHOW, and not with `COMMIT`: a check only reads
        the query has more than one statement
        the query has more than one statement
        the query has more than one statement
        a query begins with SELECT, WITH, VALUES or SHOW, and not with `COPY`: a check only reads
        a query begins with SELECT, WITH, VALUES or SHOW, and not with `DROP`: a check only reads
        a query begins with SELECT, WITH, VALUES or SHOW, and not with `EXPLAIN`: a check only reads
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        a query begins with SELECT, WITH, VALUES or SHOW, and not with `PRAGMA`: a check only reads
        a query begins with SELECT, WITH, VALUES or SHOW, and not with `ATTACH`: a check only reads
        a query begins with SELECT, WITH, VALUES or SHOW, and not with `SET`: a check only reads
        a query begins with SELECT, WITH, VALUES or SHOW, and not with `CALL`: a check only reads
        there is no statement in the query
        there is no statement in the query
        there is no statement in the query
        there is no statement in the query
        a quote in the query is not closed
        a comment in the query is not closed
        the query has a NUL character
        ");
    }

    #[test]
    fn inv_12_what_only_one_database_takes_for_a_comment_or_a_text_hides_nothing() {
        let mut refusals = Vec::new();
        for (dialect, query) in [
            (Dialect::Mysql, "SELECT 1 /*!50000 INTO OUTFILE '/tmp/x' */"),
            (Dialect::Mysql, "/*!50000 INSERT */ INTO a VALUES (1)"),
            (Dialect::Mysql, "SELECT 1 /*M!100000 INTO @a */"),
            (Dialect::Mysql, "SELECT 1--1 INTO OUTFILE '/tmp/x'"),
            (Dialect::Mysql, "SELECT /* /* */ 1 INTO @a -- */"),
            (Dialect::Mysql, "SELECT '\\' INTO OUTFILE '/tmp/x' -- '"),
            (Dialect::Mysql, "SELECT '\\\\' INTO OUTFILE '/tmp/x'"),
            (Dialect::Postgres, "SELECT '\\' INTO b --'"),
            (Dialect::Postgres, "SELECT 1 # 2; DROP TABLE a"),
            (Dialect::Postgres, "SELECT $a$ $b$ $a$ INTO b"),
            (Dialect::Postgres, "SELECT a$a$ INTO b --$a$"),
            (Dialect::Postgres, "SELECT `; DROP TABLE a; `"),
            (Dialect::Sqlite, "SELECT /* /* */ 1; DELETE FROM a --*/"),
            (Dialect::Sqlite, "SELECT [a'] ; DELETE FROM a --'"),
        ] {
            let refused = reads(query, dialect).expect_err(query);
            refusals.push(refused.to_string());
        }
        insta::assert_snapshot!(refusals.join("\n"), @"
        the query has a comment that MySQL runs (`/*!`): leave it out, or write what is in it
        the query has a comment that MySQL runs (`/*!`): leave it out, or write what is in it
        the query has a comment that MySQL runs (`/*!`): leave it out, or write what is in it
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        the query has more than one statement
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        the query has INTO, which writes a table or a file: a check only reads (a column of that name goes in quotes)
        the query has more than one statement
        the query has more than one statement
        the query has more than one statement
        ");
    }
}
