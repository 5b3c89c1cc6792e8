//! The forms in which a secret may be written.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::Value;

/// The characters that encoders leave unchanged, beside letters and digits: those of the standard, of browsers, of
/// Python, and of forms.
const PLAIN: [&[u8]; 4] = [b"-_.~", b"-_.~!'()*", b"-_.~/", b"-_.*"];

/// A secret in every form that is searched for: unchanged, each of its lines, in JSON, in base64, in addresses.
pub(super) fn of(secret: &str) -> BTreeSet<String> {
    let lines = secret.lines().map(|line| line.trim().to_owned());
    let mut forms: BTreeSet<String> = lines.collect();
    forms.insert(secret.to_owned());
    forms.extend(quoted(secret));
    forms.extend(base64(secret));
    forms.extend(percent(secret));
    forms
}

/// A secret as it is written in JSON, in both usual ways.
fn quoted(secret: &str) -> [String; 2] {
    let json = Value::from(secret).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let ascii = json
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
            _ => format!("\\u{unit:04x}"),
        })
        .collect();
    [json, ascii]
}

/// A secret within a longer text in base64. Its form depends on the number of bytes before it; letters that also depend
/// on the neighbours of the secret are left out.
fn base64(secret: &str) -> Vec<String> {
    let mut forms = vec![
        // Padding is left out, since a secret may be inside a longer text.
        STANDARD_NO_PAD.encode(secret),
        STANDARD_NO_PAD.encode(format!("x-access-token:{secret}")),
    ];
    for (before, shared) in [(0, 0), (1, 2), (2, 3)] {
        let mut bytes = vec![0; before];
        bytes.extend(secret.as_bytes());
        let text = STANDARD_NO_PAD.encode(&bytes);
        let end = text.len() - usize::from(bytes.len() % 3 != 0);
        forms.push(text[shared..end].to_owned());
    }
    let of_addresses = |form: &String| form.replace('+', "-").replace('/', "_");
    let others: Vec<String> = forms.iter().map(of_addresses).collect();
    forms.extend(others);
    forms
}

/// A secret within an address, in the forms of the usual encoders.
fn percent(secret: &str) -> Vec<String> {
    let encoded = |plain: &[u8], is_form: bool, is_lower: bool| {
        let letter = |byte: &u8| match byte {
            byte if byte.is_ascii_alphanumeric() || plain.contains(byte) => {
                char::from(*byte).to_string()
            }
            b' ' if is_form => "+".to_owned(),
            byte if is_lower => format!("%{byte:02x}"),
            byte => format!("%{byte:02X}"),
        };
        secret.as_bytes().iter().map(letter).collect()
    };
    let mut forms = Vec::new();
    for plain in PLAIN {
        for is_form in [false, true] {
            for is_lower in [false, true] {
                forms.push(encoded(plain, is_form, is_lower));
            }
        }
    }
    forms
}
