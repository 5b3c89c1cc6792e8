//! Shows the summary of a period as a page.

mod runs;
mod short;
mod statements;

use super::flaky::Flaky;
use super::mean::Mean;
use super::past::DecidedRun;
use super::summary::{
    Candidate, Course, Of, OfConfiguration, ReadReports, Summary, SummaryRow, TrendWord,
};
use kelvin_base::cost::Cost;
use kelvin_page::{
    Article, Block, Column, Phrase, Table, TableRow, Trend, TrendLine, TrendStep, capitalized,
    counted, display, duration, used,
};
pub(crate) use runs::history;
pub(crate) use short::short;
pub(crate) use statements::fell;
use statements::{are, cell, row_words, since, statements, time};

/// How many rows a table lists at most; the JSON form of the summary has all of them.
const ROWS: usize = 200;
/// How many reports that could not be read are named at most.
const UNREAD: usize = 20;

/// The page of a summary.
pub(crate) fn article(summary: &Summary) -> Article<'static> {
    let (first, last) = &summary.weeks;
    let mut blocks = vec![heading("Candidates for refinement")];
    blocks.extend(candidates(summary));
    for one in &summary.configurations {
        blocks.extend(configuration(one));
    }
    blocks.push(heading("What was read"));
    blocks.push(Block::Text(read(&summary.read)));
    if !summary.validation.is_empty() {
        blocks.push(heading("Whether the configuration is valid today"));
        blocks.push(validation(&summary.validation));
    }
    Article {
        title: Phrase::text(match first == last {
            true => format!("Kelvin digest of {first}"),
            false => format!("Kelvin digest of {first} to {last}"),
        }),
        scope: vec![
            format!(
                "{} up to {} (UTC)",
                time(&summary.since),
                time(&summary.until)
            ),
            format!("compared with the period from {}", time(&summary.before)),
        ],
        statements: statements(summary),
        blocks,
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn heading(text: &str) -> Block<'static> {
    Block::Heading(Phrase::text(text))
}

fn candidates(summary: &Summary) -> Vec<Block<'static>> {
    let candidates: &[Candidate] = &summary.candidates;
    if candidates.is_empty() {
        let mut each = summary.configurations.iter();
        // Without a comparison no fall can be found.
        let is_thin = each.any(|one| !one.suspected.is_empty() || one.runs_before == 0);
        let none = match is_thin {
            true => "There is none that is certain; what could not be told stands at the top.",
            false => "There is none: no mean fell, and none is below the bound of its metric.",
        };
        return vec![Block::Aside(Phrase::text(none))];
    }
    let row = |one: &Candidate| {
        let found = match (one.row.word, one.row.is_poor) {
            (TrendWord::Held | TrendWord::Improved | TrendWord::New | TrendWord::NoScale, true) => {
                "is poor".to_owned()
            }
            (word, true) => format!("{} and is poor", word.shown()),
            (word, false) => word.shown().to_owned(),
        };
        TableRow::new([
            row_words(&one.row),
            Phrase::of_name(one.configuration.as_str()),
            Phrase::of_name(one.row.metric.as_str()),
            Phrase::text(found),
            cell(&one.row.before),
            cell(&one.row.now),
            since(one).unwrap_or_else(|| Phrase::text("-")),
        ])
    };
    let columns = [
        Column::text("what"),
        Column::text("configuration"),
        Column::text("metric"),
        Column::text("found"),
        Column::number("before"),
        Column::number("now"),
        Column::text("since"),
    ];
    listed("Candidates for refinement", columns, candidates, row)
}

fn table<const N: usize>(title: &str, columns: [Column; N], rows: Vec<TableRow>) -> Table {
    Table {
        title: Phrase::text(title),
        columns: columns.to_vec(),
        rows,
        most: None,
        noun: "row",
        left: 0,
        elsewhere: None,
    }
}

/// A table with the first rows, and a note on the rows that were left out.
fn listed<T, const N: usize>(
    title: &str,
    columns: [Column; N],
    all: &[T],
    row: impl Fn(&T) -> TableRow,
) -> Vec<Block<'static>> {
    let rows = all.iter().take(ROWS).map(row).collect();
    let mut blocks = vec![Block::Table(table(title, columns, rows))];
    blocks.extend(rest(all.len()));
    blocks
}

/// A note on the rows that were left out.
fn rest(all: usize) -> Option<Block<'static>> {
    let more = all.checked_sub(ROWS).filter(|more| *more > 0)?;
    let text = format!(
        "{} in `kelvin history digest --format json`.",
        counted(more, "more row")
    );
    Some(Block::Aside(Phrase::text(text)))
}

fn configuration(one: &OfConfiguration) -> Vec<Block<'static>> {
    let mut blocks = vec![Block::Heading(Phrase::of_name(one.name.as_str()))];
    blocks.push(Block::Text(vec![
        Phrase::text(format!(
            "{} in this period, {} in the one before.",
            counted(one.runs, "run"),
            one.runs_before
        )),
        Phrase::text(format!(
            "Cost: {}; before: {}.",
            cost(&one.cost),
            cost(&one.cost_before)
        )),
    ]));
    let is_of_cases = |row: &&SummaryRow| matches!(row.of, Of::Case(_));
    let above: Vec<&SummaryRow> = one.rows.iter().filter(|row| !is_of_cases(row)).collect();
    blocks.extend(means("Metrics and groups", above));
    blocks.extend(one.courses.iter().map(trend));
    let mut cases: Vec<&SummaryRow> = one.rows.iter().filter(is_of_cases).collect();
    let key = |row: &SummaryRow| {
        (
            row.word != TrendWord::Fell,
            !row.is_poor,
            row.worse_by.is_none(),
        )
    };
    cases.sort_by(|one, other| {
        key(one)
            .cmp(&key(other))
            .then(other.fall().total_cmp(&one.fall()))
    });
    let items = &one.nouns.items;
    blocks.extend(means(&capitalized(items), cases));
    if !one.flaky.is_empty() {
        let row = |flaky: &Flaky| {
            TableRow::new([
                Phrase::of_name(flaky.case.as_str()),
                Phrase::of_name(flaky.metric.as_str()),
                Phrase::text(format!("{} to {}", display(flaky.low), display(flaky.high))),
                Phrase::text(flaky.n.to_string()),
                Phrase::text(flaky.runs.to_string()),
            ])
        };
        blocks.push(Block::Aside(Phrase::text(format!(
            "Flaky: the values differ although the code, the configuration and the {items} were the same."
        ))));
        let columns = [
            Column::text("what"),
            Column::text("metric"),
            Column::text("values"),
            Column::number("n"),
            Column::number("runs"),
        ];
        blocks.extend(listed(&format!("Flaky {items}"), columns, &one.flaky, row));
    }
    blocks.extend(changes(one));
    blocks.extend(decisions(&one.decisions));
    blocks
}

/// The decisions of people about regressions; none if no decision was needed.
fn decisions(decided: &[DecidedRun]) -> Vec<Block<'static>> {
    if decided.is_empty() {
        return Vec::new();
    }
    let row = |one: &DecidedRun| {
        let decision = &one.decision;
        let word = if decision.approved {
            "approved"
        } else {
            "rejected"
        };
        TableRow::new([
            Phrase::text(time(&one.at)),
            Phrase::text(format!("#{}", decision.pull_request)),
            Phrase::default().quote(decision.regressions.join(", ")),
            Phrase::text(format!("{word} by ")).name(decision.by.clone()),
            Phrase::default().quote(decision.reason.clone()),
        ])
    };
    let columns = [
        Column::text("first run with it"),
        Column::text("pull request"),
        Column::text("what had regressed"),
        Column::text("decided"),
        Column::text("reason"),
    ];
    listed("What was decided", columns, decided, row)
}

fn changes(one: &OfConfiguration) -> Option<Block<'static>> {
    let rows = one.changes.iter().take(ROWS).map(|change| {
        let commit = change.commit.as_deref();
        TableRow::new([
            Phrase::text(time(&change.at)),
            commit.map_or(Phrase::text("-"), |commit| {
                Phrase::of_name(commit.get(..7).unwrap_or(commit))
            }),
            Phrase::text(change.what.join(", ")),
        ])
    });
    let rows: Vec<TableRow> = rows.collect();
    let columns = [
        Column::text("first run with it"),
        Column::text("commit"),
        Column::text("what changed"),
    ];
    match rows.is_empty() {
        true if one.runs == 0 => None,
        true => Some(Block::Aside(Phrase::text(
            "Nothing changed that the figures depend on: all fingerprints are the same.",
        ))),
        false => Some(Block::Table(table("What changed", columns, rows))),
    }
}

fn means(title: &str, all: Vec<&SummaryRow>) -> Vec<Block<'static>> {
    if all.is_empty() {
        return Vec::new();
    }
    let cells = |row: &&SummaryRow| {
        let word = match row.is_poor {
            true => format!("{}, poor", row.word.shown()),
            false => row.word.shown().to_owned(),
        };
        TableRow::new([
            row_words(row),
            Phrase::of_name(row.metric.as_str()),
            cell(&row.before),
            cell(&row.now),
            Phrase::text(word),
        ])
    };
    let columns = [
        Column::text("mean of"),
        Column::text("metric"),
        Column::number("before"),
        Column::number("now"),
        Column::text("found"),
    ];
    listed(title, columns, &all, cells)
}

fn cost(cost: &Cost) -> String {
    let mut parts = vec![
        counted(cost.invocations, "call"),
        format!("{} from the cache", cost.cache_hits),
        duration(cost.pipeline_seconds),
    ];
    parts.extend(used(cost.usage.as_ref()));
    parts.join(", ")
}

fn trend(course: &Course) -> Block<'static> {
    let line = |(of, means): &(Of, Vec<Mean>)| TrendLine {
        name: match of {
            Of::Run => Phrase::text("the whole run"),
            Of::Group(label) | Of::Case(label) => Phrase::of_name(label.as_str()),
        },
        points: means
            .iter()
            .map(|mean| mean.value.map(|value| (value, mean.n)))
            .collect(),
    };
    Block::Trend(Trend {
        title: Phrase::of_name(course.metric.as_str()),
        ends: course.ends,
        steps: course.weeks.iter().cloned().map(TrendStep::from).collect(),
        step: "ISO week",
        begin: course.begin,
        is_tabled: false,
        lines: course.lines.iter().map(line).collect(),
    })
}

fn read(read: &ReadReports) -> Vec<Phrase> {
    let mut said: Vec<Phrase> = Vec::new();
    for (place, count) in &read.places {
        said.push(
            Phrase::text(format!("{} from ", counted(*count, "report")))
                .name(place.as_str())
                .and("."),
        );
    }
    if read.twice > 0 {
        let text = format!(
            "{} found in both places; each counts once.",
            are(read.twice, "run")
        );
        said.push(Phrase::text(text));
    }
    for (why, count) in &read.left {
        let text = format!(
            "{} left out: each is that {}.",
            are(*count, "report"),
            why.words()
        );
        said.push(Phrase::text(text));
    }
    for (place, why) in read.unread.iter().take(UNREAD) {
        let phrase = Phrase::of_name(place.as_str()).and(" was not read: ");
        said.push(phrase.quote(why.as_str()).and("."));
    }
    if let Some(more) = read
        .unread
        .len()
        .checked_sub(UNREAD)
        .filter(|more| *more > 0)
    {
        said.push(Phrase::text(format!(
            "{} could not be read.",
            counted(more, "more report")
        )));
    }
    // No line begins with foreign text: at the beginning of a line, its first character could start a list.
    said.extend(
        read.notices
            .iter()
            .map(|one| Phrase::text("Notice: ").quote(one.as_str()).and(".")),
    );
    said
}

fn validation(found: &[(String, String)]) -> Block<'static> {
    let rows = found.iter().map(|(word, text)| {
        TableRow::new([
            Phrase::text(word.clone()),
            Phrase::default().quote(text.as_str()),
        ])
    });
    let columns = [
        Column::text("how it stands"),
        Column::text("what was found"),
    ];
    Block::Table(table("Validation", columns, rows.collect()))
}
