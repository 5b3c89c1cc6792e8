//! Shortens reports so that they contain no more texts of answers than the configuration lets others read.

use std::borrow::Cow;

use super::claims::figures_follow;
use super::record;
use kelvin_gate::report::Report;
use kelvin_record::KeptTexts;
use kelvin_run::config::Config;

/// Returns the report without the texts of answers that must not be stored. Notices and reasons quote such texts too,
/// so they are made again from the shortened records; the figures stay the same. Fails if the figures cannot be
/// computed from the shortened records, which is a bug of this program.
pub(super) fn shortened(mut report: Report, texts: KeptTexts) -> anyhow::Result<Report> {
    let made = record::notices_of_figures(&report);
    report.notices.retain(|notice| !made.contains(notice));
    // A decision that is a secret was masked when the report was written, so its distances do not follow from it.
    let follows = figures_follow(&report);
    report.probes.shorten(texts);
    report.run.session.texts_withheld |= texts == KeptTexts::None;
    if !follows {
        return Ok(report);
    }
    anyhow::ensure!(
        figures_follow(&report),
        "the figures of this report cannot be made of its shortened records: set `baseline: {{texts: full}}`, and \
         report this fault of kelvin"
    );
    Ok(record::recompute("", report).report)
}

/// Whether the gate must not see any texts of answers: the configuration stores none, or one of the reports has none. A
/// text cannot be compared with a placeholder, so then both sides are compared without texts.
pub(super) fn are_withheld(config: &Config, reports: &[&Report]) -> bool {
    let mut sessions = reports.iter().map(|report| &report.run.session);
    config.baseline.texts == KeptTexts::None || sessions.any(|session| session.texts_withheld)
}

/// A report in the form in which the gate compares it. The whole verdict is made from this form. Fails like
/// [`shortened`].
pub(super) fn compared(report: &Report, withheld: bool) -> anyhow::Result<Cow<'_, Report>> {
    Ok(match withheld && !report.run.session.texts_withheld {
        true => Cow::Owned(shortened(report.clone(), KeptTexts::None)?),
        false => Cow::Borrowed(report),
    })
}
