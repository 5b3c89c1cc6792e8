//! Posts the rendered texts. Every target is best effort: the caller turns an error into one warning, and the verdict
//! does not change.

mod check_run;
mod comment;
mod notice;

pub use check_run::{Conclusion, OpenCheckRun, ShownCheckRun, close, external_id};
pub use comment::{CommentMode, CommentStamp, KeptComments, Posted, Sticky, comment};
pub use notice::{ApprovalNotice, ask, latest, made};

#[cfg(test)]
mod tests;
