//! Filler sections and word lists: data files that ship with the tool and that a pack replaces.

/// Every list a perturbation draws from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// Neutral sections for `pad_length`.
    pub(crate) filler: Vec<Section>,
    /// Pairs of opposite comparators, e.g. ("at least", "at most").
    pub(crate) comparators: Vec<(String, String)>,
    /// Pairs of antonyms, e.g. ("approved", "denied").
    pub(crate) antonyms: Vec<(String, String)>,
    /// Words such as "perhaps", put before a noun phrase.
    pub(crate) hedges: Vec<String>,
    /// Imperative verbs that may be preceded by a courtesy.
    pub(crate) imperatives: Vec<String>,
    /// Courtesies, e.g. "Please".
    pub(crate) courtesies: Vec<String>,
    /// Markers such as "Additionally", put before a sentence.
    pub(crate) discourse_markers: Vec<String>,
    /// Sentences that talk about the text, put before a section.
    pub(crate) meta_comments: Vec<String>,
    /// Words that negate; nothing is injected near them.
    pub(crate) negations: Vec<String>,
    /// Sentences that state whether conditions hold, for `swap_condition`.
    pub(crate) condition_states: Vec<String>,
}

impl Words {
    pub(crate) fn load(_: &std::path::Path, _: &[String], _: Option<&str>) -> anyhow::Result<Self> {
        Ok(Self {
            filler: vec![],
            comparators: vec![],
            antonyms: vec![],
            hedges: vec![],
            imperatives: vec![],
            courtesies: vec![],
            discourse_markers: vec![],
            meta_comments: vec![],
            negations: vec![],
            condition_states: vec![],
        })
    }
}

/// A neutral section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// The heading, without `##`.
    pub(crate) heading: String,
    /// The text below it.
    pub(crate) text: String,
}
