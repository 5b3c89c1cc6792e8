//! Cases that a change edits, asked of the code of the base as well.

use kelvin_fixtures::text::lines_with;
use std::fs;

use serde_json::{Value, json};

use crate::project::{CONSTANT, GROUNDED, HAS, Project, USUAL, text};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

/// A project whose base has a report, and may be measured too.
fn project(url: &str) -> Project {
    let project = pushed(url, GROUNDED);
    project.config("baseline: {compute: true}\n");
    commit(&project, "compute");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    project
}

/// Adds an empty line to some cases.
fn edit(project: &Project, cases: &[&str]) {
    for case in cases {
        let path = format!("cases/{case}.md");
        let text = project.read(&path);
        project.write(&path, &format!("{text}\n\n"));
    }
}

/// What a change does to a project.
type Edit = fn(&Project);
/// What is done, in which cases the pipeline is worse, and what is done to them.
type Trick<'t> = (&'t str, &'t str, &'t dyn Fn(&Project));

const ALL: [&str; 4] = ["alder", "birch", "cedar", "dogwood"];

/// Answers the same in the cases of these names, with `|` between them, whatever they say.
fn deaf_in(names: &str) -> String {
    format!(
        "IFS= read -r title < \"$1\"\ncase ${{title#'# Request '}} in {names}) {CONSTANT}; exit;; esac\n"
    )
}

/// The grounded pipeline, but for the cases of these names.
fn worse_for(names: &str) -> String {
    format!("{}{GROUNDED}", deaf_in(names))
}

#[test]
fn a_drop_does_not_hide_in_cases_that_the_change_edits_or_draws_anew() {
    let tricks: [(&str, Edit); 5] = [
        ("an empty line everywhere", |project| edit(project, &ALL)),
        ("an empty line where it drops", |project| {
            edit(project, &ALL[..2])
        }),
        ("another word in every case", |project| {
            for case in ALL {
                let path = format!("cases/{case}.md");
                let text = project.read(&path);
                project.write(&path, &text.replace("Sent in", "Received"));
            }
        }),
        ("another seed", |project| {
            project.config("baseline: {compute: true}\nseed: 7\n");
        }),
        ("another seed, and an empty line", |project| {
            project.config("baseline: {compute: true}\nseed: 7\n");
            edit(project, &ALL[1..]);
        }),
    ];
    let (_remote, url) = bare();
    let project = project(&url);
    for (at, (name, trick)) in tricks.into_iter().enumerate() {
        git(project.root(), &["checkout", "--quiet", "--force", "main"]);
        let worse = worse_for("alder|birch");
        branch(&project, &format!("trick-{at}"), &worse);
        trick(&project);
        commit(&project, name);
        let said = project.kelvin(&["gate"]);
        let judgement = verdict(&project, &said);
        assert_eq!(
            judgement["verdict"],
            json!("regression"),
            "{name}: {}",
            said.stdout
        );
        let metric = &judgement["metrics"]["evidence.following.rule"];
        assert_eq!(metric["unpaired"], json!(null), "{name}: {metric}");
        assert_eq!(metric["coverage"]["turned"], json!(0), "{name}: {metric}");
        assert_eq!(
            metric["coverage"]["base"], metric["coverage"]["paired"],
            "{name}: {metric}"
        );
        assert!(judgement["base_reruns"].as_u64() > Some(0), "{name}");
    }
}

#[test]
fn an_edit_that_makes_cases_harder_for_both_is_no_drop() {
    let (_remote, url) = bare();
    let project = project(&url);
    branch(&project, "harder", &format!("# said again\n{GROUNDED}"));
    for case in ALL {
        let path = format!("cases/{case}.md");
        let text = project.read(&path);
        project.write(
            &path,
            &format!("{text}\n## Rule\n\nNothing else is said of {case}.\n"),
        );
    }
    commit(&project, "harder");
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    assert_eq!(
        judgement["metrics"]["evidence.following.rule"]["coverage"]["turned"],
        json!(0)
    );
    // What was edited is told all the same.
    assert_eq!(judgement["turnover"]["evidence"]["edited"], json!(4));
    insta::assert_snapshot!(lines_with(&said.stdout, &["Gate  "]), @"Gate         pass, 4 of 4 cases were edited");
}

#[test]
fn a_case_that_the_base_cannot_answer_stays_an_edited_one_and_a_budget_that_is_too_small_is_told() {
    let (_remote, url) = bare();
    let project = project(&url);
    let fails = format!("{HAS}if has \"$1\" POISON; then exit 1; fi\n{GROUNDED}");
    project.write("pipeline.sh", &fails);
    project.config(&format!("baseline: {{compute: true}}\n{USUAL}"));
    commit(&project, "a pipeline that some input breaks");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    branch(&project, "poisoned", &format!("# same\n{fails}"));
    let text = project.read("cases/alder.md");
    project.write("cases/alder.md", &format!("{text}\nPOISON\n"));
    commit(&project, "an input that breaks both");
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    insta::assert_snapshot!(judgement["differences"].to_string(), @r#"["the cases changed","the pipeline changed","the base commit was also run on 3 cases as the change has them, so that what it edits is paired like any other; in `alder`, `birch` it failed there, or the edit leaves fewer inputs, so these cases count as edited"]"#);
    assert_ne!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    // Without the calls for it the cases are compared as edited ones, as where no base can be run.
    git(project.root(), &["checkout", "--quiet", "--force", "main"]);
    branch(&project, "edited", &format!("# same\n{fails}"));
    edit(&project, &ALL);
    commit(&project, "edited");
    let said = project.kelvin(&["gate", "--budget", "5"]).expect(0);
    let judgement = verdict(&project, &said);
    let told = judgement["differences"].to_string();
    insta::assert_snapshot!(told, @r#"["the cases changed","the pipeline changed","the base commit was not run on the cases that the change edits: it takes 52 calls, and the budget has 5"]"#);
    insta::assert_snapshot!(lines_with(&said.stdout, &["Gate  "]), @"Gate         inconclusive, passes, 4 of 4 cases were edited");
    assert_eq!(judgement["base_reruns"], json!(null));
    // Nothing of the base is left behind in the work tree.
    assert_eq!(git(project.root(), &["status", "--porcelain"]), "");
    assert!(fs::exists(project.path("cases/alder.md")).expect("asked"));
}

#[test]
fn a_drop_does_not_hide_behind_easy_cases_or_inputs_that_are_taken_away() {
    let (_remote, url) = bare();
    let project = project(&url);
    let easy = |project: &Project| {
        for at in 0..24 {
            let text = project.read("cases/dogwood.md");
            let text = text.replace("dogwood", &format!("easy-{at}"));
            let text = text.replace("Room 3", &format!("Room 9{at}"));
            project.write(&format!("cases/easy-{at}.md"), &text);
        }
    };
    let without_rule = |project: &Project, name: &str| {
        let path = format!("cases/{name}.md");
        let text = project.read(&path).replace("## Rule", "## Remark");
        project.write(&path, &text);
    };
    let tricks: [Trick<'_>; 4] = [
        ("easy cases", "alder", &easy),
        ("easy cases, and an edit", "alder", &|project| {
            easy(project);
            edit(project, &ALL);
        }),
        ("no rule where it drops", "alder|birch", &|project| {
            without_rule(project, "alder");
            without_rule(project, "birch");
        }),
        ("the case itself is gone", "alder", &|project| {
            fs::remove_file(project.path("cases/alder.md")).expect("removed");
        }),
    ];
    for (at, (name, worse, trick)) in tricks.into_iter().enumerate() {
        git(project.root(), &["checkout", "--quiet", "--force", "main"]);
        branch(&project, &format!("hidden-{at}"), &worse_for(worse));
        trick(&project);
        commit(&project, name);
        let said = project.kelvin(&["gate"]);
        let judgement = verdict(&project, &said);
        assert_eq!(judgement["passed"], json!(false), "{name}: {}", said.stdout);
    }
}

/// The pipeline, worse for two cases as long as they have the words of the base.
fn worse_for_the_words_of_the_base() -> String {
    format!(
        "{HAS}if has \"$1\" 'Sent in'; then\n{}fi\n{GROUNDED}",
        deaf_in("alder|birch")
    )
}

/// Takes the words away for which that pipeline is worse.
fn say_otherwise(project: &Project) {
    for case in &ALL[..2] {
        let path = format!("cases/{case}.md");
        let text = project.read(&path);
        assert!(text.contains("Sent in"), "{text}");
        project.write(&path, &text.replace("Sent in", "Received"));
    }
}

#[test]
fn a_loss_does_not_hide_in_the_text_that_an_edit_takes_away() {
    for config in ["", "baseline: {compute: true}\n"] {
        let (_remote, url) = bare();
        let project = pushed(&url, GROUNDED);
        project.config(config);
        commit(&project, "settings");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        save(&project);
        branch(&project, "trick", &worse_for_the_words_of_the_base());
        say_otherwise(&project);
        commit(&project, "worse, and the cases with it");
        let said = project.kelvin(&["gate"]).expect(0);
        let judgement = verdict(&project, &said);
        assert_eq!(
            judgement["verdict"],
            json!("inconclusive"),
            "{config}: {}",
            said.stdout
        );
        let first = &judgement["reasons"][0];
        assert_eq!(
            first["code"],
            json!("measured_as_base"),
            "{config}: {first}"
        );
        let text = first["text"].as_str().expect("a text");
        assert!(text.contains("`rule`"), "{config}: {text}");
        assert!(judgement["reruns"].as_u64() > Some(0), "{config}");
    }
}

#[test]
fn a_right_pipeline_may_edit_cases_and_is_asked_about_the_old_ones_alone() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    // Without a change of the pipeline there is nothing to ask.
    git(project.root(), &["checkout", "--quiet", "-b", "cases"]);
    say_otherwise(&project);
    commit(&project, "other words");
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(
        (&judgement["verdict"], &judgement["reruns"]),
        (&json!("pass"), &json!(0))
    );

    branch(&project, "both", &format!("# said again\n{GROUNDED}"));
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("pass"), "{}", said.stdout);
    let reasons = judgement["reasons"].as_array().expect("a list");
    let calm = reasons
        .iter()
        .find(|one| one["code"] == json!("measured_as_base"));
    assert_eq!(calm.expect("it was asked")["effect"], json!(null));
    let calls =
        project.json("kelvin/report.json")["run"]["session"]["cost"]["invocations"].as_u64();
    let (asked, all) = (judgement["reruns"].as_u64(), calls.map(|calls| calls - 1));
    assert!(asked > Some(0) && asked < all, "{asked:?} of {all:?}");
}

/// The cases as an array of records, with this text between the tokens of JSON and this mark for `é`.
fn records(blank: &str, accented: &str) -> String {
    let record = |at: usize| {
        let rule = ["granted", "refused"][at % 2];
        format!(
            "{{'name':{blank}'caf{accented}-{at}',{blank}'rule':{blank}'It is {rule} by rule {at}.',{blank}'expected':{blank}'{rule}'}}"
        )
    };
    let all: Vec<String> = (0..12).map(record).collect();
    let all = all.join(&format!(",{blank}"));
    format!("[{blank}{all}{blank}]\n").replace('\'', "\"")
}

#[test]
fn a_loss_does_not_hide_behind_another_layout_of_the_file_of_records() {
    const READS: &str = concat!(
        text!(),
        "case $text in *granted*) echo '{\"decision\": \"granted\"}';; *) echo '{\"decision\": \"refused\"}';; \
         esac > \"$2\"\n"
    );
    let (_remote, url) = bare();
    let project = pushed(&url, READS);
    let configured = "run: sh pipeline.sh {input} {output}\ncases: cases.json\nrecords: {id: name}\ndecision_field: \
                      decision\ngoverning_types: [rule]\njobs: 1\n";
    project.write("kelvin.yaml", configured);
    project.write("cases.json", &records("", "é"));
    commit(&project, "records");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    let gated = |name: &str, script: &str| {
        git(project.root(), &["checkout", "--quiet", "--force", "main"]);
        branch(&project, name, script);
        project.write("cases.json", &records("\n    ", "\\u00e9"));
        commit(&project, name);
        let said = project.kelvin(&["gate"]);
        (said.code, verdict(&project, &said))
    };
    let (code, judgement) = gated("layout", READS);
    let metric = &judgement["metrics"]["evidence.agrees_with_labels"];
    assert_eq!(
        (code, &metric["unpaired"]),
        (Some(0), &json!(null)),
        "{metric}"
    );
    assert_eq!(metric["coverage"]["turned"], json!(0), "{metric}");
    assert_eq!(judgement["differences"], json!([]));
    let (code, judgement) = gated("loss", &READS.replace("*granted*", "*nothing*"));
    assert_eq!(
        (code, &judgement["verdict"]),
        (Some(3), &json!("regression"))
    );
}

/// Twenty records without an id, of which the odd ones are refused.
fn without_ids() -> Vec<String> {
    let record = |at: usize| {
        let (came, expected) = [("in time", "granted"), ("late", "refused")][at % 2];
        json!({"policy": format!("Claim {at} came {came}."), "note": at.to_string(), "expected": expected})
    };
    (0..20).map(|at| record(at).to_string()).collect()
}

/// Another text for what governs in some of these records.
fn said_again(records: &mut [String]) {
    for at in [2, 3, 7, 8, 12, 15] {
        records[at] = records[at].replace("Claim", "Again claim");
    }
}

const REFUSES_THE_LATE: &str = concat!(
    text!(),
    "case $text in *late*) echo '{\"decision\": \"refused\"}';; *) echo '{\"decision\": \"granted\"}';; \
     esac > \"$2\"\n"
);

/// A project whose base has a report of records without an id.
fn project_without_ids(url: &str, more: &str) -> Project {
    let project = pushed(url, REFUSES_THE_LATE);
    project.write(
        "kelvin.yaml",
        &format!(
            "run: sh pipeline.sh {{input}} {{output}}\ncases: cases.jsonl\ndecision_field: decision\ngoverning_types: \
             [policy]\njobs: 1\n{more}"
        ),
    );
    project.write("cases.jsonl", &(without_ids().join("\n") + "\n"));
    commit(&project, "records");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    project
}

/// What is done to the records, and how many of them are gone then.
type EditOfRecords<'e> = (&'e str, &'e dyn Fn(&mut Vec<String>), usize);

/// The judgement of a change of the records and of the pipeline.
fn of_records(
    project: &Project,
    name: &str,
    script: &str,
    edit: impl Fn(&mut Vec<String>),
) -> Value {
    git(project.root(), &["checkout", "--quiet", "--force", "main"]);
    branch(project, name, script);
    let mut records = without_ids();
    edit(&mut records);
    project.write("cases.jsonl", &(records.join("\n") + "\n"));
    commit(project, name);
    let said = project.kelvin(&["gate"]);
    verdict(project, &said)
}

#[test]
fn a_record_without_an_id_whose_text_is_edited_is_an_edited_case_by_its_place() {
    for (more, is_paired) in [("", false), ("baseline: {compute: true}\n", true)] {
        let (_remote, url) = bare();
        let project = project_without_ids(&url, more);
        let edited = |records: &mut Vec<String>| said_again(records);
        let judgement = of_records(&project, "edited", REFUSES_THE_LATE, edited);
        assert_eq!(judgement["passed"], json!(true), "{more}: {judgement}");
        let turnover = &judgement["turnover"]["evidence"];
        assert_eq!(
            (
                &turnover["edited"],
                &turnover["removed"],
                &turnover["added"]
            ),
            (&json!(6), &json!(0), &json!(0)),
            "{more}"
        );
        let coverage = &judgement["metrics"]["evidence.failure_rate"]["coverage"];
        assert_eq!(
            coverage["turned"] == json!(0),
            is_paired,
            "{more}: {coverage}"
        );
        // What is worse for the words of the base alone is found by asking about these.
        let worse = REFUSES_THE_LATE.replace(
            "in *late*)",
            "in *'Claim 3 '*|*'Claim 7 '*|*'Claim 15 '*) echo '{\"decision\": \"granted\"}';; *late*)",
        );
        let judgement = of_records(&project, "worse", &worse, edited);
        assert_ne!(judgement["verdict"], json!("pass"), "{more}: {judgement}");
        let first = &judgement["reasons"][0];
        assert_eq!(first["code"], json!("measured_as_base"), "{more}: {first}");
    }
}

#[test]
fn records_without_an_id_that_change_places_too_are_not_taken_for_each_other() {
    let (_remote, url) = bare();
    let project = project_without_ids(&url, "");
    let sorted = |records: &mut Vec<String>| {
        said_again(records);
        records.reverse();
    };
    let elsewhere = |records: &mut Vec<String>| {
        for at in [15, 7, 3] {
            records.remove(at);
        }
        let easy = |at| json!({"policy": format!("Easy {at} came in time."), "note": "e", "expected": "granted"});
        records.extend((0..3).map(|at| easy(at).to_string()));
    };
    let edits: [EditOfRecords<'_>; 2] = [("sorted", &sorted, 6), ("elsewhere", &elsewhere, 3)];
    for (name, edit, gone) in edits {
        let judgement = of_records(&project, name, REFUSES_THE_LATE, edit);
        assert_eq!(judgement["passed"], json!(false), "{name}: {judgement}");
        let turnover = &judgement["turnover"]["evidence"];
        assert_eq!(turnover["removed"], json!(gone), "{name}: {turnover}");
        assert_eq!(turnover["edited"], json!(0), "{name}: {turnover}");
    }
}

/// The part of a comment that is seen before anything is opened.
fn unfolded(project: &Project) -> String {
    let page = project.read("kelvin/gate.md");
    let mut parts = page.split("<details>");
    let first = parts.next().unwrap_or_default().to_owned();
    let behind = parts.filter_map(|part| part.split_once("</details>"));
    behind.fold(first, |all, (_, behind)| all + behind)
}

#[test]
fn a_renamed_field_of_labels_is_named_where_nothing_has_to_be_opened() {
    let (_remote, url) = bare();
    let project = project_without_ids(&url, "");
    let renamed = |records: &mut Vec<String>| {
        for record in records {
            *record = record.replace("\"expected\"", "\"truth\"");
        }
    };
    of_records(&project, "renamed", REFUSES_THE_LATE, renamed);
    insta::assert_snapshot!(lines_with(&unfolded(&project), &["No case has a label"]), @"- ⚠️ No case has a label any more, where 20 cases of the base have one: no record has the field of the labels. One that was renamed is given to the pipeline until `records: {expected: FIELD}` names it");
}

#[test]
fn compute_is_advised_for_an_edited_case_only_where_it_is_not_set() {
    for (config, is_advised) in [("", true), ("baseline: {compute: true}\n", false)] {
        let (_remote, url) = bare();
        let project = project_without_ids(&url, config);
        let unlabelled = |late: bool| {
            let mut records = without_ids();
            if !late {
                records[3] = records[3].replace("came late", "came soon");
            }
            for record in &mut records {
                *record = record.replace("expected", "about");
            }
            records.join("\n") + "\n"
        };
        project.write("cases.jsonl", &unlabelled(true));
        commit(&project, "no label");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        save(&project);
        git(project.root(), &["checkout", "--quiet", "-b", "edited"]);
        project.write("cases.jsonl", &unlabelled(false));
        commit(&project, "edited");
        // The budget is too small to ask the base about the edited case.
        let said = project.kelvin(&["gate", "--budget", "5"]).expect(0);
        let page = project.read("kelvin/gate.md");
        assert!(page.contains("the edited case"), "{config}: {page}");
        assert_eq!(
            page.contains("compute: true"),
            is_advised,
            "{config}: {page}"
        );
        let judgement = verdict(&project, &said);
        assert_eq!(
            judgement["cannot_compute"] == json!(true),
            !is_advised,
            "{config}"
        );
    }
}

#[test]
fn the_row_of_an_edited_case_says_that_both_sides_were_asked_its_new_text() {
    let (_remote, url) = bare();
    let project = project(&url);
    branch(&project, "worse", &worse_for("alder|birch"));
    edit(&project, &["alder"]);
    commit(&project, "edited");
    let said = project.kelvin(&["gate"]).expect(3);
    let judgement = verdict(&project, &said);
    let answers = judgement["answers"]["evidence"]["answers"].as_array();
    let edited: Vec<(&Value, bool)> = answers
        .expect("a list")
        .iter()
        .map(|answer| (&answer["item"], answer["edited"] == json!(true)))
        .collect();
    assert_eq!(
        edited,
        [(&json!("alder"), true), (&json!("birch"), false)],
        "{judgement}"
    );
    let page = project.read("kelvin/gate.md");
    insta::assert_snapshot!(page.matches("edited, and asked of both: ").count().to_string(), @"1");
}
