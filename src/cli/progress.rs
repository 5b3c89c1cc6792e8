//! Progress on standard error: a bar on a terminal, lines elsewhere, or one JSON object per line.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::check::LogFormat;
use kelvin_gate::report::Report;
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
    Json,
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
    pub(super) fn new(format: LogFormat) -> Self {
        let form = match format {
            LogFormat::Json => ProgressForm::Json,
            LogFormat::Text if std::io::stderr().is_terminal() => {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                bar.enable_steady_tick(Duration::from_millis(250));
                ProgressForm::Bar(bar, Mutex::default())
            }
            LogFormat::Text => ProgressForm::Lines(Mutex::default()),
        };
        Self {
            form,
            masker: Masker::of_environment([]),
        }
    }

    /// Removes the bar while `during` uses the terminal.
    pub(super) fn pause<T>(&self, during: impl FnOnce() -> T) -> T {
        match &self.form {
            ProgressForm::Bar(bar, _) => bar.suspend(during),
            _ => during(),
        }
    }

    /// Ends the progress with its last event.
    pub(super) fn finish(&self, report: Option<&Report>) {
        match (&self.form, report) {
            (ProgressForm::Bar(bar, _), _) => bar.finish_and_clear(),
            (ProgressForm::Json, Some(report)) => {
                say_json(finished(report));
            }
            _ => {}
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
            ProgressForm::Json => {
                let mut value = as_json(event);
                self.masker.json(&mut value);
                say_json(value);
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

fn as_json(event: &Event<'_>) -> serde_json::Value {
    match event {
        Event::Phase { name, tasks } => json!({ "event": "phase", "name": name, "tasks": tasks }),
        Event::Finished { task, outcome } => json!({
            "event": "invocation",
            "case": &*task.case,
            "variant": task.variant.as_deref(),
            "repeat": task.repeat,
            "source": match outcome.source {
                AnswerSource::Called => "called",
                AnswerSource::Cached => "cached",
                AnswerSource::Resumed => "resumed",
            },
            "attempts": outcome.attempts,
            "seconds": outcome.seconds,
            "decision": outcome.result.as_ref().ok(),
            "failure": outcome.result.as_ref().err(),
        }),
        Event::Retrying {
            task,
            attempt,
            delay,
            failure,
        } => json!({
            "event": "retrying",
            "case": &*task.case,
            "variant": task.variant.as_deref(),
            "repeat": task.repeat,
            "attempt": attempt,
            "delay": delay,
            "failure": failure,
        }),
        Event::Remark { text } => json!({ "event": "remark", "text": text }),
    }
}

/// The last event: how the run ended, and the figures that are shown first.
fn finished(report: &Report) -> serde_json::Value {
    let sections = report.probes.iter();
    let items: BTreeMap<&str, usize> = sections
        .map(|(name, section)| (name, section.ids().len()))
        .collect();
    let shown = report.metrics.iter();
    let metrics: BTreeMap<&str, Option<f64>> = shown
        .filter(|(_, metric)| metric.is_shown_first())
        .map(|(id, metric)| (id.as_str(), metric.value))
        .collect();
    json!({
        "event": "finished",
        "ending": report.run.ending,
        "seconds": report.run.session.seconds,
        "items": items,
        "metrics": metrics,
        "cost": report.run.session.cost,
        "judge_cost": report.run.session.judge_cost,
    })
}

/// Prints progress if possible: a closed standard error is not a reason to stop.
fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

fn say_json(mut value: serde_json::Value) {
    value["schema_version"] = json!(1);
    let _ = writeln!(std::io::stderr().lock(), "{value}");
}

/// A duration for people.
pub(super) fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0 => "under a second".to_owned(),
        1..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min", whole.div_ceil(60)),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kelvin_base::usage::Usage;

    #[test]
    fn durations_are_told_in_a_unit_that_fits() {
        assert_eq!(duration(0.2), "under a second");
        assert_eq!(duration(90.0), "90 s");
        assert_eq!(duration(200.0), "4 min");
        assert_eq!(duration(9000.0), "2.5 h");
    }

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
