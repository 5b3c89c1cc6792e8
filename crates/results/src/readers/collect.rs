//! Collects the rows of a file, and checks the requirements for every file.

use std::collections::BTreeSet;
use std::path::Path;

use kelvin_base::digest::Digest;
use kelvin_record::{Direction, KeptText, KeptTexts};

use super::ReadError;
use crate::{MetricKind, Results, Row};

/// A pass (1) or a failure (0).
pub(super) const YES_NO: MetricKind = MetricKind {
    yes_no: true,
    better: Some(Direction::Higher),
};
/// A number for which more is better.
pub(super) const HIGHER: MetricKind = MetricKind {
    yes_no: false,
    better: Some(Direction::Higher),
};
/// A number for which less is better.
pub(super) const LOWER: MetricKind = MetricKind {
    yes_no: false,
    better: Some(Direction::Lower),
};
/// A number whose direction the format does not say.
pub(super) const UNKNOWN: MetricKind = MetricKind {
    yes_no: false,
    better: None,
};

/// The name of the metric for a pass or failure of a whole test.
pub(super) const PASS: &str = "pass";
/// The metrics that measure the cost of a sample, not its quality.
pub(super) const LATENCY: &str = "latency_s";
pub(super) const COST: &str = "cost";
pub(super) const TOKENS: &str = "tokens";

/// How many characters of a field of a sample are stored, and how many bytes of all texts of a file. The texts are for a
/// page that a person reads; without a limit, a file of 1 GB would be completely in memory. What is compared is the
/// digest of the whole text, which every text has.
const TEXT: usize = 2_000;
const TEXTS: usize = 32 << 20;

/// The results of a file during reading.
pub(super) struct Collector {
    results: Results,
    undeclared: BTreeSet<String>,
    texts_left: usize,
    texts_dropped: bool,
    has_score: bool,
}

impl Collector {
    pub(super) fn new(tool: &str) -> Self {
        let results = Results {
            tool: tool.to_owned(),
            ..Results::default()
        };
        Self {
            results,
            undeclared: BTreeSet::new(),
            texts_left: TEXTS,
            texts_dropped: false,
            has_score: false,
        }
    }

    /// Sets the score of a metric.
    pub(super) fn score(&mut self, row: &mut Row, metric: &str, kind: MetricKind, score: f64) {
        self.declare(metric, kind);
        self.has_score |= ![LATENCY, COST, TOKENS].contains(&metric);
        row.scores.insert(metric.to_owned(), score);
    }

    /// Sets the score of a metric, or records that the sample has none although it should.
    pub(super) fn score_or_missing(
        &mut self,
        row: &mut Row,
        metric: &str,
        kind: MetricKind,
        score: Option<f64>,
    ) {
        match score {
            Some(score) => self.score(row, metric, kind, score),
            None => self.missing(row, metric, Some(kind), "has no value"),
        }
    }

    /// Records that the sample has no score of a metric although it should: it counts as an error. Without a kind, the
    /// other samples determine the properties of the metric.
    pub(super) fn missing(
        &mut self,
        row: &mut Row,
        metric: &str,
        kind: Option<MetricKind>,
        why: &str,
    ) {
        match kind {
            Some(kind) => self.declare(metric, kind),
            None => _ = self.undeclared.insert(metric.to_owned()),
        }
        let why = format!("`{metric}` {why}");
        row.error = Some(match row.error.take() {
            Some(others) => format!("{others}; {why}"),
            None => why,
        });
    }

    /// Declares a metric. If two rows contradict each other about a property, it is unknown.
    fn declare(&mut self, metric: &str, kind: MetricKind) {
        match self.results.metrics.get_mut(metric) {
            Some(known) => {
                known.yes_no &= kind.yes_no;
                if known.better != kind.better {
                    known.better = None;
                }
            }
            None => {
                self.results.metrics.insert(metric.to_owned(), kind);
            }
        }
    }

    /// The text of a field in the form in which it is stored: its digest alone if the limit of the file is reached.
    pub(super) fn text(&mut self, text: &str) -> KeptText {
        let mut kept = KeptText::beginning(text, TEXT);
        if kept.text.len() > self.texts_left {
            self.texts_dropped = true;
            kept.shorten(KeptTexts::None);
        }
        self.texts_left -= kept.text.len();
        kept
    }

    pub(super) fn push(&mut self, row: Row) {
        self.results.rows.push(row);
    }

    pub(super) fn results(&mut self) -> &mut Results {
        &mut self.results
    }

    pub(super) fn version(&mut self, version: &str) {
        self.results.tool_version = Some(version.to_owned());
    }

    pub(super) fn setting(&mut self, name: &str, value: impl Into<String>) {
        self.results.settings.insert(name.to_owned(), value.into());
    }

    pub(super) fn notice(&mut self, notice: impl Into<String>) {
        self.results.notices.push(notice.into());
    }

    /// The results, unless there are none.
    pub(super) fn finish(mut self, file: &Path) -> Result<Results, ReadError> {
        if self.results.rows.is_empty() {
            let help = "run the evaluator on at least one case";
            return Err(ReadError::new(file, "", "it holds no sample", help));
        }
        let is_failed = self.results.rows.iter().all(|row| row.error.is_some());
        if !self.has_score && !is_failed {
            let help = "what is compared are the scores of the samples: let the evaluator score them, and write them \
                        beside the samples";
            return Err(ReadError::new(file, "", "no sample has a score", help));
        }
        for metric in std::mem::take(&mut self.undeclared) {
            self.results.metrics.entry(metric).or_insert(UNKNOWN);
        }
        if self.texts_dropped {
            self.notice("not all texts are kept, since the file has more than 32 MiB of them; all are compared");
        }
        Ok(self.results)
    }
}

/// The name of a case that has no name, made from its input. It contains no text of the input, because it becomes part
/// of the baseline, which may be public.
pub(super) fn named_by_input(input: Digest) -> String {
    format!("input-{}", input.short(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_cut_or_not_kept_is_still_told_from_another_one() {
        let mut collector = Collector::new("a table");
        let long = "word ".repeat(1_000);
        let (one, other) = (format!("{long}yes"), format!("{long}no"));
        let pair = [&one, &other].map(|text| collector.text(text));
        assert_eq!(pair[0].text, pair[1].text);
        assert_ne!(pair[0].digest, pair[1].digest);
        collector.texts_left = 3;
        let pair = ["right", "wrong"].map(|text| collector.text(text));
        assert!(pair.iter().all(|kept| kept.text.is_empty()));
        assert_ne!(pair[0].digest, pair[1].digest);
        assert_eq!(collector.text("yes").shown(), "yes");
        assert!(collector.texts_dropped);
    }
}
