//! The inputs that got worse, as excerpts for the comment.

use std::path::PathBuf;

use crate::check::Checked;
use kelvin_gate::report::page;
use kelvin_gate::{Judgement, opening};
use kelvin_github::publish::{Excerpt, comment};

/// The texts of the variants of the worst cases: for each case, the variant that the verdict names. If that variant
/// cannot be read, the variant that got worse and differs least from its case is shown, since it is the shortest to
/// read.
pub(super) fn excerpts(checked: &Checked, judgement: &Judgement) -> Vec<Excerpt> {
    const CASES: usize = 5;
    const VARIANTS: usize = 20;
    let Checked { report, out, .. } = checked;
    let read = |path: PathBuf| std::fs::read_to_string(path).ok();
    judgement
        .cases
        .iter()
        .filter(|case| case.is_worse())
        .take(CASES)
        .filter_map(|change| {
            let of = |variant: &str| {
                let part = page::part(report, &change.case, variant)?;
                let (before, after) = (read(out.join(part.before))?, read(out.join(part.after))?);
                Some((variant.to_owned(), before, after))
            };
            let closest = || {
                let changed = change.variants.iter().take(VARIANTS);
                let changed = changed.filter_map(|changed| of(changed.variant.as_deref()?));
                changed.min_by_key(|(_, before, after)| comment::changed_lines(before, after))
            };
            let named = opening::part(judgement, change).and_then(of);
            let (variant, before, after) = named.or_else(closest)?;
            Some(Excerpt {
                case: change.case.clone(),
                variant,
                before,
                after,
            })
        })
        .collect()
}
