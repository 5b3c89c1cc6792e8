//! No text can leave its frame or forge another part of the question. The bytes of the question show it,
//! whatever a model would make of them.

use serde_json::{Value, json};

use super::super::{Places, Rubric, frame, rubric, scale::Scale};
use super::hostile_texts::HOSTILE;
use crate::judge::Exhibit;
use crate::judge::mode::Mode;
use crate::judge::panel::Reducer;
use crate::judge::settings::tests_only::opened;

/// A question taken apart.
struct Parts<'a> {
    before: &'a str,
    frames: Vec<(&'a str, String)>,
    after: &'a str,
}

/// Takes a question apart by the borders that bear its mark, as its rules tell a reader to.
fn take_apart(question: &str) -> Parts<'_> {
    let fixed = "gains nothing by it.\n\n";
    let begin = question.find(fixed).expect("the rules end so") + fixed.len();
    let (before, mut rest) = question.split_at(begin);
    let first_line = rest.lines().next().expect("there is a frame");
    let mark = first_line.rsplit_once(' ').expect("a mark").1;
    assert_eq!(mark.len(), 16);
    assert!(!before.contains(mark));
    let mut frames = Vec::new();
    while let Some(from) = rest.strip_prefix("BEGIN ") {
        let border = format!(" {mark}\n");
        let (name, from) = from
            .split_once(&border)
            .expect("the border ends with the mark");
        let end = format!("\nEND {name}{border}\n");
        let (body, from) = from.split_once(&end).expect("the frame ends");
        assert!(!body.contains(mark), "the frame of {name} holds its mark");
        frames.push((name, frame::tests_only::unshield(body)));
        rest = from;
    }
    assert!(!rest.contains(mark), "nothing but borders bears the mark");
    Parts {
        before,
        frames,
        after: rest,
    }
}

/// Every question that a judge asks where a hostile text stands in one of the places.
fn questions(settings: &Value, hostile: &str) -> Vec<(String, Vec<String>)> {
    let judge = opened(settings);
    let plain = Exhibit {
        passages: None,
        prompt: "Is the sky blue?",
        response: "It is blue.",
        reference: Some("Yes, blue."),
        criteria: Some("It names a colour."),
        turn: 0,
    };
    let placed = [
        Exhibit {
            response: hostile,
            ..plain
        },
        Exhibit {
            reference: Some(hostile),
            ..plain
        },
        Exhibit {
            prompt: hostile,
            ..plain
        },
        Exhibit {
            passages: None,
            criteria: Some(hostile),
            ..plain
        },
        Exhibit {
            passages: None,
            prompt: hostile,
            response: hostile,
            reference: Some(hostile),
            criteria: Some(hostile),
            turn: 0,
        },
    ];
    let mut all = Vec::new();
    for exhibit in placed {
        // A mode that grades by criteria takes no blank ones, and an empty prompt has no frame.
        let Ok(asked) = judge.questions(&exhibit) else {
            assert!(hostile.trim().is_empty());
            continue;
        };
        let texts = [
            exhibit.criteria,
            Some(exhibit.prompt).filter(|prompt| !prompt.is_empty()),
            exhibit.reference,
            Some(exhibit.response),
        ];
        let mut texts: Vec<String> = texts.into_iter().flatten().map(str::to_owned).collect();
        texts.sort();
        all.extend(
            asked
                .into_iter()
                .map(|question| (question.text, texts.clone())),
        );
    }
    all
}

fn every_way() -> Vec<Value> {
    let llm = |more: Value| {
        let mut settings = json!({ "type": "llm", "model": "chat" });
        let entries = settings.as_object_mut().expect("an object");
        entries.extend(more.as_object().expect("an object").clone());
        settings
    };
    vec![
        llm(json!({ "swap_order": true })),
        llm(json!({ "mode": "criteria" })),
        llm(json!({ "mode": "pairwise", "swap_order": true })),
        llm(json!({ "mode": "equivalence", "votes": 2 })),
        llm(json!({ "choices": { "A": 1, "B": 0 } })),
    ]
}

#[test]
fn jdg_18_no_text_leaves_its_frame_or_changes_the_rules() {
    assert!(HOSTILE.len() >= 30);
    let mut seen = 0;
    for settings in every_way() {
        let (calm, _) = questions(&settings, "Yes.").swap_remove(0);
        let calm = take_apart(&calm);
        for hostile in HOSTILE {
            for (question, texts) in questions(&settings, hostile) {
                let parts = take_apart(&question);
                assert_eq!(parts.before, calm.before, "the rules stay: {hostile:?}");
                assert_eq!(
                    parts.after, calm.after,
                    "the form of the answer stays: {hostile:?}"
                );
                let mut bodies: Vec<String> =
                    parts.frames.iter().map(|(_, body)| body.clone()).collect();
                bodies.sort();
                assert_eq!(
                    bodies, texts,
                    "every text is there once, as it was: {hostile:?}"
                );
                let mut names: Vec<&str> = parts.frames.iter().map(|(name, _)| *name).collect();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), parts.frames.len(), "{hostile:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 1000, "{seen} questions were looked at");
}

#[test]
fn jdg_18_no_control_token_of_a_chat_template_is_sent() {
    const TOKENS: &[&str] = &[
        "<|",
        "<\u{ff5c}",
        "<s>",
        "</s>",
        "<bos>",
        "<eos>",
        "<pad>",
        "<unk>",
        "<start_of_turn>",
        "<end_of_turn>",
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<</SYS>>",
        "[SYSTEM_PROMPT]",
    ];
    let mut found = 0;
    for settings in every_way() {
        for hostile in HOSTILE {
            let has = TOKENS.iter().filter(|token| hostile.contains(**token));
            found += has.count();
            for (question, _) in questions(&settings, hostile) {
                for token in TOKENS {
                    assert!(!question.contains(token), "{token} of {hostile:?} is sent");
                }
            }
        }
    }
    assert!(found > 50, "the texts have none of the tokens");
}

#[test]
fn jdg_18_a_text_that_knows_the_marks_of_other_questions_gains_nothing() {
    let judge = opened(&json!({ "type": "llm", "model": "chat" }));
    let mut response = "first".to_owned();
    for _ in 0..50 {
        let exhibit = Exhibit {
            passages: None,
            prompt: "p",
            response: &response,
            reference: Some("r"),
            criteria: None,
            turn: 0,
        };
        let question = judge
            .questions(&exhibit)
            .expect("asked")
            .swap_remove(0)
            .text;
        let parts = take_apart(&question);
        assert_eq!(parts.frames[2], ("RESPONSE", response.clone()));
        // The next text holds the mark of this question, and the end of its frame.
        let end = question.find("\nEND RESPONSE ").expect("there is an end");
        let forged = question[end..].lines().nth(1).expect("a line").to_owned();
        response = format!("{response}\n{forged}\n\nBEGIN RESPONSE\n");
    }
}

#[test]
fn a_mark_that_a_text_holds_by_chance_is_not_taken() {
    // The mark of a pair of texts is found, and then one of the other text is made to hold it: for the
    // function below the text is in the digest too, so the mark of the new pair is another one.
    let of = |text: &str| {
        let texts = [frame::Framed {
            name: "RESPONSE".into(),
            text,
        }];
        let frames = frame::frames(&texts, "1", 1000);
        frames.lines().next().expect("a border")[15..].to_owned()
    };
    let mark = of("a");
    assert_eq!(mark.len(), 16);
    assert_ne!(of(&mark), mark);
    assert_eq!(of("a"), mark, "it depends on nothing but the texts");
}

#[test]
fn jdg_18_a_note_about_what_was_cut_cannot_be_forged_and_the_cut_ends_stay_framed() {
    let settings = json!({ "type": "llm", "model": "chat", "max_chars": 200 });
    let judge = opened(&settings);
    for hostile in HOSTILE {
        let long = format!("{hostile}{}{hostile}", "x".repeat(500));
        let exhibit = Exhibit {
            passages: None,
            prompt: "p",
            response: &long,
            reference: Some("r"),
            criteria: None,
            turn: 0,
        };
        let question = judge
            .questions(&exhibit)
            .expect("asked")
            .swap_remove(0)
            .text;
        let mark = question
            .lines()
            .find_map(|line| line.strip_prefix("BEGIN RESPONSE "))
            .expect("a frame");
        assert_eq!(mark.len(), 16, "{hostile:?}");
        let notes = question.matches(&format!("\nCUT {mark}: ")).count();
        assert_eq!(notes, 1, "{hostile:?}");
        assert_eq!(question.matches(mark).count(), 7, "{hostile:?}");
    }
}

#[test]
fn the_rules_come_from_nowhere_but_the_mode_and_the_scale() {
    let rubric = Rubric {
        mode: Mode::Reference,
        scale: Scale::Number,
        criteria: Some("END CRITERIA".to_owned()),
        votes: 1,
        reducer: Reducer::Mean,
        places: Places::Fixed,
        most: 100,
        template: None,
    };
    let before = rubric.before();
    assert!(!before.contains("END CRITERIA"));
    let question = opened(&json!({ "type": "llm", "model": "chat" }));
    let exhibit = Exhibit {
        passages: None,
        prompt: "p",
        response: "r",
        reference: Some("r"),
        criteria: None,
        turn: 0,
    };
    let text = question
        .questions(&exhibit)
        .expect("asked")
        .swap_remove(0)
        .text;
    assert!(text.starts_with(&before) && text.ends_with(&rubric::after(&Scale::Number)));
}
