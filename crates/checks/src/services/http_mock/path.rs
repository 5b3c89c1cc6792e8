//! Gives every path one spelling. A request may write any letter of a path as `%` and two digits, and every server
//! takes it for the same path: nobody gets past a route or a filter by another spelling.

/// The path with every letter, digit, `-`, `.`, `_` and `~` as itself, and every other byte that a path
/// cannot hold as `%` and two capital digits (RFC 3986, 6.2.2).
pub(super) fn normal(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut normal = String::with_capacity(path.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%').then(|| escaped(bytes.get(at + 1..at + 3)));
        match escaped.flatten() {
            Some(byte) if is_plain(byte) => normal.push(char::from(byte)),
            Some(byte) => normal.push_str(&format!("%{byte:02X}")),
            None if byte.is_ascii_graphic() => normal.push(char::from(byte)),
            None => normal.push_str(&format!("%{byte:02X}")),
        }
        at += if escaped.flatten().is_some() { 3 } else { 1 };
    }
    normal
}

/// The byte that two digits stand for.
fn escaped(digits: Option<&[u8]>) -> Option<u8> {
    let digits = std::str::from_utf8(digits?).ok()?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_path_is_the_same_path_and_no_other() {
        for (written, one) in [
            ("/api/messages", "/api/messages"),
            ("/%61pi/mess%61ges", "/api/messages"),
            ("/%7Euser", "/~user"),
            ("/größe", "/gr%C3%B6%C3%9Fe"),
            ("/gr%c3%b6%C3%9fe", "/gr%C3%B6%C3%9Fe"),
            ("/a b", "/a%20b"),
            // What separates parts is not the same as its escaped form.
            ("/a%2fb", "/a%2Fb"),
            ("/a/b", "/a/b"),
            // What is no escape stays as it is.
            ("/100%", "/100%"),
            ("/%+1", "/%+1"),
            ("/%zz", "/%zz"),
            ("", ""),
        ] {
            assert_eq!(normal(written), one, "{written}");
            assert_eq!(normal(&normal(written)), one, "{written}");
        }
    }
}
