//! Rank statistics: Spearman's correlation, and the area under the curve.

/// The ranks of values from 1; equal values share the mean of their ranks.
fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    // `==`, not the total order, decides which values are tied: 0 and -0 are the same value.
    for tied in order.chunk_by(|one, other| values[*one] == values[*other]) {
        let rank = before as f64 + (tied.len() + 1) as f64 / 2.0;
        for place in tied {
            ranks[*place] = rank;
        }
        before += tied.len();
    }
    ranks
}

/// Spearman's rank correlation: Pearson's correlation between the ranks, where ties share their mean rank (Kendall and
/// Gibbons, "Rank Correlation Methods", 1990, section 3.8). None for fewer than three pairs, or if all values of one
/// side are equal, since they have no order.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let (one, other): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    pearson(&mid_ranks(&one), &mid_ranks(&other))
}

fn pearson(one: &[f64], other: &[f64]) -> Option<f64> {
    let (mean_one, mean_other) = (crate::stats::mean(one)?, crate::stats::mean(other)?);
    let (mut across, mut along_one, mut along_other) = (0.0, 0.0, 0.0);
    for (a, b) in one.iter().zip(other) {
        let (a, b) = (a - mean_one, b - mean_other);
        across += a * b;
        along_one += a * a;
        along_other += b * b;
    }
    let scale = (along_one * along_other).sqrt();
    (scale > 0.0).then(|| (across / scale).clamp(-1.0, 1.0))
}

/// The area under the receiver operating characteristic: the probability that one of `above` is larger than one of
/// `below`, where a tie counts half (Hanley and McNeil, "The meaning and use of the area under a receiver operating
/// characteristic curve", Radiology 143, 1982). None if a side is empty.
pub fn auc(above: &[f64], below: &[f64]) -> Option<f64> {
    if above.is_empty() || below.is_empty() {
        return None;
    }
    let all: Vec<f64> = above.iter().chain(below).copied().collect();
    let ranks: f64 = mid_ranks(&all)[..above.len()].iter().sum();
    let (n, m) = (above.len() as f64, below.len() as f64);
    // The statistic of Mann and Whitney from the sum of the ranks.
    Some((ranks - n * (n + 1.0) / 2.0) / (n * m))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_mean_rank() {
        assert_eq!(
            mid_ranks(&[3.0, 1.0, 3.0, -0.0, 0.0]),
            [4.5, 3.0, 4.5, 1.5, 1.5]
        );
        assert!(mid_ranks(&[]).is_empty());
    }

    #[test]
    fn spearman_agrees_with_worked_examples() {
        // -29/165 is the textbook example of intelligence and hours of television. The ranks of the
        // second one are 1, 2.5, 2.5, 4, 5 and 1.5, 1.5, 3.5, 3.5, 5: 8 over the root of 9.5 times 9.
        let rows: [(&[(f64, f64)], f64); 3] = [
            (
                &[
                    (106.0, 7.0),
                    (100.0, 27.0),
                    (86.0, 2.0),
                    (101.0, 50.0),
                    (99.0, 28.0),
                    (103.0, 29.0),
                    (97.0, 20.0),
                    (113.0, 12.0),
                    (112.0, 6.0),
                    (110.0, 17.0),
                ],
                -29.0 / 165.0,
            ),
            (
                &[(1.0, 2.0), (2.0, 2.0), (2.0, 5.0), (4.0, 5.0), (5.0, 9.0)],
                8.0 / (9.5_f64 * 9.0).sqrt(),
            ),
            (&[(0.1, 3.0), (0.2, 2.0), (0.3, 1.0)], -1.0),
        ];
        for (pairs, want) in rows {
            let got = spearman(pairs).expect("both sides vary");
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
    }

    #[test]
    fn what_has_one_value_only_ranks_nothing() {
        assert_eq!(spearman(&[(0.5, 0.1), (0.5, 0.9), (0.5, 0.4)]), None);
        assert_eq!(spearman(&[(0.1, 0.1), (0.2, 0.2)]), None);
    }

    #[test]
    fn the_area_is_the_share_of_pairs_in_the_right_order() {
        assert_eq!(auc(&[0.9, 0.8], &[0.1, 0.2]), Some(1.0));
        assert_eq!(auc(&[0.1], &[0.9]), Some(0.0));
        assert_eq!(auc(&[0.5, 0.5], &[0.5]), Some(0.5));
        // 3 of 4 pairs, one of them by half: (1 + 1 + 0.5 + 0) / 4.
        assert_eq!(auc(&[0.8, 0.4], &[0.4, 0.6]), Some(0.625));
        assert_eq!(auc(&[], &[0.1]), None);
    }
}
