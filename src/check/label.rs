//! Lets a person choose the better of two answers, and measures how far the judge agrees with people.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{calibrate, folder, side};
use crate::history::{History, LedgerEntry, LedgerFilter};
use crate::registry::Registry;
use kelvin_base::clock::Clock;
use kelvin_base::digest::Fields;
use kelvin_base::draw::Draw;
use kelvin_base::exit::Misuse;
use kelvin_base::stats::category_kappa;
use kelvin_record::RivalAnswers;
use kelvin_run::config::{Config, Overrides};
use kelvin_run::judge::calibration::PeopleRecord;

/// The prefix of a person's id in the ledger.
const PERSON: &str = "person/";
/// The prefix of the tag that identifies a pair of answers.
const PAIR: &str = "pair:";

/// Which pairs are shown, and to whom.
#[derive(Clone, Debug)]
pub(crate) struct LabelRequest {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// The changes that the command line makes to the configuration.
    pub(crate) overrides: Overrides,
    /// The report whose answers are shown: a file, a run of the history, or a revision.
    pub(crate) report: String,
    /// The criterion by which the person chooses.
    pub(crate) criterion: String,
    /// The name of the person.
    pub(crate) person: String,
    /// How many pairs are shown.
    pub(crate) pairs: usize,
}

/// A person's choice between two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preference {
    /// The left answer is better.
    Left,
    /// The right answer is better.
    Right,
    /// Neither answer is better.
    Tie,
}

/// Two answers in the form in which they are shown, without a sign of their origin.
#[derive(Clone, Debug)]
pub(crate) struct BlindPair {
    /// The question or the prompt of both answers.
    pub(crate) asked: String,
    /// The answer on the left.
    pub(crate) left: String,
    /// The answer on the right.
    pub(crate) right: String,
    /// The tag of the two answers in the ledger.
    pub(crate) tag: String,
    place: usize,
    is_exchanged: bool,
}

/// The pairs of a report, and the choices so far.
pub(crate) struct Labelling {
    config: Config,
    history: History,
    judge: String,
    criterion: String,
    person: String,
    rivals: Vec<RivalAnswers>,
    /// The pairs to show, by index, in order; the flag says whether the sides are exchanged.
    shown: Vec<(usize, bool)>,
}

/// The tag of a pair of answers in the ledger.
fn tag(rivals: &RivalAnswers) -> String {
    let fields = Fields::of("kelvin/label/pair/v1")
        .field("prompt", rivals.prompt_digest.bytes())
        .field("answer", &rivals.answer)
        .field("other", &rivals.other);
    format!("{PAIR}{}", fields.digest().short(16))
}

impl Labelling {
    /// Opens the pairs of a report. The choice of pairs, their order and their sides are drawn from the answers and the
    /// person, so that somebody who stopped continues with the same pairs. Fails with a [`Misuse`] if the report has no
    /// two answers to one prompt.
    pub(crate) fn open(request: &LabelRequest) -> anyhow::Result<Self> {
        let config = request.registry.configured(&request.overrides)?;
        let stored = side(request.registry, &request.report, &config.file)?.report;
        let mut found = (None, Vec::new());
        for (kind, section) in request.registry.known(&stored.probes) {
            let rivals = kind.rival_answers(section);
            if !rivals.is_empty() {
                found = (Some(kind.name()), rivals);
            }
        }
        let (Some(probe), rivals) = found else {
            let what = format!(
                "the report `{}` has no two different answers to one prompt, each as a whole",
                request.report
            );
            return Err(Misuse::new(what)
                .help(
                    "name the report of a `kelvin gate` with a section `grading`: it has the answers of the base beside \
                     those of the change, unless `baseline.texts` leaves them out",
                )
                .into());
        };
        let judge = config.judges().find(|(of, ..)| *of == probe);
        let judge = judge.map_or_else(|| format!("{probe}.judge"), |(_, place, _)| place);
        let mut seed = Fields::of("kelvin/label/v1")
            .field("person", &request.person)
            .field("criterion", &request.criterion);
        for pair in &rivals {
            seed = seed.field("pair", tag(pair));
        }
        let mut draw = Draw::of(seed.digest());
        let mut shown: Vec<(usize, bool)> = (0..rivals.len())
            .map(|place| (place, draw.below(2) == 1))
            .collect();
        draw.shuffle(&mut shown);
        shown.truncate(request.pairs);
        let history = History::create(&folder(&config.file)?)?;
        Ok(Self {
            history,
            judge,
            criterion: request.criterion.clone(),
            person: request.person.clone(),
            rivals,
            shown,
            config,
        })
    }

    /// How many pairs are shown in total.
    pub(crate) const fn pairs(&self) -> usize {
        self.shown.len()
    }

    /// The pairs on which this person has not yet decided, in order. Fails if the ledger cannot be read.
    pub(crate) fn open_pairs(&self) -> anyhow::Result<Vec<BlindPair>> {
        let own = self.grader();
        let filter = LedgerFilter {
            grader: Some(own),
            ..LedgerFilter::default()
        };
        let said = self.history.ledger(&filter)?;
        let is_open = |place: usize| {
            let tag = tag(&self.rivals[place]);
            !said.iter().any(|entry| entry.tags.contains(&tag))
        };
        let open = self.shown.iter().filter(|(place, _)| is_open(*place));
        let open = open.map(|(place, is_exchanged)| {
            let pair = &self.rivals[*place];
            let (left, right) = match is_exchanged {
                true => (&pair.other, &pair.answer),
                false => (&pair.answer, &pair.other),
            };
            BlindPair {
                asked: pair.asked.clone(),
                left: left.clone(),
                right: right.clone(),
                tag: tag(pair),
                place: *place,
                is_exchanged: *is_exchanged,
            }
        });
        Ok(open.collect())
    }

    fn grader(&self) -> String {
        format!("{PERSON}{}/{}", self.person, self.criterion)
    }

    /// Adds the person's choice to the ledger immediately, so that nothing is lost when the person stops. Fails if the
    /// ledger cannot be written.
    pub(crate) fn put(&mut self, pair: &BlindPair, said: Preference) -> anyhow::Result<()> {
        let rivals = &self.rivals[pair.place];
        let judge_score = match (said, pair.is_exchanged) {
            (Preference::Tie, _) => 0.5,
            (Preference::Left, false) | (Preference::Right, true) => 1.0,
            (Preference::Left, true) | (Preference::Right, false) => 0.0,
        };
        self.history.append(&[LedgerEntry {
            recorded_at: Clock::start().started_at(),
            prompt: rivals.prompt.clone(),
            prompt_digest: rivals.prompt_digest.to_string(),
            candidate: rivals.candidate.clone(),
            baseline: rivals.baseline.clone(),
            judge_score,
            grader_id: self.grader(),
            cost_usd: None,
            latency_ms: None,
            tokens_in: None,
            tokens_out: None,
            judge_cost_usd: None,
            judge_tokens: None,
            tags: vec![pair.tag.clone()],
        }])
    }

    /// How far the judge of the report agrees with people, for each criterion. Every choice in the ledger about a pair
    /// of this report counts, by any person. Fails if the ledger cannot be read.
    pub(crate) fn agreement(&self) -> anyhow::Result<Vec<PeopleRecord>> {
        let by_tag: BTreeMap<String, &RivalAnswers> =
            self.rivals.iter().map(|pair| (tag(pair), pair)).collect();
        let mut choices: BTreeMap<String, Vec<(Said, Said)>> = BTreeMap::new();
        for entry in self.history.ledger(&LedgerFilter::default())? {
            let person = entry.grader_id.strip_prefix(PERSON);
            let Some((_, criterion)) = person.and_then(|rest| rest.split_once('/')) else {
                continue;
            };
            let judged = entry.tags.iter().find_map(|tag| by_tag.get(tag)?.judged);
            if let Some(judged) = judged {
                let pair = (Said::of_score(entry.judge_score), Said::of_score(judged));
                choices.entry(criterion.to_owned()).or_default().push(pair);
            }
        }
        let grader_id = self.rivals.first().map(|pair| pair.grader.clone());
        let records = choices.into_iter().filter_map(|(criterion, pairs)| {
            let kappa = category_kappa(&pairs)?;
            Some(PeopleRecord {
                judge: self.judge.clone(),
                grader_id: grader_id.clone().unwrap_or_default(),
                criterion,
                choices: pairs.len(),
                agreed: kappa.agreed,
                kappa: kappa.value,
                interval: kappa.interval,
            })
        });
        Ok(records.collect())
    }

    /// Writes the records into the file of calibrations; none if there is nothing to write. Fails if the file cannot be
    /// read or written.
    pub(crate) fn keep(&self, records: &[PeopleRecord]) -> anyhow::Result<Option<PathBuf>> {
        if records.is_empty() {
            return Ok(None);
        }
        let file = calibrate::change(&self.config, |stored| {
            for record in records {
                stored.put_people(record.clone());
            }
        })?;
        Ok(Some(file))
    }
}

/// A person's or the judge's choice between two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    Other,
    Tie,
    Candidate,
}

impl Said {
    fn of_score(score: f64) -> Self {
        match score {
            score if score > 0.5 => Self::Candidate,
            score if score < 0.5 => Self::Other,
            _ => Self::Tie,
        }
    }
}
