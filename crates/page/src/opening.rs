//! The opening of a page about a run that was compared with another one and judged. The terminal, the comment, the
//! GitHub check run and the page share it, so that all use the same words for a verdict.

use super::{Phrase, Plane, Table, Tone};

/// The opening of a page about a judged run.
pub struct Opening {
    /// The tone of the verdict.
    pub tone: Tone,
    /// The tone as one character.
    pub mark: &'static str,
    /// The verdict in a few words: `regression, approved`.
    pub word: &'static str,
    /// The subject of the verdict in a few words, after the word of the verdict; may be empty.
    pub gist: Phrase,
    /// The changes of items and answers, in a few words; none if there are no changes.
    pub changes: Option<String>,
    /// What happened, described by answers; none if no answer is an example of it.
    pub lead: Option<Phrase>,
    /// The reasons, the most important first; each is a sentence without its full stop, with names between backticks.
    pub reasons: Vec<String>,
    /// The next step for a reader, in sentences.
    pub next: Phrase,
    /// The run with which this run was compared.
    pub base: Phrase,
    /// The answers that differ from those of the base, one list per kind of item.
    pub answers: Vec<AnswerList>,
    /// A few answers that became wrong, the worst first.
    pub flips: Vec<FlippedAnswer>,
    /// How many other answers became wrong.
    pub more_flips: usize,
    /// The caveats that a reader has to know before the figures, in sentences without their full stops.
    pub caveats: Vec<String>,
    /// The figures of both sides.
    pub metrics: Option<Table>,
    /// A command that repeats the comparison, with a sentence that says where to run it.
    pub again: Option<(Phrase, String)>,
    /// The values of the metrics on the base, by id.
    pub before: Vec<(String, f64)>,
}

impl Opening {
    /// The verdict and the changes of items and answers, in one line.
    pub fn headline(&self) -> String {
        match &self.changes {
            Some(changes) => format!("{}, {changes}", self.word),
            None => self.word.to_owned(),
        }
    }

    /// The position of the base on a square; none if it is not known.
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

/// How many changed answers of one kind of item the page lists at most, so that it stays fast.
pub const ANSWERS: usize = 500;

/// The items of one kind whose answers differ from those of the base. All text except the title is external.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerList {
    /// The number of the items in the list, as a sentence without its full stop; none if the list is empty.
    pub title: Option<String>,
    /// Other sentences about the answers.
    pub notes: Vec<String>,
    /// The noun for one item.
    pub item: String,
    /// The items, the worst first.
    pub rows: Vec<AnswerRow>,
    /// How many items are not listed.
    pub left: usize,
}

/// One item with its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerRow {
    /// Its name.
    pub item: String,
    /// The question.
    pub asked: Option<String>,
    /// The expected answer.
    pub expected: Option<String>,
    /// The answer of the base.
    pub base: String,
    /// The current answer.
    pub head: String,
    /// The ranked hits of both sides, if the answers come from a search.
    pub hits: Option<HitsBeside>,
    /// The files of the item in the folder of the page, each with its path relative to the page.
    pub files: Vec<(&'static str, String)>,
    /// The other output fields besides the answers: a name, with the text of the base and the current one.
    pub beside: Vec<(String, Option<String>, Option<String>)>,
}

/// The ranked hits of both sides. All text is external.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HitsBeside {
    /// The expected hits, each with its title if that is known.
    pub expected: Vec<(String, Option<String>)>,
    /// The hits of the base and how many more there were.
    pub base: (Vec<RankedRow>, usize),
    /// The current hits and how many more there are.
    pub head: (Vec<RankedRow>, usize),
}

/// One hit of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankedRow {
    /// Its rank, from 1.
    pub rank: u32,
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: Option<String>,
    /// Whether it is expected.
    pub is_expected: bool,
    /// The rank of the hit on the other side; none if the other side does not have it.
    pub other_rank: Option<u32>,
}

/// An answer that became wrong. All text is external.
pub struct FlippedAnswer {
    /// The item.
    pub item: String,
    /// The part of the item that is shown.
    pub part: String,
    /// The number of parts in which the answer became wrong, and their noun.
    pub count: Phrase,
    /// The answer of the base to that part.
    pub base: String,
    /// The current answer.
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
