//! Recognises by their names which fields are the right answer. In the input of a pipeline such a field would give the
//! answer away.

/// Beginnings of words that name a right answer, as in `expected`, `answers` and `golden`.
const BEGINNINGS: [&str; 8] = [
    "expected",
    "answer",
    "gold",
    "reference",
    "label",
    "correct",
    "groundtruth",
    "solution",
];
/// Words that name a right answer only as a whole.
const WHOLE: [&str; 4] = ["target", "targets", "truth", "ideal"];

/// Whether a field is the right answer, by any word of its name, as in `expected_doc`, `goldAnswer` and
/// `/meta/ground-truth`.
pub(super) fn is_answer(field: &str) -> bool {
    words(field).iter().any(|word| {
        WHOLE.contains(&&**word) || BEGINNINGS.iter().any(|begin| word.starts_with(begin))
    })
}

/// The words of a name, in lower case. A character that is no letter ends a word, and a capital letter begins one.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut signs = name.chars().peekable();
    while let Some(sign) = signs.next() {
        // `goldAnswer` and `QAAnswer`: the last of several capitals belongs to the word behind it.
        let begins = sign.is_uppercase()
            && (before.is_lowercase()
                || before.is_uppercase() && signs.peek().is_some_and(|next| next.is_lowercase()));
        if begins || !sign.is_alphabetic() {
            words.push(String::new());
        }
        if sign.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(sign.to_lowercase());
        }
        before = sign;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::is_answer;

    #[test]
    fn a_name_with_a_word_for_the_right_answer_is_known_in_every_way_to_write_it() {
        for name in [
            "expected_doc",
            "expected_answer",
            "ExpectedAnswer",
            "EXPECTED",
            "goldAnswer",
            "golden",
            "QAAnswer",
            "answers",
            "reference-text",
            "/meta/ground_truth",
            "groundTruth",
            "GROUNDTRUTH",
            "label2",
            "2nd label",
            "target",
            "correct_option",
            "solution",
        ] {
            assert!(is_answer(name), "{name}");
        }
        for name in [
            "question",
            "unexpected",
            "marigold",
            "preference",
            "targeting",
            "rule",
            "facts",
            "context",
            "id",
            "",
            "_",
            "é",
        ] {
            assert!(!is_answer(name), "{name}");
        }
    }
}
