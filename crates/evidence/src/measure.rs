//! The steps of a measurement: the plan, the first baseline, the other baselines, the variants.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;

use super::schedule::{self, Outcomes, Rounds};
use super::survey::{Inputs, Survey};
use super::{decision, records};
use crate::perturb::Plan;
use crate::{CaseRecord, EvidenceSettings};
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_record::{Ending, KeptTexts, Wanted};
use kelvin_run::config::Config;
use kelvin_run::{Runner, Task};

/// A measurement in progress: the plan, and the results so far.
pub(crate) struct Measurement<'a> {
    survey: &'a Survey<'a>,
    plans: &'a BTreeMap<usize, Plan>,
    runner: &'a Runner<'a>,
    inputs: Inputs<'a>,
    rounds: Rounds,
    outcomes: Outcomes,
    ending: Ending,
}

impl<'a> Measurement<'a> {
    /// A new measurement, before its first call.
    pub(crate) fn new(
        survey: &'a Survey<'a>,
        plans: &'a BTreeMap<usize, Plan>,
        runner: &'a Runner<'a>,
    ) -> Self {
        Self {
            survey,
            plans,
            runner,
            inputs: Inputs::of(survey, plans),
            rounds: Rounds::of(survey.config, survey.settings),
            outcomes: Outcomes::default(),
            ending: Ending::Interrupted,
        }
    }

    /// Runs the first baseline, the others, and then everything else of the cases with an answer. Fails if the first
    /// baseline shows that the decision field is missing or cannot be compared, or if the run cannot continue.
    pub(crate) fn run(&mut self) -> anyhow::Result<()> {
        let baselines = self.baselines();
        let (first, others) = baselines.split_at(baselines.len().min(1));
        self.run_tasks("first baseline", first.to_vec())?;
        self.refuse_unusable_decision(first)?;
        self.run_tasks("baselines", others.to_vec())?;

        let answered = self.answered();
        let tasks = self.todo(&answered);
        if self.runner.stopped() {
            return Ok(());
        }
        self.run_tasks("variants", tasks)?;
        let failed = answered.is_empty() && !self.survey.places.is_empty();
        self.ending = match (self.runner.stopped(), failed) {
            (true, _) => Ending::Interrupted,
            (false, true) => Ending::Failed,
            (false, false) => Ending::Complete,
        };
        Ok(())
    }

    /// Runs the inputs of some cases again until each input has the wanted number of repeats; cases are given by their
    /// indices. Fails if the run cannot continue.
    pub(crate) fn repeat(&mut self, wanted: &BTreeMap<usize, Wanted>) -> anyhow::Result<()> {
        for (place, repeats) in wanted {
            self.rounds.raise(*place, repeats);
        }
        // A case whose first run failed may answer now; then its variants are run.
        self.run_tasks("repeats", self.unanswered())?;
        let answered = self.answered();
        let tasks = self.todo(&answered);
        self.run_tasks("repeats", tasks)?;
        if self.runner.stopped() {
            self.ending = Ending::Interrupted;
        }
        Ok(())
    }

    /// Writes every input once, without running the pipeline. Fails if an input cannot be written.
    pub(crate) fn rehearse(&mut self) -> anyhow::Result<()> {
        let mut tasks = self.baselines();
        tasks.extend(schedule::after_baselines(
            self.survey.corpus,
            self.plans,
            self.survey.places,
            &Rounds::once(),
            self.survey.config.seed,
        ));
        let inputs = &self.inputs;
        self.runner
            .write_inputs(&tasks, &|task: &Task| inputs.text(task))?;
        self.ending = Ending::DryRun;
        Ok(())
    }

    /// The records of all cases so far, without distances and scores.
    pub(crate) fn records(&self) -> BTreeMap<String, CaseRecord> {
        let said = |task: &Task| {
            let output = self.runner.output(task)?;
            let field = &self.survey.settings.decision_field;
            let mut fields = decision::fields_beside(&output, field);
            if let Some(conversation) = self.runner.conversation(task) {
                fields.extend(decision::earlier_turns(&conversation, field));
            }
            Some(fields)
        };
        let seen = (&self.outcomes, &said as &records::Outputs<'_>);
        records::of_cases(self.survey, self.plans, &self.rounds, seen)
    }

    /// How the measurement ended.
    pub(crate) const fn ending(&self) -> Ending {
        self.ending
    }

    /// The texts of the inputs.
    pub(crate) const fn inputs(&self) -> &Inputs<'a> {
        &self.inputs
    }

    fn baselines(&self) -> Vec<Task> {
        let cases = self
            .survey
            .places
            .iter()
            .map(|&place| &self.survey.corpus.cases[place]);
        cases
            .map(|case| schedule::baseline(&case.name, 1))
            .collect()
    }

    /// The indices of the cases whose baseline has an answer.
    fn answered(&self) -> Vec<usize> {
        let answers = |place: &usize| {
            let name = &self.survey.corpus.cases[*place].name;
            let mut repeats = 1..=self.rounds.baselines(*place);
            repeats.any(|repeat| {
                let outcome = self.outcomes.get(name, None, repeat);
                outcome.is_some_and(|outcome| outcome.result.is_ok())
            })
        };
        self.survey.places.iter().copied().filter(answers).collect()
    }

    /// Additional baselines of the cases without an answer.
    fn unanswered(&self) -> Vec<Task> {
        let answered: BTreeSet<usize> = self.answered().into_iter().collect();
        let places = self.survey.places.iter().copied();
        let silent = places.filter(|place| !answered.contains(place));
        let tasks = silent.flat_map(|place| {
            let name = &self.survey.corpus.cases[place].name;
            (1..=self.rounds.baselines(place)).map(|repeat| schedule::baseline(name, repeat))
        });
        tasks.filter(|task| !self.outcomes.has(task)).collect()
    }

    fn todo(&self, places: &[usize]) -> Vec<Task> {
        let (corpus, seed) = (self.survey.corpus, self.survey.config.seed);
        let mut tasks = schedule::after_baselines(corpus, self.plans, places, &self.rounds, seed);
        tasks.retain(|task| !self.outcomes.has(task));
        tasks
    }

    fn run_tasks(&mut self, phase: &'static str, tasks: Vec<Task>) -> anyhow::Result<()> {
        let inputs = &self.inputs;
        let done = self
            .runner
            .run_all(phase, &tasks, &|task: &Task| inputs.text(task))?;
        self.outcomes.take(tasks, done);
        Ok(())
    }

    /// If the first baseline answers without a usable decision, the configuration is wrong, and all other invocations
    /// would be useless. Of several shards, only the shard with the first case reports this, because an undivided run
    /// would stop after the first case too.
    fn refuse_unusable_decision(&self, first: &[Task]) -> anyhow::Result<()> {
        let Some(task) = first.first().filter(|_| self.survey.begins) else {
            return Ok(());
        };
        let outcome = self.outcomes.get(&task.case, None, 1);
        let Some(Err(failure)) = outcome.map(|outcome| &outcome.result) else {
            return Ok(());
        };
        unusable_decision(&task.case, failure, self.survey.config).map_or(Ok(()), Err)
    }
}

/// The error for a first baseline that answers without a usable decision; none for other failures.
pub fn unusable_decision(case: &str, failure: &Failure, config: &Config) -> Option<anyhow::Error> {
    let unusable = matches!(
        failure.kind,
        FailureKind::DecisionMissing | FailureKind::DecisionRefused
    );
    unusable.then(|| {
        let mut failure = failure.clone();
        if config.baseline.texts == KeptTexts::None {
            // A workflow shows this message to everybody.
            failure.withhold_texts();
        }
        // What an HTTP service answers is put into `decision_field`, so that another name there changes nothing.
        let own = config.settings::<EvidenceSettings>();
        let of_http = own.is_some_and(|own| own.run.decision().is_some());
        let file = config.file.display();
        let help = match own.filter(|_| failure.kind == FailureKind::DecisionMissing) {
            // A change may have renamed the field, and others may read it too.
            Some(own) if !of_http => format!(
                "`decision_field` in `{file}` is `{}`: have the output give that field again, or name another whose value \
                 the scorer can compare",
                own.decision_field.as_str()
            ),
            _ => {
                let key = if of_http { "run.http.decision" } else { "decision_field" };
                format!("set `{key}` in `{file}` to a field whose value the scorer can compare")
            }
        };
        anyhow!(
            "the first baseline, of case `{case}`, has no usable decision: {}\n  help: {help}; nothing else was run",
            failure.message,
        )
    })
}
