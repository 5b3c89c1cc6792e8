//! Whether a word decides something in its sentence. The same word is an outcome in "deny the claim" but not in "the
//! patient denies chest pain"; an ambiguous word is not changed.

use super::occurrence::Occurrence;

/// A subject with one of these words is only a part of the whole, and the opposite may also be true of it: if some
/// conditions are met, others may be unmet.
const PARTS: &[&str] = &[
    "some",
    "several",
    "few",
    "fewer",
    "many",
    "most",
    "more",
    "certain",
    "partly",
    "partially",
    "part",
    "half",
    "either",
];

/// Numbers that mean a part at the beginning of a clause: "two of them", but not "a deposit of two months".
const NUMBERS: &[&str] = &[
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];

/// Words before a number that begins a clause: "at least three".
const BOUNDS: &[&str] = &[
    "at", "least", "only", "exactly", "than", "no", "not", "just", "about",
];

/// People who can dispute a statement: "denies" after one of these words is not an outcome.
const PERSONS: &[&str] = &[
    "patient",
    "pt",
    "he",
    "she",
    "they",
    "i",
    "who",
    "tenant",
    "landlord",
    "driver",
    "employee",
    "employer",
    "defendant",
    "accused",
    "respondent",
    "witness",
    "claimant",
    "applicant",
    "customer",
    "seller",
    "buyer",
    "user",
    "owner",
    "mother",
    "father",
    "worker",
    "contractor",
];

/// Things that are passed or failed. Without one of these words, "pass" and "fail" have another meaning: time passes,
/// and pumps fail.
const TESTS: &[&str] = &[
    "assessment",
    "audit",
    "background",
    "candidate",
    "candidates",
    "check",
    "checks",
    "criteria",
    "criterion",
    "evaluation",
    "exam",
    "examination",
    "grade",
    "inspection",
    "interview",
    "result",
    "outcome",
    "review",
    "screening",
    "test",
    "tests",
    "verification",
    "vetting",
];

/// Words that join the next part of a sentence.
const JOINTS: &[&str] = &[
    "and", "or", "nor", "but", "if", "unless", "when", "then", "while",
];

impl Occurrence<'_> {
    /// Whether the phrase is an outcome.
    pub(super) fn is_outcome(&self, opposite: &str) -> bool {
        if self.is_left_open(opposite) {
            return false;
        }
        let phrase = self.phrase();
        match &*phrase {
            "approval" | "denial" | "acceptance" | "rejection" => self.has_no_noun_after(),
            "approved" | "denied" | "accepted" | "rejected" => {
                self.is_passive() || (self.is_active() && self.is_decided())
            }
            "approving" | "accepting" | "denying" | "rejecting" | "rejects" | "accepts" => {
                !self.follows_determiner() && self.is_decided()
            }
            "deny" | "denies" | "approve" | "approves" => self.is_decided(),
            "allow" | "allows" | "forbid" | "forbids" => self.is_rule(),
            "pass" | "passes" | "passed" | "fail" | "fails" | "failed" => self.is_of_test(),
            _ => true,
        }
    }

    /// Whether the phrase is the state of the sentence's subject.
    pub(super) fn is_state(&self, opposite: &str) -> bool {
        /// States that are an outcome only if no word follows; in "is paid monthly" a word follows.
        const BARE: &[&str] = &[
            "available",
            "unavailable",
            "true",
            "false",
            "active",
            "inactive",
            "paid",
            "unpaid",
            "covered",
            "uncovered",
            "present",
            "absent",
            "secured",
            "unsecured",
            "high",
            "low",
        ];
        let Some(verb) = self.auxiliary() else {
            return false;
        };
        let follows = match BARE.contains(&&*self.phrase()) {
            true => self.next().is_none_or(|next| JOINTS.contains(&&*next)),
            false => self.has_no_noun_after(),
        };
        let person = ["enabled", "disabled"].contains(&&*self.phrase())
            && self.clause(verb).any(|word| PERSONS.contains(&&*word));
        // "Signed off", "met by a promise"
        let met = ["met", "unmet"].contains(&&*self.phrase());
        let phrasal = self.next().is_some_and(|next| {
            ["off", "up", "out"].contains(&&*next) || (met && ["by", "with"].contains(&&*next))
        });
        follows && !phrasal && !person && !self.is_left_open(opposite) && !self.is_of_parts(verb)
    }

    /// Whether the sentence is a question, or names the phrase and its opposite side by side: "whether to approve or
    /// deny".
    fn is_left_open(&self, opposite: &str) -> bool {
        let sentence = self.sentence();
        let asks = self.gap(sentence.end).starts_with('?');
        let mut before = sentence.start..self.at.start;
        if asks || before.any(|token| self.word(token) == "whether") {
            return true;
        }
        let opposite = opposite.to_lowercase();
        let near = self.at.start.saturating_sub(3).max(sentence.start)
            ..(self.at.end + 3).min(sentence.end);
        let other = near
            .into_iter()
            .find(|token| !self.at.contains(token) && self.word(*token) == opposite);
        other.is_some_and(|other| {
            let between = match other < self.at.start {
                true => other + 1..self.at.start,
                false => self.at.end..other,
            };
            between
                .clone()
                .all(|token| ["or", "nor", "and", "not", "to"].contains(&&*self.word(token)))
        })
    }

    /// Whether the subject of a verb is only a part of a whole.
    fn is_of_parts(&self, verb: usize) -> bool {
        let words: Vec<String> = self.clause(verb).collect();
        let not_all = words.windows(2).any(|pair| {
            // The words are in reverse order from the verb.
            ["all", "every", "each", "both"].contains(&&*pair[0]) && pair[1] == "not"
        });
        let is_number = |word: &String| {
            NUMBERS.contains(&&**word) || word.starts_with(|c: char| c.is_ascii_digit())
        };
        let first = words.iter().rev().find(|word| !BOUNDS.contains(&&***word));
        not_all || first.is_some_and(is_number) || words.iter().any(|word| PARTS.contains(&&**word))
    }

    /// Whether the phrase is a passive verb: "is approved", "has been denied"; not "was denied boarding".
    fn is_passive(&self) -> bool {
        const PERFECT: &[&str] = &["has", "have", "had", "get", "gets", "got"];
        let perfect = self
            .last()
            .is_some_and(|last| PERFECT.contains(&&*last) && self.is_decided());
        let adverb = self.next().is_some_and(|next| next.ends_with("ly"));
        (self.auxiliary().is_some() || perfect) && (adverb || self.has_no_noun_after())
    }

    /// Whether the phrase is a decision without an auxiliary: "The board approved it", "Decision: approved"; not "an
    /// approved supplier".
    fn is_active(&self) -> bool {
        !self.follows_determiner() && self.has_no_noun_after()
    }

    /// Whether the phrase is a decision, and not just a person's denial of a fact.
    fn is_decided(&self) -> bool {
        let disputes = self
            .next()
            .is_some_and(|next| ["that", "having"].contains(&&*next));
        !disputes
            && !self
                .clause(self.at.start)
                .take(2)
                .any(|word| PERSONS.contains(&&*word))
    }

    /// Whether the phrase is an instruction or part of a rule: "allow the claim", "the policy forbids"; not "a gateway
    /// that allows staff to walk", and not "allow 5 days".
    fn is_rule(&self) -> bool {
        const SOURCES: &[&str] = &[
            "policy",
            "rule",
            "rules",
            "law",
            "contract",
            "lease",
            "agreement",
            "clause",
            "section",
            "code",
            "regulation",
            "regulations",
            "guideline",
            "guidelines",
            "terms",
            "act",
            "we",
            "board",
            "then",
            "shall",
            "must",
            "will",
            "should",
            "may",
            "not",
        ];
        let says = match self.last() {
            None => true,
            Some(last) => SOURCES.contains(&&*last),
        };
        let time = self.next().is_none_or(|next| {
            next.starts_with(|c: char| c.is_ascii_digit())
                || PARTS.contains(&&*next)
                || NUMBERS.contains(&&*next)
                || ["for", "time", "enough", "sufficient", "up", "a", "an"].contains(&&*next)
        });
        says && !time
    }

    /// Whether the phrase is about a test: "passes the inspection", "fails if the test ..."; not "two weeks passed" and
    /// "fails to".
    fn is_of_test(&self) -> bool {
        const OTHERWISE: &[&str] = &[
            "to", "through", "by", "on", "along", "away", "over", "out", "up", "into", "down",
            "rate", "rates", "mark", "marks", "grade", "grades", "key", "card", "holder", "since",
            "that",
        ];
        let next = self.next();
        let otherwise = next.is_some_and(|next| OTHERWISE.contains(&&*next));
        let mut sentence = self.sentence();
        !otherwise
            && !self.follows_determiner()
            && sentence.any(|token| TESTS.contains(&&*self.word(token)))
    }
}
