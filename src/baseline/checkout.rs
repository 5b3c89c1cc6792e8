//! A commit's files in a separate folder, and the differences between a change and the files of its base. A checkout of
//! the base can also have the untracked files.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use git2::build::CheckoutBuilder;
use git2::{ObjectType, Oid, Status, StatusOptions, Tree};

use super::{Hint, Login, Remote, commit, tree};
use kelvin_system::git::Repository;
use kelvin_system::pipeline::{self, Against};

/// How the files of a commit are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckoutForm {
    /// In the form in which git writes them into a work tree, e.g. with the line endings that an attribute requires.
    OfAWorkTree,
    /// In the form in which git stores them. If a file was written with the stored line endings, it has this form in
    /// its author's work tree.
    AsStored,
}

/// The files of a commit in a folder.
#[derive(Clone, Debug)]
pub(crate) struct CommitFiles {
    /// The folder that corresponds to the top of the work tree.
    pub(crate) top: PathBuf,
    /// The folder that corresponds to the folder of the configuration.
    pub(crate) root: PathBuf,
}

/// Writes the files of a commit into an empty folder; `root` is the folder of the configuration in the work tree.
/// Neither the index nor the work tree is touched.
///
/// The files are in their own repository, which uses the objects of `repo`. So the code of the pipeline has the same
/// fingerprint there as in the work tree, and a pipeline that asks git for its commit gets an answer. Fails if the
/// commit is not available or its files cannot be written.
pub(crate) fn checkout(
    repo: &Repository,
    commit: Oid,
    root: &Path,
    (into, form): (&Path, CheckoutForm),
    (login, hint): (Option<&Login>, &Hint),
) -> anyhow::Result<CommitFiles> {
    let top = repo.workdir().context("the repository has no work tree")?;
    let below = root
        .canonicalize()
        .ok()
        .zip(top.canonicalize().ok())
        .and_then(|(root, top)| root.strip_prefix(&top).ok().map(Path::to_path_buf))
        .context("the configuration is outside the repository")?;
    let remote = Remote::of(repo).with(login, hint);
    let tree = tree::tree_of_commit(&remote, commit)?;
    tree::complete(&remote, &tree)
        .with_context(|| format!("failed to fetch the files of {}", super::short(commit)))?;
    let files = into.join("files");
    std::fs::create_dir(&files).context("failed to make a temporary folder")?;
    write(repo, &tree, commit, (&files, form))
        .with_context(|| format!("failed to check out {}", super::short(commit)))?;
    Ok(CommitFiles {
        root: files.join(below),
        top: files,
    })
}

/// Makes a repository in an empty folder, with the commit checked out and the objects of another repository.
///
/// The new repository writes the files, because libgit2 compares what it writes with the commit that is checked out: from
/// the repository of the change, a file of the base that the change has replaced by a link, or a folder by a file, would
/// be written as what the change made of it.
fn write(
    repo: &Repository,
    tree: &Tree<'_>,
    commit: Oid,
    (files, form): (&Path, CheckoutForm),
) -> anyhow::Result<()> {
    let own = Repository::init(files, repo.object_format())?;
    let objects = repo.commondir().join("objects").canonicalize()?;
    let alternates = own.path().join("objects/info/alternates");
    let mut line = objects.into_os_string().into_encoded_bytes();
    line.push(b'\n');
    std::fs::write(alternates, line)?;
    let attributes = repo.commondir().join("info/attributes");
    if attributes.is_file() {
        std::fs::create_dir_all(own.path().join("info"))?;
        std::fs::copy(attributes, own.path().join("info/attributes"))?;
    }
    // The repository is opened again, so that libgit2 finds the objects of the other one.
    let own = git2::Repository::open(files)?;
    let (theirs, mut ours) = (repo.config()?.snapshot()?, own.config()?);
    for key in FORM_OF_FILES {
        if let Ok(value) = theirs.get_string(key) {
            ours.set_str(key, &value)?;
        }
    }
    own.set_head_detached(commit)?;
    let mut index = own.index()?;
    index.read_tree(&own.find_tree(tree.id())?)?;
    index.write()?;
    let mut how = CheckoutBuilder::new();
    how.force()
        .recreate_missing(true)
        .update_index(false)
        .disable_filters(form == CheckoutForm::AsStored);
    own.checkout_tree(&own.find_object(tree.id(), None)?, Some(&mut how))?;
    Ok(())
}

/// The settings of a repository that decide how its files are written.
const FORM_OF_FILES: [&str; 4] = [
    "core.autocrlf",
    "core.eol",
    "core.symlinks",
    "core.attributesfile",
];

/// The first of some files that differs between git and the work tree: the file is outside the repository, ignored, new
/// or changed. Fails if the repository cannot be read.
pub(crate) fn first_not_kept<'f>(
    repo: &Repository,
    files: &'f [PathBuf],
) -> anyhow::Result<Option<&'f Path>> {
    let top = repo.workdir().context("the repository has no work tree")?;
    let top = top.canonicalize().context("failed to find the work tree")?;
    let index = repo.index().context("failed to read the index")?;
    let is_kept = |file: &Path| {
        let real = file.canonicalize().ok();
        let path = real
            .as_deref()
            .and_then(|real| real.strip_prefix(&top).ok());
        let stored = path.and_then(|path| Some(index.get_path(path, 0)?.id));
        let here = Oid::hash_file_ext(ObjectType::Blob, file, repo.object_format()).ok();
        stored.is_some() && stored == here
    };
    let mut files = files.iter().map(PathBuf::as_path);
    Ok(files.find(|file| !is_kept(file)))
}

/// The commit with which a change is compared, and how the work tree around `root` differs from it; none if its files
/// cannot be listed. Fails if there is no base, or if the base cannot be read.
pub(crate) fn edited(
    root: &Path,
    (login, hint): (Option<&Login>, &Hint),
) -> anyhow::Result<(Oid, Option<Against>)> {
    let repo = super::open(root)?;
    let remote = Remote::of(&repo).with(login, hint);
    let base = commit::base(&remote, hint)?;
    let tree = tree::tree_of_commit(&remote, base.commit)?;
    let against = pipeline::against(root, &tree);
    Ok((base.commit, against.context("failed to read the base")?))
}

/// Writes the files of a commit into an empty folder, like [`checkout`], and adds links to everything in the work tree
/// that git does not store, so that programs that were installed there are found. Returns the path of `root` in the new
/// folder. Fails if the commit is not available, or if its files cannot be written.
pub(crate) fn furnished(
    root: &Path,
    commit: Oid,
    into: &Path,
    (login, hint): (Option<&Login>, &Hint),
) -> anyhow::Result<PathBuf> {
    let repo = super::open(root)?;
    let written = checkout(
        &repo,
        commit,
        root,
        (into, CheckoutForm::OfAWorkTree),
        (login, hint),
    )?;
    let top = repo.workdir().context("the repository has no work tree")?;
    for name in not_kept(&repo)? {
        let to = written.top.join(&name);
        if to.symlink_metadata().is_ok() {
            continue;
        }
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        symlink(top.join(&name), &to)
            .with_context(|| format!("failed to link `{}`", name.display()))?;
    }
    Ok(written.root)
}

/// The files and folders of the work tree that git does not keep, since they are new or ignored. A folder of which it
/// keeps nothing is one entry. Fails if the work tree cannot be compared with git.
pub(super) fn not_kept(repo: &Repository) -> anyhow::Result<Vec<PathBuf>> {
    let mut options = StatusOptions::new();
    options.include_untracked(true).include_ignored(true);
    let statuses = repo.statuses(Some(&mut options))?;
    let mut found = Vec::new();
    for entry in statuses.iter() {
        let is_kept = !entry.status().intersects(Status::WT_NEW | Status::IGNORED);
        if let Ok(name) = entry.path()
            && !is_kept
        {
            found.push(PathBuf::from(name.trim_end_matches('/')));
        }
    }
    Ok(found)
}

/// Checks that the files of a checkout have not changed since they were written. Fails if a file was changed or
/// removed.
pub(crate) fn demand_untouched(root: &Path) -> anyhow::Result<()> {
    let repo = super::open(root)?;
    let mut options = StatusOptions::new();
    options.include_untracked(false);
    let statuses = repo.statuses(Some(&mut options))?;
    let touched = Status::WT_MODIFIED | Status::WT_DELETED | Status::WT_TYPECHANGE;
    let mut touched = statuses
        .iter()
        .filter(|entry| entry.status().intersects(touched));
    let touched = touched.next();
    let name = touched.as_ref().and_then(|entry| entry.path().ok());
    let is_of_another_type = touched
        .as_ref()
        .is_some_and(|entry| entry.status().contains(Status::WT_TYPECHANGE));
    ensure!(
        touched.is_none(),
        "`{}`, a file of the base, {} while it ran",
        name.unwrap_or("?"),
        match is_of_another_type {
            true => "became something else, such as a link,",
            false => "was changed",
        }
    );
    Ok(())
}
