//! Answers that are known from before: of an earlier run, and of a file.

use super::*;

#[test]
fn what_is_known_is_not_asked_again_and_a_repeat_always_is() {
    let project = Project::new();
    let judge = project.judge(json!({
        "type": "llm", "model": "chat", "votes": 2, "swap_order": true,
    }));
    let items = [item("a", "x")];
    let (first, asked, _) = project.grade(&*judge, &items, &Silent, &|_, _| scored(0.5));
    assert_eq!(asked.len(), 4);
    let other = |_: &str, _| scored(0.9);
    let (again, asked, cost) = project.grade(&*judge, &items, &Silent, &other);
    assert_eq!(
        (asked.len(), cost.cache_hits),
        (0, 4),
        "votes and orders too"
    );
    assert_eq!(scores(&again), scores(&first));
    assert_eq!(
        again[0].usage, first[0].usage,
        "what the answers have used once"
    );
    assert_eq!(cost.usage, None, "and nothing was used now");
    let repeat = [repeated("a", "x", 2)];
    let (anew, asked, _) = project.grade(&*judge, &repeat, &Silent, &other);
    assert_eq!((asked.len(), scores(&anew)), (4, vec![Some(0.9)]));
    // Another rubric, and another reading of the same answers, are other questions.
    let words = project.judge(json!({
        "type": "llm", "model": "chat", "choices": { "good": 1, "bad": 0 },
    }));
    let good = |_: &str, _| Ok(r#"{"choice": "good"}"#.to_owned());
    let (graded, asked, _) = project.grade(&*words, &items, &Silent, &good);
    assert_eq!((asked.len(), scores(&graded)), (1, vec![Some(1.0)]));
}

#[test]
fn answers_without_a_grade_are_not_kept() {
    let project = Project::new();
    let judge = project.judge(llm());
    let items = [item("a", "x")];
    let wrong = |_: &str, _| Ok(r#"{"quality_score": 7}"#.to_owned());
    let (graded, ..) = project.grade(&*judge, &items, &Silent, &wrong);
    assert_eq!(codes(&graded), [Some(UngradedCode::Invalid)]);
    let (graded, asked, _) = project.grade(&*judge, &items, &Silent, &|_, _| scored(0.5));
    assert_eq!((asked.len(), scores(&graded)), (1, vec![Some(0.5)]));
}

#[test]
fn jdg_22_a_judge_runs_offline_on_recorded_answers() {
    let project = Project::with("models:\n  chat: {kind: replay, file: answers.jsonl}\n");
    let judge = project.judge(llm());
    let items = [item("a", "right"), item("b", "wrong"), item("c", "unknown")];
    let mut lines = String::new();
    for ((_, exhibit), answer) in items
        .iter()
        .zip(["{\"quality_score\": 1}", "{\"quality_score\": 0.25}"])
    {
        let question = judge.questions(exhibit).expect("asked").swap_remove(0).text;
        lines += &format!("{}\n", json!({ "prompt": question, "answer": answer }));
    }
    fs::write(project.folder.path().join("answers.jsonl"), lines).expect("written");
    // The file was written after the configuration was read: read it again.
    let overrides = Overrides {
        file: Some(project.folder.path().join("kelvin.yaml")),
        ..Overrides::default()
    };
    let config = Config::load(&overrides, &[]).expect("a good configuration");
    let project = Project { config, ..project };
    let judge = project.judge(llm());
    let steps = steps(&*judge);
    let out = project.folder.path().join("kelvin");
    let address = steps[0].program.target;
    let settings = project.settings(&steps[0], &out, &Silent);
    let runner = Runner::open(|site| address.open(site), settings).expect("opened");
    let graded = grade_all(&*judge, &[runner], &items).expect("the run goes on");
    assert_eq!(scores(&graded), [Some(1.0), Some(0.25), None]);
    assert_eq!(codes(&graded)[2], Some(UngradedCode::CallFailed));
}
