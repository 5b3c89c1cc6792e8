use super::clustered_interval;

fn close(got: Option<(f64, f64)>, low: f64, high: f64) {
    let got = got.unwrap();
    assert!(
        (got.0 - low).abs() < 1e-9 && (got.1 - high).abs() < 1e-9,
        "{got:?}"
    );
}

#[test]
fn one_case_has_no_interval() {
    assert_eq!(clustered_interval(&[]), None);
    assert_eq!(clustered_interval(&[(3.0, 9), (0.0, 0)]), None);
    assert_eq!(clustered_interval(&[(3.0, 9), (f64::NAN, 9)]), None);
}

#[test]
fn where_every_sample_agrees_each_case_counts_once() {
    // 1 - 0.025^(1/10): Clopper and Pearson's closed form without a success.
    let bound = 1.0 - 0.025_f64.powf(0.1);
    close(clustered_interval(&[(0.0, 9); 10]), 0.0, bound);
    close(clustered_interval(&[(9.0, 9); 10]), 1.0 - bound, 1.0);
}

#[test]
fn cases_that_agree_between_themselves_count_once_too() {
    // Half of every case: 2 of 4, Clopper and Pearson.
    close(
        clustered_interval(&[(2.0, 4); 4]),
        0.067_585_986_488_542_5,
        0.932_414_013_511_457_5,
    );
}

#[test]
fn one_large_case_does_not_count_as_many() {
    let (_, even) = clustered_interval(&[(0.0, 10); 10]).unwrap();
    let mut lopsided = [(0.0, 1); 10];
    lopsided[0].1 = 91;
    let (_, high) = clustered_interval(&lopsided).unwrap();
    assert!(even < 0.31 && high > 0.9, "{even} {high}");
}

#[test]
fn an_interval_holds_its_mean_and_widens_with_the_clustering() {
    let spread: Vec<(f64, usize)> = [(8.0, 10), (7.0, 10), (9.0, 10)].repeat(20);
    let clumped: Vec<(f64, usize)> =
        [(10.0, 10), (10.0, 10), (10.0, 10), (10.0, 10), (0.0, 10)].repeat(12);
    let (spread_low, spread_high) = clustered_interval(&spread).unwrap();
    let (clumped_low, clumped_high) = clustered_interval(&clumped).unwrap();
    assert!(spread_low < 0.8 && 0.8 < spread_high);
    assert!(clumped_high - clumped_low > 2.0 * (spread_high - spread_low));
}

#[test]
fn successes_and_failures_are_mirror_images() {
    let one = [(9.0, 9), (7.0, 9), (2.0, 3), (6.0, 9)];
    let other = one.map(|(sum, n)| (n as f64 - sum, n));
    let (low, high) = clustered_interval(&one).unwrap();
    close(clustered_interval(&other), 1.0 - high, 1.0 - low);
}

#[test]
fn neither_scale_nor_an_outlier_takes_it_out_of_its_range() {
    for clusters in [
        vec![(30_000.0, 150_000); 1_000],
        vec![(1.0, 1), (0.0, 1)],
        vec![(0.0, 1), (1e-9, 1)],
        vec![(0.999_999_999, 1), (1.0, 1), (1.0, 1)],
        vec![(0.1 + 0.2, 1), (0.3, 1)],
    ] {
        let (low, high) = clustered_interval(&clusters).unwrap();
        assert!(0.0 <= low && low <= high && high <= 1.0, "{low} {high}");
    }
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. The leaves of the
/// house do not lean on one another, not even in tests.
struct SplitMix(u64);

impl SplitMix {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// How the samples of a case hang together.
#[derive(Clone, Copy, Debug)]
enum World {
    /// With this probability the samples of a case are copies of one.
    Copies(f64),
    /// With this probability all samples of a case flip: a deviating unperturbed output.
    Flips(f64),
}

/// The share of suites whose true mean the interval covers; 9 samples a case, each 1 with `rate`.
fn coverage(world: World, cases: usize, rate: f64) -> f64 {
    const SUITES: u32 = 600;
    const CELLS: u32 = 9;
    let mut draw = SplitMix(cases as u64);
    let truth = match world {
        World::Copies(_) => rate,
        World::Flips(share) => share + (1.0 - share) * rate,
    };
    let covered = (0..SUITES).filter(|_| {
        let clusters: Vec<(f64, usize)> = (0..cases)
            .map(|_| {
                let sum = match world {
                    World::Flips(share) if draw.unit() < share => CELLS,
                    World::Copies(share) if draw.unit() < share => {
                        CELLS * u32::from(draw.unit() < rate)
                    }
                    _ => (0..CELLS).map(|_| u32::from(draw.unit() < rate)).sum(),
                };
                (f64::from(sum), CELLS as usize)
            })
            .collect();
        let (low, high) = clustered_interval(&clusters).unwrap();
        low <= truth && truth <= high
    });
    covered.count() as f64 / f64::from(SUITES)
}

#[test]
fn the_interval_covers_the_truth_in_93_percent_of_clustered_suites() {
    let worlds = [
        World::Copies(0.0),
        World::Copies(0.3),
        World::Copies(1.0),
        World::Flips(0.05),
        World::Flips(0.15),
    ];
    for world in worlds {
        for (cases, rate) in [
            (6, 0.1),
            (10, 0.02),
            (20, 0.05),
            (20, 0.9),
            (50, 0.02),
            (50, 0.3),
        ] {
            let covered = coverage(world, cases, rate);
            assert!(covered >= 0.93, "{world:?} {cases} {rate}: {covered}");
        }
    }
}
