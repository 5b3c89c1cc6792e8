//! The binary `kelvin`; all its code is in the library.

use std::process::ExitCode;

use kelvin_action::Registry;

fn main() -> ExitCode {
    kelvin_action::main(Registry::shipped())
}
