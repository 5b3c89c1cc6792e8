//! What holds for whatever Markdown there is.

use proptest::prelude::*;

use super::*;
use crate::cases::outline::outline;

/// Documents with a governing and other units, of prose and of pieces that make Markdown hard.
fn hard_case() -> impl Strategy<Value = String> {
    let sentence = proptest::sample::select(vec![
        "The clerk kept the file. ",
        "Verify the date of the visit. ",
        "It's \"so\" -- and ‘thus’… ",
        "Approved, at least 5 – or 1,000... ",
        "**The** conditions are met.\n",
        "> quoted. The end. ",
        "\n\n- item one. The rest\n  goes on\n- item two\n\n",
        "\n\n1. first\n\n   second\n2) third\n\n",
        "\n\n| a | b |\n|---|---|\n| 5 | the x |\n\n",
        "\n\n```\nthe code. - x\n```\n\n",
        "[the link](http://x.y) and `the code`. ",
        "hard  \nbreak\\\nhere ",
        "\n— so. \n– so ",
        "\n\n### the heading\n\n",
        "\n\n***\n\n",
        "<b>the tag</b> ",
        "It requires: a, b. All conditions are met. Then. ",
        "\n> 5 < 6\n",
        "'tis the \"odd one. ",
    ]);
    let unit = (
        proptest::bool::ANY,
        proptest::collection::vec(sentence, 0..7),
    )
        .prop_map(|(governs, parts)| {
            let heading = if governs { "Gate Rule" } else { "Facts" };
            format!("## {heading}\n\n{}\n\n", parts.concat())
        });
    let newline = prop_oneof![3 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r")];
    (proptest::collection::vec(unit, 1..4), newline)
        .prop_map(|(units, newline)| units.concat().replace('\n', newline))
}

proptest! {
    #[test]
    fn no_document_makes_a_kind_panic(text in fixture::document(), other in fixture::document()) {
        let mut settings = enabled(&[]);
        settings.governing_types = vec!["gate_rule".to_owned(), "code".to_owned()];
        settings.perturbations.enable = ALL.iter().map(|kind| kind.name.to_owned()).collect();
        if [&text, &other].iter().any(|text| Case::parse("a", "a", (*text).clone()).is_err()) {
            return Ok(());
        }
        let (corpus, plan) = plan_of(&[("a", &*text), ("b", &*other)], &settings);
        for variant in &plan.variants {
            let rendered = variant.render(&corpus, 0, &settings);
            prop_assert!(Case::parse("a", "a", rendered.clone()).is_ok(), "{}: {rendered:?}", variant.id);
        }
    }

    #[test]
    fn m16_invariance_kinds_keep_governing_units_and_the_structure_of_all_others(
        text in hard_case(),
        seed in 0_u64..1_000,
    ) {
        let mut settings = enabled(&[]);
        settings.perturbations.enable = ALL.iter().map(|kind| kind.name.to_owned()).collect();
        settings.seed = seed;
        let Ok(case) = Case::parse("a", "a", text.clone()) else { return Ok(()) };
        let (corpus, plan) = plan_of(&[("a", &*text), ("b", LEASE)], &settings);
        for variant in &plan.variants {
            let kind = find(variant.kind).expect("registered");
            if kind.is_default {
                continue;
            }
            let rendered = variant.render(&corpus, 0, &settings);
            let parsed = Case::parse("a", "a", rendered.clone());
            let Ok(parsed) = parsed else { panic!("{}: {rendered:?}", variant.id) };
            prop_assert_eq!(parsed.units.len() + variant.notes.removed.len(), case.units.len());
            if kind.figure == Figure::Drop {
                continue;
            }
            for (was, is) in case.units.iter().zip(&parsed.units) {
                prop_assert_eq!(&was.unit_type, &is.unit_type);
                let (was_text, is_text) = (case.body(was), parsed.body(is));
                let governs = &*was.unit_type == "gate_rule";
                if governs == (kind.figure.relation() == Relation::Invariance) {
                    prop_assert_eq!(was_text, is_text, "{}", variant.id);
                }
                if kind.name != "swap_condition" {
                    prop_assert_eq!(outline(was_text).shape, outline(is_text).shape, "{}", variant.id);
                }
                if ["whitespace_jitter", "bullet_reformat"].contains(&kind.name) {
                    prop_assert_eq!(outline(was_text).text, outline(is_text).text, "{}", variant.id);
                }
            }
        }
    }
}
