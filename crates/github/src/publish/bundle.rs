//! The output of a run without write access to GitHub. It is only data, which a run with write access reads but does
//! not trust.

use std::fmt;

use anyhow::{Context as _, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Context, Excerpt, Publication};
use kelvin_gate::report::{Report, StoredReport};
use kelvin_gate::verdict::Word;
use kelvin_gate::{Judgement, report};
use kelvin_record::Kinds;

/// The file in the artifact.
pub const FILE: &str = "bundle.json";
/// The version of this format.
const SCHEMA_VERSION: u32 = 2;
/// The maximum size of a bundle, in bytes. A report has about 5 KiB for each case with its variants, so this is enough
/// for about 50,000 cases; packed, as an artifact is, it is a twentieth of that.
pub const MOST_BYTES: usize = 256 * 1024 * 1024;

/// A run's report and the word of its gate, which another run judges and publishes. The bundle contains no sentences of
/// the first run: the publishing run makes all texts from its own judgement.
// The reports are of type `StoredReport` until the kinds have read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(bound(deserialize = "R: Deserialize<'de>"))]
#[schemars(rename = "Bundle")]
pub struct Bundle<R = Report> {
    /// The version of this format.
    pub schema_version: u32,
    /// The repository of the run, `owner/name`; compared with what GitHub says.
    pub repository: String,
    /// The commit that was measured; compared with what GitHub says.
    pub head_sha: String,
    /// The run; compared with what GitHub says.
    pub run_id: String,
    /// The attempt of the run, 1 for the first; compared with what GitHub says.
    pub run_attempt: u64,
    /// The report of what was measured.
    pub report: R,
    /// The base as the run has measured it, in part or as a whole: a claim of that run, like the figures of the change.
    /// Missing if the change was compared only with a stored report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<R>,
    /// The verdict of the gate of the run; null if the gate said nothing.
    pub judgement: Option<SaidVerdict>,
    /// What changed in the variants that got worst.
    pub excerpts: Vec<Excerpt>,
}

/// What the gate of a run said: a word, a commit and counts, and nothing that somebody could read as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SaidVerdict {
    /// The verdict in one word.
    pub verdict: Word,
    /// Whether the job passes.
    pub passed: bool,
    /// The base that the gate compared with; null if there was none.
    #[serde(default)]
    pub base: Option<SaidBase>,
    /// How many invocations the re-runs of the head took.
    #[serde(default)]
    pub reruns: usize,
    /// How many invocations of the base the gate made, to run the base again next to the head.
    #[serde(default)]
    pub base_reruns: usize,
}

/// The base that a run has compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SaidBase {
    /// Its commit.
    pub commit: Option<String>,
    /// How many commits the measured commit is before the base.
    #[serde(default)]
    pub behind: usize,
}

impl From<&Judgement> for SaidVerdict {
    fn from(judgement: &Judgement) -> Self {
        let base = judgement.base.as_ref();
        Self {
            verdict: judgement.verdict.verdict,
            passed: judgement.verdict.passed,
            base: base.map(|base| SaidBase {
                commit: base.commit.clone(),
                behind: base.behind,
            }),
            reruns: judgement.reruns,
            base_reruns: judgement.base_reruns,
        }
    }
}

/// Why a bundle cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The bundle is too large.
    TooLarge,
    /// The bundle comes from another version of the program.
    OtherVersion,
    /// The bundle contradicts GitHub about its run, commit or repository.
    OtherRun,
    /// The bundle belongs to an earlier attempt of the run.
    OtherAttempt,
    /// The file is not a bundle at all.
    Unreadable,
}

/// A bundle that cannot be used, with the reason.
#[derive(Debug)]
pub struct BadBundle {
    /// The kind of the reason.
    pub flaw: Flaw,
    /// The reason.
    pub why: anyhow::Error,
}

impl fmt::Display for BadBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.why)
    }
}

/// Only the versions, which can be read even in a bundle of another version.
#[derive(Deserialize)]
struct Versions {
    schema_version: u32,
    report: BundledReport,
}

#[derive(Deserialize)]
struct BundledReport {
    schema_version: u32,
}

impl Bundle {
    /// A bundle of a publication.
    pub fn of(publication: &Publication<'_>) -> Self {
        let Context {
            repository,
            head_sha,
            run_id,
            run_attempt,
            ..
        } = publication.context;
        Self {
            schema_version: SCHEMA_VERSION,
            repository: repository.clone(),
            head_sha: head_sha.clone(),
            run_id: run_id.clone(),
            run_attempt: run_attempt.parse().unwrap_or(1),
            report: publication.report.clone(),
            base: None,
            judgement: publication.judgement.map(SaidVerdict::from),
            excerpts: publication.excerpts.to_vec(),
        }
    }

    /// Reads a bundle and checks that it belongs to the run that GitHub names. Its texts are still untrusted.
    ///
    /// # Errors
    ///
    /// Fails with the problem of the bundle.
    pub fn read(bytes: &[u8], of: &Context, kinds: &Kinds) -> Result<Self, BadBundle> {
        let flawed = |flaw| move |why| BadBundle { flaw, why };
        size(bytes.len()).map_err(flawed(Flaw::TooLarge))?;
        versions(bytes)?;
        let unreadable = || "the bundle is not what this version writes";
        let stored: Bundle<StoredReport> = serde_json::from_slice(bytes)
            .with_context(unreadable)
            .map_err(flawed(Flaw::Unreadable))?;
        let read = |report: StoredReport| {
            let read = report.read_by(kinds).map_err(anyhow::Error::msg);
            read.with_context(unreadable)
                .map_err(flawed(Flaw::Unreadable))
        };
        let bundle = Self {
            schema_version: stored.schema_version,
            repository: stored.repository,
            head_sha: stored.head_sha,
            run_id: stored.run_id,
            run_attempt: stored.run_attempt,
            report: read(stored.report)?,
            base: stored.base.map(read).transpose()?,
            judgement: stored.judgement,
            excerpts: stored.excerpts,
        };
        bundle.demand_run(of).map_err(flawed(Flaw::OtherRun))?;
        Ok(bundle)
    }

    fn demand_run(&self, of: &Context) -> anyhow::Result<()> {
        for (what, said, known) in [
            ("repository", &self.repository, &of.repository),
            ("commit", &self.head_sha, &of.head_sha),
            ("run", &self.run_id, &of.run_id),
        ] {
            ensure!(
                said == known,
                "the bundle names another {what} than the run it comes from"
            );
        }
        Ok(())
    }

    /// Checks that a bundle belongs to the attempt of its run that GitHub names.
    ///
    /// # Errors
    ///
    /// Fails if the bundle belongs to another attempt.
    pub fn demand_attempt(&self, of: &Context) -> Result<(), BadBundle> {
        let (said, known) = (self.run_attempt, of.run_attempt.parse().unwrap_or(1));
        if said == known {
            return Ok(());
        }
        Err(BadBundle {
            flaw: Flaw::OtherAttempt,
            why: anyhow::anyhow!(
                "attempt {known} of run {} has left no result; there is one of attempt {said}, and what that found is \
                 not what the run found now",
                of.run_id
            ),
        })
    }
}

fn size(bytes: usize) -> anyhow::Result<()> {
    ensure!(
        bytes <= MOST_BYTES,
        "the bundle is longer than {} MiB, which is the most that is read; split the suite into configurations with a \
         name each",
        MOST_BYTES / 1024 / 1024
    );
    Ok(())
}

fn versions(bytes: &[u8]) -> Result<(), BadBundle> {
    let said: Versions = serde_json::from_slice(bytes)
        .context("the bundle is not what any version writes")
        .map_err(|why| BadBundle {
            flaw: Flaw::Unreadable,
            why,
        })?;
    let versions = [
        ("bundle", said.schema_version, SCHEMA_VERSION),
        (
            "report of the bundle",
            said.report.schema_version,
            report::SCHEMA_VERSION,
        ),
    ];
    for (what, said, known) in versions {
        if said != known {
            return Err(BadBundle {
                flaw: Flaw::OtherVersion,
                why: anyhow::anyhow!(
                    "the {what} has version {said}, and this program reads {known}: use one version of the action in \
                     both workflows"
                ),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use kelvin_fixtures::report as fixture;

    fn context() -> Context {
        Context {
            repository: "acme/widgets".to_owned(),
            head_sha: "abc".to_owned(),
            run_id: "12".to_owned(),
            run_attempt: "2".to_owned(),
            ..Context::default()
        }
    }

    fn bundle(report: &Report) -> Bundle {
        Bundle::of(&Publication {
            report,
            judgement: None,
            context: &context(),
            out: Path::new("kelvin"),
            folder: "",
            excerpts: &[],
            warnings: &[],
        })
    }

    #[test]
    fn a_bundle_fits_its_schema() {
        let validator = jsonschema::validator_for(&schemars::schema_for!(Bundle).to_value());
        let bundle = serde_json::to_value(bundle(&fixture::bad())).expect("it is JSON");
        assert!(validator.expect("it is a schema").is_valid(&bundle));
    }

    #[test]
    fn a_bundle_is_read_back_for_its_own_run_and_no_other() {
        let mut written = bundle(&fixture::bad());
        written.base = Some(fixture::good());
        let bytes = serde_json::to_vec(&written).expect("it is JSON");
        assert_eq!(
            Bundle::read(&bytes, &context(), &fixture::kinds()).expect("it is ours"),
            written
        );
        for change in [
            |context: &mut Context| context.repository.push('x'),
            |context: &mut Context| context.head_sha.push('x'),
            |context: &mut Context| context.run_id.push('x'),
        ] {
            let mut other = context();
            change(&mut other);
            let error =
                Bundle::read(&bytes, &other, &fixture::kinds()).expect_err("it is another's");
            assert_eq!(error.flaw, Flaw::OtherRun, "{error}");
        }
    }

    #[test]
    fn what_a_bundle_says_beyond_its_fields_is_not_read() {
        let written = bundle(&fixture::good());
        let mut further = serde_json::to_value(&written).expect("it is JSON");
        further["pull_request"] = 7.into();
        let read = Bundle::read(
            further.to_string().as_bytes(),
            &context(),
            &fixture::kinds(),
        );
        assert_eq!(read.expect("it is ours"), written);
    }

    #[test]
    fn a_bundle_of_any_other_shape_is_refused() {
        let good = serde_json::to_value(bundle(&fixture::good())).expect("it is JSON");
        let mut newer = good.clone();
        newer["schema_version"] = (SCHEMA_VERSION + 1).into();
        let mut of_another_report = good;
        of_another_report["report"]["schema_version"] = 3.into();
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let flaw = |text: &str| {
            let error = Bundle::read(text.as_bytes(), &context(), &fixture::kinds())
                .expect_err("it is refused");
            error.flaw
        };
        for text in [newer, of_another_report] {
            assert_eq!(flaw(&text.to_string()), Flaw::OtherVersion);
        }
        for text in ["", "[]", "{}", "\u{0}", &deep] {
            assert_eq!(flaw(text), Flaw::Unreadable);
        }
        assert!(size(MOST_BYTES).is_ok() && size(MOST_BYTES + 1).is_err());
    }

    #[test]
    fn a_bundle_of_another_attempt_says_so() {
        let written = bundle(&fixture::good());
        assert_eq!(written.run_attempt, 2);
        assert!(written.demand_attempt(&context()).is_ok());
        let later = Context {
            run_attempt: "3".to_owned(),
            ..context()
        };
        let error = written
            .demand_attempt(&later)
            .expect_err("it is of another");
        assert_eq!(error.flaw, Flaw::OtherAttempt);
        assert!(error.to_string().contains("attempt 3"), "{error}");
    }

    #[test]
    fn no_sentence_of_a_judgement_is_in_a_bundle() {
        let report = fixture::good();
        let text = "nobody should read this";
        let verdict = kelvin_gate::verdict::Verdict::unmeasured(text);
        let judgement = Judgement {
            differences: vec![text.to_owned()],
            ..Judgement::without_base(verdict, Vec::new())
        };
        let written = Bundle::of(&Publication {
            report: &report,
            judgement: Some(&judgement),
            context: &context(),
            out: Path::new("kelvin"),
            folder: "",
            excerpts: &[],
            warnings: &[],
        });
        let said = written.judgement.as_ref().expect("it was judged");
        assert_eq!((said.verdict, said.passed), (Word::Unmeasured, false));
        let written = serde_json::to_string(&written).expect("it is JSON");
        assert!(!written.contains(text));
    }

    /// Tests a suite beyond the limit of earlier versions.
    #[test]
    fn an_honest_suite_of_ten_thousand_cases_fits() {
        let one = fixture::report(1, |_, _, _| Some(1.0));
        let length = |report: &Report| serde_json::to_vec(report).expect("it is JSON").len();
        let of_a_case = length(&fixture::report(11, |_, _, _| Some(1.0))) - length(&one);
        assert!(10_000 * of_a_case / 10 < MOST_BYTES, "{of_a_case}");
    }
}
