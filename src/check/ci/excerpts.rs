//! What a reader of the comment sees of the inputs that got worse.

use std::path::PathBuf;

use crate::check::Checked;
use crate::gate::Judgement;
use crate::gate::changes::VariantChange;
use crate::publish::{Excerpt, comment};
use crate::report::page;

/// The texts of the worst cases' variants: of those that got worse the one that is closest to its
/// case, since there is least to read.
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
            let of = |flipped: &VariantChange| {
                let variant = flipped.variant.as_ref()?;
                let part = page::part(report, &change.case, variant)?;
                let (before, after) = (read(out.join(part.before))?, read(out.join(part.after))?);
                Some((variant.clone(), before, after))
            };
            let (variant, before, after) = change
                .variants
                .iter()
                .take(VARIANTS)
                .filter_map(of)
                .min_by_key(|(_, before, after)| comment::changed_lines(before, after))?;
            Some(Excerpt {
                case: change.case.clone(),
                variant,
                before,
                after,
            })
        })
        .collect()
}
