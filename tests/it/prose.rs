//! Decisions in prose that a judge compares: what is said of a pipeline whose truth is known is what is said of it where
//! it decides by a label.

use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use crate::models::server::{Faults, says};
use crate::project::{Project, SUMMED, mixed};

/// Reads the number in the rule.
const READS: &str = r#"n=
while read -r line; do
  case $line in "The limit is "*" days"*) n=${line#The limit is } n=${n%% *}; break;; esac
done < "$1""#;
/// Reads another unit.
const READS_ANOTHER: &str = r#"n=
while read -r line; do
  case $line in "It is on floor "*) n=${line#It is on floor } n=${n%%.*}; break;; esac
done < "$1""#;
/// Decides always the same.
const CONSTANT: &str = "n=7";
/// Decides by the unit that comes first.
const FIRST_UNIT: &str = concat!(
    mixed!(),
    r###"while IFS= read -r line; do case $line in '## '*) mixed "$line"; break;; esac; done < "$1"
n=$((mixed % 10000))"###
);

/// Says the number and nothing else.
const AS_A_LABEL: &str = r#"printf '{"decision": "%s"}' "$n" > "$2""#;
/// Says the number in words that depend on everything, behind [`SUMMED`].
const IN_PROSE: &str = r#"
case $((sum % 3)) in
0) text="The answer is $n, as the papers say." ;;
1) text="By all that is written, it is $n" ;;
*) text="After reading everything I would say $n." ;;
esac
printf '{"decision": "%s"}' "$text" > "$2""#;

/// The number in a frame of a question.
fn number(question: &str, name: &str) -> String {
    let begin = question.find(&format!("BEGIN {name} ")).expect("a frame");
    let text = &question[begin..];
    let text = &text[text.find('\n').expect("a line")..text.find("\nEND ").expect("an end")];
    text.chars().filter(char::is_ascii_digit).collect()
}

/// A judge that sees whether two answers have the same number.
fn judge() -> Faults {
    Faults::start(|_, request| {
        let body = request.json();
        let texts = body["messages"].as_array().expect("a list").iter();
        let question: String = texts.filter_map(|one| one["content"].as_str()).collect();
        let same = number(&question, "TEXT ONE") == number(&question, "TEXT TWO");
        let score = u8::from(same);
        says(&json!({"notes": "n", "quality_score": score}).to_string())
    })
}

/// What `kelvin check` says of a pipeline, without the figures: its word and its diagnosis.
fn words(project: &Project, decides: &str, answers: &str) -> String {
    project.write("pipeline.sh", &format!("{decides}\n{answers}\n"));
    let said = project.kelvin(&["check"]).expect(0).stdout;
    let place = said.find("Kelvin score").expect("the figures");
    let lines = said[place..].lines().skip(1);
    let lines = lines.take_while(|line| !line.starts_with("Diagnostic"));
    let lines = lines.filter(|line| !line.contains("(n=") && !line.trim().is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

fn suite(scorer: &str, more: &str) -> Project {
    let project = Project::new("exit 9\n");
    for case in ["alder", "birch", "cedar", "dogwood"] {
        std::fs::remove_file(project.path(&format!("cases/{case}.md"))).expect("removed");
    }
    for at in 0..8 {
        let text = format!(
            "## Rule\n\nThe limit is {} days.\n\n## Note\n\nThe file is {}.\n\n## Office\n\nIt is on floor {}.\n\n\
             ## Contact\n\nThe line is {}.\n",
            at % 4 + 2,
            at * 37 + 100,
            at * 3 + 11,
            at * 91 + 100
        );
        project.write(&format!("cases/c{at}.md"), &text);
    }
    project.config(&format!(
        "variants: {{reorder: 2, pad_length: 1, pad_content: 1, swap: 2}}\nscorer: {scorer}\n{more}"
    ));
    project
}

fn judged(server: &Faults) -> Project {
    let models = format!(
        "models:\n  local: {{kind: openai, base_url: \"{}\", model: gemma}}\n",
        server.url()
    );
    suite("{llm: {model: local}}", &models)
}

#[test]
fn a_pipeline_that_answers_in_prose_gets_the_words_of_one_that_answers_with_a_label() {
    let server = judge();
    let (labels, prose) = (suite("exact", ""), judged(&server));
    let in_prose = format!("{SUMMED}{IN_PROSE}");
    for (decides, word) in [
        (READS, "Grounded"),
        (READS_ANOTHER, "Unstable"),
        (FIRST_UNIT, "Unsteady"),
    ] {
        let of_labels = words(&labels, decides, AS_A_LABEL);
        let of_prose = words(&prose, decides, &in_prose);
        assert!(of_labels.contains(word), "{word}: {of_labels}");
        assert_eq!(of_prose, of_labels);
        for id in ["invariance", "sensitivity"] {
            assert_eq!(prose.figure(id), labels.figure(id), "{word}, {id}");
        }
    }
    let constant = words(&prose, CONSTANT, &in_prose);
    insta::assert_snapshot!(constant, @"Constant: gives the same answer in every case ~ All answers mean the same, whatever the case, although their words differ: the   pipeline never decides otherwise, or this suite has no case for it; add a case   with another right answer");
}

#[test]
fn the_swaps_that_could_move_prose_are_counted_and_their_donors_cost_at_most_a_call_for_each_swap()
{
    let server = judge();
    let project = judged(&server);
    project.write("pipeline.sh", &format!("{READS}\n{SUMMED}{IN_PROSE}\n"));
    let said = project.kelvin(&["check", "--list", "--format", "json"]);
    let list: Value = serde_json::from_str(&said.expect(0).stdout).expect("JSON");
    let most = list["invocations"]["judge (at most)"]
        .as_u64()
        .expect("a number");
    let variants = list["variants"].as_array().expect("a list").len() as u64;
    assert_eq!(most, variants + 16, "two swaps in each of eight cases");
    let said = project.kelvin(&["check"]).expect(0).stdout;
    insta::assert_snapshot!(lines_with(&said, &["Sensitivity  "]), @"Sensitivity  1.0000  (n=16); 16 swaps could move it, 16 did");
    assert!(server.requests().len() as u64 <= most);
    // The figures come from the report alone when they are made again.
    let before = server.requests().len();
    project.kelvin(&["rescore", "figures", "latest"]).expect(0);
    assert_eq!(server.requests().len(), before);
    assert_eq!(project.figure("following"), json!(1.0));
}
