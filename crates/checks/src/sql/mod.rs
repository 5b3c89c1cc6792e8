//! SQL as a text: what a query may do, and where fields of a scenario stand in it. Checks ask databases with such
//! texts, and services are filled with them; no database is touched here.

mod bound;
mod statement;

pub(super) use bound::BoundSql;
pub(super) use statement::{Dialect, reads};
