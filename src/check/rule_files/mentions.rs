//! Finds the files of a repository that a text names, as far as this can be seen in the text.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};

/// The variable that names the folder of the configuration.
const ROOT: &str = "KELVIN_ROOT";
/// A larger file is not treated as a script.
const MOST_READ: u64 = 1 << 20;
/// How many files are searched; a check that names more is treated as if it read everything.
const MOST_FILES: usize = 2_000;
/// The keywords with which a line imports another module, without the file extension of the module.
const OF_IMPORTS: [&str; 8] = [
    "import",
    "from",
    "require",
    "require_relative",
    "include",
    "source",
    "load",
    "use",
];
/// Names, without their ending, of the file that is loaded where a folder is imported.
const OF_PACKAGES: [&str; 3] = ["__init__", "index", "mod"];
/// Words that are rarely meant as a folder of the repository.
const COMMON: [&str; 8] = ["test", "bin", "lib", "src", "usr", "tmp", "dev", "home"];
/// Words that show that a program lists the files in a folder.
const OF_LISTINGS: [&str; 12] = [
    "__file__",
    "__dirname",
    "dirname",
    "$0",
    "BASH_SOURCE",
    "import.meta",
    "listdir",
    "readdir",
    "rglob",
    "iterdir",
    "find",
    "ls",
];
/// Programs that search for the files that they run.
const OF_TOOLS: [&str; 24] = [
    "pytest",
    "unittest",
    "tox",
    "nox",
    "make",
    "just",
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "cargo",
    "go",
    "gradle",
    "mvn",
    "bazel",
    "rake",
    "bundle",
    "composer",
    "phpunit",
    "jest",
    "vitest",
    "ctest",
    "dotnet",
    "pre-commit",
];

/// The files of a repository, by the names that a text may use for them.
pub(super) struct Files<'a> {
    top: &'a Path,
    /// The folder of the configuration, relative to the top.
    below: &'a Path,
    all: &'a BTreeSet<PathBuf>,
    by_name: BTreeMap<&'a OsStr, Vec<&'a PathBuf>>,
    by_stem: BTreeMap<&'a str, Vec<&'a PathBuf>>,
    folders: BTreeMap<&'a OsStr, BTreeSet<&'a Path>>,
}

impl<'a> Files<'a> {
    pub(super) fn of(top: &'a Path, below: &'a Path, all: &'a BTreeSet<PathBuf>) -> Self {
        let mut by_name: BTreeMap<&OsStr, Vec<&PathBuf>> = BTreeMap::new();
        let mut by_stem: BTreeMap<&str, Vec<&PathBuf>> = BTreeMap::new();
        let mut folders: BTreeMap<&OsStr, BTreeSet<&Path>> = BTreeMap::new();
        for path in all {
            for folder in path.ancestors().skip(1) {
                if let Some(name) = folder.file_name() {
                    folders.entry(name).or_default().insert(folder);
                }
            }
            let Some(name) = path.file_name() else {
                continue;
            };
            by_name.entry(name).or_default().push(path);
            if let Some((stem, _)) = name.to_str().and_then(|name| name.split_once('.')) {
                by_stem.entry(stem).or_default().push(path);
            }
        }
        Self {
            top,
            below,
            all,
            by_name,
            by_stem,
            folders,
        }
    }

    /// The files in some folders.
    pub(super) fn below(&self, folders: &[PathBuf]) -> Vec<&'a PathBuf> {
        let all = self.all.iter();
        all.filter(|path| folders.iter().any(|folder| path.starts_with(folder)))
            .collect()
    }

    /// The folder of the configuration, relative to the top.
    pub(super) const fn own(&self) -> &'a Path {
        self.below
    }

    /// Whether there is a file with a path.
    pub(super) fn have(&self, path: &Path) -> bool {
        self.all.contains(path)
    }

    /// Whether there is a folder with a path.
    pub(super) fn have_folder(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        let named = self.folders.get(name);
        named.is_some_and(|folders| folders.contains(path))
    }

    /// The text of a file; none if it is too long, or no text.
    pub(super) fn text(&self, path: &Path) -> Option<String> {
        let path = self.top.join(path);
        let data = std::fs::metadata(&path).ok()?;
        if !data.is_file() || data.len() > MOST_READ {
            return None;
        }
        let bytes = std::fs::read(path).ok()?;
        let is_text = !bytes.iter().take(8_000).any(|byte| *byte == 0);
        is_text.then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The files and folders that some texts name.
pub(super) struct Reached<'f> {
    files: &'f Files<'f>,
    /// Files that were named one by one.
    named: BTreeSet<&'f PathBuf>,
    /// Folders that were named as a whole, relative to the top.
    folders: BTreeSet<PathBuf>,
    waiting: Vec<&'f PathBuf>,
}

impl<'f> Reached<'f> {
    pub(super) const fn of(files: &'f Files<'f>) -> Self {
        Self {
            files,
            named: BTreeSet::new(),
            folders: BTreeSet::new(),
            waiting: Vec::new(),
        }
    }

    /// Whether the file itself is named in a text.
    pub(super) fn names(&self, path: &PathBuf) -> bool {
        self.named.contains(path)
    }

    /// The files that were named, each with its text.
    pub(super) fn texts(&self) -> Vec<(PathBuf, String)> {
        let named = self.named.iter();
        named
            .filter_map(|path| Some(((*path).clone(), self.files.text(path)?)))
            .collect()
    }

    /// Whether a file is in a folder that was named as a whole.
    pub(super) fn may_read(&self, path: &Path) -> bool {
        path.ancestors()
            .skip(1)
            .any(|folder| self.folders.contains(folder))
    }

    /// Adds the folders of the named files, except the folder of the configuration: a program usually consists of files
    /// in one folder.
    pub(super) fn with_neighbours(mut self) -> Self {
        let folders = self.named.iter().filter_map(|path| path.parent());
        let is_own = |folder: &&Path| !self.files.below.starts_with(folder);
        let folders: Vec<PathBuf> = folders.filter(is_own).map(Path::to_path_buf).collect();
        // A program that lists the folder of the configuration may find a check there, but that does not make the check
        // a part of the program.
        let below = self.files.below;
        self.folders.retain(|folder| !below.starts_with(folder));
        self.folders.extend(folders);
        self
    }

    /// Adds a file, and all files that its text names.
    pub(super) fn reach(&mut self, path: &Path) {
        if let Some(path) = self.files.all.get(path) {
            self.add(path);
        }
    }

    /// Searches a file if its text `is_wanted`, without adding the file itself.
    pub(super) fn reach_where(&mut self, path: &Path, is_wanted: impl Fn(&str) -> bool) {
        if let Some(text) = self.files.text(path).filter(|text| is_wanted(text)) {
            self.look_through(&text, None);
        }
    }

    /// Searches every named file, then the files that these name, and so on.
    pub(super) fn follow(&mut self) {
        let mut seen = 0;
        while let Some(path) = self.waiting.pop() {
            seen += 1;
            if seen > MOST_FILES {
                self.folders.insert(PathBuf::new());
                return;
            }
            if let Some(text) = self.files.text(path) {
                self.look_through(&text, path.parent());
            }
        }
    }

    fn add(&mut self, path: &'f PathBuf) {
        if self.named.insert(path) {
            self.waiting.push(path);
        }
    }

    /// Adds the files that a text names. `beside`: the folder of the file with the text, or the folder in which it is
    /// run. None for a text that is run in a workspace: paths in it are relative to the workspace, unless they use the
    /// variable.
    pub(super) fn look_through(&mut self, text: &str, beside: Option<&Path>) {
        let text: String = text
            .chars()
            .filter(|c| !matches!(c, '"' | '\'' | '`' | '\\'))
            .collect();
        let text = text.replace("${KELVIN_ROOT}", "$KELVIN_ROOT");
        let is_part = |c: char| c.is_alphanumeric() || "_-./*?$@+~".contains(c);
        let is_in_root = text.contains(ROOT) || beside.is_some();
        if !is_in_root {
            return;
        }
        for line in text.lines() {
            let words: Vec<&str> = line
                .split(|c| !is_part(c))
                .filter(|word| !word.is_empty())
                .collect();
            let imports = words.first().is_some_and(|word| OF_IMPORTS.contains(word))
                || words.contains(&"-m")
                || line.contains("require(")
                || line.contains("import(");
            for word in words {
                if let Some((_, rest)) = word.split_once(ROOT) {
                    self.below_root(rest);
                    continue;
                }
                self.word(word, imports);
                let is_tool = OF_TOOLS.contains(&word.rsplit('/').next().unwrap_or(word));
                if is_tool {
                    self.folders.insert(self.files.below.to_path_buf());
                }
                let is_listing = word == "$0" || OF_LISTINGS.iter().any(|name| is_word(word, name));
                if let (true, Some(folder)) = (is_listing, beside) {
                    self.folders.insert(folder.to_path_buf());
                }
            }
        }
    }

    /// Adds the path that follows the variable for the folder of the configuration.
    fn below_root(&mut self, rest: &str) {
        let mut folder = self.files.below.to_path_buf();
        let mut parts = rest
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .peekable();
        let is_path = rest.starts_with('/') && parts.peek().is_some();
        if !is_path {
            self.folders.insert(folder);
            return;
        }
        for part in parts {
            if part == ".." {
                folder.pop();
                continue;
            }
            if part.contains(['*', '?', '$']) {
                self.folders.insert(folder);
                return;
            }
            folder.push(part);
        }
        let files = self.files;
        match files.all.get(&folder) {
            Some(path) => self.add(path),
            // The path is a folder, a link, or a file that does not exist yet.
            None => {
                self.folders.insert(folder);
            }
        }
    }

    fn word(&mut self, word: &str, imports: bool) {
        let files = self.files;
        let trimmed = word.trim_matches('.').trim_end_matches('/');
        let (above, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        if name.contains(['*', '?']) {
            self.glob(name);
            self.folder(above.rsplit('/').next().unwrap_or(above));
            return;
        }
        for path in files.by_name.get(OsStr::new(name)).into_iter().flatten() {
            self.add(path);
        }
        if imports {
            for part in trimmed.split(['.', '/']) {
                for path in files.by_stem.get(part).into_iter().flatten() {
                    self.add(path);
                }
                self.package(part);
            }
        }
        if word.contains('/') || !COMMON.contains(&name) {
            self.folder(name);
        }
    }

    /// Adds every folder with this name.
    fn folder(&mut self, name: &str) {
        let named = self.files.folders.get(OsStr::new(name));
        let named = named
            .into_iter()
            .flatten()
            .map(|folder| folder.to_path_buf());
        self.folders.extend(named);
    }

    /// Adds the file that is loaded where a folder with this name is imported. A new folder can take the place of the
    /// module that was imported until now, so the file belongs to the script that imports it, whatever else is beside it.
    fn package(&mut self, name: &str) {
        let files = self.files;
        let Some(folders) = files.folders.get(OsStr::new(name)) else {
            return;
        };
        let loaded = OF_PACKAGES
            .iter()
            .filter_map(|stem| files.by_stem.get(stem));
        for path in loaded.flatten() {
            if path.parent().is_some_and(|folder| folders.contains(folder)) {
                self.add(path);
            }
        }
    }

    fn glob(&mut self, name: &str) {
        // A pattern that matches everything does not show where the files are.
        if name.chars().all(|c| matches!(c, '*' | '?' | '.')) {
            return;
        }
        let Ok(glob) = Glob::new(name) else { return };
        let glob: GlobMatcher = glob.compile_matcher();
        let files = self.files;
        for (file, paths) in &files.by_name {
            if glob.is_match(file) {
                for path in paths {
                    self.add(path);
                }
            }
        }
    }
}

/// Whether a name is one of the parts of a path or a dotted name.
fn is_word(word: &str, name: &str) -> bool {
    let mut parts = word.split(['.', '/', '$']);
    word == name || parts.any(|part| part == name) || name.contains('.') && word.contains(name)
}
