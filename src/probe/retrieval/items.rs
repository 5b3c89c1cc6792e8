//! The queries as items.

use std::collections::BTreeMap;

use super::{RetrievalKind, RetrievalRecord};
use crate::digest::Digest;
use crate::notice::{Code, Notice};
use crate::probe::{ComparedItem, ComparedItems, Kind as _};

/// The queries of a report, of which notices may say that their repeats count as one run.
/// `settings`: the digest of what is measured.
pub(crate) fn items<'a>(
    record: &'a RetrievalRecord,
    notices: &[Notice],
    settings: Digest,
) -> ComparedItems<'a> {
    let is_kept = |name: &str| {
        let mut kept = notices
            .iter()
            .filter(|notice| notice.code == Code::AnswersKept);
        kept.any(|notice| notice.case.as_deref() == Some(name))
    };
    ComparedItems {
        nouns: RetrievalKind.nouns(),
        settings: Some(settings),
        by_name: record
            .queries
            .iter()
            .map(|(name, query)| {
                let item = ComparedItem {
                    digest: query.input,
                    counts_once: is_kept(name),
                    variants: BTreeMap::new(),
                };
                (name.as_str(), item)
            })
            .collect(),
    }
}
