//! Explains how to read the figures of the probe.

use std::collections::BTreeSet;

use super::{EvidenceRun, SignalWords};
use crate::perturb;
use kelvin_page::{BANDS, Block, Column, Phrase, Table, TableRow};

/// The explanation, as blocks of a page.
pub(super) fn blocks<'a>(run: &EvidenceRun<'_>) -> Vec<Block<'a>> {
    let heading = |text: &str| Block::Heading(Phrase::text(text));
    let text = |text: &str| Block::Text(vec![Phrase::text(text)]);
    let mut blocks = vec![
        text(
            "A case is a document of typed units; some types ought to govern the decision. Variants \
             of each case are made that leave the governing evidence as it is, and variants that \
             change it. The pipeline decides on each, and each decision is compared with the one on \
             the case as it is.",
        ),
        heading("Distance"),
        text(
            "Two decisions are 0 apart where they are equal and 1 where they differ, types and \
             letters included. Two numbers are",
        ),
        Block::Formula(&["d(a, b) = min(1, |a − b| / max(|a|, |b|, 1))"]),
        text(
            "apart. Another scorer, where one is named below, has its own rule with values from 0 \
             to 1.",
        ),
        heading("The figures"),
        Block::Formula(&[
            "invariance = 1 − mean of d over the variants that ought to hold",
            "sensitivity = mean of d over the swaps",
            "following = sum of reactions / sum of contrasts, over the swaps",
            "Kelvin score = (1 − invariance) + (1 − sensitivity)",
        ]),
        text(
            "Every mean is over samples, not over cases. A failed invocation is in no mean and is \
             counted beside it. A figure without a sample has no value, but a reason. A swap brings \
             in a unit of a donor, another case. Its reaction is how far the decision goes from the \
             case's own answers, its contrast how far the donor's own answers are from those, both \
             without what noise moves. With several governing types each can be right and have a \
             low following, so there are words for it with one type only. Sensitivity to conditions \
             alone comes from variants that exchange only the list of conditions in a rule; the \
             content effect is what whole swaps of the same units move beyond that, at least 0. \
             Mechanical sensitivity comes from turned numbers, comparators and opposites, and is in \
             neither signal.",
        ),
        heading("Noise"),
        text(
            "Where the same input is run several times, η is the mean distance of two answers to \
             it. It is taken out of a mean distance x before that becomes a figure:",
        ),
        Block::Formula(&[
            "f(x) = max(0, (x − η) / (1 − η))",
            "invariance without noise = 1 − f(1 − invariance)",
            "sensitivity without noise = f(sensitivity)",
        ]),
        heading("Intervals"),
        text(
            "An interval of 95 % is made so that, over many such runs on other cases of the same \
             sort, 95 of 100 contain the value that all such cases together would have. It counts \
             cases rather than samples, since the samples of one case are alike, and is wide where \
             there are few. Below two cases there is none.",
        ),
        heading("Words"),
        Block::Table(bands()),
    ];
    if let Some(kinds) = kinds(run) {
        blocks.push(heading("Kinds of variants in this run"));
        blocks.push(Block::Table(kinds));
    }
    blocks.push(heading("Seeds"));
    blocks.push(text(
        "The seed chooses the variants and nothing else: the same seed and cases give the same \
         variants, byte for byte, on every machine. The choices for one variant depend on the seed, \
         its case, its kind and its number, so that another case changes few of them. The pipeline \
         is not seeded.",
    ));
    blocks
}

/// The bands: the lowest value of each, and the words for it in both signals.
fn bands() -> Table {
    let lows = BANDS.iter().map(|low| format!("{low:.2} and more"));
    let last = BANDS.last().map(|low| format!("less than {low:.2}"));
    let words = SignalWords::Invariance.words();
    let words = words.into_iter().zip(SignalWords::Following.words());
    let rows = lows.chain(last).zip(words).map(|(from, (holds, moves))| {
        TableRow::new([Phrase::text(from), Phrase::text(holds), Phrase::text(moves)])
    });
    table(
        "Bands",
        ["value, unrounded", "invariance", "following"],
        rows.collect(),
    )
}

/// The kinds of perturbation in this run: the name, the change that the kind makes, and its expected effect on the
/// decision.
fn kinds(run: &EvidenceRun<'_>) -> Option<Table> {
    let variants = run.cases.values().flat_map(|case| &case.variants);
    // A loop is used, since `collect` would first make a list with the kinds of all variants.
    let mut made: BTreeSet<&str> = BTreeSet::new();
    for variant in variants {
        made.insert(&variant.kind);
    }
    let known = perturb::ALL.iter().filter(|kind| made.contains(kind.name));
    let rows = known.map(|kind| {
        let ought = match kind.figure.relation() {
            perturb::Relation::Invariance => "hold",
            perturb::Relation::Sensitivity => "move",
            perturb::Relation::Observation => "either",
        };
        TableRow::new([
            Phrase::of_name(kind.name),
            Phrase::text(kind.description),
            Phrase::text(ought),
        ])
    });
    let rows: Vec<TableRow> = rows.collect();
    let columns = ["kind", "what is done", "the decision ought to"];
    (!rows.is_empty()).then(|| table("Kinds", columns, rows))
}

fn table(title: &'static str, columns: [&'static str; 3], rows: Vec<TableRow>) -> Table {
    Table {
        title: Phrase::text(title),
        columns: columns.map(Column::text).to_vec(),
        rows,
        most: None,
        noun: "row",
        left: 0,
        elsewhere: None,
    }
}
