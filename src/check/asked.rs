//! What was asked for: configuration, probes, cases and queries, chosen and shared out. A check and
//! a listing of it begin alike.

use super::probes::Probes;
use super::{Request, questions};
use crate::config::Config;
use crate::config::Shard;
use crate::notice::Notice;
use crate::probe::evidence::cases::{self, Corpus};
use crate::probe::retrieval::Questions;

/// Everything that is read before anything is planned.
pub(super) struct Asked {
    /// The checked configuration.
    pub(super) config: Config,
    /// The probes that are run.
    pub(super) probes: Probes,
    /// Every case; none where the evidence probe is not run.
    pub(super) corpus: Corpus,
    /// What reading them had to say.
    pub(super) notices: Vec<Notice>,
    /// The queries, where the retrieval probe is run.
    pub(super) questions: Option<Questions>,
    /// The places of the cases that were chosen.
    pub(super) chosen: Vec<usize>,
    /// Those of them that this shard takes.
    pub(super) places: Vec<usize>,
}

/// Reads it.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) where the configuration, the cases or the request are wrong.
pub(super) fn read(request: &Request) -> anyhow::Result<Asked> {
    let config = Config::load(&request.overrides)?;
    let mut probes = Probes::of(&config, request.probe)?;
    let (corpus, notices) = match probes.evidence {
        true => cases::load(&config)?,
        false => (Corpus { cases: Vec::new() }, Vec::new()),
    };
    let mut questions = match &config.retrieval {
        Some(retrieval) if probes.retrieval => {
            Some(questions::load(&config, retrieval, request.shard)?)
        }
        _ => None,
    };
    let chosen = probes.choose(&corpus, questions.as_mut(), &request.only)?;
    let places = share(&corpus, &chosen, request.shard);
    Ok(Asked {
        config,
        probes,
        corpus,
        notices,
        questions,
        chosen,
        places,
    })
}

/// The cases among the chosen ones that fall into a shard.
fn share(corpus: &Corpus, chosen: &[usize], shard: Option<Shard>) -> Vec<usize> {
    let takes = |place: &usize| {
        let name = &corpus.cases[*place].name;
        shard.is_none_or(|shard| shard.takes(name))
    };
    chosen.iter().copied().filter(takes).collect()
}
