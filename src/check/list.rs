//! What a check would run: every variant by name, nothing written, nothing started.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::Request;
use super::asked::{self, Asked};
use crate::digest::Digest;
use crate::notice::Notice;
use crate::perturb::{Relation, Variant};
use crate::probe::evidence::{self, Survey};
use crate::score;

/// The variants of a check.
#[derive(Debug, Serialize)]
pub(crate) struct Listing {
    /// How many invocations they and the baselines are, by kind; `baseline` among them.
    pub(crate) invocations: BTreeMap<&'static str, usize>,
    /// Every variant, in the order of the cases and of the registry.
    pub(crate) variants: Vec<Listed>,
    /// The caps and skips.
    pub(crate) notices: Vec<Notice>,
}

/// One variant.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    /// The case it is made of.
    pub(crate) case: Arc<str>,
    /// Its name within the case.
    pub(crate) variant: Arc<str>,
    /// What it is counted as.
    #[serde(skip)]
    kind: &'static str,
    /// What the decision ought to do.
    pub(crate) relation: Relation,
    /// The digest of its input.
    pub(crate) input: Digest,
}

/// Lists what [`super::check`] would run, repeats and replays counted.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) where the configuration, the cases or the request are wrong.
pub(crate) fn list(request: &Request) -> anyhow::Result<Listing> {
    let Asked {
        config,
        probes,
        corpus,
        mut notices,
        questions,
        chosen,
        places,
    } = asked::read(request)?;
    let scorer = score::of(&config.scorer);
    let survey = Survey {
        config: &config,
        corpus: &corpus,
        places: &places,
        begins: chosen.first() == places.first(),
        scorer: &*scorer,
    };
    let plans = evidence::plan_each(&survey, |place, plan| {
        let case = &corpus.cases[place].name;
        let listed = |variant: Variant| Listed {
            case: Arc::clone(case),
            variant: variant.id,
            kind: variant.kind,
            relation: variant.figure.relation(),
            input: variant.input,
        };
        let variants: Vec<Listed> = plan.variants.into_iter().map(listed).collect();
        (variants, plan.notices)
    });
    let repeats = config.repeats.get();
    // The replays of the noise floor include the first invocation of the baseline.
    let baselines = config
        .noise_floor
        .map_or(0, |floor| floor.get())
        .max(repeats);
    let mut invocations = BTreeMap::new();
    if probes.evidence {
        invocations.insert("baseline", places.len() * baselines);
    }
    if let Some(questions) = questions.filter(|_| probes.retrieval) {
        invocations.insert("query", questions.places.len() * repeats);
    }
    let mut variants = Vec::new();
    for (listed, told) in plans {
        notices.extend(told);
        for variant in &listed {
            *invocations.entry(variant.kind).or_default() += repeats;
        }
        variants.extend(listed);
    }
    notices.sort();
    Ok(Listing {
        invocations,
        variants,
        notices,
    })
}
