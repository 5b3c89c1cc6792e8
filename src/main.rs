//! The binary `kelvin`: a door to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    kelvin_action::cli::main()
}
