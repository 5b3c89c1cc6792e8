use super::*;
use crate::fixture::{self, corpus, harmless, read};

fn run_page(text: &str) -> String {
    let (only, failure, notices) = (
        vec![text.to_owned()],
        fixture::failure(text),
        fixture::notices(text),
    );
    render(&fixture::run(text, &only, &failure, &notices))
}

fn item_page(text: &str) -> String {
    render_item(&fixture::item(text, &fixture::notices(text)))
}

#[test]
fn a_page_made_by_hand_as_markdown() {
    insta::assert_snapshot!(run_page("ash"));
}

#[test]
fn the_page_of_an_item_made_by_hand_as_markdown() {
    insta::assert_snapshot!(item_page("ash"));
}

#[test]
fn untrusted_text_changes_nothing_but_the_text_of_a_page() {
    // A name of ours with an `@` in it is no mention, since a letter stands before it.
    let run_page = |text: &str| run_page(text).replace("green@", "green at ");
    let plain = (read(&run_page("plain")), read(&item_page("plain")));
    for text in corpus() {
        harmless(&run_page(&text), &plain.0, &text);
        harmless(&item_page(&text), &plain.1, &text);
    }
}
