//! The planned measurement: the settings, the cases, and their variants.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::EvidenceSettings;
use super::cases::Corpus;
use super::perturb::{Peers, Plan, Planner};
use kelvin_base::threads;
use kelvin_run::Task;
use kelvin_run::config::Config;
use kelvin_run::judge::Scorer;

/// The data that a measurement needs about its cases.
pub(crate) struct Survey<'a> {
    /// The general settings.
    pub config: &'a Config,
    /// The settings of this probe.
    pub settings: &'a EvidenceSettings,
    /// All cases; units are drawn from all of them.
    pub corpus: &'a Corpus,
    /// The indices of the cases to measure, in ascending order.
    pub places: &'a [usize],
    /// Whether the first case to measure is the first of all chosen cases; in another shard it is not.
    pub begins: bool,
    /// Compares decisions.
    pub scorer: &'a dyn Scorer,
}

/// Plans the variants of every case of the survey; the keys are the indices of the cases.
pub(crate) fn plan(survey: &Survey<'_>) -> BTreeMap<usize, Plan> {
    let plans = plan_each(survey, |at, plan| (at, plan));
    plans.into_iter().collect()
}

/// Plans the variants of every case of the survey, in order, and stores only the result of `keep` for each plan.
pub(crate) fn plan_each<T: Send>(
    survey: &Survey<'_>,
    keep: impl Fn(usize, Plan) -> T + Sync,
) -> Vec<T> {
    let Survey {
        corpus, settings, ..
    } = *survey;
    let peers = Peers::of(corpus, settings);
    threads::map_with(
        survey.places,
        || Planner::new(corpus, settings, &peers),
        |planner, &at| keep(at, planner.plan(at)),
    )
}

/// Finds the text of a case or of a variant.
pub(crate) struct Inputs<'a> {
    survey: &'a Survey<'a>,
    plans: &'a BTreeMap<usize, Plan>,
    places: HashMap<&'a str, usize>,
}

impl<'a> Inputs<'a> {
    /// The inputs of the cases of a survey, with their plans.
    pub(crate) fn of(survey: &'a Survey<'a>, plans: &'a BTreeMap<usize, Plan>) -> Self {
        let places = survey
            .places
            .iter()
            .map(|&place| (&*survey.corpus.cases[place].name, place))
            .collect();
        Self {
            survey,
            plans,
            places,
        }
    }

    /// The text of a case, or of one of its variants; none if there is no such case or variant.
    pub(crate) fn find(&self, case: &str, variant: Option<&str>) -> Option<Cow<'a, str>> {
        let place = *self.places.get(case)?;
        let Some(id) = variant else {
            return Some(Cow::Borrowed(self.survey.corpus.cases[place].input()));
        };
        let variants = &self.plans.get(&place)?.variants;
        let variant = variants.iter().find(|variant| &*variant.id == id)?;
        Some(Cow::Owned(variant.render(
            self.survey.corpus,
            place,
            self.survey.settings,
        )))
    }

    /// The text of a task's input.
    pub(super) fn text(&self, task: &Task) -> Cow<'a, str> {
        self.find(&task.case, task.variant.as_deref())
            .expect("every task is made from a case or from a variant of its plan")
    }
}
