//! What a search answers and cites: changes that no figure of the ranking sees.

use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use super::{
    ASK, DETERMINISTIC, QUERIES, answers, base, configure, gate, name, project, write_golden,
};
use crate::answers::leaves_nothing_to_do;
use crate::project::Project;
use crate::repository::{bare, commit, git};

/// As many queries as a team writes in an afternoon.
const MANY: usize = 40;

/// The expected document first and nine others behind it, and a right answer that cites the first hit.
fn right(at: usize) -> Value {
    let hits = (1..=10).map(|place| match place {
        1 => json!({ "chunk_id": format!("d{at}#1"), "doc_id": format!("d{at}") }),
        _ => json!({ "chunk_id": format!("x{place}#1"), "doc_id": format!("x{place}") }),
    });
    json!({
        "hits": hits.collect::<Vec<_>>(),
        "answer": {
            "text": format!("It is {at} days."),
            "grounded": true,
            "citations": [{ "doc_id": format!("d{at}"), "chunk_id": format!("d{at}#1") }],
        },
    })
}

/// A right output of which one part of the answer is another one.
fn with(at: usize, key: &str, value: Value) -> Value {
    let mut output = right(at);
    output["answer"][key] = value;
    output
}

fn by_document(at: usize) -> Value {
    json!({ "expected_doc_ids": [format!("d{at}")] })
}

fn by_text(at: usize) -> Value {
    json!({ "expected_doc_ids": [format!("d{at}")], "must_contain": [format!("{at} days")] })
}

/// What a run says in words, each sentence with a sign that says how it is meant. A screen is narrow, so that a sentence
/// may take two lines.
fn words(project: &Project) -> Vec<String> {
    let said = project.kelvin(&["check"]).expect(0);
    let mut words: Vec<String> = Vec::new();
    for line in said.stdout.lines() {
        match words.last_mut() {
            _ if line.starts_with(['!', '~', '=']) => words.push(line.to_owned()),
            Some(last) if line.starts_with("  ") => *last += &line[1..],
            _ => {}
        }
    }
    words
}

/// The first line of the page of a verdict.
fn headline(project: &Project) -> String {
    let page = project.read("kelvin/gate.md");
    page.lines().next().unwrap_or_default().to_owned()
}

/// The metric of the first reason.
fn first_reason(judgement: &Value) -> &str {
    judgement["reasons"][0]["metric"]
        .as_str()
        .unwrap_or_default()
}

#[test]
fn forty_wrong_answers_that_nothing_is_held_against_are_told_first_and_never_as_nothing_to_do() {
    let (_remote, url) = bare();
    let project = Project::new("");
    project.write("ask.sh", ASK);
    configure(
        &project,
        "",
        &format!("{DETERMINISTIC}baseline: {{from: compute}}\n"),
    );
    write_golden(&project, MANY, &by_document);
    answers(&project, MANY, &right);
    project.write(".gitignore", "/kelvin/\n");
    let root = project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["remote", "add", "origin", &url]);
    commit(&project, "base");
    git(root, &["push", "--quiet", "origin", "main"]);
    git(root, &["checkout", "--quiet", "-b", "change"]);
    assert_eq!(
        words(&project),
        [
            "~ The text of all 40 answers is checked by nothing in the golden set: add `must_contain`, or let a judge \
             grade the answers",
            "= All 40 queries found all that they should; of the answers the citations alone were looked at",
        ]
    );
    answers(&project, MANY, &|at| {
        with(at, "text", json!(format!("It is {} days.", at + 1)))
    });
    commit(&project, "every answer is wrong");
    let said = project.kelvin(&["gate"]).expect(0);
    insta::assert_snapshot!(headline(&project), @"### ✅ Kelvin: pass, 40 of 40 queries are answered otherwise");
    for page in [said.stdout, project.read("kelvin/gate.md")] {
        assert!(!leaves_nothing_to_do(&page), "{page}");
    }
    let page = project.read("kelvin/gate.md");
    let first = "**`q00` is answered *It is 1 days.* instead of *It is 0 days.* (expected ";
    assert!(page.contains(first), "{page}");
}

#[test]
fn forty_wrong_answers_that_a_text_is_held_against_are_red() {
    let project = Project::new("");
    project.write("ask.sh", ASK);
    configure(&project, "", DETERMINISTIC);
    write_golden(&project, MANY, &by_text);
    answers(&project, MANY, &right);
    assert_eq!(words(&project), ["= All 40 queries did as they should"]);
    project.write("base.json", &project.read("kelvin/report.json"));
    answers(&project, MANY, &|at| {
        with(at, "text", json!("It is a week."))
    });
    let (_, judgement) = gate(&project, 3);
    assert_eq!(first_reason(&judgement), "retrieval.groundedness");
    insta::assert_snapshot!(headline(&project), @"### ❌ Kelvin: regression, `retrieval.groundedness` 1.00 → 0.00, 40 of 40 queries are answered otherwise");
    assert_eq!(
        words(&project),
        [
            "! 40 of 40 queries did not do as they should: `q00`, `q01`, `q02` and 37 more; the first one: the answer \
             lacks 0 days",
            "~ Query `q00` was answered “It is a week.”",
        ]
    );
    // The list says what was asked and answered, and not only what the answer lacks.
    let page = project.read("kelvin/report.md");
    let row = page.lines().find(|line| line.starts_with("| `q00` |"));
    let row = row
        .unwrap_or_else(|| panic!("no row: {page}"))
        .replace("&#8203;", "");
    insta::assert_snapshot!(row, @"| `q00` | question 0 | It is a week. | `d0#1`; `x2#1`; `x3#1` | the answer lacks 0 days |");
}

#[test]
fn an_answer_that_is_always_the_same_but_for_two_is_told_first() {
    let project = project(&by_document, DETERMINISTIC);
    base(&project, &right);
    answers(&project, QUERIES, &|at| match at {
        0 | 1 => right(at),
        _ => with(at, "text", json!("The moon is made of cheese.")),
    });
    gate(&project, 0);
    insta::assert_snapshot!(headline(&project), @"### ✅ Kelvin: pass, 11 of 13 queries are answered otherwise");
}

#[test]
fn citations_of_the_worst_hit_are_red_and_said_first() {
    let worst = json!([{ "doc_id": "x10", "chunk_id": "x10#1" }]);
    for more in [DETERMINISTIC, ""] {
        let project = project(&by_text, more);
        base(&project, &right);
        answers(&project, QUERIES, &|at| {
            with(at, "citations", worst.clone())
        });
        let (said, judgement) = gate(&project, 3);
        assert_eq!(first_reason(&judgement), "retrieval.citation_precision");
        assert_eq!(
            judgement["metrics"]["retrieval.citation_coverage"]["verdict"],
            "pass"
        );
        // The answers themselves are the same.
        assert_eq!(
            judgement["answers"]["retrieval"]["other"], 0,
            "{}",
            said.stdout
        );
        let first = &words(&project)[0];
        assert!(
            first.starts_with("! 13 of 13 queries did not do as they should: "),
            "{first}"
        );
        let page = project.read("kelvin/report.md");
        insta::allow_duplicates! {
            insta::assert_snapshot!(lines_with(&page, &["13 of 13 queries got"]), @"- **citations elsewhere** 13 of 13 queries got an answer that cites no expected document, although one was found: q00, q01, q02, q03, q04, q05, q06, q07 and 5 more");
        }
    }
}

#[test]
fn a_citation_of_a_chunk_that_was_never_retrieved_is_red_although_the_corpus_has_it() {
    let project = project(&by_text, DETERMINISTIC);
    let corpus: String = (0..QUERIES)
        .flat_map(|at| {
            [1, 9].map(
                |chunk| json!({ "doc_id": format!("d{at}"), "chunk_id": format!("d{at}#{chunk}") }),
            )
        })
        .map(|line| format!("{line}\n"))
        .collect();
    project.write("corpus.jsonl", &corpus);
    configure(&project, "  corpus: corpus.jsonl\n", DETERMINISTIC);
    base(&project, &right);
    answers(&project, QUERIES, &|at| {
        let cited = json!([{ "doc_id": format!("d{at}"), "chunk_id": format!("d{at}#9") }]);
        with(at, "citations", cited)
    });
    let (_, judgement) = gate(&project, 3);
    assert_eq!(first_reason(&judgement), "retrieval.citation_precision");
    assert_eq!(
        judgement["metrics"]["retrieval.citation_coverage"]["verdict"],
        "pass"
    );
    let page = project.read("kelvin/report.md");
    let row = page.lines().find(|line| line.starts_with("| `q00` |"));
    let row = row
        .unwrap_or_else(|| panic!("no row: {page}"))
        .replace("&#8203;", "");
    insta::assert_snapshot!(row, @r"| `q00` | question 0 | It is 0 days. | `d0#1`; `x2#1`; `x3#1` | cites what was not retrieved: d0\#9 |");
}

#[test]
fn a_worst_hit_among_many_right_citations_is_red() {
    let project = project(&by_text, DETERMINISTIC);
    base(&project, &right);
    answers(&project, QUERIES, &|at| {
        let mut cited =
            vec![json!({ "doc_id": format!("d{at}"), "chunk_id": format!("d{at}#1") }); 30];
        cited.push(json!({ "doc_id": "x10", "chunk_id": "x10#1" }));
        with(at, "citations", json!(cited))
    });
    let (_, judgement) = gate(&project, 3);
    assert_eq!(first_reason(&judgement), "retrieval.citation_precision");
}

#[test]
fn a_perfect_search_that_never_cites_hears_no_word_against_it() {
    let project = project(&by_text, DETERMINISTIC);
    let bare = |at: usize| with(at, "citations", json!([]));
    answers(&project, QUERIES, &bare);
    assert_eq!(words(&project), ["= All 13 queries did as they should"]);
    let said = project.kelvin(&["check"]).expect(0);
    assert!(!said.stdout.contains("citation"), "{}", said.stdout);
    assert!(!project.read("kelvin/report.md").contains("citation"));
    project.write("base.json", &project.read("kelvin/report.json"));
    let (_, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass");
    let page = project.read("kelvin/gate.md");
    assert!(leaves_nothing_to_do(&page), "{page}");
}

#[test]
fn a_refusal_in_the_words_of_the_right_answer_is_red_and_so_is_no_answer_at_all() {
    let refused = |at: usize| match at {
        0..5 => with(at, "grounded", json!(false)),
        _ => right(at),
    };
    let left_out = |at: usize| {
        let mut output = right(at);
        if at < 5 {
            output["answer"] = Value::Null;
        }
        output
    };
    let dodges: [(&dyn Fn(usize) -> Value, &str); 2] = [
        (&refused, "refused, and should have been answered"),
        (&left_out, "no answer, and should have been answered"),
    ];
    for (dodge, why) in dodges {
        let project = project(&by_text, DETERMINISTIC);
        base(&project, &right);
        answers(&project, QUERIES, dodge);
        let (_, judgement) = gate(&project, 3);
        let answered = &judgement["metrics"]["retrieval.answered_rate"];
        assert_eq!(answered["verdict"], "regression", "{why}: {answered}");
        assert!(
            headline(&project).ends_with("5 of 13 queries are answered otherwise"),
            "{}",
            headline(&project)
        );
        let first = &words(&project)[0];
        assert!(
            first.starts_with("~ 5 of 13 queries did not do as they should: "),
            "{first}"
        );
        assert!(project.read("kelvin/report.md").contains(why), "{why}");
    }
}

#[test]
fn answers_that_are_broken_into_other_lines_are_the_same_answers() {
    let project = project(&by_document, DETERMINISTIC);
    base(&project, &right);
    answers(&project, QUERIES, &|at| {
        with(at, "text", json!(format!("  It is\n{at}\tdays. \n")))
    });
    let (said, judgement) = gate(&project, 0);
    assert_eq!(
        judgement["answers"]["retrieval"]["other"], 0,
        "{}",
        said.stdout
    );
}

/// Answers in other words at every call, as a model does that is warm.
const NOISY: &str = "id=$(sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/' \"$1\")\n\
                     word=$(cat /proc/sys/kernel/random/uuid)\n\
                     sed \"s/It is/$word it is/\" \"answers/$id.json\" > \"$2\"\n";

#[test]
fn a_model_that_never_says_the_same_twice_is_not_told_to_answer_otherwise() {
    let project = project(&by_text, "repeats: 3\n");
    project.write("ask.sh", NOISY);
    base(&project, &right);
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    assert_eq!(judgement["answers"]["retrieval"]["other"], 0);
    assert!(
        headline(&project).ends_with("Kelvin: pass"),
        "{}",
        headline(&project)
    );
    let page = project.read("kelvin/gate.md");
    assert!(leaves_nothing_to_do(&page), "{page}");
    insta::assert_snapshot!(lines_with(&page, &["some runs"]), @"13 of 13 queries are answered otherwise in some runs, as they are on the base.");
}

#[test]
fn a_model_that_begins_to_say_something_else_every_time_is_told_to_answer_otherwise() {
    let project = project(&by_document, "repeats: 3\n");
    base(&project, &right);
    project.write("ask.sh", NOISY);
    gate(&project, 0);
    let headline = headline(&project);
    insta::assert_snapshot!(headline, @"### ✅ Kelvin: pass, 13 of 13 queries are answered otherwise");
    let page = project.read("kelvin/gate.md");
    assert!(!leaves_nothing_to_do(&page), "{page}");
}

#[test]
fn an_answer_and_a_title_are_harmless_wherever_they_are_shown() {
    let hostile =
        "<script>alert(1)</script> ![x](https://example.org/x) @org/team \u{202e}\u{1b}[2J | `a`";
    let project = project(&by_text, DETERMINISTIC);
    answers(&project, QUERIES, &|at| {
        let mut output = with(
            at,
            "text",
            json!(hostile.repeat(if at == 0 { 20_000 } else { 1 })),
        );
        output["hits"][0]["title"] = json!(hostile);
        output
    });
    let said = project.kelvin(&["check"]).expect(0);
    let shown = [
        said.stdout,
        project.read("kelvin/report.md"),
        project.read("kelvin/report.html"),
    ];
    for page in &shown {
        for part in ["\u{202e}", "\u{1b}"] {
            assert!(!page.contains(part), "{part:?}");
        }
        assert!(page.len() < 500_000, "{} bytes", page.len());
    }
    for part in ["<script>alert", "![x](", "@org/team"] {
        assert!(!shown[1].contains(part), "{part}");
    }
    assert!(!shown[2].contains("<script>alert"));
    let item = &project.report()["probes"]["retrieval"]["items"][name(0)];
    let kept = item["runs"][0]["answer"]["text"]["text"]
        .as_str()
        .expect("a text");
    assert_eq!(kept.chars().count(), 2_000);
}
