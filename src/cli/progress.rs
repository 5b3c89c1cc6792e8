//! Progress on standard error: a bar on a terminal, lines elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use kelvin_github::publish::mask::Masker;
use kelvin_page::safe;
use kelvin_run::{AnswerSource, Event, Observer, Outcome, Task};

/// Shows the progress in the requested form.
pub(super) struct Progress {
    form: ProgressForm,
    /// The masker for texts of a pipeline.
    masker: Masker,
}

enum ProgressForm {
    Bar(ProgressBar, Mutex<SpentSoFar>),
    Lines(Mutex<ProgressLines>),
}

#[derive(Default)]
struct ProgressLines {
    name: &'static str,
    tasks: usize,
    done: usize,
    failed: usize,
    /// How many quarters of the phase have been reported.
    told: usize,
    spent: SpentSoFar,
}

/// The cost of the calls so far, if their prices are known. Answers from the cache cost nothing now.
#[derive(Clone, Copy, Default)]
struct SpentSoFar {
    usd: Option<f64>,
}

impl SpentSoFar {
    fn add(&mut self, outcome: &Outcome) {
        if outcome.source == AnswerSource::Called
            && let Some(usd) = outcome.usage.as_ref().and_then(|usage| usage.usd)
        {
            self.usd = Some(self.usd.unwrap_or(0.0) + usd);
        }
    }

    /// The cost as a text that begins with a comma; empty if no price is known.
    fn cost_text(self) -> String {
        self.usd
            .map_or_else(String::new, |usd| format!(", ${usd:.2} so far"))
    }
}

impl Progress {
    /// Chooses how progress is shown, depending on what standard error is.
    pub(super) fn new() -> Self {
        let form = match std::io::stderr().is_terminal() {
            true => {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                bar.enable_steady_tick(Duration::from_millis(250));
                ProgressForm::Bar(bar, Mutex::default())
            }
            false => ProgressForm::Lines(Mutex::default()),
        };
        Self {
            form,
            masker: Masker::of_environment([]),
        }
    }

    /// Ends the progress.
    pub(super) fn finish(&self) {
        if let ProgressForm::Bar(bar, _) = &self.form {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn event(&self, event: &Event<'_>) {
        match &self.form {
            ProgressForm::Bar(bar, spent) => {
                if let Ok(mut spent) = spent.lock() {
                    on_bar(bar, event, &mut spent, &self.masker);
                }
            }
            ProgressForm::Lines(lines) => {
                if let Ok(mut lines) = lines.lock() {
                    lines.event(event, &self.masker);
                }
            }
        }
    }
}

/// Why a call is repeated, with the output of the pipeline if it may be printed.
fn again(task: &Task, (attempt, delay): (usize, f64), why: &str, masker: &Masker) -> String {
    format!(
        "{}: attempt {attempt} in {delay:.1} s, because {}",
        safe::line(&task.to_string()),
        safe::line(&masker.text(why)),
    )
}

fn on_bar(bar: &ProgressBar, event: &Event<'_>, spent: &mut SpentSoFar, masker: &Masker) {
    match event {
        Event::Phase { name, tasks } => {
            bar.reset();
            bar.set_length(*tasks as u64);
            bar.set_prefix(*name);
            // The template is a constant: parsing it either always succeeds or always fails.
            if let Ok(style) = ProgressStyle::with_template(
                "{prefix} [{bar:30}] {pos}/{len}  {per_sec}, {elapsed}, {eta} left{msg}",
            ) {
                bar.set_style(style.progress_chars("##-"));
            }
        }
        Event::Finished { outcome, .. } => {
            spent.add(outcome);
            bar.set_message(spent.cost_text());
            bar.inc(1);
        }
        Event::Retrying {
            task,
            attempt,
            delay,
            failure,
        } => bar.println(again(task, (*attempt, *delay), &failure.message, masker)),
        Event::Remark { text } => bar.println(masker.text(text)),
    }
}

impl ProgressLines {
    fn event(&mut self, event: &Event<'_>, masker: &Masker) {
        match event {
            Event::Phase { name, tasks } => {
                *self = Self {
                    name,
                    tasks: *tasks,
                    spent: self.spent,
                    ..Self::default()
                };
            }
            Event::Finished { outcome, .. } => {
                self.done += 1;
                self.spent.add(outcome);
                self.failed += usize::from(outcome.result.is_err());
                let quarters = 4 * self.done / self.tasks.max(1);
                if quarters > self.told && self.tasks > 1 {
                    self.told = quarters;
                    let failed = match self.failed {
                        0 => String::new(),
                        failed => format!(", {failed} failed"),
                    };
                    say(&format!(
                        "{}: {}/{}{failed}{}",
                        self.name,
                        self.done,
                        self.tasks,
                        self.spent.cost_text()
                    ));
                }
            }
            Event::Retrying {
                task,
                attempt,
                delay,
                failure,
            } => say(&again(task, (*attempt, *delay), &failure.message, masker)),
            Event::Remark { text } => say(&masker.text(text)),
        }
    }
}

/// Prints progress if possible: a closed standard error is not a reason to stop.
fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use kelvin_base::usage::Usage;

    #[test]
    fn what_calls_have_cost_is_added_up_and_an_answer_of_the_cache_costs_nothing() {
        let outcome = |source, usd| Outcome {
            result: Ok(serde_json::Value::Null),
            exit: Some(0),
            streams: None,
            source,
            attempts: 1,
            seconds: 0.0,
            is_first: false,
            usage: Some(Box::new(Usage {
                usd,
                ..Usage::default()
            })),
            served: None,
            observed: None,
        };
        let mut spent = SpentSoFar::default();
        spent.add(&outcome(AnswerSource::Called, None));
        assert_eq!(
            spent.cost_text(),
            "",
            "an unknown price is no price of nothing"
        );
        spent.add(&outcome(AnswerSource::Called, Some(0.25)));
        spent.add(&outcome(AnswerSource::Cached, Some(8.0)));
        spent.add(&outcome(AnswerSource::Called, Some(0.5)));
        assert_eq!(spent.cost_text(), ", $0.75 so far");
    }
}
