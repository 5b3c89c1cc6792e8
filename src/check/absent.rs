//! The verdict of the gate if there is no report to compare with.

use crate::baseline::Baseline;
use kelvin_gate::Judgement;
use kelvin_gate::policy::Effect;
use kelvin_gate::provenance::{Source, Tried};
use kelvin_gate::verdict::{Verdict, Word};
use kelvin_record::Ending;
use kelvin_record::settings::{BaselineSettings, FailOrWarn};
use kelvin_system::git::Closed;

/// The judgement of a change without a baseline: there is none, it could not be asked for, or it is turned off.
/// `ending`: how the run of the change ended; a run that measured nothing never passes, whether there is a baseline or
/// not. `has_remote`: whether the repository has a remote, to which a baseline can be pushed.
pub(super) fn judged(
    settings: &BaselineSettings,
    found: &Baseline,
    (ending, has_remote): (Ending, bool),
) -> Judgement {
    if ending == Ending::Failed {
        let (tried, base) = match found {
            Baseline::Unreachable(tried) => (
                tried.clone(),
                "; and whether there is a baseline is not known",
            ),
            Baseline::None(tried) => (tried.clone(), "; and there is no baseline to compare with"),
            Baseline::Off | Baseline::Found(..) => (Vec::new(), ""),
        };
        let text = format!("a probe measured nothing, since every first call of it failed{base}");
        return Judgement::without_base(Verdict::unmeasured(text), tried);
    }
    let required = |otherwise| match settings.require {
        true => Effect::Fail,
        false => otherwise,
    };
    match found {
        Baseline::Unreachable(tried) => {
            let effect = required(match settings.unreachable {
                FailOrWarn::Fail => Effect::Fail,
                FailOrWarn::Warn => Effect::Warn,
            });
            let text = format!(
                "whether there is a baseline is not known, so nothing was compared: {}",
                causes(tried)
            );
            let verdict = Verdict::without_base(Word::BaselineUnreachable, effect, text);
            Judgement::without_base(verdict, tried.clone())
        }
        Baseline::None(tried) => {
            let is_outside = tried
                .iter()
                .any(|tried| tried.why == Closed::Absent.to_string());
            let makes_one = match is_outside {
                true => "`--baseline` names the report of another version",
                false if !has_remote => {
                    "`kelvin baseline save --local` on the base branch makes one"
                }
                false => "`kelvin baseline save` on the base branch makes one",
            };
            let mut text = format!("there is no baseline to compare with; {makes_one}");
            // Whoever allows that the base is measured relies on it.
            let measured = tried.iter().find(|one| one.source == Source::Compute);
            if let Some(Tried { why, .. }) = measured.filter(|_| settings.compute) {
                text = format!("{text}; `baseline.compute` made none either: {why}");
            }
            let verdict = Verdict::without_base(Word::NoBaseline, required(Effect::Warn), text);
            Judgement::without_base(verdict, tried.clone())
        }
        Baseline::Off | Baseline::Found(..) => {
            let text = "the baseline is turned off (`baseline.from`), so nothing was compared";
            let verdict = Verdict::without_base(Word::NoBaseline, Effect::Warn, text);
            Judgement::without_base(verdict, Vec::new())
        }
    }
}

/// Why the sources could not be asked, each cause once.
fn causes(tried: &[Tried]) -> String {
    let mut causes: Vec<(String, &str)> = Vec::new();
    for tried in tried {
        let Some(cause) = tried.unknown.as_deref() else {
            continue;
        };
        match causes.iter_mut().find(|(_, known)| *known == cause) {
            Some((sources, _)) => *sources = format!("{sources} and {}", tried.source),
            None => causes.push((tried.source.to_string(), cause)),
        }
    }
    let causes: Vec<String> = causes
        .iter()
        .map(|(sources, cause)| format!("{sources}: {cause}"))
        .collect();
    causes.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(source: Source, unknown: Option<&str>) -> Tried {
        Tried {
            source,
            why: "`git fetch` failed".to_owned(),
            unknown: unknown.map(str::to_owned),
        }
    }

    #[test]
    fn a_baseline_that_could_not_be_asked_for_fails_unless_it_may_and_one_that_is_required_always()
    {
        for (unreachable, require, passed) in [
            (FailOrWarn::Fail, false, false),
            (FailOrWarn::Warn, false, true),
            (FailOrWarn::Warn, true, false),
        ] {
            let settings = BaselineSettings {
                unreachable,
                require,
                ..BaselineSettings::default()
            };
            let found = vec![tried(Source::Branch, Some("timed out"))];
            let verdict = judged(
                &settings,
                &Baseline::Unreachable(found),
                (Ending::Complete, true),
            )
            .verdict;
            assert_eq!(
                (verdict.verdict, verdict.passed),
                (Word::BaselineUnreachable, passed)
            );
            assert!(verdict.reasons[0].text.contains("timed out"));
        }
    }

    #[test]
    fn a_repository_without_a_remote_is_told_to_save_its_baseline_locally() {
        let told = |has_remote| {
            let found = Baseline::None(vec![tried(Source::Branch, None)]);
            let judged = judged(
                &BaselineSettings::default(),
                &found,
                (Ending::Complete, has_remote),
            );
            judged.verdict.reasons[0].text.clone()
        };
        insta::assert_snapshot!(told(false), @"there is no baseline to compare with; `kelvin baseline save --local` on the base branch makes one");
        insta::assert_snapshot!(told(true), @"there is no baseline to compare with; `kelvin baseline save` on the base branch makes one");
    }

    #[test]
    fn whoever_allows_that_the_base_is_measured_is_told_first_why_it_was_not() {
        let settings = BaselineSettings {
            compute: true,
            ..BaselineSettings::default()
        };
        let found = [Source::Branch, Source::Compute].map(|source| tried(source, None));
        let found = Baseline::None(found.to_vec());
        let judged = judged(&settings, &found, (Ending::Complete, true));
        insta::assert_snapshot!(judged.verdict.reasons[0].text, @"there is no baseline to compare with; `kelvin baseline save` on the base branch makes one; `baseline.compute` made none either: `git fetch` failed");
    }

    #[test]
    fn a_run_that_measured_nothing_passes_without_a_baseline_no_more_than_with_one() {
        let settings = BaselineSettings {
            unreachable: FailOrWarn::Warn,
            ..BaselineSettings::default()
        };
        let tried = || vec![tried(Source::Branch, Some("timed out"))];
        for found in [
            Baseline::Off,
            Baseline::None(tried()),
            Baseline::Unreachable(tried()),
        ] {
            let verdict = judged(&settings, &found, (Ending::Failed, true)).verdict;
            assert_eq!((verdict.verdict, verdict.passed), (Word::Unmeasured, false));
            let verdict = judged(&settings, &found, (Ending::Complete, true)).verdict;
            assert!(verdict.passed, "{found:?}");
        }
    }

    #[test]
    fn sources_with_the_same_cause_are_told_together() {
        let all = [
            tried(Source::Tree, Some("no route")),
            tried(Source::Compute, None),
            tried(Source::Branch, Some("no route")),
            tried(Source::Artifact, Some("403")),
        ];
        insta::assert_snapshot!(causes(&all), @"tree and branch: no route; artifact: 403");
    }
}
