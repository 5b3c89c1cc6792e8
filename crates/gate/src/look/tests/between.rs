//! Stored reports of the same code, whose answers are repeats of the base.

use super::*;

/// A cell of which each report has these losses, one a repeat; the head has the last.
fn case(reports: &[&[f64]], head: &[f64]) -> PairedCase {
    let some = |losses: &[f64]| {
        losses
            .iter()
            .copied()
            .map(Some)
            .collect::<Vec<Option<f64>>>()
    };
    let parts = reports.iter().map(|losses| some(losses).into()).collect();
    PairedCase {
        cells: vec![PairedCell {
            base: Draws::joined(parts, false),
            head: some(head).into(),
        }],
        weight: 1.0,
        ..PairedCase::default()
    }
}

fn seen(cases: &[PairedCase]) -> Look {
    let question = LookSettings {
        max_drop: 0.05,
        widest: f64::INFINITY,
        alpha: 0.05,
        gated: 1,
        noise: Noise::Repeats,
        max_missing: 0.1,
    };
    look(cases, &question).expect("both sides have values")
}

#[test]
fn answers_of_reports_are_paired_among_themselves_and_each_repeat_is_one_of_its_report() {
    let part = |pairs: &[&[f64]]| Draws {
        values: vec![Some(9.0); pairs.len()],
        pairs: pairs
            .iter()
            .map(|own| own.iter().copied().map(Some).collect())
            .collect(),
        ..Draws::default()
    };
    let once: Draws = vec![Some(0.5)].into();
    let parts = vec![
        part(&[&[0.0, 1.0]]),
        part(&[&[2.0, 3.0], &[4.0, 5.0]]),
        once,
    ];
    let joined = Draws::joined(parts, true);
    let some = |losses: &[f64]| losses.iter().copied().map(Some).collect::<Vec<_>>();
    assert_eq!(
        joined.pairs,
        [
            [some(&[0.0, 1.0]), vec![None; 3]].concat(),
            [vec![None; 2], some(&[2.0, 3.0]), vec![None]].concat(),
            [vec![None; 2], some(&[4.0, 5.0]), vec![None]].concat(),
            [vec![None; 4], some(&[0.5])].concat(),
        ]
    );
    let repeats: Vec<_> = (0..joined.repeats()).map(|at| joined.repeat(at)).collect();
    assert_eq!(repeats, some(&[0.0, 2.0, 5.0, 0.5]));
    let means: Vec<_> = joined.by_report().iter().map(Draws::mean).collect();
    assert_eq!(means, some(&[0.5, 3.5, 0.5]));
}

#[test]
fn reports_of_other_days_widen_the_noise_by_what_moves_all_cases_together() {
    // Every case is worse by the same on some days: means 0.0, 0.1, 0.2, whose variance is 0.01.
    let days: [&[f64]; 3] = [&[0.0], &[0.1], &[0.2]];
    let cases: Vec<PairedCase> = (0..10).map(|_| case(&days, &[0.3])).collect();
    let look = seen(&cases);
    let between = look.between_reports.expect("they are apart");
    assert!((between - 0.1).abs() < 1e-9, "{between}");
    // The day of the head, and those of three reports of the base.
    assert!(
        (look.fixed - 0.01 * 4.0 / 3.0).abs() < 1e-9,
        "{}",
        look.fixed
    );
    assert!(look.error * look.error >= look.fixed);
    // The same moves in each case by itself are noise, and no day.
    let turned = |at: usize| [days[at % 3], days[(at + 1) % 3], days[(at + 2) % 3]];
    let cases: Vec<PairedCase> = (0..9).map(|at| case(&turned(at), &[0.1])).collect();
    let look = seen(&cases);
    assert_eq!((look.between_reports, look.fixed), (None, 0.0));
}

#[test]
fn repeats_that_agree_within_reports_that_differ_are_kept_answers() {
    let kept: Vec<PairedCase> = (0..6)
        .map(|at| {
            let of = |bad: bool| if bad { &[1.0; 5] } else { &[0.0; 5] };
            case(&[of(at == 0), of(at == 1), of(at == 2)], &[0.0; 5])
        })
        .collect();
    assert!(are_kept_within(&pair(&kept).0));
    assert!(seen(&kept).between_reports.is_some());
    let noisy: Vec<PairedCase> = (0..6)
        .map(|at| {
            let bad = f64::from(u8::from(at % 2 == 0));
            let of: &[f64] = &[0.0, bad, 0.0, 0.0, bad];
            case(&[of, of, of], &[0.0; 5])
        })
        .collect();
    assert!(!are_kept_within(&pair(&noisy).0));
}
