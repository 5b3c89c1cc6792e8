//! Reads the data files of packs into [`Words`], and rejects everything that is ambiguous.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::entry::{WordEntry, pair, section, word};
use super::{LEAST_FILLER, List, NAMES, Words};
use kelvin_base::exit::Misuse;
use kelvin_base::file;
use kelvin_run::config::diagnostic::{Problem, tame};
use kelvin_run::config::hints::nearest;
use kelvin_run::config::yaml::{Content, Node};
use kelvin_run::config::{diagnostic, yaml};

/// The words during reading, each entry with its origin.
#[derive(Clone, Default)]
pub(super) struct WordLists {
    words: Words,
    /// The origin of each entry, by the two parts that must not repeat together: the group of lists, and the entry in
    /// lower case.
    origins: BTreeMap<(&'static str, String), WordOrigin>,
    /// The lists that files of the current pack have filled, each with its file.
    filled: BTreeMap<String, String>,
}

#[derive(Clone)]
struct WordOrigin {
    list: &'static str,
    file: String,
    line: usize,
}

impl WordLists {
    /// The lists that are built into this program. They are read once, since a command reads several configurations.
    pub(super) fn shipped() -> Result<Self, Misuse> {
        static READ: OnceLock<WordLists> = OnceLock::new();
        if let Some(lists) = READ.get() {
            return Ok(lists.clone());
        }
        let mut lists = Self::default();
        lists.apply_shipped(DEFAULT)?;
        Ok(READ.get_or_init(|| lists).clone())
    }

    /// Applies the files of a pack of this program.
    pub(super) fn apply_shipped(&mut self, files: Files) -> Result<(), Misuse> {
        self.filled.clear();
        for (name, text) in files {
            self.apply(Path::new(name), text)?;
        }
        Ok(())
    }

    /// Applies the files of a folder in the order of their names.
    pub(super) fn apply_folder(&mut self, root: &Path, name: &str) -> anyhow::Result<()> {
        self.filled.clear();
        let folder = root.join(name);
        let mut files: Vec<PathBuf> = match fs::read_dir(&folder) {
            Ok(entries) => entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| {
                    path.extension()
                        .is_some_and(|end| end == "yaml" || end == "yml")
                })
                .collect(),
            Err(error) => return Err(no_pack(name, &error).into()),
        };
        files.sort();
        if files.is_empty() {
            return Err(
                Misuse::new(format!("the pack `{}` has no YAML files", tame(name)))
                    .help("put at least one file that ends in `.yaml` into the folder")
                    .into(),
            );
        }
        for path in files {
            let text = read(&path)?;
            self.apply(path.strip_prefix(root).unwrap_or(&path), &text)?;
        }
        Ok(())
    }

    /// Applies one file: each key is a list, which replaces the present list or, under `extend`, adds to it.
    fn apply(&mut self, file: &Path, source: &str) -> Result<(), Misuse> {
        let problems = match yaml::parse(source) {
            Ok(tree) => self.fill(file, source, &tree),
            Err(problem) => vec![problem],
        };
        if problems.is_empty() {
            return Ok(());
        }
        Err(diagnostic::misuse(file, source, problems))
    }

    /// Replaces the filler bank by the sections of a file: a list, or a mapping with `filler`.
    pub(super) fn replace_filler(&mut self, root: &Path, name: &str) -> anyhow::Result<()> {
        self.filled.clear();
        let path = root.join(name);
        let source = read(&path)?;
        let file = Path::new(name);
        let tree = yaml::parse(&source)
            .map_err(|problem| diagnostic::misuse(file, &source, vec![problem]))?;
        if matches!(tree.content, Content::List(_)) {
            let mut problems = Vec::new();
            self.clear("filler");
            self.add("filler", &tree, file, &source, &mut problems);
            if problems.is_empty() {
                return Ok(());
            }
            return Err(diagnostic::misuse(file, &source, problems).into());
        }
        Ok(self.apply(file, &source)?)
    }

    /// The words, after every file has been applied.
    pub(super) fn finish(self) -> anyhow::Result<Words> {
        let sections = self.words.filler.len();
        if sections < LEAST_FILLER {
            return Err(Misuse::new(format!(
                "the filler bank has {sections} sections, and a variant may need {LEAST_FILLER}"
            ))
            .help("add sections, each with a `heading` and a `text`")
            .into());
        }
        Ok(self.words)
    }

    fn fill(&mut self, file: &Path, source: &str, tree: &Node) -> Vec<Problem> {
        let mut problems = Vec::new();
        let Content::Map(entries) = &tree.content else {
            let problem = Problem::new(0..0, "a file of a pack is a mapping from lists to values");
            return vec![problem.help(format!("its keys are: {}", NAMES.join(", ")))];
        };
        let mut lists = Vec::new();
        for (key, node) in entries {
            let Some(name) = NAMES.iter().find(|name| **name == key.text) else {
                problems.push(unknown_list(&key.text, key.at.clone()));
                continue;
            };
            let shown = file.display().to_string();
            if let Some(other) = self.filled.insert((*name).to_owned(), shown) {
                let what = format!("`{name}` is also in `{}`", tame(&other));
                problems.push(
                    Problem::new(key.at.clone(), what).help("keep a list of a pack in one file"),
                );
                continue;
            }
            match &node.content {
                Content::List(_) => {
                    self.clear(name);
                    lists.push((*name, node));
                }
                Content::Map(inner) if inner.len() == 1 && inner[0].0.text == "extend" => {
                    lists.push((*name, &inner[0].1));
                }
                _ => problems.push(
                    Problem::new(node.at.clone(), format!("`{name}` is not a list")).help(format!(
                        "write `{name}: [...]` to replace the list, or `{name}: {{extend: [...]}}` \
                         to add to it"
                    )),
                ),
            }
        }
        // The lists are added only now, because entries that the file replaces must not conflict with entries that it
        // adds elsewhere.
        for (name, node) in lists {
            self.add(name, node, file, source, &mut problems);
        }
        problems
    }

    fn clear(&mut self, name: &str) {
        match self.words.list(name) {
            Some(List::Sections(list)) => list.clear(),
            Some(List::Pairs(list)) => list.clear(),
            Some(List::Words(list)) => list.clear(),
            None => {}
        }
        self.origins.retain(|_, origin| origin.list != name);
    }

    fn add(
        &mut self,
        name: &'static str,
        node: &Node,
        file: &Path,
        source: &str,
        problems: &mut Vec<Problem>,
    ) {
        let Content::List(items) = &node.content else {
            problems.push(Problem::new(node.at.clone(), "`extend` is not a list"));
            return;
        };
        let shown = file.display().to_string();
        // The entries are in the order of the file, so that its lines are counted once and not from the top for each entry.
        let (mut line, mut counted) = (1, 0);
        for item in items {
            let start = item.at.start.clamp(counted, source.len());
            line += source[counted..start].matches('\n').count();
            counted = start;
            let entry = match self.words.list(name) {
                Some(List::Sections(_)) => section(item),
                Some(List::Pairs(_)) => pair(item),
                Some(List::Words(_)) | None => word(name, item),
            };
            match entry.and_then(|entry| {
                self.claim(name, &entry, item, (&shown, line))
                    .map(|()| entry)
            }) {
                Ok(entry) => self.push(name, entry),
                Err(problem) => problems.push(problem),
            }
        }
    }

    /// Rejects an entry that is already in the list, and a phrase that is already in another pair.
    fn claim(
        &mut self,
        list: &'static str,
        entry: &WordEntry,
        item: &Node,
        (file, line): (&str, usize),
    ) -> Result<(), Problem> {
        let keys: Vec<&String> = match entry {
            WordEntry::Section(section) => vec![&section.heading],
            WordEntry::Pair(one, other) => vec![one, other],
            WordEntry::Word(word) => vec![word],
        };
        for key in &keys {
            let Some(origin) = self.origins.get(&(namespace(list), key.to_lowercase())) else {
                continue;
            };
            let what = format!(
                "`{key}` is already in `{}`, in line {} of `{}`",
                origin.list,
                origin.line,
                tame(&origin.file)
            );
            let problem = Problem::new(item.at.clone(), what);
            return Err(problem.help(match entry {
                WordEntry::Pair(..) => {
                    "a phrase has one opposite: leave it out, or replace the whole list by writing \
                     it without `extend`"
                }
                _ => "leave one of them out",
            }));
        }
        for key in keys {
            let origin = WordOrigin {
                list,
                file: file.to_owned(),
                line,
            };
            self.origins
                .insert((namespace(list), key.to_lowercase()), origin);
        }
        Ok(())
    }

    fn push(&mut self, name: &str, entry: WordEntry) {
        match (self.words.list(name), entry) {
            (Some(List::Sections(list)), WordEntry::Section(section)) => list.push(section),
            (Some(List::Pairs(list)), WordEntry::Pair(one, other)) => list.push((one, other)),
            (Some(List::Words(list)), WordEntry::Word(word)) => list.push(word),
            _ => {}
        }
    }
}

/// The group of a list: lists that are matched against the text together must not repeat each other's phrases.
fn namespace(list: &'static str) -> &'static str {
    match list {
        "number_comparators" => "comparators",
        "participles" => "antonyms",
        other => other,
    }
}

fn read(path: &Path) -> Result<String, Misuse> {
    file::read(path).map_err(|error| {
        Misuse::new(tame(&format!("{error:#}")))
            .help("paths in `packs` and `filler` are relative to the folder of `kelvin.yaml`")
    })
}

fn no_pack(name: &str, error: &std::io::Error) -> Misuse {
    let names: Vec<&str> = PACKS.iter().map(|(name, _)| *name).collect();
    let help = match nearest(name, &names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "packs that ship: {}; anything else is a folder of YAML files, relative to the one of \
             `kelvin.yaml`",
            names.join(", ")
        ),
    };
    Misuse::new(format!("there is no pack `{}`: {error}", tame(name))).help(help)
}

fn unknown_list(name: &str, at: Range<usize>) -> Problem {
    let problem = Problem::new(at, format!("there is no list `{}`", tame(name)));
    problem.help(match nearest(name, &NAMES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the lists are: {}", NAMES.join(", ")),
    })
}

/// Files with the names that messages use for them.
pub(super) type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!($file))),*]
    };
}

/// The files with which every run starts.
pub(super) const DEFAULT: Files = files![
    "default/antonyms.yaml",
    "default/comparators.yaml",
    "default/filler.yaml",
    "default/injections.yaml",
    "default/reading.yaml",
];

/// The packs that can be requested by name.
pub(super) const PACKS: &[(&str, Files)] =
    &[("legal", files!["legal/contract.yaml", "legal/filler.yaml"])];

/// The files of a pack of this program.
pub(super) fn shipped_pack(name: &str) -> Option<Files> {
    let (_, files) = PACKS.iter().find(|(known, _)| *known == name)?;
    Some(files)
}
