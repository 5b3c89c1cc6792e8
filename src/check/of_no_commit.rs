//! A pipeline that is the same process whatever commit is checked out: a base that is measured beside its change is then
//! the change.

use kelvin_base::notice::{Code, Notice};
use kelvin_run::config::Config;

/// Why the base cannot be measured now, where `baseline.compute` asks for it; none where it can be.
pub(super) fn why(base: &Config, head: &Config) -> Option<String> {
    if !head.baseline.compute {
        return None;
    }
    let mut services = head.targets().filter(|target| target.is_of_no_commit());
    let is_same = services.any(|here| base.targets().any(|there| there.text() == here.text()));
    is_same.then(|| {
        "the base cannot be measured beside the change: without `start` under `run.http`, the same service answers for \
         both. Name the command that starts it in `start`, or compare with a stored report (`baseline.compute: false`)"
            .to_owned()
    })
}

/// The same as a notice.
pub(super) fn notice(config: &Config) -> Option<Notice> {
    Some(Notice::new(Code::own("same_service"), why(config, config)?))
}
