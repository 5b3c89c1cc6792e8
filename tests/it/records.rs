//! Cases that are records: pipelines of which it is known what they go by, on the same evidence as Markdown files and as
//! JSON lines, and on lists of which they read a part.

use kelvin_fixtures::text::lines_with;
use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::project::Project;

const CASES: usize = 8;

/// Decides by what `$3` says, and reads a Markdown file and a record alike. Only `noisy` differs from call to call; the
/// count of its calls lies outside of the project.
const PIPELINE: &str = r###"
turn=0
if [ "$3" = noisy ]; then
  echo >> ../calls
  turn=$(wc -l < ../calls)
fi
awk -v how="$3" -v turn="$turn" '
function field(name) { return match($0, "\"" name "\": \"[^\"]*\"") ? substr($0, RSTART, RLENGTH) : "" }
/^\{/ {
  a = field("rule_a"); b = field("rule_b")
  if (match($0, /"notes": \["[^"]*"/)) first = substr($0, RSTART, RLENGTH)
  next
}
/^## / { type = $2; units++; next }
type == "rule_a" { a = a $0 }
type == "rule_b" { b = b $0 }
units == 1 { first = first $0 }
END {
  if (how == "and") yes = a ~ /passed/ && b ~ /passed/
  if (how == "or" || how == "noisy") yes = a ~ /passed/ || b ~ /passed/
  if (how == "ignores") yes = a ~ /passed/
  if (how == "first") yes = first ~ /passed/
  if (how == "constant") yes = 1
  if (turn % 5 == 1) yes = !yes
  printf "{\"decision\": \"%s\"}", yes ? "approve" : "deny"
}' "$1" > "$2"
"###;

/// The evidence of a case: three notes, and two tests that ought to decide.
fn evidence(at: usize) -> ([String; 3], String, String) {
    let word = |passed: bool| if passed { "passed" } else { "failed" };
    let note = |note: usize| {
        let passed = (at + note).is_multiple_of(2);
        format!("Note {at}{note}: an earlier check {}.", word(passed))
    };
    (
        [0, 1, 2].map(note),
        format!(
            "The first test of file {at} is {}.",
            word(at.is_multiple_of(2))
        ),
        format!(
            "The second test of file {at} is {}.",
            word((at / 2).is_multiple_of(2))
        ),
    )
}

/// The configuration: how the pipeline decides, where its cases are, and what else there is.
fn configured(project: &Project, how: &str, cases: &str) {
    project.write(
        "kelvin.yaml",
        &format!(
            "run: sh pipeline.sh {{input}} {{output}} {how}\n{cases}\ndecision_field: decision\n\
             governing_types: [rule_a, rule_b]\nnoise_floor: {{replications: 3}}\n\
             variants: {{reorder: 2, pad_length: 1, pad_content: 1, swap: 2}}\njobs: 1\n"
        ),
    );
}

/// Every figure without the digests of inputs, and the words at the top of the page: what is said first, and the word
/// for each figure. Further below stand notices, which name what a form does not allow.
fn findings(project: &Project) -> (BTreeMap<String, Value>, Vec<String>) {
    let _ = fs::remove_file(project.path("../calls"));
    project.check();
    let report = project.json("kelvin/report.json");
    let metrics = report["metrics"].as_object().expect("metrics").iter();
    let figure = |metric: &Value| {
        let parts = ["value", "interval", "n", "n_failed", "reason"];
        parts.iter().map(|part| metric[part].clone()).collect()
    };
    let metrics = metrics.map(|(id, metric)| (id.clone(), figure(metric)));
    let page = project.read("kelvin/report.md");
    let opening = page
        .lines()
        .take_while(|line| !line.starts_with("<details>"));
    (metrics.collect(), opening.map(str::to_owned).collect())
}

/// A pipeline over Markdown files and over JSON lines with the same evidence.
fn same_over_both(how: &str, word: &str) {
    let project = Project::new(PIPELINE);
    fs::remove_dir_all(project.path("cases")).expect("removed");
    let mut lines = String::new();
    for at in 0..CASES {
        let (notes, a, b) = evidence(at);
        let sections = notes.iter().map(|note| format!("## notes\n\n{note}\n\n"));
        let sections: String = sections.collect();
        project.write(
            &format!("cases/c{at}.md"),
            &format!("{sections}## rule_a\n\n{a}\n\n## rule_b\n\n{b}\n"),
        );
        lines += &format!(
            "{{\"id\": \"c{at}\", \"notes\": {}, \"rule_a\": {}, \"rule_b\": {}, \"meta\": {{\"n\": 1.50}}}}\n",
            json!(notes),
            json!(a),
            json!(b)
        );
    }
    project.write("cases.jsonl", &lines);
    configured(&project, how, "cases: cases\nkeep_order: [rule_a, rule_b]");
    let (figures, words) = findings(&project);
    let said = words.join("\n");
    assert!(said.contains(word), "{how}: {said}");
    configured(&project, how, "cases: cases.jsonl");
    let (of_records, words_of_records) = findings(&project);
    assert_eq!(of_records, figures, "{how}");
    assert_eq!(words_of_records, words, "{how}");
    assert!(figures.len() > 10 && figures["evidence.invariance"][2] != json!(0));
}

#[test]
fn right_pipelines_get_the_same_words_and_figures_over_markdown_and_over_json_lines() {
    same_over_both("and", "- ✅ ");
    same_over_both("or", "- ✅ ");
}

#[test]
fn a_pipeline_that_ignores_one_type_gets_them_too() {
    same_over_both("ignores", "`rule_b` is ignored");
    same_over_both("constant", "always answers");
}

#[test]
fn a_pipeline_that_reads_what_comes_first_and_a_noisy_one_get_them_too() {
    same_over_both("first", "resentation moves it");
    same_over_both("noisy", "differently");
}

/// A question with ten passages, of which one says whether the order may be cancelled; by default it may not.
fn retrieved(at: usize) -> Value {
    let passages = (0..10).map(|place| match place == at % 10 {
        true => json!({"id": format!("d{at}-{place}"), "text": format!("Order {at} may be cancelled."), "score": 0.5}),
        false => json!({"id": format!("d{at}-{place}"), "text": format!("Shelf {place} holds box {at}."), "score": 0.1}),
    });
    let passages: Vec<Value> = passages.collect();
    json!({"id": format!("q{at}"), "question": format!("May order {at} be cancelled?"), "passages": passages})
}

/// A pipeline that reads some of the passages.
fn reads_passages(which: &str) -> String {
    format!(
        "def decide(record):\n texts = [one['text'] for one in record['passages']]\n \
         yes = any('may be cancelled' in text for text in texts{which})\n return 'yes' if yes else 'no'\n"
    )
}

/// A project with cases in one file, and a pipeline in Python.
fn of_records(records: impl Iterator<Item = Value>, pipeline: &str, config: &str) -> Project {
    let project = Project::new("");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    let lines = records.map(|record| format!("{record}\n"));
    project.write("cases.jsonl", &lines.collect::<String>());
    project.write("pipeline.py", pipeline);
    project.write(
        "kelvin.yaml",
        &format!(
            "run: {{python: \"pipeline:decide\"}}\ncases: cases.jsonl\ndecision_field: decision\n\
             jobs: 2\nvariants: {{reorder: 1, pad_length: 0, pad_content: 1, swap: 1}}\n\
             perturbations: {{enable: [position]}}\n{config}\n"
        ),
    );
    project
}

const PASSAGES: &str = "governing_types: [passages]\nrecords: {units: {question: question, passages: /passages/*/text}}";

#[test]
fn a_pipeline_that_reads_the_first_three_of_ten_passages_is_told_so_first_with_the_curve() {
    let project = of_records((0..4).map(retrieved), &reads_passages("[:3]"), PASSAGES);
    project.check();
    let page = project.read("kelvin/report.md");
    insta::assert_snapshot!(lines_with(&page, &["3 of 10 `passages`"]), @"- ❗ It reads only the first 3 of 10 `passages`: with the deciding one elsewhere the decision held in 0 of 21 variants");
    let html = project.read("kelvin/report.html");
    assert!(html.contains("<svg"), "the curve");
    let value = |place: usize| {
        let id = format!("position.passages_{place:02}");
        project.figure(&id)
    };
    let curve: Vec<Value> = (1..=10).map(value).collect();
    let ought: Vec<Value> = (1..=10)
        .map(|place| json!(f64::from(u8::from(place <= 3))))
        .collect();
    assert_eq!(curve, ought);
}

#[test]
fn a_pipeline_that_reads_all_passages_or_none_is_not_told_that_it_reads_a_part() {
    for which in ["", "[:0]"] {
        let project = of_records((0..4).map(retrieved), &reads_passages(which), PASSAGES);
        project.check();
        let page = project.read("kelvin/report.md");
        assert!(!page.contains("of 10 `passages`"), "{which}: {page}");
        let curve = project.figure("position.passages_10");
        match which {
            "" => assert_eq!(curve, json!(1.0)),
            _ => assert_eq!(curve, Value::Null),
        }
    }
}

/// A conversation of two wishes, either of which cancels the order.
fn conversation(at: usize) -> Value {
    let wish = |cancels: bool, number: usize| match cancels {
        true => format!("Please cancel order {at}{number}."),
        false => format!("Where is order {at}{number}?"),
    };
    json!({
        "id": format!("chat{at}"),
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": wish(at.is_multiple_of(3), 1), "name": "ann"},
            {"role": "assistant", "content": format!("Noted, {at}.")},
            {"role": "user", "content": wish(at.is_multiple_of(2), 2)},
        ],
    })
}

fn reads_messages(which: &str) -> String {
    format!(
        "def decide(record):\n texts = [one['content'] for one in record['messages'] if one['role'] == 'user']\n \
         yes = any('cancel' in text for text in texts{which})\n return 'cancel' if yes else 'other'\n"
    )
}

#[test]
fn a_bot_that_reads_the_last_message_alone_is_told_so_where_others_ought_to_count() {
    let both = "governing_types: [user_turn, last_user_turn]";
    let last = "governing_types: [last_user_turn]";
    for (which, governing, is_told) in [
        ("[-1:]", both, true),
        ("", both, false),
        // Here the last message is all that ought to count.
        ("[-1:]", last, false),
    ] {
        let pipeline = reads_messages(which);
        let project = of_records((0..8).map(conversation), &pipeline, governing);
        let said = project.check();
        let page = project.read("kelvin/report.md");
        assert_eq!(
            page.contains("of 4 `messages`"),
            is_told,
            "{which} {governing}: {page}"
        );
        if is_told {
            insta::allow_duplicates! {
                insta::assert_snapshot!(lines_with(&page, &["of 4 `messages`"]), @"- ❗ It reads only the last of 4 `messages`: neutral text in place of another of a governing type changed the decision in 0 of 8 variants");
            }
        }
        assert_eq!(
            said.stdout.contains("of 4 `messages`"),
            is_told,
            "{}",
            said.stdout
        );
        let input = project.json("kelvin/chat0/perturbations/swap-last_user_turn-01/input.json");
        assert_eq!(input["messages"][1]["name"], "ann");
        assert_eq!(input["messages"][3]["role"], "user");
    }
}

/// The first line is like the one in docs/decisions.md.
#[test]
fn lint_tells_the_units_of_records_and_what_is_wrong_with_its_place() {
    let project = of_records((0..4).map(retrieved), "", PASSAGES);
    let said = project.kelvin(&["lint"]).expect(0);
    let units =
        "cases.jsonl: 4 record(s); units: `passages` (40, elements of arrays in 4), `question` (4)";
    assert!(said.stdout.contains(units), "{}", said.stdout);

    let mut lines = project.read("cases.jsonl");
    lines += "{\"id\": \"q9\", \"question\": 1, \"passages\": [{\"text\": {}}]}\n{\"id\": \"q1\"\n";
    project.write("cases.jsonl", &lines);
    let said = project.kelvin(&["lint"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`/passages/*/text`", "cases.jsonl"]), @"
    - cases.jsonl:5: element 1 of `/passages/*/text` has an object where a text is looked for; it has `text`
      help: name the text of each element with a JSON pointer such as `/passages/*/text`, and leave out elements without one
    - cases.jsonl:6: not JSON: EOF while parsing an object, in column 11 of the record
    ");
    let mut texts = Vec::new();
    for config in [
        "cases: cases\nrecords: {id: id}",
        "cases: cases.jsonl\nrecords: {units: {a: 'passages[]'}}",
        "cases: cases.jsonl\nrecords: {units: {a: 'x/*'}}",
        "cases: cases.jsonl\nrecords: {units: {A: x, a: y}}",
        "cases: none.jsonl",
    ] {
        let text = format!(
            "run: sh x.sh {{input}} {{output}}\ndecision_field: d\ngoverning_types: [passages]\n{config}\n"
        );
        project.write("kelvin.yaml", &text);
        let said = project.kelvin(&["lint"]).expect(1);
        texts.push(said.stdout.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    error: `records` has no effect: `cases: cases` is no file of records
     --> kelvin.yaml:5:10
      |
    5 | records: {id: id}
      |          ^
      |
      = help: name a file that ends in `.jsonl`, `.json`, `.csv` or `.tsv`, or leave `records` out
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `passages[]` is no field
     --> kelvin.yaml:5:22
      |
    5 | records: {units: {a: 'passages[]'}}
      |                      ^^^^^^^^^^^^
      |
      = help: write `passages`: an array is one unit an element by itself
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `x/*` is no JSON pointer
     --> kelvin.yaml:5:22
      |
    5 | records: {units: {a: 'x/*'}}
      |                      ^^^^^
      |
      = help: write `/x/*`: `*` stands in pointers only
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `A` and `a` are the same type `a`
     --> kelvin.yaml:5:25
      |
    5 | records: {units: {A: x, a: y}}
      |                         ^
      |
      = help: leave one of them out
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: the file of the cases, `none.jsonl`, does not exist
      help: `cases` in the configuration names a file with one record a case, or a folder with one Markdown file a case, relative to the configuration file
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint
    ");
}

#[test]
fn a_label_in_a_record_counts_and_is_not_given_to_the_pipeline() {
    let record = |at: usize| {
        let mut record = retrieved(at);
        record["expected"] = json!(if at == 3 { "no" } else { "yes" });
        record
    };
    let pipeline = reads_passages("").replace("yes = ", "assert 'expected' not in record\n yes = ");
    let project = of_records((0..4).map(record), &pipeline, PASSAGES);
    project.check();
    assert_eq!(project.figure("agrees_with_labels"), json!(0.75));
    assert_eq!(project.figure("failure_rate"), json!(0.0));
    let input = project.read("kelvin/q0/baseline/input.json");
    assert!(!input.contains("expected"), "{input}");
}

#[test]
fn cases_that_a_change_adds_move_no_figure_of_swaps_that_are_as_before() {
    let record = |at: usize, limit: usize| {
        json!({
            "id": format!("c{at:02}"),
            "claim": format!("The claim is over {} euros.", 100 + at * 37 % 500),
            "policy": format!("The policy pays up to {limit} euros."),
            "notes": [format!("Called on day {at}."), "The customer is polite."],
        })
    };
    let before = (0..12).map(|at| record(at, 300 + at % 3 * 50));
    // The policy of each of these covers its claim, and that of an earlier case often does not.
    let added = (12..18).map(|at| record(at, 900));
    let pays = "import re\n\ndef decide(claim, policy):\n \
                amount = lambda text: int(re.search(r\"(\\d+) euros\", text).group(1))\n \
                return \"pay\" if amount(claim) <= amount(policy) else \"refuse\"\n";
    let project = of_records(before.clone(), pays, "");
    project.write(
        "kelvin.yaml",
        "run: {python: \"pipeline:decide\"}\ncases: cases.jsonl\ndecision_field: decision\n\
         governing_types: [claim, policy]\njobs: 2\n",
    );
    project.check();
    fs::rename(project.path("kelvin"), project.path("base")).expect("moved");
    let lines = before.chain(added).map(|record| format!("{record}\n"));
    project.write("cases.jsonl", &lines.collect::<String>());
    project
        .kelvin(&["gate", "--no-history", "--baseline", "base/report.json"])
        .expect(0);
    let judgement = project.json("kelvin/gate.json");
    let metrics = judgement["metrics"].as_object().expect("metrics");
    // Every swap of a policy has the text that it had.
    let policy = &metrics["evidence.following.policy"];
    assert_eq!(policy["coverage"]["paired"], policy["coverage"]["base"]);
    assert_eq!(policy["drop"], json!(0.0), "{policy}");
    assert_eq!(policy["base"], policy["head"], "{policy}");
    // The report itself has all cases.
    let whole = project.figure("following.policy");
    assert_ne!(whole, policy["head"]);
}

/// A table without ids, as most public sets of labelled texts are.
fn sentiments(rows: &[(usize, &str)]) -> String {
    let rows = rows.iter().map(|(at, label)| {
        let word = if *label == "good" { "love" } else { "hate" };
        format!("\"I {word} it, order {at}.\",{label}\n")
    });
    format!("text,label\n{}", rows.collect::<String>())
}

#[test]
fn a_row_that_a_change_puts_first_in_a_table_without_ids_edits_no_other_case_and_hides_no_loss() {
    let rows: Vec<(usize, &str)> = (0..16_usize)
        .map(|at| (at, if at.is_multiple_of(2) { "good" } else { "bad" }))
        .collect();
    let project = Project::new("");
    let app = "def decide(text):\n    return \"good\" if \"love\" in text else \"bad\"\n";
    project.write("app.py", app);
    project.write("data.csv", &sentiments(&rows));
    project.write(
        "kelvin.yaml",
        "run: {python: \"app:decide\"}\ncases: data.csv\nrecords: {expected: label}\ndecision_field: decision\n\
         governing_types: [text]\njobs: 2\n",
    );
    project.check();
    fs::rename(project.path("kelvin"), project.path("base")).expect("moved");
    let gate = |code| {
        let gate = ["gate", "--no-history", "--baseline", "base/report.json"];
        project.kelvin(&gate).expect(code);
        project.json("kelvin/gate.json")
    };

    let mut first = vec![(99, "good")];
    first.extend(&rows);
    project.write("data.csv", &sentiments(&first));
    let judgement = gate(0);
    assert_eq!(judgement["verdict"], "pass");
    let page = project.read("kelvin/gate.md");
    assert!(
        page.starts_with("### ✅ Kelvin: pass, 1 case was added\n"),
        "{page}"
    );
    // A text alone has no variant that should change nothing, so that neither side has a score, which is no news.
    let (above, _) = page.split_once("<details>").expect("folded");
    assert!(!above.contains("evidence.kelvin_score"), "{page}");

    first.sort_by_key(|(at, label)| (*label, *at));
    project.write("data.csv", &sentiments(&first));
    project.write("app.py", &app.replace("else \"bad\"", "else \"good\""));
    let judgement = gate(3);
    assert_eq!(judgement["verdict"], "regression");
    let page = project.read("kelvin/gate.md");
    assert!(
        page.contains("8 of 16 cases are answered otherwise"),
        "{page}"
    );
    assert!(!page.contains("edited"), "{page}");
}
