use proptest::prelude::*;
use std::sync::LazyLock;

use super::*;

/// With a pack that has longer phrases than those that ship as the default.
static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let packs = ["legal".to_owned()];
    Words::load(std::path::Path::new(""), &packs, None).expect("the shipped lists load")
});

fn flipped(flipper: &Flipper, text: &str) -> String {
    apply_edits(text, &flipper.flip(text, 0..text.len()))
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

/// Every flip of one word.
fn each(text: &str) -> Vec<String> {
    let flips = Flipper::of_antonyms(&WORDS).flip_each(text, 0..text.len());
    flips.iter().map(|edits| apply_edits(text, edits)).collect()
}

#[test]
fn m8_one_word_is_flipped_at_a_time_both_ways_and_keeps_its_case() {
    for (text, others) in [
        (
            "Approve valid claims and deny invalid claims.",
            vec![
                "Deny valid claims and deny invalid claims.",
                "Approve valid claims and approve invalid claims.",
            ],
        ),
        (
            "APPROVED. Decision: Denied.",
            vec!["DENIED. Decision: Denied.", "APPROVED. Decision: Approved."],
        ),
        ("A denial is issued.", vec!["An approval is issued."]),
        ("It needs an acceptance.", vec!["It needs a rejection."]),
        (
            "All conditions are currently met.",
            vec!["All conditions are currently unmet."],
        ),
        (
            "A claim is valid if it is not yet signed.",
            vec![
                "A claim is invalid if it is not yet signed.",
                "A claim is valid if it is not yet unsigned.",
            ],
        ),
        (
            "The claim is valid\nor late.",
            vec!["The claim is invalid\nor late."],
        ),
        ("The policy forbids pets.", vec!["The policy allows pets."]),
        (
            "Goods can pass the inspection.",
            vec!["Goods can fail the inspection."],
        ),
        ("The parcel was rejected.", vec!["The parcel was accepted."]),
        (
            "The risk is high, so escalate.",
            vec!["The risk is low, so escalate."],
        ),
        (
            "Flood damage is excluded.",
            vec!["Flood damage is included."],
        ),
        (
            "None of these conditions are met.",
            vec!["None of these conditions are unmet."],
        ),
        (
            "The content is harmful and therefore not acceptable.",
            vec!["The content is harmful and therefore not unacceptable."],
        ),
    ] {
        assert_eq!(each(text), others);
        for other in others {
            assert!(each(other).iter().any(|back| back == text), "{other}");
        }
    }
}

#[test]
fn m8_a_word_that_decides_nothing_stays() {
    for text in [
        "We met the team and signed the visitors' book.",
        "Please open the file, present the badge and complete the form.",
        "The unmet need; a helmet; the MeT office",
        // A part of the meaning of another word.
        "The pump ran at low flow. The high tone repeats faster. Positive pressure rooms.",
        "An approved supplier delivers. The approval process is slow. Approval letters are sent.",
        "The acceptance test is on Monday. A valid card and a false alarm. Active ingredients.",
        "No condition may be met by a promise. The test record was signed off. The boarding pass was lost.",
        // Events and facts.
        "The record was closed. Testing closed with open defects. Two weeks passed.",
        "A console that fails during a session is swapped. Whoever fails to answer is called again.",
        "The fee is paid monthly. The form is available online. The box includes batteries.",
        "The gateway allows women to walk about. Allow 5 days for delivery.",
        // Who disputes something decides nothing.
        "The patient denies chest pain. She denied any fever. The tenant denies the damage.",
        "The applicant is disabled. He was denied boarding. The bank denied that it knew.",
        "It is true that the form is late. The denied claim was appealed. Denied claims are kept.",
        // A part of a whole: its opposite may be as true.
        "Some conditions are met. Some of these conditions are currently unmet.",
        "Not all conditions are met. Two of the conditions are unmet. At least 3 are met.",
        "Several of the forms in the file are valid.",
        // What is left open.
        "The committee decides whether to approve the claim. Is the claim valid?",
        "Claims are approved or denied by the desk. It says whether the form is valid.",
    ] {
        assert_eq!(each(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn every_pair_that_ships_flips_both_ways() {
    let words = WORDS.clone();
    let comparators = Flipper::of_comparators(&words);
    let lists = [
        (&comparators, &words.comparators, "It is % here"),
        (&comparators, &words.number_comparators, "It is % 5"),
    ];
    for (flipper, pairs, frame) in lists {
        for (one, other) in pairs {
            let (one, other) = (frame.replace('%', one), frame.replace('%', other));
            assert_eq!(flipped(flipper, &one), other);
            assert_eq!(flipped(flipper, &other), one);
        }
    }
    // Each word in a place where it decides something.
    let outcome = |word: &str| match word {
        "pass" | "fail" => format!("Candidates can {word} the test."),
        "allow" | "forbid" => format!("We {word} pets."),
        _ if word.starts_with("pass") || word.starts_with("fail") => format!("It {word} the test."),
        "allows" | "forbids" => format!("The policy {word} pets."),
        _ => format!("The board {word} it."),
    };
    let state = |word: &str| format!("The form is {word}.");
    let pairs = words.antonyms.iter().map(|pair| (pair, true));
    for ((one, other), is_outcome) in
        pairs.chain(words.participles.iter().map(|pair| (pair, false)))
    {
        let frame = |word: &str| {
            if is_outcome {
                outcome(word)
            } else {
                state(word)
            }
        };
        assert_eq!(each(&frame(one)), [frame(other)]);
        assert_eq!(each(&frame(other)), [frame(one)]);
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
        let flipper = Flipper::of_comparators(&WORDS);
        let once = flipped(&flipper, &text);
        prop_assert_eq!(flipped(&flipper, &once), text.clone());
        for other in each(&text) {
            prop_assert_ne!(&other, &text);
            prop_assert!(each(&other).contains(&text), "{}", other);
        }
    }
}

#[test]
fn the_article_follows_the_sound_of_the_word() {
    for (text, word, mended_text) in [
        ("a valid claim", "invalid", "an valid claim"),
        ("an invalid claim", "valid", "a invalid claim"),
        ("A valid claim", "Invalid", "An valid claim"),
        ("AN INVALID claim", "VALID", "A INVALID claim"),
        ("A VALID claim", "INVALID", "AN VALID claim"),
        ("an unpaid bill", "paid", "a unpaid bill"),
        ("a denial", "approval", "an denial"),
    ] {
        let place = text.find(' ').expect("a word follows") + 1;
        let (range, article) = mended_article(text, place, word).expect("it has to change");
        let got = format!("{}{article}{}", &text[..range.start], &text[range.end..]);
        assert_eq!(got, mended_text);
    }
    for (text, word) in [("the valid claim", "invalid"), ("a denial", "rejection")] {
        let place = text.find(' ').expect("a word follows") + 1;
        assert_eq!(mended_article(text, place, word), None);
    }
    assert!(!begins_with_vowel("united") && begins_with_vowel("uninsured"));
}
