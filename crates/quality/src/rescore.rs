//! Scores stored indicators again, with other weights or another scorer, without any run.

use super::config::QualitySettings;
use super::record::QualitySection;
use super::score::Weights;
use super::scorer::{QualityScorer, SCORERS};
use kelvin_base::exit::Misuse;
use kelvin_probe::Rescoring;

/// The section with the requested rules; its scores are computed from its factors afterwards. Fails with a [`Misuse`]
/// if the rules are invalid, or need values that were never read from the outputs.
pub(super) fn rescored(
    section: &QualitySection,
    rules: &Rescoring<'_>,
) -> Result<QualitySection, Misuse> {
    let mut section = section.clone();
    if let Some(config) = rules.config {
        let settings: &QualitySettings = config.settings().ok_or_else(|| {
            Misuse::new(format!(
                "`{}` has no section `quality`",
                config.file.display()
            ))
            .help("name a configuration that has one, or give the weights by `--weights`")
        })?;
        let asked = &settings.basis;
        let stored = &section.basis;
        let differing = [
            ("another contract", asked.contract != stored.contract),
            (
                "other required outputs",
                asked.required_outputs != stored.required_outputs,
            ),
            (
                "other places of the token counts",
                asked.usage != stored.usage,
            ),
        ];
        if let Some((what, _)) = differing.into_iter().find(|(_, differs)| *differs) {
            let text = format!(
                "the report was measured with {what} than `{}` has",
                config.file.display()
            );
            return Err(Misuse::new(text)
                .help("a report holds no outputs to look at anew: run `kelvin check`"));
        }
        section.basis = asked.clone();
    }
    if let Some(weights) = rules.weights {
        section.basis.weights = parsed(weights)?;
    }
    if let Some(name) = rules.scorer {
        section.basis.scorer = named(name)?.id().to_owned();
    }
    let basis = &section.basis;
    if basis.weights.effective(&basis.factors).is_empty() {
        return Err(
            Misuse::new("no factor that the report has would have weight")
                .help("give weight to a factor that was measured"),
        );
    }
    Ok(section)
}

/// The weights of a command line.
pub(super) fn parsed(text: &str) -> Result<Weights, Misuse> {
    Weights::parse(text).map_err(|what| {
        Misuse::new(what).help(
            "write `--weights 0.40,0.35,0.25`, or `--weights conformance=0.5,completeness=0.5`",
        )
    })
}

/// The scorer with a name.
pub(super) fn named(name: &str) -> Result<&'static dyn QualityScorer, Misuse> {
    let scorer = SCORERS.iter().copied().find(|scorer| scorer.name() == name);
    scorer.ok_or_else(|| {
        let names: Vec<&str> = SCORERS.iter().map(|scorer| scorer.name()).collect();
        Misuse::new(format!("there is no scorer `{name}`"))
            .help(format!("the scorers are {}", names.join(" and ")))
    })
}
