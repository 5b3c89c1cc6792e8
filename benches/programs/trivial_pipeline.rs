//! The cheapest pipeline there is that still reads its evidence: hashes the governing units of a
//! case, in any order, and decides by the hash.
//!
//! usage: `trivial_pipeline INPUT.md OUTPUT.json`

use std::io::{Error, ErrorKind, Result};
use std::{env, fs};

const GOVERNING: [&str; 2] = ["## Release Rule", "## Verification Record"];
const DECISIONS: [&str; 4] = ["approve", "pilot", "defer", "reject"];

fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "expected INPUT.md OUTPUT.json",
        ));
    };
    let text = fs::read_to_string(input)?;
    let mut hash = 0_u64;
    let mut unit: Option<u64> = None;
    for line in text.lines() {
        if line.starts_with("## ") {
            hash = hash.wrapping_add(unit.take().unwrap_or(0));
            unit = GOVERNING.contains(&line.trim_end()).then_some(FNV_OFFSET);
        } else if !line.trim().is_empty() {
            unit = unit.map(|so_far| fnv(so_far, line.trim_end().as_bytes()));
        }
    }
    hash = hash.wrapping_add(unit.unwrap_or(0));
    let decision = DECISIONS[(hash % 4) as usize];
    fs::write(output, format!("{{\"decision\": \"{decision}\"}}\n"))
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
