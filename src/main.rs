//! The binary `kelvin`: a door to the library.

use std::process::ExitCode;

use kelvin_action::Registry;

fn main() -> ExitCode {
    kelvin_action::main(Registry::shipped())
}
