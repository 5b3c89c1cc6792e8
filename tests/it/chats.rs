//! Chats: bots of which it is known what they answer by, on conversations that were imported.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::project::{Project, Said};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

const CHATS: usize = 12;

/// Reads the text of the last section, whatever it is called: where a chat ends in another turn, this is another text.
const LAST: &str =
    "text=$(awk '/^## /{text=\"\"} {text = text $0 \" \"} END{print text}' \"$1\")\n";

/// Reads the first user turn.
const FIRST: &str = "text=$(awk '/^## /{on = /^## User turn/ && !seen++} on' \"$1\")\n";

const ANSWERS: &str = "case $text in *cancel*) answer=cancel;; *parcel*) answer=track;; *) answer=talk;; esac\n\
     printf '{\"intent\": \"%s\"}' \"$answer\" > \"$2\"\n";

/// A bot that reads a text, and answers after a change of its mind.
fn bot(reads: &str, then: &str) -> String {
    [reads, then, ANSWERS].concat()
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
            {"role": "assistant", "content": [{"type": "text", "text": format!("I have done that, number {at}.")}]},
            {"role": "user", "content": format!("Thank you. I am customer {at}, and there is more.")},
            {"role": "assistant", "content": "I am listening."},
            {"role": "user", "content": wish(last, "cups")},
            {"role": "assistant", "content": "It is done."},
        ],
        "intent": if last { "cancel" } else { "track" },
    })
}

/// Conversations as cases, with the lines for the configuration that the import prints.
fn import(project: &Project, more: &[&str]) {
    fs::remove_dir_all(project.path("cases")).expect("removed");
    let lines = (0..CHATS).map(|at| format!("{}\n", chat(at)));
    project.write("chats.jsonl", &lines.collect::<String>());
    let flags = [
        "import",
        "cases",
        "chats.jsonl",
        "--id",
        "id",
        "--messages",
        "messages",
    ];
    let said = project.kelvin(&[&flags[..], more].concat()).expect(0);
    let left_out = "12 messages behind the last user turns left out";
    assert!(said.stdout.contains(left_out), "{}", said.stdout);
    let (_, printed) = said
        .stdout
        .split_once("the lines for kelvin.yaml:\n\n")
        .expect("printed");
    let (printed, _) = printed
        .split_once("\n\n")
        .expect("a blank line behind them");
    project.write(
        "kelvin.yaml",
        &format!(
            "run: sh pipeline.sh {{input}} {{output}}\ncases: cases\ndecision_field: intent\njobs: 2\n{printed}\n"
        ),
    );
}

fn imported(script: &str) -> Project {
    let project = Project::new(script);
    import(&project, &[]);
    project
}

#[track_caller]
fn says(said: &Said, words: &[&str]) {
    for word in words {
        assert!(said.stdout.contains(word), "{word}: {}", said.stdout);
    }
}

#[test]
fn no_word_is_said_against_a_right_bot() {
    let project = imported(&bot(LAST, ""));
    let said = project.check();
    says(
        &said,
        &["Grounded: follows the evidence", "Nothing stands out"],
    );
    for figure in ["invariance", "following"] {
        assert_eq!(project.figure(figure), json!(1.0), "{figure}");
    }
    let page = project.read("kelvin/report.md");
    let kept = "`reorder`: the 6 units of the case keep their order";
    assert!(page.contains(kept), "{page}");

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
    let said = imported(&bot(FIRST, "")).check();
    says(
        &said,
        &[
            "Flat: ",
            "`last_user_turn` is hardly followed, or another unit decides",
        ],
    );
    let said = imported(&bot(LAST, "text=parcel\n")).check();
    says(&said, &["It always answers `\"track\"`"]);
}

#[test]
fn a_type_in_keep_order_that_no_chat_has_is_refused_with_the_nearest() {
    let project = imported(&bot(LAST, ""));
    let config = project.read("kelvin.yaml");
    project.write(
        "kelvin.yaml",
        &config.replace("assistant_turn,", "asistant_turn,"),
    );
    let said = project.kelvin(&["check"]).expect(1);
    let why =
        "`keep_order` names a type that no case has: `asistant_turn` (is it `assistant_turn`?)";
    assert!(said.stderr.contains(why), "{}", said.stderr);
}

#[test]
fn init_finds_the_turns_of_chats() {
    let project = imported(&bot(LAST, ""));
    fs::remove_file(project.path("kelvin.yaml")).expect("removed");
    let run = "sh pipeline.sh {input} {output}";
    project.kelvin(&["init", "--yes", "--run", run]).expect(0);
    let config = project.read("kelvin.yaml");
    let lines = "governing_types:\n  - last_user_turn\n\n# The types of the turns, which keep their order in every variant.\n\
                 keep_order:\n  - system\n  - user_turn\n  - assistant_turn\n  - last_user_turn\n";
    assert!(config.contains(lines), "{config}");
    says(&project.check(), &["Grounded: follows the evidence"]);
}

/// Chats on the base branch, and the report of their bot.
struct Base {
    _remote: TempDir,
    project: Project,
}

impl Base {
    fn new(flags: &[&str]) -> Self {
        let (remote, url) = bare();
        let project = pushed(&url, &bot(LAST, ""));
        import(&project, flags);
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
}

#[test]
fn the_gate_passes_an_unchanged_bot_and_holds_one_that_a_change_has_broken() {
    for flags in [&[][..], &["--expected", "intent"]] {
        let base = Base::new(flags);
        let (said, judgement) = base.gate("unchanged", &format!("# said again\n{}", bot(LAST, "")));
        assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
        for (name, script) in [
            ("by-the-first-turn", bot(FIRST, "")),
            ("by-no-turn", bot(LAST, "text=parcel\n")),
            (
                "no-answer",
                bot(LAST, "case $text in *cancel*) exit 1;; esac\n"),
            ),
        ] {
            let (said, judgement) = base.gate(name, &script);
            assert_eq!(
                judgement["verdict"],
                json!("regression"),
                "{name}: {}",
                said.stdout
            );
            assert_eq!(said.code, Some(3), "{name}");
        }
    }
}

/// The lines of Python about chats in decisions.md.
fn reader() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/decisions.md");
    let page = fs::read_to_string(page).expect("read");
    let (_, block) = page
        .split_once("\n## Chats\n")
        .expect("the section")
        .1
        .split_once("```python\n")
        .expect("a block of Python");
    let (block, _) = block.split_once("\n```").expect("the block ends");
    block.to_owned()
}

#[test]
fn the_lines_of_the_page_make_the_same_messages_of_a_case_again() {
    let conversation = json!([
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "## User turn\n\nI am not one."},
        {"role": "assistant", "content": "Look:\n\n```sh\n## Systems\n```\n\n- ```\n  x\n  ```"},
        {"role": "user", "content": "```\nonly code\n```"},
        {"role": "assistant", "content": "````text\n```\n````\n\n### Third\n\n<!-- open"},
        {"role": "user", "content": "- a\n- b\n\nWhy, in *Straße*?  "},
    ]);
    let project = Project::new("");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    let record = json!({"system": "## Rule\nBefore all.", "messages": conversation});
    project.write("chats.json", &json!([record]).to_string());
    let flags = [
        "import",
        "cases",
        "chats.json",
        "--messages",
        "messages",
        "--preamble",
        "system",
    ];
    project.kelvin(&flags).expect(0);
    let script = format!(
        "{}\n\nimport json\nprint(json.dumps(messages(open('cases/case-0001.md', encoding='utf-8').read())))\n",
        reader()
    );
    project.write("read.py", &script);
    let said = project.paste("python3 read.py").expect(0);
    let mut wanted = vec![json!({"role": "system", "content": "## Rule\nBefore all."})];
    wanted.extend(conversation.as_array().expect("a list").iter().cloned());
    let found: Value = serde_json::from_str(&said.stdout).expect("it is JSON");
    assert_eq!(found, Value::Array(wanted));
}

#[test]
fn a_bot_that_reads_its_cases_by_the_lines_of_the_page_is_grounded() {
    let script = format!(
        "exec python3 - \"$1\" \"$2\" <<'PYTHON'\n{}\n\nimport json, sys\n\
         last = messages(open(sys.argv[1], encoding='utf-8').read())[-1]\n\
         assert last['role'] == 'user'\n\
         intent = 'cancel' if 'cancel' in last['content'] else 'track'\n\
         json.dump({{'intent': intent}}, open(sys.argv[2], 'w'))\nPYTHON\n",
        reader()
    );
    let project = imported(&script);
    says(
        &project.check(),
        &["Grounded: follows the evidence", "Nothing stands out"],
    );
}
