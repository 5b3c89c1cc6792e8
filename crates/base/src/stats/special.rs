//! The gamma and beta functions that the intervals and the gate use.

use std::f64::consts::PI;

/// From this value on, five terms of the Stirling series are exact to the last one or two bits.
const STIRLING_FROM: f64 = 15.0;

/// The natural logarithm of the gamma function, for `z > 0`.
///
/// Stirling's series (DLMF 5.11.1), after the recurrence `Γ(z + 1) = zΓ(z)` has moved the argument to a range where the
/// series is exact.
pub(super) fn ln_gamma(z: f64) -> f64 {
    let mut shifted = z;
    let mut product = 1.0;
    while shifted < STIRLING_FROM {
        product *= shifted;
        shifted += 1.0;
    }
    (shifted - 0.5) * shifted.ln() - shifted + 0.5 * (2.0 * PI).ln() + stirling_series(shifted)
        - product.ln()
}

/// The natural logarithm of the beta function, for `a, b > 0` (DLMF 5.12.1).
pub fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// The regularized incomplete beta function `I_x(a, b)`: the probability that a Beta(a, b) is at
/// most `x`, for `a, b > 0`.
pub(super) fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    beta_cdf_of_pair(x, 1.0 - x, a, b)
}

/// Like `beta_cdf`, for a `y = 1 - x` that is known more exactly than it can be computed from `x`.
pub(super) fn beta_cdf_of_pair(x: f64, y: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    // The fraction converges fast below the mean; above it the symmetry (DLMF 8.17.4) is used.
    if x <= (a + 1.0) / (a + b + 2.0) {
        beta_power(x, y, a, b) / a * continued_fraction(x, a, b)
    } else {
        1.0 - beta_power(y, x, b, a) / b * continued_fraction(y, b, a)
    }
}

/// The `p`-quantile of a Beta(a, b), exact to 1e-14: Newton's method, kept within a bracket that
/// shrinks at every step.
pub(super) fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    const STEPS: usize = 200;
    const CLOSE: f64 = 1e-16;
    let (mut low, mut high) = (0.0, 1.0);
    let mut x = a / (a + b);
    for _ in 0..STEPS {
        let miss = beta_cdf(x, a, b) - p;
        if miss > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let density = beta_power(x, 1.0 - x, a, b) / (x * (1.0 - x));
        let newton = x - miss / density;
        let next = if newton > low && newton < high {
            newton
        } else {
            f64::midpoint(low, high)
        };
        if (next - x).abs() <= CLOSE {
            return next;
        }
        x = next;
    }
    x
}

/// `x^a y^b / B(a, b)` without the cancellation of large logarithms: Loader, "Fast and accurate
/// computation of binomial probabilities", 2000.
fn beta_power(x: f64, y: f64, a: f64, b: f64) -> f64 {
    let n = a + b;
    let stirling = stirling_error(n) - stirling_error(a) - stirling_error(b);
    let deviance = deviance(a, n * x) + deviance(b, n * y);
    (a / n * b / (2.0 * PI)).sqrt() * (stirling - deviance).exp()
}

/// `x ln(x/m) + m - x`, accurate even if `x` and `m` are close (Loader 2000, section 3).
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = (x - m) / (x + m);
    let mut sum = (x - m) * v;
    let mut term = 2.0 * x * v;
    for odd in (3..).step_by(2) {
        term *= v * v;
        let next = sum + term / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// The logarithm of the factor between Stirling's formula `√(2π/z) (z/e)^z` and `Γ(z)`.
fn stirling_error(z: f64) -> f64 {
    if z >= STIRLING_FROM {
        stirling_series(z)
    } else {
        ln_gamma(z) - (z - 0.5) * z.ln() + z - 0.5 * (2.0 * PI).ln()
    }
}

/// The Stirling series to five terms (DLMF 5.11.1).
fn stirling_series(z: f64) -> f64 {
    let w = 1.0 / (z * z);
    (1.0 / 12.0 - w * (1.0 / 360.0 - w * (1.0 / 1260.0 - w * (1.0 / 1680.0 - w / 1188.0)))) / z
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), by the method of Lentz
/// as modified by Thompson and Barnett (1986).
fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const STEPS: u32 = 100_000;
    let off_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / off_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in (1..STEPS).map(f64::from) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for numerator in [even, odd] {
            d = 1.0 / off_zero(1.0 + numerator * d);
            c = off_zero(1.0 + numerator / c);
            change = c * d;
            value *= change;
        }
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}

/// The probability that a t variable with `df > 0` degrees of freedom exceeds `t >= 0`
/// (Abramowitz and Stegun 26.7.1).
fn t_upper_tail(t: f64, df: f64) -> f64 {
    let whole = df + t * t;
    0.5 * beta_cdf_of_pair(df / whole, t * t / whole, 0.5 * df, 0.5)
}

/// The value that a t variable with `df > 0` degrees of freedom exceeds with probability `alpha`.
///
/// Infinite for `alpha <= 0`; for an `alpha` of at least one half the mirrored value.
pub fn t_upper_quantile(alpha: f64, df: f64) -> f64 {
    const STEPS: usize = 2_000;
    if alpha > 0.5 {
        return -t_upper_quantile(1.0 - alpha, df);
    }
    if alpha <= 0.0 {
        return f64::INFINITY;
    }
    let ln_peak = -ln_beta(0.5 * df, 0.5) - 0.5 * df.ln();
    // The tail is convex above zero, so Newton's method approaches the root from below and never passes it. When
    // rounding stops the approach, the root is reached.
    let mut t = 0.0;
    for _ in 0..STEPS {
        let density = (ln_peak - 0.5 * (df + 1.0) * (t * t / df).ln_1p()).exp();
        let next = t + (t_upper_tail(t, df) - alpha) / density;
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
    const LN_GAMMA: [(f64, f64); 12] = [
        (0.01, 4.599479878042022),
        (0.5, 0.5723649429247001),
        (1.0, 0.0),
        (1.5, -0.12078223763524522),
        (2.0, 0.0),
        (3.7, 1.428072326665388),
        (9.99, 12.779315214350193),
        (14.99, 25.164481163825506),
        (15.0, 25.19122118273868),
        (42.5, 115.90007047041453),
        (1000.0, 5905.220423209181),
        (300000.0, 3483455.9392614355),
    ];
    const BETA_CDF: [(f64, f64, f64, f64); 14] = [
        (0.5, 0.5, 0.5, 0.5),
        (0.1, 0.5, 0.5, 0.20483276469913345),
        (0.01, 9.0, 1.0, 1.0000000000000003e-18),
        (0.97, 9.0, 1.0, 0.7602310586545651),
        (0.3, 2.0, 5.0, 0.5798249999999999),
        (0.9, 2.0, 5.0, 0.999945),
        (0.05, 0.01, 20.0, 0.9977863301931813),
        (0.5, 30.0, 30.0, 0.5),
        (0.45, 300.0, 350.0, 0.2780532173516923),
        (0.1, 1500.0, 13500.0, 0.5028954588533704),
        (0.1005, 1500.0, 13500.0, 0.5835854240998585),
        (0.999, 2000.0, 0.5, 0.04545975843785471),
        (0.001, 1.0, 3000.0, 0.9502876060019637),
        (0.2, 0.3, 170.0, 1.0),
    ];
    const BETA_QUANTILE: [(f64, f64, f64, f64); 10] = [
        (0.025, 1.0, 1.0, 0.025),
        (0.975, 1.0, 20.0, 0.1684334709830853),
        (0.025, 20.0, 1.0, 0.8315665290169146),
        (0.025, 0.4, 9.6, 7.876705315674076e-06),
        (0.975, 1.4, 8.6, 0.3998128667585914),
        (0.025, 45.3, 5.7, 0.7895067704123485),
        (0.975, 46.3, 4.7, 0.9701580553567534),
        (0.5, 0.5, 0.5, 0.5),
        (0.025, 900.0, 101.0, 0.8797120634813074),
        (0.975, 3.0, 2998.0, 0.0024061330938171446),
    ];

    #[test]
    fn log_gamma_agrees_with_the_oracle() {
        for (z, want) in LN_GAMMA {
            let got = ln_gamma(z);
            assert!(
                (got - want).abs() <= 1e-13 * want.abs().max(1.0),
                "{z}: {got} {want}"
            );
        }
    }

    #[test]
    fn the_incomplete_beta_function_agrees_with_the_oracle() {
        for (x, a, b, want) in BETA_CDF {
            let got = beta_cdf(x, a, b);
            assert!((got - want).abs() <= 1e-13, "{x} {a} {b}: {got} {want}");
        }
    }

    #[test]
    fn the_beta_quantile_agrees_with_the_oracle() {
        for (p, a, b, want) in BETA_QUANTILE {
            let got = beta_quantile(p, a, b);
            assert!((got - want).abs() <= 1e-13, "{p} {a} {b}: {got} {want}");
        }
    }

    #[test]
    fn the_incomplete_beta_function_is_whole_at_its_ends() {
        assert_eq!(beta_cdf(0.0, 2.0, 3.0), 0.0);
        assert_eq!(beta_cdf(1.0, 2.0, 3.0), 1.0);
    }

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
            let got = t_upper_tail(t, df);
            assert!((got - want).abs() <= 1e-12 * want, "{t} {df}: {got} {want}");
        }
    }

    #[test]
    fn the_upper_quantile_agrees_with_the_oracle() {
        for (alpha, df, want) in UPPER_QUANTILE {
            let got = t_upper_quantile(alpha, df);
            assert!(
                (got - want).abs() <= 1e-11 * want,
                "{alpha} {df}: {got} {want}"
            );
        }
    }

    #[test]
    fn the_quantile_is_mirrored_and_its_ends_are_infinite() {
        assert_eq!(t_upper_quantile(0.5, 3.0), 0.0);
        assert_eq!(t_upper_quantile(0.0, 3.0), f64::INFINITY);
        assert_eq!(t_upper_quantile(1.0, 3.0), f64::NEG_INFINITY);
        assert!((t_upper_quantile(0.9, 3.0) + t_upper_quantile(0.1, 3.0)).abs() < 1e-12);
    }
}
