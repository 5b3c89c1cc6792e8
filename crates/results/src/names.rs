//! The names of metrics.

/// The metrics that are made for every suite, whatever its evaluator measures.
pub(super) const RESERVED: [&str; 3] = ["failure_rate", "must_pass", "flaky"];

/// The name of a metric as a part of an id: letters, digits and a few signs, with `_` for everything else.
pub(super) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.trim().chars() {
        match c.is_alphanumeric() || matches!(c, '-' | '@' | ',' | '.') {
            true => slug.push(c),
            false if slug.ends_with('_') => {}
            false => slug.push('_'),
        }
    }
    slug.trim_matches(['_', '.']).to_owned()
}
