//! The folder from which a workspace is copied: one for all scenarios, or one that a field of the scenario names.

use std::path::{Path, PathBuf};

use super::interpolate::{self, TextPart};
use super::scenario::{Scenario, plain};
use kelvin_base::file::beneath;

/// The template of the workspace, relative to the folder of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WorkspaceTemplate {
    written: String,
}

impl WorkspaceTemplate {
    /// Parses a template. Fails if the folder that contains the templates of all scenarios is not known, or if the name
    /// would reveal an answer.
    pub(super) fn of(written: &str) -> Result<Self, String> {
        let template = Self {
            written: written.to_owned(),
        };
        let mut names = interpolate::fields(written).into_iter();
        if names.any(|part| part == TextPart::Variable(interpolate::EXPECTED)) {
            return Err(format!(
                "`${{{}}}` stands for what is expected, which the pipeline must not be told by its workspace",
                interpolate::EXPECTED
            ));
        }
        if template.has_fields() && template.measured().as_os_str().is_empty() {
            return Err(format!(
                "`{written}` begins with a field of the scenario: put the templates into one folder, e.g. \
                 `templates/{written}`, so that a change of one of them is seen"
            ));
        }
        Ok(template)
    }

    /// Whether the folder depends on the scenario.
    pub(super) fn has_fields(&self) -> bool {
        let parts = interpolate::fields(&self.written);
        parts
            .iter()
            .any(|part| matches!(part, TextPart::Variable(_)))
    }

    /// The folder whose files define what is measured: the template, or the folder that contains all templates.
    pub(super) fn measured(&self) -> &Path {
        match self.written.find("${").filter(|_| self.has_fields()) {
            Some(at) => Path::new(
                self.written[..at]
                    .rsplit_once('/')
                    .map_or("", |(in_it, _)| in_it),
            ),
            None => Path::new(&self.written),
        }
    }

    /// The template of a scenario. Fails if the scenario lacks a field in the name, or if the value of a field leads
    /// outside.
    pub(super) fn of_scenario(&self, scenario: &Scenario) -> Result<PathBuf, String> {
        if !self.has_fields() {
            return Ok(PathBuf::from(&self.written));
        }
        let mut path = String::new();
        for part in interpolate::fields(&self.written) {
            match part {
                TextPart::Text(text) => path.push_str(text),
                TextPart::Variable(name) => path.push_str(&plain(&scenario.field(name)?)),
            }
        }
        let inside = Path::new(&path);
        // A value such as `../..` must not cause a copy of the rest of the disk.
        match beneath::is_inside(inside) && inside.starts_with(self.measured()) {
            true => Ok(inside.to_path_buf()),
            false => Err(format!(
                "the template of the workspace would be `{path}`, which leads out of `{}`",
                self.measured().display()
            )),
        }
    }

    /// Checks that the template of a scenario exists below a folder. Fails if the folder does not exist.
    pub(super) fn suits(&self, scenario: &Scenario, root: &Path) -> Result<(), String> {
        let path = self.of_scenario(scenario)?;
        match root.join(&path).is_dir() {
            true => Ok(()),
            false => Err(format!(
                "the template of the workspace, `{}`, is no folder",
                path.display()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_that_a_scenario_names_stays_in_its_folder() {
        let template = WorkspaceTemplate::of("projects/${KELVIN_PARAM_KIND}").expect("a template");
        assert_eq!(template.measured(), Path::new("projects"));
        let with = |kind: &str| -> Scenario {
            serde_json::from_value(json!({"id": "s", "params": {"kind": kind}}))
                .expect("a scenario")
        };
        let path = template.of_scenario(&with("small")).expect("inside");
        assert_eq!(path, Path::new("projects/small"));
        let mut told = Vec::new();
        for kind in ["..", "../..", "a/../../b", "../projects-of-others"] {
            let refused = template.of_scenario(&with(kind)).expect_err(kind);
            told.push(refused);
        }
        insta::assert_snapshot!(told.join("\n"), @"
        the template of the workspace would be `projects/..`, which leads out of `projects`
        the template of the workspace would be `projects/../..`, which leads out of `projects`
        the template of the workspace would be `projects/a/../../b`, which leads out of `projects`
        the template of the workspace would be `projects/../projects-of-others`, which leads out of `projects`
        ");
        for written in [
            "${KELVIN_PARAM_KIND}",
            "a${KELVIN_PARAM_KIND}",
            "p/${KELVIN_EXPECTED}",
        ] {
            WorkspaceTemplate::of(written).expect_err(written);
        }
    }
}
