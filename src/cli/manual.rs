//! `kelvin completions` and `kelvin man`: what the command line says of itself, for shells and for `man`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Exit;

/// The arguments of `kelvin completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell, e.g. for bash: `source <(kelvin completions bash)`.
    shell: Shell,
}

/// The arguments of `kelvin man`.
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// The folder; it is made where it is not there.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs `kelvin completions`.
pub(super) fn completions(args: &CompletionsArgs, command: &mut Command) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, command, "kelvin", &mut text);
    super::say(&String::from_utf8(text).context("the completions are no text")?);
    Ok(Exit::Passed)
}

/// Runs `kelvin man`.
pub(super) fn man(args: &ManArgs, command: &Command) -> anyhow::Result<Exit> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command.clone(), folder))
        .with_context(|| format!("failed to write man pages to `{}`", folder.display()))?;
    Ok(Exit::Passed)
}
