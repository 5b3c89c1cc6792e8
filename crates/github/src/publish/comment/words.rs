//! The text below the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::more;
use crate::publish::Publication;
use kelvin_gate::Judgement;
use kelvin_gate::judgement::prose;
use kelvin_gate::policy::Effect;
use kelvin_page as page;
use kelvin_page::{and_more, capitalized, safe};

pub(super) fn reasons(judgement: &Judgement) -> String {
    let mut page = String::new();
    // The first reason was already shown above, unless it has no effect.
    let first = judgement.verdict.reasons.first();
    let shown = usize::from(first.is_some_and(|reason| reason.effect.is_some()));
    for (effect, text) in judgement
        .verdict
        .shared_reasons()
        .into_iter()
        .skip(shown)
        .take(20)
    {
        let mark = match effect {
            Some(Effect::Fail) => "❌ ",
            Some(Effect::Warn) => "⚠️ ",
            None => "",
        };
        let _ = writeln!(page, "- {mark}{}", capitalized(&prose(&text)));
    }
    page
}

pub(super) fn caveats(judgement: &Judgement) -> String {
    let told = judgement.caveats.iter().take(5);
    told.map(|text| format!("- ⚠️ {}\n", capitalized(&prose(text))))
        .collect()
}

pub(super) fn differences(judgement: &Judgement) -> String {
    let mut page = String::new();
    for difference in judgement.differences.iter().take(20) {
        let _ = writeln!(page, "- {}", capitalized(&prose(difference)));
    }
    if let Some(drift) = &judgement.drift {
        let _ = writeln!(page, "- {}", capitalized(&prose(&drift.note())));
    }
    match page.is_empty() {
        true => page,
        false => format!("What else differs from the base:\n\n{page}"),
    }
}

pub(super) fn notices(publication: &Publication<'_>, most: usize) -> String {
    let sections = publication.report.probes.iter();
    let of_items = sections.flat_map(|(_, section)| section.notices());
    let of_run = publication.report.notices.iter();
    let warnings = publication.warnings.iter();
    // A warning that applies to many items is shown once, at the place of the first one.
    let mut said: Vec<(&str, BTreeSet<&str>, usize)> = warnings
        .map(|text| (text.as_str(), BTreeSet::new(), 1))
        .collect();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    // Text that is shown before the figures is not repeated.
    let all = of_run.chain(of_items);
    for notice in all.filter(|one| publication.judgement.is_none() || !one.foremost) {
        let place = *places.entry(&notice.text).or_insert(said.len());
        if place == said.len() {
            said.push((&notice.text, BTreeSet::new(), 0));
        }
        let (_, items, times) = &mut said[place];
        items.extend(notice.case.as_deref());
        *times += 1;
    }
    if said.is_empty() {
        return String::new();
    }
    let all: usize = said.iter().map(|(_, _, times)| times).sum();
    let mut page = format!(
        "<details><summary>{}: caps, skips, warnings</summary>\n\n",
        page::counted(all, "notice")
    );
    for (text, items, times) in said.iter().take(most) {
        let text = capitalized(&prose(text));
        let _ = writeln!(page, "- {text}{}", of_whom(items, *times));
    }
    more(&mut page, said.len(), most, "notices");
    page.push_str("\n</details>\n");
    page
}

/// How often a warning occurs, and its items, if it occurs more than once.
fn of_whom(items: &BTreeSet<&str>, times: usize) -> String {
    const NAMED: usize = 5;
    if times == 1 {
        return String::new();
    }
    let named: Vec<String> = items
        .iter()
        .take(NAMED)
        .map(|item| safe::code_name(item, 40))
        .collect();
    let more = and_more(items.len().saturating_sub(NAMED));
    match named.as_slice() {
        [] => format!(" ({times} times)"),
        named => format!(" ({times} times: {}{more})", named.join(", ")),
    }
}

/// A note on how far the figures can be trusted, if another run has measured them.
pub(super) fn claim(publication: &Publication<'_>) -> String {
    let claim = publication.context.claim.as_deref();
    claim.map_or_else(String::new, |claim| {
        format!("> {}\n", prose(&safe::cut(claim, 600)))
    })
}

/// Why there is no comment, if the run may not write one.
pub(super) fn unposted(publication: &Publication<'_>) -> String {
    let context = publication.context;
    if !context.read_only || context.pull_request.is_none() {
        return String::new();
    }
    let why = match (context.is_fork, context.leaves_it) {
        (true, _) => "GitHub does not let a run of a fork write comments",
        (false, true) => "This run leaves its comment to another one (`comment: later`)",
        (false, false) => "GitHub does not let a run with this token write comments",
    };
    format!(
        "> {why}. The verdict counts all the same; a workflow with \
         `org/kelvin-action/post@v1` can post this page.\n"
    )
}

pub(super) fn reproduce(publication: &Publication<'_>) -> String {
    let Some(judgement) = publication.judgement else {
        return String::new();
    };
    // If a run was made in another tool, only the user knows how it was made.
    if publication.report.is_evaluation() {
        return String::new();
    }
    let Some(again) = &judgement.reproduce else {
        return String::new();
    };
    format!(
        "Reproduce, {}: {}\n",
        prose(&again.place()),
        code(&again.command(judgement))
    )
}

/// A complete command as code: a shortened command would be a different command. A command with a line break is not
/// shown, since the text after the line break would not be code any more.
fn code(command: &str) -> String {
    if !safe::is_one_line(command) {
        return "(its arguments cannot be shown in one line)".to_owned();
    }
    let longest = command
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{command}{space}{fence}")
}

/// The subject of the judgement, and the run that made it, if it was a workflow run.
pub(super) fn whence(publication: &Publication<'_>) -> String {
    let context = publication.context;
    let Some(url) = context.run_url() else {
        return String::new();
    };
    let commit = match context.head_sha.get(..7) {
        Some(commit) => format!("commit {}, ", safe::code(commit, 7)),
        None => String::new(),
    };
    let url = url.replace([' ', '(', ')', '<', '>'], "");
    format!("<sub>{commit}[the run]({url})</sub>\n")
}

pub(super) fn foot(publication: &Publication<'_>) -> String {
    let cost = &publication.report.run.session.cost;
    let mut parts = Vec::new();
    if let Some(judgement) = publication.judgement {
        parts.push(prose(&judgement.provenance()));
    }
    let mut calls = format!(
        "{} invocations, {} answered by the cache",
        cost.invocations, cost.cache_hits
    );
    if let Some(judgement) = publication
        .judgement
        .filter(|judgement| judgement.reruns > 0)
    {
        let _ = write!(
            calls,
            ", {} of the invocations to look again at doubtful {}",
            judgement.reruns,
            judgement.verdict.common_nouns().items
        );
    }
    let of_the_base = publication
        .judgement
        .and_then(|judgement| judgement.base_invocations);
    if let Some(base) = of_the_base {
        let _ = write!(calls, "; the base took {base} invocations");
        let again = publication.judgement.map_or(0, |found| found.base_reruns);
        if again > 0 {
            let _ = write!(
                calls,
                ", and {again} more to run it again beside the change"
            );
        }
    }
    let of_answers = publication.report.run.session.cost.usage_of_answers;
    if let Some(used) = page::used(of_answers.as_ref()) {
        let _ = write!(calls, "; {used}");
        let ratio = publication
            .judgement
            .and_then(|judgement| judgement.cost_ratio);
        if let Some(ratio) = ratio {
            let _ = write!(
                calls,
                ", {ratio:.1} times the cost of the base for each answer"
            );
        }
    }
    parts.push(calls);
    let judges = publication.report.run.session.judge_cost.as_ref();
    parts.extend(judges.map(page::of_judges));
    format!("<sub>{}</sub>\n", parts.join(" · "))
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Parser};

    use super::code;

    #[test]
    fn a_command_is_code_or_is_not_shown() {
        assert_eq!(
            code("kelvin gate --only='a  b'"),
            "`kelvin gate --only='a  b'`"
        );
        assert_eq!(code("kelvin gate `x`"), "`` kelvin gate `x` ``");
        for hostile in [
            "kelvin gate '\n\n# Approved\n\n/merge @team'",
            "kelvin gate \r![x](https://example.org/x.png)",
            "kelvin gate \u{2028}@team",
            "kelvin gate \u{85}@team",
        ] {
            let shown = code(hostile);
            assert_eq!(shown.lines().count(), 1, "{shown}");
            let is_text = |event: Event<'_>| {
                matches!(event, Event::Start(_) | Event::End(_) | Event::Text(_))
            };
            assert!(Parser::new(&shown).all(is_text), "{shown}");
            assert!(
                !shown.contains("team") && !shown.contains("https"),
                "{shown}"
            );
        }
    }
}
