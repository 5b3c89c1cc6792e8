//! A chain that another tool has run and recorded, as a past run: its steps are the cases, and its version is used like
//! a commit.

use std::collections::BTreeMap;

use super::fall::MetricScale;
use super::past::{LeftOutReason, MadeOf, PastFigure, PastRun, Place};
use kelvin_base::calendar;
use kelvin_base::cost::Cost;
use kelvin_base::digest::Digest;
use kelvin_base::usage::Usage;
use kelvin_quality::{POOR_BELOW, score_of_step, score_of_trace};
use kelvin_record::{Direction, Nouns};
use kelvin_run::trace::ChainTrace;

/// The metric of a chain.
pub(super) const METRIC: &str = "quality_score";

impl PastRun {
    /// Why a trace is not counted; none if it is counted.
    pub(crate) fn trace_left(trace: &ChainTrace) -> Option<LeftOutReason> {
        trace.is_open().then_some(LeftOutReason::Undecided)
    }

    /// Extracts the needed part of a trace. Fails if the trace does not say when it began.
    pub(crate) fn of_trace(trace: &ChainTrace) -> Result<Self, String> {
        let began = trace.started_at.as_deref();
        Self::of_trace_at(
            trace,
            calendar::moment(began.ok_or("it has no `started_at`")?)?,
        )
    }

    /// Extracts the needed part of a trace that counts at any time. Fails if the trace has an invalid time.
    pub(crate) fn of_trace_of_any_time(trace: &ChainTrace) -> Result<Self, String> {
        let began = trace.started_at.as_deref();
        Self::of_trace_at(trace, began.map_or(Ok(0), calendar::moment)?)
    }

    /// The scores are computed here from the steps, because a score in the trace itself is only a claim.
    fn of_trace_at(trace: &ChainTrace, at: i64) -> Result<Self, String> {
        let mut cases: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
        for step in &trace.steps {
            let unit = step.unit_uri.as_ref().unwrap_or(&step.step_id);
            // A unit of another version counts as the same unit; otherwise each new version would lose one unit and
            // gain another.
            let (unit, _) = unit.rsplit_once('@').unwrap_or((unit, ""));
            cases
                .entry(unit.to_owned())
                .or_default()
                .push(score_of_step(step));
        }
        // A failed chain without a score has no result that could be good, so it counts as 0. If it were left out of
        // the mean, a failure would look better than a poor answer.
        let value = match score_of_trace(trace) {
            None if trace.has_failed() => Some(0.0),
            score => score,
        };
        let figure = PastFigure {
            value,
            reason: value
                .is_none()
                .then(|| "the tokens and steps of the trace do not give a score".to_owned()),
            scale: MetricScale {
                direction: Direction::Higher,
                ends: Some((0.0, 1.0)),
                poor_below: Some(POOR_BELOW),
            },
            shown_first: true,
            cases,
        };
        let usage = trace.token_counts.map(|tokens| Usage {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            ..Usage::default()
        });
        let pipeline = trace.fingerprint.as_deref();
        Ok(Self {
            configuration: trace.chain().to_owned(),
            place: Place::Traces,
            commit: Some(trace.version().to_owned()).filter(|version| !version.is_empty()),
            dirty: false,
            at,
            made_of: MadeOf::traced(
                Digest::of(trace.version().as_bytes()),
                pipeline.map(|text| Digest::of(text.as_bytes())),
            ),
            nouns: Nouns::from(("case", "cases")),
            cost: Cost {
                invocations: 1,
                pipeline_seconds: trace.duration_ms.unwrap_or(0.0) / 1000.0,
                usage,
                ..Cost::default()
            },
            figures: BTreeMap::from([(METRIC.to_owned(), figure)]),
            groups: BTreeMap::new(),
            decision: None,
            verdict: None,
        })
    }
}
