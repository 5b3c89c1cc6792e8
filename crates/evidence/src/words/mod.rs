//! Filler sections and word lists: data files of this program, which a pack extends or replaces. The documentation of
//! packs describes the format.

mod entry;
mod pack;

use std::fmt;
use std::path::Path;

/// The lists from which perturbations choose words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Neutral sections for `pad_length`; at least four.
    pub filler: Vec<NeutralSection>,
    /// Pairs of opposite comparators, e.g. ("at least", "at most").
    pub comparators: Vec<(String, String)>,
    /// More pairs of comparators, flipped only right before a number, e.g. ("over", "under").
    pub number_comparators: Vec<(String, String)>,
    /// Pairs of opposite outcomes, e.g. ("approved", "denied").
    pub antonyms: Vec<(String, String)>,
    /// Pairs of opposite states, flipped only after an auxiliary, e.g. ("met", "unmet").
    pub participles: Vec<(String, String)>,
    /// Words after which a participle is a state, e.g. "are", "not".
    pub auxiliaries: Vec<String>,
    /// Words such as "perhaps", inserted into opinions and judgements.
    pub hedges: Vec<String>,
    /// Verbs of opinion, e.g. "prefers"; a hedge is inserted between such a verb and a determiner.
    pub opinions: Vec<String>,
    /// Adjectives that judge, e.g. "pleasant"; a hedge is inserted before such an adjective.
    pub judgements: Vec<String>,
    /// Words that begin a noun phrase, e.g. "the".
    pub determiners: Vec<String>,
    /// Words that are never a noun, e.g. "of"; an outcome may be followed directly by one of them.
    pub prepositions: Vec<String>,
    /// Imperative verbs before which a polite word can be inserted.
    pub imperatives: Vec<String>,
    /// Polite words, e.g. "Please".
    pub courtesies: Vec<String>,
    /// Markers such as "Additionally", inserted before a sentence.
    pub discourse_markers: Vec<String>,
    /// Words that may lose their capital letter at the beginning of a sentence, e.g. "The".
    pub openers: Vec<String>,
    /// Sentences about the text, inserted before a section.
    pub meta_comments: Vec<String>,
    /// Words that negate; no text is inserted near them.
    pub negations: Vec<String>,
    /// Sentences that state whether conditions hold, for `swap_condition`.
    pub condition_states: Vec<String>,
    /// Words with a full stop that does not end a sentence, e.g. "e.g.".
    pub abbreviations: Vec<String>,
    /// Words that make the number after them a label, e.g. "section".
    pub number_labels: Vec<String>,
}

/// A neutral section.
#[derive(Clone, PartialEq, Eq)]
pub struct NeutralSection {
    /// The heading, without `##`.
    pub heading: String,
    /// The section in the form in which it is inserted: the heading line, an empty line, the text. Lines end in `\n`,
    /// and there is no white space at the end.
    pub markdown: String,
}

/// The digest of a configuration is computed from this form, so the struct name in it must stay: with another name,
/// every baseline would count as measured under other settings.
impl fmt::Debug for NeutralSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section")
            .field("heading", &self.heading)
            .field("markdown", &self.markdown)
            .finish()
    }
}

impl NeutralSection {
    /// Makes a section from a heading without `##` and a text whose lines end in `\n`.
    pub fn new(heading: &str, text: &str) -> Self {
        let markdown = format!("## {}\n\n{}", heading.trim(), text.trim());
        Self {
            heading: heading.to_owned(),
            markdown: markdown.trim_end().to_owned(),
        }
    }

    /// The text below the heading; the heading if there is no text.
    pub fn text(&self) -> &str {
        let text = self.markdown.split_once("\n\n").map(|(_, text)| text);
        text.unwrap_or(&self.heading)
    }
}

/// The minimum number of filler sections: a variant of `pad_length` uses up to this many different sections.
pub(crate) const LEAST_FILLER: usize = 4;

/// The names of all lists, in the order of the documentation.
const NAMES: [&str; 20] = [
    "filler",
    "comparators",
    "number_comparators",
    "antonyms",
    "participles",
    "auxiliaries",
    "hedges",
    "opinions",
    "judgements",
    "determiners",
    "prepositions",
    "imperatives",
    "courtesies",
    "discourse_markers",
    "openers",
    "meta_comments",
    "negations",
    "condition_states",
    "abbreviations",
    "number_labels",
];

/// One of the lists.
enum List<'a> {
    Sections(&'a mut Vec<NeutralSection>),
    Pairs(&'a mut Vec<(String, String)>),
    Words(&'a mut Vec<String>),
}

impl Words {
    /// The lists of this program, with `packs` applied in order; then the sections of the file `filler` replace the
    /// filler bank. A pack is either the name of a pack of this program or a folder of YAML files; paths are relative
    /// to `root`.
    ///
    /// # Errors
    ///
    /// A [`Misuse`](kelvin_base::exit::Misuse) that shows what is wrong with a file, each problem with its line and
    /// advice.
    pub fn load(root: &Path, packs: &[String], filler: Option<&str>) -> anyhow::Result<Self> {
        let mut lists = pack::WordLists::shipped()?;
        for name in packs {
            match pack::shipped_pack(name) {
                Some(files) => lists.apply_shipped(files)?,
                None => lists.apply_folder(root, name)?,
            }
        }
        if let Some(file) = filler {
            lists.replace_filler(root, file)?;
        }
        lists.finish()
    }

    fn list(&mut self, name: &str) -> Option<List<'_>> {
        Some(match name {
            "filler" => List::Sections(&mut self.filler),
            "comparators" => List::Pairs(&mut self.comparators),
            "number_comparators" => List::Pairs(&mut self.number_comparators),
            "antonyms" => List::Pairs(&mut self.antonyms),
            "participles" => List::Pairs(&mut self.participles),
            "auxiliaries" => List::Words(&mut self.auxiliaries),
            "hedges" => List::Words(&mut self.hedges),
            "opinions" => List::Words(&mut self.opinions),
            "judgements" => List::Words(&mut self.judgements),
            "determiners" => List::Words(&mut self.determiners),
            "prepositions" => List::Words(&mut self.prepositions),
            "imperatives" => List::Words(&mut self.imperatives),
            "courtesies" => List::Words(&mut self.courtesies),
            "discourse_markers" => List::Words(&mut self.discourse_markers),
            "openers" => List::Words(&mut self.openers),
            "meta_comments" => List::Words(&mut self.meta_comments),
            "negations" => List::Words(&mut self.negations),
            "condition_states" => List::Words(&mut self.condition_states),
            "abbreviations" => List::Words(&mut self.abbreviations),
            "number_labels" => List::Words(&mut self.number_labels),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
