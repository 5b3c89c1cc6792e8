//! `kelvin view`: the last reports in a browser on this machine, updated while runs go on.

mod serve;
mod shelf;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::check;
use crate::registry::Registry;
use kelvin_base::exit::{Exit, Misuse};
use shelf::Shelf;

/// The first port to try for the page; if another program uses it, any free port is taken.
const PORT: u16 = 7463;

/// The arguments of `kelvin view`.
#[derive(Debug, Args)]
pub(super) struct ViewArgs {
    /// The configuration beside which the history lies.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The folder of the reports [default: `kelvin` beside the configuration].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The port of this machine [default: 7463, or a free one if another program uses that].
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

/// Runs `kelvin view` until it is stopped.
pub(super) fn main(args: ViewArgs, registry: Registry) -> anyhow::Result<Exit> {
    let root = check::folder(&args.config)?;
    let out = args.out.unwrap_or_else(|| root.join("kelvin"));
    if !out.join(shelf::REPORT).exists() && !root.join(".kelvin").exists() {
        let folder = shown(&out);
        return Err(Misuse::new(format!(
            "there is no report in `{folder}`, and no run is recorded"
        ))
        .help("run `kelvin check` first, or name the folder with `--out`")
        .into());
    }
    let listener = listener(args.port)?;
    let address = listener.local_addr()?;
    super::say(&format!(
        "The reports of `{}`: http://{address}/\nPress Ctrl-C to end.\n",
        shown(&out)
    ));
    serve::serve(
        listener,
        Shelf {
            registry,
            root,
            out,
            config: args.config,
        },
    )?;
    Ok(Exit::Passed)
}

/// Binds a port that only programs on this machine can reach.
fn listener(port: Option<u16>) -> anyhow::Result<TcpListener> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    match port {
        Some(port) => bind(port).map_err(|error| {
            Misuse::new(format!("port {port} cannot be used: {error}"))
                .help("name another one, or leave `--port` out")
                .into()
        }),
        None => bind(PORT)
            .or_else(|_| bind(0))
            .context("no port of this machine is free"),
    }
}

fn shown(path: &Path) -> String {
    kelvin_page::safe::line(&path.display().to_string())
}
