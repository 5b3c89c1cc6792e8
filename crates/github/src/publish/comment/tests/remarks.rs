//! What is said beside the lines of the files.

use super::*;
use kelvin_fixtures::report::EvidenceReport as _;

#[test]
fn act_11_neither_remarks_nor_outputs_carry_a_command() {
    for text in fixture::corpus() {
        let head = fixture::hostile::hostile(&text);
        let mut judgement = judged(&fixture::good(), &head);
        // A case of the report that got worse, with a variant of any name.
        for (case, name) in judgement.cases.iter_mut().zip(head.cases().keys().cycle()) {
            case.case.clone_from(name);
            case.change = Change::Regression;
            (case.base, case.head) = (Some(1.0), Some(0.0));
            case.flipped = vec![text.clone()];
        }
        let context = context();
        let publication = Publication {
            report: &head,
            judgement: Some(&judgement),
            context: &context,
            out: Path::new("kelvin"),
            folder: "",
            excerpts: &[],
            warnings: &[],
        };
        let remarks = crate::publish::annotations::annotations(&publication);
        let said = crate::publish::commands::annotations(&remarks);
        assert!(!judgement.cases.is_empty() || remarks.is_empty());
        for line in said.lines() {
            let known = ["::error ", "::warning ", "::notice "];
            assert!(known.iter().any(|word| line.starts_with(word)), "{line}");
        }
        let outputs = crate::publish::outputs::outputs(&publication, Some(&text));
        assert!(
            outputs
                .iter()
                .all(|(_, value)| !value.contains(['\n', '\r'])),
            "{text}"
        );
    }
}

#[test]
fn a_remark_stands_at_the_unit_that_the_worst_variant_is_about() {
    let base = fixture::report(12, |_, kind, _| Some(f64::from(u8::from(kind == "swap"))));
    // Swaps move the decision no more, and everything else does.
    let head = fixture::report(12, |_, kind, _| Some(f64::from(u8::from(kind != "swap"))));
    let judgement = judged(&base, &head);
    let context = context();
    let remarks = crate::publish::annotations::annotations(&Publication {
        report: &head,
        judgement: Some(&judgement),
        context: &context,
        out: Path::new("kelvin"),
        folder: "suite",
        excerpts: &[],
        warnings: &[],
    });
    let worse = judgement.cases.iter().filter(|case| case.is_worse());
    let mut seen = std::collections::BTreeSet::new();
    for (remark, change) in remarks.iter().zip(worse) {
        let first = change.variants.first().expect("a variant got worse");
        let first = first.variant.as_deref().expect("it has a name");
        let variants = &head.cases()[&change.case].variants;
        let variant = variants.iter().find(|variant| *variant.id == *first);
        // The lines of the fixture: the units stand four lines apart, and the first one on line 3.
        let line = match variant.and_then(|variant| variant.unit_type.as_deref()) {
            Some("release_rule") => 7,
            Some("verification_record") => 23,
            Some(other) => panic!("`{other}` does not govern"),
            None => 3,
        };
        assert_eq!(remark.path, format!("suite/cases/{}.md", change.case));
        assert_eq!(remark.line, line, "{change:?}");
        let (metric, case) = (&*change.metric, &*change.case);
        assert!(remark.message.starts_with(metric), "{remark:?}");
        assert!(remark.message.contains(&format!(" {case} ")), "{remark:?}");
        seen.insert(line);
    }
    assert!(seen.contains(&3) && seen.len() > 1, "{seen:?}");
}
