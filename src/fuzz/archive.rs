//! Downloads from GitHub: archives of artifacts, with a report or a bundle that a pull request wants to have posted.

use crate::registry::Registry;
use kelvin_github::publish::Context;
use kelvin_github::publish::bundle;
use kelvin_github::publish::bundle::Bundle;
use kelvin_github::{Archive, REPORT_FILE};

/// The most bytes of one file here; the program itself allows more.
const MOST: usize = 1024 * 1024;

/// Opens the bytes as an archive, and reads the report in it and the bundle.
///
/// # Panics
///
/// Where more is unpacked than was asked for.
pub fn archive(bytes: &[u8]) {
    let Ok(mut archive) = Archive::open(bytes) else {
        return;
    };
    for name in [REPORT_FILE, bundle::FILE] {
        let Ok(Some(content)) = archive.read(name, MOST) else {
            continue;
        };
        assert!(content.len() <= MOST);
        super::report(&content);
        // Nothing is known of the run of this bundle, so only a bundle without claims can be read.
        let _ = Bundle::read(
            &content,
            &Context::default(),
            &Registry::shipped().of_sections(),
        );
    }
}
