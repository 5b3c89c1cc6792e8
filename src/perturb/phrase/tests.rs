use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

/// With a pack that has longer phrases than those that ship as the default.
static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let packs = ["legal".to_owned()];
    Words::load(std::path::Path::new(""), &packs, None).expect("the shipped lists load")
});

fn flipped(flipper: &Flipper, text: &str) -> String {
    apply(text, &flipper.flip(text, 0..text.len()))
}

#[test]
fn m6_comparator_flip_does_not_undo_itself() {
    let flipper = Flipper::of_comparators(&WORDS);
    for (text, other) in [
        ("more than 10", "less than 10"),
        ("no more than 5 days", "no less than 5 days"),
        ("not less than 5 days", "not more than 5 days"),
        (
            "greater than 3 and smaller than 4",
            "smaller than 3 and greater than 4",
        ),
        ("at least 2, at most 3", "at most 2, at least 3"),
        (
            "above 4%, over $5 or below six",
            "below 4%, under $5 or above six",
        ),
        ("it falls short of the target", "it exceeds the target"),
        ("more than or equal to 7", "less than or equal to 7"),
        ("a minimum of two", "a maximum of two"),
        ("18 or older, $5 or more", "18 or older, $5 or less"),
        (
            "a score >= 640, ratio <3, x≥2 and y > 1",
            "a score <= 640, ratio >3, x≤2 and y < 1",
        ),
        (
            "At Least one, At least two, AT LEAST THREE",
            "At Most one, At most two, AT MOST THREE",
        ),
        ("at\nleast 5", "at\nmost 5"),
        ("within 30 days", "beyond 30 days"),
    ] {
        assert_eq!(flipped(&flipper, text), other);
        assert_eq!(flipped(&flipper, other), text);
    }
}

#[test]
fn comparators_that_are_something_else_stay() {
    let flipper = Flipper::of_comparators(&WORDS);
    for text in [
        "under this policy, over the phone, as noted above",
        "a -> b, a => b, <b> and x <- y, <!-- --> a <> b",
        "the most, the least, furthermore",
        "after the review",
        "over\u{1}code",
    ] {
        assert_eq!(flipped(&flipper, text), text);
    }
}

#[test]
fn m8_polarity_flips_both_ways_everywhere_and_keeps_the_case() {
    let flipper = Flipper::of_antonyms(&WORDS);
    for (text, other) in [
        (
            "Approved, denied and APPROVED.",
            "Denied, approved and DENIED.",
        ),
        (
            "Conditions are met; one is not yet unmet.",
            "Conditions are unmet; one is not yet met.",
        ),
        ("The request was rejected.", "The request was accepted."),
        (
            "It shall not pass, but shall fail.",
            "It shall fail, but shall not pass.",
        ),
        ("non-compliant", "compliant"),
        (
            "It is closed and was never signed",
            "It is open and was always signed",
        ),
        ("valid\nor invalid", "invalid\nor valid"),
    ] {
        assert_eq!(flipped(&flipper, other), text);
        assert_eq!(flipped(&flipper, text), other);
    }
}

#[test]
fn m8_a_verb_is_no_participle() {
    let flipper = Flipper::of_antonyms(&WORDS);
    for text in [
        "We met the team and signed the visitors' book.",
        "Please open the file, present the badge and complete the form.",
        "The unmet need; a helmet; the MeT office",
    ] {
        assert_eq!(flipped(&flipper, text), text);
    }
}

#[test]
fn every_pair_that_ships_flips_both_ways() {
    let words = WORDS.clone();
    let comparators = Flipper::of_comparators(&words);
    let antonyms = Flipper::of_antonyms(&words);
    let lists = [
        (&comparators, &words.comparators, "It is % here"),
        (&comparators, &words.number_comparators, "It is % 5"),
        (&antonyms, &words.antonyms, "It is so: % here"),
        (&antonyms, &words.participles, "It is % here"),
    ];
    for (flipper, pairs, frame) in lists {
        for (one, other) in pairs {
            let (one, other) = (frame.replace('%', one), frame.replace('%', other));
            assert_eq!(flipped(flipper, &one), other);
            assert_eq!(flipped(flipper, &other), one);
        }
    }
}

/// Text out of the shipped phrases and what is found around them.
fn phrases() -> impl Strategy<Value = String> {
    let words = WORDS.clone();
    let mut pool: Vec<String> = [
        words.comparators,
        words.number_comparators,
        words.antonyms,
        words.participles,
    ]
    .into_iter()
    .flatten()
    .flat_map(|(one, other)| [one, other])
    .chain(words.auxiliaries)
    .collect();
    pool.extend(
        [
            "no", "not", "the", "5", "$1", "than", "or", "\n", "\u{1}", "MeT",
        ]
        .map(str::to_owned),
    );
    let word = (0..pool.len(), 0..4_u8).prop_map(move |(at, dress)| match dress {
        0 => capitalised(&pool[at]),
        1 => pool[at].to_uppercase(),
        _ => pool[at].clone(),
    });
    let gap = prop_oneof![6 => Just(" "), 1 => Just("\n"), 1 => Just(", "), 1 => Just("")];
    proptest::collection::vec((word, gap), 0..12).prop_map(|words| {
        words
            .into_iter()
            .flat_map(|(word, gap)| [word, gap.to_owned()])
            .collect()
    })
}

proptest! {
    #[test]
    fn m6_m8_flipping_twice_restores_the_text(text in phrases()) {
        for flipper in [Flipper::of_comparators(&WORDS), Flipper::of_antonyms(&WORDS)] {
            let once = flipped(&flipper, &text);
            prop_assert_eq!(flipped(&flipper, &once), text.clone());
        }
    }
}
