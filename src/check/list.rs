//! What a check would run: every variant by name, nothing written, nothing started.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};

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
    /// Every variant by case, in the order of the cases and of the registry.
    #[serde(serialize_with = "in_one")]
    pub(crate) variants: Vec<Vec<Listed>>,
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
    /// The digest of its input, where the digests were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<Digest>,
}

/// One list of all, in which each names its case.
fn in_one<S: Serializer>(variants: &[Vec<Listed>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(variants.iter().flatten())
}

/// Lists what [`super::check`] would run, repeats and replays counted. The `digests` of the inputs
/// take about as long as all else.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) where the configuration, the cases or the request are wrong.
pub(crate) fn list(request: &Request, digests: bool) -> anyhow::Result<Listing> {
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
            kind: variant.kind,
            relation: variant.figure.relation(),
            input: digests.then(|| variant.digest(&corpus, place, &config)),
            variant: variant.id,
        };
        let mut variants = Vec::with_capacity(plan.variants.len());
        variants.extend(plan.variants.into_iter().map(listed));
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
    let mut variants = Vec::with_capacity(plans.len());
    for (listed, told) in plans {
        notices.extend(told);
        for of_kind in listed.chunk_by(|one, two| one.kind == two.kind) {
            *invocations.entry(of_kind[0].kind).or_default() += of_kind.len() * repeats;
        }
        variants.push(listed);
    }
    notices.sort();
    Ok(Listing {
        invocations,
        variants,
        notices,
    })
}
