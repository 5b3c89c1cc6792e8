//! Finds the commit with which a change is compared, and how much of its history is known.

use std::collections::{BTreeSet, VecDeque};

use anyhow::{Context as _, anyhow, ensure};
use kelvin_system::git::{self, Oid, Repository};

use super::ancestry::{head, parents, short};
use super::hint::Hint;
use super::remote::Remote;
use super::{Unknown, releases};

/// The commit with which a change is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    /// The base commit.
    pub(crate) commit: Oid,
    /// Why this commit was chosen, in words that fit after "the base is".
    pub(crate) why: String,
}

/// Finds the base, and fetches only the data that are needed for this. If the tip before a forced push is gone, a
/// second base is returned, which is used if there is no report of the first base. Fails with texts for the notice that
/// explains why there is no baseline: what is missing and what to do.
pub(crate) fn bases(remote: &Remote<'_>, hint: &Hint) -> anyhow::Result<Vec<Base>> {
    match &hint.before {
        Some(before) if hint.is_push() => before_push(remote, before),
        _ => first(remote, hint).map(|base| vec![base]),
    }
}

/// The tip before a push, and if that tip cannot be fetched, also the parent of the new tip. A tip that was replaced by
/// a forced push may be gone from the remote and still have a report.
fn before_push(remote: &Remote<'_>, before: &str) -> anyhow::Result<Vec<Base>> {
    let of = |commit: Oid, why: String| Base { commit, why };
    let error = match named(remote, before) {
        Ok(commit) => return Ok(vec![of(commit, "the tip before the push".to_owned())]),
        Err(error) => error,
    };
    let Ok(gone) = git::id(before) else {
        return Err(error);
    };
    let why = "the tip before the push, which could not be fetched".to_owned();
    let mut bases = vec![of(gone, why)];
    let repo = remote.repo();
    if let Some(parent) = parents(repo, head(repo)?)?.first() {
        let why = format!(
            "the parent of the new tip, since {}, the tip before the push, could not be fetched",
            short(gone)
        );
        bases.push(of(*parent, why));
    }
    Ok(bases)
}

/// The first of [`bases`]. Fails like [`bases`].
pub(crate) fn base(remote: &Remote<'_>, hint: &Hint) -> anyhow::Result<Base> {
    bases(remote, hint).map(|mut bases| bases.swap_remove(0))
}

fn first(remote: &Remote<'_>, hint: &Hint) -> anyhow::Result<Base> {
    let of = |commit: Oid, why: &str| Base {
        commit,
        why: why.to_owned(),
    };
    if let Some(revision) = &hint.asked {
        return named(remote, revision)
            .map(|commit| of(commit, &format!("`{revision}`, which was asked for")));
    }
    if let Some(sha) = &hint.merge_group_base {
        return named(remote, sha).map(|commit| of(commit, "the base of the merge group"));
    }
    let repo = remote.repo();
    let head = head(repo)?;
    if let Some(tag) = &hint.release {
        return release_before(repo, head, tag);
    }
    if let Some(request) = &hint.pull_request {
        if let Some(parent) = other_parent(repo, head, &request.head)? {
            return Ok(of(
                parent,
                "the parent of the merge commit that is not the pull request",
            ));
        }
        return merge_base(remote, head, &request.base_ref).map(|commit| {
            let why = format!("the merge base with `{}`", request.base_ref);
            of(commit, &why)
        });
    }
    let branch = default_branch(remote, hint).context(
        "failed to find the default branch: there is no remote with a HEAD, and neither `main` nor \
         `master`; name the base with `--base`",
    )?;
    merge_base(remote, head, &branch)
        .map(|commit| of(commit, &format!("the merge base with `{branch}`")))
}

/// The nearest ancestor that has a tag: the release before the one of this tag.
fn release_before(repo: &Repository, head: Oid, tag: &str) -> anyhow::Result<Base> {
    const MOST: usize = 100_000;
    let tags = releases::tags(repo)?;
    let (ancestors, cut) = walk(repo, head, MOST)?;
    let before = ancestors.into_iter().skip(1).find_map(|(commit, _)| {
        let names = tags.get(&commit.to_string())?;
        Some((commit, names.last()?))
    });
    match before {
        Some((commit, name)) => Ok(Base {
            commit,
            why: format!("`{name}`, the tag before `{tag}`"),
        }),
        // A commit that a shallow clone does not have may have a tag.
        None if cut.is_some() => Err(Unknown::Unreachable.mark(anyhow!(
            "no commit before `{tag}` has a tag in this clone, which has not the whole history: `fetch-depth: 0` of \
             actions/checkout brings it; or name the base, as in `--base v1.2.0`"
        ))),
        None => Err(anyhow!(
            "no commit before `{tag}` has a tag; name the base, as in `--base v1.2.0`"
        )),
    }
}

/// The ancestors of a commit, including itself, nearest first, at most `most` steps away; each with its distance. If
/// the history ends at a shallow boundary, `deepen` is called for more.
pub(crate) fn ancestors(
    repo: &Repository,
    start: Oid,
    most: usize,
    deepen: &mut dyn FnMut(usize) -> bool,
) -> anyhow::Result<Distances> {
    loop {
        let (found, cut) = walk(repo, start, most)?;
        match cut {
            Some(reached) if deepen(reached) => {}
            _ => return Ok(found),
        }
    }
}

/// Commits with their distance from the commit where a walk starts.
pub(crate) type Distances = Vec<(Oid, usize)>;

/// Breadth first over all parents. The second value is the depth at which history was missing.
fn walk(repo: &Repository, start: Oid, most: usize) -> anyhow::Result<(Distances, Option<usize>)> {
    let mut found = Vec::new();
    let mut cut = None;
    let mut seen = BTreeSet::from([start]);
    let mut queue = VecDeque::from([(start, 0)]);
    while let Some((commit, depth)) = queue.pop_front() {
        match parents(repo, commit) {
            Ok(parents) => {
                found.push((commit, depth));
                if depth < most {
                    queue.extend(
                        parents
                            .into_iter()
                            .filter(|parent| seen.insert(*parent))
                            .map(|parent| (parent, depth + 1)),
                    );
                }
            }
            Err(_) if depth > 0 => {
                // The child of this commit names it, but the clone does not have it: this is a shallow boundary.
                found.push((commit, depth));
                cut = cut.or(Some(depth));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((found, cut))
}

/// The parent of a merge commit that is not the tip of the pull request.
fn other_parent(repo: &Repository, merge: Oid, tip: &str) -> anyhow::Result<Option<Oid>> {
    let parents = parents(repo, merge)?;
    let is_tip = |parent: &Oid| parent.to_string() == tip;
    if parents.len() < 2 || !parents.iter().any(is_tip) {
        return Ok(None);
    }
    Ok(parents.into_iter().find(|parent| !is_tip(parent)))
}

/// The commit of a revision, which is fetched if this clone does not have it.
fn named(remote: &Remote<'_>, revision: &str) -> anyhow::Result<Oid> {
    let repo = remote.repo();
    let find = || {
        repo.revparse_single(revision)
            .and_then(|object| object.peel(git2::ObjectType::Commit))
            .map(|commit| commit.id())
    };
    find().or_else(|_| {
        ensure!(
            is_name(revision),
            "`{revision}` is not in this repository, and it is no name of a branch, a tag or a commit that \
             the remote could be asked for"
        );
        remote.fetch(&[revision], Some(1))?;
        find()
            .or_else(|_| repo.revparse_single("FETCH_HEAD").map(|object| object.id()))
            .with_context(|| format!("failed to find `{revision}` in this repository"))
    })
}

/// Whether an external revision is a plain name: neither an option nor a refspec, which would write a reference.
fn is_name(revision: &str) -> bool {
    !revision.starts_with(['-', '+'])
        && git2::Reference::is_valid_name(&format!("refs/heads/{revision}"))
}

fn default_branch(remote: &Remote<'_>, hint: &Hint) -> anyhow::Result<String> {
    if let Some(name) = &hint.default_branch {
        return Ok(name.clone());
    }
    match default_branch_here(remote) {
        Some(name) => Ok(name),
        None => remote.default_branch(),
    }
}

/// The default branch as far as this clone knows it; no server is asked.
pub(super) fn default_branch_here(remote: &Remote<'_>) -> Option<String> {
    let head = format!("refs/remotes/{}/HEAD", remote.name());
    let prefix = format!("refs/remotes/{}/", remote.name());
    let repo = remote.repo();
    if let Ok(reference) = repo.find_reference(&head)
        && let Ok(Some(target)) = reference.symbolic_target()
        && let Some(name) = target.strip_prefix(&prefix)
    {
        return Some(name.to_owned());
    }
    let usual = ["main", "master"];
    let mut usual = usual.into_iter();
    let found = usual.find(|name| tip(repo, remote, name).is_some());
    found.map(str::to_owned)
}

/// The branch into which pull requests of a clone are merged, for a text that names it; no server is asked. In a
/// repository with other branches only, or without any commit, it is the branch that is checked out.
pub(crate) fn branch_of_clone(repo: &Repository) -> Option<String> {
    let checked_out = || {
        let head = repo.find_reference("HEAD").ok()?;
        let target = head.symbolic_target().ok()??;
        Some(target.strip_prefix("refs/heads/")?.to_owned())
    };
    default_branch_here(&Remote::of(repo)).or_else(checked_out)
}

/// The tip of a branch: of the remote's branch, otherwise of the local one.
fn tip(repo: &git2::Repository, remote: &Remote<'_>, branch: &str) -> Option<Oid> {
    [
        format!("refs/remotes/{}/{branch}", remote.name()),
        format!("refs/heads/{branch}"),
    ]
    .iter()
    .find_map(|name| repo.refname_to_id(name).ok())
}

/// The merge base of a commit and a branch. Both sides have to be deep enough: a shallow clone is deepened in steps,
/// and fetched completely only if the steps were not enough.
fn merge_base(remote: &Remote<'_>, head: Oid, branch: &str) -> anyhow::Result<Oid> {
    let repo = remote.repo();
    let known = || {
        // A repository that is already open would still see the shallow boundary from before the fetch.
        let repo = git2::Repository::open_bare(repo.path()).ok()?;
        let tip = tip(&repo, remote, branch)?;
        repo.merge_base(head, tip).ok()
    };
    if let Some(commit) = known() {
        return Ok(commit);
    }
    let shallow = repo.is_shallow();
    let steps: &[Option<usize>] = if shallow {
        &[Some(20), Some(200), Some(2000), None]
    } else {
        &[None]
    };
    let refspec = format!(
        "+refs/heads/{branch}:refs/remotes/{}/{branch}",
        remote.name()
    );
    for depth in steps {
        remote.fetch(&[&refspec], *depth)?;
        if shallow {
            // The history of the head is needed too; a server may refuse a commit that no branch contains.
            let _ = remote.fetch(&[&head.to_string()], *depth);
        }
        if let Some(commit) = known() {
            return Ok(commit);
        }
    }
    anyhow::bail!("`{branch}` and the commit at hand have no common history")
}
