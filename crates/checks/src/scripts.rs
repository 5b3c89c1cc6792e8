//! The scripts that invariants run: whether they can be started shows before anything is run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::config::ChecksSettings;
use kelvin_base::notice::{Code, Notice};

/// Notices about the scripts, one for each. A script that is not there may be made before the run.
pub(super) fn script_notices(root: &Path, settings: &ChecksSettings) -> Vec<Notice> {
    let scripts = settings.invariants.iter();
    let scripts = scripts.filter_map(|one| Some((&one.name, one.script.as_deref()?)));
    let lame = scripts.filter(|(_, script)| is_lame(&root.join(script)));
    lame.map(|(name, script)| {
        // The path may hold the value of a variable.
        let script = settings.without_values(&script.display().to_string());
        let text = format!(
            "the invariant `{name}` runs `{script}`, which is not executable, so it will be an error in every \
             scenario; run `chmod +x {script}`, and commit that"
        );
        Notice::new(Code::own("check_errors"), text)
    })
    .collect()
}

/// Whether the path is a file that nobody may execute.
fn is_lame(path: &Path) -> bool {
    let data = std::fs::metadata(path);
    data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 == 0)
}
