//! `kelvin rescore figures`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::check;
use crate::check::Recomputed;
use crate::cli::again::Again;
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_gate::report;
use kelvin_page::safe;

/// The arguments of `kelvin rescore figures`.
#[derive(Debug, Args)]
pub(super) struct FiguresArgs {
    /// The run: some characters of its id, `latest` or `previous`.
    run: String,
    /// The configuration beside which the history lies.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// Writes the report with the new figures to a file; the history stays as it is.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = FiguresFormat::Text)]
    format: FiguresFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FiguresFormat {
    /// For a terminal.
    Text,
    /// As JSON.
    Json,
}

/// Runs `kelvin rescore figures`.
pub(super) fn main(args: &FiguresArgs, registry: Registry) -> anyhow::Result<Exit> {
    let root = check::folder(&args.config)?;
    let name = args.run.strip_prefix("run:").unwrap_or(&args.run);
    let id = check::recorded(&root, name)?;
    let stored = check::run(registry, &root, &id)?.report;
    let again = check::recompute(&id, stored);
    if let Some(file) = &args.write {
        kelvin_base::file::write_with(file, |to| report::json::write(to, &again.report))?;
    }
    let text = match args.format {
        FiguresFormat::Json => serde_json::to_string_pretty(&again)? + "\n",
        FiguresFormat::Text => told(&again) + &next(args, &again),
    };
    crate::cli::say(&text);
    Ok(Exit::Passed)
}

/// The next step: changed figures can be compared with the recorded ones, once they are in a file.
fn next(args: &FiguresArgs, found: &Recomputed) -> String {
    let again = |command| Again::kelvin(command).config(&args.config);
    let run = format!("run:{}", found.run);
    match &args.write {
        _ if found.changed.is_empty() => again("history").next(),
        Some(file) => again("compare").word(run).word(file).next(),
        None => again("rescore figures")
            .word(run)
            .word("--write=report.json")
            .next(),
    }
}

fn told(again: &Recomputed) -> String {
    let mut page = format!(
        "run {}, measured by kelvin {}: {} figures made again by kelvin {}, {} changed\n",
        safe::line(&again.run),
        safe::line(&again.measured_by),
        again.figures,
        again.recomputed_by,
        again.changed.len()
    );
    if !again.distances {
        page.push_str("the distances are those that were stored: the scorer is not at hand\n");
    }
    for (id, changed) in &again.changed {
        let side = |metric: &Option<kelvin_record::Metric>| match metric {
            None => "absent".to_owned(),
            Some(metric) => format!("{} (n {})", safe::cut(&metric.display, 12), metric.n),
        };
        let _ = writeln!(
            page,
            "  {:<32} {} -> {}",
            safe::cut(id, 32),
            side(&changed.stored),
            side(&changed.now)
        );
    }
    for id in &again.kept {
        let _ = writeln!(page, "  {:<32} kept as it was recorded", safe::cut(id, 32));
    }
    page
}
