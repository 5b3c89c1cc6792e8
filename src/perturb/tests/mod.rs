mod kinds;
mod read_back;
mod stability;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;
use crate::cases::fixture;
use crate::notice::Code;

fn plan_at(corpus: &Corpus, config: &Config, peers: &Peers, at: usize) -> Plan {
    plan(&Subject {
        corpus,
        at,
        config,
        peers,
    })
}

/// The plans of all cases.
fn plans(corpus: &Corpus, config: &Config) -> Vec<Plan> {
    let peers = Peers::of(corpus, config);
    let cases = 0..corpus.cases.len();
    cases
        .map(|at| plan_at(corpus, config, &peers, at))
        .collect()
}

/// The plan of the first case.
fn plan_of<T: AsRef<str>>(texts: &[(T, T)], config: &Config) -> (Corpus, Plan) {
    let corpus = fixture::corpus(texts);
    let plan = plans(&corpus, config).remove(0);
    (corpus, plan)
}

fn of_kind<'a>(plan: &'a Plan, kind: &str) -> Vec<&'a Variant> {
    plan.variants
        .iter()
        .filter(|variant| variant.kind == kind)
        .collect()
}

fn notice<'a>(plan: &'a Plan, kind: &str) -> Option<&'a Notice> {
    plan.notices
        .iter()
        .find(|notice| notice.kind.as_deref() == Some(kind))
}

fn told(plan: &Plan, kind: &str) -> (Code, Option<u64>, Option<u64>) {
    let notice = notice(plan, kind).expect("a notice about the kind");
    assert!(notice.case.is_some(), "{notice:?}");
    (notice.code, notice.wanted, notice.got)
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
fn every_file_that_is_a_kind_is_registered_under_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/perturb");
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("listed").path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else {
            continue;
        };
        let is_kind = path.extension().is_some_and(|extension| extension == "rs")
            && stem != "tests"
            && fs::read_to_string(&path)
                .expect("read")
                .contains("impl Perturbation for ");
        if is_kind {
            files.insert(stem.to_owned());
        }
    }
    let names: Vec<&str> = ALL.iter().map(|kind| kind.name()).collect();
    let distinct: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(files, distinct);
    assert_eq!(names.len(), distinct.len());
    assert_eq!(names[..4], ["reorder", "pad_length", "pad_content", "swap"]);
    for kind in ALL {
        assert_eq!(
            find(kind.name()).map(|found| found.name()),
            Some(kind.name())
        );
        assert!(!kind.describe().is_empty());
    }
}

#[test]
fn what_a_kind_derives_is_made_once() {
    let peers = Peers::of(&fixture::corpus(&many(2)), &fixture::config(&[]));
    let first = peers.derived("test", || vec![1]);
    let again = peers.derived("test", || vec![2]);
    assert!(Arc::ptr_eq(&first, &again));
    assert_eq!(peers.of_type("gate_rule").len(), 2);
    assert!(peers.of_type("none").is_empty());
}
