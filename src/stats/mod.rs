//! Means, intervals and quantiles; pure, every formula with its source.

/// A two-sided 95 % interval for the mean of values in `[0, 1]` that come in clusters.
///
/// `clusters` holds, per case, the sum of its values and how many there are; cases without values
/// do not count. None below two cases.
pub(crate) fn clustered_interval(_clusters: &[(f64, usize)]) -> Option<(f64, f64)> {
    todo!()
}
