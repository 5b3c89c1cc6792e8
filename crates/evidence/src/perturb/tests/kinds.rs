use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::config::{AllPairs, SwapCount};

#[test]
fn kel_11_reorder_keeps_the_units_and_never_their_order() {
    let (corpus, plan) = plan_of(&many(1), &fixture::settings(&[]));
    let variants = of_kind(&plan, "reorder");
    assert_eq!(variants.len(), 3);
    let mut orders = BTreeSet::new();
    for variant in variants {
        let mut order = variant.notes.order.clone();
        assert!(orders.insert(order.clone()), "{order:?} twice");
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4, 5]);
        assert_ne!(
            variant.render(&corpus, 0, &fixture::settings(&[])),
            corpus.cases[0].text
        );
    }
}

#[test]
fn kel_12_reorder_with_one_unit_is_skipped_with_a_notice() {
    let (_, plan) = plan_of(&[("a", "## A\nx\n")], &fixture::settings(&[]));
    assert!(of_kind(&plan, "reorder").is_empty());
    assert_eq!(counts_of(&plan, "reorder"), (Code::Skip, Some(3), Some(0)));
}

#[test]
fn m10_two_units_have_one_other_order_and_equal_units_none() {
    let (_, plan) = plan_of(&[("a", "## A\nx\n## B\ny\n")], &fixture::settings(&[]));
    assert_eq!(of_kind(&plan, "reorder").len(), 1);
    assert_eq!(counts_of(&plan, "reorder"), (Code::Cap, Some(3), Some(1)));
    let (_, plan) = plan_of(&[("a", "## A\nx\n\n## A\nx\n")], &fixture::settings(&[]));
    assert_eq!(counts_of(&plan, "reorder"), (Code::Skip, Some(3), Some(0)));
    let (_, plan) = plan_of(
        &[("a", "## A\nx\n## B\n## A\nx\n")],
        &fixture::settings(&[]),
    );
    assert_eq!(counts_of(&plan, "reorder"), (Code::Cap, Some(3), Some(2)));
}

#[test]
fn kel_13_pad_content_adds_2_to_4_units_of_other_cases_and_keeps_the_own_in_order() {
    let settings = fixture::settings(&GOVERNING);
    let corpus = fixture::corpus(&many(12));
    for (at, plan) in plans(&corpus, &settings).iter().enumerate() {
        let variants = of_kind(plan, "pad_content");
        assert_eq!(variants.len(), 3);
        for variant in variants {
            assert!((2..=4).contains(&variant.notes.added.len()));
            let name = corpus.cases[at].name.to_string();
            assert!(
                variant
                    .notes
                    .added
                    .iter()
                    .all(|added| added.from != Some(name.as_str().into()))
            );
            let own: Vec<usize> = variant.pieces.iter().filter_map(Piece::own).collect();
            assert_eq!(own, [0, 1, 2, 3, 4, 5]);
            let pieces: BTreeSet<String> = variant
                .pieces
                .iter()
                .map(|piece| format!("{piece:?}"))
                .collect();
            assert_eq!(
                pieces.len(),
                variant.pieces.len(),
                "drawn without replacement"
            );
        }
    }
}

#[test]
fn kel_14_pad_content_with_three_peer_units_adds_no_more_and_says_so() {
    let texts = [
        ("a", "## A\nx\n"),
        ("b", "## B\n1\n## B\n2\n"),
        ("c", "## B\n3\n## B\n1\n"),
    ];
    let (_, plan) = plan_of(&texts, &fixture::settings(&[]));
    let variants = of_kind(&plan, "pad_content");
    assert_eq!(variants.len(), 3);
    assert!(
        variants
            .iter()
            .all(|variant| (2..=3).contains(&variant.notes.added.len()))
    );
    assert_eq!(
        counts_of(&plan, "pad_content"),
        (Code::Cap, Some(4), Some(3))
    );
    let (_, plan) = plan_of(&texts[..1], &fixture::settings(&[]));
    assert_eq!(
        counts_of(&plan, "pad_content"),
        (Code::Skip, Some(3), Some(0))
    );
    let (_, plan) = plan_of(
        &[("a", "## A\nx\n"), ("b", "## B\ny\n")],
        &fixture::settings(&[]),
    );
    assert_eq!(
        counts_of(&plan, "pad_content"),
        (Code::Skip, Some(3), Some(0))
    );
}

#[test]
fn m3_kel_51_pad_content_draws_governing_units_only_where_asked_to() {
    let mut settings = fixture::settings(&GOVERNING);
    let corpus = fixture::corpus(&many(30));
    let governs = |settings: &EvidenceSettings| {
        plans(&corpus, settings)
            .iter()
            .flat_map(|plan| of_kind(plan, "pad_content"))
            .flat_map(|variant| &variant.notes.added)
            .filter(|added| GOVERNING.contains(&&*added.unit_type))
            .count()
    };
    assert_eq!(governs(&settings), 0);
    settings.perturbations.pad_include_governing = true;
    assert!(governs(&settings) > 20);
}

#[test]
fn kel_15_kel_17_swap_replaces_one_unit_by_another_content_of_its_type() {
    let settings = fixture::settings(&GOVERNING);
    let mut texts = many(8);
    texts[3].1 = texts[0].1.clone();
    texts[4].1 = texts[0].1.replace("\n\nrule", "\n\n\n  rule");
    let corpus = fixture::corpus(&texts);
    for (at, plan) in plans(&corpus, &settings).iter().enumerate() {
        let swaps = of_kind(plan, "swap");
        assert_eq!(swaps.len(), 6, "three for each type");
        for swap in swaps {
            let ([removed], [added]) = (&*swap.notes.removed, &*swap.notes.added) else {
                panic!("{:?}", swap.notes);
            };
            assert_eq!(added.at, *removed);
            assert_eq!(swap.unit_type.as_deref(), Some(&*added.unit_type));
            assert_eq!(
                *corpus.cases[at].units[*removed].unit_type,
                *added.unit_type
            );
            let words = |text: &str| {
                text.split_whitespace()
                    .map(String::from)
                    .collect::<Vec<_>>()
            };
            let text = swap.render(&corpus, at, &settings);
            assert_ne!(words(&text), words(&corpus.cases[at].text));
        }
    }
}

#[test]
fn kel_16_swaps_are_distinct_pairs_and_a_shortfall_is_told() {
    let settings = fixture::settings(&["rule"]);
    let texts = [
        ("a", "## Rule\n1\n## Rule\n2\n## Facts\nf\n"),
        ("b", "## Rule\n3\n"),
        ("c", "## Rule\n 3\n"),
        ("d", "## Rule\n1\n"),
    ];
    let (_, plan) = plan_of(&texts, &settings);
    let removed: BTreeSet<_> = of_kind(&plan, "swap")
        .iter()
        .map(|swap| swap.notes.removed.clone())
        .collect();
    assert_eq!(removed.len(), 2, "both own units took their turn");
    assert_eq!(counts_of(&plan, "swap"), (Code::Cap, Some(3), Some(2)));

    let (_, plan) = plan_of(&many(2), &fixture::settings(&["gate_rule"]));
    assert_eq!(counts_of(&plan, "swap"), (Code::Cap, Some(3), Some(1)));
    let (_, plan) = plan_of(&many(4), &fixture::settings(&["gate_rule"]));
    assert_eq!(
        of_kind(&plan, "swap").len(),
        3,
        "one rule gives three swaps"
    );
    assert!(notice(&plan, "swap").is_none());
}

#[test]
fn swaps_that_cannot_be_made_are_skipped_with_the_reason() {
    let settings = fixture::settings(&["rule"]);
    let mut refusals = Vec::new();
    for texts in [
        vec![("a", "## Rule\n1\n")],
        vec![("a", "## X\n1\n"), ("b", "## Rule\n1\n")],
        vec![("a", "## Rule\n1\n"), ("b", "##  Rule\n\n1\n")],
    ] {
        let (_, plan) = plan_of(&texts, &settings);
        assert_eq!(counts_of(&plan, "swap"), (Code::Skip, Some(3), Some(0)));
        let text = &notice(&plan, "swap").expect("told").text;
        refusals.push(text.to_string());
    }
    insta::assert_snapshot!(refusals.join("\n"), @"
    this is the only case: nothing can replace its `rule`
    the case has no unit of type `rule`
    no other case has a unit of type `rule` that says something else
    ");
}

#[test]
fn all_swaps_are_every_pair() {
    let mut settings = fixture::settings(&["gate_rule"]);
    settings.perturbations.variants.swap = SwapCount::Every(AllPairs::All);
    let corpus = fixture::corpus(&many(9));
    for plan in plans(&corpus, &settings) {
        let from: Vec<&Option<Arc<str>>> = of_kind(&plan, "swap")
            .iter()
            .map(|swap| &swap.notes.added[0].from)
            .collect();
        assert_eq!(from.len(), 8);
        assert!(from.is_sorted());
    }
}

#[test]
fn a_single_case_is_padded_with_filler_and_reordered() {
    let (_, plan) = plan_of(&many(1), &fixture::settings(&GOVERNING));
    assert_eq!(of_kind(&plan, "reorder").len(), 3);
    assert_eq!(of_kind(&plan, "pad_length").len(), 3);
    assert_eq!(plan.variants.len(), 6);
    let skipped: Vec<Option<&str>> = plan
        .notices
        .iter()
        .map(|notice| notice.kind.as_deref())
        .collect();
    assert_eq!(skipped, [Some("pad_content"), Some("swap"), Some("swap")]);
}

#[test]
fn pad_length_adds_2_to_4_different_sections_and_none_that_governs() {
    let settings = fixture::settings(&GOVERNING);
    let (_, plan) = plan_of(&many(1), &settings);
    for variant in of_kind(&plan, "pad_length") {
        let added: BTreeSet<&str> = variant
            .notes
            .added
            .iter()
            .map(|added| &*added.unit_type)
            .collect();
        assert!((2..=4).contains(&added.len()) && added.len() == variant.notes.added.len());
        assert!(variant.notes.added.iter().all(|added| added.from.is_none()));
    }
    let settings = fixture::settings(&["office_hours"]);
    let (_, plan) = plan_of(&many(1), &settings);
    assert_eq!(
        counts_of(&plan, "pad_length"),
        (Code::Cap, Some(5), Some(4))
    );
    let added = of_kind(&plan, "pad_length");
    let mut added = added.iter().flat_map(|variant| &variant.notes.added);
    assert!(added.all(|added| &*added.unit_type != "office_hours"));

    let mut settings = fixture::settings(&[]);
    settings.perturbations.words.filler.clear();
    let (_, plan) = plan_of(&many(1), &settings);
    assert_eq!(
        counts_of(&plan, "pad_length"),
        (Code::Skip, Some(3), Some(0))
    );
}

#[test]
fn m9_variant_ids_are_unique_where_a_type_occurs_twice() {
    let settings = fixture::settings(&["rule", "r\u{fc}le", "ru_le", "ru/le"]);
    let text = |n: u32| {
        format!(
            "## Rule\n{n}1\n## Rule\n{n}2\n## R\u{fc}le\n{n}3\n## Ru le\n{n}4\n## Ru/le\n{n}5\n"
        )
    };
    let texts = [("a", 1), ("b", 2), ("c", 3)].map(|(name, n)| (name.to_owned(), text(n)));
    let (_, plan) = plan_of(&texts, &settings);
    let ids: BTreeSet<&str> = plan.variants.iter().map(|variant| &*variant.id).collect();
    assert_eq!(ids.len(), plan.variants.len());
    assert!(
        ids.contains("swap-rule-03") && ids.contains("reorder-01"),
        "{ids:?}"
    );
    assert!(
        ids.iter()
            .all(|id| *id == kelvin_base::file::slug(id) || id.contains('~')),
        "{ids:?}"
    );
}

#[test]
fn p14_defect_4b_a_governing_heading_never_becomes_a_path_or_a_long_name() {
    let long = format!("{} end", "long ".repeat(100));
    for heading in ["../../../../pwn", "Pros/Cons", "..", ".", "a\\b", &long] {
        let case = |text: &str| format!("## {heading}\n\n{text}\n");
        let corpus = fixture::corpus(
            &[("a", case("1")), ("b", case("2"))].map(|(name, text)| (name.to_owned(), text)),
        );
        let governing = corpus.cases[0].units[0].unit_type.to_string();
        let plan = plans(&corpus, &fixture::settings(&[&governing])).remove(0);
        let [swap] = *of_kind(&plan, "swap") else {
            panic!("one swap of {heading}");
        };
        assert_eq!(Path::new(&*swap.id).components().count(), 1, "{}", swap.id);
        assert!(
            swap.id.starts_with("swap-") && swap.id.len() < 120,
            "{}",
            swap.id
        );
        assert!(!swap.id.contains(['/', '\\']), "{}", swap.id);
    }
}

#[test]
fn m10_variants_that_read_alike_are_counted_and_not_run() {
    let mut settings = fixture::settings(&[]);
    settings.perturbations.variants.pad_length = 40;
    settings.perturbations.words.filler.truncate(1);
    settings.perturbations.words.filler.extend_from_within(..);
    let (corpus, plan) = plan_of(&[("a", "## A\nx\n")], &settings);
    let variants = of_kind(&plan, "pad_length");
    let texts: BTreeSet<String> = variants
        .iter()
        .map(|variant| variant.render(&corpus, 0, &settings))
        .collect();
    // 2, 3 or 4 equal sections round one unit.
    assert!(variants.len() <= 3 + 4 + 5);
    assert_eq!(texts.len(), variants.len());
    let kept = variants.len() as u64;
    assert_eq!(
        counts_of(&plan, "pad_length"),
        (Code::own("vacuous"), Some(40), Some(kept))
    );
}
