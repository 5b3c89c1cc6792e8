//! Packs JSON into few bytes.

use std::io::{self, BufWriter, Read as _};

use anyhow::{Context as _, ensure};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde_json::Value;

/// The most that a packed value may grow to; a larger one is damaged.
const MOST: u64 = 128 * 1024 * 1024;

/// Packs a value.
pub(super) fn pack(value: &impl Serialize) -> anyhow::Result<Vec<u8>> {
    let encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // The buffer is needed because a serializer writes a few bytes at a time.
    let mut writer = BufWriter::new(encoder);
    serde_json::to_writer(&mut writer, value)?;
    let encoder = writer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    Ok(encoder.finish()?)
}

/// Unpacks a value.
///
/// # Errors
///
/// Where the value is damaged, or larger than a report may be.
pub(super) fn unpack(bytes: &[u8]) -> anyhow::Result<Value> {
    let mut text = Vec::new();
    ZlibDecoder::new(bytes)
        .take(MOST + 1)
        .read_to_end(&mut text)
        .context("what was stored is damaged")?;
    ensure!(
        text.len() as u64 <= MOST,
        "what was stored is over {MOST} bytes"
    );
    serde_json::from_slice(&text).context("what was stored is damaged")
}
