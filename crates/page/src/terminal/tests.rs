use super::*;
use crate::fixture;

#[test]
fn a_bar_is_full_or_empty_only_at_the_ends() {
    assert_eq!(bar(1.0), "[##########]");
    assert_eq!(bar(0.999), "[#########-]");
    assert_eq!(bar(0.001), "[#---------]");
    assert_eq!(bar(0.0), "[----------]");
    assert_eq!(bar(0.55), "[######----]");
}

fn screen_of(text: &str) -> String {
    let (only, failure, notices) = (
        vec![text.to_owned()],
        fixture::failure(text),
        fixture::notices(text),
    );
    let page = fixture::run(text, &only, &failure, &notices);
    render(&page, "out", Style::PLAIN)
}

#[test]
fn a_page_made_by_hand_fills_a_screen() {
    insta::assert_snapshot!(screen_of("ash"));
}

#[test]
fn untrusted_text_forges_no_line_of_a_screen() {
    let plain = screen_of("ash");
    let caution = plain.lines().rev().nth(1).expect("a line before the last");
    for text in fixture::corpus() {
        let screen = screen_of(&text);
        assert!(screen.lines().count() <= 23, "{text:?}:\n{screen}");
        assert_eq!(screen.matches(caution).count(), 1, "{screen}");
        for line in screen.lines() {
            assert!(safe::columns(line) <= 80, "{line}");
            assert_eq!(line, safe::lines(line), "{line:?}");
        }
    }
}

#[test]
fn a_wide_terminal_is_used_and_a_long_reason_is_told_whole() {
    let text = "the server said no, ".repeat(8) + "and that was all";
    let (failure, notices) = (fixture::failure("ash"), fixture::notices(&text));
    let page = fixture::run("ash", &[], &failure, &notices);
    let widths = [Some(40), None, Some(100), Some(1000)].map(|columns| {
        let screen = render(&page, "out", Style::of(false, columns));
        assert!(screen.lines().count() <= 23, "{screen}");
        let whole = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(whole.contains("and that was all"), "{screen}");
        let widest = screen.lines().map(safe::columns).max();
        widest.expect("a line")
    });
    assert_eq!(widths[0], widths[1]);
    assert!(widths[1] <= 80 && widths[2] > 80 && widths[2] <= 100);
    assert!(widths[3] > 100 && widths[3] <= 120, "{widths:?}");
}

#[test]
fn names_that_differ_only_behind_an_at_share_a_line() {
    let screen = screen_of("ash");
    assert!(
        screen.contains("green@1,5             0.8000  0.8000 (n=20, 1 failed)\n"),
        "{screen}"
    );
    assert!(
        screen.contains("brown                 not measured (n=0): ash\n"),
        "{screen}"
    );
}
