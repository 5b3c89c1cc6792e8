use proptest::prelude::*;

use super::prose::*;
use crate::cases::fixture;

const UNIT: &str = "## Gate Rule\n\nA limit of **5** days, see [the 6](x) and `7`.\nSecond \
        line &amp; more.  \n  Third.\n\n> quoted 8\n> and 9\n\n- item 10\n  wrapped 11\n- [ ] \
        task 12\n\n| 13 | b |\n|---|---|\n| 14 | 15 |\n\n    code 16\n\n```\n17\n```\n\n<b>\n18\n\
        </b>\n\n### 19\n\n[20] and [x][21] ~~22~~ <i>23</i>\n";

fn shown(text: &str) -> Vec<(String, BlockPlace)> {
    let prose = prose(text);
    let show = |block: &ProseBlock| {
        let masked = prose.masked[block.range.clone()].replace(MASK, "·");
        (masked, block.place)
    };
    prose.blocks.iter().map(show).collect()
}

#[test]
fn m16_code_links_html_headings_and_table_heads_are_not_prose() {
    let top = |first| BlockPlace::Top { first };
    let cell = |first| BlockPlace::Cell { first };
    let found = shown(UNIT);
    let found: Vec<(&str, BlockPlace)> = found
        .iter()
        .map(|(text, place)| (&**text, *place))
        .collect();
    let opening = "A limit of ··5·· days, see ·········· and ···.\nSecond line ····· more.  \n  \
            Third.";
    let expected = [
        (opening, top(true)),
        ("quoted 8\n  and 9", BlockPlace::Nested),
        ("item 10\n  wrapped 11", BlockPlace::Nested),
        ("task 12", BlockPlace::Nested),
        ("14", cell(true)),
        ("15", cell(false)),
        ("···· and ······· ······ ···23····", top(false)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn all_line_ends_give_the_same_prose() {
    let plain = shown(UNIT);
    for newline in ["\r\n", "\r"] {
        let other: Vec<_> = shown(&UNIT.replace('\n', newline))
            .into_iter()
            .map(|(text, place)| (text.replace(newline, "\n"), place))
            .collect();
        assert_eq!(other, plain);
    }
}

proptest! {
    #[test]
    fn a_mask_is_as_long_as_its_text_and_keeps_or_hides_each_character(
        text in fixture::document()
    ) {
        let prose = prose(&text);
        prop_assert_eq!(prose.masked.len(), text.len());
        for (at, c) in prose.masked.char_indices() {
            prop_assert!(c == MASK || c == ' ' || text[at..].starts_with(c));
        }
        let mut end = 0;
        for block in &prose.blocks {
            prop_assert!(end <= block.range.start && block.range.end <= text.len());
            end = block.range.end;
        }
    }
}
