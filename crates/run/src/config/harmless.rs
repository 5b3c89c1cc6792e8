//! The key `harmless`: files that change no answer according to the configuration, and files that may always change an
//! answer, even if the list contains them.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher, escape};

use super::diagnostic::Problem;
use super::yaml::{self, Content, Node};
use kelvin_base::{file, packages};

/// Names of files that define what is installed or how it is built, in any folder, apart from lists of packages. Any file
/// whose name ends with `.lock` also counts.
const MANIFESTS: [&str; 30] = [
    ".gitattributes",
    ".gitmodules",
    ".node-version",
    ".npmrc",
    ".nvmrc",
    ".python-version",
    ".ruby-version",
    ".tool-versions",
    ".yarnrc.yml",
    "action.yaml",
    "action.yml",
    "build.gradle",
    "build.gradle.kts",
    "build.rs",
    "Cargo.toml",
    "composer.json",
    "conftest.py",
    "deno.json",
    "Gemfile",
    "go.mod",
    "go.work",
    "go.work.sum",
    "mise.toml",
    "package.json",
    "pnpm-workspace.yaml",
    "pom.xml",
    "pyproject.toml",
    "rust-toolchain.toml",
    "setup.cfg",
    "setup.py",
];

/// The prefixes of manifest names that have several forms: `Dockerfile.gpu`, `.env.test`.
const MANIFEST_FORMS: [(&str, &str); 8] = [
    ("docker-compose", ".yaml"),
    ("docker-compose", ".yml"),
    ("compose.", ".yaml"),
    ("compose.", ".yml"),
    ("Dockerfile", ""),
    ("Containerfile", ""),
    (".env", ""),
    ("environment", ".yml"),
];

/// Name endings of pages that only describe a manifest.
const PAGES: [&str; 4] = [".adoc", ".html", ".md", ".rst"];

/// The patterns of a list, for matching paths within the repository.
#[derive(Clone, Debug)]
pub struct Harmless {
    patterns: Vec<(String, GlobMatcher)>,
}

impl Harmless {
    /// Reads the patterns. `below`: the folder of the configuration within the repository, empty at its top.
    ///
    /// # Errors
    ///
    /// Fails if a pattern is not a valid glob, which cannot happen in a checked configuration.
    pub fn of(patterns: &[String], below: &Path) -> anyhow::Result<Self> {
        let mut read = Vec::new();
        for pattern in patterns {
            // A pattern that points outside the repository matches no file.
            if let Some(whole) = whole(pattern, below) {
                read.push((pattern.clone(), glob(&whole)?));
            }
        }
        Ok(Self { patterns: read })
    }

    /// The first pattern in the list that matches a path, which is relative to the top of the repository.
    pub fn pattern_for(&self, path: &Path) -> Option<&str> {
        let mut patterns = self.patterns.iter();
        let found = patterns.find(|(_, glob)| glob.is_match(path));
        found.map(|(pattern, _)| pattern.as_str())
    }
}

/// Rewrites a pattern so that it is relative to the top of the repository. It follows the rules of `.gitignore`: a
/// leading `/` means the folder of the file, a name without `/` matches at any depth, and a trailing `/` means
/// everything in a folder.
fn whole(pattern: &str, below: &Path) -> Option<String> {
    let pattern = match pattern.strip_suffix('/') {
        Some(folder) => format!("{folder}/**"),
        None => pattern.to_owned(),
    };
    if let Some(from_the_top) = pattern.strip_prefix('/') {
        return Some(from_the_top.to_owned());
    }
    let mut rest = pattern.as_str();
    let mut folder = below.to_path_buf();
    let is_bare = !rest.contains('/');
    loop {
        if let Some(here) = rest.strip_prefix("./") {
            rest = here;
        } else if let Some(above) = rest.strip_prefix("../") {
            if !folder.pop() {
                return None;
            }
            rest = above;
        } else {
            break;
        }
    }
    let mut whole = String::new();
    for part in folder.components() {
        whole.push_str(&escape(part.as_os_str().to_str()?));
        whole.push('/');
    }
    if is_bare {
        whole.push_str("**/");
    }
    Some(whole + rest)
}

/// A glob in which `*` and `?` do not match `/`.
fn glob(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build()?;
    Ok(glob.compile_matcher())
}

/// The problems of the list, with their positions.
pub(super) fn problems(file: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    let patterns = file.texts(&["harmless"]);
    for (pattern, at) in &patterns {
        let problem = |message: String| Problem::new((*at).clone(), message);
        if pattern.trim().is_empty() || *pattern == "/" {
            found.push(
                problem(format!("`{pattern}` in `harmless` lists no file"))
                    .help("write a file, or a pattern such as `docs/**` or `*.md`"),
            );
        } else if pattern.starts_with('!') {
            found.push(
                problem(format!("`{pattern}` in `harmless` takes something out"))
                    .help("list only what changes no answer: everything else affects anyway"),
            );
        } else if let Err(error) = glob(pattern.trim_start_matches('/')) {
            found.push(
                problem(format!("`{pattern}` is not a glob: {}", error.kind()))
                    .help("`*` stands for any part of a name, and `**` for any folders"),
            );
        }
    }
    found
}

/// Why a file may always change an answer, even if a list contains it: it defines what is installed, or what a workflow
/// does. None for any other file.
pub fn always_affects(path: &Path) -> Option<&'static str> {
    if path.components().any(|part| part.as_os_str() == ".github") {
        return Some("workflows may lie in `.github`");
    }
    let name = path.file_name()?.to_string_lossy();
    let is_like = |known: &str| name.eq_ignore_ascii_case(known);
    let has_form = |(begin, end): &(&str, &str)| {
        let name = name.to_ascii_lowercase();
        let is_page = PAGES.iter().any(|page| name.ends_with(page));
        name.starts_with(&begin.to_ascii_lowercase()) && name.ends_with(end) && !is_page
    };
    let is_manifest = name.ends_with(".lock")
        || name.ends_with(".lockfile")
        || packages::installed(&name).is_some()
        || MANIFESTS.into_iter().any(is_like)
        || MANIFEST_FORMS.iter().any(has_form);
    is_manifest.then_some("such a file says what is installed or built")
}

/// The paths that the text of a configuration names, or may name. Every word of every value is treated as a path: if a
/// word is the name of a file only by chance, the only effect is an unnecessary run.
#[derive(Clone, Debug, Default)]
pub struct NamedPaths {
    paths: Vec<PathBuf>,
    globs: Vec<(String, GlobMatcher)>,
    /// Whether a value is the folder of the configuration itself.
    names_all: bool,
}

impl NamedPaths {
    /// Reads the text of a configuration, apart from `harmless` itself. `below`: its folder within the repository;
    /// `top`: the top of the repository, for absolute paths.
    ///
    /// # Errors
    ///
    /// Fails if the text is not YAML.
    pub fn of(text: &str, below: &Path, top: &Path) -> anyhow::Result<Self> {
        let tree = yaml::parse(text).map_err(|problem| anyhow::anyhow!("{}", problem.message))?;
        let mut named = Self::default();
        let Content::Map(entries) = &tree.content else {
            anyhow::bail!("it is not a mapping");
        };
        for (key, node) in entries {
            if key.text != "harmless" {
                named.take(node, (below, top));
            }
        }
        Ok(named)
    }

    fn take(&mut self, node: &Node, places: (&Path, &Path)) {
        match &node.content {
            Content::Text(text) => self.take_text(text, places),
            Content::List(items) => items.iter().for_each(|item| self.take(item, places)),
            Content::Map(entries) => {
                for (key, node) in entries {
                    self.take_text(&key.text, places);
                    self.take(node, places);
                }
            }
            Content::Null | Content::Bool(_) | Content::Integer(_) | Content::Float(_) => {}
        }
    }

    fn take_text(&mut self, text: &str, places: (&Path, &Path)) {
        let whole = text.trim();
        self.names_all |= matches!(whole, "." | "./" | "{root}" | "{root}/");
        self.take_word(whole, places);
        let text = ["{root}/", "$KELVIN_ROOT/", "${KELVIN_ROOT}/"]
            .iter()
            .fold(whole.to_owned(), |text, root| text.replace(root, ""));
        let is_between = |c: char| c.is_whitespace() || "\"'`=;|&<>(),:{}".contains(c);
        let words = text.split(is_between).filter(|word| *word != whole);
        for word in words {
            self.take_word(word, places);
            // `python -m tools.answer` runs `tools/answer.py`.
            if word.contains('.') && !word.contains('/') {
                self.take_word(&word.replace('.', "/"), places);
            }
        }
    }

    fn take_word(&mut self, word: &str, (below, top): (&Path, &Path)) {
        let path = Path::new(word);
        let path = match path.is_absolute() {
            true => match path.strip_prefix(top) {
                Ok(path) => path.to_path_buf(),
                Err(_) => return,
            },
            false => below.join(path),
        };
        let Some(path) = file::plain(&path) else {
            return;
        };
        // A word may mean the whole folder, as the `.` in `ls .` does; such a word does not name a file.
        if path.as_os_str().is_empty() || path == below {
            return;
        }
        if word.contains(['*', '?', '[']) {
            let pattern = path.to_string_lossy();
            let is_of_stars = pattern.chars().all(|c| "*?/".contains(c));
            match glob(&pattern) {
                Ok(glob) if !is_of_stars => self.globs.push((word.to_owned(), glob)),
                _ => self.names_all |= pattern.contains("**"),
            }
        }
        self.paths.push(path);
    }

    /// The word that names a path, which is relative to the top of the repository: the path itself, a folder above it,
    /// or a pattern. None if no word names it.
    pub fn name_of(&self, path: &Path) -> Option<String> {
        if self.names_all {
            return Some(".".to_owned());
        }
        let stem = path.with_extension("");
        let mut paths = self.paths.iter();
        let found = paths.find(|named| path.starts_with(named) || **named == stem);
        let mut globs = self.globs.iter();
        let found = found.map(|named| named.display().to_string());
        found.or_else(|| {
            let glob = globs.find(|(_, glob)| glob.is_match(path));
            glob.map(|(word, _)| word.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str], below: &str) -> Harmless {
        let patterns: Vec<String> = patterns.iter().map(|one| (*one).to_owned()).collect();
        Harmless::of(&patterns, Path::new(below)).expect("they are globs")
    }

    #[test]
    fn a_pattern_is_read_as_a_line_of_gitignore() {
        let lists = |pattern: &str, path: &str| {
            let list = list(&[pattern], "");
            list.pattern_for(Path::new(path)).is_some()
        };
        for (pattern, listed, others) in [
            (
                "*.md",
                &["a.md", "docs/deep/a.md"][..],
                &["a.mdx", "md"][..],
            ),
            ("/*.md", &["a.md"], &["docs/a.md"]),
            (
                "docs/*",
                &["docs/a.md", "docs/.x"],
                &["docs/deep/a.md", "src/docs/a.md"],
            ),
            (
                "docs/**",
                &["docs/a.md", "docs/deep/er/a"],
                &["docs", "docs2/a", "src/docs/a.md"],
            ),
            ("docs/", &["docs/a.md", "docs/deep/a"], &["docs2/a"]),
            (
                "LICENSE",
                &["LICENSE", "src/LICENSE"],
                &["LICENSE.md", "LICENSE/a"],
            ),
            ("./docs/a.md", &["docs/a.md"], &["a.md"]),
            ("docs/[", &[], &[]),
            ("../docs/**", &[], &["docs/a.md", "../docs/a.md"]),
            ("*.{md,rst}", &["x/a.rst"], &["a.txt"]),
        ] {
            if glob(pattern).is_err() {
                assert_eq!(pattern, "docs/[");
                continue;
            }
            for path in listed {
                assert!(lists(pattern, path), "{pattern} {path}");
            }
            for path in others {
                assert!(!lists(pattern, path), "{pattern} {path}");
            }
        }
    }

    #[test]
    fn patterns_of_a_configuration_in_a_folder_count_from_there() {
        let list = list(&["*.md", "docs/**", "/wiki/**", "../notes/*"], "parts/[a]");
        let found = |path: &str| list.pattern_for(Path::new(path));
        assert_eq!(found("parts/[a]/x/y.md"), Some("*.md"));
        assert_eq!(found("parts/[a]/docs/x"), Some("docs/**"));
        assert_eq!(found("wiki/x"), Some("/wiki/**"));
        assert_eq!(found("parts/notes/x"), Some("../notes/*"));
        for other in ["y.md", "docs/x", "parts/a/y.md", "parts/wiki/x", "notes/x"] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[test]
    fn what_says_what_is_installed_or_what_a_workflow_does_always_affects() {
        for path in [
            "Cargo.lock",
            "docs/package-lock.json",
            "docs/PACKAGE.JSON",
            "requirements-dev.txt",
            "docs/requirements.txt",
            "Dockerfile.gpu",
            "uv.lock",
            ".github/ISSUE_TEMPLATE/bug.md",
            "docs/.gitattributes",
            ".env.test",
        ] {
            assert!(always_affects(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            "README.md",
            "docs/locks.md",
            "docs/github/a.md",
            "docs/a.png",
            "docs/dockerfile.md",
        ] {
            assert_eq!(always_affects(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn every_word_of_a_configuration_may_name_a_file() {
        let text = "run: sh {root}/docs/run.sh {input} {output} --prompt=docs/prompt.md\n\
                    cases: docs/cases\nfingerprint: [\"docs/src/*.py\"]\nharmless: [\"wiki/**\"]\n\
                    grading: {judge: {run: python -m docs.tools.judge}, prompts: ./docs/prompts.md}\n";
        let named = NamedPaths::of(text, Path::new("eval"), Path::new("/top")).expect("read");
        for path in [
            "docs/run.sh",
            "docs/prompt.md",
            "docs/cases/deep/a.md",
            "docs/src/x.py",
            "docs/tools/judge.py",
            "docs/prompts.md",
        ] {
            let path = Path::new("eval").join(path);
            assert!(named.name_of(&path).is_some(), "{}", path.display());
        }
        for path in [
            "eval/docs/other.md",
            "docs/run.sh",
            "eval/wiki/a.md",
            "eval/README.md",
        ] {
            assert_eq!(named.name_of(Path::new(path)), None, "{path}");
        }
        let all = NamedPaths::of("cases: .\n", Path::new(""), Path::new("/top")).expect("read");
        assert!(all.name_of(Path::new("README.md")).is_some());
        let all = NamedPaths::of("fingerprint: ['**']\n", Path::new(""), Path::new("/top"));
        assert!(all.expect("read").name_of(Path::new("README.md")).is_some());
        let above = "run: cat ../docs/a.md /top/b.md /other/c.md .\n";
        let above = NamedPaths::of(above, Path::new("eval"), Path::new("/top")).expect("read");
        assert!(above.name_of(Path::new("docs/a.md")).is_some());
        assert!(above.name_of(Path::new("b.md")).is_some());
        assert_eq!(above.name_of(Path::new("eval/d.md")), None);
    }
}
