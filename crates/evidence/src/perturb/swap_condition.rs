//! `swap_condition`: only the conditions of a rule are exchanged for those of another case.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::condition::{ConditionForm, Conditions, conditions};
use super::peers::{PeerRule, UnitPlace};
use super::rewrite::{of_type, with_edited};
use super::ring::Ring;
use super::swap::{all, some};
use super::{Draft, Figure, Perturbation, PerturbedCase, Proposal};
use crate::cases::Corpus;
use crate::cases::outline::outline;
use crate::{EvidenceSettings, cases};
use kelvin_base::digest::Digest;
use kelvin_base::notice::{Code, Notice};

/// The maximum number of variants per governing type.
const WANTED: usize = 3;

/// Exchanges the conditions of one governing unit.
pub(super) static KIND: Perturbation = Perturbation {
    name: "swap_condition",
    description: "in one governing unit the list of conditions is replaced by another case's; whether they \
         hold, and the details, stay",
    figure: Figure::Condition,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let index = subject
        .peers
        .derived(KIND.name, || Index::of(subject.corpus, subject.settings));
    let mut proposal = Proposal::default();
    for unit_type in &subject.settings.governing_types {
        propose_type(subject, unit_type, &index, &mut proposal);
    }
    proposal
}

/// The parsed rules of the corpus.
struct Index {
    /// The conditions of every unit that has the form of a rule.
    read: BTreeMap<UnitPlace, (Conditions, Digest)>,
    /// The rules that can be drawn, by type and form.
    rings: BTreeMap<(Arc<str>, ConditionForm), Ring<PeerRule>>,
    types: BTreeMap<Arc<str>, TypeCount>,
}

/// The units of one type in the whole corpus.
struct TypeCount {
    /// The number of units of the type.
    units: usize,
    /// The number of units that were recognised as a rule.
    read: usize,
    /// The first case with a unit of this type.
    first: usize,
}

impl Index {
    fn of(corpus: &Corpus, settings: &EvidenceSettings) -> Self {
        let mut read = BTreeMap::new();
        let mut rules: BTreeMap<(Arc<str>, ConditionForm), Vec<PeerRule>> = BTreeMap::new();
        let mut types: BTreeMap<Arc<str>, TypeCount> = BTreeMap::new();
        for (at, case) in corpus.cases.iter().enumerate() {
            for (unit_at, unit) in case.units.iter().enumerate() {
                if !settings
                    .governing_types
                    .iter()
                    .any(|name| **name == *unit.unit_type)
                {
                    continue;
                }
                let count = types
                    .entry(Arc::clone(&unit.unit_type))
                    .or_insert(TypeCount {
                        units: 0,
                        read: 0,
                        first: at,
                    });
                count.units += 1;
                let body = case.body(unit);
                let Some(found) = conditions(body, &settings.perturbations.words) else {
                    continue;
                };
                count.read += 1;
                let sense = sense(&body[found.range.clone()]);
                let place = UnitPlace::of(at, unit_at);
                rules
                    .entry((Arc::clone(&unit.unit_type), found.form))
                    .or_default()
                    .push(PeerRule { sense, place });
                read.insert(place, (found, sense));
            }
        }
        let ring = |rules: Vec<PeerRule>| {
            let rules = rules.into_iter().map(|rule| (rule.sense, rule));
            Ring::of("swap_condition", settings.seed, rules)
        };
        Self {
            read,
            rings: rules
                .into_iter()
                .map(|(key, rules)| (key, ring(rules)))
                .collect(),
            types,
        }
    }
}

/// The digest of the words of some conditions, without regard to white space and capitals.
fn sense(conditions: &str) -> Digest {
    let words: Vec<String> = conditions
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    Digest::of(words.join(" ").as_bytes())
}

fn propose_type(
    subject: &PerturbedCase<'_>,
    unit_type: &str,
    index: &Index,
    proposal: &mut Proposal,
) {
    let units = of_type(subject, unit_type);
    let Some(first) = units.first() else {
        let text = format!("the case has no unit of type `{unit_type}`");
        proposal.falls_short(WANTED, 0, text);
        return;
    };
    let shared_type = &subject.case().units[*first].unit_type;
    let read: Vec<(usize, &Conditions, Digest)> = units
        .iter()
        .filter_map(|unit| {
            let place = UnitPlace::of(subject.at, *unit);
            let (found, sense) = index.read.get(&place)?;
            Some((*unit, found, *sense))
        })
        .collect();
    proposal.notices.extend(parse_rate(
        subject,
        shared_type,
        units.len(),
        read.len(),
        index,
    ));
    if read.is_empty() {
        let text = format!("no unit of type `{unit_type}` reads `requires: <conditions>. <state>`");
        proposal.falls_short(WANTED, 0, text);
        return;
    }
    let before = proposal.drafts.len();
    for form in [ConditionForm::Inline, ConditionForm::List] {
        let wanted = WANTED - (proposal.drafts.len() - before);
        let own: Vec<usize> = read
            .iter()
            .filter(|(_, found, _)| found.form == form)
            .map(|(unit, ..)| *unit)
            .collect();
        let ring = index.rings.get(&(Arc::clone(shared_type), form));
        let (Some(ring), false) = (ring, own.is_empty()) else {
            continue;
        };
        let senses: BTreeSet<Digest> = read.iter().map(|(.., sense)| *sense).collect();
        let pool = ring.besides(senses.iter(), wanted.saturating_add(1));
        let mut pairs = if own.len().saturating_mul(pool) <= wanted {
            all(&own, &senses, ring)
        } else {
            some(subject, KIND.name, &own, &senses, ring, wanted)
        };
        pairs.truncate(wanted);
        proposal.drafts.extend(
            pairs
                .into_iter()
                .filter_map(|(unit, rule)| draft(subject, index, unit, rule)),
        );
    }
    let made = proposal.drafts.len() - before;
    if made == 0 {
        let text = format!("no other case has other conditions in a unit of type `{unit_type}`");
        proposal.falls_short(WANTED, 0, text);
    } else if made < WANTED {
        let text = format!(
            "only {made} exchange(s): other cases have no further conditions for `{unit_type}`"
        );
        proposal.falls_short(WANTED, made, text);
    }
}

/// A notice about the share of units that can be parsed as rules: for a case with a unit that cannot be parsed, and
/// once for the corpus.
fn parse_rate(
    subject: &PerturbedCase<'_>,
    unit_type: &Arc<str>,
    units: usize,
    read: usize,
    index: &Index,
) -> Option<Notice> {
    let all = index.types.get(unit_type)?;
    if read == units && all.first != subject.at {
        return None;
    }
    let text = format!(
        "{read} of {units} governing unit(s) of type `{unit_type}` can be read as a rule here, {} of {} in all \
         cases",
        all.read, all.units
    );
    Some(
        Notice::new(Code::own("parse_rate"), text)
            .counts(units, read)
            .minor(),
    )
}

/// The unit with the conditions of the other case; none if the result would be parsed differently.
fn draft(subject: &PerturbedCase<'_>, index: &Index, unit: usize, rule: PeerRule) -> Option<Draft> {
    let case = subject.case();
    let body = case.body(&case.units[unit]);
    let place = UnitPlace::of(subject.at, unit);
    let (own, _) = index.read.get(&place)?;
    let (theirs, _) = index.read.get(&rule.place)?;
    let (peer, from) = rule.place.find(subject.corpus);
    let theirs = &peer.body(from)[theirs.range.clone()];
    let theirs = cases::with_newline(theirs, case.newline);
    let mut text = body.to_owned();
    text.replace_range(own.range.clone(), &theirs);
    let found = conditions(&text, &subject.settings.perturbations.words)?;
    if text[found.range.clone()] != theirs || !outline(&text).is_closed() {
        return None;
    }
    Some(Draft {
        unit_type: Some(Arc::clone(&case.units[unit].unit_type)),
        pieces: with_edited(case.units.len(), vec![(unit, text)]),
        detail: vec![
            ("from", peer.name.to_string()),
            ("own_conditions", body[own.range.clone()].to_owned()),
            ("peer_conditions", theirs.into_owned()),
        ],
    })
}
