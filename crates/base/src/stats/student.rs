//! Student's t: its upper tail and the quantile of that tail, for any real degrees of freedom.

use super::special::{beta_cdf_of_pair, ln_beta};

/// The probability that a t variable with `df > 0` degrees of freedom exceeds `t >= 0`
/// (Abramowitz and Stegun 26.7.1).
fn upper_tail(t: f64, df: f64) -> f64 {
    let whole = df + t * t;
    0.5 * beta_cdf_of_pair(df / whole, t * t / whole, 0.5 * df, 0.5)
}

/// The value that a t variable with `df > 0` degrees of freedom exceeds with probability `alpha`.
///
/// Infinite at `alpha <= 0`; `alpha` of at least a half gives the mirrored value.
pub fn upper_quantile(alpha: f64, df: f64) -> f64 {
    const STEPS: usize = 2_000;
    if alpha > 0.5 {
        return -upper_quantile(1.0 - alpha, df);
    }
    if alpha <= 0.0 {
        return f64::INFINITY;
    }
    let ln_peak = -ln_beta(0.5 * df, 0.5) - 0.5 * df.ln();
    // The tail is convex above zero, so Newton's method climbs to the root and never passes it;
    // when rounding stops the climb, it has arrived.
    let mut t = 0.0;
    for _ in 0..STEPS {
        let density = (ln_peak - 0.5 * (df + 1.0) * (t * t / df).ln_1p()).exp();
        let next = t + (upper_tail(t, df) - alpha) / density;
        if next <= t {
            break;
        }
        t = next;
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    // Computed with mpmath at 40 digits.
    const UPPER_TAIL: [(f64, f64, f64); 10] = [
        (0.1, 1.0, 0.4682744825694464),
        (1.0, 1.0, 0.25),
        (63.0, 1.0, 0.0050521136066618965),
        (2.5, 1.7, 0.0755908871945206),
        (2.0, 5.0, 0.05096973941492918),
        (0.001, 19.0, 0.4996062702617828),
        (4.0, 19.0, 0.0003830961686143231),
        (1.6, 49.0, 0.05801363122426029),
        (12.0, 30.0, 2.790092707599628e-13),
        (2.0, 10000.0, 0.02276363033071772),
    ];
    const UPPER_QUANTILE: [(f64, f64, f64); 14] = [
        (0.1, 1.0, 3.077683537175253),
        (0.02, 1.0, 15.894544843865303),
        (0.0004, 1.0, 795.774296580412),
        (0.03, 1.37, 6.00855844434172),
        (0.02, 2.0, 4.848732213850612),
        (0.1, 4.0, 1.5332062740589438),
        (0.03, 4.6, 2.4815394502085995),
        (0.025, 5.0, 2.5705818356363155),
        (0.05, 19.0, 1.7291328115213696),
        (0.02, 24.8, 2.167544591194746),
        (0.03, 49.0, 1.9253481695653822),
        (0.025, 999.0, 1.96234146113345),
        (1e-06, 8.0, 12.109834665556214),
        (0.2, 10000.0, 0.8416571791416527),
    ];

    #[test]
    fn the_upper_tail_agrees_with_the_oracle() {
        for (t, df, want) in UPPER_TAIL {
            let got = upper_tail(t, df);
            assert!((got - want).abs() <= 1e-12 * want, "{t} {df}: {got} {want}");
        }
    }

    #[test]
    fn the_upper_quantile_agrees_with_the_oracle() {
        for (alpha, df, want) in UPPER_QUANTILE {
            let got = upper_quantile(alpha, df);
            assert!(
                (got - want).abs() <= 1e-11 * want,
                "{alpha} {df}: {got} {want}"
            );
        }
    }

    #[test]
    fn the_quantile_is_mirrored_and_its_ends_are_infinite() {
        assert_eq!(upper_quantile(0.5, 3.0), 0.0);
        assert_eq!(upper_quantile(0.0, 3.0), f64::INFINITY);
        assert_eq!(upper_quantile(1.0, 3.0), f64::NEG_INFINITY);
        assert!((upper_quantile(0.9, 3.0) + upper_quantile(0.1, 3.0)).abs() < 1e-12);
    }
}
