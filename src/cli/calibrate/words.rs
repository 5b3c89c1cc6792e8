//! The sentences of a trial that a terminal and Markdown share.

use crate::check::Calibrated;
use kelvin_page::{brief, counted};
use kelvin_run::judge::trial::{Fitness, Ruling, TrialFigure, TrialRecord};

/// The result of the trial, in a sentence.
pub(super) const fn verdict(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Fit => "fit: every criterion is kept, so a gate may rest on this judge",
        Fitness::Unfit => "unfit: a gate must not rest on this judge",
        Fitness::Undecided => {
            "undecided: nothing speaks against this judge for sure, and it is not shown to be fit either"
        }
    }
}

/// The result for a criterion, in a word.
pub(super) const fn ruling(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Kept => "kept",
        Ruling::Broken => "broken",
        Ruling::Open => "open",
        Ruling::Unasked => "not asked",
    }
}

/// The extent of the trial.
pub(super) fn scope(record: &TrialRecord) -> String {
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
pub(super) fn value(figure: &TrialFigure) -> (String, String) {
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

/// The smallest drop that a gate on this judge could see.
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
pub(super) fn unscored(record: &TrialRecord) -> Option<String> {
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

/// The cost of the calls.
pub(super) fn cost(calibrated: &Calibrated) -> String {
    let cost = &calibrated.cost;
    let mut parts = vec![counted(cost.invocations, "call")];
    if cost.cache_hits > 0 {
        parts.push(format!(
            "{} from the cache",
            counted(cost.cache_hits, "answer")
        ));
    }
    if cost.resumed > 0 {
        parts.push(format!("{} resumed", counted(cost.resumed, "answer")));
    }
    if cost.retries > 0 {
        parts.push(counted(cost.retries, "further attempt"));
    }
    if let Some(usage) = &cost.usage {
        let (sent, answered) = (usage.input_tokens, usage.output_tokens);
        parts.push(format!("{sent} tokens sent and {answered} answered"));
        parts.extend(usage.usd.map(|usd| format!("{usd:.4} USD")));
    }
    format!("The trial took {}.", parts.join(", "))
}

/// The text for a trial that was stopped.
pub(super) const STOPPED: &str = "The trial was stopped before every grade was in, so nothing is concluded \
                                  and no judgement of the judge is kept; `--resume` goes on with its answers.";
