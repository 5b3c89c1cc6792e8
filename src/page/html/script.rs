//! The script of the page, which only adds comfort, and the permission for it and no other.

use crate::digest::Digest;

/// Filters and sorts the items, and opens the one that a link points to.
pub(super) const SCRIPT: &str = include_str!("templates/script.js");

/// The source expression that allows a script of exactly this text.
pub(crate) fn permission(script: &str) -> String {
    format!("'sha256-{}'", base64(Digest::of(script.as_bytes()).bytes()))
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| {
            bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0))
        });
        for at in 0..4 {
            text.push(if at <= chunk.len() {
                char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_agrees_with_its_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_permission_of_nothing_is_the_known_one() {
        assert_eq!(
            permission(""),
            "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
        );
    }
}
