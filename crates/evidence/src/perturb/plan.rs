//! Makes variants from proposals: each variant gets its name, and useless variants are left out.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use super::{ALL, Peers, Perturbation, PerturbedCase, Plan, Variant, is_enabled};
use crate::EvidenceSettings;
use crate::cases::Corpus;
use kelvin_base::digest::Digest;
use kelvin_base::file;
use kelvin_base::notice::{Code, Notice};

/// Plans one case after another.
pub struct Planner<'a> {
    corpus: &'a Corpus,
    settings: &'a EvidenceSettings,
    peers: &'a Peers,
    /// The digests of the present case and of its variants so far: a variant with the text of an earlier one would be
    /// useless. Storing the texts themselves would need many times the memory of the case.
    texts: HashSet<Digest>,
    /// The text of one variant; the memory is reused for the next.
    text: String,
    names: VariantNames,
}

impl<'a> Planner<'a> {
    /// A planner for the cases of a corpus.
    pub fn new(corpus: &'a Corpus, settings: &'a EvidenceSettings, peers: &'a Peers) -> Self {
        Self {
            corpus,
            settings,
            peers,
            texts: HashSet::new(),
            text: String::new(),
            names: VariantNames::default(),
        }
    }

    /// Plans every enabled kind for the case at an index of the corpus. A case without units has no part to perturb;
    /// the notices of loading report such a case.
    pub fn plan(&mut self, at: usize) -> Plan {
        let subject = PerturbedCase::new(self.corpus, at, self.settings, self.peers);
        let mut plan = Plan {
            variants: Vec::new(),
            notices: Vec::new(),
        };
        if subject.case().units.is_empty() {
            return plan;
        }
        self.texts.clear();
        self.texts.insert(subject.case().digest());
        for kind in ALL.iter().filter(|kind| is_enabled(kind, self.settings)) {
            self.plan_kind(kind, &subject, &mut plan);
        }
        plan.variants.shrink_to_fit();
        plan
    }

    /// Plans one kind and adds its variants to the plan. A variant whose text is already planned is left out.
    fn plan_kind(&mut self, kind: &Perturbation, subject: &PerturbedCase<'_>, plan: &mut Plan) {
        let proposal = (kind.propose)(subject);
        let mut notices = proposal.notices;
        let proposed = proposal.drafts.len();
        let mut kept = 0;
        self.names.begin();
        for draft in proposal.drafts {
            // The name is given before any variant is left out, so that leaving one out does not change the names of
            // others.
            let id = self.names.next(kind.name, draft.unit_type.as_deref());
            self.text.clear();
            subject.render(&mut self.text, &draft.pieces);
            if !self.texts.insert(subject.case().digest_of(&self.text)) {
                continue;
            }
            kept += 1;
            plan.variants.push(Variant {
                id,
                kind: kind.name,
                figure: kind.figure,
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
            notices.push(
                Notice::new(Code::own("vacuous"), text)
                    .counts(proposed, kept)
                    .minor(),
            );
        }
        let of_kind = |notice: Notice| Notice {
            case: Some(subject.case().name.to_string()),
            kind: Some(kind.name.to_owned()),
            ..notice
        };
        plan.notices.extend(notices.into_iter().map(of_kind));
    }
}

/// Names for the variants of one kind after another.
#[derive(Default)]
struct VariantNames {
    /// The beginnings of the names, each with the number of names that have it; the latest one is last.
    stems: Vec<(String, usize)>,
    /// The name that is being made.
    name: String,
}

impl VariantNames {
    /// Forgets the names of other kinds.
    fn begin(&mut self) {
        self.stems.clear();
    }

    /// The next name of a kind, for variants that concern this type, or no type.
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
