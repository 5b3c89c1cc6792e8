//! A kind of probe costs one folder and one line in the registry: this one is added by the test, and goes
//! through everything that the program does, with no other file changed for it.

mod comparison;
mod configuration;
mod course;
mod judged;
mod kind;
mod observed;
mod reader;
mod record;
mod settings;
