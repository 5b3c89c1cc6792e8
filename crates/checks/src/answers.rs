//! What the scenarios left, as the gate compares both sides: which checks hold, and not the words of an agent. Those
//! differ between two runs of the same model, and no scenario asks for them.

use std::borrow::Cow;

use super::record::{ChecksSection, Outcome, ScenarioRecord, ScenarioRun};
use kelvin_base::digest::Fields;
use kelvin_record::{Answer, Answered, AnsweredItem, KeptText};

/// The answers of a section.
pub(super) fn of(section: &ChecksSection) -> Answered<'_> {
    let items = section.items.iter();
    Answered {
        types: Vec::new(),
        items: items.map(|(id, one)| (id.as_str(), item(one))).collect(),
    }
}

fn item(scenario: &ScenarioRecord) -> AnsweredItem<'_> {
    let prompt = scenario.prompt.as_str();
    AnsweredItem {
        asked: (!prompt.is_empty()).then_some(Cow::Borrowed(prompt)),
        expected: scenario.expected.as_deref().map(Cow::Borrowed),
        itself: scenario.runs.iter().map(answer).collect(),
        ..AnsweredItem::default()
    }
}

/// What a run left; none where the pipeline came to no end. Two answers are the same where the same checks do not
/// pass, for the same cause. Checks that pass are not named in the key: an invariant that is new and holds makes no
/// scenario another one.
fn answer(run: &ScenarioRun) -> Option<Answer> {
    if run.failure.is_some() {
        return None;
    }
    let of = |wanted: Outcome| -> Vec<&str> {
        let checks = run.checks.iter();
        let these = checks.filter(|(_, check)| check.outcome == wanted);
        these.map(|(name, _)| name.as_str()).collect()
    };
    let not_passed = [
        ("failed", of(Outcome::Failed)),
        ("not known", of(Outcome::Error)),
        ("does not apply", of(Outcome::Skipped)),
    ];
    let is_forbidden = !run.forbidden.is_empty();
    let mut key = Fields::of("kelvin/checks/left/v1").field("forbidden", [u8::from(is_forbidden)]);
    let mut text = Vec::new();
    for (word, names) in not_passed.iter().filter(|(_, names)| !names.is_empty()) {
        key = names.iter().fold(key, |key, name| key.field(word, name));
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        text.push(format!("{word}: {}", names.join(", ")));
    }
    if is_forbidden {
        text.push("did what is forbidden".to_owned());
    }
    let passed = of(Outcome::Passed).len();
    let all = passed == run.checks.len();
    match (passed, all) {
        (0, false) => {}
        (1, true) => text.push("passed the one check".to_owned()),
        (passed, true) => text.push(format!("passed all {passed} checks")),
        (1, false) => text.push("passed 1 check".to_owned()),
        (passed, false) => text.push(format!("passed {passed} checks")),
    }
    Some(Answer::Kept(KeptText {
        text: text.join("; "),
        digest: key.digest(),
        characters: None,
    }))
}
