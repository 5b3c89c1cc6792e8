//! From proposals to variants: names, digests, notes; what would be run for nothing is left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{ALL, Perturbation, Plan, Subject, Variant, is_enabled, render};
use crate::digest::Digest;
use crate::file;
use crate::notice::{Code, Notice};

/// Plans every enabled kind for one case. A case without units has nothing to perturb, as its
/// loading has told.
pub(crate) fn plan(subject: &Subject<'_>) -> Plan {
    let mut plan = Plan::default();
    if subject.case().units.is_empty() {
        return plan;
    }
    let mut inputs = BTreeSet::from([subject.case().digest]);
    for kind in ALL.iter().filter(|kind| is_enabled(**kind, subject.config)) {
        plan_kind(*kind, subject, &mut inputs, &mut plan);
    }
    plan
}

/// Plans one kind; `inputs` holds what is run already.
fn plan_kind(
    kind: &dyn Perturbation,
    subject: &Subject<'_>,
    inputs: &mut BTreeSet<Digest>,
    plan: &mut Plan,
) {
    let proposal = kind.propose(subject);
    let mut notices = proposal.notices;
    let proposed = proposal.drafts.len();
    let mut kept = 0;
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for draft in proposal.drafts {
        let stem = match &draft.unit_type {
            Some(unit_type) => {
                format!("{}-{}", kind.name(), file::slug(unit_type))
            }
            None => kind.name().to_owned(),
        };
        // Numbered before anything is left out: a variant keeps its name when another goes.
        let number = 1 + numbers.get(&stem).unwrap_or(&0);
        let id = format!("{stem}-{number:02}").into();
        numbers.insert(stem, number);
        let text = render::render(subject.corpus, subject.at, subject.config, &draft.pieces);
        let input = Digest::of(text.as_bytes());
        if !inputs.insert(input) {
            continue;
        }
        kept += 1;
        plan.variants.push(Variant {
            id,
            kind: kind.name(),
            figure: kind.figure(),
            unit_type: draft.unit_type,
            pieces: draft.pieces,
            detail: draft.detail,
            input,
        });
    }
    if kept < proposed {
        let text = format!(
            "{} of {proposed} variants read exactly like the case or like an earlier variant: not \
             run, not counted",
            proposed - kept
        );
        notices.push(Notice::new(Code::Vacuous, text).counts(proposed, kept));
    }
    let of_kind = |notice: Notice| Notice {
        case: Some(subject.case().name.to_string()),
        kind: Some(kind.name().to_owned()),
        ..notice
    };
    plan.notices.extend(notices.into_iter().map(of_kind));
}
