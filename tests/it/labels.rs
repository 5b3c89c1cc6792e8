//! Labels of cases: a classifier of tickets whose right answers are known, and changes of which it is known whether
//! they are worse.

use kelvin_fixtures::text::lines_with;
use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::answers::leaves_nothing_to_do;
use crate::project::{CONSTANT, Project, SUMMED, Said};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

const CASES: usize = 16;

/// Few variants: what is tested is told by the cases themselves.
const FEW: &str = "variants: {reorder: 1, pad_length: 0, pad_content: 0, swap: 1}\n";

/// Reads what the customer reports, in `$text`.
const READS: &str = "text= on=\nwhile IFS= read -r line || [ \"$line\" ]; do\n\
     case $line in '## Report'*) on=1;; '## '*) on=;; esac\n[ \"$on\" ] && text=\"$text$line \"\ndone < \"$1\"\n";

/// Whoever loses data or sees a crash reports a bug; everybody else asks for a feature.
const RIGHT: &str = "case $text in *crash*|*lost*) answer=bug;; *) answer=feature;; esac\n";

/// The same with the two exchanged for the tickets that name an even room: 8 of 16.
const EXCHANGED: &str = "case $text in *even*)
case $answer in bug) answer=feature;; *) answer=bug;; esac;; esac\n";

const WRITES: &str = "printf '{\"decision\": \"%s\"}' \"$answer\" > \"$2\"\n";

/// A pipeline that knows what is right and then does something else.
fn script(then: &str) -> String {
    [READS, RIGHT, then, WRITES].concat()
}

/// What a ticket reports, and what is right.
fn ticket(at: usize) -> (String, &'static str) {
    let (what, label) = match at / 2 % 4 {
        0 => ("The app crashes when I open it", "bug"),
        1 => ("I lost all my notes after the update", "bug"),
        2 => ("Please add a dark theme", "feature"),
        _ => ("It would be nice to sort by date", "feature"),
    };
    let room = if at.is_multiple_of(2) { "even" } else { "odd" };
    (format!("{what}, number {at}, from an {room} room."), label)
}

fn name(at: usize) -> String {
    format!("t{at:03}")
}

/// The table of labels, where `of` says another one than the right one for a ticket, or none.
fn table(of: impl Fn(usize, &'static str) -> Option<String>) -> String {
    let rows =
        (0..CASES).filter_map(|at| Some(format!("{},{}\n", name(at), of(at, ticket(at).1)?)));
    format!("case,expected\n{}", rows.collect::<String>())
}

/// The label that [`EXCHANGED`] would have right.
fn swapped(at: usize, label: &str) -> String {
    let other = if label == "bug" { "feature" } else { "bug" };
    if at.is_multiple_of(2) { other } else { label }.to_owned()
}

fn right(_: usize, label: &'static str) -> Option<String> {
    Some(label.to_owned())
}

/// Tickets on the base branch, with labels or without, and the report of their pipeline.
struct Tickets {
    _remote: TempDir,
    project: Project,
}

impl Tickets {
    fn new(script: &str, labels: Option<&str>, settings: &str) -> Self {
        let (remote, url) = bare();
        let project = pushed(&url, script);
        fs::remove_dir_all(project.path("cases")).expect("removed");
        for at in 0..CASES {
            let (report, _) = ticket(at);
            let text = format!(
                "# Ticket {at}\n\n## Customer\n\nCustomer {at} of the club.\n\n## Report\n\n{report}\n\n\
                 ## Device\n\nA phone of the year 20{:02}.\n",
                10 + at
            );
            project.write(&format!("cases/{}.md", name(at)), &text);
        }
        if let Some(labels) = labels {
            project.write("cases/expected.csv", labels);
        }
        project.write(
            "kelvin.yaml",
            &format!(
                "run: sh pipeline.sh {{input}} {{output}}\ncases: cases\ndecision_field: decision\n\
                 governing_types: [report]\njobs: 2\n{FEW}{settings}"
            ),
        );
        commit(&project, "tickets");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        save(&project);
        Self {
            _remote: remote,
            project,
        }
    }

    /// A change, and what the gate says of it.
    fn gate(&self, name: &str, script: &str, edit: impl FnOnce(&Project)) -> (Said, Value) {
        let project = &self.project;
        git(project.root(), &["checkout", "--quiet", "--force", "main"]);
        branch(project, &name.replace(' ', "-"), script);
        edit(project);
        commit(project, name);
        let said = project.kelvin(&["gate"]);
        let judgement = verdict(project, &said);
        (said, judgement)
    }
}

fn nothing(_: &Project) {}

/// What was said, as if no line were too long.
fn words(said: &Said) -> String {
    said.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn is_red(name: &str, said: &Said, judgement: &Value) {
    let word = &judgement["verdict"];
    assert_eq!(word, &json!("regression"), "{name}: {}", said.stdout);
    assert_eq!(said.code, Some(3), "{name}");
}

fn broken(judgement: &Value) -> Vec<&str> {
    let cases = judgement["broken_cases"].as_array().expect("a list").iter();
    cases.filter_map(|case| case["case"].as_str()).collect()
}

const AGREES: &str = "evidence.agrees_with_labels";
const REWRITES: &str = "evidence.agrees_under_rewrites";

#[test]
fn wrong_answers_of_labelled_cases_are_red() {
    let tickets = Tickets::new(&script(""), Some(&table(right)), "");
    let report = tickets.project.report();
    for id in [AGREES, REWRITES] {
        assert_eq!(report["metrics"][id]["value"], json!(1.0), "{id}");
        assert_eq!(report["metrics"][id]["gated"], json!(true), "{id}");
    }
    let changes = [
        ("exchanged", EXCHANGED, 0.5),
        ("one class lost", "answer=bug\n", 0.5),
        (
            "a kind of bug is lost",
            "case $text in *lost*) answer=feature;; esac\n",
            0.75,
        ),
        ("constant", "answer=maybe\n", 0.0),
        (
            "no answer to a quarter",
            "case $text in *lost*) exit 1;; esac\n",
            0.75,
        ),
    ];
    for (name, then, left) in changes {
        let (said, judgement) = tickets.gate(name, &script(then), nothing);
        is_red(name, &said, &judgement);
        let metric = &judgement["metrics"][AGREES];
        assert_eq!(metric["verdict"], json!("regression"), "{name}: {metric}");
        assert_eq!(metric["base"], json!(1.0), "{name}");
        assert_eq!(metric["head"], json!(left), "{name}");
    }
    // What was asked, expected and answered is said for the first of them.
    let (said, _) = tickets.gate("again", &script(EXCHANGED), nothing);
    let told = "expected \"bug\", answered \"feature\" in";
    assert!(words(&said).contains(told), "{}", said.stdout);
}

#[test]
fn without_labels_other_answers_are_told_first_with_the_pairs() {
    let tickets = Tickets::new(&script(""), None, "");
    let metrics = tickets.project.report()["metrics"].take();
    assert_eq!(metrics[AGREES], Value::Null);
    assert_eq!(metrics[REWRITES], Value::Null);
    let (said, judgement) = tickets.gate("exchanged", &script(EXCHANGED), nothing);
    assert_eq!(judgement["answers"]["evidence"]["other"], json!(8));
    let gate = words(&said);
    let gate = gate.split(" Gate ").nth(1).expect("a verdict");
    let line: String = gate.chars().take(80).collect();
    insta::assert_snapshot!(line, @"inconclusive, passes, 8 of 16 cases are answered otherwise ! `t001` now stays at");
    let answers = judgement["answers"]["evidence"]["answers"].as_array();
    let mut answers = answers.into_iter().flatten();
    let first = answers.find(|answer| answer["item"] == "t000");
    let first = first.expect("it is listed");
    let pair = ["item", "base", "head"].map(|key| first[key].as_str().unwrap_or_default());
    assert_eq!(pair, ["t000", "\"bug\"", "\"feature\""]);
    assert!(first["asked"].is_string(), "{first}");
    assert!(!leaves_nothing_to_do(
        &tickets.project.read("kelvin/gate.md")
    ));
}

#[test]
fn one_labelled_case_that_breaks_is_red_and_one_without_a_label_is_told() {
    let but_two = table(|at, label| (at != 2).then(|| label.to_owned()));
    // One case of fifteen is less than the mean may lose.
    let settings = "gate: {max_drop: 0.1}\n";
    let tickets = Tickets::new(&script(""), Some(&but_two), settings);
    let page = tickets.project.read("kelvin/report.md");
    insta::assert_snapshot!(kelvin_fixtures::text::redacted(&lines_with(&page, &["15 of 16"])), @"16 cases, 32 variants, 15 of 16 cases have a label, 48 invocations, [SECONDS] s.");
    let breaks = |at: usize| {
        script(&format!(
            "case $text in *\"number {at},\"*) answer=other;; esac\n"
        ))
    };
    let (said, judgement) = tickets.gate("labelled", &breaks(4), nothing);
    is_red("labelled", &said, &judgement);
    assert_eq!(broken(&judgement), ["t004"], "{}", said.stdout);
    let told = "expected \"bug\", answered \"other\"";
    let told = if ticket(4).1 == "bug" {
        told.to_owned()
    } else {
        told.replace("bug", "feature")
    };
    assert!(words(&said).contains(&told), "{}", said.stdout);
    // No label says anything of the other one.
    let (said, judgement) = tickets.gate("unlabelled", &breaks(2), nothing);
    assert_eq!(
        judgement["metrics"][AGREES]["verdict"],
        json!("pass"),
        "{}",
        said.stdout
    );
    insta::assert_snapshot!(lines_with(&said.stdout, &["1 of 16 cases"]), @"Gate         pass, 1 of 16 cases is answered otherwise");
}

#[test]
fn who_does_nothing_wrong_is_green() {
    let wrong = script("case $text in *\"number 4,\"*|*\"number 9,\"*) answer=other;; esac\n");
    let tickets = Tickets::new(&wrong, Some(&table(right)), "");
    assert_eq!(tickets.project.figure("agrees_with_labels"), json!(0.875));
    let (said, judgement) = tickets.gate("unchanged", &format!("# said again\n{wrong}"), nothing);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    // A fix moves swaps too, of which one run of the base tells too little: that is open, and passes.
    let (said, judgement) = tickets.gate("a fix", &script(""), nothing);
    assert_eq!(judgement["passed"], json!(true), "{}", said.stdout);
    assert_eq!(judgement["metrics"][AGREES]["verdict"], json!("pass"));
    let metric = &judgement["metrics"][AGREES];
    assert_eq!(
        (&metric["base"], &metric["head"]),
        (&json!(0.875), &json!(1.0))
    );
    // The first labels judge both sides.
    let tickets = Tickets::new(&script(""), None, "");
    let brings = |project: &Project| project.write("cases/expected.csv", &table(right));
    let (said, judgement) = tickets.gate("labels", &script(""), brings);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    assert_eq!(
        judgement["metrics"][AGREES]["base"],
        json!(1.0),
        "{}",
        said.stdout
    );
    let told = " of 16 cases";
    assert!(words(&said).contains(told), "{}", said.stdout);
    let (said, judgement) = tickets.gate("labels-and-worse", &script(EXCHANGED), brings);
    is_red("first labels, and worse", &said, &judgement);
}

#[test]
fn labels_that_the_change_edits_do_not_make_wrong_answers_right() {
    let exchanged = table(|at, label| Some(swapped(at, label)));
    let without = table(|at, label| (!at.is_multiple_of(2)).then(|| label.to_owned()));
    let blank = |project: &Project| {
        for at in 0..CASES {
            let path = format!("cases/{}.md", name(at));
            let text = project.read(&path);
            project.write(&path, &format!("{text}\n\n"));
        }
    };
    let write = |text: &str| {
        let text = text.to_owned();
        move |project: &Project| project.write("cases/expected.csv", &text)
    };
    type Edit<'e> = (&'e str, Box<dyn Fn(&Project) + 'e>);
    let all_gone = |project: &Project| {
        fs::remove_file(project.path("cases/expected.csv")).expect("removed");
    };
    let elsewhere = |project: &Project| {
        for at in 0..CASES {
            let text = project.read(&format!("cases/{}.md", name(at)));
            project.write(&format!("tickets/{}.md", name(at)), &text);
        }
        let config = project.read("kelvin.yaml");
        project.write(
            "kelvin.yaml",
            &config.replace("cases: cases", "cases: tickets"),
        );
    };
    for settings in ["", "baseline: {compute: true}\n"] {
        let mut told_of_labels = Vec::new();
        let tickets = Tickets::new(&script(""), Some(&table(right)), settings);
        let edits: [Edit<'_>; 7] = [
            ("exchanged as well", Box::new(write(&exchanged))),
            ("taken away where it broke", Box::new(write(&without))),
            ("all taken away", Box::new(all_gone)),
            ("cases in a folder without labels", Box::new(elsewhere)),
            (
                "exchanged, and an empty line",
                Box::new(|project| {
                    write(&exchanged)(project);
                    blank(project);
                }),
            ),
            (
                "taken away, and an empty line",
                Box::new(|project| {
                    write(&without)(project);
                    blank(project);
                }),
            ),
            (
                "all taken away, and an empty line",
                Box::new(|project| {
                    all_gone(project);
                    blank(project);
                }),
            ),
        ];
        for (at, (name, edit)) in edits.iter().enumerate() {
            let (said, judgement) = tickets.gate(&format!("edit-{at}"), &script(EXCHANGED), edit);
            let word = &judgement["verdict"];
            // Nothing but the code of the base can tell what was right of another text.
            let is_open = settings.is_empty() && name.contains("empty line");
            if is_open {
                assert_eq!(word, &json!("inconclusive"), "{name}: {}", said.stdout);
                let first = judgement["reasons"].to_string();
                let cases = "8 cases (`t000`, `t002`, `t004`, …)";
                assert!(first.contains(cases), "{name}: {first}");
            } else {
                is_red(&format!("{name} {settings}"), &said, &judgement);
            }
            let page = tickets.project.read("kelvin/gate.md");
            assert!(!leaves_nothing_to_do(&page), "{name}: {page}");
        }
        // Labels that are corrected, or taken away, harm nobody whose answers stay as they were.
        for (at, (name, edit)) in edits.iter().take(3).enumerate() {
            let (said, judgement) = tickets.gate(&format!("same-{at}"), &script(""), edit);
            let reasons = judgement["reasons"].as_array().expect("a list");
            let told = reasons.iter().find(|reason| reason["code"] == "relabelled");
            told_of_labels
                .push(told.unwrap_or_else(|| panic!("{name}: {judgement}"))["text"].to_string());
            assert_eq!(judgement["passed"], json!(true), "{name}: {}", said.stdout);
            // Where the pipeline is right less often by them, or fewer answers are judged, somebody should look at them.
            let comment = tickets.project.read("kelvin/gate.md");
            assert!(comment.starts_with("### ⚠️"), "{name}: {comment}");
            assert!(!leaves_nothing_to_do(&comment), "{name}: {comment}");
        }
        insta::allow_duplicates! {
            insta::assert_snapshot!(told_of_labels.join("\n"), @r#"
            "this change edits the labels of 8 of 16 cases; by the labels of the base the verdict is pass, and by its own it is pass; by the labels of the base `evidence.agrees_under_rewrites` of this change is 1.0000, and by its own it is 0.5000"
            "this change edits the labels of 8 of 16 cases; by the labels of the base the verdict is pass, and by its own it is pass; its own labels judge 8 of the 16 cases that those of the base judge"
            "this change edits the labels of 16 of 16 cases; by the labels of the base the verdict is pass, and by its own it is pass; its own labels judge none of the 16 cases that those of the base judge"
            "#);
        }
        // Nor is anybody harmed who has turned a case round and labels it anew.
        let turned = |project: &Project| {
            let text = project.read("cases/t004.md");
            project.write(
                "cases/t004.md",
                &text.replace("Please add a dark theme", "It crashes"),
            );
            let other = |at, label: &str| Some(if at == 4 { "bug" } else { label }.to_owned());
            project.write("cases/expected.csv", &table(other));
        };
        let (said, judgement) = tickets.gate("turned round", &script(""), turned);
        assert_eq!(judgement["passed"], json!(true), "{}", said.stdout);
        let agrees = &judgement["metrics"][AGREES];
        assert_eq!(agrees["verdict"], json!("pass"), "{agrees}");
    }
}

#[test]
fn an_edit_of_labels_is_said_before_what_it_explains() {
    let tickets = Tickets::new(&script(""), Some(&table(right)), "");
    // Whoever loses notes wants a feature now, and the labels say so.
    let lost = |at: usize, label: &'static str| match at / 2 % 4 {
        1 => Some("feature".to_owned()),
        _ => Some(label.to_owned()),
    };
    let then = "case $text in *'lost all'*) answer=feature;; esac\n";
    let (said, judgement) = tickets.gate("other labels", &script(then), |project| {
        project.write("cases/expected.csv", &table(lost));
    });
    is_red("other labels", &said, &judgement);
    assert_ne!(judgement["flips"], json!([]), "{}", said.stdout);
    let page = tickets.project.read("kelvin/gate.md");
    insta::assert_snapshot!(lines_with(&page, &["**"]), @"**This change edits the labels of 4 of 16 cases; by the labels of the base the verdict is regression, and by its own it is pass**");
}

#[test]
fn cases_that_are_renamed_do_not_take_their_labels_along_unseen() {
    let tickets = Tickets::new(&script(""), Some(&table(right)), "");
    let renamed = |project: &Project| {
        for at in 0..CASES {
            let new = project.path(&format!("cases/new-{}.md", name(at)));
            fs::rename(project.path(&format!("cases/{}.md", name(at))), new).expect("renamed");
        }
        let labels = table(|at, label| Some(swapped(at, label)));
        project.write("cases/expected.csv", &labels.replace("\nt", "\nnew-t"));
    };
    let (said, judgement) = tickets.gate("renamed", &script(EXCHANGED), renamed);
    assert_eq!(judgement["passed"], json!(false), "{}", said.stdout);
}

#[test]
fn a_noisy_classifier_that_is_unchanged_is_not_red() {
    // One answer in ten is another one. Which calls of an input these are is fixed, so that no luck decides the test:
    // real luck turns one unchanged gate in twenty red, as docs/gate.md says.
    let luck = TempDir::new().expect("a folder");
    let noisy = script(&format!(
        "{SUMMED}\ninput=$sum call=0\nset -C\n\
         until command : 2> /dev/null > \"{}/$input-$call\"; do call=$((call + 1)); done\nset +C\n\
         mixed \"$input $call\"\n\
         if [ $((mixed % 10)) -eq 0 ]; then answer=other; fi\n",
        luck.path().display()
    ));
    let tickets = Tickets::new(&noisy, Some(&table(right)), "repeats: 3\n");
    for at in 0..3 {
        let name = format!("unchanged-{at}");
        let (said, judgement) = tickets.gate(&name, &format!("# {at}\n{noisy}"), nothing);
        assert_ne!(judgement["verdict"], json!("regression"), "{}", said.stdout);
    }
}

/// The tickets without a repository.
fn plain(script: &str, cases: &str) -> Project {
    let project = Project::new(script);
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for at in 0..CASES {
        let text = format!("# Ticket\n\n## Report\n\n{}\n", ticket(at).0);
        project.write(&format!("cases/{}.md", name(at)), &text);
    }
    project.write(
        "kelvin.yaml",
        &format!(
            "run: sh pipeline.sh {{input}} {{output}}\ncases: '{cases}'\ndecision_field: decision\n\
             governing_types: [report]\n{FEW}"
        ),
    );
    project
}

/// Whoever does what the guide says gets a first verdict, green and then red.
#[test]
fn the_guide_leads_from_an_empty_folder_to_a_green_and_a_red_gate() {
    let page = include_str!("../../docs/decisions.md");
    let (_, begin) = page
        .split_once("\n## Cases and configuration\n")
        .expect("the section");
    let block = |language: &str| {
        let block = begin.split(&format!("```{language}\n")).nth(1);
        block
            .expect("a block")
            .split("```")
            .next()
            .expect("it ends")
    };
    let project = Project::new("");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    fs::remove_file(project.path("pipeline.sh")).expect("removed");
    let case = block("text");
    project.write("cases/alder.md", case);
    for (name, days) in [("birch", "10"), ("cedar", "60"), ("fir", "5")] {
        let text = case
            .replace("# Alder", "# Case")
            .replace("30 days", &format!("{days} days"));
        project.write(&format!("cases/{name}.md"), &text);
    }
    project.write("kelvin.yaml", block("yaml"));
    let decides = |rule: &str| {
        format!(
            "import json, re, sys\ntext = open(sys.argv[1]).read()\n\
             limit = int(re.search(r'within (\\d+) days', text).group(1))\n\
             days = int(re.search(r'after (\\d+) days', text).group(1))\n\
             decision = 'refund' if {rule} else 'refuse'\n\
             json.dump({{'decision': decision}}, open(sys.argv[2], 'w'))\n"
        )
    };
    project.write("decide.py", &decides("days <= limit"));
    let commands = block("sh");
    assert_eq!(commands, "kelvin lint\nkelvin check\nkelvin gate\n");
    project.kelvin(&["lint"]).expect(0);
    project.kelvin(&["check"]).expect(0);
    let report = project.report();
    let items = &report["probes"]["evidence"]["items"];
    assert_eq!(items["alder"]["baseline"][0]["decision"], "refund");
    assert_eq!(items["birch"]["baseline"][0]["decision"], "refuse");
    assert_eq!(project.figure("following"), json!(1.0));
    fs::copy(
        project.path("kelvin/report.json"),
        project.path("base.json"),
    )
    .expect("kept");
    let gate = ["gate", "--baseline", "base.json"];
    project.kelvin(&gate).expect(0);
    project.write("decide.py", &decides("True or days <= limit"));
    let said = project.kelvin(&gate).expect(3);
    assert!(said.stdout.contains("regression"), "{}", said.stdout);
}

#[test]
fn the_table_of_the_page_is_read_as_it_stands_there() {
    let page = include_str!("../../docs/decisions.md");
    let block = page.split("```csv\n").nth(1).expect("a table");
    let block = block.split("```").next().expect("it ends");
    let project = plain(&script(""), "cases");
    project.write("cases/expected.csv", block);
    let said = project.check();
    insta::assert_snapshot!(lines_with(&said.stdout, &["3 of 16"]), @"kelvin check: 16 cases, 16 variants, 3 of 16 cases have a label, 32 invocations,");
    assert_eq!(project.figure("agrees_with_labels"), json!(1.0));
    project.kelvin(&["lint"]).expect(0);
}

#[test]
fn labels_of_a_field_may_be_texts_and_numbers_and_no_input_has_them() {
    let project = Project::new(CONSTANT);
    project.write(
        "all.jsonl",
        "{\"id\": \"a\", \"rule\": \"one\", \"answer\": \"go\"}\n\
         {\"id\": \"b\", \"rule\": \"two\", \"answer\": 1}\n\
         {\"id\": \"c\", \"rule\": \"three\", \"answer\": \"1\"}\n\
         {\"id\": \"d\", \"rule\": \"four\", \"answer\": \"say \\\"no\\\", now\"}\n\
         {\"id\": \"e\", \"rule\": \"five\", \"answer\": null}\n",
    );
    let config = project.read("kelvin.yaml").replace(
        "cases: cases",
        "cases: all.jsonl\nrecords: {id: id, expected: answer}",
    );
    project.write("kelvin.yaml", &config);
    project.check();
    for case in ["a", "b", "c", "d", "e"] {
        let folder = format!("kelvin/{case}");
        for (name, text) in project.files(&folder) {
            let text = String::from_utf8_lossy(&text).into_owned();
            let is_input = name.contains("input");
            assert!(!is_input || !text.contains("answer"), "{name}: {text}");
        }
    }
    // Every answer is `go`: one of four is right.
    assert_eq!(project.figure("agrees_with_labels"), json!(0.25));
}

#[test]
fn no_label_reaches_the_pipeline() {
    let asks = "if grep -q SECRET-LABEL \"$1\" || env | grep -q SECRET-LABEL; then answer=told; fi\n\
                case \"$1$2$PWD\" in *expected*|*SECRET*) answer=told;; esac\n";
    let labels = table(|_, _| Some("SECRET-LABEL".to_owned()));
    for cases in ["cases", "cases/*", "cases/**/*"] {
        let project = plain(&script(asks), cases);
        project.write("cases/expected.csv", &labels);
        project.check();
        let probe = &project.report()["probes"]["evidence"];
        assert!(!probe["items"].to_string().contains("told"), "{cases}");
        assert_eq!(
            probe["items"].as_object().map(serde_json::Map::len),
            Some(CASES),
            "{cases}"
        );
        assert_eq!(project.figure("agrees_with_labels"), json!(0.0), "{cases}");
    }
}

#[test]
fn labels_that_cannot_be_read_are_refused_with_the_line_and_what_to_do() {
    let project = Project::new(&script(""));
    let mut texts = Vec::new();
    for table in [
        "",
        "id,label\nalder,a\n",
        "case,expected\nalder,\n",
        "case,expected\nelm,a\n",
        "case,expected\nalder,a\nbirch,b\nalder,b\n",
        "case,expected\nalder,a\nalder,a\n",
        "case,expected\n,a\n",
        "case,expected\nalder,a,b\n",
        "case,expected\nalder,\"a\nbirch,b\n",
        "case,expected\nal\u{1b}[31mder,a\n",
    ] {
        project.write("cases/expected.csv", table);
        let said = project.kelvin(&["check"]).expect(1);
        texts.push(said.stderr.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @r#"
    error: cases/expected.csv:1: the first line is ``, and does not name the columns `case` and `expected`, each once
      help: let it be `case,expected`; give the file another name if it has no labels for these cases

    error: cases/expected.csv:1: the first line is `id,label`, and does not name the columns `case` and `expected`, each once
      help: let it be `case,expected`; give the file another name if it has no labels for these cases

    error: cases/expected.csv:2: the label of `alder` is empty
      help: take the row out where nobody knows the answer; an empty text is written as `""""""`

    error: cases/expected.csv:2: no case is called `elm`
      help: name a case by its file without `.md`, or take the row out

    error: cases/expected.csv:4: `alder` is labelled otherwise in cases/expected.csv:2
      help: keep one row for each case

    error: cases/expected.csv:3: `alder` is labelled in cases/expected.csv:2 already
      help: keep one row for each case

    error: cases/expected.csv:2: this row names no case
      help: write the name of its file without `.md`

    error: cases/expected.csv:2: this row has 3 cells, and the first line has 2
      help: put a cell with a comma, a quote or a line end between quotes

    error: cases/expected.csv:2: a quote that opens in this row or before it is never closed
      help: close it; a quote within a cell is written as two, and the cell stands between quotes

    error: cases/expected.csv:2: no case is called `al\u{1b}[31mder`
      help: name a case by its file without `.md`, or take the row out
    "#);
    // All are told at once.
    project.write("cases/expected.csv", "case,expected\nelm,a\nash,b\n");
    let said = project.kelvin(&["check"]).expect(1);
    assert!(
        said.stderr.contains("elm") && said.stderr.contains("ash"),
        "{}",
        said.stderr
    );
    project.write(
        "cases/expected.csv",
        "\u{feff}expected,why,case\r\ngo,so,alder\r\n",
    );
    let said = project.check();
    assert!(!said.stdout.contains("expected.csv"), "{}", said.stdout);
    let case = &project.report()["probes"]["evidence"]["items"]["alder"];
    assert_eq!(case["expected"], json!("go"));
    assert_eq!(case["title"], json!("Request alder"));
}
