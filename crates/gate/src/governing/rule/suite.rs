//! The answers of both sides: to each case as it is, and to each of its swaps.

/// The answers of one probe on both sides of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The names of the declared types.
    pub types: Vec<String>,
    /// The cases that both sides measured on the same input.
    pub cases: Vec<Case>,
    /// The swaps that both sides were asked, in any order.
    pub items: Vec<Item>,
    /// The answers of both sides.
    pub answers: Answers,
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// The name of the case.
    pub name: String,
    /// The names of the variants that should change nothing, on the base and on the head.
    pub own: (Vec<String>, Vec<String>),
}

/// One swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The index of the case of the swap.
    pub case: usize,
    /// The index of the type of the swap.
    pub of_type: usize,
    /// The index of the case that the unit comes from; none where it is not among the cases.
    pub donor: Option<usize>,
    /// The names of the variant on the base and on the head.
    pub variants: (String, String),
}

/// The answers of the base and of the head.
#[derive(Clone, Debug, PartialEq)]
pub enum Answers {
    /// Answers that are equal or not, as numbers of their classes.
    Classes(Side<u32>, Side<u32>),
    /// Answers that are numbers.
    Numbers(Side<f64>, Side<f64>),
}

/// The answers of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Side<A> {
    /// The answers to each case as it is, and to its variants that should change nothing; at least one.
    pub own: Vec<Vec<A>>,
    /// The answers to each swap.
    pub swaps: Vec<Vec<A>>,
    /// The most runs of a case.
    pub draws: usize,
}

impl Suite {
    /// Whether the answers are numbers, and not classes.
    pub const fn is_of_numbers(&self) -> bool {
        matches!(self.answers, Answers::Numbers(..))
    }

    /// The most runs of a case on each side.
    pub fn draws(&self) -> (usize, usize) {
        match &self.answers {
            Answers::Classes(base, head) => (base.draws, head.draws),
            Answers::Numbers(base, head) => (base.draws, head.draws),
        }
    }
}

impl<A> Side<A> {
    /// For each case: the most runs of one of its swaps.
    pub(super) fn most_runs(&self, items: &[Item], cases: usize) -> Vec<usize> {
        let mut most = vec![0; cases];
        for (item, answers) in items.iter().zip(&self.swaps) {
            most[item.case] = most[item.case].max(answers.len());
        }
        most
    }
}
