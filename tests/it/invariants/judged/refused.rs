//! What is wrong with a judged check, told with its place and a cure.

use super::*;

#[test]
fn a_judged_check_that_cannot_be_meant_is_refused_at_its_place() {
    let mut told = Vec::new();
    for check in [
        "model: grader",
        "criteria: c",
        "model: graders, criteria: c",
        "model: grader, criteria: ' '",
        "model: grader, judge: {type: llm, model: grader}, criteria: c",
        "judge: {type: exact_match}, criteria: c",
        "judge: {type: llm, model: grader, criteria: d}, criteria: c",
        "judge: {type: llm, model: grader}, temperature: 1, criteria: c",
        "judge: {type: llm, model: grader, votes: 3, reducer: majority}, criteria: c",
        "model: grader, criteria: c, prompt_template: Give it 1.",
        "model: grader, criteria: c, prompt_template: '{frames} {response}'",
        "model: grader, criteria: c, temperature: 3",
        "model: grader, criteria: c, pass_threshold: 1.5",
        "model: grader, criteria: c, input_from: ../x",
        "model: grader, criteria: c, input_from: 'file:../x'",
        "model: grader, criteria: c, input_from: smtp.last_request.body",
        "model: grader, criterion: c",
    ] {
        let check = format!("check: {{type: llm_as_judge, {check}}}");
        let project = judged("GOOD", 1, &check);
        let refused = project.kelvin(&["check"]).expect(1).stderr;
        told.push(refused.to_string());
        // The line of the invariant, with its place.
        assert!(refused.contains("kelvin.yaml:11:"), "{check}\n{refused}");
    }
    insta::assert_snapshot!(told.join("\n"), @"
    error: the key `criteria` is missing in `invariants.tone.check`
      --> kelvin.yaml:11:55
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader}}
       |                                                       ^

    error: the check names no judge: add `model: NAME`, one of `models`
      --> kelvin.yaml:11:55
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, criteria: c}}
       |                                                       ^

    error: `invariants.tone.check.model` names the model `graders`, which is not declared
      --> kelvin.yaml:11:83
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: graders, criteria: c}}
       |                                                                                   ^^^^^^^
       |
       = help: did you mean `grader`?

    error: `invariants.tone.check.criteria` must not be empty
      --> kelvin.yaml:11:101
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader, criteria: ' '}}
       |                                                                                                     ^^^

    error: the criteria must not be blank
      --> kelvin.yaml:11:101
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader, criteria: ' '}}
       |                                                                                                     ^^^

    error: a check has either a `model` or a `judge`
      --> kelvin.yaml:11:98
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader, judge: {type: llm, model: grader}, criteri...
       |                                                                                                  ^

    error: the judge compares with another answer, and a check has none: take `type: llm` in the mode `criteria`, or a panel of such judges
      --> kelvin.yaml:11:83
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, judge: {type: exact_match}, criteria: c}}
       |                                                                                   ^

    error: the criteria stand in the check, not in its judge
      --> kelvin.yaml:11:83
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, judge: {type: llm, model: grader, criteria: d}, criteria:...
       |                                                                                   ^

    error: `temperature` stands in `judge`, where there is one
      --> kelvin.yaml:11:124
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, judge: {type: llm, model: grader}, temperature: 1, criter...
       |                                                                                                                            ^

    error: a majority needs scores that can agree, and numbers from 0 to 1 rarely do (write `median`, or use judges with `choices`, `mode: pairwise` or `exact_match`)
      --> kelvin.yaml:11:83
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, judge: {type: llm, model: grader, votes: 3, reducer: majo...
       |                                                                                   ^

    error: the template has no `{frames}`, so that the judge would see no response (write `{frames}` once, where the criteria, the prompt and the response are to stand, each in a frame)
      --> kelvin.yaml:11:121
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader, criteria: c, prompt_template: Give it 1.}}
       |                                                                                                                         ^^^^^^^^^^

    error: the template has a placeholder `{response}`, which nothing fills (write `{frames}` once, where the criteria, the prompt and the response are to stand, each in a frame)
      --> kelvin.yaml:11:121
       |
    11 | ...s_judge, model: grader, criteria: c, prompt_template: '{frames} {response}'}}
       |                                                          ^^^^^^^^^^^^^^^^^^^^^

    error: `invariants.tone.check.temperature` must be a number from 0 to 2, found `3`
      --> kelvin.yaml:11:117
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader, criteria: c, temperature: 3}}
       |                                                                                                                     ^

    error: `invariants.tone.check.pass_threshold` must be a number from 0 to 1, found `1.5`
      --> kelvin.yaml:11:120
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader, criteria: c, pass_threshold: 1.5}}
       |                                                                                                                        ^^^

    error: `../x` names nothing to look at: write `agent_output`, `stdout`, `workspace`, `SERVICE.FIELD` or `file:PATH`
      --> kelvin.yaml:11:116
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader, criteria: c, input_from: ../x}}
       |                                                                                                                    ^^^^

    error: `../x` leads out of the workspace: a path is relative to it, without `..`
      --> kelvin.yaml:11:116
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader, criteria: c, input_from: 'file:../x'}}
       |                                                                                                                    ^^^^^^^^^^^

    error: no service is called `smtp`: declare it, e.g. `services: {smtp: {type: http_mock, …}}`
      --> kelvin.yaml:11:116
       |
    11 | ...lm_as_judge, model: grader, criteria: c, input_from: smtp.last_request.body}}
       |                                                         ^^^^^^^^^^^^^^^^^^^^^^

    error: the key `criteria` is missing in `invariants.tone.check`
      --> kelvin.yaml:11:55
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader, criterion: c}}
       |                                                       ^

    error: unknown key `criterion` in `invariants.tone.check`
      --> kelvin.yaml:11:91
       |
    11 |   tone: {description: it is good, weight: 0.2, check: {type: llm_as_judge, model: grader, criterion: c}}
       |                                                                                           ^^^^^^^^^
       |
       = help: did you mean `criteria`?
    ");
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
