use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

static LABELS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let words = crate::words::Words::load(std::path::Path::new(""), &[], None);
    words.expect("the shipped lists load").number_labels
});

fn scaled(text: &str, factor: u32) -> String {
    let edits = amounts(text, 0..text.len(), &LABELS)
        .into_iter()
        .map(|Amount { range, .. }| {
            let new = times(&text[range.clone()], factor).expect("an amount is a number");
            (range, new)
        })
        .collect();
    crate::perturb::rewrite::apply_edits(text, &edits)
}

#[test]
fn m7_amounts_keep_their_style() {
    for (text, doubled) in [
        ("A fee of $1,000 applies.", "A fee of $2,000 applies."),
        (
            "a total of 1,234,567.89 euros",
            "a total of 2,469,135.78 euros",
        ),
        ("1234567.5 units", "2469135.0 units"),
        ("up to $60K or £1.5M", "up to $120K or £3.0M"),
        ("a balance of -5 and −7.25", "a balance of -10 and −14.50"),
        (
            "for 3-5 days, 10–20 at most",
            "for 6-10 days, 20–40 at most",
        ),
        (
            "$3-$5 and 10%-12.5% and 5k-10k",
            "$6-$10 and 20%-25.0% and 10k-20k",
        ),
        ("a 30-day notice", "a 60-day notice"),
        ("(within 12 months)", "(within 24 months)"),
        ("below 12.5%, or 0.05%.", "below 25.0%, or 0.10%."),
        (".5 percent", "1.0 percent"),
        ("999 people and 5,001", "1998 people and 10,002"),
        ("1.234.567 or 1.234,56 €", "2.469.134 or 2.469,12 €"),
        ("CHF 1'500 and ₹1,00,000", "CHF 3'000 and ₹2,00,000"),
        ("12 000 or 12\u{a0}000 kg", "24 000 or 24\u{a0}000 kg"),
        ("A score of 640 in 2024.", "A score of 1280 in 2024."),
        (
            "2000 employees, USD 2000, $2000",
            "4000 employees, USD 4000, $4000",
        ),
        ("score >=640 and <5", "score >=1280 and <10"),
        ("\u{1}\u{1}5\u{1}\u{1} days", "\u{1}\u{1}10\u{1}\u{1} days"),
        ("$5/month at 60 km/h, 3x", "$10/month at 120 km/h, 6x"),
        ("wait 5. Then 7", "wait 10. Then 14"),
        ("US$40 and 500MB in 12h", "US$80 and 1000MB in 24h"),
        ("between 5 and 10, 15 or 20", "between 10 and 20, 30 or 40"),
        ("age 18+", "age 36+"),
    ] {
        assert_eq!(scaled(text, 2), doubled);
    }
}

#[test]
fn m7_what_is_no_amount_is_left_alone() {
    for text in [
        "on 2024-04-24, 24/04/2024 and 24.04.2024",
        "on 24 April 2024, April 24, 2024, May 5 and 6, and 3 Dec.",
        "in 2024, since 1999, and 2023-2024 or 2023–24",
        "at 12:30, 09:05:30, 9 am, 5 p.m., 7 o'clock and 14h30",
        "version 3, v2.1, 3.2.1 and python3.11",
        "the 1st, 2nd, 3rd and 24th",
        "1. Scope",
        "1) scope",
        "(1) scope and (2) terms [3]",
        "Section 3.2, Sections 4, 5 and 6, § 7, Clause 8, steps 1 to 3",
        "Categories 2 and 3, Appendices 4 or 5, Classes 1–2",
        "Tier 1, level 2, ISO 27001, RFC 2119, No. 7, #12",
        "AB-12, Q3, COVID-19, mid-2024, x86, IPv4, B2B",
        "+1 555 0100, 555-0100, 555-1234, 555 01 00",
        "account 4111111111111111 or 007",
        "192.168.0.1, http://a.b/5, me@7.org, C:\\9",
        "3D, 5G, 2FA, 4x4, 3a7f, 1990s, the '90s",
        "1/2 of it, 24/7, a ratio of 10:1, report-2.pdf, 5_000",
        "1,2345 and 1,2,3",
        "none at all",
        "call +47 22 33 44 55, +1 555 0100, (555) 010-0199 or 0800 123 456",
        "numbers that begin with +47, country code 49, ext. 4",
        "Springfield, IL 62704; Oslo, 0150; sent to 10115 Berlin and in 1017 AB Amsterdam",
        "DE89 3704 0044 0532 0130 00, GB29 NWBK 6016 1331 9268 19, 4111 1111 1111 1111",
        "account 12345678, claim 88213, Claim number: 88213, order 10023, Invoice 2231, lot 442",
        "section 4.2, see 4.2, clause 7.1(a), as set out in 4.2, Rule 144A, a 401(k)",
        "version 2.1.3, Python 3.12, iOS 17, with Windows 11 or Bluetooth 5.0, firmware 6.2",
        "The Halvard firmware 6.2 is new, and 6.2 is the last",
        "seat 14C, seat 14, row 22, gate 7, at Terminal 3, flight SK 4712, ward 4, apartment 4B",
        "rooms 12 and 14, Room B 12, page 3 of 12, beds 3 to 5",
        "grade 3, priority 1, day 3 of week 12, type 2, an ASA 3",
        "12 Main Street, 221 Baker St, in Storgata 12",
        "4, 5 and 6 May, 4-8 June, 4 or 5 Dec.",
        "a 2-factor login, a 5-star hotel, 3-phase power, 2½ of them, thirty (30) days",
        "on a scale of 1 to 5, 4 on a scale from 1 to 5",
        "1. A form. 2. A stamp. Either 1. a seal or 2. a note",
        "reg. no 987 654 321, art. 7 para 2, ver 2.0",
        "two of 5 reviewers, one in 10, half of the 12",
        "ISO 27001, EN 60601-1, 49 CFR 173.4, 21 CFR Part 11, (EU) 2016/679, UN 1993",
    ] {
        assert_eq!(scaled(text, 2), text);
    }
}

#[test]
fn words_that_are_mostly_labels_leave_what_is_counted_an_amount() {
    for (text, doubled) in [
        ("2 hours per patient 3 times", "4 hours per patient 6 times"),
        ("must order 3 parts", "must order 6 parts"),
        ("in case 3 or more are late", "in case 6 or more are late"),
        ("this year 20 claims came", "this year 40 claims came"),
        ("Claims: 3. Claim: 3.", "Claims: 6. Claim: 3."),
        ("under the policy 30 days", "under the policy 60 days"),
        ("Credit Score 640, FICO 640", "Credit Score 1280, FICO 1280"),
        ("Weight 30 kg, Band 10 %", "Weight 60 kg, Band 20 %"),
        ("12,000 Norwegian kroner", "24,000 Norwegian kroner"),
        ("See section 3, 30 days", "See section 3, 60 days"),
        (
            "was +4 mmHg, +5 % and +3 points",
            "was +8 mmHg, +10 % and +6 points",
        ),
    ] {
        assert_eq!(scaled(text, 2), doubled);
    }
}

/// What each amount of a text may become, of all that is tried.
fn allowed(text: &str) -> Vec<String> {
    let amounts = amounts(text, 0..text.len(), &LABELS);
    let of = |amount: &Amount| {
        let number = &text[amount.range.clone()];
        let tried = [
            times(number, 2),
            over(number, 2),
            times(number, 10),
            over(number, 10),
        ];
        let allowed = tried.into_iter().flatten();
        let allowed: Vec<String> = allowed.filter(|new| amount.allows(new)).collect();
        format!("{number}: {}", allowed.join(" "))
    };
    amounts.iter().map(of).collect()
}

#[test]
fn shares_stay_shares_and_ranges_stay_ranges() {
    for (text, expected) in [
        ("at least 95 percent", vec!["95: 47 9"]),
        ("below 35.5 %", vec!["35.5: 71.0 17.7 3.5"]),
        ("growth of 120 %", vec!["120: 240 60 1200 12"]),
        ("3 out of 4 reviewers", vec!["3: 1"]),
        ("more than 9 in 10", vec!["9: 4"]),
        ("7 of the 10 criteria", vec!["7: 3"]),
        ("3 conditions out of 5", vec!["3: 1"]),
        (
            "20 in 10 minutes",
            vec!["20: 40 10 200 2", "10: 20 5 100 1"],
        ),
        ("between 3 and 5 days", vec!["3: 1", "5: 10 50"]),
        (
            "from 10 to 300 seconds",
            vec!["10: 20 5 100 1", "300: 600 150 3000 30"],
        ),
        ("10–20 %", vec!["10: 5 1", "20: 40"]),
        ("$3-$5", vec!["3: 1", "5: 10 50"]),
        ("a score above 0.85", vec!["0.85: 0.42 0.08"]),
        ("0.5 mg", vec!["0.5: 1.0 0.2 5.0"]),
        ("aged 65", vec!["65: 32 6"]),
        ("16 hours a day, 7 days a week", vec!["16: 8 1", "7: 3"]),
        ("0 defects", vec!["0: "]),
        ("4.5 stars", vec!["4.5: 2.2 0.4"]),
    ] {
        assert_eq!(allowed(text), expected, "{text}");
    }
}

#[test]
fn m7_decimals_are_exact() {
    assert_eq!(times("0.1", 3).as_deref(), Some("0.3"));
    assert_eq!(times("1234567.5", 2).as_deref(), Some("2469135.0"));
    assert_eq!(times("0.07", 100).as_deref(), Some("7.00"));
    assert_eq!(
        times("99999999999999999999.99", 10).as_deref(),
        Some("999999999999999999999.90")
    );
    assert_eq!(times("0", 5).as_deref(), Some("0"));
    assert_eq!(times(".25", 2).as_deref(), Some(".50"));
    assert_eq!(times("9,99,999", 2).as_deref(), Some("19,99,998"));
    assert_eq!(times("1.2.3", 2), None);
    assert_eq!(times("", 2), None);
    assert_eq!(over("99.5", 2).as_deref(), Some("49.7"));
    assert_eq!(over("12,000", 10).as_deref(), Some("1,200"));
    assert_eq!(over("1", 2).as_deref(), Some("0"));
    assert_eq!(over("1,00,000", 2).as_deref(), Some("50,000"));
    assert_eq!(over("1.2.3", 2), None);
}

proptest! {
    #[test]
    fn m7_whole_numbers_are_multiplied(number in 0_u64..1_000_000_000, factor in 1_u32..101) {
        let expected = (number * u64::from(factor)).to_string();
        prop_assert_eq!(times(&number.to_string(), factor), Some(expected));
    }

    #[test]
    fn any_text_has_amounts_that_are_numbers(text in "\\PC{0,40}|[0-9.,'/:$%a-c \\-–()\\[\\]]{0,24}") {
        let mut end = 0;
        for Amount { range, .. } in amounts(&text, 0..text.len(), &LABELS) {
            prop_assert!(end <= range.start && range.start < range.end);
            end = range.end;
            prop_assert!(times(&text[range.clone()], 2).is_some());
            let tenth = over(&text[range.clone()], 10).expect("an amount is a number");
            prop_assert!(value(&tenth) * 10.0 <= value(&text[range]) * (1.0 + 1e-9));
        }
    }
}
