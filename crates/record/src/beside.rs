//! The fields that a report keeps of an output beside its answer, such as a reason.

/// How many fields of an output are stored at most.
pub const FIELDS_BESIDE: usize = 4;

/// How the name of a field begins that has the answer to an earlier turn of a conversation.
pub const TURN: &str = "turn ";

/// Words that times are written with.
const OF_TIMES: [&str; 43] = [
    "mon",
    "tue",
    "wed",
    "thu",
    "fri",
    "sat",
    "sun",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "utc",
    "gmt",
    "am",
    "pm",
    "ago",
];

/// Words that amounts are written with.
const OF_AMOUNTS: [&str; 17] = [
    "ms", "us", "ns", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes",
    "hour", "hours", "day", "days", "token", "tokens",
];

/// Whether a text has a word: letters alone, with white space or a mark around them. A time or a duration has no words,
/// however it is written: beside a number, the names of days, months and units are none.
pub fn has_words(text: &str) -> bool {
    let is_mark = |letter: char| !letter.is_alphanumeric();
    let has_number = text.bytes().any(|byte| byte.is_ascii_digit());
    let is_of_number = |word: &str| {
        let word = word.to_lowercase();
        OF_TIMES.contains(&&*word) || OF_AMOUNTS.contains(&&*word)
    };
    let mut words = text
        .split_whitespace()
        .map(|word| word.trim_matches(is_mark));
    words.any(|word| {
        word.chars().count() > 1
            && word.chars().all(char::is_alphabetic)
            && !(has_number && is_of_number(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_times_and_identifiers_are_no_words() {
        for (text, is_worded) in [
            ("See a doctor.", true),
            ("[\"no money\"]", true),
            ("You may go on Monday", true),
            ("after 3 days of rain", true),
            ("0.35", false),
            ("8f3a-11ee", false),
            ("2026-11-30T11:00:00Z", false),
            ("Mon, 30 Nov 2026 14:37:24 GMT", false),
            ("12 ms", false),
            ("3 Seconds", false),
            ("", false),
        ] {
            assert_eq!(has_words(text), is_worded, "{text}");
        }
    }
}
