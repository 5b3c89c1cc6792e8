//! The differences between two runs that their fingerprints and settings show.

use super::differences::{Difference, Incomparable};
use crate::report::Report;
use kelvin_base::digest::Digest;
use kelvin_record::{AnySection, ComparedSide, Ending, SectionFingerprint, SectionKind};

/// The differences between two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// The differences that still allow a comparison of the figures.
    pub told: Vec<Difference>,
    /// Why the figures cannot be compared; none where they can.
    pub incomparable: Option<Incomparable>,
}

/// Finds the differences between two reports.
pub fn differences(base: &Report, head: &Report) -> Differences {
    let (before, after) = (&base.run, &head.run);
    let (old, new) = (&before.fingerprints, &after.fingerprints);
    let mut told = Vec::new();
    // A report of another tool has no comparable fingerprints.
    if base.tool.name == head.tool.name {
        let differ = |of: fn(SectionFingerprint) -> Option<Digest>| {
            let mut both = in_both(base, head).into_iter();
            both.any(|(_, old, new)| of(old.fingerprint()) != of(new.fingerprint()))
        };
        for (difference, differs) in [
            (Difference::Cases, differ(|found| found.items)),
            (Difference::Configuration, old.config != new.config),
            (Difference::Command, differ(|found| found.command)),
        ] {
            if differs {
                told.push(difference);
            }
        }
    }
    match (old.pipeline, new.pipeline) {
        (Some(old), Some(new)) if old == new => {}
        (Some(_), Some(_)) => told.push(Difference::Pipeline),
        _ => told.push(Difference::PipelineUnknown),
    }
    if before.seed != after.seed {
        told.push(Difference::Seed {
            base: before.seed,
            head: after.seed,
        });
    }
    for (kind, old, new) in in_both(base, head) {
        let settings = kind.differing_settings(old, new).into_iter();
        told.extend(settings.map(Difference::from));
    }
    if base.tool.version != head.tool.version {
        let version = |report: &Report| format!("{} {}", report.tool.name, report.tool.version);
        told.push(Difference::Version {
            base: version(base),
            head: version(head),
        });
    }
    Differences {
        told,
        incomparable: incomparable(base, head),
    }
}

/// The sections of the probes that both sides have, in the order of the registry.
fn in_both<'a>(
    base: &'a Report,
    head: &'a Report,
) -> Vec<(
    &'static dyn SectionKind,
    &'a dyn AnySection,
    &'a dyn AnySection,
)> {
    let of_base = base.probes.known().into_iter();
    of_base
        .filter_map(|(kind, section)| Some((kind, section, head.probes.of(kind.name())?)))
        .collect()
}

fn incomparable(base: &Report, head: &Report) -> Option<Incomparable> {
    let sides = [(ComparedSide::Base, base), (ComparedSide::Head, head)];
    let unfinished = sides
        .into_iter()
        .find(|(_, report)| report.run.ending != Ending::Complete);
    if let Some((side, report)) = unfinished {
        let ending = report.run.ending;
        return Some(Incomparable::Ending { side, ending });
    }
    let mut both = in_both(base, head).into_iter();
    let found = both.find_map(|(kind, old, new)| kind.incomparable(old, new));
    found.map(Incomparable::Setting)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::report::{Fingerprints, Run, Session, fixture};
    use kelvin_base::cost::Cost;
    use kelvin_evidence::{Basis, EvidenceSection};

    fn report() -> Report {
        let digest = Digest::of(b"same");
        let run = Run {
            ending: Ending::Complete,
            seed: 0,
            only: Vec::new(),
            shard: None,
            repeats: 1,
            fingerprints: Fingerprints {
                config: digest,
                pipeline: Some(digest),
            },
            session: Session {
                started_at: "2026-01-01T00:00:00Z".to_owned(),
                seconds: 1.0,
                configuration: None,
                commit: None,
                dirty: false,
                copied_from: None,
                texts_withheld: false,
                cost: Cost::default(),
                judge_cost: None,
                item_seconds: BTreeMap::new(),
                decision: None,
                verdict: None,
            },
        };
        let basis = Basis {
            decision_field: "decision".to_owned(),
            governing_types: vec!["gate_rule".to_owned()],
            scorer: "exact/1".to_owned(),
            ..Basis::default()
        };
        let sections = fixture::sections(basis, BTreeMap::new());
        Report::new(run, sections, BTreeMap::new(), Vec::new())
    }

    #[test]
    fn equal_runs_differ_in_nothing() {
        let mut later = report();
        later.run.session.seconds = 9.0;
        later.run.session.commit = Some("abc".to_owned());
        assert_eq!(differences(&report(), &later), Differences::default());
    }

    #[test]
    fn what_differs_is_told_and_can_be_compared() {
        let mut head = report();
        head.run.fingerprints.pipeline = Some(Digest::of(b"other"));
        let section = head.probes.get_mut::<EvidenceSection>();
        let section = section.expect("the fixture has it");
        section.fingerprint.items = Some(Digest::of(b"other"));
        head.run.seed = 7;
        fixture::basis(&mut head).governing_types = Vec::new();
        head.tool.version = "9.0.0".to_owned();
        let found = differences(&report(), &head);
        assert_eq!(found.incomparable, None);
        let told: Vec<String> = found
            .told
            .iter()
            .map(|one| one.words(&("case", "cases").into()))
            .collect();
        assert_eq!(
            told[..4],
            [
                "the cases changed",
                "the pipeline changed",
                "the seed was 0 and is 7",
                "the governing types were `gate_rule` and are none"
            ]
        );
        assert_eq!(told.len(), 5);
        let version = env!("CARGO_PKG_VERSION");
        let measured =
            format!("the base was measured by kelvin {version}, the head by kelvin 9.0.0");
        assert_eq!(told[4], measured);
    }

    #[test]
    fn a_pipeline_without_a_digest_is_not_taken_as_unchanged() {
        let mut head = report();
        head.run.fingerprints.pipeline = None;
        let found = differences(&report(), &head);
        assert_eq!(found.told, [Difference::PipelineUnknown]);
    }

    #[test]
    fn another_scorer_or_decision_field_or_an_unfinished_run_cannot_be_compared() {
        let changes: [fn(&mut Report); 5] = [
            |report| fixture::basis(report).scorer = "set/1".to_owned(),
            |report| fixture::basis(report).decision_field = "/answer".to_owned(),
            |report| report.run.ending = Ending::Interrupted,
            |report| report.run.ending = Ending::DryRun,
            |report| report.run.ending = Ending::Failed,
        ];
        for change in changes {
            let mut head = report();
            change(&mut head);
            assert!(
                differences(&report(), &head).incomparable.is_some(),
                "{head:?}"
            );
        }
        let mut base = report();
        fixture::basis(&mut base).scorer = "set/1".to_owned();
        let why = differences(&base, &report()).incomparable.unwrap();
        assert_eq!(why.to_string(), "the scorer was `set/1` and is `exact/1`");
    }
}
