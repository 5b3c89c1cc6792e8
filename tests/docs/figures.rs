//! Every section that states a time, a size or a measured share says how it was measured, or stands in the list of
//! `unread.md`.

use std::collections::BTreeSet;

use super::blocks::{LIST, pages, rows, unquoted};
use super::{read, root};

/// A section of a page: its heading, and its text without blocks.
struct Section {
    page: String,
    heading: String,
    /// 1 for the title of the page.
    level: usize,
    text: String,
}

fn sections() -> Vec<Section> {
    let mut sections = Vec::new();
    for page in pages() {
        let mut is_block = false;
        let mut open = Section {
            page: page.clone(),
            heading: String::new(),
            level: 1,
            text: String::new(),
        };
        for line in read(&page).lines() {
            let is_fence = line.trim_start().starts_with("```");
            is_block ^= is_fence;
            let level = line.chars().take_while(|sign| *sign == '#').count();
            match (1..=6).contains(&level) && !is_block {
                true => {
                    sections.push(std::mem::replace(
                        &mut open,
                        Section {
                            page: page.clone(),
                            heading: line.trim_matches(['#', ' ']).to_owned(),
                            level,
                            text: String::new(),
                        },
                    ));
                }
                false if !is_block && !is_fence => open.text.extend([line, "\n"]),
                false => {}
            }
        }
        sections.push(open);
    }
    sections
}

/// The first time, size or share with a decimal.
fn figure(text: &str) -> Option<String> {
    const UNITS: &[&str] = &[
        "ms", "s", "seconds", "minutes", "KB", "MB", "GB", "KiB", "MiB", "GiB",
    ];
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |word: &str| {
        word.trim_matches(['(', ')', ',', ';', ':', '.', '|', '`'])
            .to_owned()
    };
    words.windows(2).find_map(|two| {
        let (number, unit) = (bare(two[0]), bare(two[1]));
        let is_number = number.starts_with(|sign: char| sign.is_ascii_digit())
            && number
                .chars()
                .all(|sign| sign.is_ascii_digit() || ",.".contains(sign));
        let is_measured = UNITS.contains(&unit.as_str()) || unit == "%" && number.contains('.');
        (is_number && is_measured).then(|| format!("{number} {unit}"))
    })
}

/// Whether a section says itself how its figures came to be: the day, or what prints or checks them.
fn is_dated(text: &str) -> bool {
    let day = |word: &str| {
        let word = word.trim_matches(|sign: char| !sign.is_ascii_digit());
        let parts: Vec<&str> = word.split('-').collect();
        parts.len() == 3 && parts[0].len() == 4 && parts[0].starts_with("20")
    };
    let names = ["cargo test", "cargo bench", "benches/", "tests/", "<!-- "];
    names.iter().any(|name| text.contains(name)) || text.split_whitespace().any(day)
}

#[test]
fn every_figure_says_how_it_was_measured_or_is_listed() {
    let rows = rows("Figures");
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    // The sections around the one at hand: what they say of its figures counts, but for the title of the page.
    let mut around: Vec<(usize, bool)> = Vec::new();
    for section in sections() {
        let Section {
            page,
            heading,
            level,
            text,
        } = &section;
        around.retain(|(other, _)| other < level && *other > 1);
        let is_told = is_dated(text) || around.iter().any(|(_, is_dated)| *is_dated);
        around.push((*level, is_dated(text)));
        let row = rows
            .iter()
            .position(|[of, name, _]| unquoted(of) == *page && unquoted(name) == *heading);
        used.extend(row);
        match figure(text).filter(|_| !is_told) {
            Some(figure) if row.is_none() => {
                wrong.push(format!("{page}, `{heading}`: where is `{figure}` from?"));
            }
            None if row.is_some() => {
                wrong.push(format!("{page}, `{heading}`: it needs no row in {LIST}"));
            }
            _ => {}
        }
    }
    for (at, [page, heading, why]) in rows.iter().enumerate() {
        if !used.contains(&at) {
            wrong.push(format!("{LIST}: {page} has no section {heading}"));
        }
        // A constant is where the row says.
        for name in why.split('`').skip(1).step_by(2) {
            let Some((file, constant)) = name.split_once(": ") else {
                continue;
            };
            if !std::fs::read_to_string(root().join(file)).is_ok_and(|code| code.contains(constant))
            {
                wrong.push(format!("{LIST}: `{file}` has no `{constant}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
