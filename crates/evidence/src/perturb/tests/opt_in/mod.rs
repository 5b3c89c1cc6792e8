//! The kinds that are made on request only.

mod documents;
mod invariance;
mod sensitivity;
mod structure;

use std::sync::LazyLock;

use super::*;
use crate::cases::Case;
use crate::words::Words;

/// A case as people write them: prose, a list, a table, code, names, quotes.
const LOAN: &str = r#"# Loan 114

## Gate Rule

Approval of the loan requires: at least 2 payslips (e.g. for March), a ratio of no more than 35.5%,
and a score above 640. All conditions are currently met. FreakinGenius Ltd signed on 2024-04-24,
see Section 3; the fee is $1,250.

## Applicant

FreakinGenius Ltd was founded in 1998. The company has offices in Oslo. "We like it," said Ada -
the founder... Verify the address of the founder before the visit. It's a family business; the
staff knows the founder.

- Record the date of the call.
- Keep a note of the name.

| year | sales |
|------|-------|
| 2022 | 5,000 |

```
- code "stays"
```

## History

The bank met the founder twice. The meetings took place in the branch.

They were friendly.

## Remarks

1. First remark of the branch.
2. Second remark of the branch.
"#;

const LEASE: &str = "## Gate Rule\n\nApproval of the lease requires: a deposit of two months, and a \
    reference. None of these conditions are met. The lease is rejected.\n\n## Applicant\n\nA small \
    bakery. The baker is new.\n";

const OPEN_RULE: &str =
    "## Gate Rule\n\nNobody wrote a list. It is open.\n\n## Applicant\n\nNone.\n";

static SHIPPED: LazyLock<Words> = LazyLock::new(|| {
    Words::load(std::path::Path::new(""), &[], None).expect("the shipped lists load")
});

fn enabled(kinds: &[&str]) -> EvidenceSettings {
    let mut settings = fixture::settings(&["gate_rule"]);
    settings.perturbations.enable = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    settings.perturbations.words = SHIPPED.clone();
    settings
}

/// The variants of a kind for the first of some cases: their ids, and the units that are edited.
fn made(kind: &str, texts: &[&str]) -> (Vec<(String, String)>, Vec<Notice>) {
    let settings = enabled(&[kind]);
    let named: Vec<(String, String)> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| (format!("case-{at}"), (*text).to_owned()))
        .collect();
    let (corpus, plan) = plan_of(&named, &settings);
    let variants = of_kind(&plan, kind)
        .into_iter()
        .map(|variant| {
            let text = variant.render(&corpus, 0, &settings);
            let case = Case::parse("a", "a", text).expect("a variant parses");
            assert_eq!(
                case.units.len(),
                corpus.cases[0].units.len() - variant.notes.removed.len()
            );
            let edited: Vec<&str> = variant
                .notes
                .edited
                .iter()
                .map(|unit| case.body(&case.units[*unit]))
                .collect();
            (variant.id.to_string(), edited.join("\n\n"))
        })
        .collect();
    let notices = plan
        .notices
        .into_iter()
        .filter(|notice| notice.kind.as_deref() == Some(kind));
    (variants, notices.collect())
}

fn ids(variants: &[(String, String)]) -> Vec<&str> {
    variants.iter().map(|(id, _)| &**id).collect()
}

fn codes(notices: &[Notice]) -> Vec<Code> {
    notices.iter().map(|notice| notice.code.clone()).collect()
}
