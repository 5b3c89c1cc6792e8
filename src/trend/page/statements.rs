//! The most important statements of the summary, and the phrases that other parts of the page also use.

use std::collections::BTreeSet;

use crate::trend::lasting::LastingFall;
use crate::trend::mean::Mean;
use crate::trend::summary::{Candidate, Of, OfConfiguration, Summary, SummaryRow, TrendWord};
use kelvin_page::{Phrase, Statement, Tone, counted, display};
use kelvin_record::Nouns;

/// How many falls are named one by one at most.
const NAMED: usize = 5;

pub(super) fn statements(summary: &Summary) -> Vec<Statement> {
    let mut said = Vec::new();
    let mut say = |tone: Tone, text: Phrase| said.push(Statement::new(tone, text));
    if summary.configurations.iter().all(|one| one.runs == 0) {
        say(
            Tone::Alarm,
            Phrase::text("No run of this period was found, so nothing can be said of it"),
        );
        return said;
    }
    let falls = summary.candidates.iter();
    let falls = falls.filter(|one| one.row.word == TrendWord::Fell);
    for one in falls.take(NAMED) {
        let row = &one.row;
        if let Some(fall) = &row.lasting {
            say(Tone::Alarm, fell(fall, "fell"));
            continue;
        }
        let phrase = row_words(row).and(" fell in ").name(row.metric.as_str());
        let (before, now) = (value(&row.before), value(&row.now));
        let phrase = phrase.and(format!(" from {before} to {now}"));
        say(
            Tone::Alarm,
            match since(one) {
                Some(since) => phrase.and(", since ").then(since),
                None => phrase,
            },
        );
    }
    let count = |is: &dyn Fn(&Candidate) -> bool| {
        let found = summary.candidates.iter().filter(|one| is(one));
        found.count()
    };
    let fallen = count(&|one| one.row.word == TrendWord::Fell);
    if fallen > NAMED {
        let more = format!("{} fell in all", counted(fallen, "mean"));
        say(Tone::Alarm, Phrase::text(more));
    }
    let poor = count(&|one| one.row.is_poor);
    if poor > 0 {
        let text = format!("{} below the bound of the metric", are(poor, "mean"));
        say(Tone::Alarm, Phrase::text(text));
    }
    let lost = count(&|one| one.row.word == TrendWord::Unmeasured);
    if lost > 0 {
        let text = format!("{} not measured in this period", are(lost, "mean"));
        say(Tone::Caution, Phrase::text(text));
    }
    let words = summary.configurations.iter();
    let words = words
        .map(|one| (one.name.clone(), one.nouns.clone()))
        .collect();
    let nouns = Nouns::common(&words);
    let configurations = summary.configurations.iter();
    let flaky: BTreeSet<(&str, &str)> = configurations
        .flat_map(|one| one.flaky.iter().map(|flaky| (&*one.name, &*flaky.case)))
        .collect();
    if !flaky.is_empty() {
        let verb = kelvin_page::are(flaky.len());
        let text = format!("{} {verb} flaky", nouns.counted(flaky.len()));
        say(Tone::Caution, Phrase::text(text));
    }
    for one in &summary.configurations {
        let gone = one.rows.iter().filter(|row| row.word == TrendWord::Gone);
        let gone: BTreeSet<&Of> = gone.map(|row| &row.of).collect();
        if !gone.is_empty() {
            let verb = kelvin_page::are(gone.len());
            let items = one.nouns.counted(gone.len());
            let text = format!("{items} of the period before {verb} not run any more in ");
            say(Tone::Caution, Phrase::text(text).name(one.name.as_str()));
        }
        for fall in &one.suspected {
            let text = fell(fall, "may have fallen");
            let too_few = ": too few runs tell it from noise";
            say(Tone::Caution, text.and(too_few));
        }
        if let Some(thin) = thin(one) {
            say(Tone::Caution, Phrase::of_name(one.name.as_str()).and(thin));
        }
    }
    if !summary.read.unread.is_empty() {
        let text = are(summary.read.unread.len(), "report");
        say(
            Tone::Caution,
            Phrase::text(format!("{text} not read, and in no mean")),
        );
    }
    if said.is_empty() {
        let text = "Nothing fell, nothing is poor, and nothing is flaky";
        said.push(Statement::new(Tone::Calm, Phrase::text(text)));
    }
    said
}

/// A warning if the means of a configuration are based on few runs.
fn thin(one: &OfConfiguration) -> Option<&'static str> {
    Some(match (one.runs, one.runs_before) {
        (0, _) => " has no run in this period",
        (_, 0) => " has no run in the period before, so nothing can be compared",
        (1, 1) => " has one run in this period and one before: each mean is a single measurement",
        (1, _) => " has one run in this period: each of its means is a single measurement",
        (_, 1) => {
            " has one run in the period before: each of its means there is a single measurement"
        }
        _ => return None,
    })
}

/// `1 case is`, `2 cases are`.
pub(super) fn are(count: usize, word: &str) -> String {
    let verb = kelvin_page::are(count);
    format!("{} {verb}", counted(count, word))
}

/// A time to the minute, in UTC. With seconds, a forge would take the text between the two colons for the name of an
/// emoji.
pub(super) fn time(written: &str) -> String {
    let minute = written.get(..16).unwrap_or(written);
    minute.replace('T', " ")
}

/// The subject of a row.
pub(super) fn row_words(row: &SummaryRow) -> Phrase {
    subject(&row.of)
}

fn subject(of: &Of) -> Phrase {
    match of {
        Of::Run => Phrase::text("the whole run"),
        Of::Group(label) => Phrase::text("the group ").name(label.as_str()),
        Of::Case(case) => Phrase::of_name(case.as_str()),
    }
}

/// A lasting fall as a sentence; `verb` is `fell` or another verb.
pub(crate) fn fell(fall: &LastingFall, verb: &str) -> Phrase {
    let (before, now) = (value(&fall.before), value(&fall.now));
    let slowly = match fall.is_gradual {
        true => ", little by little around ",
        false => ", since ",
    };
    subject(&fall.of)
        .and(format!(" {verb} in "))
        .name(fall.metric.as_str())
        .and(format!(" from {before} to {now}{slowly}"))
        .then(run(&fall.at, fall.commit.as_deref()))
}

/// The day of a run, with its commit.
fn run(at: &str, commit: Option<&str>) -> Phrase {
    let phrase = Phrase::text(at.get(..10).unwrap_or(at));
    match commit {
        Some(commit) => phrase
            .and(" (")
            .name(commit.get(..7).unwrap_or(commit))
            .and(")"),
        None => phrase,
    }
}

/// The run since which the value is as bad as now.
pub(super) fn since(one: &Candidate) -> Option<Phrase> {
    let since = one.since.as_ref()?;
    let phrase = run(&since.at, since.commit.as_deref());
    Some(match since.recovered {
        true => phrase.and("; the last run is better again"),
        false => phrase,
    })
}

/// A mean with the number of its values; it is never shown without that number.
pub(super) fn value(mean: &Mean) -> String {
    match mean.value {
        Some(value) => format!("{} (n {})", display(value), mean.n),
        None => "null (n 0)".to_owned(),
    }
}

/// Like [`value`], with the reason if there is no mean.
pub(super) fn cell(mean: &Mean) -> Phrase {
    let phrase = Phrase::text(value(mean));
    match &mean.reason {
        Some(reason) => phrase.and(": ").quote(reason.as_str()),
        None => phrase,
    }
}
