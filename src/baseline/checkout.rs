//! A commit's files in a separate folder.

use anyhow::Context as _;
use git2::build::CheckoutBuilder;
use git2::{ObjectType, Oid, Tree};
use std::path::{Path, PathBuf};

use super::{Hint, Login, Remote, tree};
use kelvin_system::git::Repository;

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
/// fingerprint there as in the work tree, and a pipeline that asks git for its commit gets an answer.
///
/// # Errors
///
/// Fails if the commit is not available or its files cannot be written.
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
    let mut how = CheckoutBuilder::new();
    how.target_dir(&files)
        .force()
        .recreate_missing(true)
        .update_index(false)
        .disable_filters(form == CheckoutForm::AsStored);
    repo.checkout_tree(tree.as_object(), Some(&mut how))
        .with_context(|| format!("failed to check out {}", super::short(commit)))?;
    link(repo, &tree, commit, &files)
        .with_context(|| format!("failed to check out {}", super::short(commit)))?;
    Ok(CommitFiles {
        root: files.join(below),
        top: files,
    })
}

/// Makes a repository of the files, with the commit checked out and the objects of another repository.
fn link(repo: &Repository, tree: &Tree<'_>, commit: Oid, files: &Path) -> anyhow::Result<()> {
    let own = Repository::init(files, repo.object_format())?;
    let objects = repo.commondir().join("objects").canonicalize()?;
    let alternates = own.path().join("objects/info/alternates");
    let mut line = objects.into_os_string().into_encoded_bytes();
    line.push(b'\n');
    std::fs::write(alternates, line)?;
    // The repository is opened again, so that libgit2 finds the objects of the other one.
    let own = git2::Repository::open(files)?;
    own.set_head_detached(commit)?;
    let mut index = own.index()?;
    index.read_tree(&own.find_tree(tree.id())?)?;
    index.write()?;
    Ok(())
}

/// The first of some files that differs between git and the work tree: the file is outside the repository, ignored, new
/// or changed.
///
/// # Errors
///
/// Fails if the repository cannot be read.
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
