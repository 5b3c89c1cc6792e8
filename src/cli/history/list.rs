//! Lists the runs of this machine for a terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::baseline::Releases;
use crate::cli::again::Again;
use crate::history::{ListedMetric, ListedRun, sparkline};
use kelvin_base::cost::Cost;
use kelvin_page::{counted, duration, safe, used};
use kelvin_record::{Direction, probe_of};

/// How many metrics have a column by default; with an option, all of them have one.
const COLUMNS: usize = 3;

/// The runs of each configuration, one per line, and then the values of each metric over time as a line. An axis shows
/// the whole scale of its metric, so that a small change looks small.
pub(super) fn page(runs: &[ListedRun], releases: &Releases, all: bool, config: &Path) -> String {
    let again = |command| Again::kelvin(command).config(config);
    if runs.is_empty() {
        return format!("no run was recorded yet\n{}", again("check").next());
    }
    let configurations: BTreeSet<&str> = runs.iter().map(|run| &*run.configuration).collect();
    let mut pages = Vec::new();
    for configuration in configurations {
        let own = runs.iter().filter(|run| run.configuration == configuration);
        pages.push(of_configuration(
            configuration,
            &own.collect::<Vec<_>>(),
            &releases.by_commit,
            all,
        ));
    }
    let mut page = pages.join("\n");
    if let Some(why) = &releases.unread {
        let _ = writeln!(page, "\nnotice: {}", safe::line(why));
    }
    let next = match runs.len() {
        1 => again("history --format=html --out=history.html"),
        _ => again("compare previous latest"),
    };
    let _ = write!(page, "\n{}", next.next());
    page
}

fn of_configuration(
    name: &str,
    runs: &[&ListedRun],
    releases: &BTreeMap<String, Vec<String>>,
    all: bool,
) -> String {
    let ids: BTreeSet<&str> = runs
        .iter()
        .flat_map(|run| &run.metrics)
        .filter(|(_, figure)| all || figure.is_shown_first())
        .map(|(id, _)| id.as_str())
        .collect();
    // If the lines must fit a terminal, the table has room only for metrics that are better when higher; a failure rate
    // has its own line below.
    let is_value = |id: &&&str| {
        let figure = runs.iter().rev().find_map(|run| run.metrics.get(**id));
        all || figure.is_some_and(|figure| figure.direction == Direction::Higher)
    };
    let mut columns: Vec<&str> = ids.iter().filter(is_value).copied().collect();
    // The figure of a whole probe is more important than the figure of a part, such as one type of evidence.
    columns.sort_by_key(|id| id.matches('.').count());
    columns.truncate(if all { columns.len() } else { COLUMNS });
    let mut page = format!("{}: {}\n", safe::line(name), counted(runs.len(), "run"));
    let titles = columns.iter().map(|id| {
        let title = id.strip_prefix(probe_of(id)).unwrap_or(id);
        format!("  {:>12}", safe::cut(title.trim_start_matches('.'), 12))
    });
    let _ = writeln!(
        page,
        "  {:<10}  {:<16}  {:<8}  {:<14}{}  {:<20}  cost",
        "run",
        "when (UTC)",
        "commit",
        "branch",
        titles.collect::<String>(),
        "verdict"
    );
    for run in runs {
        let commit = run.commit.as_deref().unwrap_or("-");
        let dirty = if run.dirty { "+" } else { " " };
        let tags = run.commit.as_ref().filter(|_| !run.dirty);
        let tags = tags.and_then(|commit| releases.get(commit));
        let tags = tags.map_or_else(String::new, |tags| tags.join(", "));
        let time = run.time.get(..16).unwrap_or(&run.time).replace('T', " ");
        let values = columns.iter().map(|id| {
            let value = run.metrics.get(*id).and_then(|figure| figure.value);
            format!("  {:>12}", shown(value))
        });
        let line = format!(
            "  {:<10}  {:<16}  {:<7}{dirty}  {:<14}{}  {:<20}  {}{}",
            safe::cut(&run.id, 10),
            safe::cut(&time, 16),
            safe::cut(commit.get(..7).unwrap_or(commit), 7),
            safe::cut(run.branch.as_deref().unwrap_or("-"), 14),
            values.collect::<String>(),
            safe::cut(&verdict(run), 20),
            run.cost.as_ref().map_or_else(|| "-".to_owned(), cost),
            match tags.as_str() {
                "" => String::new(),
                tags => format!("  {}", safe::cut(tags, 40)),
            },
        );
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page.push('\n');
    for id in ids {
        let figures: Vec<Option<&ListedMetric>> =
            runs.iter().map(|run| run.metrics.get(id)).collect();
        let values: Vec<Option<f64>> = figures
            .iter()
            .map(|figure| figure.and_then(|figure| figure.value))
            .collect();
        let ends = figures
            .iter()
            .rev()
            .flatten()
            .find_map(|figure| figure.ends);
        let _ = writeln!(
            page,
            "  {:<32} {}  {}",
            safe::cut(id, 32),
            sparkline(&values, ends),
            shown(values.last().copied().flatten())
        );
    }
    page
}

/// The verdict of the gate; for a run without a verdict, its ending unless it was completed.
fn verdict(run: &ListedRun) -> String {
    match (&run.verdict, run.ending.as_str()) {
        (Some(verdict), _) => verdict.words.clone(),
        (None, "complete") => "-".to_owned(),
        (None, ending) => ending.replace('_', " "),
    }
}

fn cost(cost: &Cost) -> String {
    let mut parts = vec![counted(cost.invocations, "call")];
    if cost.cache_hits > 0 {
        parts.push(format!("{} cached", cost.cache_hits));
    }
    parts.push(duration(cost.pipeline_seconds));
    parts.extend(used(cost.usage.as_ref()));
    parts.join(", ")
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}
