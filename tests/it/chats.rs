//! Chats: bots of which it is known what they answer by, on conversations as Markdown files and as records.

use kelvin_fixtures::text::lines_with;
use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::project::{Project, Said, is_calm};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

const CHATS: usize = 12;

/// Reads the text of the last section, whatever it is called: where a chat ends in another turn, this is another text.
const LAST: &str = r#"text=
while IFS= read -r line || [ "$line" ]; do
  case $line in '## '*) text=;; esac
  text="$text$line "
done < "$1"
"#;

/// Reads the first user turn.
const FIRST: &str = r#"text= on=
while IFS= read -r line || [ "$line" ]; do
  case $line in
  '## User turn'*) [ "$text" ] && on= || on=1;;
  '## '*) on=;;
  esac
  [ -z "$on" ] || text="$text$line "
done < "$1"
"#;

const ANSWERS: &str = "case $text in *cancel*) answer=cancel;; *parcel*) answer=track;; *) answer=talk;; esac\n\
     printf '{\"intent\": \"%s\"}' \"$answer\" > \"$2\"\n";

/// A bot that reads a text of a Markdown file, and answers after a change of its mind.
fn bot(reads: &str, then: &str) -> String {
    [reads, then, ANSWERS].concat()
}

/// Reads one of the messages of the user in a record; `turns` is the last one.
fn of_record(which: &str) -> String {
    format!(
        "text=$(awk 'BEGIN {{ RS = \"{{\" }} /\"role\": *\"user\"/ && match($0, /\"content\": *\"[^\"]*/) {{ \
         said[++turns] = substr($0, RSTART, RLENGTH) }} END {{ print said[{which}] }}' \"$1\")\n"
    )
}

/// A conversation about one wish and then about another one; the two are independent of each other.
fn chat(at: usize) -> Value {
    let wish = |cancel: bool, what: &str| match cancel {
        true => format!("Please cancel my order {at} of {what}."),
        false => format!("Where is my parcel {at} with {what}?"),
    };
    let (first, last) = ((at / 2).is_multiple_of(2), at.is_multiple_of(2));
    json!({
        "id": format!("chat{at:02}"),
        "messages": [
            {"role": "system", "content": "You help the customers of a shop."},
            {"role": "user", "content": wish(first, "tea")},
            {"role": "assistant", "content": format!("I have done that, number {at}.")},
            {"role": "user", "content": format!("Thank you. I am customer {at}, and there is more.")},
            {"role": "assistant", "content": "I am listening."},
            {"role": "user", "content": wish(last, "cups")},
        ],
        "intent": if last { "cancel" } else { "track" },
    })
}

const TURNS: &str = "governing_types: [last_user_turn]\nkeep_order: [system, user_turn, assistant_turn, last_user_turn]\n";

/// The configuration: where the cases are, and what else there is.
fn configured(project: &Project, more: &str) {
    project.write(
        "kelvin.yaml",
        &format!(
            "run: sh pipeline.sh {{input}} {{output}}\ndecision_field: intent\njobs: 2\n{more}"
        ),
    );
}

/// Conversations as Markdown files, a section a turn.
fn write_markdown(project: &Project) {
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for at in 0..CHATS {
        let chat = chat(at);
        let messages = chat["messages"].as_array().expect("a list");
        let last = messages.len() - 1;
        let sections = messages.iter().enumerate().map(|(place, message)| {
            let heading = match message["role"].as_str() {
                Some("user") if place == last => "Last user turn",
                Some("user") => "User turn",
                Some("assistant") => "Assistant turn",
                _ => "System",
            };
            format!(
                "## {heading}\n\n{}\n\n",
                message["content"].as_str().expect("a text")
            )
        });
        let name = chat["id"].as_str().expect("an id");
        project.write(&format!("cases/{name}.md"), &sections.collect::<String>());
    }
    configured(project, &format!("cases: cases\n{TURNS}"));
}

/// A project with such files.
fn of_markdown(script: &str) -> Project {
    let project = Project::new(script);
    write_markdown(&project);
    project
}

/// Conversations as records, one a line.
fn write_records(project: &Project) {
    fs::remove_dir_all(project.path("cases")).expect("removed");
    let lines = (0..CHATS).map(|at| format!("{}\n", chat(at)));
    project.write("chats.jsonl", &lines.collect::<String>());
}

#[track_caller]
fn says(said: &Said, words: &[&str]) {
    for word in words {
        assert!(said.stdout.contains(word), "{word}: {}", said.stdout);
    }
}

#[test]
fn no_word_is_said_against_a_right_bot() {
    let project = of_markdown(&bot(LAST, ""));
    let said = project.check();
    assert!(is_calm(&said.stdout), "{}", said.stdout);
    for figure in ["invariance", "following"] {
        assert_eq!(project.figure(figure), json!(1.0), "{figure}");
    }
    let page = project.read("kelvin/report.md");
    insta::assert_snapshot!(lines_with(&page, &["`chat00` `reorder`: "]), @r"- **skip** `chat00` `reorder`: the 6 units of the case keep their order: \`keep\_order\`");

    // Without the key it would be called what it is not, which is why there is one.
    let config = project.read("kelvin.yaml");
    let without: Vec<&str> = config
        .lines()
        .filter(|line| !line.starts_with("keep_order"))
        .collect();
    project.write("kelvin.yaml", &without.join("\n"));
    let said = project.check();
    assert!(!said.stdout.contains("Grounded"), "{}", said.stdout);
}

#[test]
fn a_bot_that_answers_by_the_first_turn_or_by_none_is_told() {
    let said = of_markdown(&bot(FIRST, "")).check();
    says(
        &said,
        &[
            "Flat: ",
            "`last_user_turn` is hardly followed, or another unit decides",
        ],
    );
    let said = of_markdown(&bot(LAST, "text=parcel\n")).check();
    says(&said, &["It always answers `\"track\"`"]);
}

#[test]
fn a_type_in_keep_order_that_no_chat_has_is_refused_with_the_nearest() {
    let project = of_markdown(&bot(LAST, ""));
    let config = project.read("kelvin.yaml");
    project.write(
        "kelvin.yaml",
        &config.replace("assistant_turn,", "asistant_turn,"),
    );
    let said = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: `keep_order` names a type that no case has: `asistant_turn` (is it `assistant_turn`?)
      help: the types that occur, with how often: assistant_turn (24), last_user_turn (12), system (12), user_turn (24)
    ");
}

#[test]
fn init_finds_the_turns_of_chats_in_records() {
    let project = Project::new(&bot(&of_record("turns"), ""));
    write_records(&project);
    fs::remove_file(project.path("kelvin.yaml")).expect("removed");
    let run = "sh pipeline.sh {input} {output}";
    project.kelvin(&["init", "--yes", "--run", run]).expect(0);
    let config = project.read("kelvin.yaml");
    assert!(config.contains("cases: chats.jsonl"), "{config}");
    let lines = "governing_types:\n  - last_user_turn\n\n# The types of the turns, which keep their order in every variant.\n\
                 keep_order:\n  - system\n  - user_turn\n  - assistant_turn\n  - last_user_turn\n";
    assert!(config.contains(lines), "{config}");
    // `intent` is the label, and the bot is right.
    assert!(config.contains("expected: \"intent\""), "{config}");
    project.check();
    for figure in ["agrees_with_labels", "following"] {
        assert_eq!(project.figure(figure), json!(1.0), "{figure}");
    }
}

/// Chats on the base branch, and the report of their bot.
struct Base {
    _remote: TempDir,
    project: Project,
}

impl Base {
    fn new(script: &str, write: &dyn Fn(&Project)) -> Self {
        let (remote, url) = bare();
        let project = pushed(&url, script);
        write(&project);
        commit(&project, "chats");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        save(&project);
        Self {
            _remote: remote,
            project,
        }
    }

    /// What the gate says of a change.
    fn gate(&self, name: &str, script: &str) -> (Said, Value) {
        let project = &self.project;
        git(project.root(), &["checkout", "--quiet", "--force", "main"]);
        branch(project, name, script);
        let said = project.kelvin(&["gate"]);
        let judgement = verdict(project, &said);
        (said, judgement)
    }

    /// An unchanged bot passes, and each of the others is held.
    fn knows(&self, right: &str, wrong: &[(&str, String)]) {
        let (said, judgement) = self.gate("unchanged", &format!("# said again\n{right}"));
        assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
        for (name, script) in wrong {
            let (said, judgement) = self.gate(name, script);
            let found = &judgement["verdict"];
            assert_eq!(*found, json!("regression"), "{name}: {}", said.stdout);
            assert_eq!(said.code, Some(3), "{name}");
        }
    }
}

#[test]
fn the_gate_passes_an_unchanged_bot_over_markdown_and_holds_one_that_a_change_has_broken() {
    let right = bot(LAST, "");
    let base = Base::new(&right, &write_markdown);
    let fails = bot(LAST, "case $text in *cancel*) exit 1;; esac\n");
    let wrong = [
        ("by-the-first-turn", bot(FIRST, "")),
        ("by-no-turn", bot(LAST, "text=parcel\n")),
        ("no-answer", fails),
    ];
    base.knows(&right, &wrong);
}

#[test]
fn the_gate_passes_an_unchanged_bot_over_records_and_holds_one_that_a_change_has_broken() {
    let right = bot(&of_record("turns"), "");
    let base = Base::new(&right, &|project| {
        write_records(project);
        let more = "governing_types: [last_user_turn]\nrecords: {expected: intent}\n";
        configured(project, &format!("cases: chats.jsonl\n{more}"));
    });
    let fails = "case $text in *cancel*) exit 1;; esac\n";
    let wrong = [
        ("by-the-first-turn", bot(&of_record("1"), "")),
        ("by-no-turn", bot(&of_record("turns"), "text=parcel\n")),
        ("no-answer", bot(&of_record("turns"), fails)),
    ];
    base.knows(&right, &wrong);
}

#[test]
fn a_chat_is_shown_by_the_message_that_is_answered_and_not_by_what_all_chats_begin_with() {
    let project = Project::new(&bot(&of_record("turns"), ""));
    write_records(&project);
    configured(
        &project,
        "cases: chats.jsonl\ngoverning_types: [last_user_turn]\nrecords: {expected: intent}\n",
    );
    project.check();
    let report = project.json("kelvin/report.json");
    let items = &report["probes"]["evidence"]["items"];
    assert_eq!(
        items["chat00"]["title"],
        json!("Please cancel my order 0 of cups."),
        "{}",
        items["chat00"]
    );
}
