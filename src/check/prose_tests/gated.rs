//! The gate knows the judge behind such a scorer.

use super::*;
use crate::check::{GateRequest, gate};
use crate::registry::Registry;
use kelvin_gate::policy::Effect;
use kelvin_gate::verdict::{ReasonCode, Verdict};

#[test]
fn a_gate_on_such_a_judge_warns_until_the_judge_was_on_trial() {
    let project = Project::new(PARAPHRASES, JUDGE);
    project.check("{llm: {model: judge}}", "").expect("it runs");
    let root = project.root();
    fs::rename(root.join("kelvin/report.json"), root.join("base.json")).expect("moved");
    let judged = |more: &str| {
        let file = project
            .configured(
                "{llm: {model: judge}}",
                &format!("baseline: {{file: base.json}}\n{more}"),
            )
            .expect("written");
        let request = GateRequest::new(CheckRequest {
            overrides: Overrides {
                file: Some(file),
                ..Overrides::default()
            },
            ..CheckRequest::new(Registry::shipped())
        });
        gate(&request, &Silent)
            .expect("it is judged")
            .judgement
            .verdict
    };
    let about_the_judge = |verdict: &Verdict| {
        let mut reasons = verdict.reasons.iter();
        let reason = reasons.find(|reason| reason.code == ReasonCode::UncalibratedJudge);
        reason.map(|reason| (reason.text.clone(), reason.effect))
    };
    let (text, effect) = about_the_judge(&judged("")).expect("it is told");
    assert!(text.contains("`scorer.llm`"), "{text}");
    assert_eq!(effect, Some(Effect::Warn));
    let strict = judged("gate: {require_calibration: true}\n");
    assert!(!strict.passed);
    assert_eq!(
        about_the_judge(&strict).map(|(_, effect)| effect),
        Some(Some(Effect::Fail))
    );
}
