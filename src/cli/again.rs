//! What a command that is to be pasted has to name again.

use std::path::Path;

use crate::gate::reproduce::quoted;
use crate::page::safe;

/// The flag that names a configuration, as a shell reads it; nothing for the one that is read without it.
pub(super) fn config(file: &Path) -> String {
    match &*file.to_string_lossy() {
        "kelvin.yaml" => String::new(),
        file => safe::lines(&format!(" {}", quoted(&format!("--config={file}")))),
    }
}
