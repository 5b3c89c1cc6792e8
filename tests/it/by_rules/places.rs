//! What tells an input apart beside its text.

use super::*;

#[test]
fn a_pipeline_that_answers_by_the_place_of_its_input_is_red() {
    let right = rule("and", 2);
    let suite = Suite::of(20, 2).with_luck().known();
    suite.base(&right, 1);
    suite.gate(&right, &[]).passes("unchanged");
    // It would follow every swap if anything but the text told which inputs are swaps.
    let gated = suite.gate("rule place\n", &[]);
    gated.red("by place");
    let values = suite.project.json("kelvin/report.json");
    let sensitivity = &values["metrics"]["evidence.sensitivity"]["value"];
    assert_eq!(sensitivity, &json!(0.0), "a swap was told from the others");
}
