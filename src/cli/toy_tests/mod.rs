//! A kind with what the toy outside the workspace (`tests/toy`) does without: a second step, a judge, an alignment. It goes
//! through everything that the program does with these, with no other file changed for it.

mod comparison;
mod configuration;
mod course;
mod judged;
mod kind;
mod observed;
mod reader;
mod record;
mod settings;
