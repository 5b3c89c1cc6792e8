//! Finds the programs of a pipeline that lie in the template of its workspace.

use std::path::{Path, PathBuf};

/// The extensions of files that an interpreter runs.
const OF_SCRIPTS: [&str; 15] = [
    "bash", "cjs", "exe", "jl", "js", "lua", "mjs", "php", "pl", "py", "r", "rb", "sh", "ts", "zsh",
];

/// The programs of the pipeline in the templates, relative to the top of the repository.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// Those that are run in a workspace, as copies: `sh agent.sh`. They change with the template.
    inside: Vec<PathBuf>,
    /// Those that are run where they are: `sh {root}/template/agent.sh`.
    by_root: Vec<PathBuf>,
}

impl Programs {
    /// Finds the programs that a command line names in one template. A file that is only handed to a program is none,
    /// such as the task that an agent reads. `top`: the top of the repository; `below`: the folder of the configuration,
    /// relative to it; `is_checked`: whether a check runs or reads a file.
    pub(super) fn find(
        &mut self,
        line: &str,
        (top, below): (&Path, &Path),
        template: &Path,
        is_checked: &dyn Fn(&PathBuf) -> bool,
    ) {
        let is_between = |c: char| c.is_whitespace() || "'\"`;|&()<>".contains(c);
        let words: Vec<&str> = line
            .split(is_between)
            .filter(|word| !word.is_empty())
            .collect();
        // A command may change into a folder first: `cd agent && python3 main.py`.
        let folders = words.iter().map(|word| template.join(word));
        let mut folders: Vec<PathBuf> =
            folders.filter(|folder| top.join(folder).is_dir()).collect();
        folders.push(template.to_path_buf());
        let mut is_first = true;
        for (at, word) in words.iter().enumerate() {
            if let Some(name) = word.strip_prefix("{root}/") {
                let path = below.join(name);
                if top.join(&path).is_file() {
                    is_first = false;
                    if path.starts_with(template) {
                        self.by_root.push(path);
                    }
                }
                continue;
            }
            if word.starts_with(['/', '-', '{', '$']) {
                continue;
            }
            let word = word.trim_start_matches("./");
            let names = match at > 0 && words[at - 1] == "-m" {
                true => {
                    let module = word.replace('.', "/");
                    vec![format!("{module}.py"), format!("{module}/__main__.py")]
                }
                false => vec![word.to_owned()],
            };
            let mut paths = folders
                .iter()
                .flat_map(|folder| names.iter().map(|name| folder.join(name)));
            let Some(path) = paths.find(|path| top.join(path).is_file()) else {
                continue;
            };
            if may_be_a_program(&top.join(&path)) && (is_first || !is_checked(&path)) {
                self.inside.push(path);
            }
            is_first = false;
        }
    }

    /// Whether a program is run in a workspace.
    pub(super) const fn are_inside(&self) -> bool {
        !self.inside.is_empty()
    }

    /// Whether a file is one of the programs.
    pub(super) fn have(&self, path: &PathBuf) -> bool {
        self.inside.contains(path) || self.by_root.contains(path)
    }

    /// The first program that is run in a workspace, as the command names it there.
    pub(super) fn shown(&self, templates: &[PathBuf]) -> Option<String> {
        let path = self.inside.first()?;
        let mut names = templates
            .iter()
            .filter_map(|folder| path.strip_prefix(folder).ok());
        Some(names.next()?.display().to_string())
    }
}

/// Whether a file that a command names may be run, judging by its extension and its first line.
fn may_be_a_program(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy());
    let is_script = ending.is_none_or(|ending| OF_SCRIPTS.contains(&ending.as_ref()));
    is_script || std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"#!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_lies_in_the_template_only_if_the_command_runs_it_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path();
        std::fs::create_dir_all(top.join("project/tpl/sub")).expect("made");
        for name in [
            "agent.py",
            "wrap.py",
            "tpl/agent.py",
            "tpl/notes.txt",
            "tpl/test_it.py",
            "tpl/sub/main.py",
        ] {
            std::fs::write(top.join("project").join(name), "").expect("written");
        }
        let is_checked = |path: &PathBuf| path.ends_with("test_it.py");
        for (line, inside, by_root) in [
            ("python3 {root}/agent.py {input}", None, ""),
            ("python3 {root}/agent.py {input} notes.txt", None, ""),
            ("python3 {root}/agent.py test_it.py", None, ""),
            ("agent notes.txt", None, ""),
            ("python3 agent.py {input}", Some("agent.py"), ""),
            ("bash -c \"./agent.py && true\"", Some("agent.py"), ""),
            ("python3 -m agent", Some("agent.py"), ""),
            ("cd sub && python3 main.py", Some("sub/main.py"), ""),
            ("python3 {root}/wrap.py agent.py", Some("agent.py"), ""),
            ("python3 {root}/tpl/agent.py", None, "project/tpl/agent.py"),
        ] {
            let mut found = Programs::default();
            let template = Path::new("project/tpl");
            found.find(line, (top, Path::new("project")), template, &is_checked);
            let shown = found.shown(&[template.to_path_buf()]);
            assert_eq!(shown.as_deref(), inside, "{line}");
            assert_eq!(found.are_inside(), inside.is_some(), "{line}");
            assert_eq!(
                found.have(&PathBuf::from(by_root)),
                !by_root.is_empty(),
                "{line}"
            );
        }
    }
}
