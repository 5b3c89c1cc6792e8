//! Finds the files that a command names, itself or through a wrapper: a file whose text is again a list of commands.
//!
//! A file of an evaluator that changes is told as another evaluator, so less is followed here than for a check: what a
//! script imports or opens may be the pipeline that it asks. Wrappers are scripts of a shell, and the rules of `make`,
//! `just`, `npm` and the like.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::mentions::Files;

/// How deep wrappers may call wrappers.
const DEEPEST: usize = 8;
/// Programs that run the tests of a folder.
const RUN_FOLDERS: [&str; 8] = [
    "pytest", "py.test", "unittest", "vitest", "jest", "mocha", "deepeval", "evalite",
];
/// The names of folders that hold evaluators, whatever runs them.
const OF_EVALUATORS: [&str; 4] = ["eval", "evals", "evaluation", "evaluations"];
/// Programs with a subcommand that has the name of such a folder.
const WITH_SUBCOMMANDS: [&str; 2] = ["promptfoo", "inspect"];
/// Programs whose file is a list of commands.
const SHELLS: [&str; 7] = ["sh", "bash", "zsh", "dash", "ksh", "source", "."];
/// The extensions of such files.
const OF_SHELLS: [&str; 4] = ["sh", "bash", "zsh", "ksh"];
/// The beginnings of the names of programs that run a folder by the file in it that begins.
const INTERPRETERS: [&str; 7] = ["python", "node", "bun", "deno", "tsx", "ts-node", "ruby"];
/// The files in a folder that begin.
const BEGINNINGS: [&str; 6] = [
    "__main__.py",
    "__init__.py",
    "index.js",
    "index.mjs",
    "index.cjs",
    "index.ts",
];

/// A program that runs the commands of a file by their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Runner {
    Make,
    Just,
    Npm,
}

impl Runner {
    fn of(program: &str) -> Option<Self> {
        match program {
            "make" | "gmake" => Some(Self::Make),
            "just" => Some(Self::Just),
            "npm" | "yarn" | "pnpm" | "bun" => Some(Self::Npm),
            _ => None,
        }
    }

    /// The names of the file with the commands.
    const fn files(self) -> &'static [&'static str] {
        match self {
            Self::Make => &["GNUmakefile", "makefile", "Makefile"],
            Self::Just => &["justfile", "Justfile", ".justfile"],
            Self::Npm => &["package.json"],
        }
    }

    /// The options whose value is a folder, and those whose value is a file with commands.
    const fn options(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Make => (&["-C", "--directory"], &["-f", "--file", "--makefile"]),
            Self::Just => (&["-d", "--working-directory"], &["-f", "--justfile"]),
            Self::Npm => (&["-C", "--prefix", "--cwd", "--dir"], &[]),
        }
    }

    /// The commands that the file has under some names; those under the first name if there are none.
    fn commands(self, text: &str, names: &BTreeSet<String>) -> String {
        match self {
            Self::Make | Self::Just => recipes(text, names),
            Self::Npm => scripts(text, names),
        }
    }
}

/// The files that commands name.
#[derive(Debug, Default)]
pub(super) struct NamedFiles {
    /// The files, each with the names by which its commands are run; none if all of the file counts.
    files: BTreeMap<PathBuf, Option<(Runner, BTreeSet<String>)>>,
    /// The files that the command itself names.
    direct: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
}

impl NamedFiles {
    /// The files that commands name which are run in the folder of the configuration.
    pub(super) fn of<'c>(commands: impl Iterator<Item = &'c str>, files: &Files<'_>) -> Self {
        let mut follower = Follower {
            files,
            found: Self::default(),
            seen: BTreeSet::new(),
        };
        let place = Place {
            folders: vec![files.own().to_path_buf()],
            depth: 0,
        };
        for command in commands {
            follower.text(command, &place);
        }
        follower.found
    }

    /// Leaves out files that only a wrapper names and that `others` name too.
    pub(super) fn without(mut self, others: &Self) -> Self {
        let direct = &self.direct;
        self.files
            .retain(|path, _| direct.contains(path) || !others.files.contains_key(path));
        self
    }

    /// Whether a file is named, or lies in a folder that is.
    pub(super) fn have(&self, path: &Path) -> bool {
        self.files.contains_key(path) || self.folders.iter().any(|folder| path.starts_with(folder))
    }

    /// Whether an edit of a named file touches what is named of it.
    pub(super) fn differ(&self, path: &Path, base: &[u8], head: &[u8]) -> bool {
        let Some(Some((runner, names))) = self.files.get(path) else {
            return true;
        };
        let of = |bytes| runner.commands(&String::from_utf8_lossy(bytes), names);
        of(base) != of(head)
    }
}

/// Where a text is run.
#[derive(Clone, Debug)]
struct Place {
    /// The folders in which names are looked up, the first one first.
    folders: Vec<PathBuf>,
    /// How many wrappers are around the text.
    depth: usize,
}

struct Follower<'f> {
    files: &'f Files<'f>,
    found: NamedFiles,
    /// The texts that were followed, each with the folder in which it was run.
    seen: BTreeSet<(PathBuf, String)>,
}

impl Follower<'_> {
    fn text(&mut self, text: &str, place: &Place) {
        let key = (
            place.folders.first().cloned().unwrap_or_default(),
            text.to_owned(),
        );
        if place.depth > DEEPEST || !self.seen.insert(key) {
            return;
        }
        let mut place = place.clone();
        for words in commands(text) {
            if let ["cd", folder, ..] = words.iter().map(String::as_str).collect::<Vec<_>>()[..]
                && let Some(folder) = self.folder_of(&name_of(folder), &place)
            {
                place.folders.insert(0, folder);
                continue;
            }
            self.command(&words, &place);
        }
    }

    fn command(&mut self, words: &[String], place: &Place) {
        let program = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
        let runner = words
            .iter()
            .enumerate()
            .find_map(|(at, word)| Some((at, Runner::of(&program(word))?)));
        let mut rest = words.to_vec();
        if let Some((at, runner)) = runner {
            rest.truncate(at + 1);
            rest.extend(self.run(runner, &words[at + 1..], place));
        }
        let runs_folders = words
            .iter()
            .any(|word| RUN_FOLDERS.contains(&program(word).as_str()));
        let mut before = String::new();
        for word in rest {
            match before.as_str() {
                "-m" => self.module(&word, place),
                _ => self.word(&word, (&before, runs_folders), place),
            }
            before = program(&word);
        }
    }

    /// Adds what a word of a command names. `before`: the word before it.
    fn word(&mut self, word: &str, (before, runs_folders): (&str, bool), place: &Place) {
        let name = name_of(word);
        if name.is_empty() || name == "." {
            return;
        }
        if let Some(path) = self.file_of(&name, place) {
            self.add(&path, before, place);
            return;
        }
        let is_subcommand = word == "eval"
            && WITH_SUBCOMMANDS
                .iter()
                .any(|program| before.starts_with(program));
        let Some(folder) = self.folder_of(&name, place).filter(|_| !is_subcommand) else {
            return;
        };
        if INTERPRETERS.iter().any(|name| before.starts_with(name)) {
            self.beginnings(&folder, place);
        }
        self.whole(&folder, runs_folders);
    }

    /// Adds what `-m` names.
    fn module(&mut self, module: &str, place: &Place) {
        let path = module.replace('.', "/");
        let sources = place.folders.iter().map(|folder| folder.join("src"));
        let folders = place.folders.iter().cloned().chain(sources);
        let place = Place {
            folders: folders.collect(),
            ..*place
        };
        if let Some(path) = self.file_of(&format!("{path}.py"), &place) {
            self.add(&path, "", &place);
        } else if let Some(folder) = self.folder_of(&path, &place) {
            self.beginnings(&folder, &place);
            self.whole(&folder, false);
        }
    }

    /// Adds the files that begin where a folder is run.
    fn beginnings(&mut self, folder: &Path, place: &Place) {
        for name in BEGINNINGS {
            let path = folder.join(name);
            if self.files.have(&path) {
                self.add(&path, "", place);
            }
        }
    }

    /// Adds a folder with all of its files if these are evaluators.
    fn whole(&mut self, folder: &Path, runs_folders: bool) {
        let name = folder.file_name().unwrap_or_default();
        let is_named_so = OF_EVALUATORS.iter().any(|of| name == *of);
        if runs_folders || is_named_so {
            self.found.folders.insert(folder.to_path_buf());
        }
    }

    /// Adds a file, and what it names if it is a list of commands.
    fn add(&mut self, path: &Path, before: &str, place: &Place) {
        self.found.files.insert(path.to_path_buf(), None);
        if place.depth == 0 {
            self.found.direct.insert(path.to_path_buf());
        }
        let Some(text) = self.files.text(path) else {
            return;
        };
        let ending = path.extension().unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let is_of_a_shell = SHELLS.contains(&before)
            || OF_SHELLS.iter().any(|of| ending == *of)
            || first.starts_with("#!") && first.contains("sh");
        if is_of_a_shell {
            // A script finds the files beside it by its own path: `"$(dirname "$0")/../evals.py"`.
            let beside = path.ancestors().skip(1).map(Path::to_path_buf);
            let folders = place.folders.iter().cloned().chain(beside).collect();
            let depth = place.depth + 1;
            self.text(&text, &Place { folders, depth });
        }
    }

    /// Adds the file with the commands that a runner runs, and what these name. Returns the words that are none of its
    /// names.
    fn run(&mut self, runner: Runner, given: &[String], place: &Place) -> Vec<String> {
        let (of_folders, of_files) = runner.options();
        let (mut names, mut rest) = (BTreeSet::new(), Vec::new());
        let (mut folder, mut file) = (None, None);
        let mut words = given.iter();
        while let Some(word) = words.next() {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            let mut value = || match value {
                "" => words.next().cloned().unwrap_or_default(),
                value => value.to_owned(),
            };
            match option {
                "--" => {
                    rest.extend(words.by_ref().cloned());
                }
                option if of_folders.contains(&option) => folder = Some(value()),
                option if of_files.contains(&option) => file = Some(value()),
                _ if word.starts_with('-') || word.contains('=') => rest.push(word.clone()),
                "run" | "run-script" if runner == Runner::Npm => {}
                // What follows the name of a script is for the script.
                _ if runner == Runner::Npm && !names.is_empty() => rest.push(word.clone()),
                _ => {
                    names.insert(word.clone());
                }
            }
        }
        let mut place = place.clone();
        if let Some(folder) = folder.and_then(|folder| self.folder_of(&name_of(&folder), &place)) {
            place.folders.insert(0, folder);
        }
        let path = match file {
            Some(file) => self.file_of(&name_of(&file), &place),
            None => {
                let mut files = runner.files().iter();
                files.find_map(|name| self.file_of(name, &place))
            }
        };
        let found = path.and_then(|path| Some((self.files.text(&path)?, path)));
        let found = found.map(|(text, path)| (runner.commands(&text, &names), path));
        let Some((commands, path)) = found.filter(|(commands, _)| !commands.is_empty()) else {
            return given.to_vec();
        };
        match self.found.files.get_mut(&path) {
            Some(None) => {}
            Some(Some((_, known))) => known.extend(names),
            None => {
                self.found.files.insert(path.clone(), Some((runner, names)));
            }
        }
        if let Some(folder) = path.parent() {
            place.folders.insert(0, folder.to_path_buf());
        }
        place.depth += 1;
        self.text(&commands, &place);
        rest
    }

    fn file_of(&self, name: &str, place: &Place) -> Option<PathBuf> {
        let paths = place
            .folders
            .iter()
            .filter_map(|folder| joined(folder, name));
        paths.into_iter().find(|path| self.files.have(path))
    }

    fn folder_of(&self, name: &str, place: &Place) -> Option<PathBuf> {
        let paths = place
            .folders
            .iter()
            .filter_map(|folder| joined(folder, name));
        paths
            .into_iter()
            .find(|path| !path.as_os_str().is_empty() && self.files.have_folder(path))
    }
}

/// The option that a word of a command sets, empty if it sets none, and the file that it may name, relative to the folder
/// of the configuration: `--config={root}/qa.yaml` sets `--config` and names `qa.yaml`.
pub(in crate::check) fn option_and_file(word: &str) -> (&str, &str) {
    let (option, name) = word.split_once('=').unwrap_or(("", word));
    let name = name.trim_matches(['"', '\'']).trim_start_matches("{root}/");
    (option, name.trim_start_matches("./"))
}

/// The part of a word that may name a file: what an option is set to, without the name of a test in the file, and
/// without a folder that only the run knows.
fn name_of(word: &str) -> String {
    let (_, name) = option_and_file(word);
    let name = name.split("::").next().unwrap_or_default();
    let known = match name.rsplit_once('$') {
        Some((_, rest)) => rest.split_once('/').map_or("", |(_, rest)| rest),
        None => name,
    };
    let known = known.trim_end_matches('/').trim_start_matches('/');
    known.trim_start_matches("./").to_owned()
}

/// A path without its dots; none if it leads out of the repository.
fn joined(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut path = folder.to_path_buf();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path)
}

/// The simple commands of a text, each as its words. Files to which a command writes are left out.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ").replace("$(MAKE)", "make");
    let mut commands = Vec::new();
    for line in text.lines() {
        let plain: String = line
            .replace(">&", "> ")
            .chars()
            .filter(|c| !matches!(c, '"' | '\'' | '\\'))
            .flat_map(|c| match c {
                '<' | '>' => vec![' ', c, ' '],
                c => vec![c],
            })
            .collect();
        for command in plain.split([';', '|', '&', '(', ')', '`']) {
            let mut words = Vec::new();
            let mut all = command.split_whitespace();
            while let Some(word) = all.next() {
                match word {
                    _ if word.starts_with('#') => break,
                    ">" => {
                        // `>>` is two of them.
                        while all.next() == Some(">") {}
                    }
                    "<" => {}
                    word => words.push(word.to_owned()),
                }
            }
            if !words.is_empty() {
                commands.push(words);
            }
        }
    }
    commands
}

/// The commands of some targets of a Makefile or a justfile, and of the targets that these need.
fn recipes(text: &str, names: &BTreeSet<String>) -> String {
    struct Rule {
        names: Vec<String>,
        needs: Vec<String>,
        commands: Vec<String>,
    }
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    let mut rules: Vec<Rule> = Vec::new();
    let text = text.replace("\\\n", " ");
    for line in text.lines() {
        let is_indented = line.starts_with([' ', '\t']);
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if is_indented {
            if let Some(rule) = rules.last_mut() {
                let command = trimmed.trim_start_matches(['@', '-', '+']);
                rule.commands.push(command.to_owned());
            }
            continue;
        }
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let (left, right) = trimmed.split_once('=').unwrap_or((trimmed, ""));
        let name = left.trim_end_matches([':', '?', '+']).trim();
        let name = name.trim_start_matches("export ").trim();
        let is_setting = trimmed.contains('=') && !name.contains([':', ' ']);
        if is_setting {
            variables.insert(name.to_owned(), right.trim().to_owned());
        } else if let Some((names, needs)) = trimmed.split_once(':') {
            let (needs, command) = needs.split_once(';').unwrap_or((needs, ""));
            rules.push(Rule {
                names: words(names.trim_start_matches('@')),
                needs: words(needs.trim_start_matches(':')),
                commands: vec![command.trim().to_owned()],
            });
        }
    }
    let first = rules.iter().flat_map(|rule| rule.names.first());
    let first = first.filter(|name| !name.starts_with('.')).take(1);
    let mut waiting: Vec<String> = match names.is_empty() {
        true => first.cloned().collect(),
        false => names.iter().cloned().collect(),
    };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(name) = waiting.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        for rule in rules.iter().filter(|rule| rule.names.contains(&name)) {
            waiting.extend(rule.needs.iter().cloned());
            found.extend(
                rule.commands
                    .iter()
                    .filter(|line| !line.is_empty())
                    .cloned(),
            );
        }
    }
    let mut commands = found.join("\n");
    // A variable may be set to another one.
    for _ in 0..DEEPEST {
        for (name, value) in &variables {
            for written in [
                format!("$({name})"),
                format!("${{{name}}}"),
                format!("{{{{{name}}}}}"),
            ] {
                commands = commands.replace(&written, value);
            }
        }
    }
    commands
}

/// The commands of some scripts of a `package.json`, with those that are run before and after them.
fn scripts(text: &str, names: &BTreeSet<String>) -> String {
    let data: Value = serde_json::from_str(text).unwrap_or_default();
    let names = names
        .iter()
        .flat_map(|name| [format!("pre{name}"), name.clone(), format!("post{name}")]);
    let found = names.filter_map(|name| Some(data["scripts"].get(name)?.as_str()?.to_owned()));
    found.collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "\
PYTHON := python3
export WHERE = tools
.PHONY: eval run
run:
\t$(PYTHON) app.py
eval: ready
\t@$(PYTHON) $(WHERE)/score.py $(OUT) > out.json
ready: ; sh tools/ready.sh
";

    const PACKAGE: &str = r#"{"scripts": {
        "preeval": "node tools/ready.mjs", "eval": "make -C . eval", "start": "node app.mjs"
    }}"#;

    /// The edited files that a command names, of a project that has every file of the list.
    fn named(command: &str) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path();
        let texts = [
            ("Makefile", MAKEFILE),
            ("package.json", PACKAGE),
            (
                "justfile",
                "out := \"x\"\neval output: ready\n    python3 evals.py {{output}}\nready:\n    true\n",
            ),
            ("evals.py", "from app import answer\nimport helper\n"),
            (
                "tools/eval.sh",
                "# see app.py\nset -e\npython3 \"$(dirname \"$0\")/score.py\" \"$1\" >> out.json\n",
            ),
            (
                "tools/up.sh",
                "cd \"$(dirname \"$0\")/..\"\npython3 -m evals --config=\"$PWD/tools/qa.yaml\"\n",
            ),
        ];
        let empty = [
            "app.py",
            "app.mjs",
            "helper.py",
            "out.json",
            "tools/score.py",
            "tools/ready.sh",
            "tools/ready.mjs",
            "tools/qa.yaml",
            "suite/__main__.py",
            "suite/ask.py",
            "evaluation/test_a.py",
            "src/bench.py",
            "eval/a.yaml",
        ];
        let all: BTreeSet<PathBuf> = texts
            .iter()
            .map(|(name, _)| *name)
            .chain(empty)
            .map(|name| Path::new("project").join(name))
            .collect();
        for path in &all {
            let path = top.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, "").expect("written");
        }
        for (name, text) in texts {
            std::fs::write(top.join("project").join(name), text).expect("written");
        }
        let files = Files::of(top, Path::new("project"), &all);
        let found = NamedFiles::of([command].into_iter(), &files);
        let found = all.iter().filter(|path| found.have(path));
        found
            .map(|path| {
                path.strip_prefix("project")
                    .expect("inside")
                    .display()
                    .to_string()
            })
            .collect()
    }

    #[test]
    fn an_evaluator_is_what_its_command_names_through_its_wrappers() {
        for (command, expected) in [
            ("python3 evals.py {output}", &["evals.py"][..]),
            ("bash -c 'python3 {root}/evals.py \"$0\"'", &["evals.py"]),
            ("python3 -m evals {output}", &["evals.py"]),
            ("uv run python -m bench", &["src/bench.py"]),
            ("python3 -m suite {output}", &["suite/__main__.py"]),
            ("python3 suite", &["suite/__main__.py"]),
            ("python3 evals.py --app suite", &["evals.py"]),
            (
                "python3 -m pytest suite",
                &["suite/__main__.py", "suite/ask.py"],
            ),
            (
                "python3 evals.py evaluation/",
                &["evals.py", "evaluation/test_a.py"],
            ),
            ("npx promptfoo eval -c=tools/qa.yaml", &["tools/qa.yaml"]),
            (
                "sh tools/eval.sh {output}",
                &["tools/eval.sh", "tools/score.py"],
            ),
            ("tools/up.sh", &["evals.py", "tools/qa.yaml", "tools/up.sh"]),
            (
                "make -s eval OUT={output}",
                &["Makefile", "tools/ready.sh", "tools/score.py"],
            ),
            ("just eval {output}", &["evals.py", "justfile"]),
            (
                "npm run --silent eval -- {output}",
                &[
                    "Makefile",
                    "package.json",
                    "tools/ready.mjs",
                    "tools/ready.sh",
                    "tools/score.py",
                ],
            ),
            ("npm test", &[]),
            ("my-evaluator {output}", &[]),
        ] {
            assert_eq!(named(command), expected, "{command}");
        }
    }

    #[test]
    fn only_the_commands_that_are_run_count_of_a_file_with_many() {
        let found = NamedFiles {
            files: BTreeMap::from([(
                PathBuf::from("Makefile"),
                Some((Runner::Make, BTreeSet::from(["eval".to_owned()]))),
            )]),
            ..NamedFiles::default()
        };
        let differs = |from: &str, to: &str| {
            let head = MAKEFILE.replace(from, to);
            assert_ne!(head, MAKEFILE, "{from}");
            found.differ(Path::new("Makefile"), MAKEFILE.as_bytes(), head.as_bytes())
        };
        assert!(!differs("app.py", "server.py"));
        assert!(differs("$(OUT)", "$(OUT) --threshold 0.3"));
        assert!(differs("= tools", "= soft"));
        assert!(differs("ready.sh", "soft.sh"));
    }

    #[test]
    fn what_a_wrapper_starts_of_the_pipeline_is_none_of_the_evaluator() {
        let of = |direct: &[&str], files: &[&str]| NamedFiles {
            files: files
                .iter()
                .map(|name| (PathBuf::from(name), None))
                .collect(),
            direct: direct.iter().map(PathBuf::from).collect(),
            folders: BTreeSet::new(),
        };
        let evaluator = of(&["eval.sh", "named.py"], &["eval.sh", "named.py", "app.py"]);
        let pipeline = of(&["app.py", "named.py"], &["app.py", "named.py"]);
        let left = evaluator.without(&pipeline);
        assert!(left.have(Path::new("eval.sh")) && left.have(Path::new("named.py")));
        assert!(!left.have(Path::new("app.py")));
    }
}
