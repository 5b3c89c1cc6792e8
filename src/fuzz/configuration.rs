//! The configuration.

use std::path::Path;

use crate::registry::Registry;
use kelvin_base::exit::Misuse;

/// Longer files are slower and test nothing more.
const MOST_BYTES: usize = 64 * 1024;

/// Reads the bytes as `kelvin.yaml`.
///
/// # Panics
///
/// Where an error is not reported as one that the user can correct, or the same text has another digest when it is read
/// again.
pub fn configuration(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if text.len() > MOST_BYTES {
        return;
    }
    let file = Path::new("/nowhere/kelvin.yaml");
    match Registry::shipped().configured_by(text, file) {
        Ok(config) => {
            let again = Registry::shipped()
                .configured_by(text, file)
                .expect("it was read before");
            assert_eq!(config.measured(), again.measured());
        }
        Err(error) => {
            let misuse = error.downcast_ref::<Misuse>();
            assert!(misuse.is_some(), "no problem of the user: {error:#}");
            assert!(!error.to_string().trim().is_empty());
        }
    }
}
