//! Renders a trial for a terminal.

use std::fmt::Write as _;

use crate::check::Calibrated;
use kelvin_page::{brief, counted, of_judges, safe};
use kelvin_run::judge::trial::{Fitness, Ruling, TrialFigure, TrialRecord};

/// The width of the column with the names of criteria.
const NAME: usize = 16;
/// The width of the column with the names of figures.
const FIGURE: usize = 39;

/// Renders a trial for a terminal.
pub(super) fn terminal(calibrated: &Calibrated) -> String {
    let mut page = String::new();
    let cost = of_judges(&calibrated.cost);
    let Some(record) = &calibrated.record else {
        return format!("{STOPPED}\n{cost}\n");
    };
    let _ = writeln!(page, "kelvin calibrate: {}", safe::line(&record.judge));
    let _ = writeln!(page, "{}.", scope(record));
    let _ = writeln!(page, "Judge: {}.", safe::line(&record.grader_id));
    let other = safe::line(&record.compared_with);
    let _ = writeln!(
        page,
        "Compared with: {other}.\n\n{}",
        verdict(record.fitness)
    );
    for one in &record.criteria {
        let mark = match one.ruling {
            Ruling::Kept => '=',
            Ruling::Broken => '!',
            Ruling::Open => '~',
            Ruling::Unasked => '-',
        };
        let (name, text) = (safe::cut(&one.name, NAME), safe::line(&one.text));
        let _ = writeln!(page, "{mark} {name:<NAME$}{text}");
    }
    let _ = writeln!(
        page,
        "\n{:<FIGURE$}{:>12}  95 % interval",
        "figure", "value"
    );
    for (measure, figure) in &record.figures {
        let (value, interval) = value(figure);
        let sample = match figure.n {
            0 => String::new(),
            n => format!("  n={n}"),
        };
        let label = measure.label();
        let _ = writeln!(page, "{label:<FIGURE$}{value:>12}  {interval}{sample}");
        if let Some(note) = &figure.note {
            let _ = writeln!(page, "    {}", safe::line(note));
        }
    }
    let _ = writeln!(page, "\n{}", smallest_drop(record));
    if let Some(unscored) = unscored(record) {
        let _ = writeln!(page, "{unscored}");
    }
    let _ = writeln!(page, "{cost}");
    if let Some(file) = &calibrated.file {
        let file = safe::line(&file.display().to_string());
        let _ = writeln!(page, "Kept for the gate in {file}.");
    }
    for notice in &calibrated.notices {
        let _ = writeln!(page, "~ {}", safe::line(notice));
    }
    page
}

/// The result of the trial, in a sentence.
const fn verdict(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Fit => "fit: every criterion is kept, so a gate may rest on this judge",
        Fitness::Unfit => "unfit: a gate must not rest on this judge",
        Fitness::Undecided => {
            "undecided: nothing speaks against this judge for sure, and it is not shown to be fit either"
        }
    }
}

/// The number of items and gradings in the trial.
fn scope(record: &TrialRecord) -> String {
    let labelled = match record.labelled {
        0 => "none of them labelled".to_owned(),
        labelled => format!("{labelled} of them labelled"),
    };
    format!(
        "{} to {}, {labelled}; {}",
        counted(record.answers, "answer"),
        counted(record.prompts, "prompt"),
        counted(record.gradings, "grading")
    )
}

/// The value and its interval.
fn value(figure: &TrialFigure) -> (String, String) {
    let shown = |value: f64| format!("{:.2}", value + 0.0).replace("-0.00", "0.00");
    let value = figure
        .value
        .map_or_else(|| "not measured".to_owned(), shown);
    let interval = figure.interval.map_or_else(
        || "-".to_owned(),
        |(low, high)| format!("{} to {}", shown(low), shown(high)),
    );
    (value, interval)
}

/// The smallest drop that a gate with this judge could detect.
pub(super) fn smallest_drop(record: &TrialRecord) -> String {
    let drop = &record.smallest_drop;
    let Some(noise) = drop.noise else {
        return "The smallest drop that a gate would see is not known, since the noise of the judge was \
                not measured."
            .to_owned();
    };
    if noise == 0.0 {
        return format!(
            "Neither repeats nor filler moved a score over {}, so the limit of the gate alone decides which \
             drop is seen.",
            counted(record.prompts, "prompt")
        );
    }
    let suites: Vec<String> = drop
        .by_prompts
        .iter()
        .map(|(prompts, drop)| format!("{} with {prompts}", brief(*drop)))
        .collect();
    format!(
        "The smallest drop of the mean score that a gate would see four times in five, by the number of \
         prompts: {}.",
        suites.join(", ")
    )
}

/// Why some gradings have no score.
fn unscored(record: &TrialRecord) -> Option<String> {
    if record.unscored.is_empty() {
        return None;
    }
    let reasons: Vec<String> = record
        .unscored
        .iter()
        .map(|(code, count)| format!("{code} {count}"))
        .collect();
    Some(format!(
        "Without a score, and in no figure: {}.",
        reasons.join(", ")
    ))
}

/// The text for a trial that was stopped.
const STOPPED: &str = "The trial was stopped before every grade was in, so nothing is concluded \
                                  and no judgement of the judge is kept; `--resume` goes on with its answers.";
