//! What a check would run: every variant by name, nothing written, nothing started.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::Request;
use super::asked::{self, Asked};
use crate::digest::Digest;
use crate::judge;
use crate::notice::Notice;
use crate::probe::evidence::perturb::{Relation, Variant};
use crate::probe::evidence::{self, Survey};

/// What a check would run.
#[derive(Debug, Serialize)]
pub(crate) struct Listing<T> {
    /// How many invocations there are, by kind; `baseline` among them.
    pub(crate) invocations: BTreeMap<&'static str, usize>,
    /// What was made of the variants, in the order of the cases and of the registry.
    pub(crate) variants: Vec<T>,
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
    /// What the decision ought to do.
    pub(crate) relation: Relation,
    /// The digest of its input.
    pub(crate) input: Digest,
}

/// The variants of one case.
pub(crate) struct OfCase<'a> {
    survey: &'a Survey<'a>,
    place: usize,
    variants: &'a [Variant],
}

impl OfCase<'_> {
    /// The name of the case.
    pub(crate) fn case(&self) -> &Arc<str> {
        &self.survey.corpus.cases[self.place].name
    }

    /// The names of the variants, in the order of the registry.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.variants.iter().map(|variant| &*variant.id)
    }

    /// Everything about each. The digests take about as long as all else.
    pub(crate) fn listed(&self) -> Vec<Listed> {
        let Survey { corpus, config, .. } = self.survey;
        let listed = |variant: &Variant| Listed {
            case: Arc::clone(self.case()),
            variant: Arc::clone(&variant.id),
            relation: variant.figure.relation(),
            input: variant.digest(corpus, self.place, config),
        };
        self.variants.iter().map(listed).collect()
    }
}

/// Lists what [`super::check`] would run, repeats and replays counted: of the variants of each case
/// what `keep` makes of them.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) where the configuration, the cases or the request are wrong.
pub(crate) fn list<T: Send>(
    request: &Request,
    keep: impl Fn(&OfCase<'_>) -> T + Sync,
) -> anyhow::Result<Listing<T>> {
    let Asked {
        config,
        probes,
        corpus,
        mut notices,
        questions,
        chosen,
        places,
    } = asked::read(request)?;
    let scorer = judge::of(&config.scorer);
    let survey = Survey {
        config: &config,
        corpus: &corpus,
        places: &places,
        begins: chosen.first() == places.first(),
        scorer: &*scorer,
    };
    let plans = evidence::plan_each(&survey, |place, plan| {
        let kept = keep(&OfCase {
            survey: &survey,
            place,
            variants: &plan.variants,
        });
        let of_kinds = plan.variants.chunk_by(|one, two| one.kind == two.kind);
        let counts: Vec<(&str, usize)> = of_kinds.map(|of| (of[0].kind, of.len())).collect();
        (kept, counts, plan.notices)
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
    for (kept, counts, told) in plans {
        variants.push(kept);
        notices.extend(told);
        for (kind, count) in counts {
            *invocations.entry(kind).or_default() += count * repeats;
        }
    }
    notices.sort();
    // Giving back the texts of thousands of cases, one by one, would take longer than the caller
    // has left to do: a listing is the last thing that a process makes.
    std::mem::forget(corpus);
    Ok(Listing {
        invocations,
        variants,
        notices,
    })
}

impl<T> Listing<Vec<T>> {
    /// One list of all variants, instead of one a case.
    pub(crate) fn in_one(self) -> Listing<T> {
        Listing {
            invocations: self.invocations,
            variants: self.variants.into_iter().flatten().collect(),
            notices: self.notices,
        }
    }
}
