//! A run during which the code of the pipeline changed. It has no figures, because nobody knows which code gave which
//! answer.

use kelvin_base::notice::{Code, Notice};
use kelvin_gate::report::Report;
use kelvin_record::{Ending, Findings, Metric};

/// Says which files changed, and what to do.
pub(super) fn changed_notice(changes: &str) -> Notice {
    Notice::new(
        Code::Changed,
        format!(
            "the code of the pipeline changed while it ran, so it is not known which code gave \
             which answer, and nothing of this run is kept: {changes}. Run it again and leave the \
             files alone until it ends. Files that the pipeline writes itself do not count as code if \
             `.gitignore` lists them, or if `fingerprint` names the files of the code"
        ),
    )
}

/// Why a report of such a run shows nothing; none for other reports.
pub(super) fn why_nothing_is_shown(report: &Report) -> Option<String> {
    if report.run.ending != Ending::Changed {
        return None;
    }
    let mut notices = report.notices.iter();
    let notice = notices.find(|notice| notice.code == Code::Changed);
    let plain = || "the code of the pipeline changed while it ran".to_owned();
    Some(notice.map_or_else(plain, |notice| notice.text.clone()))
}

/// Takes the value of a metric away.
pub(super) fn withdraw_changed(metric: &mut Metric) {
    metric.withdraw("the code of the pipeline changed while it ran");
}

/// Removes the note of an interruption from the findings of a probe: nobody interrupted the run.
pub(super) fn without_interruption(findings: &mut Findings) {
    findings
        .notices
        .retain(|notice| notice.code != Code::Interrupted);
}
