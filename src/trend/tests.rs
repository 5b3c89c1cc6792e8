use kelvin_fixtures::text::{lines_with, redacted};
use std::collections::{BTreeMap, BTreeSet};

use super::fall::MetricScale;
use super::past::{MadeOf, PastFigure, PastRun, Place};
use super::summary::{Of, ReadReports, Summary, SummaryInputs, SummaryRow, TrendWord, summarize};
use super::{Period, RegressionStanding, VersionSamples, article, compare};
use kelvin_base::cost::Cost;
use kelvin_base::digest::Digest;
use kelvin_fixtures::page as fixture;
use kelvin_page::{html, markdown};
use kelvin_record::{Direction, Nouns};

const DAY: i64 = 24 * 60 * 60;
const METRIC: &str = "toy.score";

const SHARE: MetricScale = MetricScale {
    direction: Direction::Higher,
    ends: Some((0.0, 1.0)),
    poor_below: Some(0.6),
};

/// A run on a day, of a code, that measured these values.
fn run(day: i64, code: u8, cases: &[(&str, &[f64])]) -> PastRun {
    on(day, code, SHARE, cases)
}

fn on(day: i64, code: u8, scale: MetricScale, cases: &[(&str, &[f64])]) -> PastRun {
    let known = |values: &&[f64]| values.iter().map(|value| Some(*value)).collect::<Vec<_>>();
    let all: Vec<f64> = cases
        .iter()
        .flat_map(|(_, values)| values.to_vec())
        .collect();
    let figure = PastFigure {
        value: (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64),
        reason: all.is_empty().then(|| "no answer".to_owned()),
        scale,
        shown_first: true,
        cases: cases
            .iter()
            .map(|(case, values)| ((*case).to_owned(), known(values)))
            .collect(),
    };
    PastRun {
        configuration: "main".to_owned(),
        place: Place::Branch,
        commit: Some(format!("{day:040}")),
        dirty: false,
        at: day * DAY,
        made_of: MadeOf::traced(Digest::of(b"configuration"), Some(Digest::of(&[code]))),
        cost: Cost {
            invocations: 1,
            ..Cost::default()
        },
        nouns: Nouns::from(("case", "cases")),
        figures: BTreeMap::from([(METRIC.to_owned(), figure)]),
        groups: BTreeMap::new(),
        decision: None,
        verdict: None,
    }
}

/// The summary of the days 7 to 13.
fn second_week(runs: &[PastRun]) -> Summary {
    let asked = SummaryInputs {
        period: Period {
            since: 7 * DAY,
            until: 14 * DAY,
        },
        metrics: &[],
    };
    summarize(runs, ReadReports::default(), asked)
}

fn row<'a>(summary: &'a Summary, of: &Of) -> &'a SummaryRow {
    let mut rows = summary.configurations[0].rows.iter();
    rows.find(|row| row.of == *of).expect("it has a row")
}

fn case(name: &str) -> Of {
    Of::Case(name.to_owned())
}

fn candidates(summary: &Summary) -> Vec<(&Of, TrendWord, bool)> {
    let all = summary.candidates.iter();
    all.map(|one| (&one.row.of, one.row.word, one.row.is_poor))
        .collect()
}

#[test]
fn what_is_always_low_is_poor_since_its_first_run_though_it_never_fell() {
    let low = |day| {
        run(
            day,
            1,
            &[("low", &[0.5]), ("at the bound", &[0.6]), ("good", &[1.0])],
        )
    };
    let summary = second_week(&[low(1), low(3), low(8), low(10)]);
    assert_eq!(
        candidates(&summary),
        [(&case("low"), TrendWord::Held, true)]
    );
    let since = summary.candidates[0].since.as_ref().expect("it is known");
    assert_eq!(since.at, "1970-01-02T00:00:00Z");
    assert!(!since.recovered);
}

#[test]
fn a_fall_is_judged_in_the_direction_and_on_the_scale_of_its_metric() {
    let errors = MetricScale {
        direction: Direction::Lower,
        poor_below: None,
        ..SHARE
    };
    let wide = MetricScale {
        ends: Some((0.0, 2.0)),
        poor_below: None,
        ..SHARE
    };
    let open = MetricScale {
        ends: None,
        poor_below: None,
        ..SHARE
    };
    for (scale, before, now, word) in [
        (SHARE, 0.80, 0.75, TrendWord::Held),
        (SHARE, 0.85, 0.80, TrendWord::Held),
        (SHARE, 0.80, 0.7499, TrendWord::Fell),
        (SHARE, 0.75, 0.81, TrendWord::Improved),
        (errors, 0.10, 0.20, TrendWord::Fell),
        (errors, 0.20, 0.10, TrendWord::Improved),
        // Half as much of a scale that is twice as long.
        (wide, 1.00, 0.92, TrendWord::Held),
        (wide, 1.00, 0.89, TrendWord::Fell),
        (open, 10.0, 99.0, TrendWord::NoScale),
    ] {
        let runs = [
            on(1, 1, scale, &[("a", &[before])]),
            on(8, 2, scale, &[("a", &[now])]),
        ];
        let summary = second_week(&runs);
        assert_eq!(row(&summary, &case("a")).word, word, "{before} {now}");
    }
}

#[test]
fn since_when_goes_back_to_the_first_of_the_runs_that_are_all_as_bad() {
    let at = |day, value: f64| run(day, 1, &[("a", &[value])]);
    let since = |values: &[(i64, f64)]| {
        let runs: Vec<PastRun> = values.iter().map(|(day, value)| at(*day, *value)).collect();
        let summary = second_week(&runs);
        let mut found = summary.candidates.iter();
        let found = found.find(|one| one.row.of == case("a")).expect("it fell");
        let since = found.since.clone().expect("it is known");
        (since.at[8..10].to_owned(), since.recovered)
    };
    // 1 January is day 0.
    assert_eq!(
        since(&[(1, 0.9), (3, 0.9), (8, 0.9), (10, 0.7), (12, 0.7)]),
        ("11".to_owned(), false)
    );
    // It began before the period, and the mean before is still higher.
    assert_eq!(
        since(&[(1, 0.9), (2, 0.9), (6, 0.7), (8, 0.7)]),
        ("07".to_owned(), false)
    );
    // The last run is good again: the mean fell all the same.
    assert_eq!(
        since(&[(1, 0.9), (8, 0.6), (9, 0.6), (12, 0.9)]),
        ("09".to_owned(), true)
    );
}

#[test]
fn an_easy_case_that_comes_into_a_group_does_not_hide_that_the_group_fell() {
    let with_group = |mut run: PastRun, cases: &[&str]| {
        let cases: BTreeSet<String> = cases.iter().map(|case| (*case).to_owned()).collect();
        let labels = BTreeMap::from([("hard".to_owned(), cases)]);
        run.groups.insert("toy".to_owned(), labels);
        run
    };
    let before = run(1, 1, &[("a", &[0.9]), ("b", &[0.9]), ("other", &[0.7])]);
    let now = run(
        8,
        2,
        &[
            ("a", &[0.8]),
            ("b", &[0.8]),
            ("easy", &[1.0]),
            ("other", &[0.7]),
        ],
    );
    let summary = second_week(&[
        with_group(before, &["a", "b"]),
        with_group(now, &["a", "b", "easy"]),
    ]);
    let group = row(&summary, &Of::Group("hard".to_owned()));
    assert_eq!(group.word, TrendWord::Fell);
    assert!((group.worse_by.expect("both are known") - 0.1).abs() < 1e-9);
    // Each of its cases was run once: that is what its mean rests on.
    assert_eq!((group.before.n, group.now.n), (1, 1));
}

#[test]
fn a_case_that_is_taken_out_is_gone_and_one_that_gives_no_answer_is_not_measured() {
    let before = run(1, 1, &[("out", &[0.2]), ("silent", &[0.2]), ("a", &[0.9])]);
    let now = run(8, 1, &[("silent", &[]), ("a", &[0.9])]);
    let summary = second_week(&[before, now]);
    assert_eq!(row(&summary, &case("out")).word, TrendWord::Gone);
    let silent = row(&summary, &case("silent"));
    assert_eq!(silent.word, TrendWord::Unmeasured);
    insta::assert_snapshot!(silent.now.reason.as_deref().expect("it is told"), @"the case was run and not measured");
    assert_eq!(
        candidates(&summary),
        [(&case("silent"), TrendWord::Unmeasured, false)]
    );
    let page = markdown::render_article(&article(&summary));
    insta::assert_snapshot!(lines_with(&page, &["1 mean", "1 case"]), @"
    - ⚠️ 1 mean is not measured in this period
    - ⚠️ 1 case of the period before is not run any more in `main`
    ");
    assert!(!page.contains('✅'), "{page}");
}

#[test]
fn values_of_different_code_are_not_flaky_and_those_of_unknown_code_only_within_a_run() {
    let flaky = |runs: &[PastRun]| {
        let summary = second_week(runs);
        let found = summary.configurations[0].flaky.iter();
        found
            .map(|one| (one.case.clone(), one.n, one.runs))
            .collect::<Vec<_>>()
    };
    let at = |day, code, value: f64| run(day, code, &[("a", &[value])]);
    assert_eq!(flaky(&[at(8, 1, 0.9), at(9, 2, 0.7)]), []);
    assert_eq!(
        flaky(&[at(8, 1, 0.9), at(9, 1, 0.7)]),
        [("a".to_owned(), 2, 2)]
    );
    let unknown = |mut run: PastRun| {
        run.made_of = MadeOf::traced(Digest::of(b"configuration"), None);
        run
    };
    assert_eq!(flaky(&[unknown(at(8, 1, 0.9)), unknown(at(9, 1, 0.7))]), []);
    let repeats = unknown(run(8, 1, &[("a", &[0.9, 0.7])]));
    assert_eq!(flaky(&[repeats]), [("a".to_owned(), 2, 1)]);
}

#[test]
fn a_version_that_was_only_answered_from_the_cache_has_the_samples_of_one_run() {
    let replay = |mut run: PastRun| {
        run.cost.invocations = 0;
        run.cost.cache_hits = 3;
        run
    };
    let first = run(1, 1, &[("a", &[0.9])]);
    let again = [
        replay(run(2, 1, &[("a", &[0.9])])),
        replay(run(3, 1, &[("a", &[0.9])])),
    ];
    let standing = |current: &[&PastRun]| {
        let prior: Vec<PastRun> = (10..13).map(|day| run(day, 2, &[("a", &[0.9])])).collect();
        let prior: Vec<&PastRun> = prior.iter().collect();
        let (now, before) = (
            VersionSamples::of("now", current, &[]),
            VersionSamples::of("before", &prior, &[]),
        );
        let compared = compare(&now, &before, 3);
        let row = compared.rows.iter().find(|row| row.unit.is_some());
        row.map(|row| (row.n_current, row.standing))
    };
    assert_eq!(
        standing(&[&first, &again[0], &again[1]]),
        Some((1, RegressionStanding::Insufficient))
    );
    let live = [run(2, 1, &[("a", &[0.9])]), run(3, 1, &[("a", &[0.9])])];
    assert_eq!(
        standing(&[&first, &live[0], &live[1]]),
        Some((3, RegressionStanding::Held))
    );
}

#[test]
fn only_the_newest_twenty_runs_of_a_version_are_looked_at() {
    let runs: Vec<PastRun> = (0..30)
        .map(|day| run(day, 1, &[("a", &[if day < 10 { 0.0 } else { 1.0 }])]))
        .collect();
    let runs: Vec<&PastRun> = runs.iter().collect();
    let samples = VersionSamples::of("v", &runs, &[]);
    let of_case = samples
        .each
        .iter()
        .find(|one| one.unit.is_some())
        .expect("a case");
    assert_eq!(of_case.values, [1.0; 20]);
}

/// Every name on the page is somebody else's: of cases, of labels, of configurations, of metrics.
#[test]
fn hostile_names_stay_text_on_both_pages() {
    let plain = fixture::read(&pages("ash").0);
    for text in fixture::corpus() {
        let (page, html) = pages(&text);
        fixture::harmless(&page, &plain, &text);
        for sign in ["<script", "<img", "onerror=\"", "javascript:\""] {
            assert!(!html.contains(sign), "{text:?}: {sign}");
        }
    }
}

/// Both pages of a summary in which every name is the same text.
fn pages(text: &str) -> (String, String) {
    let at = |day: i64, value: f64| {
        let mut run = run(day, 1, &[(text, &[value])]);
        text.clone_into(&mut run.configuration);
        run.commit = Some(text.to_owned());
        let figure = run.figures.remove(METRIC).expect("it is there");
        run.figures.insert(text.to_owned(), figure);
        run
    };
    let read = ReadReports {
        unread: vec![(text.to_owned(), text.to_owned())],
        notices: vec![text.to_owned()],
        ..ReadReports::default()
    };
    let asked = SummaryInputs {
        period: Period {
            since: 7 * DAY,
            until: 14 * DAY,
        },
        metrics: &[],
    };
    let mut summary = summarize(&[at(1, 0.9), at(8, 0.2)], read, asked);
    summary.validation = vec![("missing".to_owned(), text.to_owned())];
    assert_eq!(summary.candidates.len(), 2, "{text:?}");
    let mut to = Vec::new();
    html::write_article(&mut to, article(&summary)).expect("the templates fit");
    let html = String::from_utf8(to).expect("text");
    (markdown::render_article(&article(&summary)), html)
}

#[test]
fn a_case_that_moved_by_exactly_the_limit_did_not_move_on_the_page_of_all_runs() {
    let cases = |a: f64, b: f64| -> PastRun { run(1, 1, &[("a", &[a]), ("b", &[b])]) };
    let metrics = BTreeMap::from([(METRIC, SHARE)]);
    // In binary .80 - .75 is a little more than .05.
    let (before, now) = (cases(0.80, 0.80), cases(0.75, 0.74));
    let turn = super::course::turn(&before, &now, &metrics);
    let moved: Vec<&str> = turn.moved.iter().map(|moved| moved.case).collect();
    assert_eq!(moved, ["b"]);
}

/// Runs of 24 days whose values have noise of many shapes, drawn by the number of the history; `level` is what is added on
/// a day.
fn noisy(history: u64, level: impl Fn(usize) -> f64) -> Vec<PastRun> {
    let key = format!("noisy history {history}");
    let mut draw = kelvin_base::draw::Draw::of(Digest::of(key.as_bytes()));
    let of_day = |day: usize, draw: &mut kelvin_base::draw::Draw| {
        let level = level(day);
        let even = 0.8 + level + 0.2 * (draw.unit() - 0.5);
        let rare = if draw.unit() < 0.15 { 0.0 } else { 0.9 + level };
        let coin = if draw.unit() < 0.5 { 0.2 } else { 0.9 + level };
        run(
            day as i64 + 1,
            1,
            &[
                ("even", &[even]),
                ("rare", &[rare]),
                ("coin", &[coin]),
                ("steady", &[0.9 + level]),
            ],
        )
    };
    (0..24).map(|day| of_day(day, &mut draw)).collect()
}

fn lasting(runs: &[PastRun]) -> Vec<super::lasting::LastingFall> {
    super::lasting_falls(runs, &[])
}

#[test]
fn of_histories_in_which_nothing_changes_at_most_a_twentieth_has_a_fall_that_lasts() {
    const HISTORIES: u64 = 120;
    let alarms = (0..HISTORIES).filter(|history| !lasting(&noisy(*history, |_| 0.0)).is_empty());
    let alarms = alarms.count();
    assert!(alarms as f64 <= 0.05 * HISTORIES as f64, "{alarms}");
}

#[test]
fn a_fall_within_noise_is_found_since_its_run_and_one_bad_run_is_none() {
    let level = |day: usize| if day < 14 { 0.0 } else { -0.2 };
    let falls = lasting(&noisy(1, level));
    for name in ["even", "steady"] {
        let found = falls.iter().find(|fall| fall.of == case(name));
        let found = found.unwrap_or_else(|| panic!("{name}: {falls:?}"));
        assert!(found.worse_by > 0.15 && !found.is_gradual, "{found:?}");
        assert!((found.began / DAY - 15).abs() <= 1, "{found:?}");
    }
    for bad in [0, 11, 22, 23] {
        let level = |day: usize| if day == bad { -0.5 } else { 0.0 };
        let runs: Vec<PastRun> = (0..24_usize)
            .map(|day| run(day as i64 + 1, 1, &[("a", &[0.9 + level(day)])]))
            .collect();
        assert_eq!(lasting(&runs), [], "the bad run of day {bad}");
    }
    // What came back is no fall that lasts, and what came back and fell again is one.
    let of = |levels: &dyn Fn(usize) -> f64| {
        let runs = (0..24_usize).map(|day| run(day as i64 + 1, 1, &[("a", &[levels(day)])]));
        lasting(&runs.collect::<Vec<_>>())
    };
    assert_eq!(
        of(&|day| if (8..16).contains(&day) { 0.7 } else { 0.9 }),
        []
    );
    let again = of(&|day| if (8..16).contains(&day) { 0.9 } else { 0.7 });
    assert!(
        !again.is_empty() && again.iter().all(|fall| fall.began == 17 * DAY),
        "{again:?}"
    );
    let drift = of(&|day| 0.9 - 0.01 * day as f64);
    assert!(drift.iter().any(|fall| fall.is_gradual), "{drift:?}");
}

#[test]
fn a_fall_in_the_middle_of_a_week_is_told_in_it_and_in_the_next_and_not_for_ever() {
    let runs: Vec<PastRun> = (0..35_usize)
        .map(|day| {
            run(
                day as i64,
                1,
                &[("a", &[if day < 10 { 0.84 } else { 0.75 }])],
            )
        })
        .collect();
    let week = |week: i64| {
        let asked = SummaryInputs {
            period: Period {
                since: week * 7 * DAY,
                until: (week + 1) * 7 * DAY,
            },
            metrics: &[],
        };
        summarize(&runs, ReadReports::default(), asked)
    };
    for (number, told) in [(1, true), (2, true), (3, false), (4, false)] {
        let summary = week(number);
        assert_eq!(!summary.candidates.is_empty(), told, "week {number}");
        for one in &summary.candidates {
            assert_eq!(one.row.word, TrendWord::Fell);
            let since = one.since.as_ref().expect("it is known");
            assert_eq!(since.at, "1970-01-11T00:00:00Z");
        }
    }
    // With too few runs nothing is certain, and nothing is called fine.
    let two = [run(8, 1, &[("a", &[0.875])]), run(9, 2, &[("a", &[0.70])])];
    let summary = second_week(&two);
    assert_eq!(summary.configurations[0].suspected.len(), 1);
    let page = markdown::render_article(&article(&summary));
    insta::assert_snapshot!(redacted(&lines_with(&page, &["0.8750"])), @"- ⚠️ the whole run may have fallen in `toy.score` from 0.8750 (n 1) to 0.7000 (n 1), since [TIME] (`[HASH]`): too few runs tell it from noise");
    assert!(!page.contains('✅'), "{page}");
}
