//! The questions of the retrieval probe, from their files.

use crate::config::Shard;
use crate::config::{Config, Retrieval, golden};
use crate::probe::retrieval::Questions;
use crate::probe::retrieval::documents::Documents;

/// The folder of the retrieval probe within the output folder.
pub(super) const FOLDER: &str = "retrieval";

/// Reads the golden set and the corpus.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) with everything that is wrong with them.
pub(super) fn load(
    config: &Config,
    retrieval: &Retrieval,
    shard: Option<Shard>,
) -> anyhow::Result<Questions> {
    let corpus = match &retrieval.corpus {
        Some(corpus) => Some(Documents::load(&config.root.join(corpus))?),
        None => None,
    };
    let exist = corpus
        .as_ref()
        .map(|corpus| (&corpus.documents, &corpus.chunks));
    let golden = golden::read(&config.root.join(&retrieval.golden), exist)?;
    let is_ours = |place: &usize| shard.is_none_or(|shard| shard.takes(&golden[*place].id));
    Ok(Questions {
        places: (0..golden.len()).filter(is_ours).collect(),
        chosen: golden.len(),
        golden,
        corpus,
        repeats: config.repeats.get(),
    })
}
