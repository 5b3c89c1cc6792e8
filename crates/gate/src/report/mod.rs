//! The report `kelvin/report.json`: the results of a run in a versioned format, its JSON form, and its page. This
//! module has no side effects; the caller writes the returned bytes.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use kelvin_base::cost::Cost;
use kelvin_base::digest::Digest;
use kelvin_base::notice::{Code, Notice};
use kelvin_record::{
    Ending, Kinds, Metric, SectionKind, Sections, Shard, StoredSections, probe_of,
};

pub mod json;
pub mod page;

/// The version of the format. It is raised when an old reader would misread a new report.
pub const SCHEMA_VERSION: u32 = 2;

/// One run of `kelvin check`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(bound(deserialize = "S: Deserialize<'de>"))]
#[schemars(rename = "Report", title = "kelvin report")]
pub struct Report<S = Sections> {
    /// The version of this format.
    pub schema_version: u32,
    /// The program that wrote the report.
    pub tool: Tool,
    /// How and on what the pipeline was run.
    pub run: Run,
    /// The section that each probe of the run has stored, by the name of the probe.
    pub probes: S,
    /// Every figure, by id.
    pub metrics: BTreeMap<String, Metric>,
    /// Every cap, skip and warning that is not about one item.
    pub notices: Vec<Notice>,
}

/// A stored report. Its sections have no meaning until the kinds of probes have read them, so it cannot be used as a
/// [`Report`]. `T` contains the text of a section, as in [`StoredSections`].
pub type StoredReport<T = Box<RawValue>> = Report<StoredSections<T>>;

impl<T: Borrow<RawValue>> StoredReport<T> {
    /// The report, after these kinds have read their sections.
    ///
    /// # Errors
    ///
    /// Fails like [`StoredSections::read_by`].
    pub fn read_by(self, kinds: &Kinds) -> Result<Report, String> {
        Ok(Report {
            schema_version: self.schema_version,
            tool: self.tool,
            run: self.run,
            probes: self.probes.read_by(kinds)?,
            metrics: self.metrics,
            notices: self.notices,
        })
    }
}

impl Report {
    /// A report of this program.
    pub fn new(
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

    /// The items of a probe whose repeats count as only one run, because the pipeline answered them from its own cache.
    /// A kind that observes other probes has the repeats of their items.
    pub fn kept(&self, probe: &str) -> BTreeSet<&str> {
        match self.probes.kind(probe).is_some_and(SectionKind::observes) {
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

    /// Keeps only the section of one probe with its figures, and returns the names of the others.
    pub fn keep_probe(&mut self, probe: &str) -> Vec<String> {
        self.metrics.retain(|id, _| probe_of(id) == probe);
        self.probes.keep(probe)
    }

    /// Whether a finished run has no gated figure at all, because all of its calls failed. Failure rates are known even
    /// then, so they do not count. A figure that is missing for another reason, e.g. because its answers can only be
    /// graded against a base, does not mean that nothing was measured.
    pub fn lacks_figures(&self) -> bool {
        let gated = self.metrics.values();
        let mut gated = gated.filter(|metric| metric.gated && !metric.is_failure_rate);
        let is_lost =
            |metric: &Metric| metric.value.is_none() && metric.n == 0 && metric.n_failed > 0;
        gated.next().is_some_and(is_lost) && gated.all(is_lost)
    }

    /// The measured suite and how it was measured, without the measured code.
    pub fn suite(&self) -> MeasuredSuite {
        let probes = self.probes.iter();
        MeasuredSuite {
            config: self.run.fingerprints.config,
            items: probes
                .map(|(name, section)| (name.to_owned(), section.fingerprint().items))
                .collect(),
        }
    }

    /// How many items of all probes have repeats that count as only one run.
    pub fn kept_count(&self) -> usize {
        let probes = self.probes.iter();
        probes.map(|(name, _)| self.kept_of(name).len()).sum()
    }

    /// Whether `kelvin eval` made the report. Such a run makes no calls, whereas for a check either it or an earlier
    /// check called the pipeline, or it copied the figures of the base. The report of another tool does not say whether
    /// a pipeline was called.
    pub fn is_evaluation(&self) -> bool {
        let session = &self.run.session;
        let cost = &session.cost;
        let asked =
            session.judge_cost.is_some() || cost.invocations + cost.cache_hits + cost.resumed > 0;
        let is_ours = self.tool.name == "kelvin" && session.copied_from.is_none();
        is_ours && self.run.ending == Ending::Complete && !asked && self.probes.has_answers()
    }
}

/// The data that two reports of one configuration share, regardless of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredSuite {
    /// The digest of the settings that define what is measured.
    config: Digest,
    /// The items of each probe; none if they are not known.
    items: BTreeMap<String, Option<Digest>>,
}

impl MeasuredSuite {
    /// Whether both measured the same items with the same settings.
    pub fn is_like(&self, other: &Self) -> bool {
        self == other && self.items.values().all(Option::is_some)
    }
}

/// The program that wrote a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `kelvin`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// How and on what a pipeline was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Whether the run came to its end.
    pub ending: Ending,
    /// The seed of the perturbations.
    pub seed: u64,
    /// The cases to which the run was restricted; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Which share of the cases was measured, if not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Share>,
    /// How often every invocation was made.
    pub repeats: usize,
    /// The digests of what the figures depend on.
    pub fingerprints: Fingerprints,
    /// The facts that may differ between two runs on the same input.
    pub session: Session,
}

/// The share of the cases that a run measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Which of the shares it is, counted from 1.
    pub index: usize,
    /// How many shares the run has.
    pub count: usize,
    /// How many cases all shares have together.
    pub cases: usize,
}

impl Share {
    /// The shard in the form for the comparison.
    pub const fn shard(self) -> Shard {
        Shard {
            index: self.index,
            count: self.count,
        }
    }
}

/// Digests of what the figures of all probes depend on; two reports are comparable as far as these and
/// those of their sections agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fingerprints {
    /// The digest of everything in the configuration that determines what is measured.
    pub config: Digest,
    /// The digest of the code of the pipeline; null if it could not be determined.
    pub pipeline: Option<Digest>,
}

/// The facts that may differ between two runs on the same input; everything else in a report has to be equal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// When the run started, RFC 3339 in UTC.
    pub started_at: String,
    /// How long the run took, in seconds.
    pub seconds: f64,
    /// The file of the configuration, relative to the top of the repository; missing in reports of an older kelvin, and
    /// if no configuration was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// The commit that was checked out, if there is one.
    pub commit: Option<String>,
    /// Whether the work tree differed from that commit.
    pub dirty: bool,
    /// Whether the report has only the digests of answers, and not their texts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub texts_withheld: bool,
    /// How many calls were made, how many the cache saved, and what they cost.
    pub cost: Cost,
    /// The cost of the calls to judges, which `cost` does not contain; missing if no judge was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_cost: Option<Cost>,
    /// How long the pipeline took for each repeat of each item, in seconds, by probe: only for probes whose answers go
    /// to the ledger.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub item_seconds: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// Who decided about a regression that this run found, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The verdict of the gate on this run, if the gate was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<StoredVerdict>,
    /// The base whose measurement this report repeats, if nothing was run. Such a report is never a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<CopiedFrom>,
}

/// The base whose measurement a report repeats: the change touches only files that are harmless, so nothing was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopiedFrom {
    /// The commit that the change was compared with.
    pub base: String,
    /// The commit that was measured: the base, or a commit before it whose report stands in for it.
    pub measured: Option<String>,
}

/// The verdict of the gate on a run, for a list of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredVerdict {
    /// Whether the run passed.
    pub passed: bool,
    /// The verdict in a word or a few, as people were shown it, and whether a warning stood below it.
    pub words: String,
}

/// The decision of a person about a regression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Whether the person approved the regression; if not, the person rejected it.
    pub approved: bool,
    /// The person who decided, by the name on GitHub.
    pub by: String,
    /// How the person decided: `comment` or `label`.
    pub way: String,
    /// When the person decided, by GitHub's time.
    pub at: String,
    /// The reason that the person gave; empty for a label.
    pub reason: String,
    /// The pull request on which it was decided.
    pub pull_request: u64,
    /// The regressions that the decision covers: each entry is a metric, or a case that broke in a metric.
    pub regressions: Vec<String>,
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
