//! The figures at the top of the page: invariance, following, sensitivity and the Kelvin score; and both signals in one
//! plot.

use super::standing::Standing;
use super::swaps::SwapCounts;
use super::{EvidenceRun, QUADRANT, SignalWords};
use crate::CaseRecord;
use kelvin_page::{BANDS, Breakdown, Estimate, Group, Plane, Signal, display};
use kelvin_record::{Metric, estimate, family};

/// The figures, and their combined meaning.
pub(super) struct Signals<'a> {
    /// The agreement of the answers with the labels; none if no case has a label.
    agreement: Option<Estimate<'a>>,
    pub(super) invariance: Estimate<'a>,
    pub(super) sensitivity: Estimate<'a>,
    /// Following: sensitivity relative to the largest possible effect of the swaps. It gets a word only with a single
    /// governing type and enough swaps; otherwise a band would have no meaning.
    pub(super) following: Estimate<'a>,
    kelvin: Estimate<'a>,
    /// Every swap of the run.
    swaps: SwapCounts,
    /// The combined meaning of the signals; none if one of them is missing.
    pub(super) standing: Option<Standing>,
    /// The noise floor and the signals without noise, if the noise was measured.
    pub(super) without_noise: Option<WithoutNoise<'a>>,
}

/// The effect of noise on the signals.
pub(super) struct WithoutNoise<'a> {
    /// Eta: the distance between two answers to the same input.
    floor: Estimate<'a>,
    /// Invariance without the noise.
    pub(super) invariance: Estimate<'a>,
    /// Sensitivity without the noise.
    sensitivity: Estimate<'a>,
    /// The Kelvin score without the noise.
    kelvin: Estimate<'a>,
}

impl<'a> Signals<'a> {
    pub(super) fn of(run: &EvidenceRun<'a>) -> Self {
        let metrics = run.metrics;
        let figure = |id: &str| estimate(metrics.get(id));
        let swaps = SwapCounts::of(run, |_| true);
        let has_bands = run.governing_types.len() == 1 && swaps.are_enough();
        let following = match figure("evidence.following") {
            figure if has_bands => figure.within_one().rated(SignalWords::Following.words()),
            figure => figure.within_one(),
        };
        let standing = Standing::of(run);
        let mut kelvin = figure("evidence.kelvin_score");
        kelvin.word = standing.map(Standing::name);
        let floor = figure("evidence.noise_floor");
        let holds = SignalWords::Invariance.words();
        Self {
            agreement: metrics
                .get("evidence.agrees_with_labels")
                .map(|metric| estimate(Some(metric)).within_one()),
            invariance: figure("evidence.invariance").rated(holds),
            sensitivity: figure("evidence.sensitivity"),
            without_noise: floor.value.is_some().then(|| WithoutNoise {
                floor,
                invariance: figure("evidence.invariance_corrected").rated(holds),
                sensitivity: figure("evidence.sensitivity_corrected"),
                kelvin: figure("evidence.kelvin_score_corrected"),
            }),
            following,
            kelvin,
            swaps,
            standing,
        }
    }

    /// The group of the noise floor and the signals without noise.
    pub(super) fn groups(&self) -> Vec<Group<'a>> {
        let group = self.without_noise.as_ref().map(|noise| Group {
            title: "With the noise taken out",
            note: "The same input does not always get the same answer. This is what is left when \
                   that is taken out.",
            rows: vec![
                ("noise floor", noise.floor.clone()),
                ("invariance without noise", noise.invariance.clone()),
                ("sensitivity without noise", noise.sensitivity.clone()),
                ("Kelvin score without noise", noise.kelvin.clone()),
            ],
            line: (
                "Noise floor",
                format!(
                    "{} ({}); without it {} and {}, score {}",
                    noise.floor.shown,
                    noise.floor.sample,
                    noise.invariance.shown,
                    noise.sensitivity.shown,
                    noise.kelvin.shown,
                ),
            ),
        });
        group.into_iter().collect()
    }

    /// The signals in the order in which they are shown.
    pub(super) fn shown(self) -> Vec<Signal<'a>> {
        let parts = self.kelvin_parts();
        let bands = BANDS.to_vec();
        let swaps = self.swaps.sentence().unwrap_or_default();
        let invariance = Signal {
            ask: "does it hold when it should?",
            question: "Does the decision hold while the governing evidence is the same?",
            marks: bands.clone(),
            ..Signal::new("Invariance", "holds when it should", self.invariance)
        };
        let following = Signal {
            ask: "does it follow evidence?",
            question: "Does it go where the governing evidence leads?",
            // The bands are marked only if the figure has a word.
            marks: self.following.word.map_or_else(Vec::new, |_| bands),
            note: swaps.clone(),
            ..Signal::new("Following", "goes where the evidence leads", self.following)
        };
        let (could, followed) = (self.swaps.could, self.swaps.followed);
        let sensitivity = Signal {
            question: "How far does other governing evidence move it? An exchange may rightly \
                       change nothing.",
            has_bar: false,
            aside: match self.sensitivity.value {
                Some(_) => format!("; {could} swaps could move it, {followed} did"),
                None => String::new(),
            },
            in_words: swaps,
            ..Signal::new(
                "Sensitivity",
                "moves when other evidence comes in",
                self.sensitivity,
            )
        };
        let meaning = self.standing.map(Standing::meaning).unwrap_or_default();
        let kelvin = Signal {
            question: "What invariance and sensitivity lack together: 0 is best, 2 is worst, a constant answer \
                       scores 1.",
            most: 2.0,
            marks: vec![1.0],
            has_bar: false,
            ..Signal::new("Kelvin score", "0 is best, 2 worst", self.kelvin)
        };
        let kelvin = match parts {
            Some([drift, still]) => Signal {
                made_of: format!("= {drift} + {still}, best 0, worst 2 "),
                in_words: format!("{drift} + {still}; {meaning}"),
                note: format!(
                    "{drift} for what moved but should hold + {still} for what should move but held"
                ),
                ..kelvin
            },
            None => Signal {
                aside: ", since it needs both".to_owned(),
                in_words: String::new(),
                note: "needs both signals".to_owned(),
                ..kelvin
            },
        };
        let agreement = self.agreement.map(|agreement| Signal {
            ask: "does it answer as labelled?",
            question: "How far do the answers to the cases, as they are, agree with their labels?",
            ..Signal::new("Agreement", "answers as the cases are labelled", agreement)
        });
        let signals = [invariance, following, sensitivity, kelvin];
        agreement.into_iter().chain(signals).collect()
    }

    /// The two parts of the Kelvin score, if both are known.
    fn kelvin_parts(&self) -> Option<[String; 2]> {
        let part = |figure: &Estimate<'_>| figure.value.map(|value| display(1.0 - value));
        Some([part(&self.invariance)?, part(&self.sensitivity)?])
    }
}

/// The parts of the signals in short, and figures that contribute to neither signal but must be visible.
pub(super) fn breakdowns<'a>(run: &EvidenceRun<'a>) -> Vec<Breakdown<'a>> {
    let mut breakdowns = vec![Breakdown {
        label: "by kind",
        rows: lowest_first(run, "evidence.invariance"),
    }];
    // If there is only one governing type, the parts by type would only repeat the whole.
    if run.governing_types.len() > 1 {
        breakdowns.push(Breakdown {
            label: "by type",
            rows: lowest_first(run, "evidence.following"),
        });
    }
    let apart = [
        ("evidence.sensitivity_condition", "conditions alone"),
        ("evidence.content_effect", "content effect"),
        ("evidence.mechanical_sensitivity", "mechanical"),
    ];
    let metrics = run.metrics;
    let measured = apart
        .into_iter()
        .filter_map(|(id, name)| Some((name, estimate(Some(metrics.get(id)?)))));
    breakdowns.push(Breakdown {
        label: "apart",
        rows: measured.collect(),
    });
    breakdowns
}

/// The parts of a signal, the lowest first, since they need attention most.
fn lowest_first<'a>(run: &EvidenceRun<'a>, id: &str) -> Vec<(&'a str, Estimate<'a>)> {
    let mut family = family(run.metrics, id);
    // The figure of both padding kinds together would only repeat the figures of the two kinds.
    family.retain(|(name, _)| *name != "pad");
    family.sort_by(|a, b| {
        let value = |metric: &Metric| metric.value.unwrap_or(f64::INFINITY);
        value(a.1).total_cmp(&value(b.1)).then_with(|| a.0.cmp(b.0))
    });
    let rows = family.into_iter();
    rows.map(|(name, metric)| (name, estimate(Some(metric)).within_one()))
        .collect()
}

/// The square of a run, with the run and its cases as points; none if the standing of the run is not one of the
/// quadrants. It is shown only with one governing type: with several, the quadrants would have no meaning.
pub(super) fn plane(run: &EvidenceRun<'_>, signals: &Signals<'_>) -> Option<Plane> {
    let standing = signals.standing.filter(|standing| standing.is_quadrant())?;
    let noise = signals.without_noise.as_ref();
    // The word for the run is based on invariance without noise, if the noise is known.
    let invariance = noise.map_or(&signals.invariance, |noise| &noise.invariance);
    let following = &signals.following;
    // The word may depend on a single kind; then it can contradict the quadrant of the point.
    let holds = matches!(standing, Standing::Grounded | Standing::Flat);
    if holds != (invariance.value? >= QUADRANT) {
        return None;
    }
    let cases = run.cases.values();
    let points = cases.filter_map(|case| Some([following_in(case)?, case.invariance?]));
    Some(Plane {
        axes: ["following", "invariance"],
        metrics: match noise {
            Some(_) => ["evidence.following", "evidence.invariance_corrected"],
            None => ["evidence.following", "evidence.invariance"],
        },
        corners: [
            Standing::Flat.name(),
            Standing::Grounded.name(),
            Standing::Unstable.name(),
            Standing::Brittle.name(),
        ],
        cut: QUADRANT,
        run: [following.value?, invariance.value?],
        base: None,
        ends: [following.ends, invariance.ends],
        points: points.collect(),
        items: "cases",
    })
}

/// Following in one case; none if every donor of its swaps has the same answer as the case.
fn following_in(case: &CaseRecord) -> Option<f64> {
    let swaps = case
        .variants
        .iter()
        .filter_map(|variant| variant.swap.as_deref());
    let (reaction, contrast) = swaps
        .filter(|swap| swap.donor_differs)
        .fold((0.0, 0.0), |sum, swap| {
            (sum.0 + swap.reaction, sum.1 + swap.contrast)
        });
    (contrast > 0.0).then(|| (reaction / contrast).clamp(0.0, 1.0))
}
