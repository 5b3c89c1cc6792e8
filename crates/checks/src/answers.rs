//! Defines what the gate compares between both sides: which checks hold. The words of an agent are no part of that,
//! because they differ between two runs of the same model, and no scenario requires specific words. They stand beside it,
//! as do the calls to services, so that the gate can tell where what never differed is another one now.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::record::{ChecksSection, Outcome, ScenarioRecord, ScenarioRun};
use kelvin_base::digest::Fields;
use kelvin_record::{Answer, AnsweredItem, Conduct, KeptText, SectionAnswers};

/// The answers of a section.
pub(super) fn section_answers(section: &ChecksSection) -> SectionAnswers<'_> {
    let items = section.items.iter();
    let mut runs = section.items.values().flat_map(|one| &one.runs);
    let has_events = runs.any(|run| run.events.is_some());
    SectionAnswers {
        are_endings: true,
        are_scored_outside: false,
        types: Vec::new(),
        items: items
            .map(|(id, one)| (id.as_str(), item(one, has_events)))
            .collect(),
    }
}

/// What the agent is asked: its task, and the parameters that it gets beside it.
fn asked(scenario: &ScenarioRecord) -> Option<Cow<'_, str>> {
    let prompt = scenario.prompt.as_str();
    let params = serde_json::to_string(&scenario.params).unwrap_or_default();
    match (prompt.is_empty(), scenario.params.is_empty()) {
        (true, true) => None,
        (false, true) => Some(Cow::Borrowed(prompt)),
        (true, false) => Some(Cow::Owned(params)),
        (false, false) => Some(Cow::Owned(format!("{prompt} {params}"))),
    }
}

/// `has_events`: whether the agent has logged events in any scenario, so that none in this one is known as well.
fn item(scenario: &ScenarioRecord, has_events: bool) -> AnsweredItem<'_> {
    let of_runs = |text: &dyn Fn(&ScenarioRun) -> Option<KeptText>| {
        let runs = scenario.runs.iter();
        let texts = runs.map(|run| text(run).filter(|_| run.failure.is_none()));
        texts.map(|text| text.map(Answer::Kept)).collect()
    };
    let mut conduct: BTreeMap<Conduct, Vec<Option<Answer>>> = BTreeMap::from([
        (Conduct::Calls, of_runs(&|run| run.calls.clone())),
        (Conduct::Words, of_runs(&|run| run.output.clone())),
    ]);
    if has_events {
        let nothing = KeptText::of(Conduct::NOTHING);
        let events = of_runs(&|run| Some(run.events.clone().unwrap_or_else(|| nothing.clone())));
        conduct.insert(Conduct::Events, events);
    }
    AnsweredItem {
        asked: asked(scenario),
        expected: scenario.expected.as_deref().map(Cow::Borrowed),
        itself: scenario.runs.iter().map(answer).collect(),
        conduct,
        ..AnsweredItem::default()
    }
}

/// The answer of one run; none if the pipeline did not finish. Two answers are equal if the same checks fail for the
/// same reason. The key does not name checks that pass, so a new invariant that holds does not change the answer of a
/// scenario.
fn answer(run: &ScenarioRun) -> Option<Answer> {
    if run.failure.is_some() {
        return None;
    }
    let of = |wanted: Outcome| -> Vec<&str> {
        let checks = run.checks.iter();
        let these = checks.filter(|(_, check)| check.outcome == wanted);
        these.map(|(name, _)| name.as_str()).collect()
    };
    // The first word is a part of the key, which stays as it is when the words for people change.
    let not_passed = [
        (
            "failed",
            ["fails the check", "fails the checks"],
            of(Outcome::Failed),
        ),
        (
            "not known",
            ["cannot be judged by", "cannot be judged by"],
            of(Outcome::Error),
        ),
        (
            "does not apply",
            ["is not asked by", "is not asked by"],
            of(Outcome::Skipped),
        ),
    ];
    let is_forbidden = !run.forbidden.is_empty();
    let mut key = Fields::of("kelvin/checks/left/v1").field("forbidden", [u8::from(is_forbidden)]);
    let mut text = Vec::new();
    for (word, [one, many], names) in not_passed.iter().filter(|(.., names)| !names.is_empty()) {
        key = names.iter().fold(key, |key, name| key.field(word, name));
        let verb = if names.len() == 1 { one } else { many };
        text.push(format!("{verb} {}", names.join(", ")));
    }
    if is_forbidden {
        text.push("does what is forbidden".to_owned());
    }
    // Checks that only forbid words all pass if there are no words.
    if run.output.as_ref().is_some_and(is_blank) {
        key = key.field("answer", "none");
        text.push("says nothing".to_owned());
    }
    let passed = of(Outcome::Passed).len();
    let all = passed == run.checks.len();
    match (passed, all) {
        (0, false) => {}
        (1, true) => text.push("passes its one check".to_owned()),
        (passed, true) => text.push(format!("passes all {passed} checks")),
        (1, false) => text.push("passes 1 check".to_owned()),
        (passed, false) => text.push(format!("passes {passed} checks")),
    }
    Some(Answer::Kept(KeptText {
        text: text.join("; ").into(),
        digest: key.digest(),
        characters: None,
    }))
}

/// Whether an answer has no words. Of a text that is not stored, only the digest tells whether it is empty.
fn is_blank(output: &KeptText) -> bool {
    output.text.trim().is_empty() && output.digest == KeptText::of(&output.text).digest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::CheckResult;
    use kelvin_base::failure::{Failure, FailureKind};

    fn run(checks: &[(&str, Outcome)]) -> ScenarioRun {
        let checks = checks.iter().map(|(name, outcome)| {
            let result = CheckResult {
                outcome: *outcome,
                score: None,
                reason: String::new(),
                details: None,
                judged: None,
            };
            ((*name).to_owned(), result)
        });
        ScenarioRun {
            outcome: Outcome::Error,
            composite: None,
            checks: checks.collect::<BTreeMap<_, _>>(),
            output: None,
            calls: None,
            events: None,
            forbidden: Vec::new(),
            failure: None,
        }
    }

    #[test]
    fn two_runs_are_answered_alike_where_the_same_checks_do_not_pass() {
        use Outcome::{Error, Failed, Passed, Skipped};
        let left = |checks: &[(&str, Outcome)]| answer(&run(checks)).expect("it came to its end");
        let fine = left(&[("a", Passed), ("b", Passed)]);
        assert_eq!(fine.to_string(), "passes all 2 checks");
        // Another invariant that holds makes no scenario another one.
        assert_eq!(fine, left(&[("a", Passed), ("b", Passed), ("c", Passed)]));
        let failed = left(&[("a", Failed), ("b", Passed), ("c", Error), ("d", Skipped)]);
        insta::assert_snapshot!(failed.to_string(), @"fails the check a; cannot be judged by c; is not asked by d; passes 1 check");
        for other in [
            left(&[("a", Passed), ("b", Failed)]),
            left(&[("a", Error), ("b", Passed)]),
            left(&[("a", Skipped), ("b", Passed)]),
            left(&[("a", Failed), ("b", Failed)]),
            failed,
        ] {
            assert_ne!(left(&[("a", Failed), ("b", Passed)]), other);
        }
        // The words of an agent are no part of it.
        let mut other_words = run(&[("a", Passed), ("b", Passed)]);
        other_words.output = Some(KeptText::of("other words"));
        assert_eq!(answer(&other_words), Some(fine.clone()));
        // No words at all are told: a check that forbids words would find none.
        let mut silent = run(&[("a", Passed), ("b", Passed)]);
        silent.output = Some(KeptText::of("\n"));
        let silent = answer(&silent).expect("it came to its end");
        assert_ne!(silent, fine);
        assert_eq!(silent.to_string(), "says nothing; passes all 2 checks");
        let mut forbidden = run(&[("a", Passed)]);
        forbidden.forbidden.push("it wrote `x`".to_owned());
        let said = answer(&forbidden).expect("it came to its end");
        insta::assert_snapshot!(said.to_string(), @"does what is forbidden; passes its one check");
        assert_ne!(said, left(&[("a", Passed)]));
        let mut broken = run(&[]);
        broken.failure = Some(Box::new(Failure::new(FailureKind::Exit(1), "it ended")));
        assert_eq!(answer(&broken), None);
    }
}
