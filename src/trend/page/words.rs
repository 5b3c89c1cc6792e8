//! The few phrases that are used in several places of the page.

use crate::trend::lasting::LastingFall;
use crate::trend::mean::Mean;
use crate::trend::summary::{Candidate, Of, SummaryRow};
use kelvin_page::{Phrase, counted, display};

/// `1 case is`, `2 cases are`.
pub(super) fn are(count: usize, word: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(count, word))
}

/// A time to the minute, in UTC. With seconds, a forge would take the text between the two colons for the name of an
/// emoji.
pub(super) fn time(written: &str) -> String {
    let minute = written.get(..16).unwrap_or(written);
    minute.replace('T', " ")
}

/// The subject of a row.
pub(super) fn of(row: &SummaryRow) -> Phrase {
    subject(&row.of)
}

fn subject(of: &Of) -> Phrase {
    match of {
        Of::Run => Phrase::text("the whole run"),
        Of::Group(label) => Phrase::text("the group ").name(label.as_str()),
        Of::Case(case) => Phrase::of_name(case.as_str()),
    }
}

/// A fall that lasts, as a sentence; `verb` is `fell` or another verb.
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

/// The run since which something is as bad as now.
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

/// A mean as in [`value`], with the reason where there is no mean.
pub(super) fn cell(mean: &Mean) -> Phrase {
    let phrase = Phrase::text(value(mean));
    match &mean.reason {
        Some(reason) => phrase.and(": ").quote(reason.as_str()),
        None => phrase,
    }
}
