//! Both signals in one plot: the run and its cases as points of a square. It is shown only with one governing type:
//! with several, the quadrants would have no meaning.

use super::signals::Signals;
use super::standing::Standing;
use super::{EvidenceRun, QUADRANT};
use crate::CaseRecord;
use kelvin_page::Plane;

/// The square of a run; none if the standing of the run is not one of the quadrants.
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
