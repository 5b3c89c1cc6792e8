//! The request for a decision: the facts on which it depends, the hidden line by which it is found again, and its texts.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::verdict::Word;
use super::regressions::Regressed;
use super::{Approval, State, regressions};
use kelvin_base::digest::Fields;
use kelvin_record::approval::WRITERS;

/// The version of the hidden line. A line of another version is ignored, and its request is made again.
const VERSION: u32 = 1;
/// The number of digits in the id of a request.
pub(super) const ID: usize = 12;
/// The maximum length of the hidden line; a comment also needs space for its text.
const MOST: usize = 40_000;

/// The commits and the regressions that somebody is asked to decide about. A decision covers these and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The commit at the tip of the pull request.
    pub head: String,
    /// The commit it was compared with.
    pub base: String,
    /// What has regressed.
    pub regressions: Vec<Regressed>,
}

/// Where a request was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The pull request.
    pub pull_request: u64,
    /// The name of the configuration, by which this request is told apart from others.
    pub key: String,
    /// The configuration, as the repository names it.
    pub config: String,
    /// The workflow run that made the request; it is run again once somebody has decided.
    pub run: u64,
    /// Its attempt.
    pub attempt: u64,
}

impl Origin {
    /// Whether two requests belong to the same configuration file: two files may have the same configuration name.
    pub fn is_of(&self, other: &Self) -> bool {
        self.key == other.key && self.config == other.config
    }
}

/// The hidden line.
#[derive(Serialize, Deserialize)]
struct HiddenLine {
    version: u32,
    request: Request,
    origin: Origin,
}

impl Request {
    /// The id that people use for the request. Two requests have the same id only if they have the same content and the
    /// same configuration: two configurations with the same regression need two decisions.
    pub fn id(&self, origin: Option<&Origin>) -> String {
        let of_origin = |field: fn(&Origin) -> &str| origin.map_or("", field);
        let mut fields = Fields::of("kelvin/approval/v2")
            .field("key", of_origin(|origin| &origin.key))
            .field("config", of_origin(|origin| &origin.config))
            .field("head", &self.head)
            .field("base", &self.base);
        for one in &self.regressions {
            fields = fields.field("metric", &one.metric);
            fields = fields.field("case", one.case.as_deref().unwrap_or_default());
            let drop = one.drop.map(|drop| format!("{drop:.4}"));
            fields = fields.field("drop", drop.unwrap_or_default());
        }
        fields.digest().short(ID)
    }

    /// The finding of the gate, even if it was approved later: a regression, or a suspected one if all of it is only
    /// suspected.
    pub fn found(&self) -> Word {
        match self.regressions.iter().all(|one| one.suspected) {
            true => Word::Inconclusive,
            false => Word::Regression,
        }
    }

    /// Whether a decision about this request also covers the current findings. `base`: whether the commit of the base
    /// has to be the same; after a merge the base is another commit.
    pub fn covers(&self, now: &Self, base: bool) -> bool {
        self.head == now.head
            && (!base || self.base == now.base)
            && regressions::beyond(&self.regressions, &now.regressions).is_empty()
    }
}

/// The hidden first line of the comment that asks.
///
/// # Errors
///
/// Fails if it would be too long for a comment.
pub fn write(request: &Request, origin: &Origin) -> Result<String, String> {
    let line = HiddenLine {
        version: VERSION,
        request: request.clone(),
        origin: origin.clone(),
    };
    let text = serde_json::to_vec(&line).map_err(|error| error.to_string())?;
    // The encoding contains neither `--` nor `>`, so no name can end the HTML comment.
    let line = format!("<!-- kelvin-approval {} -->\n", STANDARD.encode(text));
    match line.len() <= MOST {
        true => Ok(line),
        false => Err("the names of what regressed are too long for one request".to_owned()),
    }
}

/// The request at the beginning of a comment; none if the comment does not begin with one.
pub fn read(body: &str) -> Option<(Request, Origin)> {
    let line = body.lines().next()?.trim_end();
    let text = line
        .strip_prefix("<!-- kelvin-approval ")?
        .strip_suffix(" -->")?;
    let line: HiddenLine = serde_json::from_slice(&STANDARD.decode(text).ok()?).ok()?;
    (line.version == VERSION).then_some((line.request, line.origin))
}

/// How many regressions one sentence names at most.
const NAMED: usize = 3;

pub(super) fn sentence(approval: &Approval) -> String {
    let what = named(approval);
    let last_good = &approval.last_good;
    let decided = |verb: &str| match &approval.decision {
        None => verb.to_owned(),
        Some(decision) => {
            let reason = match decision.reason.as_str() {
                "" => String::new(),
                reason => format!(": \"{}\"", reason.replace('`', "'")),
            };
            format!(
                "{verb} by `{}` with a {} on `{}`{reason}",
                decision.by, decision.way, decision.at
            )
        }
    };
    match approval.state {
        State::Pending => {
            let asked = match (&approval.deadline, &approval.origin) {
                (Some(deadline), _) => format!(", until `{deadline}`"),
                (None, Some(_)) => String::new(),
                (None, None) => ", on the pull request".to_owned(),
            };
            let mut text = format!(
                "waiting for approval of {what}: {} {}{asked}; without a decision it fails",
                who(approval),
                how(approval)
            );
            for unknown in &approval.unknown {
                let _ = write!(text, "; {unknown}");
            }
            text
        }
        State::Approved => format!("{what}: {}", decided("approved")),
        State::Rejected => format!(
            "{what}: {}; the last good version is {last_good}",
            decided("rejected")
        ),
        State::TimedOut => format!(
            "{what}: nobody decided until `{}`, so it fails; a new commit asks again, and the last good \
             version is {last_good}",
            approval
                .deadline
                .as_deref()
                .unwrap_or("the end of the time")
        ),
    }
}

/// The regressions in words; only the first of them are named.
fn named(approval: &Approval) -> String {
    let all = &approval.request.regressions;
    let mut names: Vec<String> = all.iter().take(NAMED).map(|one| one.words()).collect();
    if all.len() > NAMED {
        names.push(format!("{} more", all.len() - NAMED));
    }
    names.join(", ")
}

pub(super) fn who(approval: &Approval) -> String {
    let names: Vec<String> = approval
        .rules
        .by
        .iter()
        .map(|name| match name.as_str() {
            WRITERS => "whoever may push to the repository".to_owned(),
            name if name.contains('/') => format!("the team `{name}`"),
            name => format!("`{name}`"),
        })
        .collect();
    names.join(" or ")
}

pub(super) fn how(approval: &Approval) -> String {
    // Without a pull request, there is no request to name.
    let id = match approval.origin {
        Some(_) => format!("{} ", approval.id),
        None => String::new(),
    };
    let by_comment = approval
        .rules
        .comment
        .then(|| format!("comments `/kelvin approve {id}REASON`"));
    let label = approval.rules.label.as_ref();
    let by_label = label.map(|label| format!("adds the label `{}`", label.replace('`', "'")));
    let ways: Vec<String> = by_comment.into_iter().chain(by_label).collect();
    ways.join(" or ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(metric: &str, case: &str) -> (Request, Origin) {
        let request = Request {
            head: "a".repeat(40),
            base: "b".repeat(40),
            regressions: vec![Regressed {
                metric: metric.to_owned(),
                case: Some(case.to_owned()),
                base: Some(0.84),
                head: Some(0.7733),
                drop: Some(0.0667),
                within: 0.05,
                suspected: false,
            }],
        };
        let origin = Origin {
            pull_request: 7,
            key: "kelvin".to_owned(),
            config: "kelvin.yaml".to_owned(),
            run: 12,
            attempt: 2,
        };
        (request, origin)
    }

    proptest! {
        #[test]
        fn a_request_is_read_back_whatever_its_names_are_and_none_of_them_ends_the_line(
            metric in ".{0,80}", case in ".{0,80}",
        ) {
            let asked = of(&metric, &case);
            let line = write(&asked.0, &asked.1).expect("short enough");
            let inner = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->\n"));
            let inner = inner.expect("it is a comment");
            prop_assert!(!inner.contains("--") && !inner.contains('>') && !inner.contains('\n'));
            prop_assert_eq!(read(&format!("{line}words")), Some(asked));
        }

        #[test]
        fn no_text_is_read_with_a_panic(text in ".*") {
            read(&text);
            read(&format!("<!-- kelvin-approval {text} -->"));
        }
    }

    #[test]
    fn only_the_first_line_asks_and_only_in_this_version() {
        let (request, origin) = of("evidence.invariance", "alder");
        let line = write(&request, &origin).expect("short enough");
        assert_eq!(read(&format!("hello\n{line}")), None);
        assert_eq!(read(&format!("> {line}")), None);
        let later = STANDARD.encode(
            serde_json::to_vec(&HiddenLine {
                version: VERSION + 1,
                request,
                origin,
            })
            .expect("JSON"),
        );
        assert_eq!(read(&format!("<!-- kelvin-approval {later} -->\n")), None);
    }

    #[test]
    fn the_id_is_that_of_what_is_asked_and_of_its_configuration_and_not_of_the_run_that_asks() {
        let (request, origin) = of("evidence.invariance", "alder");
        let id = request.id(Some(&origin));
        let change = |change: &dyn Fn(&mut Request, &mut Origin)| {
            let (mut request, mut origin) = (request.clone(), origin.clone());
            change(&mut request, &mut origin);
            request.id(Some(&origin))
        };
        assert_eq!(
            change(&|_, origin| (origin.run, origin.attempt) = (99, 7)),
            id
        );
        assert_ne!(
            change(&|request, _| request.regressions[0].case = Some("birch".to_owned())),
            id
        );
        assert_ne!(change(&|request, _| request.head = "c".repeat(40)), id);
        assert_ne!(change(&|_, origin| origin.key = "other".to_owned()), id);
        assert_ne!(change(&|_, origin| origin.config = "b.yaml".to_owned()), id);
    }
}
