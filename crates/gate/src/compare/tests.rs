use std::collections::BTreeMap;

use super::*;
use kelvin_base::digest::Digest;
use kelvin_record::{CaseValue, Cell, Cells, ComparedItem, VariantPart};

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

/// A case from its variants: name, input, and the value of each repeat.
fn case(variants: &[(&str, &str, &[f64])]) -> CaseValue {
    let cells = variants
        .iter()
        .map(|(name, input, values)| {
            let cell = Cell {
                input: digest(input),
                values: values.iter().copied().map(Some).collect(),
                pairs: None,
            };
            ((*name).into(), cell)
        })
        .collect();
    let all: Vec<f64> = variants
        .iter()
        .flat_map(|(_, _, values)| *values)
        .copied()
        .collect();
    CaseValue {
        value: kelvin_base::stats::mean(&all),
        n: all.len(),
        repeats: Vec::new(),
        cells,
    }
}

/// A case without variants.
fn plain(value: Option<f64>, n: usize) -> CaseValue {
    CaseValue {
        value,
        n,
        repeats: Vec::new(),
        cells: Cells::default(),
    }
}

fn metric(cases: Vec<(&str, CaseValue)>) -> BTreeMap<String, Metric> {
    let mut metric = Metric::new(Ok(0.5), 1, 0);
    metric.per_case = cases
        .into_iter()
        .map(|(name, case)| (name.to_owned(), case))
        .collect();
    BTreeMap::from([("m".to_owned(), metric)])
}

/// A side whose cases have the given text.
fn side<'a>(metrics: &'a BTreeMap<String, Metric>, texts: &[(&'a str, &str)]) -> Measured<'a> {
    let item = |text: &str| ComparedItem {
        digest: digest(text),
        counts_once: false,
        variants: BTreeMap::new(),
    };
    let items = ComparedItems {
        are_of_others: false,
        nouns: ("case", "cases").into(),
        settings: None,
        by_name: texts
            .iter()
            .map(|(name, text)| (*name, item(text)))
            .collect(),
    };
    Measured {
        answered: BTreeMap::new(),
        metrics,
        items: BTreeMap::from([("m", items)]),
        only: &[],
        shard: None,
    }
}

#[test]
fn variants_pair_by_their_input_whatever_they_are_called() {
    let base = metric(vec![(
        "c",
        case(&[("swap-01", "x", &[1.0]), ("swap-02", "y", &[0.0])]),
    )]);
    let head = metric(vec![(
        "c",
        case(&[("swap-01", "y", &[0.5]), ("swap-02", "x", &[1.0])]),
    )]);
    let texts = [("c", "t")];
    let compared = compare(&side(&base, &texts), &side(&head, &texts));
    let case = &compared.metrics["m"].cases["c"];
    assert_eq!(
        (case.base, case.head, case.not_comparable),
        (Some(0.5), Some(0.75), 0)
    );
    assert_eq!(case.moved(Direction::Higher), [("swap-02", -0.5)]);
}

#[test]
fn a_variant_with_another_input_is_counted_and_not_compared() {
    let base = metric(vec![("c", case(&[("a", "x", &[1.0]), ("b", "y", &[1.0])]))]);
    let head = metric(vec![("c", case(&[("a", "x", &[1.0]), ("b", "z", &[0.0])]))]);
    let texts = [("c", "t")];
    let compared = compare(&side(&base, &texts), &side(&head, &texts));
    let metric = &compared.metrics["m"];
    assert_eq!(metric.cases["c"].change, Change::Draw);
    let counts = metric.counts();
    assert_eq!(
        (counts.compared, counts.cells, counts.not_comparable),
        (1, 1, 2)
    );
}

#[test]
fn cases_are_added_removed_and_edited() {
    let one = || case(&[("a", "x", &[1.0])]);
    let base = metric(vec![
        ("gone", one()),
        ("kept", one()),
        ("other", one()),
        ("null", one()),
    ]);
    let head = metric(vec![
        ("kept", one()),
        ("new", one()),
        ("null", plain(None, 0)),
        ("other", case(&[("a", "x2", &[0.0])])),
    ]);
    let compared = compare(
        &side(
            &base,
            &[("gone", "t"), ("kept", "t"), ("other", "t"), ("null", "t")],
        ),
        &side(
            &head,
            &[("kept", "t"), ("new", "t"), ("other", "t2"), ("null", "t")],
        ),
    );
    let metric = &compared.metrics["m"];
    let changes: Vec<(&str, Change)> = metric
        .cases
        .iter()
        .map(|(name, case)| (*name, case.change))
        .collect();
    assert_eq!(
        changes,
        [
            ("gone", Change::Removed),
            ("kept", Change::Draw),
            ("new", Change::Added),
            ("null", Change::Unmeasured),
            ("other", Change::Edited),
        ]
    );
    let counts = metric.counts();
    assert_eq!(
        (
            counts.compared,
            counts.added,
            counts.removed,
            counts.edited,
            counts.unmeasured
        ),
        (1, 1, 1, 1, 1)
    );
    // What was lost is kept, so that coverage can be told; what is not gated is not.
    assert_eq!(metric.cases["gone"].cells.len(), 1);
    assert!(metric.cases["new"].cells.is_empty() && metric.cases["other"].cells.is_empty());
}

#[test]
fn a_failed_repeat_is_left_out_of_the_mean_of_its_side() {
    let mut with_failure = case(&[("a", "x", &[1.0, 0.0])]);
    with_failure
        .cells
        .values_mut()
        .next()
        .unwrap()
        .values
        .push(None);
    let base = metric(vec![("c", case(&[("a", "x", &[1.0])]))]);
    let head = metric(vec![("c", with_failure)]);
    let compared = compare(&side(&base, &[]), &side(&head, &[]));
    let case = &compared.metrics["m"].cases["c"];
    assert_eq!((case.head, case.change), (Some(0.5), Change::Loss));
}

#[test]
fn ret_25_a_hit_that_became_a_miss_is_a_regression_and_a_worse_rank_a_loss() {
    let base = metric(vec![
        ("1 to 2", plain(Some(1.0), 1)),
        ("3 to none", plain(Some(1.0 / 3.0), 1)),
        ("none to 1", plain(Some(0.0), 1)),
        ("none to none", plain(Some(0.0), 1)),
    ]);
    let head = metric(vec![
        ("1 to 2", plain(Some(0.5), 1)),
        ("3 to none", plain(Some(0.0), 1)),
        ("none to 1", plain(Some(1.0), 1)),
        ("none to none", plain(Some(0.0), 1)),
    ]);
    let compared = compare(&side(&base, &[]), &side(&head, &[]));
    let order: Vec<(&str, Change)> = compared.metrics["m"]
        .worst_first()
        .into_iter()
        .map(|(name, case)| (name, case.change))
        .collect();
    assert_eq!(
        order,
        [
            ("3 to none", Change::Regression),
            ("1 to 2", Change::Loss),
            ("none to none", Change::Draw),
            ("none to 1", Change::Win),
        ]
    );
}

#[test]
fn a_lower_value_is_a_win_where_lower_is_better() {
    let sides = [0.4, 0.1].map(|value| {
        let mut metrics = metric(vec![("c", plain(Some(value), 3))]);
        let metric = metrics.remove("m").unwrap().lower_is_better();
        BTreeMap::from([("m".to_owned(), metric)])
    });
    let compared = compare(&side(&sides[0], &[]), &side(&sides[1], &[]));
    let case = &compared.metrics["m"].cases["c"];
    assert_eq!((case.change, case.samples), (Change::Win, 3));
    assert!((case.drop.unwrap() + 0.3).abs() < 1e-12);
}

#[test]
fn a_metric_of_one_side_and_one_that_was_turned_are_told() {
    let base = metric(vec![]);
    let mut head = base.clone();
    let turned = head["m"].clone().lower_is_better();
    head.insert("m".to_owned(), turned);
    let none = BTreeMap::new();
    let presence = |base, head| compare(&side(base, &[]), &side(head, &[])).metrics["m"].presence;
    assert_eq!(presence(&base, &base), Presence::Both);
    assert_eq!(presence(&base, &head), Presence::Turned);
    assert_eq!(presence(&base, &none), Presence::BaseOnly);
    assert_eq!(presence(&none, &base), Presence::HeadOnly);
}

#[test]
fn a_case_outside_what_was_run_is_not_lost() {
    let one = || case(&[("a", "x", &[1.0])]);
    let base = metric(vec![("c", one()), ("d", one())]);
    let head = metric(vec![("c", one())]);
    let only = ["c".to_owned()];
    let head = Measured {
        only: &only,
        ..side(&head, &[("c", "t")])
    };
    let compared = compare(&side(&base, &[("c", "t"), ("d", "t")]), &head);
    let names: Vec<&str> = compared.metrics["m"].cases.keys().copied().collect();
    assert_eq!(names, ["c"]);
}

#[test]
fn strings_and_infinities_as_values_are_errors_when_read() {
    for values in ["[\"0.5\"]", "[1e999]", "[NaN]", "[-1e999]"] {
        let text = format!("{{\"input\": \"{}\", \"values\": {values}}}", digest("x"));
        assert!(serde_json::from_str::<Cell>(&text).is_err(), "{values}");
    }
}

/// A side whose variants are of these parts, in every case.
fn of_parts<'a>(
    mut side: Measured<'a>,
    settings: &str,
    parts: &[(&'a str, &'a str, Option<&'a str>)],
) -> Measured<'a> {
    let of_case: BTreeMap<&str, VariantPart<'_>> = parts
        .iter()
        .map(|(variant, kind, unit_type)| {
            let part = VariantPart {
                kind: Some(kind),
                is_known: true,
                unit_type: *unit_type,
            };
            (*variant, part)
        })
        .collect();
    let items = side.items.values_mut();
    for items in items {
        items.settings = Some(digest(settings));
        for item in items.by_name.values_mut() {
            item.variants.clone_from(&of_case);
        }
    }
    side
}

#[test]
fn a_kind_that_counts_elsewhere_has_turned_over_and_one_that_is_turned_off_is_lost() {
    let both = [("reorder-01", "x", &[1.0][..]), ("hedge-01", "y", &[0.0])];
    let base = metric(vec![("c", case(&both))]);
    let head = metric(vec![("c", case(&both[..1]))]);
    let texts = [("c", "t")];
    let kinds = [
        ("reorder-01", "reorder", None),
        ("hedge-01", "hedge_injection", None),
    ];
    for (settings, made, lost) in [
        // It is made, and counts elsewhere: another version counts it so.
        ("same", &kinds[..], 0),
        ("other", &kinds[..], 0),
        // It is no more made: by another version, or by the configuration.
        ("same", &kinds[..1], 0),
        ("other", &kinds[..1], 1),
    ] {
        let compared = compare(
            &of_parts(side(&base, &texts), "same", &kinds),
            &of_parts(side(&head, &texts), settings, made),
        );
        let pair = &compared.metrics["m"];
        let whole = &pair.coverage.whole;
        assert_eq!((whole.base, whole.paired), (2, 1));
        assert_eq!((whole.lost, whole.turned), (lost, 1 - lost), "{settings}");
        // What only one side counts is in neither mean, which is of use where an input has changed.
        let unpaired = pair.cases["c"].unpaired.as_ref();
        assert_eq!(unpaired.is_none(), whole.turned == 0, "{settings}");
        if let Some(unpaired) = unpaired {
            assert_eq!(unpaired.base, [Some(1.0)]);
            assert_eq!(unpaired.head, [Some(1.0)]);
        }
    }
}

#[test]
fn new_cases_do_not_hide_what_is_missing_in_the_old_ones() {
    let failed = |name: &str| {
        let mut value = case(&[(name, name, &[1.0])]);
        for cell in value.cells.values_mut() {
            cell.values = vec![None];
        }
        value
    };
    let whole = |name: &str| case(&[(name, name, &[1.0])]);
    let base = metric(vec![("a", whole("a")), ("b", whole("b"))]);
    let mut cases = vec![("a", whole("a")), ("b", failed("b"))];
    let names = ["d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"];
    cases.extend(names.map(|name| (name, whole(name))));
    let head = metric(cases);
    let texts = [("a", "t"), ("b", "t")];
    let more: Vec<(&str, &str)> = texts
        .iter()
        .copied()
        .chain(names.map(|name| (name, "t")))
        .collect();
    let compared = compare(&side(&base, &texts), &side(&head, &more));
    let coverage = &compared.metrics["m"].coverage;
    assert_eq!(coverage.whole.missing(), (1, 2));
    assert!(coverage.whole.misses_more_than(0.4));
    assert!(!coverage.whole.misses_more_than(0.5));
    assert_eq!(coverage.lost, BTreeMap::from([("b", 1)]));
    assert_eq!(
        (compared.turnover["m"].base, compared.turnover["m"].added),
        (2, 11)
    );
    // What failed on the base as well was not lost by the change.
    let compared = compare(&side(&head, &more), &side(&head, &more));
    assert_eq!(compared.metrics["m"].coverage.whole.missing(), (0, 0));
}

#[test]
fn first_answers_that_are_copies_are_left_out_and_their_pairs_with_them() {
    let base_pairs = [vec![Some(0.0), Some(0.1)], vec![Some(0.2), Some(0.3)]];
    let cell = CellPair {
        variant: None,
        input: None,
        base: &[Some(0.0), Some(0.3)],
        head: &[],
        base_pairs: &base_pairs,
        head_pairs: &[],
    };
    let (values, pairs) = answers(&cell, 0).expect("there are some");
    assert_eq!(
        (values, pairs.as_slice()),
        (cell.base, base_pairs.as_slice())
    );
    let (values, pairs) = answers(&cell, 1).expect("there are some");
    assert_eq!((values, pairs), (&[Some(0.3)][..], vec![vec![Some(0.3)]]));
    let once = CellPair {
        base: &[Some(0.0)],
        base_pairs: &[],
        ..cell
    };
    assert_eq!(answers(&once, 1), None);
}
