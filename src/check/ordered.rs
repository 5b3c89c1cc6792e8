//! A pipeline that remembers: where the answers of a run depend on the order in which its inputs were asked, a comparison
//! of its figures compares orders as well.

use kelvin_base::notice::Code;
use kelvin_gate::policy::Effect;
use kelvin_gate::report::Report;
use kelvin_gate::verdict::{Reason, ReasonCode, Verdict, Word};
use kelvin_page::safe;

/// Says so in the verdict, which is no pass then: nothing shows that the change is not worse.
pub(super) fn doubt(head: &Report, verdict: &mut Verdict) {
    let mut notices = head.notices.iter();
    let notice = notices.find(|notice| notice.code == Code::own("order_matters"));
    let Some(notice) = notice else {
        return;
    };
    if verdict.verdict == Word::Pass {
        verdict.verdict = Word::Inconclusive;
    }
    let reason = Reason {
        code: ReasonCode::OrderMatters,
        effect: Some(Effect::Warn),
        metric: None,
        text: safe::line(&notice.text),
    };
    // A reader meets it before the figures that it puts in doubt.
    verdict.reasons.insert(0, reason);
}
