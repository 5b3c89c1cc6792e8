//! Checks the placeholders of the command: both must exist, and no text may only look like one.

use std::ops::Range;

use super::diagnostic::Problem;
use super::hints;

/// Each placeholder, its meaning, and misspellings that people use.
const PLACEHOLDERS: &[(&str, &str, &[&str])] = &[
    (
        "input",
        "the path of the case to read",
        &["in", "infile", "input_file", "input_path", "file", "case"],
    ),
    (
        "output",
        "the path of the JSON file to write",
        &["out", "outfile", "output_file", "output_path", "result"],
    ),
];

/// The problems of the placeholders of a command.
pub fn problems(run: &str, at: &Range<usize>, source: &str) -> Vec<Problem> {
    let mut found = Vec::new();
    if run.trim().is_empty() {
        return found;
    }
    if run.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
        found.push(Problem::new(
            at.clone(),
            "the command holds a control character",
        ));
    }
    if run.contains("{workspace}") {
        let at = inside(at, source, "{workspace}");
        found.push(
            Problem::new(at, "only a scenario of `invariants` has a `{workspace}`")
                .help("leave it out; `{root}` is the folder of the configuration"),
        );
    }
    let mut taken = Vec::new();
    for (name, purpose, others) in PLACEHOLDERS {
        let token = format!("{{{name}}}");
        let wrapped = run
            .match_indices(&token)
            .find_map(|(start, _)| wrapping(run, start, &token));
        if let Some((written, what)) = wrapped {
            found.push(
                Problem::new(
                    inside(at, source, &written),
                    format!("`{written}` is not a placeholder"),
                )
                .help(format!("write `{token}`, {what}")),
            );
        } else if !run.contains(&token) {
            let meant = lookalike(run, name, others).filter(|written| !taken.contains(written));
            let problem = match &meant {
                Some(written) => Problem::new(
                    inside(at, source, written),
                    format!("`run` has no placeholder `{token}`"),
                )
                .help(format!("did you mean `{token}` instead of `{written}`?")),
                None => Problem::new(at.clone(), format!("`run` has no placeholder `{token}`"))
                    .help(format!("put `{token}` where the command takes {purpose}")),
            };
            found.push(problem);
            taken.extend(meant);
        }
    }
    found
}

/// Finds a placeholder in double braces or after a dollar sign: these characters would stay in the command.
fn wrapping(run: &str, start: usize, token: &str) -> Option<(String, &'static str)> {
    let before = run[..start].chars().next_back();
    let after = run[start + token.len()..].chars().next();
    match (before, after) {
        (Some('{'), Some('}')) => Some((format!("{{{token}}}"), "with single braces")),
        (Some('$'), _) => Some((format!("${token}"), "without the `$`")),
        _ => None,
    }
}

/// Finds a text in the command that was probably meant to be the placeholder.
fn lookalike(run: &str, name: &str, others: &[&str]) -> Option<String> {
    let plain = |text: &str| text.trim().to_lowercase().replace('-', "_");
    let means = |word: &str| {
        let word = plain(word);
        others.contains(&&*word) || hints::nearest(&word, &[name]).is_some()
    };
    for (open, close) in [
        ("{{", "}}"),
        ("${", "}"),
        ("{", "}"),
        ("<", ">"),
        ("%", "%"),
        ("[", "]"),
    ] {
        for (start, _) in run.match_indices(open) {
            let rest = &run[start + open.len()..];
            if let Some((word, _)) = rest.split_once(close)
                && means(word)
            {
                return Some(format!("{open}{word}{close}"));
            }
        }
    }
    run.split_whitespace()
        .map(|word| word.trim_matches(['"', '\'']))
        .find(|word| {
            word.strip_prefix('$')
                .is_some_and(|bare| plain(bare) == *name || others.contains(&&*plain(bare)))
        })
        .map(str::to_owned)
}

/// The byte range of a part of the command; the range of the whole command if YAML escapes a part of it.
fn inside(at: &Range<usize>, source: &str, part: &str) -> Range<usize> {
    let written = source.get(at.clone()).unwrap_or("");
    match written.find(part) {
        Some(start) => at.start + start..at.start + start + part.len(),
        None => at.clone(),
    }
}
