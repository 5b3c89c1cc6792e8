//! Shows problems of a file in the style of a compiler: the problem, the line with a caret, and advice.

use std::ops::Range;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use kelvin_base::exit::{Finding, Misuse};

/// Problems beyond this number are counted, not shown.
const MOST_SHOWN: usize = 40;

/// One problem in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The byte range to mark; `0..0` if the problem concerns the whole file.
    pub at: Range<usize>,
    /// The problem, in lower case and without a full stop.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The key with the problem, as a path through the file.
    pub key: Option<String>,
}

impl Problem {
    /// A problem with a message but without advice.
    pub fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            help: None,
            key: None,
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// All problems of a file as one error, in the order of the file; problems of the whole file come first.
pub fn misuse(file: &Path, source: &str, mut problems: Vec<Problem>) -> Misuse {
    problems.sort_by_key(|problem| problem.at.start);
    let name = tame(&file.display().to_string());
    let mut shown: Vec<String> = problems
        .iter()
        .take(MOST_SHOWN)
        .map(|problem| render(&name, source, problem))
        .collect();
    if problems.len() > MOST_SHOWN {
        let more = problems.len() - MOST_SHOWN;
        shown.push(format!("error: {more} more problems in `{name}`"));
    }
    let text = shown.join("\n\n");
    let first = problems.first().map_or(0, |problem| problem.at.start);
    let breaks: Vec<usize> = source.match_indices('\n').map(|(at, _)| at).collect();
    let line = |at: usize| 1 + breaks.partition_point(|end| *end < at);
    // The command line says "error:" before every error.
    let misuse = Misuse::new(text.strip_prefix("error: ").unwrap_or(&text)).at(file, line(first));
    problems.into_iter().fold(misuse, |misuse, problem| {
        misuse.finding(Finding {
            file: Some(file.to_path_buf()),
            line: (problem.at != (0..0)).then(|| line(problem.at.start)),
            key: problem.key,
            what: problem.message,
            help: problem.help,
        })
    })
}

fn render(name: &str, source: &str, problem: &Problem) -> String {
    let message = tame(&problem.message);
    let title = Level::ERROR.primary_title(message);
    let group = if problem.at == (0..0) {
        title.element(Origin::path(name))
    } else {
        let end = problem.at.end.max(problem.at.start);
        title.element(
            Snippet::source(source)
                .path(name)
                .annotation(AnnotationKind::Primary.span(problem.at.start..end)),
        )
    };
    let group: Group<'_> = match &problem.help {
        Some(help) => group.element(Level::HELP.message(tame(help))),
        None => group,
    };
    Renderer::plain().render(&[group])
}

/// Text of the file or of its name in one line. Control and bidirectional characters are escaped, so that the text
/// cannot move the cursor or hide what follows.
pub fn tame(text: &str) -> String {
    const MOST: usize = 400;
    let mut tamed = String::new();
    for character in text.chars().take(MOST) {
        let hides = matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if character.is_control() || hides {
            tamed.extend(character.escape_default());
        } else {
            tamed.push(character);
        }
    }
    if text.chars().nth(MOST).is_some() {
        tamed.push('…');
    }
    tamed
}
