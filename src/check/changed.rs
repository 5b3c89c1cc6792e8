//! A run during which the code of the pipeline changed: which code gave which answer is not known, so
//! it has no figures.

use kelvin_base::notice::{Code, Notice};
use kelvin_gate::report::Report;
use kelvin_record::{Ending, Findings, Metric};

/// Says what changed, and what to do.
pub(super) fn notice(changes: &str) -> Notice {
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

/// Why nothing can be said of a report, where it is of such a run.
pub(super) fn told(report: &Report) -> Option<String> {
    if report.run.ending != Ending::Changed {
        return None;
    }
    let mut notices = report.notices.iter();
    let notice = notices.find(|notice| notice.code == Code::Changed);
    let plain = || "the code of the pipeline changed while it ran".to_owned();
    Some(notice.map_or_else(plain, |notice| notice.text.clone()))
}

/// Takes the value of a metric away.
pub(super) fn withdraw(metric: &mut Metric) {
    metric.withdraw("the code of the pipeline changed while it ran");
}

/// Takes the word of an interruption from what a probe found: nobody interrupted it.
pub(super) fn without_interruption(findings: &mut Findings) {
    findings
        .notices
        .retain(|notice| notice.code != Code::Interrupted);
}
