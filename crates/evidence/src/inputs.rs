//! The texts of the inputs, each made when it is asked for: all of them at once would be many times the size of the
//! corpus.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::survey::Survey;
use crate::perturb::Plan;
use kelvin_run::Task;

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

    /// The text of a case, or of one of its variants; none where there is no such case or variant.
    pub(crate) fn find(&self, case: &str, variant: Option<&str>) -> Option<Cow<'a, str>> {
        let place = *self.places.get(case)?;
        let Some(id) = variant else {
            return Some(Cow::Borrowed(&self.survey.corpus.cases[place].text));
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
