//! Rules that forget one of their conditions, wholly or in some cases, and rules that get it back.

use super::*;

/// How many swaps have to tell before a loss must be red.
const ENOUGH: usize = 10;

/// The shares of a hundred in which a condition holds.
const SHARES: [usize; 5] = [30, 40, 50, 60, 70];

/// What is wrong with a loss of the last type in suites of an AND, one text for each suite.
fn losses(types: usize) -> Vec<String> {
    let (right, unit) = (rule("and", types), TYPES[types - 1]);
    let judged = |held: usize| {
        let suite = Suite::of(20, types).held(held).known();
        let gated = suite.base(&right, 1).gate(&without(&right, unit, 1), &[]);
        let telling = suite.telling(unit).len();
        let is_red = gated.is("regression") && gated.following(unit) == &json!("regression");
        let is_right = match telling >= ENOUGH {
            true => is_red,
            false => !gated.is_plain_pass(unit),
        };
        let what = format!("share {held}, {telling} telling: {}\n", gated.shown());
        (!is_right).then_some(what)
    };
    SHARES.into_iter().filter_map(judged).collect()
}

/// What is wrong where the last type comes back.
fn restorations(types: usize) -> Vec<String> {
    let (right, unit) = (rule("and", types), TYPES[types - 1]);
    let judged = |held: usize| {
        let suite = Suite::of(20, types).held(held).known();
        let gated = suite.base(&without(&right, unit, 1), 1).gate(&right, &[]);
        let is_named = gated.first_lines().contains(unit);
        let is_right =
            gated.judgement["passed"] == json!(true) && !gated.is("regression") && is_named;
        let what = format!("share {held}: {}\n", gated.shown());
        (!is_right).then_some(what)
    };
    SHARES.into_iter().filter_map(judged).collect()
}

#[track_caller]
fn none(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        SHARES.len(),
        wrong.join("\n")
    );
}

#[test]
fn one_of_two_conditions_that_is_forgotten_is_red_where_ten_swaps_tell_and_else_no_plain_pass() {
    none(&losses(2));
}

#[test]
fn one_of_three_conditions_that_is_forgotten_is_red_where_ten_swaps_tell_and_else_no_plain_pass() {
    none(&losses(3));
}

#[test]
fn one_of_two_conditions_that_comes_back_is_never_red_and_the_first_line_names_it() {
    none(&restorations(2));
}

#[test]
fn one_of_three_conditions_that_comes_back_is_never_red_and_the_first_line_names_it() {
    none(&restorations(3));
}

#[test]
fn a_condition_that_counts_no_more_in_some_cases_is_no_plain_pass_and_one_that_counts_passes() {
    let right = rule("and", 2);
    let suite = Suite::of(24, 2).held(70).known();
    suite.base(&right, 1);
    let same = suite.gate(&right, &[]);
    same.passes("unchanged");
    assert_eq!(same.judgement["reruns"], json!(0), "{}", same.shown());
    let telling = suite.telling("collateral");
    let swaps = 3 * suite.cases;
    for every in [2, 3, 4] {
        let lost = telling.iter().filter(|case| *case % every == 0).count();
        // More than the limit, so that a pass would be wrong.
        assert!(lost * 20 > swaps, "every {every}: {lost} of {swaps}");
        let gated = suite.gate(&without(&right, "collateral", every), &[]);
        let what = format!("every {every}, {lost} of {swaps} lost");
        assert!(
            !gated.is_plain_pass("collateral"),
            "{what}: {}",
            gated.shown()
        );
    }
    let gated = suite.gate(&format!("{right}narrow collateral 3\n"), &[]);
    assert!(
        !gated.is_plain_pass("collateral"),
        "narrow: {}",
        gated.shown()
    );
}

#[test]
fn an_or_a_majority_and_an_order_that_lose_a_condition_are_no_plain_pass_and_get_it_back_in_peace()
{
    let mut wrong = Vec::new();
    for (kind, types, unit) in [
        ("or", 2, "collateral"),
        ("or", 3, "history"),
        ("majority", 3, "history"),
        ("lexicographic", 3, "income"),
    ] {
        let right = rule(kind, types);
        let forgot = without(&right, unit, 1);
        let suite = Suite::of(20, types).known();
        let gated = suite.base(&right, 1).gate(&forgot, &[]);
        let telling = suite.telling(unit).len();
        if gated.is_plain_pass(unit) || (telling >= ENOUGH && !gated.is("regression")) {
            wrong.push(format!(
                "{kind} {types} lost, {telling} telling: {}",
                gated.shown()
            ));
        }
        let gated = suite.base(&forgot, 1).gate(&right, &[]);
        if gated.is("regression") || gated.said.code != Some(0) {
            wrong.push(format!("{kind} {types} restored: {}", gated.shown()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_declared_type_that_never_decides_excuses_no_loss_of_another() {
    let (right, unit) = (rule("and", 2), TYPES[1]);
    let lost = without(&right, unit, 1);
    let suite = Suite::of(40, 3).held(30).known();
    let gated = suite.base(&right, 1).gate(&lost, &[]);
    let telling = suite.telling(unit).len();
    assert!(telling >= ENOUGH, "{telling}");
    assert_eq!(suite.telling(TYPES[2]), Vec::<usize>::new());
    gated.red("the third type decides nothing on either side");
    assert_eq!(
        gated.following(unit),
        &json!("regression"),
        "{}",
        gated.shown()
    );
}

#[test]
fn a_type_whose_loss_a_suite_cannot_see_is_named_before_a_change_is_judged() {
    let right = rule("and", 2);
    let suite = Suite::of(12, 2).known();
    let asked = |rule: &str| {
        suite.base(rule, 1);
        let root = suite.project.root();
        git(root, &["checkout", "--quiet", "-B", "change"]);
        let forecast = suite.project.kelvin(&["check", "--forecast"]).stdout;
        let doctor = suite.project.kelvin(&["doctor"]).stdout;
        git(root, &["checkout", "--quiet", "main"]);
        [forecast, doctor].map(|said| said.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    for said in asked(&without(&right, "collateral", 1)) {
        for part in ["`collateral`", " 0 of 36 "] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!said.contains("`income`"), "{said}");
    }
    for said in asked(&right) {
        assert!(!said.contains(" of 36 "), "{said}");
    }
}

#[test]
fn a_score_that_becomes_constant_is_red_however_near_its_values_were() {
    let right = rule("score", 1);
    let suite = Suite::of(20, 1).known();
    suite.base(&right, 1);
    suite.gate(&right, &[]).passes("unchanged");
    // Half of every figure follows the evidence as before; that each answer is another is told elsewhere.
    let halved = suite.gate(&format!("{right}halve\n"), &[]);
    halved.not_red("halved");
    let gated = suite.gate("rule fixed 690\n", &[]);
    gated.red("constant");
    assert_eq!(gated.following("income"), &json!("regression"));
}

#[test]
fn a_hundred_easy_cases_that_a_change_adds_take_nothing_from_the_loss_of_a_condition() {
    let right = rule("and", 2);
    let suite = Suite::of(20, 2).held(70).known();
    suite.base(&right, 1);
    assert!(suite.telling("collateral").len() >= ENOUGH);
    // Every condition holds in them, so that hardly an exchange among them moves anything.
    let added = Suite::of(20, 2).held(101);
    let easy = |project: &Project| {
        for case in 100..200 {
            project.write(&format!("cases/{}.md", name(case)), &added.text(case));
        }
    };
    suite.gate_beside(&right, &[], easy).not_red("unchanged");
    let gated = suite.gate_beside(&without(&right, "collateral", 1), &[], easy);
    gated.red("a condition lost");
}
