#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kelvin_action::fuzz::case(bytes));
