//! Recognises the format of a number, and computes multiples and fractions in the same format.

/// A number times an integer, in the same format: with as many decimals and the same grouping. None if the text is not
/// a number.
pub(in crate::perturb) fn times(number: &str, factor: u32) -> Option<String> {
    let style = NumberStyle::of(number)?;
    Some(style.written(number, multiply(&digits(number), factor)))
}

/// A number divided by an integer, in the same format and rounded down to as many decimals. None if the text is not a
/// number.
pub(in crate::perturb) fn over(number: &str, divisor: u32) -> Option<String> {
    let style = NumberStyle::of(number)?;
    Some(style.written(number, divide(&digits(number), divisor)))
}

fn digits(number: &str) -> String {
    number.chars().filter(char::is_ascii_digit).collect()
}

/// The format of a number.
pub(super) struct NumberStyle {
    /// The decimal mark.
    point: Option<char>,
    /// How many decimals there are.
    decimals: usize,
    /// Whether there is no digit before the decimal mark.
    bare_point: bool,
    /// The separator between groups, and the length of the groups before the last one: 3, or 2 in India.
    group: Option<(char, usize)>,
}

impl NumberStyle {
    /// Writes digits in this format, to replace the digits of a number with this format.
    fn written(&self, number: &str, digits: String) -> String {
        let mut digits = digits;
        while digits.len() < number.bytes().filter(u8::is_ascii_digit).count() {
            digits.insert(0, '0');
        }
        let (whole, decimals) = digits.split_at(digits.len() - self.decimals);
        let mut whole = whole.trim_start_matches('0').to_owned();
        if whole.is_empty() && !self.bare_point {
            whole.push('0');
        }
        let mut out = match self.group {
            Some((mark, first)) => grouped(&whole, mark, first),
            None => whole,
        };
        if let Some(point) = self.point {
            out.push(point);
            out.push_str(decimals);
        }
        out
    }

    /// The format of a number; none if the text is not a number.
    pub(super) fn of(number: &str) -> Option<Self> {
        let marks: Vec<(usize, char)> = number
            .char_indices()
            .filter(|(_, c)| !c.is_ascii_digit())
            .collect();
        let plain = |whole: &str| !whole.starts_with('0') || whole.len() == 1;
        let Some((last_at, last)) = marks.last().copied() else {
            return (plain(number) && !number.is_empty()).then_some(Self {
                point: None,
                decimals: 0,
                bare_point: false,
                group: None,
            });
        };
        if let Some((mark, first)) = grouping(number, false) {
            return Some(Self {
                point: None,
                decimals: 0,
                bare_point: false,
                group: Some((mark, first)),
            });
        }
        let (whole, rest) = number.split_at(last_at);
        let decimals = rest.len() - last.len_utf8();
        let group = grouping(whole, last == ',');
        let plausible = match last {
            '.' => group.is_some_and(|(mark, _)| mark != '.') || marks.len() == 1,
            // "1,2345" is neither grouped digits nor a usual number with a decimal comma.
            ',' => {
                group.is_some_and(|(mark, _)| mark != ',')
                    || (marks.len() == 1 && decimals <= 2 && !whole.is_empty())
            }
            _ => false,
        };
        (plausible && decimals > 0 && plain(whole)).then_some(Self {
            point: Some(last),
            decimals,
            bare_point: whole.is_empty(),
            group,
        })
    }
}

/// The grouping of a whole number: one separator throughout, and groups of three, or of two before the last three.
fn grouping(whole: &str, one_point: bool) -> Option<(char, usize)> {
    let mark = whole.chars().find(|c| !c.is_ascii_digit())?;
    if !is_grouping_mark(mark) {
        return None;
    }
    let groups: Vec<&str> = whole.split(mark).collect();
    let (first, rest) = groups.split_first()?;
    let (last, middle) = rest.split_last()?;
    let digits = |group: &&str| group.bytes().all(|b| b.is_ascii_digit());
    let sound = groups.iter().all(digits) && !first.is_empty() && !first.starts_with('0');
    // A single group after a full stop is read as decimals, as in English.
    if !sound || last.len() != 3 || (mark == '.' && middle.is_empty() && !one_point) {
        return None;
    }
    if first.len() <= 3 && middle.iter().all(|group| group.len() == 3) {
        return Some((mark, 3));
    }
    let indian = mark == ',' && !middle.is_empty() && first.len() <= 2;
    (indian && middle.iter().all(|group| group.len() == 2)).then_some((mark, 2))
}

fn grouped(whole: &str, mark: char, size: usize) -> String {
    let Some(head) = whole.len().checked_sub(3).filter(|head| *head > 0) else {
        return whole.to_owned();
    };
    let mut out = String::new();
    for (at, digit) in whole.char_indices() {
        let to_last = head.checked_sub(at).filter(|_| at > 0);
        if to_last.is_some_and(|to_last| to_last.is_multiple_of(size)) {
            out.push(mark);
        }
        out.push(digit);
    }
    out
}

/// Decimal digits times a factor, without rounding.
fn multiply(digits: &str, factor: u32) -> String {
    let mut carry = 0_u64;
    let mut reversed = Vec::with_capacity(digits.len() + 10);
    for digit in digits.bytes().rev() {
        let product = u64::from(digit - b'0') * u64::from(factor) + carry;
        reversed.push(b'0' + (product % 10) as u8);
        carry = product / 10;
    }
    while carry > 0 {
        reversed.push(b'0' + (carry % 10) as u8);
        carry /= 10;
    }
    reversed
        .iter()
        .rev()
        .map(|digit| char::from(*digit))
        .collect()
}

/// Decimal digits divided by an integer; the remainder is dropped.
fn divide(digits: &str, divisor: u32) -> String {
    let divisor = u64::from(divisor);
    let mut rest = 0_u64;
    let quotient = digits.bytes().map(|digit| {
        let at_hand = rest * 10 + u64::from(digit - b'0');
        rest = at_hand % divisor;
        // A remainder is below the divisor, and so the quotient is one digit.
        char::from(b'0' + (at_hand / divisor) as u8)
    });
    quotient.collect()
}

/// Whether a character groups digits or separates the decimals.
pub(super) fn is_grouping_mark(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}'
    )
}

/// The value of a number, for comparisons only; it need not be exact.
pub(super) fn value(number: &str) -> f64 {
    let point = NumberStyle::of(number).and_then(|style| style.point);
    let plain: String = number
        .chars()
        .filter_map(|c| match c {
            _ if Some(c) == point => Some('.'),
            _ => c.is_ascii_digit().then_some(c),
        })
        .collect();
    plain.parse().unwrap_or(0.0)
}
