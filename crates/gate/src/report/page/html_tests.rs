use crate::fixtures::page::{corpus, unpacked};
use crate::fixtures::report as fixture;
use crate::fixtures::report::EvidenceReport as _;
use crate::fixtures::text::lines_with;
use crate::report::Report;
use crate::report::page::to_html as write;
use kelvin_evidence::page::Standing;
use kelvin_page::html::{STYLE, permission};

pub(super) fn page(report: &Report) -> String {
    let texts = |case: &str, variant: Option<&str>| fixture::input(report, case, variant);
    let mut page = Vec::new();
    write(&mut page, report, None, &texts).expect("the templates fit their values");
    String::from_utf8(page).expect("a page is text")
}

fn every_fixture() -> Vec<Report> {
    vec![
        fixture::good(),
        fixture::bad(),
        fixture::noisy(),
        fixture::half(),
        fixture::unmeasured(),
        fixture::dry_run(),
        fixture::interrupted(),
    ]
}

/// Every tag of a page, with its attributes; a text that breaks out of its place adds one.
fn tags(page: &str) -> Vec<String> {
    let script = page.find("<script>").expect("there is one");
    let after = page.find("</script>").expect("it ends");
    let style = page.find("<style>").expect("there is one");
    let styled = page.find("</style>").expect("it ends");
    let outside = [&page[..style], &page[styled..script], &page[after..]].concat();
    let mut tags = Vec::new();
    let mut rest = outside.as_str();
    while let Some(at) = rest.find('<') {
        let end = rest[at..].find('>').map_or(rest.len(), |end| at + end + 1);
        tags.push(rest[at..end].to_owned());
        rest = &rest[end..];
    }
    tags
}

/// The names of the tags: what a page is made of.
fn names(page: &str) -> Vec<String> {
    tags(page)
        .iter()
        .map(|tag| {
            let name = tag.trim_start_matches('<').split([' ', '>']).next();
            name.unwrap_or_default().to_owned()
        })
        .collect()
}

#[test]
fn kel_44_the_page_asks_for_nothing_from_elsewhere() {
    for report in every_fixture() {
        let page = page(&report);
        for word in [
            "http:", "https:", "url(", "@import", "<link", "<img", "<iframe", "src=", "<base",
            "<object",
        ] {
            assert!(!page.contains(word), "{word}");
        }
        for tag in tags(&page).iter().filter(|tag| tag.contains("href")) {
            assert!(tag.starts_with("<a href=\"#"), "{tag}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn kel_44_untrusted_text_is_escaped_wherever_it_stands() {
    for text in corpus() {
        let page = page(&fixture::hostile(&text));
        let plain = self::page(&fixture::hostile("plain"));
        // The tags around what is empty, of one more diff line, or of another band may differ; no
        // tag that only a text could bring may come up.
        let known = names(&plain);
        for name in names(&page) {
            let ours = known.contains(&name)
                || matches!(&*name, "mark" | "/mark" | "h4" | "/h4" | "pre" | "/pre");
            assert!(ours, "{text:?} brings <{name}>");
        }
        assert_eq!(page.matches("<script").count(), 1, "{text:?}");
        assert_eq!(page.matches("<title>").count(), 1, "{text:?}");
        let title = &page[page.find("<title>").unwrap()..page.find("</title>").unwrap()];
        // The word is ours; which one it is depends on what is counted, not on what it looks like.
        let words = Standing::ALL.map(|one| format!("<title>{}: kelvin, 2 cases", one.title()));
        assert!(words.iter().any(|word| word == title), "{text:?}: {title}");
        for tag in tags(&page) {
            let mut attributes = tag.to_lowercase();
            if let Some(label) = attributes.find("aria-label=\"") {
                let end = attributes[label + 12..].find('"').expect("it is closed");
                attributes.replace_range(label..label + 12 + end, "");
            }
            let handler = attributes.contains(" on") || attributes.contains("javascript:");
            assert!(!handler, "{text:?} brings {tag}");
        }
        assert!(
            !page.contains(['\u{202e}', '\u{2066}', '\u{1b}', '\0']),
            "{text:?}"
        );
    }
}

#[test]
fn kel_45_every_figure_of_the_page_has_its_sample() {
    for report in every_fixture() {
        let page = page(&report);
        for (at, _) in page.match_indices("<p class=\"value") {
            let card: String = page[at..].chars().take(900).collect();
            assert!(card.contains("n="), "{card}");
        }
        for (at, _) in page.match_indices("<td class=\"n\"><b>") {
            let row: String = page[at..].chars().take(200).collect();
            assert!(row.contains("<td>n="), "{row}");
        }
        for (at, _) in page.match_indices("<span class=\"mini\">") {
            let mini: String = page[at..].chars().take(200).collect();
            assert!(mini.contains("<small>n="), "{mini}");
        }
        for (at, _) in page.match_indices("<td style=\"--v:") {
            let cell: String = page[at..].chars().take(100).collect();
            assert!(cell.contains("<small>n="), "{cell}");
        }
    }
}

#[test]
fn kel_46_no_score_is_called_what_it_is_not() {
    for report in every_fixture() {
        let page = page(&report).to_lowercase();
        assert!(!page.contains("accuracy") && !page.contains("correctness"));
    }
}

#[test]
fn peer_4e_the_page_has_every_variant_every_failure_and_every_notice() {
    let report = fixture::bad();
    let page = page(&report);
    for (name, case) in report.cases() {
        assert!(
            page.contains(&format!("<span class=\"name\">{name}</span>")),
            "{name}"
        );
        for variant in &case.variants {
            assert!(page.contains(&format!("<th scope=\"row\">{}</th>", variant.id)));
        }
    }
    assert!(page.contains("ValueError: no rule applies"));
    insta::assert_snapshot!(lines_with(&page, &["1 of 13", "id=\"failures\""]), @r#"
    <h2 id="failures" class="section">3 failed invocations</h2>
    <li><strong>baseline failed</strong> the baseline failed in 1 of 13 cases, which are in no score: case_012 <span class="soft">(12 of 13)</span></li>
    "#);
    assert_eq!(
        page.matches("<strong>cap</strong>").count(),
        12,
        "with its case and in the list"
    );
}

#[test]
fn peer_4e_a_page_of_nothing_measured_is_never_healthy() {
    let calm = "class=\"calm\"";
    let good = page(&fixture::good());
    assert!(good.contains(calm));
    let mut verdicts = Vec::new();
    for report in [fixture::unmeasured(), fixture::dry_run(), fixture::half()] {
        let page = page(&report);
        verdicts.push(lines_with(&page, &["<h1 id=\"verdict\">"]));
        assert!(!page.contains(calm));
        assert!(!page.contains("<figure class=\"plane\">"));
    }
    insta::assert_snapshot!(verdicts.join("\n"), @r#"
    <h1 id="verdict">Not measured</h1>
    <h1 id="verdict">Dry run</h1>
    <h1 id="verdict">Half measured</h1>
    "#);
}

#[test]
fn only_what_went_against_expectation_has_a_diff() {
    let good = page(&fixture::good());
    let bad = page(&fixture::bad());
    // The title of the new order is the last one before its first unit.
    let unit = "<li class=\"marked\">release_rule <small>";
    let (before, after) = bad.split_once(unit).expect("a new order");
    assert!(after[..after.find("</small>").expect("its end")].contains('2'));
    let title = &before[before.rfind("<summary>").expect("a title")..];
    let title = &title[..title.find("</summary>").expect("its end")];
    assert!(!good.contains("class=\"diff\"") && !good.contains(title));
    assert!(bad.contains("class=\"diff\""));
    assert!(bad.contains("<mark>case_000</mark>"));
}

#[test]
fn a_page_of_a_thousand_cases_stays_under_15_mb_and_says_what_it_left_out() {
    let usual = page(&fixture::large(1_000));
    assert!(usual.len() < 12_000_000, "{} bytes", usual.len());
    assert!(!usual.contains("<code>report.md</code>"));
    // Every pad moved the decision, and each has a diff; a new order is shown as such.
    let worst = fixture::report(1_000, |_, kind, _| {
        Some(f64::from(u8::from(kind != "swap")))
    });
    let page = page(&worst);
    assert!(page.len() < 15_000_000, "{} bytes", page.len());
    let diffs = in_all(&page, "class=\"diff\"");
    // What is said in the place of a diff ends with the name of a file.
    let left_out = in_all(&page, "</code></span>");
    assert_eq!(diffs + left_out, 6_000);
    assert!(diffs >= 1_000, "{diffs}");
    let note = lines_with(&page, &["<code>report.md</code>"]);
    assert!(note.contains(&format!(" {left_out} ")), "{note}");
    let note = note.replace(&left_out.to_string(), "[DIFFS]");
    insta::assert_snapshot!(note, @r#"<p class="soft">Left out to keep this page quick: [DIFFS] diffs and 0 variants that did as they ought to. Their inputs are in the folders of the cases, their figures in the <code>report.md</code> beside them and in <code>report.json</code>.</p>"#);
}

/// How often a text stands on a page, the details of packed items included.
fn in_all(page: &str, text: &str) -> usize {
    let details = unpacked(page);
    assert!(details.len() >= 800, "only {} are packed", details.len());
    let packed = details.iter().map(|(_, one)| one.matches(text).count());
    page.matches(text).count() + packed.sum::<usize>()
}

#[test]
fn beyond_its_budget_a_page_lists_only_what_went_against_expectation() {
    let report = fixture::report(1_200, |_, kind, _| {
        Some(f64::from(u8::from(kind == "swap")))
    });
    let page = page(&report);
    assert_eq!(in_all(&page, "<td class=\"expected\">"), 15_000);
    insta::assert_snapshot!(lines_with(&page, &[" 3000 "]), @r#"<p class="soft">Left out to keep this page quick: 0 diffs and 3000 variants that did as they ought to. Their inputs are in the folders of the cases, their figures in the <code>report.md</code> beside them and in <code>report.json</code>.</p>"#);
}

#[test]
fn the_script_is_the_one_that_the_page_permits() {
    let page = page(&fixture::good());
    let script = &page[page.find("<script>").unwrap() + 8..page.find("</script>").unwrap()];
    let permission = permission(script);
    let escaped = permission.replace('\'', "&#x27;").replace('/', "&#x2f;");
    assert!(
        page.contains(&format!("script-src {escaped};")),
        "{permission}"
    );
    assert!(!script.contains("innerHTML") && !script.contains("eval("));
}

/// WCAG 2.2, 1.4.3: 4.5 to 1 for text, on every ground that it stands on.
#[test]
fn every_ink_can_be_read_on_every_ground() {
    let css = STYLE;
    let schemes: Vec<&str> = css
        .match_indices("--page:")
        .map(|(at, _)| &css[at..])
        .collect();
    assert_eq!(schemes.len(), 3, "light, dark and paper");
    for scheme in &schemes[..2] {
        let colour = |name: &str| {
            let at = scheme.find(&format!("--{name}:")).expect(name) + name.len() + 3;
            scheme[at..].trim_start()[..7].to_owned()
        };
        for (inks, grounds) in [
            (
                ["ink", "soft", "accent"].as_slice(),
                ["page", "card"].as_slice(),
            ),
            (
                ["good", "fair", "bad"].as_slice(),
                ["page", "card"].as_slice(),
            ),
            (
                ["ink"].as_slice(),
                ["cool", "hot", "add", "del", "mark"].as_slice(),
            ),
            (["soft"].as_slice(), ["cool"].as_slice()),
        ] {
            for ink in inks {
                for ground in grounds {
                    let ratio = contrast(&colour(ink), &colour(ground));
                    assert!(ratio >= 4.5, "{ink} on {ground}: {ratio:.2}");
                }
            }
        }
    }
}

/// The contrast ratio of WCAG.
fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour: &str| {
        let part = |at: usize| {
            let value = u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    };
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}
