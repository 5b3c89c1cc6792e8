use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// What a unit is, for comparison: its type and its content.
type Kind = (String, Digest);

fn kinds(case: &Case) -> Vec<Kind> {
    case.units
        .iter()
        .map(|unit| (unit.unit_type.to_string(), unit.content))
        .collect()
}

fn expected(
    corpus: &Corpus,
    at: usize,
    settings: &EvidenceSettings,
    variant: &Variant,
) -> Vec<Kind> {
    variant
        .pieces
        .iter()
        .map(|piece| match piece {
            Piece::Own(unit) => kinds(&corpus.cases[at]).swap_remove(*unit),
            Piece::Peer(place, _) => {
                let (case, unit) = place.find(corpus);
                let mut units = case.units.iter();
                let at = units.position(|other| std::ptr::eq(other, unit));
                kinds(case).swap_remove(at.expect("a unit of its case"))
            }
            Piece::Edited(_) => unreachable!("no default kind rewrites a unit"),
            Piece::Filler(section, _) => {
                let section = &settings.perturbations.words.filler[*section];
                let text = section.markdown.clone();
                kinds(&Case::parse("f", "f", text).expect("parses")).swap_remove(0)
            }
        })
        .collect()
}

fn corpora() -> impl Strategy<Value = Corpus> {
    let document = fixture::document().prop_filter("not a case with units", |text| {
        Case::parse("c", "c", text.as_str()).is_ok_and(|case| !case.units.is_empty())
    });
    proptest::collection::vec(document, 1..5).prop_map(|documents| {
        let texts: Vec<(String, String)> = documents
            .into_iter()
            .enumerate()
            .map(|(number, text)| (format!("c{number}"), text))
            .collect();
        fixture::corpus(&texts)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_local_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn kel_09_variants_read_back_as_the_preamble_and_exactly_their_units(
        corpus in corpora(),
        seed in any::<u64>(),
        include in any::<bool>(),
    ) {
        let governing = corpus.cases[0].units[0].unit_type.to_string();
        let mut settings = fixture::settings(&[&governing]);
        settings.seed = seed;
        settings.perturbations.pad_include_governing = include;
        for (at, plan) in plans(&corpus, &settings).iter().enumerate() {
            let case = &corpus.cases[at];
            let mut inputs = BTreeSet::from([case.digest()]);
            for variant in &plan.variants {
                let text = variant.render(&corpus, at, &settings);
                prop_assert_eq!(variant.input, Digest::of(text.as_bytes()));
                prop_assert!(inputs.insert(variant.input), "{} is vacuous", variant.id);
                let again = Case::parse("v", "v", text.as_str());
                prop_assert!(again.is_ok(), "{:?} of {:?}", again, text);
                let again = again.expect("checked");
                prop_assert_eq!(again.preamble(), case.preamble(), "{:?}", &text);
                prop_assert_eq!(kinds(&again), expected(&corpus, at, &settings, variant), "{:?}", &text);

                let own: Vec<usize> = variant.pieces.iter().filter_map(Piece::own).collect();
                match variant.kind {
                    "reorder" => {
                        let (mut before, mut after) = (kinds(case), kinds(&again));
                        prop_assert_ne!(&before, &after);
                        before.sort();
                        after.sort();
                        prop_assert_eq!(before, after);
                    }
                    "swap" => {
                        let (before, after) = (kinds(case), kinds(&again));
                        let changed: Vec<usize> =
                            (0..before.len()).filter(|unit| before[*unit] != after[*unit]).collect();
                        prop_assert_eq!(before.len(), after.len());
                        prop_assert_eq!(changed.len(), 1);
                        prop_assert_eq!(&before[changed[0]].0, &after[changed[0]].0);
                        prop_assert_eq!(&before[changed[0]].0, &governing);
                    }
                    _ => {
                        prop_assert!(own.is_sorted() && own.len() == case.units.len());
                        prop_assert!((2..=4).contains(&(variant.pieces.len() - own.len())));
                    }
                }
            }
        }
    }
}
