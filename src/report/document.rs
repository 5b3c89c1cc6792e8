//! `kelvin/report.json`: what a run measured, in a form that has a version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Shard;
use crate::digest::Digest;
use crate::notice::{Code, Notice};
use crate::probe::{Ending, Kind, Metric, Sections, probe_of, registry};
use crate::run::Cost;

/// Grows when an old reader would misread a new report.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// One run of `kelvin check`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "kelvin report")]
pub(crate) struct Report {
    /// The version of this format.
    pub(crate) schema_version: u32,
    /// What wrote it.
    pub(crate) tool: Tool,
    /// What was run, and on what.
    pub(crate) run: Run,
    /// What each probe of the run has stored, by its name.
    pub(crate) probes: Sections,
    /// Every figure, by id.
    pub(crate) metrics: BTreeMap<String, Metric>,
    /// Every cap, skip and warning that is not about one item.
    pub(crate) notices: Vec<Notice>,
}

impl Report {
    /// A report of this program.
    pub(crate) fn new(
        run: Run,
        probes: Sections,
        metrics: BTreeMap<String, Metric>,
        notices: Vec<Notice>,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool: Tool {
                name: "kelvin".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            run,
            probes,
            metrics,
            notices,
        }
    }

    /// The items of a probe whose repeats count as one run, because the pipeline answered them from
    /// memory. A kind that looks at what the others run has the repeats of theirs.
    pub(crate) fn kept(&self, probe: &str) -> BTreeSet<&str> {
        match registry::kind(probe).is_some_and(Kind::observes) {
            true => {
                let all = self.probes.iter();
                all.flat_map(|(name, _)| self.kept_of(name)).collect()
            }
            false => self.kept_of(probe),
        }
    }

    fn kept_of(&self, probe: &str) -> BTreeSet<&str> {
        let section = self.probes.of(probe).into_iter();
        let by_items = section.flat_map(|section| section.kept());
        let is_of = |notice: &&Notice| {
            notice.code == Code::AnswersKept && notice.kind.as_deref() == Some(probe)
        };
        let by_run = self.notices.iter().filter(is_of);
        by_items
            .chain(by_run.filter_map(|notice| notice.case.as_deref()))
            .collect()
    }

    /// Keeps what one probe found, with its figures; the names of the others.
    pub(crate) fn keep_probe(&mut self, probe: &str) -> Vec<String> {
        self.metrics.retain(|id, _| probe_of(id) == probe);
        self.probes.keep(probe)
    }

    /// Whether a run that came to its end has no gated figure at all, because all that was asked for it failed. How
    /// much failed is known also where nothing else is, so a failure rate does not count. What has no figure for
    /// another reason, such as answers that no base is there to be graded next to, was measured all the same.
    pub(crate) fn lacks_figures(&self) -> bool {
        let gated = self.metrics.values();
        let mut gated = gated.filter(|metric| metric.gated && !metric.is_failure_rate);
        let is_lost =
            |metric: &Metric| metric.value.is_none() && metric.n == 0 && metric.n_failed > 0;
        gated.next().is_some_and(is_lost) && gated.all(is_lost)
    }

    /// What was measured and how, without the code that was measured.
    pub(crate) fn suite(&self) -> Suite {
        let probes = self.probes.iter();
        Suite {
            config: self.run.fingerprints.config,
            items: probes
                .map(|(name, section)| (name.to_owned(), section.fingerprint().items))
                .collect(),
        }
    }

    /// How many items of all probes have repeats that count as one run.
    pub(crate) fn kept_count(&self) -> usize {
        let probes = self.probes.iter();
        probes.map(|(name, _)| self.kept_of(name).len()).sum()
    }

    /// Whether `kelvin eval` made it, which calls nothing: a check that came to its end has asked the
    /// pipeline, or an earlier one had. The report of another tool does not say what was called.
    pub(crate) fn is_evaluation(&self) -> bool {
        let session = &self.run.session;
        let cost = &session.cost;
        let asked =
            session.judge_cost.is_some() || cost.invocations + cost.cache_hits + cost.resumed > 0;
        let is_ours = self.tool.name == "kelvin";
        is_ours && self.run.ending == Ending::Complete && !asked && self.probes.has_answers()
    }
}

/// What two reports of one configuration have in common, whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    /// Everything in the configuration that changes what is measured.
    config: Digest,
    /// The items of each probe; none where they are not known.
    items: BTreeMap<String, Option<Digest>>,
}

impl Suite {
    /// Whether both measured the same items with the same settings.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self == other && self.items.values().all(Option::is_some)
    }
}

/// The program that wrote a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tool {
    /// `kelvin`.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
}

/// What was run, and on what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Run {
    /// Whether it came to its end.
    pub(crate) ending: Ending,
    /// The seed of the perturbations.
    pub(crate) seed: u64,
    /// The cases it was restricted to; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) only: Vec<String>,
    /// Which share of these it was, where it was not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shard: Option<Share>,
    /// How often every invocation was made.
    pub(crate) repeats: usize,
    /// What the figures depend on.
    pub(crate) fingerprints: Fingerprints,
    /// What may differ between two runs on the same input.
    pub(crate) session: Session,
}

/// The share of the cases that a run measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Share {
    /// Which one, from 1.
    pub(crate) index: usize,
    /// How many there are.
    pub(crate) count: usize,
    /// How many cases all the shares have together.
    pub(crate) cases: usize,
}

impl Share {
    /// Which one of how many.
    pub(crate) const fn shard(self) -> Shard {
        Shard {
            index: self.index,
            count: self.count,
        }
    }
}

/// Digests of what the figures of all probes depend on; two reports are comparable as far as these and
/// those of their sections agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Fingerprints {
    /// Everything in the configuration that changes what is measured.
    pub(crate) config: Digest,
    /// The code of the pipeline; null where it could not be told.
    pub(crate) pipeline: Option<Digest>,
}

/// What may differ between two runs on the same input; everything else in a report may not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Session {
    /// When it started, RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// How long it took, in seconds.
    pub(crate) seconds: f64,
    /// The file of the configuration, relative to the top of the repository; none in reports of an
    /// older kelvin, and where no configuration was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) configuration: Option<String>,
    /// The commit that was checked out, where there is one.
    pub(crate) commit: Option<String>,
    /// Whether the work tree differed from it.
    pub(crate) dirty: bool,
    /// What was called and what was saved.
    pub(crate) cost: Cost,
    /// The same for the judges, whose calls are in no figure of `cost`; none where no judge was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) judge_cost: Option<Cost>,
    /// How long the pipeline took for each repeat of each item, in seconds, by probe: of the probes whose
    /// answers go to the ledger.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) item_seconds: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// Who decided about a regression that this run found, where somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<Decision>,
    /// What the gate said of this run, where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<StoredVerdict>,
}

/// What the gate said of a run, for a list of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StoredVerdict {
    /// Whether the run passed.
    pub(crate) passed: bool,
    /// The verdict in a word or a few, as people were shown it.
    pub(crate) words: String,
}

/// What somebody decided about a regression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Decision {
    /// Whether it was approved; else it was rejected.
    pub(crate) approved: bool,
    /// Who, by the name on GitHub.
    pub(crate) by: String,
    /// `comment` or `label`.
    pub(crate) way: String,
    /// When, by GitHub's time.
    pub(crate) at: String,
    /// Why; empty for a label.
    pub(crate) reason: String,
    /// The pull request on which it was decided.
    pub(crate) pull_request: u64,
    /// What it was about: a metric each, or a case that broke in it.
    pub(crate) regressions: Vec<String>,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.approved {
            "approved"
        } else {
            "rejected"
        };
        write!(
            f,
            "{verb} by {} with a {} on {}",
            self.by, self.way, self.at
        )?;
        match self.reason.as_str() {
            "" => Ok(()),
            reason => write!(f, ": {reason}"),
        }
    }
}
