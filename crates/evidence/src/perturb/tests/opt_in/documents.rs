//! Governing units as documents of several domains have them: what may be edited, and what stays.

use std::collections::BTreeSet;

use super::*;

/// A unit, the amounts that may change, and the words that may be flipped.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const UNITS: &[Row] = &[
    (
        "Approval of a personal loan requires: a credit score of at least 640; a debt ratio of no more than 38 %; two payslips. All conditions are met.",
        &["640", "38"],
        &["Approval", "met"],
    ),
    (
        "The applicant, aged 34, earns $54,000 a year and has repaid 22 of 24 instalments. File LN-20418, branch 12, 0150 Oslo.",
        &["34", "54,000", "22"],
        &[],
    ),
    (
        "Under clause 7.2 a mortgage above 85 percent of value is denied unless it is insured. The valuation dated 4 May 2026 is valid.",
        &["85"],
        &["denied", "valid"],
    ),
    (
        "A business loan of up to €250,000 is approved by the desk; larger ones go to the committee, room 4.12, on the 2nd of each month.",
        &["250,000"],
        &["approved"],
    ),
    (
        "Overdrafts between $500 and $2,000 are accepted for accounts older than 12 months. Two of 5 references may be missing.",
        &["500", "2,000", "12"],
        &["accepted"],
    ),
    (
        "Claims for water damage are approved if they are reported within 14 days. Gradual leaks are excluded. Policy 4471 has an excess of 500 crowns.",
        &["14", "500"],
        &["approved", "excluded"],
    ),
    (
        "The claim is denied if the driver had more than 0.5 g of alcohol per litre. The driver denies the accident. Photo 3 of 12 shows the dent.",
        &["0.5"],
        &["denied"],
    ),
    (
        "Windscreen damage is covered. The repair costs 3,400 kroner and 60 % of it is paid by the insurer. Call +47 22 33 44 55.",
        &["3,400", "60"],
        &["covered"],
    ),
    (
        "Theft is accepted as a loss when a police report is present. The report of 12/03/2026 has number 88213.",
        &[],
        &["accepted", "present"],
    ),
    (
        "Some conditions of the warranty are met. Claim 20418 was filed 9 days late; seat 14C of coach 7 was damaged.",
        &["9"],
        &[],
    ),
    (
        "Patients with a temperature of at least 39.5 °C or a pulse above 120 are seen within 10 minutes. Pain of 7 out of 10 counts as severe.",
        &["39.5", "120", "10", "7"],
        &[],
    ),
    (
        "The patient denies chest pain. SpO2 is 92 %, GCS 14, and the rapid test was negative. Bed 12, ward 4.",
        &["92", "14"],
        &["negative"],
    ),
    (
        "Grade 3 burns over more than 10 percent of the body are sent to the centre. Dose: 2.5 mg every 6 hours for 5 days.",
        &["10", "2.5", "6", "5"],
        &[],
    ),
    (
        "An infant under 3 months with fever is never sent home. Type 2 diabetes is not a reason. The condition is stable.",
        &["3"],
        &["stable"],
    ),
    (
        "Triage level 2 is given if the child is 4 years old or younger and 3 of 5 signs are there.",
        &["4", "3"],
        &[],
    ),
    (
        "The supplier shall deliver within 30 days of the order. Late delivery of more than 10 days is accepted only in writing, section 4.2.",
        &["30", "10"],
        &["accepted"],
    ),
    (
        "Either party may end this agreement on 60 days' notice. Liability is limited to 100 % of the fees paid in the last 12 months.",
        &["60", "100", "12"],
        &[],
    ),
    (
        "The lease forbids subletting. A deposit of 3 months' rent is mandatory. See annex 2, version 2.1.3 of 1 June 2026.",
        &["3"],
        &["forbids", "mandatory"],
    ),
    (
        "This clause is valid only if it is signed by both parties. An approved auditor checks 5 of the 20 invoices.",
        &["5"],
        &["valid", "signed"],
    ),
    (
        "The tenant in apartment 4B, 12 Main Street, Springfield, IL 62704, paid $1,200. The payment is accepted.",
        &["1,200"],
        &["accepted"],
    ),
    (
        "Posts with a toxicity score above 0.85 are rejected. Accounts younger than 7 days need 2 reviewers.",
        &["0.85", "7", "2"],
        &["rejected"],
    ),
    (
        "A comment is removed after 3 reports within 24 hours. Satire is allowed. The appeal is passed to team 5.",
        &["3", "24"],
        &["allowed"],
    ),
    (
        "The account was closed in 2024. The user denies the post. The content is harmful and therefore not acceptable.",
        &[],
        &["acceptable"],
    ),
    (
        "Spam is forbidden. A strike lasts 90 days; after 3 strikes the account is inactive.",
        &["90", "3"],
        &["forbidden"],
    ),
    (
        "The reviewers decide whether to approve or deny the appeal. 9 in 10 appeals come within 2 days.",
        &["9", "2"],
        &[],
    ),
    (
        "Leave is approved if the request comes at least 4 weeks ahead and no more than 20 % of the team are away.",
        &["4", "20"],
        &["approved"],
    ),
    (
        "The employee is eligible for a bonus after 12 months. Band 6, step 3, employee 4312, room B 12.",
        &["12"],
        &["eligible"],
    ),
    (
        "Candidates must pass the screening test with at least 70 out of 100 points. The boarding pass is refunded up to 300 euro.",
        &["70", "300"],
        &["pass"],
    ),
    (
        "Overtime above 10 hours a week is denied without a 2-day notice. Some forms are signed.",
        &["10", "2"],
        &["denied"],
    ),
    (
        "The probation of 6 months is complete. The manager was present at 3 of the 4 reviews. The fee is paid monthly.",
        &["6", "3"],
        &["complete"],
    ),
    (
        "A parcel of more than 30 kg or longer than 120 cm is rejected. Tracking 1Z999AA10123456784, UN 1993, dock 7.",
        &["30", "120"],
        &["rejected"],
    ),
    (
        "Returns are accepted within 14 to 30 days. Opened software is excluded. Send it to 10115 Berlin, gate 3.",
        &["14", "30"],
        &["accepted", "excluded"],
    ),
    (
        "The shipment passes customs if form 1040 is complete. Freight of $3-$5 per kg applies. Flight SK 4712 leaves at 14:30.",
        &["3", "5"],
        &["complete"],
    ),
    (
        "Storage between 2 and 8 °C is necessary. The container was open for 15 minutes at low flow. The seal is valid.",
        &["2", "8", "15"],
        &["necessary", "valid"],
    ),
    (
        "Insurance of the goods is optional. 4, 5 and 6 May are holidays. Delivery takes 3-5 days. IBAN DE89 3704 0044 0532 0130 00.",
        &["3", "5"],
        &["optional"],
    ),
    (
        "Firmware 6.2 is approved for 24 devices. Windows 11 or iOS 17 is needed; 6.2 fixes the 3 open defects.",
        &["24", "3"],
        &["approved"],
    ),
    (
        "The reactor is safe if the pressure is below 1.2 bar. The alarm at level 2 is enabled. High tones repeat faster.",
        &["1.2"],
        &["safe", "enabled"],
    ),
    (
        "Admission requires a grade of at least 3.5. The acceptance test is on 3 June. The thesis has 120 pages, chapter 4 is short.",
        &["3.5", "120"],
        &[],
    ),
    (
        "The grant is approved for projects of up to 24 months and 500,000 euro; at least 25 % must be paid by others.",
        &["24", "500,000", "25"],
        &["approved"],
    ),
    (
        "A visa is denied if the passport is invalid or expires within 180 days. Fee: $160. Window 5, ticket 512.",
        &["180", "160"],
        &["denied", "invalid"],
    ),
    (
        "The dam is inspected every 5 years. The record was closed. It is not compliant if more than 2 of 40 sensors fail.",
        &["5", "2"],
        &["compliant"],
    ),
    (
        "The vote is valid with 50 percent of members present; 7 of the 12 board members approved the budget of 1,5 Mio.",
        &["50", "7", "1,5"],
        &["valid", "approved"],
    ),
    (
        "Article 6(1)(f) applies. The request of 3 March 2026 is rejected because it is inconsistent. 401(k) plans are not affected.",
        &[],
        &["rejected", "inconsistent"],
    ),
    (
        "Is the claim valid? Should it be approved? The desk answers within 48 hours, 7 days a week.",
        &["48", "7"],
        &[],
    ),
];

/// What the variants of a kind change in a unit, over many seeds.
fn changed(kind: &str, key: &str, unit: &str) -> BTreeSet<String> {
    let mut settings = enabled(&[kind]);
    let mut all = BTreeSet::new();
    for seed in 0..12 {
        settings.seed = seed;
        let text = format!("## Gate Rule\n\n{unit}\n");
        let (_, plan) = plan_of(&[("a", &*text)], &settings);
        for variant in of_kind(&plan, kind) {
            all.insert(variant.notes.detail[key].clone());
        }
    }
    all
}

#[test]
fn m7_m8_units_of_many_domains_change_where_they_decide_and_nowhere_else() {
    let owned = |words: &[&str]| -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    };
    for (unit, amounts, words) in UNITS {
        let found = changed("numeric_magnitude", "amount", unit);
        assert_eq!(found, owned(amounts), "amounts of: {unit}");
        let found = changed("polarity_flip", "word", unit);
        assert_eq!(found, owned(words), "opposites of: {unit}");
    }
}
