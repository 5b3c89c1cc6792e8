//! Links what is built for development at fixed addresses. A program that may be loaded anywhere has 166,000 places to be
//! corrected at each start, which was half of what a start cost, and the tests start it eleven thousand times. What is
//! released stays as Rust makes it.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let says = |name: &str, value: &str| env::var(name).is_ok_and(|said| said == value);
    if says("PROFILE", "debug")
        && says("CARGO_CFG_TARGET_OS", "linux")
        && says("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo::rustc-link-arg-bin=kelvin=-no-pie");
    }
}
