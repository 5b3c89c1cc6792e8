//! `kelvin history regression`.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use crate::check::{self, RegressionRequest};
use crate::cli::TextOrJson;
use crate::cli::again::Again;
use crate::cli::names::Names;
use crate::registry::Registry;
use crate::trend::{Compared, RegressionRow, RegressionStanding, fell};
use kelvin_base::exit::Exit;
use kelvin_page::{counted, safe};

/// The arguments of `kelvin history regression`.
#[derive(Clone, Debug, Args)]
pub(super) struct RegressionArgs {
    /// The version to compare with: a tag, a commit or another revision [default: the version before].
    #[arg(long, value_name = "REV")]
    against: Option<String>,
    /// The configuration: the history lies beside it, and its branch of reports is read.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The name under which the old reports are kept, if the configuration has another name today.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A metric to look at, instead of those that are shown first; may be given several times.
    #[arg(long = "metric", value_name = "ID")]
    metrics: Vec<String>,
    /// Traces of chains that another tool has recorded, as YAML or JSON, to be read in place of reports; `--against`
    /// then names a version of the chains.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["name", "metrics"])]
    traces: Option<PathBuf>,
    /// How many live measurements of each version a judgement needs.
    #[arg(long, value_name = "N", default_value = "3", value_parser = crate::cli::whole::<1_000>)]
    live_runs: NonZeroUsize,
    /// Ends with exit code 3 if a mean dropped, or if there is too little to tell.
    #[arg(long)]
    fail_on_regression: bool,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,
}

/// Runs `kelvin history regression`.
pub(super) fn main(args: RegressionArgs, registry: Registry) -> anyhow::Result<Exit> {
    let compared = check::regression(&RegressionRequest {
        runs: super::asked(registry, &args.config, &args.metrics, &args.name),
        traces: args.traces.clone(),
        against: args.against.clone(),
        live_runs: args.live_runs.get(),
    })?;
    crate::cli::say(&match args.format {
        TextOrJson::Json => serde_json::to_string_pretty(&compared)? + "\n",
        TextOrJson::Text => page(&compared) + &next(&args, &compared),
    });
    // A version without any measurement has proved nothing, so it does not pass.
    let passes = !compared.rows.is_empty() && compared.rows.iter().all(|row| row.standing.passes());
    Ok(match args.fail_on_regression && !passes {
        true => Exit::GateFailed,
        false => Exit::Passed,
    })
}

/// The next step after a comparison of versions.
fn next(args: &RegressionArgs, compared: &Compared) -> String {
    if let Some(traces) = &args.traces {
        // This command shows the scores of every version, including those of its failed traces.
        return Again::kelvin("rescore quality").word(traces).next();
    }
    let again = |command| Again::kelvin(command).config(&args.config);
    let course = || {
        let course = again("history --format=html --out=history.html");
        course.given("--name", args.name.as_ref())
    };
    let rows = || compared.rows.iter();
    let dropped = rows().find(|row| row.standing == RegressionStanding::Dropped);
    if let Some(row) = dropped {
        return course().flag("--metric", &row.metric).next();
    }
    let is_thin = |row: &&RegressionRow| row.standing == RegressionStanding::Insufficient;
    let runs = compared.live_runs;
    let live = || again("check --no-cache").flag("--repeats", runs.to_string());
    let is_commit = compared.prior.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit && rows().filter(is_thin).any(|row| row.n_prior < runs) {
        let commit = compared.prior.get(..12).unwrap_or(&compared.prior);
        return live().next_when(&format!("with commit {commit} checked out"));
    }
    match rows().any(|row| !row.standing.passes()) || compared.rows.is_empty() {
        true => live().next(),
        false => course().next(),
    }
}

fn page(compared: &Compared) -> String {
    let mut page = format!(
        "{}\nagainst {}\n\n",
        safe::line(&compared.current),
        safe::line(&compared.prior)
    );
    let of = |standing: RegressionStanding| {
        let rows = compared.rows.iter();
        rows.filter(|row| row.standing == standing).count()
    };
    let rows = || compared.rows.iter();
    let chains = Names::of("", rows().map(|row| &*row.chain));
    let units = Names::of("", rows().map(unit));
    let metrics = Names::of("", rows().map(|row| &*row.metric));
    for row in &compared.rows {
        let names = [
            chains.pad(&row.chain),
            units.pad(unit(row)),
            metrics.pad(&row.metric),
        ];
        line(&mut page, row, &names.join(" "));
    }
    for fall in &compared.lasting {
        let text = fell(fall, "fell").show(|_, text| format!("`{text}`"));
        let _ = writeln!(page, "lasting: {}", safe::line(&text));
    }
    for notice in &compared.notices {
        let _ = writeln!(page, "notice: {}", safe::line(notice));
    }
    let _ = writeln!(
        page,
        "\n{} dropped by more than 0.05 of the scale, of {}; {} with fewer than {} on a side.",
        of(RegressionStanding::Dropped),
        counted(compared.rows.len(), "mean"),
        of(RegressionStanding::Insufficient),
        counted(compared.live_runs, "live measurement"),
    );
    page
}

/// The name of a row's unit.
fn unit(row: &RegressionRow) -> &str {
    row.unit.as_deref().unwrap_or("(the whole run)")
}

fn line(page: &mut String, row: &RegressionRow, names: &str) {
    let mean = |value: Option<f64>, n: usize| match value {
        Some(value) => format!("{value:.4} (n {n})"),
        None => "null (n 0)".to_owned(),
    };
    let drop = match row.drop {
        Some(drop) if drop.abs() < 5e-5 => "0.0000".to_owned(),
        Some(drop) => format!("{:+.4}", -drop),
        None => "-".to_owned(),
    };
    let _ = writeln!(
        page,
        "{:<13} {names} {:>16} -> {:>16}  {drop}",
        row.standing.shown(),
        mean(row.prior, row.n_prior),
        mean(row.current, row.n_current),
    );
}
