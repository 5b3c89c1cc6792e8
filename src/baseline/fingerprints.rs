//! What differs between two runs beside their figures: what is told, and what makes them
//! incomparable.

use crate::notice::Code;
use crate::probe::Ending;
use crate::report::{Report, Run};

/// What differs between two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    /// What was the same on neither side, for people; the figures can be compared all the same.
    pub(crate) told: Vec<String>,
    /// Why the figures cannot be compared, where they cannot.
    pub(crate) incomparable: Option<String>,
}

/// Tells what differs between two reports.
pub(crate) fn differences(base: &Report, head: &Report) -> Differences {
    let (before, after) = (&base.run, &head.run);
    let pipeline = |run: &Run| run.fingerprints.pipeline;
    let mut told = Vec::new();
    // A report of another tool has no fingerprints that could be the same.
    let known = base.tool.name == head.tool.name;
    for (what, differs) in [
        (
            "the cases",
            before.fingerprints.cases != after.fingerprints.cases,
        ),
        (
            "the configuration",
            before.fingerprints.config != after.fingerprints.config,
        ),
        (
            "the command",
            before.fingerprints.command != after.fingerprints.command,
        ),
    ] {
        if differs && known {
            told.push(format!("{what} changed"));
        }
    }
    match (pipeline(before), pipeline(after)) {
        (Some(old), Some(new)) if old == new => {}
        (Some(_), Some(_)) => told.push("the pipeline changed".to_owned()),
        _ => told.push("whether the pipeline changed is not known".to_owned()),
    }
    if before.seed != after.seed {
        told.push(format!(
            "the seed was {} and is {}",
            before.seed, after.seed
        ));
    }
    if before.governing_types != after.governing_types {
        told.push(format!(
            "the governing types were {} and are {}",
            list(&before.governing_types),
            list(&after.governing_types)
        ));
    }
    if base.tool.version != head.tool.version {
        let (old, new) = (&base.tool.version, &head.tool.version);
        told.push(format!(
            "the base was measured by {} {old}, the head by {} {new}",
            base.tool.name, head.tool.name
        ));
    }
    for (side, report) in [("base", base), ("head", head)] {
        let again = report.notices.iter();
        let again = again.filter(|notice| notice.code == Code::Recomputed);
        told.extend(again.map(|notice| format!("of the {side}: {}", notice.text)));
    }
    Differences {
        told,
        incomparable: incomparable(before, after),
    }
}

fn incomparable(before: &Run, after: &Run) -> Option<String> {
    for (side, run) in [("base", before), ("head", after)] {
        let why = match run.ending {
            Ending::Complete => continue,
            Ending::Interrupted => "was stopped before its end",
            Ending::DryRun => "was a dry run",
            Ending::Failed => "has no baseline invocation that succeeded",
            Ending::Changed => {
                "counts for nothing, since the code of the pipeline changed during it"
            }
        };
        return Some(format!("the run of the {side} {why}"));
    }
    let pairs = [
        ("scorer", &before.scorer, &after.scorer),
        (
            "decision field",
            &before.decision_field,
            &after.decision_field,
        ),
    ];
    pairs
        .iter()
        // A side that did not run the evidence probe has neither.
        .find(|(_, old, new)| old != new && !old.is_empty() && !new.is_empty())
        .map(|(what, old, new)| format!("the {what} was `{old}` and is `{new}`"))
}

fn list(types: &[String]) -> String {
    if types.is_empty() {
        return "none".to_owned();
    }
    let types: Vec<String> = types.iter().map(|text| format!("`{text}`")).collect();
    types.join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::digest::Digest;
    use crate::notice::Notice;
    use crate::probe::evidence::Basis;
    use crate::report::{Fingerprints, Session};
    use crate::run::Cost;

    fn report() -> Report {
        let digest = Digest::of(b"same");
        let run = Run {
            ending: Ending::Complete,
            seed: 0,
            only: Vec::new(),
            shard: None,
            decision_field: "decision".to_owned(),
            governing_types: vec!["gate_rule".to_owned()],
            scorer: "exact/1".to_owned(),
            repeats: 1,
            basis: Basis::default(),
            fingerprints: Fingerprints {
                cases: digest,
                config: digest,
                pipeline: Some(digest),
                command: digest,
            },
            session: Session {
                started_at: "2026-01-01T00:00:00Z".to_owned(),
                seconds: 1.0,
                commit: None,
                dirty: false,
                cost: Cost {
                    invocations: 0,
                    cache_hits: 0,
                    resumed: 0,
                    retries: 0,
                    pipeline_seconds: 0.0,
                },
            },
        };
        Report::new(run, BTreeMap::new(), BTreeMap::new(), Vec::new())
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
        head.run.fingerprints.cases = Digest::of(b"other");
        head.run.seed = 7;
        head.run.governing_types = Vec::new();
        head.tool.version = "9.0.0".to_owned();
        let found = differences(&report(), &head);
        assert_eq!(found.incomparable, None);
        assert_eq!(
            found.told[..4],
            [
                "the cases changed",
                "the pipeline changed",
                "the seed was 0 and is 7",
                "the governing types were `gate_rule` and are none"
            ]
        );
        assert_eq!(found.told.len(), 5);
    }

    #[test]
    fn a_report_whose_figures_were_computed_again_says_so() {
        let mut base = report();
        base.notices
            .push(Notice::new(Code::Recomputed, "without hedges"));
        let found = differences(&base, &report());
        assert_eq!(found.told, ["of the base: without hedges"]);
    }

    #[test]
    fn a_pipeline_without_a_digest_is_not_taken_as_unchanged() {
        let mut head = report();
        head.run.fingerprints.pipeline = None;
        let found = differences(&report(), &head);
        assert_eq!(found.told, ["whether the pipeline changed is not known"]);
    }

    #[test]
    fn another_scorer_or_decision_field_or_an_unfinished_run_cannot_be_compared() {
        let changes: [fn(&mut Report); 5] = [
            |report| report.run.scorer = "set/1".to_owned(),
            |report| report.run.decision_field = "/answer".to_owned(),
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
        base.run.scorer = "set/1".to_owned();
        let why = differences(&base, &report()).incomparable.unwrap();
        assert_eq!(why, "the scorer was `set/1` and is `exact/1`");
    }
}
