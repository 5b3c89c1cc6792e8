//! A repository whose references libgit2 cannot read, as one that it can: a git folder of this process alone, with
//! the real objects and the real index, and the references written down as the system's `git` tells them.
//!
//! Nothing is written through it but objects, which come to lie where the real ones do. A reference is moved by
//! `git` in the real folder, and the view is then made anew.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::bail;
use git2::{Oid, Reference, RepositoryOpenFlags};
use tempfile::TempDir;

use super::{Closed, Owner, process};
use kelvin_base::file;

/// The version of git that brought reftables.
const SINCE: (u32, u32) = (2, 45);
const WHAT: &str = "the git repository here keeps its references as a reftable";
/// The settings that libgit2 has a use for. A login is not among them, nor are the extensions that git has seen to.
const WANTED: [&str; 5] = [
    "core.",
    "extensions.objectformat",
    "remote.",
    "url.",
    "user.",
];

/// The view of a repository. Its folder goes when it is dropped.
pub(super) struct View {
    folder: TempDir,
    git: Git,
    /// The git folder of the work tree.
    own: PathBuf,
    /// The git folder that all work trees share.
    common: PathBuf,
}

/// The system's `git` in a folder.
struct Git {
    /// The top of the work tree.
    top: PathBuf,
    /// Whether it is read although it belongs to another user.
    trusts: bool,
}

impl View {
    /// Makes a view of the repository of a work tree, and opens it.
    pub(super) fn of(top: PathBuf, owner: Owner) -> Result<(git2::Repository, Self), Closed> {
        let mut git = Git { top, trusts: false };
        let asked = [
            "rev-parse",
            "--path-format=absolute",
            "--git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ];
        let mut told = git.run(&asked)?;
        if text(&told.stderr).contains("dubious ownership") {
            if owner == Owner::Checked {
                return Err(Closed::Foreign(git.top));
            }
            git.trusts = true;
            told = git.run(&asked)?;
        }
        let told = git.answer(told)?;
        let lines: Vec<&[u8]> = told.trim_ascii_end().split(|byte| *byte == b'\n').collect();
        let [own, common, workdir] = *lines else {
            return Err(unread(&"its folders have names with line ends"));
        };
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let view = Self {
            folder: tempfile::Builder::new()
                .prefix("kelvin-")
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir()
                .map_err(|error| unread(&error))?,
            git,
            own: path(own),
            common: path(common),
        };
        view.furnish().map_err(|error| unread(&error))?;
        view.configure()?;
        view.renew()?;
        let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE;
        let opened = git2::Repository::open_ext(view.folder.path(), flags, &[] as &[&OsStr])
            .and_then(|opened| opened.set_workdir(&path(workdir), false).map(|()| opened))
            .map_err(|error| Closed::unopened(&error))?;
        Ok((opened, view))
    }

    /// The real git folder that all work trees share.
    pub(super) fn commondir(&self) -> &Path {
        &self.common
    }

    /// The work tree, where it belongs to another user.
    pub(super) fn trusted(&self) -> Option<&PathBuf> {
        self.git.trusts.then_some(&self.git.top)
    }

    /// Leads to what libgit2 can read as it is. What is not there yet may come.
    fn furnish(&self) -> io::Result<()> {
        for (folder, name) in [
            (&self.common, "objects"),
            (&self.common, "info"),
            (&self.own, "index"),
            (&self.own, "FETCH_HEAD"),
        ] {
            symlink(folder.join(name), self.folder.path().join(name))?;
        }
        Ok(())
    }

    /// Writes down the settings of the repository, those of files that it includes too.
    fn configure(&self) -> Result<(), Closed> {
        let told = self.git.run(&["config", "--list", "-z", "--show-scope"])?;
        let told = self.git.answer(told)?;
        let mut fields = told.split(|byte| *byte == 0).map(text);
        let mut config = String::new();
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            // A setting without a value is on.
            let (name, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            let is_wanted = WANTED.iter().any(|wanted| name.starts_with(wanted));
            if is_wanted && matches!(&*scope, "local" | "worktree") {
                config += &setting(name, value);
            }
        }
        let path = self.folder.path().join("config");
        file::write_private(&path, config.as_bytes()).map_err(|error| unread(&format!("{error:#}")))
    }

    /// Writes down the references as they are by now.
    pub(super) fn renew(&self) -> Result<(), Closed> {
        let told = self.git.run(&[
            "for-each-ref",
            "--include-root-refs",
            "--format=%(objectname) %(refname) %(symref)",
        ])?;
        let told = self.git.answer(told)?;
        // Nobody asks for a name that is no text.
        let told = told.split(|byte| *byte == b'\n').map(str::from_utf8);
        let mut packed = String::from("# pack-refs with: sorted \n");
        let mut named = Vec::new();
        for line in told.flatten().filter(|line| !line.is_empty()) {
            let mut words = line.splitn(3, ' ');
            let (id, name) = (
                words.next().unwrap_or_default(),
                words.next().unwrap_or_default(),
            );
            let target = words.next().unwrap_or_default();
            if !Reference::is_valid_name(name) {
                return Err(unread(&"it has a reference whose name git does not take"));
            }
            match (target, name.starts_with("refs/")) {
                ("", true) => _ = writeln!(packed, "{id} {name}"),
                ("", false) => named.push((name, format!("{id}\n"))),
                (target, _) => named.push((name, format!("ref: {target}\n"))),
            }
        }
        let unborn;
        if !named.iter().any(|(name, _)| *name == "HEAD") {
            // Git passes over what it cannot read and says nothing. HEAD is always there.
            let told = self.git.run(&["symbolic-ref", "HEAD"])?;
            let branch = text(&self.git.answer(told)?);
            unborn = format!("ref: {}\n", branch.trim_end());
            named.push(("HEAD", unborn));
        }
        self.write(&packed, &named)
            .map_err(|error| unread(&format!("{error:#}")))
    }

    fn write(&self, packed: &str, named: &[(&str, String)]) -> anyhow::Result<()> {
        let folder = self.folder.path();
        let absent_is_fine = |done: io::Result<()>| match done {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        absent_is_fine(fs::remove_dir_all(folder.join("refs")))?;
        fs::create_dir(folder.join("refs"))?;
        // libgit2 looks at the link itself, so it is there only while the clone is shallow.
        absent_is_fine(fs::remove_file(folder.join("shallow")))?;
        let shallow = self.common.join("shallow");
        if fs::metadata(&shallow).is_ok_and(|data| data.len() > 0) {
            symlink(&shallow, folder.join("shallow"))?;
        }
        for (name, text) in named {
            file::write(&folder.join(name), text.as_bytes())?;
        }
        // By its inode libgit2 sees that it is another file.
        file::write(&folder.join("packed-refs"), packed.as_bytes())
    }

    /// Has git move a reference, and whether it stood where it should.
    pub(super) fn point(
        &self,
        reference: &str,
        to: Oid,
        from: Option<Oid>,
        why: &str,
    ) -> anyhow::Result<bool> {
        let to = to.to_string();
        let from = from.map(|from| from.to_string());
        let mut asked = vec!["update-ref", "-m", why, reference, &to];
        asked.extend(from.as_deref());
        let told = self.git.run(&asked)?;
        self.renew()?;
        if told.status.success() {
            return Ok(true);
        }
        let said = text(&told.stderr);
        let moved = ["cannot lock ref", "reference already exists", "is locked"];
        match moved.iter().any(|words| said.contains(words)) {
            true => Ok(false),
            false => bail!("{}", reason(&said)),
        }
    }
}

impl Git {
    /// Runs git, which starts no hook and fetches nothing. The error is that it cannot be run.
    fn run(&self, arguments: &[&str]) -> Result<Output, Closed> {
        let trust = format!("safe.directory={}", self.top.display());
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(&self.top)
            .args(["-c", "core.hooksPath=/dev/null"])
            .args(["-c", &trust].iter().filter(|_| self.trusts))
            .args(arguments)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let ended = process::start(command, &self.top, false)
            .and_then(std::process::Child::wait_with_output);
        ended.map_err(|error| {
            let (major, minor) = SINCE;
            Closed::Unread(format!(
                "{WHAT}, which needs git {major}.{minor} or later, and `git` cannot be started: {error}"
            ))
        })
    }

    /// What git has answered.
    fn answer(&self, told: Output) -> Result<Vec<u8>, Closed> {
        if told.status.success() {
            return Ok(told.stdout);
        }
        let version = text(&self.run(&["version"])?.stdout);
        let number = version.split_whitespace().nth(2).unwrap_or("none");
        let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
        let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if found < SINCE {
            let (major, minor) = SINCE;
            return Err(Closed::Unread(format!(
                "{WHAT}, which needs git {major}.{minor} or later; found {number}"
            )));
        }
        Err(unread(&reason(&text(&told.stderr))))
    }
}

/// A setting as git reads it. libgit2 would write it down without what sets its signs apart.
fn setting(name: &str, value: &str) -> String {
    let apart = |text: &str| text.replace('\\', r"\\").replace('"', r#"\""#);
    let (section, key) = name.rsplit_once('.').unwrap_or((name, ""));
    let section = match section.split_once('.') {
        Some((section, named)) => format!("{section} \"{}\"", apart(named)),
        None => section.to_owned(),
    };
    let value = apart(value).replace('\n', r"\n");
    format!("[{section}]\n\t{key} = \"{value}\"\n")
}

fn unread(why: &dyn std::fmt::Display) -> Closed {
    Closed::Unread(format!("{WHAT}, and they cannot be read: {why}"))
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(bytes.as_ref()).into_owned()
}

/// Why git has ended, in one line.
fn reason(said: &str) -> String {
    let why = said.find("fatal: ").map_or(said, |at| &said[at..]);
    let words: Vec<&str> = why.split_whitespace().collect();
    match words.is_empty() {
        true => "git has not said why".to_owned(),
        false => words.join(" "),
    }
}
