//! Copies the inputs and outputs of every item from the shards to the folder of the joined report.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::gather::FoundShard;

/// What the folder of an item holds beside its reports.
const PARTS: [&str; 2] = ["baseline", "perturbations"];

/// Copies the files of every item. A shard that consists of a report alone has no such files.
pub(super) fn copy(found: &[FoundShard], out: &Path) -> anyhow::Result<()> {
    for shard in found {
        for (_, section) in shard.report.probes.iter() {
            for item in section.ids().into_iter().filter_map(|id| section.item(id)) {
                let Some(folder) = item.folders.first() else {
                    continue;
                };
                for part in PARTS {
                    let from = shard.folder.join(folder).join(part);
                    tree(&from, &out.join(folder).join(part))?;
                }
            }
        }
    }
    Ok(())
}

/// Copies a folder with its content, except links, which could lead anywhere.
fn tree(from: &Path, to: &Path) -> anyhow::Result<()> {
    let is_folder = fs::symlink_metadata(from).is_ok_and(|data| data.is_dir());
    if !is_folder {
        return Ok(());
    }
    fs::create_dir_all(to).with_context(|| format!("failed to make `{}`", to.display()))?;
    let failed = || format!("failed to copy `{}`", from.display());
    for entry in fs::read_dir(from).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let kind = entry.file_type().with_context(failed)?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            tree(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target).with_context(failed)?;
        }
    }
    Ok(())
}
