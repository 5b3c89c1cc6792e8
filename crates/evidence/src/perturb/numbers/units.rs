//! Words and symbols next to a number that say what it counts or measures.

use super::is_dash;
use crate::perturb::sentence::words;

/// Whether the words next to a number say what it counts.
pub(super) fn counts(before: &str, after: &str) -> bool {
    const COUNTED: &[&str] = &[
        "calls",
        "characters",
        "chf",
        "crowns",
        "customers",
        "days",
        "dollars",
        "employees",
        "eur",
        "euros",
        "feet",
        "gbp",
        "hectares",
        "hours",
        "items",
        "kg",
        "kilograms",
        "kilometers",
        "kilometres",
        "km",
        "kroner",
        "kwh",
        "liters",
        "litres",
        "members",
        "meters",
        "metres",
        "miles",
        "minutes",
        "mmhg",
        "months",
        "ms",
        "nok",
        "pages",
        "patients",
        "people",
        "persons",
        "points",
        "pounds",
        "records",
        "requests",
        "rows",
        "seconds",
        "sek",
        "shares",
        "sq",
        "square",
        "times",
        "tokens",
        "tonnes",
        "tons",
        "transactions",
        "units",
        "usd",
        "users",
        "visits",
        "votes",
        "weeks",
        "words",
        "years",
    ];
    if after.starts_with(|c: char| c == '%' || c.is_alphabetic() || is_dash(c)) {
        return true;
    }
    let next = words(after)
        .into_iter()
        .next()
        .filter(|word| after[..word.start].trim().is_empty());
    let last = words(before)
        .pop()
        .filter(|word| before[word.end..].trim().is_empty());
    let listed =
        |word: Option<&str>| word.is_some_and(|word| COUNTED.contains(&&*word.to_lowercase()));
    listed(next.map(|word| &after[word])) || listed(last.map(|word| &before[word]))
}

/// Whether a text is a unit or a multiple that is written right after a number.
pub(super) fn is_unit(text: &str) -> bool {
    const UNITS: &[&str] = &[
        "CHF", "EUR", "GB", "GBP", "GHz", "GW", "GWh", "GiB", "Hz", "K", "KB", "KiB", "M", "MB",
        "MHz", "MM", "MW", "MWh", "MiB", "Mbps", "Mio", "TB", "TiB", "USD", "V", "W", "bn", "bp",
        "bps", "cm", "d", "dB", "days", "ft", "g", "h", "ha", "hr", "hrs", "in", "k", "kB", "kHz",
        "kW", "kWh", "kb", "kg", "km", "l", "lb", "lbs", "m", "mA", "mL", "mg", "mi", "mil", "min",
        "mins", "ml", "mm", "mn", "mo", "ms", "ns", "oz", "pp", "ppm", "pt", "px", "sec", "secs",
        "t", "tn", "w", "wk", "x", "y", "yr", "yrs", "µg", "µs",
    ];
    UNITS.contains(&text)
}
