//! Kelvin with the toy beside the probes that are shipped.

fn main() -> std::process::ExitCode {
    kelvin_action::main(kelvin_action::Registry::shipped().with(&kelvin_toy::Toy))
}
