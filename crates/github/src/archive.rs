//! Archives of artifacts. They are read into memory with limits on everything, and packed in the same way every time. A
//! name in an archive is never used as a path.

use std::fmt;
use std::io::{Cursor, Read as _, Write as _};

use anyhow::{Context as _, bail, ensure};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use kelvin_page::safe;

/// The largest archive that is downloaded, in bytes.
pub const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of files in an archive.
const MOST_ENTRIES: usize = 20_000;
/// The largest ratio of the size of a file to its packed size; a report packs about twenty to one.
const MOST_RATIO: u64 = 300;

/// A file of an archive is longer than the reader allows.
#[derive(Debug)]
pub struct TooLong {
    name: String,
    most: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is larger than {} bytes", self.name, self.most)
    }
}

impl std::error::Error for TooLong {}

/// An archive whose names and sizes are possible for an artifact of this program.
pub struct Archive<'a>(ZipArchive<Cursor<&'a [u8]>>);

impl<'a> Archive<'a> {
    /// Opens an archive.
    ///
    /// # Errors
    ///
    /// Fails if it is not an archive, or cannot be one of this program: names that lead out of a folder, duplicate
    /// names, too many files, or files that overlap.
    pub fn open(bytes: &'a [u8]) -> anyhow::Result<Self> {
        let mut archive = ZipArchive::new(Cursor::new(bytes)).context("it is no zip archive")?;
        ensure!(
            archive.len() <= MOST_ENTRIES,
            "the archive has {} files, over the limit of {MOST_ENTRIES}",
            archive.len()
        );
        ensure!(
            !archive.has_duplicate_names(),
            "the archive has a name twice"
        );
        for name in archive.file_names_raw() {
            ensure!(
                is_inside(name),
                "the archive has a file that leads out of it: `{}`",
                safe::cut(&safe::line(&String::from_utf8_lossy(name)), 80)
            );
        }
        ensure!(
            !archive
                .has_overlapping_files()
                .context("its list of files cannot be read")?,
            "the archive has files that overlap"
        );
        Ok(Self(archive))
    }

    /// The content of a file, at most `most` bytes; none if the file does not exist.
    ///
    /// # Errors
    ///
    /// [`TooLong`] if it is too large; any other error if its packed size is implausible, or if it cannot be read.
    pub fn read(&mut self, name: &str, most: usize) -> anyhow::Result<Option<Vec<u8>>> {
        let Some(at) = self.0.index_for_name(name) else {
            return Ok(None);
        };
        let shown = safe::cut(&safe::line(name), 80);
        let file = self
            .0
            .by_index(at)
            .with_context(|| format!("`{shown}` cannot be read"))?;
        ensure!(
            file.is_file() && !file.is_symlink() && !file.encrypted(),
            "`{shown}` is no plain file"
        );
        let packed = file.compressed_size();
        let allowed = packed.saturating_mul(MOST_RATIO).max(64 * 1024);
        let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
        let mut content = Vec::new();
        // The size in the archive is not trusted.
        let limit = allowed.min(most);
        file.take(limit as u64 + 1)
            .read_to_end(&mut content)
            .with_context(|| format!("`{shown}` cannot be unpacked"))?;
        if content.len() > limit {
            if limit < most {
                bail!("`{shown}` is over {MOST_RATIO} times larger than packed");
            }
            return Err(TooLong { name: shown, most }.into());
        }
        Ok(Some(content))
    }
}

/// Packs files; the same files give the same bytes. Fails if a name occurs twice or leads out of the archive.
pub(crate) fn pack(files: &[(&str, &[u8])]) -> anyhow::Result<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    // The present time is left out: the default is the earliest time of the format.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in files {
        ensure!(
            is_inside(name.as_bytes()),
            "`{name}` leads out of the archive"
        );
        writer
            .start_file(*name, options)
            .and_then(|()| writer.write_all(content).map_err(Into::into))
            .with_context(|| format!("failed to pack `{name}`"))?;
    }
    let packed = writer.finish().context("failed to pack the archive")?;
    Ok(packed.into_inner())
}

/// Whether a name stays below the folder to which it would be unpacked, on any system.
fn is_inside(name: &[u8]) -> bool {
    let drive = name.get(1) == Some(&b':');
    let parts = name.split(|byte| matches!(byte, b'/' | b'\\'));
    !name.is_empty()
        && !drive
        && !name.contains(&0)
        && !matches!(name[0], b'/' | b'\\')
        && parts.clone().all(|part| part != b"..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::archive;

    fn refusal(bytes: &[u8], name: &str, most: usize) -> String {
        let error = match Archive::open(bytes) {
            Ok(mut archive) => archive.read(name, most).expect_err("it is refused"),
            Err(error) => error,
        };
        format!("{error:#}")
    }

    #[test]
    fn what_was_packed_is_read_and_packs_to_the_same_bytes() {
        let files: &[(&str, &[u8])] = &[("report.json", b"{}"), ("case/a.txt", b"text")];
        let packed = pack(files).expect("packed");
        assert_eq!(packed, pack(files).expect("packed"));
        let mut archive = Archive::open(&packed).expect("opened");
        assert_eq!(
            archive.read("report.json", 10).expect("read").as_deref(),
            Some(&b"{}"[..])
        );
        assert_eq!(archive.read("none", 10).expect("read"), None);
        insta::assert_snapshot!(refusal(&packed, "case/a.txt", 3), @"`case/a.txt` is larger than 3 bytes");
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = archive::bomb("report.json", 200 * 1024 * 1024);
        assert!(bomb.len() < 1024 * 1024);
        let why = refusal(&bomb, "report.json", 128 * 1024 * 1024);
        insta::assert_snapshot!(why, @"`report.json` is over 300 times larger than packed");
    }

    #[test]
    fn a_size_that_is_a_lie_is_not_believed() {
        let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        let why = refusal(
            &archive::lying("report.json", &content),
            "report.json",
            1_000,
        );
        assert!(!why.is_empty());
    }

    #[test]
    fn names_that_lead_out_are_refused_with_the_whole_archive() {
        let mut told = Vec::new();
        for name in [
            "../report.json",
            "a/../../report.json",
            "/etc/passwd",
            "..\\report.json",
            "C:\\report.json",
            "a\\..\\..\\b",
        ] {
            let bytes = archive::zip(&[("report.json", b"{}"), (name, b"x")]);
            told.push(refusal(&bytes, "report.json", 10));
            assert!(pack(&[(name, b"x")]).is_err(), "{name}");
        }
        insta::assert_snapshot!(told.join("\n"), @r"
        the archive has a file that leads out of it: `../report.json`
        the archive has a file that leads out of it: `a/../../report.json`
        the archive has a file that leads out of it: `/etc/passwd`
        the archive has a file that leads out of it: `..\report.json`
        the archive has a file that leads out of it: `C:\report.json`
        the archive has a file that leads out of it: `a\..\..\b`
        ");
    }

    #[test]
    fn too_many_files_and_damaged_archives_are_refused() {
        let names: Vec<String> = (0..=MOST_ENTRIES)
            .map(|number| number.to_string())
            .collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b""[..])).collect();
        let why = refusal(&archive::zip(&files), "0", 10);
        insta::assert_snapshot!(why, @"the archive has 20001 files, over the limit of 20000");
        let good = archive::zip(&[("report.json", &b"{ }".repeat(100))]);
        for cut in [0, 1, 10, good.len() / 2, good.len() - 1] {
            assert!(!refusal(&good[..cut], "report.json", 1_000).is_empty());
        }
        let mut broken = good;
        broken[45] ^= 0xff;
        assert!(!refusal(&broken, "report.json", 1_000).is_empty());
    }
}
