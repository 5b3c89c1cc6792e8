//! The file of an evaluator without a run: two such files can be compared directly.

use std::collections::BTreeMap;
use std::path::Path;

use super::config::{ResultsSettings, Suite, SuiteSettings};
use super::figures;
use super::gather::gather;
use super::readers::{self, Format};
use super::record::{ResultsBasis, ResultsSection, SuiteBasis, id};
use kelvin_base::exit::Misuse;
use kelvin_base::notice::{Code, Notice};
use kelvin_record::{Ending, Findings, SectionFingerprint};

/// The content of the file; none if it is clearly not a file of an evaluator.
pub(super) fn findings(
    file: &Path,
    settings: Option<&ResultsSettings>,
) -> Option<anyhow::Result<Findings>> {
    let format = Format::found_in(file)?;
    Some(read(file, format, settings))
}

fn read(
    file: &Path,
    format: Format,
    settings: Option<&ResultsSettings>,
) -> anyhow::Result<Findings> {
    let suite = suite(format, settings);
    let format = suite.keys.format.unwrap_or(format);
    let help = "what a file does not say itself, `kelvin.yaml` says: the suite of `results` with this `format`";
    let refused = |what: String| Misuse::new(what).help(help);
    let results = readers::read(file, Some(format), &suite.columns)
        .map_err(|error| refused(error.to_string()))?;
    let run = gather(results, &suite, true)
        .map_err(|what| refused(format!("`{}`: {what}", file.display())))?;
    let name = &suite.keys.name;
    let basis = SuiteBasis {
        tool: run.tool,
        tool_version: run.tool_version,
        settings: run.settings,
        metrics: run.metrics,
        ..SuiteBasis::of(&suite.keys)
    };
    let items = run.cases.into_iter();
    let section = ResultsSection {
        ending: Ending::Complete,
        fingerprint: SectionFingerprint {
            items: None,
            command: None,
        },
        basis: ResultsBasis {
            suites: BTreeMap::from([(name.clone(), basis)]),
        },
        items: items
            .map(|(case, record)| (id(name, &case), record))
            .collect(),
    };
    let told = run.notices.into_iter();
    let told = told.map(|text| {
        let text = format!("`{}`: {text}", file.display());
        Notice::new(Code::own("read_with_care"), text).minor()
    });
    Ok(Findings {
        metrics: figures::figures(&section),
        notices: figures::notices(&section),
        section: Box::new(section),
        of_the_run: told.collect(),
        compared: true,
    })
}

/// The suite to which the file may belong: the configured suite with this format, or the only suite without a
/// configured format. Otherwise only the format is known.
fn suite(format: Format, settings: Option<&ResultsSettings>) -> Suite {
    let suites = settings.map_or(&[][..], |settings| &settings.suites);
    let same = suites
        .iter()
        .find(|suite| suite.keys.format == Some(format));
    // A table may have the columns of a known library without a configured preset.
    let is_table = matches!(format, Format::Csv | Format::Jsonl);
    let only = || match suites {
        [only] if only.keys.format.is_none() || is_table => Some(only),
        _ => None,
    };
    if let Some(suite) = same.or_else(only) {
        return suite.clone();
    }
    Suite::of(SuiteSettings::of_format(format))
}
