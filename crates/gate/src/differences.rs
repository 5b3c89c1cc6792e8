//! The differences between two runs besides their figures. They are found as values in the fingerprints and settings,
//! and only this file expresses them in words.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::Report;
use kelvin_base::digest::Digest;
use kelvin_page::{and_more, counted};
use kelvin_record::{
    AnySection, ComparedSide, Ending, Nouns, SectionFingerprint, SectionKind, SettingDiffers,
};

/// A difference between two runs, or another fact that a reader of their comparison must know. None of these prevents
/// the comparison of the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Difference {
    /// The cases have other names or texts.
    Cases,
    /// A setting of the configuration that determines what is measured has changed.
    Configuration,
    /// The command or its declared environment changed.
    Command,
    /// The code of the pipeline changed.
    Pipeline {
        /// If no file in the folder of the configuration changed: the first of the files of the repository that did,
        /// relative to its top.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outside: Vec<String>,
        /// How many such files there are besides.
        #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
        more: usize,
    },
    /// Whether the code of the pipeline changed is not known.
    PipelineUnknown,
    /// The perturbations were chosen by another seed.
    Seed {
        /// The seed of the base.
        base: u64,
        /// The seed of the head.
        head: u64,
    },
    /// A probe measured with another setting.
    Setting {
        /// The name of the setting, in words that fit after "the".
        name: String,
        /// Its values on the base.
        base: Vec<String>,
        /// Its values on the head.
        head: Vec<String>,
    },
    /// The calls of the head take much longer than those of the base.
    Slower {
        /// How many milliseconds a call took on average on the base.
        base_ms: u64,
        /// How many milliseconds a call takes on average on the head.
        head_ms: u64,
    },
    /// The runs were measured by other programs, or other versions of one.
    Version {
        /// Name and version of the program that measured the base.
        base: String,
        /// Name and version of the program that measured the head.
        head: String,
    },
    /// The head was finished before the gate saw it, so that no case could be run again.
    FinishedBefore,
    /// The head was measured with another configuration than the one whose rules judge it.
    MeasuredOtherwise {
        /// The file of that configuration.
        file: String,
    },
    /// The base should have been run again beside the head, and the budget did not allow it.
    BaseNotRunAgain,
    /// The code of the base was run on the cases that the change edits, so that these are paired.
    BaseRanCasesOfTheHead {
        /// How many cases were run.
        cases: usize,
        /// The cases that are still compared as edited ones.
        left: Vec<String>,
    },
    /// The code of the base was to be run on the cases that the change edits, and was not.
    CasesOfTheHeadNotRun {
        /// Why.
        why: String,
    },
    /// The budget was too small to run anything again.
    BudgetTooSmall {
        /// The number of calls that the budget allows.
        calls: usize,
        /// The number of calls for one more run of each case in doubt.
        needed: usize,
    },
    /// The base ran probes that this run was not asked to run, so they are not compared.
    LeftOut {
        /// Their names.
        probes: Vec<String>,
    },
    /// The repeats of some cases count as one run, because the pipeline keeps its answers.
    CountedOnce {
        /// The side.
        side: ComparedSide,
        /// How many cases.
        cases: usize,
    },
    /// The answers of other stored reports of the same code served as repeats of the base.
    StoredRepeats {
        /// How many reports, that of the base not counted in.
        reports: usize,
        /// Whether the reports differ by more than their own noise explains.
        apart: bool,
        /// Whether the base was run again in some cases, for which the stored reports no longer count.
        in_part: bool,
    },
    /// Stored reports did not serve as repeats of the base, because a cache of the pipeline gave their answers.
    StoredFromACache {
        /// How many reports.
        reports: usize,
    },
    /// A stored report that claims to be of the base's code, and is not.
    StoredNotBelieved {
        /// Its commit.
        commit: String,
        /// What is wrong with it, in words that fit after "the report".
        why: String,
    },
    /// It is not known whether other stored reports could serve as repeats of the base.
    StoredNotRead {
        /// Why.
        why: String,
    },
    /// A difference that only a later version knows; `gate.json` describes it in words.
    #[serde(other)]
    Unknown,
}

impl Difference {
    /// The code of the pipeline changed, wherever that is.
    pub const PIPELINE: Self = Self::Pipeline {
        outside: Vec::new(),
        more: 0,
    };

    /// Whether the difference is in the code of the pipeline, which a comparison is supposed to judge.
    pub const fn is_of_the_pipeline(&self) -> bool {
        matches!(self, Self::Pipeline { .. } | Self::PipelineUnknown)
    }

    /// Whether the calls of the head take much longer.
    pub const fn is_slower(&self) -> bool {
        matches!(self, Self::Slower { .. })
    }
}

impl Difference {
    /// The difference in words, with the nouns for the items of the run.
    pub fn words(&self, nouns: &Nouns) -> String {
        let Nouns { item, items } = nouns;
        match self {
            Self::Cases => format!("the {items} changed"),
            Self::Configuration => "the configuration changed".to_owned(),
            Self::Command => "the command changed".to_owned(),
            Self::Pipeline { outside, .. } if outside.is_empty() => {
                "the pipeline changed".to_owned()
            }
            Self::Pipeline { outside, more } => {
                let more = and_more(*more);
                format!(
                    "files of the repository changed outside the folder of the configuration: {}{more}; they count as \
                     the pipeline, since `fingerprint` names no files",
                    listed(outside)
                )
            }
            Self::PipelineUnknown => "whether the pipeline changed is not known".to_owned(),
            Self::Seed { base, head } => format!("the seed was {base} and is {head}"),
            Self::Setting { name, base, head } => format!("the {name} were {} and are {}",
                listed(base),
                listed(head)
            ),
            Self::Slower { base_ms, head_ms } => format!(
                "a call takes {} on average and took {} on the base",
                seconds(*head_ms),
                seconds(*base_ms)
            ),
            Self::Version { base, head } => {
                format!("the base was measured by {base}, the head by {head}")
            }
            Self::FinishedBefore => format!(
                "the report was finished before the gate saw it: no {item} was run again"
            ),
            Self::MeasuredOtherwise { file } => format!("the report was measured with another configuration than `{file}` has now"
            ),
            Self::BaseNotRunAgain => "the budget did not allow running the base again beside the head, so what the pipeline \
                 answers differently on another day counts as a change".to_owned(),
            Self::BaseRanCasesOfTheHead { cases, left } => {
                let left = match left.is_empty() {
                    true => String::new(),
                    false => format!(
                        "; in {} it failed there, or the edit leaves fewer inputs, so these {items} \
                         count as edited",
                        listed(left)
                    ),
                };
                let them = if *cases == 1 { "it" } else { "them" };
                format!(
                    "the base commit was also run on {} as the change has {them}, so that what it edits is \
                     paired like any other{left}",
                    nouns.counted(*cases)
                )
            }
            Self::CasesOfTheHeadNotRun { why } => format!("the base commit was not run on the {items} that the change edits: {why}"
            ),
            Self::BudgetTooSmall { calls, needed } => format!("the budget of {calls} calls is too small: one more run of the doubtful {items} takes \
                 {needed}"
            ),
            Self::StoredRepeats {
                reports,
                apart,
                in_part,
            } => {
                let reports = counted(*reports, "more stored report");
                let part = match in_part {
                    true => format!(" in the {items} whose base was not run again"),
                    false => String::new(),
                };
                let apart = match apart {
                    true => {
                        "; the reports are further apart than their own noise explains, as from one day to \
                         another, or where the pipeline keeps its answers, so that a drop has to be larger"
                    }
                    false => "",
                };
                format!("{reports} of the same code served as repeats of the base{part}{apart}")
            }
            Self::StoredFromACache { reports } => format!("{} of the same code did not serve as repeats of the base: this pipeline seems to answer from a cache \
                 of its own, since the calls of one report took less than a hundredth of the time of those of another",
                counted(*reports, "more stored report")
            ),
            Self::StoredNotBelieved { commit, why } => {
                format!("the stored report of {commit} {why}; it did not serve as a repeat of the base"
                )
            }
            Self::StoredNotRead { why } => format!("other stored reports could not be read, so that none served as a repeat of the base: {why}"
            ),
            Self::Unknown => "a later version of kelvin tells of one more difference".to_owned(),
            Self::LeftOut { probes } => format!("the base has also run {}, which was not asked for here and is not judged",
                listed(probes)
            ),
            Self::CountedOnce { side, cases } => format!("the repeats of {} of the {side} count as one run: not one varies, and \
                 they came back in under a tenth of the time of the first call, as from a pipeline \
                 that keeps its answers; put `KELVIN_SAMPLE` into the key of its cache, so that each \
                 repeat is a run of its own",
                nouns.counted(*cases)
            ),
        }
    }
}

/// Why the figures of two runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incomparable {
    /// The run of one side did not finish.
    Ending {
        /// The side.
        side: ComparedSide,
        /// How the run ended.
        ending: Ending,
    },
    /// A probe measured something different.
    Setting(SettingDiffers),
}

impl fmt::Display for Incomparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ending { side, ending } => {
                let why = match ending {
                    Ending::Complete => "came to its end",
                    Ending::Interrupted => "was stopped before its end",
                    Ending::DryRun => "was a dry run",
                    Ending::Failed => "has a probe that got no answer at all",
                    Ending::Changed => {
                        "counts for nothing, since the code of the pipeline changed during it"
                    }
                };
                write!(f, "the run of the {side} {why}")
            }
            Self::Setting(SettingDiffers { name, base, head }) => {
                write!(
                    f,
                    "the {name} was `{}` and is `{}`",
                    base.join(", "),
                    head.join(", ")
                )
            }
        }
    }
}

impl From<SettingDiffers> for Difference {
    fn from(differs: SettingDiffers) -> Self {
        let SettingDiffers { name, base, head } = differs;
        Self::Setting {
            name: name.to_owned(),
            base,
            head,
        }
    }
}

fn listed(values: &[String]) -> String {
    if values.is_empty() {
        return "none".to_owned();
    }
    let values: Vec<String> = values.iter().map(|text| format!("`{text}`")).collect();
    values.join(", ")
}

/// The differences between two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// The differences that still allow a comparison of the figures.
    pub told: Vec<Difference>,
    /// Why the figures cannot be compared; none if they can.
    pub incomparable: Option<Incomparable>,
}

/// Finds the differences between two reports.
pub fn differences(base: &Report, head: &Report) -> Differences {
    let (before, after) = (&base.run, &head.run);
    let (old, new) = (&before.fingerprints, &after.fingerprints);
    let mut told = Vec::new();
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
    match (old.pipeline, new.pipeline) {
        (Some(old), Some(new)) if old == new => {}
        (Some(_), Some(_)) => told.push(Difference::PIPELINE),
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
    told.extend(slower(base, head));
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

/// Whether the calls of the head take so much longer that neither a busy machine nor another day of a server explains it.
/// The calls of other probes may take another time.
fn slower(base: &Report, head: &Report) -> Option<Difference> {
    /// Another machine is seldom as many times slower.
    const TIMES: f64 = 3.0;
    /// Fewer seconds more are the noise of a machine that starts a program.
    const SECONDS: f64 = 0.5;
    let probes = |report: &Report| -> Vec<&str> {
        let known = report.probes.known().into_iter();
        known.map(|(kind, _)| kind.name()).collect()
    };
    let mean = |report: &Report| {
        let cost = &report.run.session.cost;
        (cost.invocations > 0).then(|| cost.pipeline_seconds / cost.invocations as f64)
    };
    let (was, is) = mean(base).zip(mean(head))?;
    let is_slower = is >= TIMES * was && is - was >= SECONDS && probes(base) == probes(head);
    let millis = |seconds: f64| (1000.0 * seconds).ceil() as u64;
    is_slower.then(|| Difference::Slower {
        base_ms: millis(was),
        head_ms: millis(is),
    })
}

/// A time in seconds, with two decimals.
fn seconds(millis: u64) -> String {
    format!("{:.2} s", millis as f64 / 1000.0)
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
    use super::*;
    use crate::fixtures::report as fixture;
    use crate::report::{Fingerprints, Run, Session};
    use kelvin_base::cost::Cost;
    use kelvin_evidence::{Basis, EvidenceSection};
    use std::collections::BTreeMap;

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
        insta::assert_snapshot!(told[..4].join("\n"), @"
        the cases changed
        the pipeline changed
        the seed was 0 and is 7
        the governing types were `gate_rule` and are none
        ");
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
        insta::assert_snapshot!(why.to_string(), @"the scorer was `set/1` and is `exact/1`");
    }
}
