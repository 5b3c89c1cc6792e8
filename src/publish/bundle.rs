//! What a run that may not write leaves behind: data alone, read by a run that may and does not
//! believe it.

use anyhow::{Context as _, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Context, Excerpt, Publication};
use crate::baseline::compare::Turnover;
use crate::gate::Judgement;
use crate::report::Report;
use crate::report::json::{ITEMS, describe};

/// The file in the artifact.
pub(crate) const FILE: &str = "bundle.json";
/// The version of this format.
const SCHEMA_VERSION: u32 = 1;
/// The longest bundle, in bytes.
pub(crate) const MOST_BYTES: usize = 32 * 1024 * 1024;
/// The longest name, in bytes.
const NAME: usize = 200;

/// A run's report and verdict, for somebody else to publish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Bundle {
    /// The version of this format.
    pub(crate) schema_version: u32,
    /// The repository of the run, `owner/name`; compared with what GitHub says.
    pub(crate) repository: String,
    /// The commit that was measured; compared with what GitHub says.
    pub(crate) head_sha: String,
    /// The run; compared with what GitHub says.
    pub(crate) run_id: String,
    /// The name of the configuration.
    pub(crate) configuration: String,
    /// The folder of the configuration within the repository.
    pub(crate) folder: String,
    /// What was measured.
    pub(crate) report: Report,
    /// What the gate says.
    pub(crate) judgement: Option<Judgement>,
    /// What changed in the variants that got worst.
    pub(crate) excerpts: Vec<Excerpt>,
}

impl Bundle {
    /// A bundle of a publication.
    pub(crate) fn of(publication: &Publication<'_>) -> Self {
        let Context {
            repository,
            head_sha,
            run_id,
            configuration,
            ..
        } = publication.context;
        Self {
            schema_version: SCHEMA_VERSION,
            repository: repository.clone(),
            head_sha: head_sha.clone(),
            run_id: run_id.clone(),
            configuration: configuration.clone(),
            folder: publication.folder.to_owned(),
            report: publication.report.clone(),
            judgement: publication.judgement.cloned(),
            excerpts: publication.excerpts.to_vec(),
        }
    }

    /// Reads a bundle and checks it against the run that GitHub says it is of. Its texts are as
    /// hostile as before.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn read(bytes: &[u8], of: &Context) -> anyhow::Result<Self> {
        ensure!(
            bytes.len() <= MOST_BYTES,
            "the bundle is longer than {MOST_BYTES} bytes"
        );
        let mut bundle: Self =
            serde_json::from_slice(bytes).context("the bundle is not what this version writes")?;
        ensure!(
            bundle.schema_version == SCHEMA_VERSION,
            "the bundle has version {}, and this program reads {SCHEMA_VERSION}",
            bundle.schema_version
        );
        for (what, said, known) in [
            ("repository", &bundle.repository, &of.repository),
            ("commit", &bundle.head_sha, &of.head_sha),
            ("run", &bundle.run_id, &of.run_id),
        ] {
            ensure!(
                said == known,
                "the bundle names another {what} than the run it comes from"
            );
        }
        for name in [&bundle.configuration, &bundle.folder] {
            ensure!(
                name.len() <= NAME,
                "the bundle has a name of {} bytes",
                name.len()
            );
        }
        bundle.describe();
        Ok(bundle)
    }

    /// Fills in what an earlier version left to the ids of the metrics and to the names of fields.
    fn describe(&mut self) {
        for (id, metric) in &mut self.report.metrics {
            describe(id, metric);
        }
        let verdict = self.judgement.iter_mut();
        for (id, metric) in verdict.flat_map(|judgement| &mut judgement.verdict.metrics) {
            let measured = self.report.metrics.get(id);
            metric.headline |= measured.is_some_and(|measured| measured.headline);
        }
        let Some(judgement) = &mut self.judgement else {
            return;
        };
        let verdict = &mut judgement.verdict;
        let earlier = [verdict.case_turnover.take(), verdict.query_turnover.take()];
        for ((probe, item, items), turnover) in ITEMS.iter().zip(earlier) {
            let Some(turnover) = turnover else { continue };
            let named = Turnover {
                item: (*item).to_owned(),
                items: (*items).to_owned(),
                ..turnover
            };
            verdict.turnover.insert((*probe).to_owned(), named);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::baseline::compare::{Measured, compare};
    use crate::gate::Gate;
    use crate::gate::policy::Policy;
    use crate::report::fixture;

    fn context() -> Context {
        Context {
            repository: "acme/widgets".to_owned(),
            head_sha: "abc".to_owned(),
            run_id: "12".to_owned(),
            configuration: "kelvin".to_owned(),
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

    /// `KELVIN_UPDATE=1 cargo test` writes the file anew.
    #[test]
    fn the_schema_file_is_the_one_made_from_the_types() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/bundle.schema.json");
        let schema = schemars::schema_for!(Bundle).to_value();
        let text = serde_json::to_string_pretty(&schema).expect("it is JSON") + "\n";
        if std::env::var_os("KELVIN_UPDATE").is_some() {
            crate::file::write(&path, text.as_bytes()).expect("written");
        }
        assert!(
            crate::file::read(&path).expect("the schema is there") == text,
            "run `KELVIN_UPDATE=1 cargo test`"
        );
        let validator = jsonschema::validator_for(&schema).expect("it is a schema");
        let bundle = serde_json::to_value(bundle(&fixture::bad())).expect("it is JSON");
        assert!(validator.is_valid(&bundle));
    }

    #[test]
    fn a_bundle_is_read_back_for_its_own_run_and_no_other() {
        let written = bundle(&fixture::bad());
        let bytes = serde_json::to_vec(&written).expect("it is JSON");
        assert_eq!(
            Bundle::read(&bytes, &context()).expect("it is ours"),
            written
        );
        for change in [
            |context: &mut Context| context.repository.push('x'),
            |context: &mut Context| context.head_sha.push('x'),
            |context: &mut Context| context.run_id.push('x'),
        ] {
            let mut other = context();
            change(&mut other);
            let error = Bundle::read(&bytes, &other).expect_err("it is another's");
            assert!(error.to_string().contains("another"), "{error}");
        }
    }

    #[test]
    fn a_bundle_of_an_earlier_version_is_shown_the_same() {
        let (mut base, head) = (fixture::good(), fixture::bad());
        fixture::cases(&mut base).pop_first();
        let (old, new) = (Measured::from(&base), Measured::from(&head));
        let policy = Policy::default();
        let verdict = Gate::new(&policy, false, false, None).give_up(&compare(&old, &new));
        let mut written = bundle(&head);
        written.judgement = Some(Judgement::without_base(verdict, Vec::new()));
        let mut earlier = serde_json::to_value(&written).expect("it is JSON");
        let id = "evidence.kelvin_score";
        for part in ["report", "judgement"] {
            let metrics = earlier[part]["metrics"].as_object_mut().expect("a map");
            for metric in metrics.values_mut() {
                let metric = metric.as_object_mut().expect("a map");
                metric.retain(|field, _| field != "headline" && field != "family");
            }
        }
        let turnover = earlier["judgement"]["turnover"].take();
        let judgement = earlier["judgement"].as_object_mut().expect("a map");
        judgement.remove("turnover");
        let mut of_cases = turnover["evidence"].clone();
        let counts = of_cases.as_object_mut().expect("a case was added");
        counts.retain(|field, _| !field.starts_with("item"));
        judgement.insert("case_turnover".to_owned(), of_cases);
        let read = Bundle::read(earlier.to_string().as_bytes(), &context()).expect("it is ours");
        assert!(read.report.metrics[id].headline);
        assert_eq!(read.judgement, written.judgement);
    }

    #[test]
    fn what_a_bundle_says_beyond_its_fields_is_not_read() {
        let written = bundle(&fixture::good());
        let mut further = serde_json::to_value(&written).expect("it is JSON");
        further["pull_request"] = 7.into();
        let read = Bundle::read(further.to_string().as_bytes(), &context());
        assert_eq!(read.expect("it is ours"), written);
    }

    #[test]
    fn a_bundle_of_any_other_shape_is_refused() {
        let good = serde_json::to_value(bundle(&fixture::good())).expect("it is JSON");
        let mut newer = good.clone();
        newer["schema_version"] = 2.into();
        let mut long = good;
        long["configuration"] = "x".repeat(NAME + 1).into();
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let mut texts: Vec<String> = [newer, long].iter().map(ToString::to_string).collect();
        texts.extend(["".to_owned(), "[]".to_owned(), "\u{0}".to_owned(), deep]);
        for text in texts {
            assert!(Bundle::read(text.as_bytes(), &context()).is_err());
        }
        assert!(Bundle::read(&vec![b' '; MOST_BYTES + 1], &context()).is_err());
    }
}
