//! The summary of a period in a few lines, for a chat channel or an issue.

use std::fmt::Write as _;

use super::cost;
use super::statements::statements;
use crate::trend::summary::{OfConfiguration, Summary};
use kelvin_base::cost::Cost;
use kelvin_page::{Tone, counted, safe};

/// How many statements are shown. With the first line, the costs and a line for the rest, the text has twelve lines.
const SHOWN: usize = 9;
/// The maximum width of a foreign name, in columns.
const NAME: usize = 60;

/// The lines. Names are put between backticks, which chats and forges show in the same way.
pub(crate) fn short(summary: &Summary) -> String {
    let (first, last) = &summary.weeks;
    let weeks = match first == last {
        true => first.clone(),
        false => format!("{first} to {last}"),
    };
    let each = || summary.configurations.iter();
    let runs: usize = each().map(|one| one.runs).sum();
    let before: usize = each().map(|one| one.runs_before).sum();
    let mut page = format!(
        "**Kelvin digest of {weeks}**: {} of {}, {before} in the period before\n",
        counted(runs, "run"),
        counted(summary.configurations.len(), "configuration")
    );
    let said = statements(summary);
    for one in said.iter().take(SHOWN) {
        let mark = match one.tone {
            Tone::Alarm => "❌",
            Tone::Caution => "⚠️",
            Tone::Calm => "✅",
        };
        let text = one.text.show(|_, name| safe::code_name(name, NAME));
        let _ = writeln!(page, "- {mark} {}.", kelvin_page::capitalized(&text));
    }
    if let Some(more @ 1..) = said.len().checked_sub(SHOWN) {
        let _ = writeln!(page, "- and {more} more");
    }
    let sum = |of: &dyn Fn(&OfConfiguration) -> Cost| {
        let all = each().map(of);
        all.fold(Cost::default(), Cost::plus)
    };
    let _ = writeln!(
        page,
        "- Cost: {}; before: {}.",
        cost(&sum(&|one| one.cost)),
        cost(&sum(&|one| one.cost_before))
    );
    page
}
