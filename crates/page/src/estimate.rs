//! A measured value in the form for people.

/// The lower ends of the bands of a value in `[0, 1]`. A value of exactly 0.90 is in the first band.
pub const BANDS: [f64; 4] = [0.90, 0.70, 0.50, 0.30];

/// The index of the band of an unrounded value, 0 for the best.
pub fn band(value: f64) -> usize {
    let place = BANDS.iter().position(|low| value >= *low);
    place.unwrap_or(BANDS.len())
}

/// A value with its sample and its interval, which are always shown together.
#[derive(Clone, Debug)]
pub struct Estimate<'a> {
    /// The unrounded value.
    pub value: Option<f64>,
    /// The value with 4 decimals, or more if fewer would show another band; `not measured` if there is none.
    pub shown: String,
    /// The sample, as `n=17, 1 failed`.
    pub sample: String,
    /// The interval, as `0.79 to 0.93`, rounded outwards.
    pub interval: Option<String>,
    /// Why there is no value. The text may quote the user.
    pub reason: Option<&'a str>,
    /// The word for the value.
    pub word: Option<&'static str>,
    /// The index of its band, 0 for the best; none if bands have no meaning.
    pub band: Option<usize>,
    /// The ends of the interval, unrounded.
    pub ends: Option<(f64, f64)>,
}

impl<'a> Estimate<'a> {
    /// A value, or the reason why there is none, over `n` samples and `failed` others that failed.
    pub fn new(value: Result<f64, Option<&'a str>>, n: usize, failed: usize) -> Self {
        let (value, reason) = match value {
            Ok(value) => (Some(value), None),
            Err(reason) => (None, reason),
        };
        Self {
            value,
            shown: value.map_or_else(|| "not measured".to_owned(), display),
            sample: match failed {
                0 => format!("n={n}"),
                failed => format!("n={n}, {failed} failed"),
            },
            interval: None,
            reason,
            word: None,
            band: None,
            ends: None,
        }
    }

    /// Adds the ends of the interval.
    #[must_use]
    pub fn between(mut self, low: f64, high: f64) -> Self {
        self.ends = Some((low, high));
        // The rounded interval still contains the value next to it. As a floating-point number,
        // 0.29 is slightly less than 29 hundredths, and must still be shown as 0.29.
        let low = (low * 100.0 + 1e-9).floor() / 100.0;
        let high = (high * 100.0 - 1e-9).ceil() / 100.0;
        self.interval = Some(format!("{:.2} to {:.2}", low + 0.0, high + 0.0));
        self
    }

    /// Shows the nearest value in `[0, 1]`, for a ratio that noise can move outside it.
    #[must_use]
    pub fn within_one(mut self) -> Self {
        self.value = self.value.map(|value| value.clamp(0.0, 1.0));
        if let Some(value) = self.value {
            self.shown = display(value);
        }
        self
    }

    /// Adds the word for the band of the value, from the words for all bands, best first.
    #[must_use]
    pub fn rated(mut self, words: [&'static str; BANDS.len() + 1]) -> Self {
        if let Some(value) = self.value {
            self.word = Some(words[band(value)]);
            self.band = Some(band(value));
            self.shown = rounded(value, 4);
        }
        self
    }

    /// The value with fewer digits, for small spaces.
    pub fn brief(&self) -> String {
        self.value.map_or_else(|| "-".to_owned(), brief)
    }
}

/// A value as a text for people: 4 decimals, and no minus before a zero.
pub fn display(value: f64) -> String {
    let text = format!("{value:.4}");
    if text == "-0.0000" {
        "0.0000".to_owned()
    } else {
        text
    }
}

/// The value with two decimals, or more if two would show another band.
pub fn brief(value: f64) -> String {
    rounded(value, 2)
}

/// The value with this many decimals, or more if these would show another band: 0.89996 is not
/// 0.9000.
fn rounded(value: f64, least: usize) -> String {
    let shown = |digits: usize| format!("{:.digits$}", value + 0.0);
    let agrees = |text: &String| text.parse().is_ok_and(|shown| band(shown) == band(value));
    (least..=17)
        .map(shown)
        .find(agrees)
        .unwrap_or_else(|| shown(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 5] = ["a", "b", "c", "d", "e"];

    #[test]
    fn a_value_is_never_shown_in_another_band_than_its_word() {
        let shown = |value| Estimate::new(Ok(value), 10, 0).rated(WORDS).shown;
        assert_eq!(shown(0.9), "0.9000");
        assert_eq!(shown(0.89996), "0.89996");
        assert_eq!(shown(0.2999999999), "0.2999999999");
        assert_eq!(shown(-0.0), "0.0000");
        assert_eq!(brief(0.899), "0.899");
        assert_eq!(brief(0.9), "0.90");
    }

    #[test]
    fn an_interval_still_contains_its_value_once_it_is_rounded() {
        let shown = |low, high| Estimate::new(Ok(0.4), 10, 0).between(low, high).interval;
        assert_eq!(shown(0.9962, 0.99961).as_deref(), Some("0.99 to 1.00"));
        assert_eq!(shown(0.29, 0.57).as_deref(), Some("0.29 to 0.57"));
    }

    #[test]
    fn what_was_not_measured_says_why_and_has_its_sample() {
        let none = Estimate::new(Err(Some("there is one case")), 0, 3);
        assert_eq!(none.shown, "not measured");
        assert_eq!(none.sample, "n=0, 3 failed");
        assert_eq!(
            (none.brief().as_str(), none.reason),
            ("-", Some("there is one case"))
        );
    }

    #[test]
    fn a_value_has_four_decimals_and_zero_no_sign() {
        assert_eq!(display(2.0 / 3.0), "0.6667");
        assert_eq!(display(-1e-9), "0.0000");
    }
}
