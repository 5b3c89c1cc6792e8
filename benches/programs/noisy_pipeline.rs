//! The noisy example with answers that are known beforehand and chance that has a seed: fast enough
//! to be run a hundred thousand times.
//!
//! usage: `noisy_pipeline TABLE RUNS INPUT.md OUTPUT.json`
//!
//! TABLE holds the grounded answer to every input, one file each, named by a hash of the input. RUNS
//! holds one file for every input, which grows by a byte with each run of it. `TRIAL` is the seed,
//! `FLIP_PROBABILITY` how likely another decision is. With `KEEP_ANSWERS`, a folder, and
//! `WAIT_SECONDS` it is a pipeline with a cache of its own: the first call for an input waits, and
//! later ones get its answer at once.

use std::io::{Error, ErrorKind, Result, Write as _};
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, thread};

const DECISIONS: [&str; 4] = ["approve", "pilot", "defer", "reject"];

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [table, runs, input, output] = &arguments[..] else {
        return Err(Error::new(ErrorKind::InvalidInput, "expected four paths"));
    };
    let number = |name: &str| {
        let text = env::var(name).map_err(|error| Error::new(ErrorKind::InvalidInput, error));
        text?
            .parse::<f64>()
            .map_err(|error| Error::new(ErrorKind::InvalidInput, error))
    };
    let (trial, probability) = (number("TRIAL")?, number("FLIP_PROBABILITY")?);
    let name = format!("{:016x}", fnv(FNV_OFFSET, &fs::read(input)?));
    let kept = env::var_os("KEEP_ANSWERS").map(|folder| PathBuf::from(folder).join(&name));
    if let Some(kept) = &kept {
        if kept.exists() {
            return fs::copy(kept, output).map(|_| ());
        }
        thread::sleep(Duration::from_secs_f64(number("WAIT_SECONDS")?));
    }
    let answer = fs::read_to_string(table.join(&name))?;
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(runs.join(&name))?;
    file.write_all(b"x")?;
    let run = file.metadata()?.len();
    let seed = format!("{trial}/{name}/{run}");
    let chance = |what: &str| mixed(fnv(fnv(FNV_OFFSET, seed.as_bytes()), what.as_bytes()));
    let decision = if share(chance("flip")) < probability {
        let others: Vec<&str> = DECISIONS
            .into_iter()
            .filter(|other| *other != answer.trim())
            .collect();
        others[(share(chance("which")) * others.len() as f64) as usize]
    } else {
        answer.trim()
    };
    let text = format!("{{\"decision\": \"{decision}\"}}\n");
    if let Some(kept) = &kept {
        fs::write(kept, &text)?;
    }
    fs::write(output, text)
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The last step of `SplitMix64`: what FNV leaves alike in the high bits, this mixes.
const fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// At least 0, below 1.
fn share(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
