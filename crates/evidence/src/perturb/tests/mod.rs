mod kept_order;
mod kinds;
mod opt_in;
mod read_back;
mod stability;

use super::*;
use crate::cases::fixture;
use kelvin_base::notice::Code;

/// A variant with what it did.
#[derive(Debug)]
struct Noted {
    variant: Variant,
    notes: Notes,
    input: Digest,
}

impl std::ops::Deref for Noted {
    type Target = Variant;

    fn deref(&self) -> &Variant {
        &self.variant
    }
}

/// A plan with what its variants did.
struct NotedPlan {
    variants: Vec<Noted>,
    notices: Vec<Notice>,
}

fn plan_at(corpus: &Corpus, settings: &EvidenceSettings, peers: &Peers, at: usize) -> NotedPlan {
    let Plan { variants, notices } = Planner::new(corpus, settings, peers).plan(at);
    let noted = |variant: Variant| Noted {
        notes: variant.notes(corpus, at, settings),
        input: variant.digest(corpus, at, settings),
        variant,
    };
    NotedPlan {
        variants: variants.into_iter().map(noted).collect(),
        notices,
    }
}

/// The plans of all cases.
fn plans(corpus: &Corpus, settings: &EvidenceSettings) -> Vec<NotedPlan> {
    let peers = Peers::of(corpus, settings);
    let cases = 0..corpus.cases.len();
    cases
        .map(|at| plan_at(corpus, settings, &peers, at))
        .collect()
}

/// The plan of the first case.
fn plan_of<T: AsRef<str>>(texts: &[(T, T)], settings: &EvidenceSettings) -> (Corpus, NotedPlan) {
    let corpus = fixture::corpus(texts);
    let plan = plans(&corpus, settings).remove(0);
    (corpus, plan)
}

fn of_kind<'a>(plan: &'a NotedPlan, kind: &str) -> Vec<&'a Noted> {
    plan.variants
        .iter()
        .filter(|variant| variant.kind == kind)
        .collect()
}

fn notice<'a>(plan: &'a NotedPlan, kind: &str) -> Option<&'a Notice> {
    plan.notices
        .iter()
        .find(|notice| notice.kind.as_deref() == Some(kind))
}

fn counts_of(plan: &NotedPlan, kind: &str) -> (Code, Option<u64>, Option<u64>) {
    let notice = notice(plan, kind).expect("a notice about the kind");
    assert!(notice.case.is_some(), "{notice:?}");
    (notice.code.clone(), notice.wanted, notice.got)
}

/// Cases with two governing types and four others, all of different content.
fn many(count: usize) -> Vec<(String, String)> {
    (0..count)
        .map(|number| (format!("case-{number:04}"), case_text(number)))
        .collect()
}

fn case_text(number: usize) -> String {
    format!(
        "# Case {number}\n\n## Gate Rule\n\nrule {number}\n\n## Facts\n\nfacts {number}\n\n\
         ## History\n\nhistory {number}\n\n## Limit\n\nlimit {number}\n\n## Contact\n\n\
         contact {number}\n\n## Remarks\n\nremarks {number}\n"
    )
}

const GOVERNING: [&str; 2] = ["gate_rule", "limit"];

#[test]
fn what_a_kind_derives_is_made_once() {
    let peers = Peers::of(&fixture::corpus(&many(2)), &fixture::settings(&[]));
    let first = peers.derived("test", || vec![1]);
    let again = peers.derived("test", || vec![2]);
    assert!(Arc::ptr_eq(&first, &again));
}
