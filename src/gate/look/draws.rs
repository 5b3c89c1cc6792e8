//! What one side measured of a cell: the losses of its answers, next to those to the unperturbed input.

/// The losses of one cell on one side; none where an invocation failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Draws {
    /// The loss of each repeat, in order.
    pub(crate) values: Vec<Option<f64>>,
    /// The losses of all pairs: a list for each answer to the cell's own input, and in it a loss for each
    /// answer to the unperturbed input, which all cells of the case share. Empty where a repeat was
    /// compared with no other repeat.
    pub(crate) pairs: Vec<Vec<Option<f64>>>,
}

impl From<Vec<Option<f64>>> for Draws {
    fn from(values: Vec<Option<f64>>) -> Self {
        Self {
            values,
            pairs: Vec::new(),
        }
    }
}

impl Draws {
    /// How often the input was run, failed or not.
    pub(crate) fn runs(&self) -> usize {
        self.own_runs().max(self.shared_runs())
    }

    /// How many answers to the cell's own input there are, failed or not.
    pub(super) fn own_runs(&self) -> usize {
        self.values.len().max(self.pairs.len())
    }

    /// How many answers to the unperturbed input its losses are taken from.
    pub(super) fn shared_runs(&self) -> usize {
        let crossed = self.pairs.iter().map(Vec::len).max();
        crossed.unwrap_or(self.values.len())
    }

    /// Whether several answers to the cell's own input stand beside each other.
    pub(in crate::gate) fn repeats_variants(&self) -> bool {
        self.pairs.len() > 1
    }

    pub(super) const fn is_crossed(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// The mean of what was measured.
    pub(super) fn mean(&self) -> Option<f64> {
        match self.is_crossed() {
            true => mean(self.pairs.iter().flatten().copied()),
            false => mean(self.values.iter().copied()),
        }
    }

    /// The loss with one answer to the unperturbed input, over all answers to the cell's own.
    pub(super) fn with_shared(&self, at: usize) -> Option<f64> {
        mean(self.pairs.iter().map(|own| own.get(at).copied().flatten()))
    }

    /// The loss of each answer to the cell's own input, over all answers to the unperturbed one.
    pub(super) fn of_own(&self) -> Vec<f64> {
        let own = self.pairs.iter();
        own.filter_map(|own| mean(own.iter().copied())).collect()
    }

    /// The loss of one repeat: that of the answers with the same number.
    pub(super) fn repeat(&self, at: usize) -> Option<f64> {
        let value = match self.is_crossed() {
            true => self.pairs.get(at).and_then(|own| own.get(at)),
            false => self.values.get(at),
        };
        finite(value.copied().flatten())
    }

    /// How many repeats there are whose answers have the same number.
    pub(super) fn repeats(&self) -> usize {
        match self.is_crossed() {
            true => self.own_runs().min(self.shared_runs()),
            false => self.values.len(),
        }
    }
}

/// The mean of what was measured.
fn mean(losses: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for loss in losses.filter_map(finite) {
        sum += loss;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

fn finite(loss: Option<f64>) -> Option<f64> {
    loss.filter(|loss| loss.is_finite())
}
