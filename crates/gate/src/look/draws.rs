//! The values of one side for a cell: the losses of its answers, compared with those to the unperturbed input.

/// The losses of one cell on one side; none if an invocation failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draws {
    /// The loss of each repeat, in order.
    pub values: Vec<Option<f64>>,
    /// The losses of all pairs: a list for each answer to the cell's own input, which contains a loss for each answer
    /// to the unperturbed input. All cells of the case share the unperturbed input. Empty if each repeat was compared
    /// only with itself.
    pub pairs: Vec<Vec<Option<f64>>>,
    /// How many answers each report has, in order, if the answers come from several reports. Empty for one report.
    pub reports: Vec<AnswerTotals>,
}

/// How many answers a report has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerTotals {
    /// The number of losses of repeats.
    values: usize,
    /// The number of answers to the cell's own input in the pairs.
    own: usize,
    /// The number of answers to the unperturbed input in the pairs; all cells of a case share these answers.
    shared: usize,
}

impl From<Vec<Option<f64>>> for Draws {
    fn from(values: Vec<Option<f64>>) -> Self {
        Self {
            values,
            pairs: Vec::new(),
            reports: Vec::new(),
        }
    }
}

impl Draws {
    /// Joins the answers of several reports. Answers of different reports were never compared, so each report keeps its
    /// own pairs. `crosses`: whether every answer to the cell's own input is compared with every answer to the
    /// unperturbed input, if there are several.
    pub fn joined(parts: Vec<Self>, crosses: bool) -> Self {
        let is_crossed = crosses || parts.iter().any(Self::is_crossed);
        let shared: Vec<usize> = parts.iter().map(Self::shared_runs).collect();
        let all: usize = shared.iter().sum();
        let mut joined = Self::default();
        let mut before = 0;
        for (part, shared) in parts.into_iter().zip(shared) {
            let mut answers = AnswerTotals {
                values: part.values.len(),
                own: 0,
                shared,
            };
            if is_crossed {
                let own = part.by_own();
                answers.own = own.len();
                joined.pairs.extend(own.into_iter().map(|own| {
                    let mut row = vec![None; all];
                    row[before..before + own.len()].copy_from_slice(&own);
                    row
                }));
            }
            before += shared;
            joined.values.extend(part.values);
            joined.reports.push(answers);
        }
        joined
    }

    /// All pairs; if each repeat was only compared with itself, one pair for each repeat.
    fn by_own(&self) -> Vec<Vec<Option<f64>>> {
        if self.is_crossed() {
            return self.pairs.clone();
        }
        let count = self.values.len();
        let values = self.values.iter().enumerate();
        let row = values.map(|(at, value)| {
            let mut row = vec![None; count];
            row[at] = *value;
            row
        });
        row.collect()
    }

    /// The answers of each report separately, if there are several reports.
    pub(super) fn by_report(&self) -> Vec<Self> {
        let (mut values, mut own, mut shared) = (0, 0, 0);
        let of_report = self.reports.iter().map(|answers| {
            let from = (values, own, shared);
            values += answers.values;
            own += answers.own;
            shared += answers.shared;
            let rows = self.pairs[from.1..own].iter();
            Self {
                values: self.values[from.0..values].to_vec(),
                pairs: rows.map(|row| row[from.2..shared].to_vec()).collect(),
                reports: Vec::new(),
            }
        });
        of_report.collect()
    }

    /// How often the input was run, including failed runs.
    pub fn runs(&self) -> usize {
        self.own_runs().max(self.shared_runs())
    }

    /// How many answers to the cell's own input there are, including failed calls.
    pub(super) fn own_runs(&self) -> usize {
        self.values.len().max(self.pairs.len())
    }

    /// From how many answers to the unperturbed input the losses are computed.
    pub(super) fn shared_runs(&self) -> usize {
        let crossed = self.pairs.iter().map(Vec::len).max();
        crossed.unwrap_or(self.values.len())
    }

    /// Whether there are several answers to the cell's own input.
    pub(crate) fn repeats_variants(&self) -> bool {
        self.pairs.len() > 1
    }

    pub(super) const fn is_crossed(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// The mean of the measured losses.
    pub(super) fn mean(&self) -> Option<f64> {
        match self.is_crossed() {
            true => mean(self.pairs.iter().flatten().copied()),
            false => mean(self.values.iter().copied()),
        }
    }

    /// The mean loss with one answer to the unperturbed input, over all answers to the cell's own input.
    pub(super) fn with_shared(&self, at: usize) -> Option<f64> {
        mean(self.pairs.iter().map(|own| own.get(at).copied().flatten()))
    }

    /// The mean loss of each answer to the cell's own input, over all answers to the unperturbed input.
    pub(super) fn of_own(&self) -> Vec<f64> {
        let own = self.pairs.iter();
        own.filter_map(|own| mean(own.iter().copied())).collect()
    }

    /// The loss of one repeat, from the two answers with the same number in the same report.
    pub(super) fn repeat(&self, at: usize) -> Option<f64> {
        let value = match self.is_crossed() {
            true => {
                let (own, shared) = self.of_repeat(at)?;
                self.pairs.get(own).and_then(|own| own.get(shared))
            }
            false => self.values.get(at),
        };
        finite(value.copied().flatten())
    }

    /// The answers of one repeat, by their indices.
    fn of_repeat(&self, at: usize) -> Option<(usize, usize)> {
        if self.reports.is_empty() {
            return Some((at, at));
        }
        let (mut left, mut own, mut shared) = (at, 0, 0);
        for report in &self.reports {
            if left < report.own.min(report.shared) {
                return Some((own + left, shared + left));
            }
            left -= report.own.min(report.shared);
            own += report.own;
            shared += report.shared;
        }
        None
    }

    /// The number of repeats with both answers.
    pub(super) fn repeats(&self) -> usize {
        match (self.is_crossed(), self.reports.is_empty()) {
            (true, true) => self.own_runs().min(self.shared_runs()),
            (true, false) => {
                let reports = self.reports.iter();
                reports.map(|report| report.own.min(report.shared)).sum()
            }
            (false, _) => self.values.len(),
        }
    }
}

/// The mean of the measured losses.
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
