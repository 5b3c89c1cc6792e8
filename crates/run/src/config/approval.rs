//! Checks the section `gate.approval` beyond its types.

use std::collections::BTreeSet;

use super::diagnostic::Problem;
use super::yaml::Node;
use kelvin_record::approval::{LABEL, LONGEST, seconds};

/// The problems of the section. Values of a wrong type are skipped, since the schema reports them.
pub(super) fn problems(file: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    let Some(section) = file.get(&["gate", "approval"]) else {
        return found;
    };
    let mut seen = BTreeSet::new();
    for (name, at) in section.texts(&["by"]) {
        if let Some((message, help)) = wrong_name(name) {
            found.push(Problem::new(at.clone(), message).help(help));
        } else if !seen.insert(name.to_lowercase()) {
            let message = format!("`{name}` is listed twice");
            found.push(Problem::new(at.clone(), message).help("leave one of them out"));
        }
    }
    let ways = section.texts(&["how"]);
    for (index, (way, at)) in ways.iter().enumerate() {
        if ways[..index].iter().any(|(other, _)| other == way) {
            let message = format!("`{way}` is listed twice");
            found.push(Problem::new((*at).clone(), message).help("leave one of them out"));
        }
    }
    if let Some((label, at)) = section.text(&["label"]) {
        let is_plain = label.trim() == label && !label.chars().any(char::is_control);
        if label.trim().is_empty() || !is_plain || label.chars().count() > LABEL {
            let message = format!("`{}` cannot be the name of a label", label.escape_default());
            let help = "a label has 1 to 50 characters, and no space at its ends";
            found.push(Problem::new(at.clone(), message).help(help));
        }
    }
    if let Some((text, at)) = section.text(&["timeout"])
        && seconds(text).is_some_and(|seconds| seconds > LONGEST)
    {
        let message = format!("`{text}` is longer than 30 days");
        let help = "write at most `30d`: GitHub does not run a job again after 30 days";
        found.push(Problem::new(at.clone(), message).help(help));
    }
    found
}

/// The problem of an entry of `by`, and what to do about it.
fn wrong_name(name: &str) -> Option<(String, String)> {
    let is_login = |text: &str| {
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !text.is_empty() && text.len() <= 100 && text.chars().all(inside) && !text.starts_with('-')
    };
    let is_slug = |text: &str| is_login(text) || text.split('.').all(is_login);
    if let Some(bare) = name.strip_prefix('@') {
        let message = format!("`{name}` begins with `@`");
        return Some((message, format!("write `{bare}`")));
    }
    if name.ends_with("[bot]") {
        let message = format!("`{name}` is a bot");
        return Some((
            message,
            "only people may approve: name a user or a team".to_owned(),
        ));
    }
    let is_right = match name.split_once('/') {
        Some((org, team)) => is_login(org) && is_slug(team),
        None => is_login(name),
    };
    (!is_right).then(|| {
        (
            format!(
                "`{}` names neither a user nor a team",
                name.escape_default()
            ),
            "write `write`, the login of a user, or a team as `org/team`".to_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml;

    fn told(section: &str) -> String {
        let tree = yaml::parse(&format!("gate:\n  approval: {section}\n"));
        let tree = tree.unwrap_or_else(|_| panic!("`{section}` is YAML"));
        let problems = problems(&tree);
        let texts: Vec<String> = problems
            .iter()
            .map(|problem| format!("{problem:?}"))
            .collect();
        texts.join("\n")
    }

    #[test]
    fn users_teams_and_everybody_who_may_push_are_names_and_nothing_else_is() {
        for good in [
            "write",
            "alice",
            "al-ice",
            "al_ice",
            "acme/leads",
            "acme/lead.team",
        ] {
            assert_eq!(told(&format!("{{ by: [{good}] }}")), "", "{good}");
        }
        for wrong in [
            "\"@alice\"",
            "\"dependabot[bot]\"",
            "\"a b\"",
            "\"\"",
            "acme/",
            "/leads",
            "a/b/c",
            "-a",
            "\"../x\"",
        ] {
            assert_ne!(told(&format!("{{ by: [{wrong}] }}")), "", "{wrong}");
        }
        assert!(told("{ by: [alice, Alice] }").contains("twice"));
    }

    #[test]
    fn a_time_is_read_in_minutes_hours_and_days_and_no_longer_than_a_job_can_be_run_again() {
        assert_eq!(seconds("90m"), Some(5_400));
        assert_eq!(seconds("72h"), Some(259_200));
        assert_eq!(seconds("30d"), Some(LONGEST));
        assert_eq!(told("{ by: [write], timeout: 30d }"), "");
        assert!(told("{ by: [write], timeout: 31d }").contains("30 days"));
        assert!(told("{ by: [write], timeout: 721h }").contains("30 days"));
    }

    #[test]
    fn a_label_is_a_name_that_github_takes() {
        assert_eq!(told("{ by: [write], label: may pass }"), "");
        for wrong in [" x", "x\\n", &"x".repeat(51)] {
            let text = told(&format!("{{ by: [write], label: \"{wrong}\" }}"));
            assert!(text.contains("label"), "{wrong}: {text}");
        }
    }
}
