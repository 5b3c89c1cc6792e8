//! What is said first where a run was compared with another one and judged: by the terminal, the comment, the check
//! of GitHub and the page alike, so that no two of them call one verdict by different names.

use super::{Phrase, Plane, Table, Tone};

/// What is said first where a run was judged.
pub struct Opening {
    /// How it is meant.
    pub tone: Tone,
    /// The same in one character.
    pub mark: &'static str,
    /// The verdict in a few words: `regression, approved`.
    pub word: &'static str,
    /// What it is about in a few words, after the word; empty where there is nothing to add.
    pub gist: Phrase,
    /// What became of items and of answers, in a few words; none where nothing did.
    pub changes: Option<String>,
    /// What happened, told by answers; none where no answer tells it.
    pub lead: Option<Phrase>,
    /// Why, the most important reason first; each is a sentence without its full stop, with names between backticks.
    pub reasons: Vec<String>,
    /// What a reader does next, in sentences.
    pub next: Phrase,
    /// What it was compared with.
    pub base: Phrase,
    /// What is answered otherwise than on the base, a list for each kind of item.
    pub answers: Vec<AnswerList>,
    /// A few answers that went wrong, the worst first.
    pub flips: Vec<FlippedAnswer>,
    /// How many more there are.
    pub more_flips: usize,
    /// The figures of both sides.
    pub metrics: Option<Table>,
    /// A command that does it again, with a sentence that says where.
    pub again: Option<(Phrase, String)>,
    /// What metrics were on the base, by id.
    pub before: Vec<(String, f64)>,
}

impl Opening {
    /// The verdict and what became of items and answers, in one line.
    pub fn headline(&self) -> String {
        match &self.changes {
            Some(changes) => format!("{}, {changes}", self.word),
            None => self.word.to_owned(),
        }
    }

    /// The place of the base on a square; none where it is not known.
    pub fn place(&self, plane: &Plane) -> Option<[f64; 2]> {
        let [x, y] = plane.metrics.map(|id| {
            let mut before = self.before.iter();
            before
                .find(|(known, _)| known == id)
                .map(|(_, value)| *value)
        });
        Some([x?, y?])
    }
}

/// The items of one kind that are answered otherwise than on the base. All text but the title is of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerList {
    /// How many there are, as a sentence without its full stop; none where there are none.
    pub title: Option<String>,
    /// What else there is to say of the answers, one sentence each.
    pub notes: Vec<String>,
    /// What one of the items is called.
    pub item: String,
    /// The items, the worst first.
    pub rows: Vec<AnswerRow>,
    /// How many further ones there are that are not listed.
    pub left: usize,
}

/// One item with its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerRow {
    /// Its name.
    pub item: String,
    /// What was asked.
    pub asked: Option<String>,
    /// What should be answered.
    pub expected: Option<String>,
    /// What the base answers.
    pub base: String,
    /// What is answered now.
    pub head: String,
}

/// An answer that went wrong. All text is of others.
pub struct FlippedAnswer {
    /// The item.
    pub item: String,
    /// The part of it that is shown.
    pub part: String,
    /// In how many parts it is so, and what those are.
    pub count: Phrase,
    /// The answer of the base to that part.
    pub base: String,
    /// The answer now.
    pub head: String,
}

#[cfg(test)]
mod tests {
    use crate::fixture;

    #[test]
    fn a_base_has_a_place_where_both_of_its_metrics_are_known() {
        let notices = fixture::notices("ash");
        let failure = fixture::failure("ash");
        let mut page = fixture::run("ash", &[], &failure, &notices);
        let mut opening = page.opening.take().expect("it was judged");
        let plane = page.chapters[0].plane.as_ref().expect("it has a square");
        assert_eq!(opening.place(plane), None, "its height is not known");
        opening.before.push(("trees.height".to_owned(), 0.3));
        assert_eq!(opening.place(plane), Some([0.4, 0.3]));
    }
}
