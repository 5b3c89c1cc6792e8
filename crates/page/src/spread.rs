//! The distribution of the items' values in a run.

/// The number of parts of the scale.
const PARTS: usize = 10;

/// The values of one metric, one for each item: a mean does not show whether all are alike or some are very bad.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The name of the values: `judge_score`.
    pub metric: &'static str,
    /// The noun for the items, in the plural: `prompts`.
    pub items: &'static str,
    /// The ends of the scale.
    pub ends: (f64, f64),
    /// One value for each item that has one.
    pub values: Vec<f64>,
}

impl Spread {
    /// How many values lie in each part of the scale, from below. A value on the border of two parts is in the upper
    /// one, and the highest of all in the last.
    pub fn parts(&self) -> [usize; PARTS] {
        let (low, high) = self.ends;
        let mut parts = [0; PARTS];
        for value in &self.values {
            // In binary 0.7 / 0.1 is a little less than 7.
            let at = (value - low) / (high - low) * PARTS as f64 + 1e-9;
            parts[(at.max(0.0) as usize).min(PARTS - 1)] += 1;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_part_and_a_border_belongs_to_the_upper_one() {
        let tenths = (0..=10).map(|tenth| f64::from(tenth) / 10.0);
        let spread = Spread {
            metric: "score",
            items: "cases",
            ends: (0.0, 1.0),
            values: tenths.chain([-3.0, 7.0]).collect(),
        };
        assert_eq!(spread.parts(), [2, 1, 1, 1, 1, 1, 1, 1, 1, 3]);
        let wide = Spread {
            ends: (0.0, 2.0),
            values: vec![0.1, 1.0, 1.9],
            ..spread
        };
        assert_eq!(wide.parts(), [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    }
}
