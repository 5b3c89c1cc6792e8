//! The comment that asks for the approval of a regression. The hidden line comes before this text.

use std::fmt::Write as _;

use crate::publish::named;
use kelvin_gate::approval::Approval;
use kelvin_gate::judgement::prose;

/// The question, who may answer, and how. `mind`: the effects of the change on the rules and on what is measured, which
/// the person who decides has to know.
pub fn asking(approval: &Approval, mind: &[String]) -> String {
    let request = &approval.request;
    let key = approval.origin.as_ref().map_or("", |origin| &origin.key);
    let short = |commit: &str| -> String {
        let plain = commit.chars().filter(char::is_ascii_alphanumeric);
        plain.take(7).collect()
    };
    let mut page = format!(
        "### ⏸️ {} asks for approval of `{}`\n\nCompared with `{}`, this has regressed:\n\n",
        named(key, 40),
        short(&request.head),
        short(&request.base)
    );
    for one in &request.regressions {
        let _ = writeln!(page, "- {}", prose(&one.words()));
    }
    if !mind.is_empty() {
        page.push_str("\nPlease note:\n\n");
    }
    for text in mind.iter().take(10) {
        let _ = writeln!(page, "- {}", prose(text));
    }
    let time = match approval.rules.timeout_s / 60 {
        minutes if minutes % 60 != 0 => format!("{minutes} minutes"),
        60 => "1 hour".to_owned(),
        minutes => format!("{} hours", minutes / 60),
    };
    let not_author = match approval.rules.not_author {
        true => " Whoever wrote the change does not decide.",
        false => "",
    };
    let _ = writeln!(
        page,
        "\n**It passes if {} {}, within {time} of this comment.**{not_author} `/kelvin reject {} REASON` \
         rejects it. A new commit, another base or a further regression makes this request void.\n\n\
         <sub>Request {}. It counts as it was written: a change of this comment makes it void.</sub>",
        prose(&approval.who()),
        prose(&approval.how()),
        approval.id,
        approval.id
    );
    page
}

/// The decision, for a check run that is completed again.
pub fn decided(approval: &Approval) -> String {
    let mut page = format!("**{}**\n\n", prose(&approval.sentence()));
    for one in &approval.request.regressions {
        let _ = writeln!(page, "- {}", prose(&one.words()));
    }
    if !approval.ignored.is_empty() {
        page.push_str("\nWhat was said and does not count:\n\n");
    }
    for ignored in approval.ignored.iter().take(20) {
        let _ = writeln!(page, "- {}", prose(ignored));
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use kelvin_fixtures::text::{lines_with, redacted};
    use kelvin_gate::approval::{Origin, Regressed, Request, Rules};

    #[test]
    fn no_name_and_no_reason_forges_markup_in_what_is_asked() {
        for text in kelvin_fixtures::page::corpus() {
            let request = Request {
                head: text.clone(),
                base: text.clone(),
                regressions: vec![Regressed {
                    metric: text.clone(),
                    case: Some(format!("{text} @everybody")),
                    base: None,
                    head: None,
                    drop: None,
                    within: 0.0,
                    suspected: false,
                }],
            };
            let rules = Rules {
                by: vec!["alice".to_owned()],
                label: Some(text.clone()),
                comment: true,
                timeout_s: 5_400,
                not_author: true,
            };
            let mut approval = Approval::pending(request, rules, text.clone());
            approval.origin = Some(Origin {
                key: format!("{text} @everybody"),
                ..Origin::default()
            });
            approval
                .ignored
                .push(format!("{text}\n# forged\n@everybody"));
            let mind = [format!("{text}\n<!-- kelvin-approval x -->")];
            for page in [asking(&approval, &mind), decided(&approval)] {
                assert!(
                    !page.contains("<!--") && !page.contains("@everybody"),
                    "{page}"
                );
                assert!(
                    page.lines().all(|line| !line.starts_with("# forged")),
                    "{page}"
                );
            }
        }
    }

    #[test]
    fn the_time_for_a_decision_is_told_in_its_own_unit() {
        let rules = |timeout_s| Rules {
            by: vec!["write".to_owned()],
            label: None,
            comment: true,
            timeout_s,
            not_author: false,
        };
        let request = Request {
            head: "a".to_owned(),
            base: "b".to_owned(),
            regressions: Vec::new(),
        };
        let mut told = Vec::new();
        let mut headings = BTreeSet::new();
        for (seconds, time) in [(5_400, "90 "), (3_600, "1 "), (259_200, "72 ")] {
            let mut approval = Approval::pending(request.clone(), rules(seconds), String::new());
            let page = asking(&approval, &[]);
            told.push(lines_with(&page, &[&format!(" {time}")]));
            headings.extend(page.lines().next().map(str::to_owned));
            // Where there are several configurations, the comment names the one that asks.
            approval.origin = Some(Origin {
                key: "rag-small".to_owned(),
                ..Origin::default()
            });
            let page = asking(&approval, &[]);
            headings.extend(page.lines().next().map(str::to_owned));
        }
        insta::assert_snapshot!(redacted(&told.join("\n")), @"
        **It passes if whoever may push to the repository comments `/kelvin approve REASON`, within 90 minutes of this comment.** `/kelvin reject [HASH] REASON` rejects it. A new commit, another base or a further regression makes this request void.
        **It passes if whoever may push to the repository comments `/kelvin approve REASON`, within 1 hour of this comment.** `/kelvin reject [HASH] REASON` rejects it. A new commit, another base or a further regression makes this request void.
        **It passes if whoever may push to the repository comments `/kelvin approve REASON`, within 72 hours of this comment.** `/kelvin reject [HASH] REASON` rejects it. A new commit, another base or a further regression makes this request void.
        ");
        insta::assert_snapshot!(Vec::from_iter(headings).join("\n"), @"
        ### ⏸️ Kelvin (rag-small) asks for approval of `a`
        ### ⏸️ Kelvin asks for approval of `a`
        ");
    }
}
