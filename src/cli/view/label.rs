//! The page on which a person says which of two answers is better. It is the only page of `kelvin view` that changes
//! anything: the choices are written to the ledger of the project.

use minijinja::{AutoEscape, Environment, context};

use super::shelf::Shelf;
use crate::check::{BlindPair, LabelRequest, Labelling, Preference};
use crate::cli::label::sentence;
use crate::registry::overrides_naming;
use kelvin_page::{counted, safe};

const PAGE: &str = include_str!("label.html");
/// The criterion under which the choices in the browser are counted; the same as for `kelvin label` without options.
const CRITERION: &str = "better";
const PERSON: &str = "me";
const PAIRS: usize = 10;

/// The data that a form has sent.
#[derive(Debug, Default)]
pub(super) struct SentChoice {
    token: String,
    pair: String,
    said: Option<Preference>,
}

impl SentChoice {
    /// Reads the fields of a form; a missing field stays empty.
    pub(super) fn read(body: &[u8]) -> Self {
        let mut sent = Self::default();
        for (name, value) in form_urlencoded::parse(body) {
            match &*name {
                "token" => sent.token = value.into_owned(),
                "pair" => sent.pair = value.into_owned(),
                "said" => {
                    sent.said = match &*value {
                        "left" => Some(Preference::Left),
                        "right" => Some(Preference::Right),
                        "tie" => Some(Preference::Tie),
                        _ => None,
                    };
                }
                _ => {}
            }
        }
        sent
    }
}

/// The pairs of the last run, and a secret text that only pages of this program contain.
#[derive(Debug)]
pub(super) struct LabelDesk {
    token: String,
}

impl LabelDesk {
    pub(super) fn open() -> Self {
        Self {
            token: crate::cli::unguessable(),
        }
    }

    /// The page of the next pair, or of the result if no pair is left.
    ///
    /// # Errors
    ///
    /// Fails if the report has no two answers to one prompt, or the ledger cannot be read.
    pub(super) fn page(&self, shelf: &Shelf) -> anyhow::Result<String> {
        let labelling = opened(shelf)?;
        let all = labelling.pairs();
        let open = labelling.open_pairs()?;
        let next = open.first();
        let title = match next {
            Some(_) => format!(
                "Which answer is better? Pair {} of {all}",
                all - open.len() + 1
            ),
            None => format!("All {} are labelled", counted(all, "pair")),
        };
        let lines = match next {
            Some(_) => vec![
                "Nothing here tells which answer is whose. Each choice is kept at once, and you may stop at any time."
                    .to_owned(),
            ],
            None => agreement(&labelling)?,
        };
        rendered(&title, lines, next, &self.token)
    }

    /// Stores a choice. None if the form was not sent from a page of this program.
    ///
    /// # Errors
    ///
    /// Fails if the ledger or the file of calibrations cannot be written.
    pub(super) fn put(&self, shelf: &Shelf, sent: &SentChoice) -> anyhow::Result<Option<()>> {
        let (true, Some(said)) = (sent.token == self.token, sent.said) else {
            return Ok(None);
        };
        let mut labelling = opened(shelf)?;
        let mut open = labelling.open_pairs()?.into_iter();
        // A form that is sent a second time is ignored.
        if let Some(pair) = open.find(|pair| pair.tag == sent.pair) {
            labelling.put(&pair, said)?;
            let records = labelling.agreement()?;
            labelling.keep(&records)?;
        }
        Ok(Some(()))
    }
}

fn opened(shelf: &Shelf) -> anyhow::Result<Labelling> {
    Labelling::open(&LabelRequest {
        registry: shelf.registry,
        overrides: overrides_naming(&shelf.config),
        report: shelf.out.join("report.json").display().to_string(),
        criterion: CRITERION.to_owned(),
        person: PERSON.to_owned(),
        pairs: PAIRS,
    })
}

fn agreement(labelling: &Labelling) -> anyhow::Result<Vec<String>> {
    let records = labelling.agreement()?;
    Ok(match records.is_empty() {
        true => vec![
            "No choice of a person is about a pair that the judge of this report has graded."
                .to_owned(),
        ],
        false => records
            .iter()
            .map(|record| sentence(record).replace('`', "") + ".")
            .collect(),
    })
}

fn rendered(
    title: &str,
    lines: Vec<String>,
    pair: Option<&BlindPair>,
    token: &str,
) -> anyhow::Result<String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    // Characters that reverse or hide text could make an answer look different from its content.
    let plain = |text: &str| safe::lines(text);
    let pair = pair.map(|pair| {
        context! { asked => plain(&pair.asked), left => plain(&pair.left), right => plain(&pair.right), tag => &pair.tag }
    });
    Ok(environment.render_str(PAGE, context! { title, lines, pair, token })?)
}
