//! What is wrong with a judged check, told with its place and a cure.

use super::*;

#[test]
fn a_judged_check_that_cannot_be_meant_is_refused_at_its_place() {
    for (check, said) in [
        ("model: grader", "`criteria` is missing"),
        ("criteria: c", "names no judge"),
        ("model: graders, criteria: c", "graders"),
        ("model: grader, criteria: ' '", "criteria must not be blank"),
        (
            "model: grader, judge: {type: llm, model: grader}, criteria: c",
            "either a `model` or a `judge`",
        ),
        (
            "judge: {type: exact_match}, criteria: c",
            "compares with another answer",
        ),
        (
            "judge: {type: llm, model: grader, criteria: d}, criteria: c",
            "stand in the check",
        ),
        (
            "judge: {type: llm, model: grader}, temperature: 1, criteria: c",
            "`temperature` stands in `judge`",
        ),
        (
            "judge: {type: llm, model: grader, votes: 3, reducer: majority}, criteria: c",
            "a majority needs",
        ),
        (
            "model: grader, criteria: c, prompt_template: Give it 1.",
            "has no `{frames}`",
        ),
        (
            "model: grader, criteria: c, prompt_template: '{frames} {response}'",
            "a placeholder `{response}`",
        ),
        ("model: grader, criteria: c, temperature: 3", "from 0 to 2"),
        (
            "model: grader, criteria: c, pass_threshold: 1.5",
            "from 0 to 1",
        ),
        (
            "model: grader, criteria: c, input_from: ../x",
            "`workspace`, `SERVICE.FIELD`",
        ),
        (
            "model: grader, criteria: c, input_from: 'file:../x'",
            "leads out of the workspace",
        ),
        (
            "model: grader, criteria: c, input_from: smtp.last_request.body",
            "no service is called `smtp`",
        ),
        ("model: grader, criterion: c", "did you mean `criteria`?"),
    ] {
        let check = format!("check: {{type: llm_as_judge, {check}}}");
        let project = judged("GOOD", 1, &check);
        let refused = project.kelvin(&["check"]).expect(1).stderr;
        assert!(refused.contains(said), "{check}\n{refused}");
        // The line of the invariant, with its place.
        assert!(refused.contains("kelvin.yaml:11:"), "{check}\n{refused}");
    }
}

#[test]
fn a_template_takes_the_place_of_the_rules_and_the_frames_stay() {
    let template = "prompt_template: 'You are kind. {frames} Be brief.'";
    let check = format!("check: {{type: llm_as_judge, model: grader, criteria: c, {template}}}");
    let project = judged("GOOD", 1, &check);
    project.kelvin(&["check"]).expect(0);
    assert_eq!(tone(&project)["score"], json!(0.7));
    let question = super::hostile::question(&project);
    assert!(question.starts_with("You are kind.\n"), "{question}");
    assert!(
        !question.contains("strict and careful examiner"),
        "{question}"
    );
    for part in [
        "How to read this message:",
        "\nBEGIN RESPONSE ",
        "\nBe brief.\nThe frames end here.",
        "\"quality_score\"",
    ] {
        assert!(question.contains(part), "{part}\n{question}");
    }
}

#[test]
fn a_panel_of_judges_grades_with_what_each_of_them_says() {
    let check = "check: {type: llm_as_judge, criteria: c, judge: {type: panel, panel: [\
                 {type: llm, model: grader}, {type: llm, model: grader, temperature: 1, votes: 2}]}}";
    let project = judged("GOOD", 1, check);
    project.kelvin(&["check"]).expect(0);
    let tone = tone(&project);
    let score = tone["score"].as_f64().expect("a score");
    assert!((score - 0.7).abs() < 1e-12, "{tone}");
    let parts = tone["judged"]["grade"]["parts"].as_array().expect("a list");
    assert_eq!(parts.len(), 3, "{tone}");
}
