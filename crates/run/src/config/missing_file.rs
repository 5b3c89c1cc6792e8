//! Tells of a file that the configuration names and that is not there: the key, its line, the path that was looked at,
//! and names in that folder which are alike.

use std::path::Path;

use super::diagnostic::{self, Problem};
use super::hints::nearest;
use super::{Config, yaml};
use kelvin_base::exit::Misuse;
use kelvin_base::file;

/// The most files of a folder that are listed if none of their names is alike.
const LISTED: usize = 5;

/// The most files of a folder that are looked at.
const LOOKED_AT: usize = 1_000;

impl Config {
    /// Fails if a file that a key names, relative to the configuration, is not there. `what`: what the file is.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] that names the key, its line and what to do.
    pub fn demand_file(&self, key: &[&str], written: &str, what: &str) -> Result<(), Misuse> {
        let path = self.root.join(written);
        match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // Reading it says what else may be wrong.
            _ => return Ok(()),
        }
        let shown = diagnostic::tame(written);
        let message = format!("the {what} `{shown}` is missing");
        let help = format!(
            "`{}` names it, relative to the folder of the configuration{}",
            key.join("."),
            advice(&path, Path::new(written), &self.file)
        );
        let source = file::read(&self.file).unwrap_or_default();
        let tree = yaml::parse(&source).ok();
        let node = tree.as_ref().and_then(|tree| tree.text(key));
        Err(match node.filter(|(text, _)| *text == written) {
            Some((_, at)) => {
                let problem = Problem {
                    key: Some(key.join(".")),
                    ..Problem::new(at.clone(), message)
                };
                diagnostic::misuse(&self.file, &source, vec![problem.help(help)])
            }
            None => Misuse::new(message).help(help),
        })
    }
}

/// What the folder has instead, besides the configuration itself.
fn advice(path: &Path, written: &Path, configuration: &Path) -> String {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let beside = |name: &str| diagnostic::tame(&written.with_file_name(name).to_string_lossy());
    let of_folder = written
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let of_folder = of_folder.map_or(".".into(), |parent| parent.to_string_lossy());
    let of_folder = diagnostic::tame(&of_folder);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return format!("; there is no folder `{of_folder}`");
    };
    let files = entries.flatten().take(LOOKED_AT);
    let files = files.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| configuration.file_name() != Some(name.as_ref()))
        .collect();
    names.sort_unstable();
    let ending = path.extension();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    if let Some(near) = nearest(&name, &all) {
        return format!("; did you mean `{}`?", beside(near));
    }
    let mut alike = all
        .iter()
        .filter(|name| Path::new(name).extension() == ending);
    let shown: Vec<String> = alike
        .by_ref()
        .take(LISTED)
        .map(|name| format!("`{}`", beside(name)))
        .collect();
    let more = alike.count();
    match (shown.is_empty(), more) {
        (true, _) => "; its folder has no other file with that ending".to_owned(),
        (false, 0) => format!("; there is {}", shown.join(", ")),
        (false, more) => format!("; there is {} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_told_with_what_is_there_instead() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("sets")).expect("made");
        for name in ["queries.yaml", "other.yaml", "kelvin.yaml"] {
            std::fs::write(folder.path().join("sets").join(name), "").expect("written");
        }
        let told = |written: &str| {
            let path = folder.path().join(written);
            advice(&path, Path::new(written), Path::new("kelvin.yaml"))
        };
        insta::assert_snapshot!(told("sets/querys.yaml"), @"; did you mean `sets/queries.yaml`?");
        insta::assert_snapshot!(told("sets/golden.yaml"), @"; there is `sets/other.yaml`, `sets/queries.yaml`");
        insta::assert_snapshot!(told("sets/golden.csv"), @"; its folder has no other file with that ending");
        insta::assert_snapshot!(told("set/golden.yaml"), @"; there is no folder `set`");
    }
}
