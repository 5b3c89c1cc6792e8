//! Cases and settings for tests.

use super::{Case, Corpus};
use crate::EvidenceSettings;
use crate::config::{Counts, Perturbations, RecordSettings};
use crate::words::{NeutralSection, Words};
use kelvin_probe::DecisionField;
use kelvin_run::judge::Choice;
use kelvin_run::targets::Address;

/// A corpus of texts that parse, sorted by name.
pub fn corpus<T: AsRef<str>>(texts: &[(T, T)]) -> Corpus {
    let mut cases: Vec<Case> = texts
        .iter()
        .map(|(name, text)| {
            let (name, text) = (name.as_ref(), text.as_ref());
            Case::parse(name, format!("cases/{name}.md"), text).expect("the text of a test parses")
        })
        .collect();
    cases.sort_by(|one, two| one.name.cmp(&two.name));
    Corpus {
        cases,
        labels: Vec::new(),
        remarks: Vec::new(),
    }
}

/// The default settings, with a short bank of filler.
pub fn settings(governing: &[&str]) -> EvidenceSettings {
    let section = NeutralSection::new;
    EvidenceSettings {
        run: Address::command("true {input} {output}"),
        cases: "cases".to_owned(),
        records: RecordSettings::default(),
        decision_field: DecisionField::Key("decision".to_owned()),
        governing_types: governing.iter().map(|name| (*name).to_owned()).collect(),
        keep_order: Vec::new(),
        written: serde_json::Map::new(),
        seed: 0,
        perturbations: Perturbations {
            enable: Vec::new(),
            count_drop: false,
            variants: Counts::default(),
            pad_include_governing: false,
            words: Words {
                filler: vec![
                    section(
                        "Document Control",
                        "Kept in the usual place.\n\nPage 1 of 2.",
                    ),
                    section("Distribution", "- one copy each\n- none by fax"),
                    section("Office Hours", "Open on weekdays."),
                    section("Typeface", "Set in a common one."),
                    section("Abbreviations", "None are used."),
                ],
                ..Words::default()
            },
        },
        noise_floor: None,
        scorer: Choice::default(),
    }
}

/// Documents made from text that is hard to parse, and documents that contain only markup characters.
#[cfg(test)]
pub fn document() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::collection::vec;
    use proptest::prelude::*;

    const PIECES: [&str; 48] = [
        "## Gate Rule",
        "## gate  rule ##",
        "  ## Facts",
        "   ##\tFacts",
        "    ## code",
        "##Facts",
        "##",
        "## **Bold** `code` [link](x)",
        "### Third",
        "# First",
        "Under\n-----",
        "## x\n===",
        "text",
        "more text  ",
        "- item",
        "- item\n\n  inner",
        "1. item\n   ## in list",
        "> quote",
        "> ## in quote",
        "```",
        "~~~~",
        "```\n## in fence\n```",
        "<!--",
        "-->",
        "<!-- ## in comment\n## still -->",
        "<div>",
        "</div>",
        "<script>",
        "</script>",
        "<pre>\n## in pre\n\n## still\n</pre>",
        "<?php",
        "<![CDATA[\n## in there\n]]>",
        "---",
        "***",
        "+++",
        "...",
        "---\ntitle: x\n## in front matter\n---",
        "[ref]: http://example.org 'title",
        "[ref]: <a>",
        "## [ref]",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "\\",
        "`open",
        "\u{feff}",
        "\u{a0}",
        "Re\u{301}sume\u{301}",
        "\t- tab",
        "\u{c}",
    ];
    let newline = prop_oneof![4 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
    let gap = prop_oneof![
        4 => Just("\n\n"), 3 => Just("\n"), 1 => Just("\n \t\n"), 1 => Just(""), 1 => Just("\n\n\n")
    ];
    let piece = (0..PIECES.len(), gap);
    let pieced = (vec(piece, 0..14), newline, any::<bool>()).prop_map(|(pieces, newline, mark)| {
        let mut text = String::new();
        for (piece, gap) in pieces {
            text.push_str(PIECES[piece]);
            text.push_str(gap);
        }
        let mark = if mark { "\u{feff}" } else { "" };
        format!("{mark}{}", text.replace('\n', newline))
    });
    let noise = "([# \n\r\t`~<>!\\-*a\\[\\]:(+]|## |\n\n|```|<!--|-->|\n## a){0,60}";
    prop_oneof![4 => pieced, 2 => noise, 1 => "\\PC{0,40}"]
}
