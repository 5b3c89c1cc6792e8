//! Means, intervals and quantiles without side effects; every formula has its source.

mod agreement;
mod interval;
mod rank;
mod special;

pub use agreement::{Balanced, CategoryKappa, category_kappa, kappa, mean_absolute_error};
pub use interval::clustered_interval;
pub use rank::{auc, spearman};
pub use special::{ln_beta, t_upper_quantile};

/// The mean; none for an empty list. If all values are equal, the mean is exactly this value.
pub fn mean(values: &[f64]) -> Option<f64> {
    let (first, rest) = values.split_first()?;
    if rest.iter().all(|value| value == first) {
        return Some(*first);
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use crate::stats::mean;

    #[test]
    fn equal_values_have_themselves_as_their_mean() {
        assert_eq!(mean(&[0.1; 3]), Some(0.1));
        assert_eq!(mean(&[0.0, 1.0, 0.5, 1.0]), Some(0.625));
        assert_eq!(mean(&[]), None);
    }
}
