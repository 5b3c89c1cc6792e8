//! One scenario of many that no longer answers, or breaks what was declared.

use super::*;

/// So many scenarios with these lines in their configuration.
fn scenarios(count: usize, settings: &str) -> Known {
    let suite = Suite {
        settings: settings.to_owned(),
        ..Suite::of(count, 1)
    };
    suite.scenarios()
}

#[test]
fn one_scenario_of_forty_that_fails_in_every_run_is_red_whatever_floor_is_asked_for() {
    let right = rule("and", 1);
    let crashes = format!("{right}broken 7 crash\n");
    let suite = scenarios(40, "");
    suite.base(&crashes, 1);
    suite.gate(&crashes, &[]).not_red("failed before");
    suite.gate(&right, &[]).passes("mended");
    for settings in ["", "gate: {metrics: {checks.pass_rate: {min: 1.0}}}\n"] {
        let suite = scenarios(40, settings);
        suite.base(&right, 1);
        suite.gate(&right, &[]).passes("unchanged");
        let gated = suite.gate(&crashes, &[]);
        gated.red(settings).says_first(&name(7));
    }
}

#[test]
fn a_declared_check_that_fails_in_three_of_three_runs_is_red_against_one_run_of_the_base() {
    let right = rule("and", 1);
    let breaks = format!("{right}broken 7 check\n");
    for (count, settings) in [(40, ""), (40, "repeats: 3\n"), (12, "repeats: 3\n")] {
        let suite = scenarios(count, settings);
        suite.base(&breaks, 1);
        suite.gate(&breaks, &[]).not_red("failed before");
        suite.gate(&right, &[]).passes("mended");
        suite.base(&right, 1);
        suite.gate(&right, &[]).passes("unchanged");
        let gated = suite.gate(&breaks, &[]);
        gated
            .red(&format!("{count} {settings}"))
            .says_first(&name(7));
    }
}
