//! Lists every variant that a check would run by name; nothing is written or started.

use super::{CheckRequest, asked};
use kelvin_record::Listing;

/// Lists what [`super::check`] would run, including repeats and replays.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) where the configuration, the items or the request are wrong.
pub(crate) fn list(request: &CheckRequest, with_digests: bool) -> anyhow::Result<Listing> {
    let config = request.registry.configured(&request.overrides)?;
    let mut listing = Listing::default();
    for side in asked::read(request, &config)? {
        let of_side = side.items.list(with_digests);
        for (what, count) in of_side.invocations {
            *listing.invocations.entry(what).or_default() += count;
        }
        listing.judge_trial = listing.judge_trial.or(of_side.judge_trial);
        listing.variants.extend(of_side.variants);
        listing.notices.extend(side.items.notices());
        listing.notices.extend(of_side.notices);
    }
    listing.notices.sort();
    Ok(listing)
}
