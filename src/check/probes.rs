//! Which probes a check runs.

use std::collections::BTreeSet;

use super::stage;
use crate::config::Config;
use crate::exit::Misuse;
use crate::probe::evidence::cases::Corpus;
use crate::probe::retrieval::Questions;

/// One of the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Does the decision move only when the evidence that governs it moves?
    Evidence,
    /// Is found what there is to find?
    Retrieval,
}

/// The probes that are run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probes {
    pub(super) evidence: bool,
    pub(super) retrieval: bool,
}

impl Probes {
    /// Those that are configured, or the one of them that was asked for.
    pub(super) fn of(config: &Config, asked: Option<Probe>) -> Result<Self, Misuse> {
        let wants = |probe| asked.is_none_or(|asked| asked == probe);
        let probes = Self {
            evidence: config.evidence && wants(Probe::Evidence),
            retrieval: config.retrieval.is_some() && wants(Probe::Retrieval),
        };
        if probes.evidence || probes.retrieval {
            return Ok(probes);
        }
        let file = config.file.display();
        let (what, help) = match asked {
            None => (
                "no probe",
                "add `run`, `cases`, `decision_field` and `governing_types`, or `retrieval`",
            ),
            Some(Probe::Evidence) => (
                "no evidence probe",
                "add `run`, `cases`, `decision_field` and `governing_types`",
            ),
            Some(Probe::Retrieval) => ("no retrieval probe", "add a section `retrieval`"),
        };
        Err(Misuse::new(format!("`{file}` configures {what}")).help(help))
    }

    /// The places of the cases that were asked for, by name; restricts the questions to those
    /// whose id was. A probe that nothing was asked of is not run.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] that lists the names there are, where one is not known.
    pub(super) fn choose(
        &mut self,
        corpus: &Corpus,
        questions: Option<&mut Questions>,
        only: &[String],
    ) -> Result<Vec<usize>, Misuse> {
        let is_case = |name: &str| corpus.place(name).is_some();
        if self.evidence && self.retrieval && is_case(super::questions::FOLDER) {
            let what = format!("a case is called `{}`", super::questions::FOLDER);
            return Err(Misuse::new(what).help(
                "that is where the retrieval probe keeps its files; give the case another name",
            ));
        }
        let golden = questions.as_ref().map(|questions| questions.golden.clone());
        let ids: BTreeSet<&str> = golden
            .iter()
            .flatten()
            .map(|query| query.id.as_str())
            .collect();
        let unknown: Vec<&str> = only
            .iter()
            .map(String::as_str)
            .filter(|name| !is_case(name) && !ids.contains(name))
            .collect();
        if !unknown.is_empty() {
            let cases = corpus.cases.iter().map(|case| &*case.name);
            let known: BTreeSet<&str> = cases.chain(ids).collect();
            let known: Vec<&str> = known.into_iter().collect();
            let noun = match self.evidence {
                true => "case",
                false => "query",
            };
            let names = match (self.evidence, self.retrieval) {
                (true, true) => "the cases and queries are",
                (true, false) => "the cases are",
                _ => "the queries are",
            };
            let what = format!("there is no {noun} `{}`", unknown.join("`, `"));
            return Err(Misuse::new(what).help(format!("{names}: {}", known.join(", "))));
        }
        if let Some(questions) = questions
            && !only.is_empty()
        {
            let golden = &questions.golden;
            let is_asked = |place: &usize| only.contains(&golden[*place].id);
            questions.chosen = (0..golden.len()).filter(is_asked).count();
            self.retrieval = questions.chosen > 0;
            questions.places.retain(is_asked);
        }
        let chosen = stage::select(corpus, only);
        self.evidence &= only.is_empty() || !chosen.is_empty();
        Ok(chosen)
    }
}
