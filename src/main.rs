use std::process::ExitCode;

fn main() -> ExitCode {
    kelvin_action::cli::main()
}
