use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::*;
use crate::report::{Expected, fixture};

/// What a page turns into where it is shown.
#[derive(Debug, Default)]
struct Read {
    /// Text outside of code, as the reader of a page has it.
    text: String,
    /// HTML in it.
    html: Vec<String>,
    headings: usize,
    tables: usize,
    /// Cells of each row.
    rows: Vec<usize>,
    /// Links, pictures, formulas and footnotes: never there.
    active: Vec<String>,
}

fn read(page: &str) -> Read {
    let options = Options::all()
        - Options::ENABLE_SMART_PUNCTUATION
        - Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        - Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut read = Read::default();
    let mut in_code = false;
    for event in Parser::new_ext(page, options) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Heading { .. }) => read.headings += 1,
            Event::Start(Tag::Table(_)) => read.tables += 1,
            Event::Start(Tag::TableRow | Tag::TableHead) => read.rows.push(0),
            Event::Start(Tag::TableCell) => *read.rows.last_mut().expect("in a row") += 1,
            Event::Text(text) if !in_code => read.text.push_str(&text),
            Event::Html(html) | Event::InlineHtml(html) => read.html.push(html.trim().to_owned()),
            Event::SoftBreak | Event::HardBreak | Event::End(_) => read.text.push('\n'),
            Event::Start(
                tag @ (Tag::Link { .. } | Tag::Image { .. } | Tag::FootnoteDefinition(_)),
            ) => {
                read.active.push(format!("{tag:?}"));
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                read.active.push(text.to_string())
            }
            Event::FootnoteReference(text) => read.active.push(text.to_string()),
            Event::TaskListMarker(_) | Event::Rule => {
                read.active.push("a marker or a rule".to_owned())
            }
            Event::Start(tag @ (Tag::BlockQuote(_) | Tag::Strikethrough | Tag::DefinitionList)) => {
                read.active.push(format!("{tag:?}"));
            }
            _ => {}
        }
    }
    read
}

/// What a forge makes links, mentions and pictures of in finished text.
static ACTIVE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)@\w|\w@\w|://\S|www\.\w|#\d|\bgh-\d|:[\w+-]+:").expect("a pattern")
});

/// What programs that read comments take for an order.
static ORDERS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)@\w|^\s*/\w|^::|<!--").expect("a pattern"));

/// The page has the structure of one without any text of others in it.
fn harmless(page: &str, plain: &Read, text: &str) {
    let read = read(page);
    assert!(read.active.is_empty(), "{text:?} makes {:?}", read.active);
    assert_eq!(
        (read.headings, read.tables),
        (plain.headings, plain.tables),
        "{text:?}:\n{page}"
    );
    assert_eq!(read.rows, plain.rows, "{text:?}:\n{page}");
    // A text that shows nothing has no block of what was printed.
    let folds = read.html.len();
    let fewer = plain.html.len().min(2) * usize::from(safe::line(text).is_empty());
    assert_eq!(
        folds + fewer,
        plain.html.len(),
        "{text:?} makes {:?}",
        read.html
    );
    for html in &read.html {
        let ours = html == "</details>" || html.starts_with("<details><summary>");
        assert!(
            ours && html.matches('<').count() <= 3,
            "{text:?} makes {html}"
        );
    }
    let found = ACTIVE.find(&read.text).map(|found| found.as_str());
    assert_eq!(found, None, "{text:?}:\n{page}");
    let found = ORDERS.find(page).map(|found| found.as_str());
    assert_eq!(found, None, "{text:?}:\n{page}");
    assert!(
        !page.contains(|c: char| c.is_control() && c != '\n'),
        "{text:?}"
    );
    assert!(
        !page.contains(['\u{202e}', '\u{2066}', '\u{200f}', '\u{feff}']),
        "{text:?}"
    );
}

#[test]
fn untrusted_text_changes_nothing_but_the_text_of_a_report() {
    let plain = read(&render(&fixture::hostile("plain")));
    for text in fixture::corpus() {
        harmless(&render(&fixture::hostile(&text)), &plain, &text);
    }
}

#[test]
fn untrusted_text_changes_nothing_but_the_text_of_a_case() {
    let case = |text: &str| {
        let report = fixture::hostile(text);
        render_case(text, &report.cases[text], &Expected::of(&report))
    };
    let plain = read(&case("plain"));
    for text in fixture::corpus() {
        harmless(&case(&text), &plain, &text);
    }
}

#[test]
fn the_parser_of_these_tests_would_see_an_injection() {
    let page = "| a |\n| - |\n| @octocat [x](http://x) |\n\n<b>x</b> ![i](u) $x$\n\n# h\n";
    let read = read(page);
    assert_eq!((read.headings, read.tables, read.active.len()), (1, 1, 3));
    assert_eq!(read.html.len(), 2);
    assert!(ACTIVE.is_match(&read.text));
}

#[test]
fn peer_4e_a_report_as_markdown() {
    insta::assert_snapshot!(render(&fixture::bad()));
}

#[test]
fn peer_4e_a_report_of_a_case_as_markdown_lists_every_variant() {
    let report = fixture::bad();
    let page = render_case(
        "case_000",
        &report.cases["case_000"],
        &Expected::of(&report),
    );
    for variant in &report.cases["case_000"].variants {
        assert!(
            page.contains(&format!("| `{}` |", variant.id)),
            "{}",
            variant.id
        );
    }
    insta::assert_snapshot!(page);
}

#[test]
fn a_report_always_fits_a_comment_and_says_what_it_left_out() {
    for report in [
        fixture::large(2_000),
        fixture::hostile(&"long_text ".repeat(1_000)),
    ] {
        let page = render(&report);
        assert!(page.chars().count() < 60_000, "{}", page.chars().count());
    }
    let page = render(&fixture::large(2_000));
    assert!(
        page.contains("more cases, in `report.html` and `report.json`"),
        "{page}"
    );
    assert!(page.contains("more notices, in `report.html`"), "{page}");
}

#[test]
fn peer_4e_caps_skips_and_failures_are_in_the_report() {
    let page = render(&fixture::bad());
    assert!(
        page.contains("Caps, skips and warnings: 1 baseline failed"),
        "{page}"
    );
    assert!(page.contains("6 caps") && page.contains("at most 3 units come in, not 4"));
    assert!(page.contains("## 3 failed invocations, in no score"));
    assert!(page.contains("| ValueError: no rule applies"));
}

#[test]
fn kel_45_every_row_with_a_value_has_its_sample() {
    for report in [
        fixture::bad(),
        fixture::noisy(),
        fixture::half(),
        fixture::unmeasured(),
    ] {
        let page = render(&report);
        let rows = page.lines().filter(|line| line.starts_with("| "));
        let figures = rows.filter(|row| row.contains("0.") && !row.contains("| ---"));
        for row in figures {
            assert!(row.contains("n="), "{row}");
        }
    }
}

#[test]
fn kel_46_no_score_is_called_what_it_is_not() {
    for report in [fixture::bad(), fixture::noisy(), fixture::unmeasured()] {
        let case = render_case(
            "case_000",
            &report.cases["case_000"],
            &Expected::of(&report),
        );
        let page = (render(&report) + &case).to_lowercase();
        assert!(!page.contains("accuracy") && !page.contains("correctness"));
    }
}

#[test]
fn m15_a_type_without_a_sample_has_no_value() {
    let page = render(&fixture::half());
    assert!(
        page.contains("| `release_rule` | not measured | - | n=0 |"),
        "{page}"
    );
    assert!(
        page.starts_with("# Kelvin check: not measured in full\n"),
        "{page}"
    );
}
