//! Posts the rendered texts. Every target is best effort: the caller turns an error into one warning, and the verdict
//! does not change.

mod check_run;
mod comment;
mod marker;
mod notice;

pub use check_run::{Check, Conclusion, Shown, close, external_id};
pub use comment::{Mode, Posted, Sticky, comment};
pub use marker::Stamp;
pub use notice::{Notice, ask, latest, made};

#[cfg(test)]
mod tests;
