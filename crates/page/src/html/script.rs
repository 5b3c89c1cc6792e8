//! The script of the page, which only adds comfort, and the permission for this script alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use kelvin_base::digest::Digest;

/// Filters and sorts the items, and opens the item of a link.
pub(super) const SCRIPT: &str = include_str!("templates/script.js");

/// The source expression that allows a script of exactly this text.
pub fn permission(script: &str) -> String {
    format!(
        "'sha256-{}'",
        STANDARD.encode(Digest::of(script.as_bytes()).bytes())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_permission_of_nothing_is_the_known_one() {
        assert_eq!(
            permission(""),
            "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
        );
    }
}
