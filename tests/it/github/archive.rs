//! Archives as an artifact has them, and such as no artifact should have.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An archive of these files.
pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in files {
        writer.start_file(*name, options).expect("started");
        writer.write_all(content).expect("written");
    }
    writer.finish().expect("finished").into_inner()
}

/// An archive of one file that is not packed, which takes less time.
pub(crate) fn stored(name: &str, content: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    writer.start_file(name, options).expect("started");
    writer.write_all(content).expect("written");
    writer.finish().expect("finished").into_inner()
}

/// A small archive of a large file of zeros.
pub(crate) fn bomb(name: &str, bytes: usize) -> Vec<u8> {
    zip(&[(name, &vec![0; bytes])])
}

/// An archive that says its only file is smaller than it is.
pub(crate) fn lying(name: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = zip(&[(name, content)]);
    let size = (content.len() as u32).to_le_bytes();
    let small = 10_u32.to_le_bytes();
    for at in 0..bytes.len() - 4 {
        if bytes[at..at + 4] == size {
            bytes[at..at + 4].copy_from_slice(&small);
        }
    }
    bytes
}
