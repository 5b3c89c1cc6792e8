//! Corrects "a" and "an" before a changed word.

use std::ops::Range;

use crate::cases::prose::MASK;

/// The article before a place of a text, in the form that it needs before this new word; none where there is no
/// article, or where the present one fits.
pub(super) fn mended(text: &str, place: usize, word: &str) -> Option<(Range<usize>, String)> {
    let before = text[..place].trim_end_matches(MASK);
    let head = before.trim_end_matches([' ', '\n']);
    let article = head.rsplit(|c: char| !c.is_alphanumeric()).next()?;
    if head.len() == before.len() || !["a", "an"].contains(&&*article.to_lowercase()) {
        return None;
    }
    let fits = if begins_with_vowel(word) { "an" } else { "a" };
    if article.eq_ignore_ascii_case(fits) {
        return None;
    }
    let capital = article.starts_with('A');
    let shouted = capital && word.chars().all(|c| !c.is_lowercase()) && word.len() > 1;
    let new = match (capital, fits) {
        (false, fits) => fits.to_owned(),
        (true, "an") if shouted => "AN".to_owned(),
        (true, "an") => "An".to_owned(),
        (true, _) => "A".to_owned(),
    };
    Some((head.len() - article.len()..head.len(), new))
}

/// Whether a word is pronounced with a vowel at its beginning.
fn begins_with_vowel(word: &str) -> bool {
    const SILENT: &[&str] = &["heir", "honest", "honor", "honour", "hour"];
    const CONSONANT: &[&str] = &["eu", "one", "once", "uni", "use", "usa", "usu", "uti"];
    let word = word.to_lowercase();
    let begins = |starts: &[&str]| starts.iter().any(|start| word.starts_with(start));
    // "Uninsured" begins with the sound of a vowel, "united" does not.
    let negated = word.starts_with("unin") || word.starts_with("unim");
    let vowel = word.starts_with(['a', 'e', 'i', 'o', 'u']);
    begins(SILENT) || (vowel && (negated || !begins(CONSONANT)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let (range, article) = mended(text, place, word).expect("it has to change");
            let got = format!("{}{article}{}", &text[..range.start], &text[range.end..]);
            assert_eq!(got, mended_text);
        }
        for (text, word) in [("the valid claim", "invalid"), ("a denial", "rejection")] {
            let place = text.find(' ').expect("a word follows") + 1;
            assert_eq!(mended(text, place, word), None);
        }
        assert!(!begins_with_vowel("united") && begins_with_vowel("uninsured"));
    }
}
