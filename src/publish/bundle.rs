//! What a run that may not write leaves behind: data alone, read by a run that may and does not
//! believe it.

use anyhow::{Context as _, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Context, Excerpt, Publication};
use crate::gate::Judgement;
use crate::report::{self, Report};

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
        let bundle: Self =
            serde_json::from_slice(bytes).context("the bundle is not what this version writes")?;
        ensure!(
            bundle.schema_version == SCHEMA_VERSION,
            "the bundle has version {}, and this program reads {SCHEMA_VERSION}",
            bundle.schema_version
        );
        let of_report = bundle.report.schema_version;
        ensure!(
            of_report == report::SCHEMA_VERSION,
            "the report of the bundle has version {of_report}, and this program reads {}",
            report::SCHEMA_VERSION
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
        Ok(bundle)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
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
        let mut of_another_report = good.clone();
        of_another_report["report"]["schema_version"] = 3.into();
        let mut long = good;
        long["configuration"] = "x".repeat(NAME + 1).into();
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let mut texts: Vec<String> = [newer, of_another_report, long]
            .iter()
            .map(ToString::to_string)
            .collect();
        texts.extend(["".to_owned(), "[]".to_owned(), "\u{0}".to_owned(), deep]);
        for text in texts {
            assert!(Bundle::read(text.as_bytes(), &context()).is_err());
        }
        assert!(Bundle::read(&vec![b' '; MOST_BYTES + 1], &context()).is_err());
    }
}
