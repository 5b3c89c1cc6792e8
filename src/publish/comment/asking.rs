//! The comment that asks somebody to approve a regression. The hidden line stands before these words.

use std::fmt::Write as _;

use crate::gate::approval::Approval;
use crate::gate::judgement::prose;

/// What is asked, of whom, and how to answer.
pub(crate) fn asking(approval: &Approval) -> String {
    let request = &approval.request;
    let short = |commit: &str| -> String {
        let plain = commit.chars().filter(char::is_ascii_alphanumeric);
        plain.take(7).collect()
    };
    let mut page = format!(
        "### ⏸️ Kelvin asks for approval of `{}`\n\nCompared with `{}`, this has regressed:\n\n",
        short(&request.head),
        short(&request.base)
    );
    for one in &request.regressions {
        let _ = writeln!(page, "- {}", prose(&one.words()));
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
        "\n**It passes if {} {}, within {time} of this comment.**{not_author} `/kelvin reject REASON` \
         rejects it. A new commit, another base or a further regression makes this request void.\n\n\
         <sub>Request {}. It counts as it was written: a change of this comment makes it void.</sub>",
        prose(&approval.who()),
        prose(&approval.how()),
        approval.id
    );
    page
}

/// What was decided, for a check run that is closed anew.
pub(crate) fn decided(approval: &Approval) -> String {
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
