//! The page about the quality.

use std::collections::BTreeMap;

use super::figures::{dropped, is_insufficient, scored, scores};
use super::record::{QualityBasis, QualityIndicators, QualitySection};
use super::score::{Band, Factor, points};
use kelvin_base::notice::{Code, Notice};
use kelvin_page::{
    Block, Chapter, Column, Estimate, FigureTable, Headword, Phrase, Statement, Table, TableRow,
    Tone, are, counted, have,
};
use kelvin_record::{Metric, estimate, family, spread};

/// How the figures are computed.
const NOTE: &str = "Means over the cases; the value of a case is the mean over the runs of its unperturbed \
                    input.";
/// How many cases a text lists.
const LISTED: usize = 30;
/// How many ids a sentence names.
const NAMED: usize = 3;
/// With fewer runs than this, a drop of 0.05 in one case cannot be distinguished from chance.
const FEW_RUNS: usize = 10;

/// The chapter about the quality on the page of a whole run.
pub(super) fn chapter<'a>(
    section: &'a QualitySection,
    metrics: &'a BTreeMap<String, Metric>,
) -> Chapter<'a> {
    let mut chapter = Chapter::new(Headword {
        word: "quality",
        title: "Quality",
        meaning: "how good the outputs are in form, in content and in cost",
        is_judgement: false,
    });
    let invocations = section.items.values().flat_map(|item| {
        let cases = item.probes.values();
        cases.map(|case| case.runs.len() + case.variants.values().map(Vec::len).sum::<usize>())
    });
    let scored = counted(invocations.sum(), "output");
    chapter.scope = vec![format!("{scored} looked at for quality")];
    chapter.statements = statements(section);
    let rows = rows(section, metrics);
    chapter.spread = spread(
        "quality_score",
        "cases",
        metrics.get("quality.quality_score"),
    );
    chapter.measures = (!rows.is_empty()).then_some(FigureTable {
        in_bars: false,
        title: "Quality",
        note: NOTE,
        rows,
    });
    chapter.lists = below_good(section).into_iter().collect();
    chapter.method = vec![
        Block::Heading(Phrase::text("Quality")),
        Block::Text(vec![Phrase::text(method(&section.basis))]),
    ];
    chapter
}

fn statements(section: &QualitySection) -> Vec<Statement> {
    let scores = scores(&section.items, &section.basis);
    let mut statements: Vec<Statement> = never_there(section)
        .into_iter()
        .map(|pointer| Statement::new(Tone::Alarm, Phrase::text("the required output ").name(pointer).and(format!(
                " is in no output of {}: the pipeline never writes it, or `required_outputs` has another name \
                 for it",
                match section.items.len() {
                    1 => "the case".to_owned(),
                    all => format!("all {all} cases"),
                }
            ))))
        .collect();
    for band in [Band::Poor, Band::Review] {
        let these = scores.iter().filter(|(_, score)| Band::of(*score) == band);
        let these: Vec<&str> = these.map(|(name, _)| name.as_str()).collect();
        if these.is_empty() {
            continue;
        }
        let are = are(these.len());
        let what = format!(
            "{} of {} {are} {} ({}): {}",
            these.len(),
            counted(scores.len(), "case"),
            band.as_str(),
            bounds(band),
            band.action(),
        );
        let shown = Phrase::text("; ").names(these.iter().take(NAMED).copied());
        let shown = match these.len().saturating_sub(NAMED) {
            0 => shown,
            more => shown.and(format!(" and {more} more")),
        };
        statements.push(Statement::new(
            if band == Band::Poor {
                Tone::Alarm
            } else {
                Tone::Caution
            },
            Phrase::text(what).then(shown),
        ));
    }
    if statements.is_empty() && !scores.is_empty() {
        let what = match scores.len() {
            1 => format!("the outputs of the case are good ({})", bounds(Band::Good)),
            all => format!(
                "the outputs of all {all} cases are good ({})",
                bounds(Band::Good)
            ),
        };
        statements.push(Statement::new(Tone::Calm, Phrase::text(what)));
    }
    statements
}

/// The required outputs that are missing in every output of all cases. The score of each case may still be in the best
/// band, since it is a mean over several factors; but no reader should be told that the outputs are good.
fn never_there(section: &QualitySection) -> Vec<&str> {
    let runs = || section.items.values().flat_map(|item| item.runs());
    let is_read = runs().any(|run| !run.failed);
    let required = section.basis.required_outputs.iter().flatten();
    let never = required.filter(|pointer| {
        let mut read = runs().filter(|run| !run.failed);
        is_read && read.all(|run| run.misses(pointer))
    });
    never.map(String::as_str).collect()
}

/// The range of scores of a band.
fn bounds(band: Band) -> &'static str {
    match band {
        Band::Good => "from 0.80",
        Band::Review => "from 0.60, below 0.80",
        Band::Poor => "below 0.60",
    }
}

/// The figures with their names; the score comes first.
fn rows<'a>(
    section: &'a QualitySection,
    metrics: &'a BTreeMap<String, Metric>,
) -> Vec<(Phrase, Estimate<'a>)> {
    let mut rows = Vec::new();
    let mut push = |id: &str, shown: Phrase| {
        if let Some(metric) = metrics.get(id) {
            rows.push((shown, estimate(Some(metric))));
        }
    };
    let band = metrics.get("quality.quality_score");
    let band = band.and_then(|metric| metric.value).map(Band::of);
    let band = band.filter(|band| *band != Band::Good || never_there(section).is_empty());
    let band = band.map_or_else(String::new, |band| format!(" ({})", band.as_str()));
    push(
        "quality.quality_score",
        Phrase::text(format!("quality_score{band}")),
    );
    for (factor, weight) in section.basis.weights.effective(&section.basis.factors) {
        let name = factor.as_str();
        let shown = format!("{name} (weight {})", points(weight));
        push(&format!("quality.{name}"), Phrase::text(shown));
    }
    for (name, _) in family(metrics, "quality.group") {
        let shown = Phrase::text("group ").then(Phrase::of_name(name));
        push(&format!("quality.group.{name}"), shown);
    }
    push(
        "quality.variants",
        Phrase::text("variants, in no score of a case"),
    );
    push(
        "quality.dry_runs",
        Phrase::text("recorded outputs, in no score of a case"),
    );
    rows
}

/// The cases below the best band, the worst first.
fn below_good(section: &QualitySection) -> Option<Table> {
    let scores = scores(&section.items, &section.basis);
    let rows = scores
        .iter()
        .filter(|(_, score)| Band::of(*score) != Band::Good)
        .map(|(name, score)| {
            let lacks = worst(section, name).map_or_else(String::new, |run| run.lacks.join("; "));
            TableRow::new([
                Phrase::of_name(name),
                Phrase::text(points(*score)),
                Phrase::text(Band::of(*score).as_str()),
                Phrase::default().quote(lacks),
            ])
        });
    let rows: Vec<TableRow> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        title: Phrase::text(format!("Cases below good ({})", rows.len())),
        columns: vec![
            Column::text("case"),
            Column::text("score"),
            Column::text("band"),
            Column::text("what its worst run lacks"),
        ],
        rows,
        most: Some(LISTED),
        noun: "row",
        left: 0,
        elsewhere: None,
    })
}

/// The run of the unperturbed input with the lowest score; a run without a score counts as the worst.
fn worst<'a>(section: &'a QualitySection, item: &str) -> Option<&'a QualityIndicators> {
    let runs = section.items.get(item)?.runs();
    let rank = |run: &QualityIndicators| run.quality_score.unwrap_or(-1.0);
    runs.min_by(|one, other| rank(one).total_cmp(&rank(other)))
}

/// Why a case has its result in a metric: its band with advice, and the missing parts of its worst run.
pub(super) fn why(section: &QualitySection, item: &str, metric: &str) -> Option<String> {
    let run = worst(section, item)?;
    let is_of_score = metric == "quality.quality_score" || metric.starts_with("quality.group.");
    let scores = scores(&section.items, &section.basis);
    let score = scores.iter().find(|(name, _)| name == item);
    let is_told = |score: f64| Band::of(score) != Band::Good || never_there(section).is_empty();
    let score = score.filter(|(_, score)| is_of_score && is_told(*score));
    let band = score.map(|(_, score)| {
        let band = Band::of(*score);
        format!("{} is {}: {}", points(*score), band.as_str(), band.action())
    });
    let lacks = run.lacks.join("; ");
    let told: Vec<String> = band
        .into_iter()
        .chain((!lacks.is_empty()).then_some(lacks))
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// The effective weight of each configured factor.
pub(super) fn weights(basis: &QualityBasis) -> Vec<String> {
    let effective = basis.weights.effective(&basis.factors).into_iter();
    effective
        .map(|(factor, weight)| format!("{} {}", factor.as_str(), points(weight)))
        .collect()
}

fn method(basis: &QualityBasis) -> String {
    let mut told = format!(
        "The score of an invocation is the weighted sum of its factors ({}), by {}.",
        weights(basis).join(", "),
        basis.scorer
    );
    let dropped: Vec<&str> = dropped(basis).into_iter().map(Factor::as_str).collect();
    if !dropped.is_empty() {
        told.push_str(&format!(
            " The configuration does not provide for {}, so the other weights were scaled to add up to 1.",
            dropped.join(" and ")
        ));
    }
    if basis.required_outputs.as_ref().is_some_and(Vec::is_empty) {
        told.push_str(" No output is required, so every output is complete.");
    }
    for band in Band::ALL {
        told.push_str(&format!(
            " {}{} is {}: {}.",
            bounds(band)[..1].to_uppercase(),
            &bounds(band)[1..],
            band.as_str(),
            band.action()
        ));
    }
    if let Some(least) = basis.weights.least_efficiency(&basis.factors) {
        told.push_str(&format!(
            " A good score needs an efficiency of {least:.2} even where all else is perfect."
        ));
    }
    told.push_str(&format!(
        " A case needs {} with a score, or it is insufficient and has none. An invocation that leaves no \
         output that can be read has 0 in every factor; one in which a factor is missing has no score.",
        counted(basis.live_runs, "live run")
    ));
    if basis.live_runs < FEW_RUNS {
        told.push_str(
            " So few runs cannot resolve a drop of 0.05 in a single case whose score varies between runs.",
        );
    }
    told
}

/// The notices about runs that contribute to no score, and about counts that are inconsistent.
pub(super) fn notices(section: &QualitySection) -> Vec<Notice> {
    let basis = &section.basis;
    let mut found = Vec::new();
    let few: Vec<&String> = section
        .items
        .iter()
        .filter(|(_, item)| {
            item.probes
                .values()
                .any(|case| is_insufficient(case, basis))
        })
        .map(|(name, _)| name)
        .collect();
    if let Some(first) = few.first() {
        let most = section.items.values().flat_map(|item| item.probes.values());
        let runs = most.clone().map(|case| case.runs.len()).max().unwrap_or(0);
        let with_score = most.map(scored).max().unwrap_or(0);
        let wanted = basis.live_runs;
        let cure = match runs < wanted {
            true => format!(": set `repeats: {wanted}`, or `live_runs: {runs}` under `quality`"),
            false => format!(", with at most {with_score} that have a score"),
        };
        let text = format!(
            "{} of the quality score, `{first}` first, {} fewer than {wanted} live runs with a score, so \
             {} insufficient and has no score{cure}",
            counted(few.len(), "case"),
            have(few.len()),
            if few.len() == 1 { "it is" } else { "each is" },
        );
        found.push(
            Notice::new(Code::own("few_runs"), text)
                .counts(section.items.len(), section.items.len() - few.len()),
        );
    }
    let all = || {
        section.items.iter().flat_map(|(name, item)| {
            let runs = item
                .probes
                .values()
                .flat_map(|case| case.runs.iter().chain(case.variants.values().flatten()));
            runs.map(move |run| (name, run))
        })
    };
    let null: Vec<_> = all()
        .filter(|(_, run)| run.quality_score.is_none())
        .collect();
    if let Some((name, run)) = null.first() {
        let why = run
            .lacks
            .last()
            .map_or("a factor is missing", String::as_str);
        let text = format!(
            "{} without a quality score, as in `{name}`: {why}",
            counted(null.len(), "invocation")
        );
        found.push(Notice::new(Code::Unscored, text));
    }
    let is_off =
        |run: &&QualityIndicators| run.token_counts.is_some_and(|counts| !counts.adds_up());
    let off: Vec<_> = all().filter(|(_, run)| is_off(run)).collect();
    if let Some((name, run)) = off.first() {
        let counts = run.token_counts.unwrap_or_default();
        let text = format!(
            "{} a total of tokens that is not the sum of input and output, as in `{name}`: {} is not {} + {}; \
             the total counts",
            if off.len() == 1 {
                "1 invocation tells".to_owned()
            } else {
                format!("{} invocations tell", off.len())
            },
            counts.total,
            counts.input,
            counts.output
        );
        found.push(Notice::new(Code::own("token_counts"), text));
    }
    found
}
