//! From proposals to variants: names, digests, notes; what would be run for nothing is left out.

use std::fmt::Write as _;
use std::sync::Arc;

use super::texts::Texts;
use super::{ALL, Perturbation, Plan, Subject, Variant, is_enabled};
use crate::file;
use crate::notice::{Code, Notice};

/// About so many variants has a case.
const USUAL: usize = 16;

/// Plans every enabled kind for one case. A case without units has nothing to perturb, as its
/// loading has told.
pub(crate) fn plan(subject: &Subject<'_>) -> Plan {
    let mut plan = Plan {
        variants: Vec::with_capacity(USUAL),
        notices: Vec::new(),
    };
    if subject.case().units.is_empty() {
        return plan;
    }
    let mut texts = Texts::of(subject);
    for kind in ALL.iter().filter(|kind| is_enabled(**kind, subject.config)) {
        plan_kind(*kind, subject, &mut texts, &mut plan);
    }
    plan
}

/// Most names are shorter.
const LONG: usize = 64;

/// Names for the variants of one kind.
struct Names {
    /// What the names begin with, and how many do; the latest at the end.
    stems: Vec<(String, usize)>,
    /// The name in the making. One allocation serves all: there are many names, and threads that
    /// let texts grow wait for each other.
    name: String,
}

impl Names {
    fn new() -> Self {
        Self {
            stems: Vec::new(),
            name: String::with_capacity(LONG),
        }
    }

    /// The next name of a kind, of variants that are about a type, or about none.
    fn next(&mut self, kind: &str, unit_type: Option<&str>) -> Arc<str> {
        self.name.clear();
        self.name.push_str(kind);
        if let Some(unit_type) = unit_type {
            self.name.push('-');
            self.name.push_str(&file::slug(unit_type));
        }
        let known = self.stems.iter_mut().rev();
        let number = match known.into_iter().find(|(stem, _)| *stem == self.name) {
            Some((_, number)) => {
                *number += 1;
                *number
            }
            None => {
                self.stems.push((self.name.clone(), 1));
                1
            }
        };
        // Writing to a string cannot fail.
        let _ = write!(self.name, "-{number:02}");
        Arc::from(&*self.name)
    }
}

/// Plans one kind; `texts` holds what is run already.
fn plan_kind(kind: &dyn Perturbation, subject: &Subject<'_>, texts: &mut Texts, plan: &mut Plan) {
    let proposal = kind.propose(subject);
    let mut notices = proposal.notices;
    let proposed = proposal.drafts.len();
    let mut kept = 0;
    let mut text = String::new();
    let mut names = Names::new();
    for draft in proposal.drafts {
        // Named before anything is left out: a variant keeps its name when another goes.
        let id = names.next(kind.name(), draft.unit_type.as_deref());
        subject.render(&mut text, &draft.pieces);
        if !texts.take(&text, subject, &plan.variants) {
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
