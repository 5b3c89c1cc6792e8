//! What a model is asked, and what becomes of its answers.

mod answers;
mod hostile;
mod hostile_texts;

use serde_json::{Value, json};

use super::*;
use crate::judge::settings::tests_only::opened;

fn exhibit() -> Exhibit<'static> {
    Exhibit {
        passages: None,
        prompt: "Is the sky blue?",
        response: "It is blue.",
        reference: Some("Yes, blue."),
        criteria: None,
        turn: 0,
    }
}

/// The texts of the questions of a judge, with their names.
fn asked(settings: &Value, exhibit: &Exhibit<'_>) -> Vec<(String, String)> {
    let questions = opened(settings)
        .questions(exhibit)
        .expect("it can be asked");
    let asked = questions.into_iter();
    asked
        .map(|question| (question.name, question.text))
        .collect()
}

/// The grade where the answers have these scores.
fn graded(settings: &Value, scores: &[f64]) -> Grade {
    let answers: Vec<_> = scores
        .iter()
        .map(|score| Ok(crate::judge::seat::read(*score, "")))
        .collect();
    let judge = opened(settings);
    judge.grade(&exhibit(), &answers).expect("it is graded")
}

/// The names of the frames, in their order.
fn order(text: &str) -> Vec<&str> {
    let begins = text.lines().filter_map(|line| line.strip_prefix("BEGIN "));
    begins
        .map(|line| line.rsplit_once(' ').expect("the name and a mark").0)
        .collect()
}

#[test]
fn jdg_08_a_model_is_asked_with_temperature_0_and_the_seed_of_the_settings() {
    let settings = json!({ "type": "llm", "model": "chat", "seed": 7, "max_tokens": 99 });
    let judge = opened(&settings);
    let address = json!(judge.seats()[0].address());
    let chat = &address["model"]["call"]["chat"];
    assert_eq!(chat["temperature"], json!(0.0), "{address}");
    assert_eq!(chat["seed"], json!(7));
    assert_eq!(chat["max_tokens"], json!(99));
    assert_eq!(chat["schema"]["properties"]["quality_score"]["maximum"], 1);
    let warm = opened(&json!({ "type": "llm", "model": "chat", "temperature": 0.5 }));
    let address = json!(warm.seats()[0].address());
    assert_eq!(address["model"]["call"]["chat"]["temperature"], json!(0.5));
}

#[test]
fn each_mode_shows_what_it_grades_by() {
    let shown = |mode: &str, exhibit: &Exhibit<'_>| {
        let asked = asked(
            &json!({ "type": "llm", "model": "chat", "mode": mode }),
            exhibit,
        );
        assert_eq!(asked.len(), 1);
        let names = order(&asked[0].1);
        names.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let both = exhibit();
    assert_eq!(
        shown("reference", &both),
        ["PROMPT", "REFERENCE", "RESPONSE"]
    );
    assert_eq!(
        shown("pairwise", &both),
        ["PROMPT", "ANSWER ONE", "ANSWER TWO"]
    );
    let without_prompt = Exhibit { prompt: "", ..both };
    assert_eq!(
        shown("equivalence", &without_prompt),
        ["TEXT ONE", "TEXT TWO"]
    );
    let by_criteria = Exhibit {
        passages: None,
        reference: None,
        criteria: Some("It names a colour."),
        ..both
    };
    assert_eq!(
        shown("criteria", &by_criteria),
        ["CRITERIA", "PROMPT", "RESPONSE"]
    );
}

#[test]
fn what_a_mode_needs_and_has_not_makes_a_sample_unscored() {
    let code = |mode: &str| {
        let judge = opened(&json!({ "type": "llm", "model": "chat", "mode": mode }));
        let alone = Exhibit {
            reference: None,
            ..exhibit()
        };
        judge
            .questions(&alone)
            .expect_err("something is missing")
            .code
    };
    assert_eq!(code("reference"), UngradedCode::NoReference);
    assert_eq!(code("pairwise"), UngradedCode::NoReference);
    assert_eq!(code("equivalence"), UngradedCode::NoReference);
    assert_eq!(code("criteria"), UngradedCode::NoCriteria);
    // Those of the settings do, and those of the exhibit come before them.
    let settings = json!({ "type": "llm", "model": "chat", "mode": "criteria", "criteria": "of the settings" });
    assert!(
        asked(&settings, &exhibit())[0]
            .1
            .contains("\nof the settings\n")
    );
    let own = Exhibit {
        passages: None,
        criteria: Some("of the exhibit"),
        ..exhibit()
    };
    let text = &asked(&settings, &own)[0].1;
    assert!(text.contains("\nof the exhibit\n") && !text.contains("of the settings"));
}

#[test]
fn jdg_15_both_orders_are_asked_and_the_flip_is_kept() {
    let settings = json!({ "type": "llm", "model": "chat", "swap_order": true });
    let asked = asked(&settings, &exhibit());
    let names: Vec<&str> = asked.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["given-1", "swapped-1"]);
    assert_eq!(order(&asked[0].1), ["PROMPT", "REFERENCE", "RESPONSE"]);
    assert_eq!(order(&asked[1].1), ["PROMPT", "RESPONSE", "REFERENCE"]);
    let grade = graded(&settings, &[0.9, 0.3]);
    assert_eq!(grade.score(), 0.6);
    assert_eq!(grade.is_flipped(), Some(true));
    assert_eq!(graded(&settings, &[0.9, 0.7]).is_flipped(), Some(false));
}

#[test]
fn the_winner_of_a_pair_is_the_response_whatever_stands_first() {
    let pairwise =
        json!({ "type": "llm", "model": "chat", "mode": "pairwise", "swap_order": true });
    let texts = asked(&pairwise, &exhibit());
    let first = |text: &str| {
        let from = text.find("BEGIN ANSWER ONE").expect("it is framed");
        text[from..].lines().nth(1).map(str::to_owned)
    };
    assert_eq!(first(&texts[0].1).as_deref(), Some("Yes, blue."));
    assert_eq!(first(&texts[1].1).as_deref(), Some("It is blue."));
    // The same rules and the same form of the answer, whatever the order.
    let fixed = |text: &str| {
        let before = text.find("BEGIN ").map(|at| text[..at].to_owned());
        (
            before,
            text.rsplit("END ANSWER TWO")
                .next()
                .map(|end| end[18..].to_owned()),
        )
    };
    assert_eq!(fixed(&texts[0].1), fixed(&texts[1].1));

    let judge = opened(&pairwise);
    let score = |answers: [&str; 2]| {
        let read = answers.map(|word| {
            let answer = format!("{{\"choice\": \"{word}\"}}");
            judge.seats()[0].read(answer.as_bytes())
        });
        judge
            .grade(&exhibit(), &read)
            .expect("it is graded")
            .score()
    };
    assert_eq!(
        score(["two", "one"]),
        1.0,
        "the response wins in both orders"
    );
    assert_eq!(
        score(["one", "two"]),
        0.0,
        "the reference wins in both orders"
    );
    assert_eq!(score(["tie", "tie"]), 0.5);
    assert_eq!(
        score(["one", "one"]),
        0.5,
        "a judge that takes the first one tells nothing"
    );
}

#[test]
fn the_texts_of_a_pair_change_places_by_turns_and_the_score_is_that_of_the_response() {
    let pairwise = |more: Value| {
        let mut settings = json!({ "type": "llm", "model": "chat", "mode": "pairwise" });
        let keys = settings.as_object_mut().expect("an object");
        keys.extend(more.as_object().expect("an object").clone());
        settings
    };
    let at = |turn| Exhibit { turn, ..exhibit() };
    let names = |more: Value, turn| -> Vec<String> {
        let asked = asked(&pairwise(more), &at(turn)).into_iter();
        asked.map(|(name, _)| name).collect()
    };
    assert_eq!(names(json!({}), 0), ["given-1"]);
    assert_eq!(names(json!({}), 1), ["swapped-1"]);
    assert_eq!(names(json!({}), 2), ["given-1"]);
    assert_eq!(names(json!({ "votes": 2 }), 3), ["swapped-1", "swapped-2"]);
    assert_eq!(names(json!({ "swap_order": false }), 1), ["given-1"]);
    assert_eq!(
        names(json!({ "swap_order": true }), 1),
        ["given-1", "swapped-1"]
    );
    let other_mode = json!({ "type": "llm", "model": "chat" });
    assert_eq!(asked(&other_mode, &at(1))[0].0, "given-1");

    // A judge that always takes the first text gives as many points to the one side as to the other.
    let judge = opened(&pairwise(json!({})));
    let first = || [judge.seats()[0].read(b"{\"choice\": \"one\"}")];
    let grade = |turn| judge.grade(&at(turn), &first()).expect("it is graded");
    assert_eq!((grade(0).score(), grade(1).score()), (0.0, 1.0));
    assert!(grade(0).parts().is_empty());
    assert_eq!(grade(1).parts()[0].order, Order::Swapped);
    assert_eq!(grade(1).is_flipped(), None, "one order tells of no flip");
    // The three settings are three judges.
    let ids = [
        json!({}),
        json!({ "swap_order": false }),
        json!({ "swap_order": true }),
    ]
    .map(|more| opened(&pairwise(more)).grader_id());
    assert!(
        ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2],
        "{ids:?}"
    );
}

#[test]
fn votes_are_asked_with_other_bytes_so_that_the_cache_has_an_answer_for_each() {
    let settings = json!({ "type": "llm", "model": "chat", "votes": 3, "reducer": "median" });
    let asked = asked(&settings, &exhibit());
    assert_eq!(asked.len(), 3);
    for (at, (_, text)) in asked.iter().enumerate() {
        assert!(asked[..at].iter().all(|(_, other)| other != text));
    }
    assert_eq!(graded(&settings, &[0.2, 0.9, 0.4]).score(), 0.4);
    let mean = json!({ "type": "llm", "model": "chat", "votes": 2 });
    let grade = graded(&mean, &[0.25, 0.75]);
    assert_eq!(grade.score(), 0.5);
    let votes: Vec<usize> = grade.parts().iter().map(|part| part.vote).collect();
    assert_eq!(votes, [1, 2]);
}

#[test]
fn one_answer_that_is_missing_makes_the_whole_sample_unscored() {
    let judge = opened(&json!({ "type": "llm", "model": "chat", "votes": 2 }));
    let good = Ok(crate::judge::seat::read(1.0, ""));
    let failure = Failure::new(
        kelvin_base::failure::FailureKind::Timeout,
        "it took too long",
    );
    let ungraded = judge
        .grade(&exhibit(), &[good.clone(), Err(failure)])
        .expect_err("one vote is missing");
    assert_eq!(ungraded.code, UngradedCode::CallFailed);
    assert!(judge.grade(&exhibit(), &[good]).is_err());
    assert!(judge.grade(&exhibit(), &[]).is_err());
}

#[test]
fn equal_questions_are_equal_bytes() {
    let settings = json!({ "type": "llm", "model": "chat", "swap_order": true, "votes": 2 });
    assert_eq!(asked(&settings, &exhibit()), asked(&settings, &exhibit()));
}

#[test]
fn equal_texts_are_asked_about_all_the_same() {
    // Whether a judge sees that two texts are the same is a fact about the judge, and its noise shows
    // there best; a grade that nobody gave would hide both.
    let same = Exhibit {
        response: "Yes, blue.",
        ..exhibit()
    };
    assert_eq!(
        asked(&json!({ "type": "llm", "model": "chat" }), &same).len(),
        1
    );
}

#[test]
fn a_text_that_is_too_long_is_cut_in_the_middle_and_the_question_and_the_grade_say_so() {
    let long: String = (0..1000).map(|number| format!("{number:04} ")).collect();
    let exhibit = Exhibit {
        response: &long,
        ..exhibit()
    };
    let settings = json!({ "type": "llm", "model": "chat", "max_chars": 400 });
    let text = &asked(&settings, &exhibit)[0].1;
    let note = text
        .lines()
        .find(|line| line.starts_with("CUT "))
        .expect("the note");
    assert!(
        note.ends_with(": 4600 characters were left out here"),
        "{note}"
    );
    assert!(text.contains("0000 0001") && text.contains("0998 0999"));
    assert!(!text.contains("0500"));
    let judge = opened(&settings);
    let answer = [Ok(crate::judge::seat::read(1.0, ""))];
    assert!(judge.grade(&exhibit, &answer).expect("graded").is_cut());
    let whole = opened(&json!({ "type": "llm", "model": "chat" }));
    assert!(!whole.grade(&exhibit, &answer).expect("graded").is_cut());
    let uncut = asked(
        &json!({ "type": "llm", "model": "chat", "max_chars": 5000 }),
        &exhibit,
    );
    assert!(uncut[0].1.contains(&long));
}

#[test]
fn the_id_changes_with_all_that_grades_depend_on() {
    let id = |more: Value| {
        let mut settings = json!({ "type": "llm", "model": "chat" });
        let entries = settings.as_object_mut().expect("an object");
        entries.extend(more.as_object().expect("an object").clone());
        opened(&settings).grader_id()
    };
    let plain = id(json!({}));
    assert!(plain.starts_with("llm/reference-v1-"), "{plain}");
    let others = [
        json!({ "model": "vectors" }),
        json!({ "mode": "pairwise" }),
        json!({ "mode": "equivalence" }),
        json!({ "criteria": "be kind" }),
        json!({ "choices": { "A": 1, "B": 0 } }),
        json!({ "choices": { "A": 1, "B": 0.5 } }),
        json!({ "votes": 2 }),
        json!({ "votes": 2, "reducer": "median" }),
        json!({ "swap_order": true }),
        json!({ "temperature": 0.1 }),
        json!({ "seed": 1 }),
        json!({ "max_tokens": 5 }),
        json!({ "max_chars": 500 }),
    ];
    let mut ids: Vec<String> = others.map(id).into();
    ids.push(plain.clone());
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all, "{ids:?}");
    // What is the default is the same, written or not.
    assert_eq!(
        id(json!({ "votes": 1, "temperature": 0, "mode": "reference" })),
        plain
    );
}

#[test]
fn the_id_does_not_change_with_a_local_port_the_place_of_a_key_or_a_price() {
    let rubric = || Rubric {
        mode: Mode::Reference,
        scale: Scale::Number,
        criteria: None,
        votes: 1,
        reducer: Reducer::Mean,
        places: Places::Fixed,
        most: 100,
        template: None,
    };
    let id = |endpoint: Value| {
        let model = ModelSettings {
            name: "any".to_owned(),
            endpoint: serde_json::from_value(endpoint).expect("it fits"),
            files: None,
            recorded: None,
            recorder: None,
        };
        Llm::new(rubric(), &model, Asking::default()).grader_id()
    };
    let one = json!({ "kind": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "m" });
    let moved = json!({
        "kind": "openai", "base_url": "http://127.0.0.1:2/v1", "model": "m",
        "api_key_env": "KEY", "price": { "input_per_million": 1, "output_per_million": 2 },
    });
    let warm = json!({
        "kind": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "m", "top_p": 0.5,
    });
    assert_eq!(id(one.clone()), id(moved));
    assert_ne!(id(one), id(warm));
}

/// A change of a rubric makes every stored calibration void and every stored grade incomparable, so it
/// should be meant. The page for users shows these texts too.
#[test]
fn the_words_of_the_rubrics_are_those_of_their_version() {
    let digest = |mode: Mode| {
        let words = Fields::of("test")
            .field("before", rubric::before(Mode::rules(mode)))
            .field("after", rubric::after(&Scale::Number));
        words.digest().short(8)
    };
    let modes = [
        Mode::Reference,
        Mode::Criteria,
        Mode::Pairwise,
        Mode::Equivalence,
    ];
    let words = ["0437ed55", "f234eaf1", "586f5336", "82820f06"];
    assert_eq!(
        (rubric::VERSION, modes.map(digest)),
        ("v1", words.map(str::to_owned))
    );
}

#[test]
fn the_page_for_users_leads_to_the_rubrics() {
    let page = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/grading.md"
    ));
    // By a link to the very files that a judge is asked with; `tests/docs.rs` looks that each is there.
    for name in ["reference", "criteria", "pairwise", "equivalence", "frames"] {
        let link = format!("/crates/run/src/judge/llm/rubric/{name}.txt)");
        assert!(page.contains(&link), "the page does not show {name}");
    }
}
