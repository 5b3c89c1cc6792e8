//! Other stored reports of the base's code, as repeats of the base.

use super::{GateRequest, claims, configuration};
use crate::baseline::{self, Others, Search};
use crate::sentence::in_a_sentence;
use kelvin_gate::align::AlignedReports;
use kelvin_gate::compare::{Comparison, Measured, StoredComparison, compare};
use kelvin_gate::differences::Difference;
use kelvin_gate::provenance::{Provenance, Source};
use kelvin_gate::report::Report;
use kelvin_gate::verdict::{Verdict, Word};
use kelvin_gate::{Gate, Next, align};
use kelvin_run::config::Config;

/// Searches for stored reports of the base's code.
type Find<'s> = dyn Fn(&Report) -> Others + 's;

/// Finds stored reports of the base's code. The search is only made if the verdict is inconclusive without them.
#[derive(Default)]
pub(super) struct StoredReports<'s> {
    find: Option<Box<Find<'s>>>,
    found: Others,
}

/// A stored report of the base's code, prepared for the comparison with the head.
pub(super) struct ReportBeside {
    aligned: AlignedReports,
    first_is_copied: bool,
}

impl<'s> StoredReports<'s> {
    /// The stored reports of a base; none if the base was measured just now, or was given as a file.
    pub(super) fn of(
        request: &'s GateRequest,
        config: &'s Config,
        provenance: &'s Provenance,
    ) -> Self {
        match provenance.source {
            Source::Tree | Source::Branch | Source::Artifact => Self {
                find: Some(Box::new(move |base| {
                    find(request, config, (base, provenance))
                })),
                found: Others::default(),
            },
            Source::Compute | Source::File | Source::History => Self::default(),
        }
    }

    /// Searches for the reports, once, if the gate does not pass everything without them. `calls`: how many calls are
    /// left.
    pub(super) fn find_for(
        &mut self,
        gate: &Gate<'_>,
        (base, comparison): (&Report, &Comparison<'_>),
        calls: usize,
    ) {
        if self.find.is_none()
            || !gate.reads_noise()
            || !is_open(gate.clone().next(comparison, calls))
        {
            return;
        }
        if let Some(find) = self.find.take() {
            self.found = find(base);
        }
    }

    /// Each stored report in the form in which it is compared with a head.
    pub(super) fn beside(&self, head: &Report) -> Vec<ReportBeside> {
        let reports = self.found.reports.iter();
        reports
            .map(|other| ReportBeside {
                aligned: align::align(&other.report, head),
                first_is_copied: other.first_is_copied,
            })
            .collect()
    }

    /// Notes about the reports. `was_run`: whether the base was run again for some cases.
    pub(super) fn differences(self, verdict: &Verdict, was_run: bool) -> Vec<Difference> {
        let reports = self.found.reports.len();
        let mut metrics = verdict.metrics.values();
        let served = Difference::StoredRepeats {
            reports,
            apart: metrics.any(|metric| metric.between_reports.is_some()),
            in_part: was_run,
        };
        let served = (reports > 0).then_some(served);
        served.into_iter().chain(self.found.told).collect()
    }
}

impl ReportBeside {
    /// The comparison of this report with the head.
    pub(super) fn compared(&self) -> StoredComparison<'_> {
        let old = Measured::from(&self.aligned.base);
        let new = Measured::from(&self.aligned.head);
        StoredComparison {
            comparison: compare(&old, &new),
            first_is_copied: self.first_is_copied,
        }
    }
}

/// Whether the gate still has to decide about something.
fn is_open(next: Next) -> bool {
    let Next::Verdict(verdict) = next else {
        return true;
    };
    let mut metrics = verdict.metrics.values();
    let is_open =
        metrics.any(|metric| matches!(metric.verdict, Word::Inconclusive | Word::Regression));
    is_open || !verdict.broken_cases.is_empty()
}

fn find(request: &GateRequest, config: &Config, base: (&Report, &Provenance)) -> Others {
    let found = search_stored(request, config, |search| {
        let head = Some(base.0.suite());
        baseline::others(&Search { head, ..search }, base.0, base.1)
    });
    match found {
        Ok(found) => found,
        Err(error) if base.1.source == Source::Branch => Others {
            reports: Vec::new(),
            told: vec![Difference::StoredNotRead {
                why: in_a_sentence(&error),
            }],
        },
        // A project that stores its reports elsewhere does not need a branch of reports.
        Err(_) => Others::default(),
    }
}

/// Passes a search for stored reports to `then`. The search reads no artifacts, measures nothing, and finds the
/// configuration by its name; a caller that needs more can change it.
pub(super) fn search_stored<T>(
    request: &GateRequest,
    config: &Config,
    ask: impl FnOnce(Search<'_>) -> T,
) -> T {
    let login = request.login.as_ref();
    let registry = request.check.registry;
    ask(Search {
        registry,
        artifacts: None,
        login,
        head: None,
        settings: &config.baseline,
        root: &config.root,
        configuration: &configuration(config),
        hint: &request.hint,
        hold: &|repo, commit, report| {
            claims::hold(
                (registry, config),
                (repo, commit),
                report,
                (login, &request.hint),
            )
        },
        compute: None,
    })
}
