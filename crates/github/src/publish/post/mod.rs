//! Posts the rendered texts. The caller turns each error into a warning, and the verdict does not change.

mod check_run;
mod comment;
mod notice;

pub use check_run::{Conclusion, OpenCheckRun, ShownCheckRun, close, external_id};
pub use comment::{CommentMode, CommentStamp, KeptComments, Posted, Sticky, comment};
pub use notice::{ApprovalNotice, ask, latest, made};

#[cfg(test)]
mod tests;
