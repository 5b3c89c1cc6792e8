//! What the range of a metric bounds.

use super::*;

/// Where the whole range may be lost, no luck of a single run can make it more than that.
#[test]
fn a_drop_that_cannot_be_wider_than_the_limit_passes() {
    let cases: Vec<PairedCase> = (0..2)
        .map(|_| PairedCase {
            cells: vec![PairedCell {
                base: vec![Some(0.0)].into(),
                head: vec![Some(1.0), Some(1.0), Some(0.0)].into(),
            }],
            weight: 1.0,
            ..PairedCase::default()
        })
        .collect();
    let asked = |widest: f64| LookSettings {
        max_drop: 1.0,
        widest,
        ..question(0.012)
    };
    let open = look(&cases, &asked(2.0)).expect("a look");
    let whole = look(&cases, &asked(1.0)).expect("a look");
    assert_eq!(open.outcome, LookOutcome::Inconclusive);
    assert_eq!(whole.outcome, LookOutcome::Pass);
    assert!(whole.upper.is_some_and(|upper| upper <= 1.0));
}
