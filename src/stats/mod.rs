//! Means, intervals and quantiles; pure, every formula with its source.

mod interval;
mod special;
mod student;

pub(crate) use interval::clustered_interval;
pub(crate) use special::ln_beta;
pub(crate) use student::upper_quantile as t_upper_quantile;
