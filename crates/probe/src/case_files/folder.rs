//! Finds the files that are cases: those of a folder, or those that match a glob. All other files are reported, not
//! silently ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, FileType};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};

use super::{Extension, Ignored, ignored_sentence, shown, stem, wrong_with};
use kelvin_base::exit::{Finding, Misuse};
use kelvin_base::file::OUTPUT_MARK;
use kelvin_base::notice::{Code, Notice};

/// The file of a case.
#[derive(Debug)]
pub struct CaseFile {
    /// The file name without its extension: the name of the case.
    pub name: Arc<str>,
    /// The path from which the file is read.
    pub path: PathBuf,
    /// The path relative to the root of the configuration, with `/`.
    pub shown: Arc<str>,
}

/// The result of the search.
#[derive(Debug, Default)]
pub struct Found {
    /// The files, sorted by name.
    pub files: Vec<CaseFile>,
    /// One notice for each reason why files were left out.
    pub notices: Vec<Notice>,
    /// Files whose names cannot be names of cases.
    pub problems: Vec<Misuse>,
    /// The tables of labels in the folders of cases, in the order of their paths. They are not cases, and no pipeline
    /// gets them.
    pub labels: Vec<CaseFile>,
}

/// The name of the table of labels in a folder of cases.
pub const LABELS: &str = "expected.csv";

/// The output folder in the folder of the configuration; its inputs are Markdown files too.
const OUTPUT: &str = "kelvin";

/// How many entries below the folder of the cases are examined for the notice about nested files.
const NESTED_BUDGET: usize = 10_000;

/// Finds the files of the cases, without reading them.
///
/// # Errors
///
/// A [`Misuse`] if the folder does not exist, the glob is invalid, or no file is found.
pub fn find(root: &Path, cases: &str) -> Result<Found, Misuse> {
    let written = cases.trim_end_matches('/');
    let folder = root.join(written);
    let mut search = FolderSearch {
        root,
        glob: None,
        cases: Vec::new(),
        ignored: BTreeMap::new(),
        problems: Vec::new(),
        labels: Vec::new(),
        budget: NESTED_BUDGET,
    };
    if folder.is_dir() {
        search.list(&folder, &relative(root, written))?;
    } else if is_glob(written) {
        let pattern = relative(root, written);
        let glob = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| {
                Misuse::new(format!(
                    "`cases: {}` is not a glob: {}",
                    shown(written),
                    error.kind()
                ))
                .help("name a folder, or a glob such as `cases/**/*.md`")
            })?;
        search.glob = Some(glob.compile_matcher());
        let base = base(written);
        let start = root.join(base);
        if !start.is_dir() {
            return Err(absent(base));
        }
        search.list(&start, &relative(root, base))?;
    } else if folder.exists() {
        return Err(Misuse::new(format!(
            "`cases: {}` is a file, and these cases are a folder with one Markdown file each",
            shown(written)
        ))
        .help("name such a folder; a file with one scenario a line is named by `scenarios`"));
    } else {
        return Err(absent(written));
    }
    search.finish(written)
}

/// Reads a case into an existing buffer: most files are small, and querying the size of a file takes as long as reading
/// it.
pub fn read(entry: &CaseFile, bytes: &mut Vec<u8>) -> Result<String, Misuse> {
    bytes.clear();
    File::open(&entry.path)
        .and_then(|file| file.take(u64::MAX).read_to_end(bytes))
        .map_err(|error| {
            let shown = shown(&entry.shown);
            let what = format!("cannot be read: {error}");
            Misuse::new(format!("{shown}: {what}")).finding(Finding {
                file: Some(entry.path.clone()),
                what,
                ..Finding::default()
            })
        })?;
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let shown = shown(&entry.shown);
        let at = error.valid_up_to();
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let found = bytes.get(at).copied().unwrap_or_default();
        let help = match bytes.as_slice() {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it looks like UTF-16: save it as UTF-8",
            _ => "save it as UTF-8",
        };
        let what = format!("not UTF-8: byte 0x{found:02x} at offset {at}");
        Misuse::new(format!("{shown}:{line}: {what}"))
            .help(help)
            .finding(Finding {
                file: Some(entry.path.clone()),
                line: Some(line),
                what,
                help: Some(help.to_owned()),
                ..Finding::default()
            })
    })?;
    Ok(text.to_owned())
}

/// The part of a glob before its first wildcard, in whole components; a folder unchanged.
pub fn base(cases: &str) -> &str {
    let cases = cases.trim_end_matches('/');
    let Some(wild) = cases.find(WILD) else {
        return cases;
    };
    cases[..wild]
        .rfind('/')
        .map_or("", |end| &cases[..end.max(1)])
}

const WILD: [char; 4] = ['*', '?', '[', '{'];

fn is_glob(cases: &str) -> bool {
    cases.contains(WILD)
}

fn absent(folder: &str) -> Misuse {
    Misuse::new(format!(
        "the folder of the cases, `{}`, does not exist",
        shown(folder)
    ))
    .help(
        "`cases` in the configuration, or `--cases` of `kelvin init`, names a folder with one Markdown \
         file a case, or a file of records such as `cases.jsonl`, relative to the configuration file",
    )
}

/// A path of the configuration in the form for messages: without `./`, and relative to the root if it is below the
/// root.
fn relative(root: &Path, written: &str) -> String {
    let below = Path::new(written)
        .strip_prefix(root)
        .ok()
        .and_then(Path::to_str);
    let mut rest = below.unwrap_or(written);
    while let Some(after) = rest.strip_prefix("./") {
        rest = after.trim_start_matches('/');
    }
    if rest == "." {
        String::new()
    } else {
        rest.to_owned()
    }
}

/// A walk through the folder of the cases.
struct FolderSearch<'a> {
    root: &'a Path,
    glob: Option<GlobMatcher>,
    cases: Vec<CaseFile>,
    ignored: BTreeMap<Ignored, BTreeSet<String>>,
    problems: Vec<Misuse>,
    labels: Vec<CaseFile>,
    budget: usize,
}

impl FolderSearch<'_> {
    /// Lists a folder: with a glob everything below it, otherwise only the files directly in it.
    fn list(&mut self, folder: &Path, shown_as: &str) -> Result<(), Misuse> {
        self.walk(folder, shown_as, 0).map_err(|error| {
            Misuse::new(format!("the folder of the cases cannot be listed: {error}"))
        })
    }

    fn walk(&mut self, folder: &Path, shown_as: &str, depth: usize) -> std::io::Result<()> {
        let mut entries: Vec<(OsString, FileType)> = fs::read_dir(folder)?
            .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))))
            .collect::<Result<_, _>>()?;
        entries.sort_by(|one, two| one.0.cmp(&two.0));
        for (file_name, file_type) in entries {
            let name = file_name.to_string_lossy();
            let shown_as = match shown_as {
                "" => name.into_owned(),
                folder if folder.ends_with('/') => [folder, &*name].concat(),
                folder => [folder, "/", &*name].concat(),
            };
            if self.glob.is_none() && depth > 0 {
                if self.budget == 0 {
                    return Ok(());
                }
                self.budget -= 1;
            }
            self.take(&folder.join(&file_name), file_type, shown_as, depth);
        }
        Ok(())
    }

    fn take(&mut self, path: &Path, listed: FileType, shown_as: String, depth: usize) {
        let file_name = path.file_name().unwrap_or_default();
        let name = file_name.to_string_lossy();
        let extension = Extension::of(&name);
        let is_link = listed.is_symlink();
        let nested = depth > 0 && self.glob.is_none();
        // A broken link counts too, so that reading it reports an error.
        if name == LABELS && !listed.is_dir() && !nested {
            self.labels.push(CaseFile {
                name: LABELS.into(),
                path: path.to_path_buf(),
                shown: shown_as.into(),
            });
            return;
        }
        // The listing contains the type of a file; only a link has to be followed.
        let file_type = if is_link {
            let Ok(data) = fs::metadata(path) else {
                if extension != Extension::Other {
                    self.ignore(Ignored::Dangling, shown_as);
                }
                return;
            };
            data.file_type()
        } else {
            listed
        };
        if file_type.is_dir() {
            if extension == Extension::Md {
                self.ignore(Ignored::NotAFile, shown_as);
            } else if !name.starts_with('.') && !is_link && !self.is_output(path) {
                let walked = self.walk(path, &shown_as, depth + 1);
                // Without a glob, no case is expected below the folder.
                if walked.is_err() && self.glob.is_some() {
                    self.ignore(Ignored::Unlisted, shown_as);
                }
            }
            return;
        }
        let matched = self
            .glob
            .as_ref()
            .is_none_or(|glob| glob.is_match(&shown_as));
        match extension {
            // `..md` would become the folder itself, and `...md` its parent.
            _ if matches!(&*name, "..md" | "...md") => self.refuse(&shown_as, "is no name"),
            Extension::Other if !matched || nested || name.starts_with('.') => {}
            Extension::Other if self.glob.is_none() => self.ignore(Ignored::NotMarkdown, shown_as),
            Extension::Like if !matched || self.glob.is_none() => {
                self.ignore(Ignored::Extension, shown_as);
            }
            _ if !matched => {}
            _ if name.starts_with('.') => self.ignore(Ignored::Hidden, shown_as),
            _ if nested => self.ignore(Ignored::Nested, shown_as),
            _ if !file_type.is_file() => self.ignore(Ignored::NotAFile, shown_as),
            _ => match file_name.to_str().map(stem) {
                None => self.refuse(&shown_as, "is not UTF-8"),
                Some(name) => match wrong_with(name) {
                    Some(wrong) => self.refuse(&shown_as, wrong),
                    None => self.cases.push(CaseFile {
                        name: name.into(),
                        path: path.to_path_buf(),
                        shown: shown_as.into(),
                    }),
                },
            },
        }
    }

    fn is_output(&self, folder: &Path) -> bool {
        folder == self.root.join(OUTPUT) || folder.join(OUTPUT_MARK).exists()
    }

    fn ignore(&mut self, why: Ignored, shown_as: String) {
        self.ignored.entry(why).or_default().insert(shown_as);
    }

    fn refuse(&mut self, shown_as: &str, wrong: &str) {
        let what = format!(
            "{}: the name of a case becomes the name of a folder, and this one {wrong}",
            shown(shown_as)
        );
        self.problems
            .push(Misuse::new(what).help("rename the file"));
    }

    fn finish(mut self, written: &str) -> Result<Found, Misuse> {
        self.cases
            .sort_by(|one, two| (&one.name, &one.shown).cmp(&(&two.name, &two.shown)));
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for entry in &self.cases {
            // Two folders whose names differ only in case are the same folder on many machines.
            if let Some(first) = seen.insert(entry.name.to_lowercase(), &entry.shown) {
                let what = format!(
                    "{} and {} are both case `{}`, or differ in upper and lower case only",
                    shown(first),
                    shown(&entry.shown),
                    shown(&entry.name)
                );
                self.problems.push(
                    Misuse::new(what)
                        .help("rename one: the name without folder and `.md` has to be distinct"),
                );
            }
        }
        let mut notices: Vec<Notice> = self
            .ignored
            .iter()
            .map(|(why, files)| Notice::new(why.code(), ignored_sentence(*why, files)))
            .collect();
        if self.budget == 0 {
            let text = format!(
                "only {NESTED_BUDGET} files below the folder of the cases were looked at; whether \
                 there are more cases among the others is not known"
            );
            notices.push(Notice::new(Code::UnreadFolder, text));
        }
        if self.cases.is_empty() && self.problems.is_empty() {
            let mut misuse = Misuse::new(format!("no case was found in `{}`", shown(written)))
                .help("put at least one `.md` file there, or let `cases` name another folder");
            for notice in &notices {
                misuse.what.push_str(&format!("\n  {}", notice.text));
            }
            return Err(misuse);
        }
        // A glob also searches folders that contain no cases.
        let folders: BTreeSet<Option<&Path>> =
            self.cases.iter().map(|case| case.path.parent()).collect();
        self.labels
            .retain(|table| folders.contains(&table.path.parent()));
        self.labels.sort_by(|one, two| one.shown.cmp(&two.shown));
        Ok(Found {
            files: self.cases,
            notices,
            problems: self.problems,
            labels: self.labels,
        })
    }
}
