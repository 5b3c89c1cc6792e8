//! The information of the event that started a run about where the change begins.

use super::tip::Tip;

/// The information of the event that started a run about where the change begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    /// A revision that somebody asked for; then nothing else counts.
    pub(crate) asked: Option<String>,
    /// `merge_group.base_sha` of a merge queue.
    pub(crate) merge_group_base: Option<String>,
    /// The tag of a release that is compared with the release before it.
    pub(crate) release: Option<String>,
    /// The pull request.
    pub(crate) pull_request: Option<BaselinePull>,
    /// `before` of a push; none where the branch is new.
    pub(crate) before: Option<String>,
    /// The default branch, where the event names it.
    pub(crate) default_branch: Option<String>,
    /// The commit that has to be checked out, where the event is about one.
    pub(crate) tip: Option<Tip>,
    /// Whether an event of a server started this run. Then the server has what the change is compared with, and what a
    /// program of the change left in this clone does not count.
    pub(crate) in_workflow: bool,
    /// The address of the remote before anything of the change ran, in a workflow.
    pub(crate) remote: Option<String>,
}

impl Hint {
    /// Whether nothing but the push says where the change begins.
    pub(super) const fn is_push(&self) -> bool {
        self.asked.is_none()
            && self.merge_group_base.is_none()
            && self.release.is_none()
            && self.pull_request.is_none()
    }
}

/// A pull request, as far as the history is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaselinePull {
    /// The tip of the branch that is to be merged.
    pub(crate) head: String,
    /// The branch it is to be merged into, without `refs/heads/`.
    pub(crate) base_ref: String,
}
