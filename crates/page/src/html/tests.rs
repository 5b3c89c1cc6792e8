use super::*;
use crate::{DISCLAIMER, fixture};

fn page(text: &str) -> String {
    let (only, failure, notices) = (
        vec![text.to_owned()],
        fixture::failure(text),
        fixture::notices(text),
    );
    let run = fixture::run(text, &only, &failure, &notices);
    let texts =
        |_: &str, part: Option<&str>| Some(format!("above\n{}\n", part.unwrap_or("before")));
    let mut to = Vec::new();
    write(&mut to, run, &texts).expect("the templates fit their values");
    String::from_utf8(to).expect("a page is text")
}

/// What a page is made of: its tags without the text of others in labels and titles.
fn tags(page: &str) -> Vec<String> {
    let foreign = regex::Regex::new("(aria-label|title)=\"[^\"]*\"|href=\"\\.&#x2f;[^\"]*\"");
    let foreign = foreign.expect("a pattern");
    let (_, body) = page.split_once("</style>").expect("there is a style");
    let (body, _) = body.split_once("<script>").expect("there is a script");
    let tags = regex::Regex::new("<[^>]*>").expect("a pattern");
    let found = tags.find_iter(body).map(|tag| tag.as_str());
    found
        .map(|tag| foreign.replace_all(tag, "$1").into_owned())
        .collect()
}

#[test]
fn everything_of_a_page_made_by_hand_is_shown() {
    let page = page("ash");
    let (head, rest) = page.split_once("<style>").expect("there is a style");
    let (_, title) = head.split_once("<title>").expect("there is a title");
    let (_, body) = rest.split_once("</style>").expect("it ends");
    let (body, _) = body.split_once("<script>").expect("there is a script");
    assert!(body.contains(DISCLAIMER));
    insta::assert_snapshot!(format!("<title>{title}{body}"));
}

#[test]
fn untrusted_text_brings_no_tag() {
    let plain = tags(&page("plain"));
    for text in fixture::corpus() {
        let page = page(&text);
        assert_eq!(page.matches("<script").count(), 1, "{text:?}");
        for tag in tags(&page) {
            // A text that shows nothing has no block of what was printed, and one of several lines
            // has a difference of several lines; no other tag may come up.
            assert!(
                plain.contains(&tag) || tag == "<b>",
                "{text:?} brings {tag}"
            );
        }
    }
}

#[test]
fn a_link_to_a_file_of_any_name_leads_to_nothing_else() {
    for (text, address) in [
        (
            "javascript:alert(1)",
            ".&#x2f;javascript%3Aalert%281%29&#x2f;input.md",
        ),
        (
            "a b#c?d%2e\"<é",
            ".&#x2f;a%20b%23c%3Fd%252e%22%3C%C3%A9&#x2f;input.md",
        ),
    ] {
        assert!(
            page(text).contains(&format!("<a href=\"{address}\">")),
            "{text}"
        );
    }
}

#[test]
fn a_page_without_items_has_no_list_of_them_and_a_script_that_bears_it() {
    let chapter = crate::Chapter::new(crate::Headword {
        word: "tall",
        title: "Tall",
        meaning: "most trees are higher than the house",
        is_judgement: true,
    });
    let run = RunPage {
        command: "measure",
        opening: None,
        scope: Vec::new(),
        only: &[],
        chapters: vec![chapter],
        others: None,
        notices: Vec::new(),
        facts: Vec::new(),
        version: "1",
        schema: 7,
    };
    let mut to = Vec::new();
    write(&mut to, run, &|_, _| None).expect("the templates fit their values");
    let page = String::from_utf8(to).expect("a page is text");
    assert!(!page.contains("id=\"list\"") && !page.contains("id=\"items\""));
    assert!(!page.contains("class=\"cards\"") && !page.contains("id=\"map\""));
    // Nobody has judged it: it opens with its own word.
    assert!(page.contains("<h1 id=\"verdict\">Tall</h1>") && !page.contains("id=\"gate\""));
    assert!(page.contains("if (!list) return;"));
}

#[test]
fn a_page_on_which_nothing_is_measured_shows_the_first_failure_before_any_figure() {
    let failure = fixture::failure("no such model");
    let shown = |is_measured: bool| {
        let mut run = fixture::run("ash", &[], &failure, &[]);
        if !is_measured {
            let chapter = &mut run.chapters[0];
            chapter.measures = None;
            for signal in &mut chapter.signals {
                signal.estimate.value = None;
            }
        }
        let mut to = Vec::new();
        write(&mut to, run, &|_, _| None).expect("the templates fit their values");
        let page = String::from_utf8(to).expect("a page is text");
        let (above, _) = page
            .split_once("<section class=\"cards\"")
            .expect("there are figures");
        above.contains("<h2>The first failure</h2>")
            && above.contains("<pre tabindex=\"0\">no such model\nno such model</pre>")
    };
    assert!(shown(false) && !shown(true));
}

#[test]
fn the_permission_of_nothing_is_the_known_one() {
    assert_eq!(
        permission(""),
        "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    );
}
