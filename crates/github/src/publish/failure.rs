//! A run that ended before the measurement: its texts for all places, with the remark that earlier texts are not about
//! this commit.

use std::fmt::Write as _;

use super::{Annotation, Context, Level, named};
use kelvin_page::safe;

/// The maximum length of a reason, in characters.
const REASON: usize = 4_000;

/// A run that ended before the measurement.
#[derive(Clone, Debug)]
pub struct UnmeasuredRun<'a> {
    /// The circumstances of the run.
    pub context: &'a Context,
    /// The kind of the failure, in a sentence without its full stop; our own text.
    pub what: &'static str,
    /// The reason, without secrets; it has several lines, and may contain text from the configuration, a case or a
    /// program.
    pub reason: String,
    /// The path of the file in the repository, and the line, if the failure concerns a file.
    pub place: Option<(String, usize)>,
    /// The level of the failure in the log.
    pub level: Level,
}

/// The page: the comment, the job summary and the check run.
pub fn page(failure: &UnmeasuredRun<'_>) -> String {
    let context = failure.context;
    let kelvin = named(&context.configuration, 40);
    let head: String = context
        .head_sha
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(7)
        .collect();
    let commit = match head.is_empty() {
        true => "this commit".to_owned(),
        false => format!("`{head}`"),
    };
    let mut page = format!(
        "### ❌ {kelvin}: could not check {commit}\n\n**{}.** There is no verdict, so nothing is \
         known of this change; what stood here before was about another run or attempt.\n\n{}",
        failure.what,
        safe::fenced(&failure.reason, REASON)
    );
    if let Some(url) = context.run_url() {
        let url = url.replace([' ', '(', ')', '<', '>'], "");
        let _ = writeln!(page, "\n<sub>[run]({url})</sub>");
    }
    page
}

/// The failure in one line.
pub fn title(failure: &UnmeasuredRun<'_>) -> String {
    safe::cut(&format!("Not checked: {}", failure.what), 200)
}

/// A remark at the place of the failure, if there is one.
pub fn annotation(failure: &UnmeasuredRun<'_>) -> Option<Annotation> {
    let (path, line) = failure.place.clone()?;
    Some(Annotation {
        level: failure.level,
        path,
        line,
        title: "Kelvin".to_owned(),
        message: failure.reason.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_reason_forges_markup_on_the_page() {
        let context = Context {
            head_sha: "abc1234def\n<!-- x".to_owned(),
            configuration: "a|b @all".to_owned(),
            repository: "acme/widgets".to_owned(),
            server_url: "https://github.example".to_owned(),
            run_id: "7".to_owned(),
            ..Context::default()
        };
        for reason in kelvin_fixtures::page::corpus() {
            let failure = UnmeasuredRun {
                context: &context,
                what: "`setup` failed",
                reason: format!("first\n{reason}\n```\n# forged\n@everybody"),
                place: Some((reason.clone(), 0)),
                level: Level::Failure,
            };
            let page = page(&failure);
            assert_eq!(
                page.matches("### ").count(),
                1 + reason.matches("### ").count()
            );
            assert!(
                page.lines().all(|line| !line.starts_with("# forged")),
                "{page}"
            );
            assert!(
                !page.contains("@everybody") && !page.contains("@all"),
                "{page}"
            );
            assert!(!page.contains("<!--"), "{page}");
            assert!(page.starts_with("### ❌ Kelvin"), "{page}");
            assert!(page.len() < 60_000);
        }
    }
}
