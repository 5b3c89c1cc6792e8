//! A change that edits what scores the answers: the base's scorer judges them too.

use kelvin_fixtures::text::{lines_with, redacted};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::answers::leaves_nothing_to_do;
use crate::project::{Project, Said};
use crate::repository::{bare, commit, git, pushed, save, tells, verdict};

/// An evaluator that answers `yes`, but not to the cases that `broken` beside the project names. Its answers are scored by a
/// script of their own.
const EVALUATOR: &str = r#"
touch ../broken
echo x >> ../runs
echo "id,question,answer,ok" > "$1.raw"
while read -r id question; do
  answer=yes
  while read -r broken; do [ "$broken" != "$id" ] || answer=no; done < ../broken
  echo "$id,$question,$answer," >> "$1.raw"
done < cases.txt
sh score.sh "$1.raw" "$1"
"#;

/// What is right is a condition on the third column.
fn scorer(right: &str) -> String {
    format!("awk -F, -v OFS=, 'NR > 1 {{ $4 = ({right}) ? 1 : 0 }} {{ print }}' \"$1\" > \"$2\"\n")
}

const STRICT: &str = "$3 == \"yes\"";

const SUITE: &str = "results:\n  - name: qa\n    run: sh eval.sh {output}\n    format: csv\n    \
                     columns: {case: id, input: [question]}\n    \
                     metrics:\n      correct: {column: ok, better: higher, range: [0, 1]}\n";

const RESCORE: &str = "    rescore: sh score.sh {input} {output}\n";

/// A branch of a project whose base was measured, with another scorer.
fn branch(suite: &str, score: &str) -> (TempDir, Project) {
    let (remote, url) = bare();
    let project = pushed(&url, "");
    let cases: String = (1..=20)
        .map(|n| format!("case-{n:02} what is {n}?\n"))
        .collect();
    project.write("cases.txt", &cases);
    project.write("eval.sh", EVALUATOR);
    project.write("score.sh", &scorer(STRICT));
    project.write("kelvin.yaml", &format!("{suite}repeats: 3\n"));
    commit(&project, "an evaluator");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.write("score.sh", score);
    commit(&project, "score otherwise");
    (remote, project)
}

fn gate(project: &Project, broken: &[&str]) -> (Said, Value) {
    project.write("../broken", &super::lines(broken));
    let said = project.kelvin(&["gate", "--no-history"]);
    let judged = verdict(project, &said);
    (said, judged)
}

const BROKEN: [&str; 5] = ["case-02", "case-05", "case-11", "case-12", "case-19"];

#[test]
fn a_softer_scorer_hides_no_loss_where_the_base_can_score_the_answers() {
    let (_remote, project) = branch(&format!("{SUITE}{RESCORE}"), &scorer("1"));
    let (said, judged) = gate(&project, &BROKEN);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_eq!(judged["verdict"], json!("regression"), "{}", said.stdout);
    let first = judged["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(redacted(first), @"this change edits what is measured; measured with the files of the base [HASH] (`score.sh`), the verdict is regression: `results.qa.correct` fell from 1.0000 to 0.7500 over 20 cases, by 0.2500 (the limit is 0.0500), and all repeats agreed; most of it in `qa/case-02`, `qa/case-05`, `qa/case-11`");
    // The same change without what breaks the answers.
    let (said, judged) = gate(&project, &[]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(judged["verdict"], json!("pass"), "{}", said.stdout);
}

#[test]
fn an_honest_edit_of_the_scorer_passes_by_both_and_another_file_is_none() {
    let (_remote, project) = branch(
        &format!("{SUITE}{RESCORE}"),
        &format!("# Scores.\n{}", scorer(STRICT)),
    );
    let (said, judged) = gate(&project, &[]);
    assert_eq!(judged["verdict"], json!("pass"), "{}", said.stdout);
    insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["`score.sh`"])), @"
      ! this change edits the file that a check reads or runs `score.sh`
      · measured with the files of the base [HASH] (`score.sh`), the verdict is
    ");
    git(
        project.root(),
        &["checkout", "--quiet", "-b", "other", "main"],
    );
    project.write("notes.txt", "nothing that scores\n");
    commit(&project, "notes");
    let runs = || project.read("../runs").lines().count();
    let before = runs();
    let (said, judged) = gate(&project, &[]);
    assert_eq!(judged["verdict"], json!("pass"), "{}", said.stdout);
    assert_eq!(runs() - before, 3, "{}", said.stdout);
}

#[test]
fn an_evaluator_that_is_edited_is_told_first_since_it_may_score_otherwise() {
    let (_remote, project) = branch(SUITE, &scorer("1"));
    let text = project.read("eval.sh");
    project.write("eval.sh", &format!("# Another word.\n{text}"));
    commit(&project, "another text");
    let (said, judged) = gate(&project, &[]);
    assert_eq!(judged["verdict"], json!("pass"), "{}", said.stdout);
    let first = judged["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(first, @"this change edits the evaluator `eval.sh`, `score.sh`: whether it scores as before is not known");
    // Nobody but the edited evaluator has scored anything, so that it is neither green nor done.
    let page = project.read("kelvin/gate.md");
    insta::assert_snapshot!(lines_with(&page, &["### ", "`rescore`"]), @"
    ### ⚠️ Kelvin: passes by an evaluator that this change edits
    Read the edit of the evaluator: a softer one looks like a better pipeline. With a command for `rescore` the evaluator of the base scores the answers as well.
    ");
    assert!(!leaves_nothing_to_do(&page), "{page}");
}

#[test]
fn an_evaluator_that_moves_to_other_files_beside_it_is_not_green() {
    let (_remote, project) = branch(SUITE, &scorer("1"));
    let root = project.root();
    git(root, &["checkout", "--quiet", "-b", "moved", "main"]);
    project.write("soft/limit", "1\n");
    git(root, &["mv", "eval.sh", "soft/eval.sh"]);
    let config = project.read("kelvin.yaml");
    project.write("kelvin.yaml", &config.replace("eval.sh", "soft/eval.sh"));
    commit(&project, "another folder");
    let (said, judged) = gate(&project, &[]);
    assert_eq!(judged["verdict"], json!("pass"), "{}", said.stdout);
    let page = project.read("kelvin/gate.md");
    assert!(page.starts_with("### ⚠️"), "{page}");
    let told = "This change moves the evaluator `eval.sh` to `soft/eval.sh`";
    assert!(page.contains(told), "{page}");

    // The scorer of the base judges the answers of a suite with one, wherever the rest of it lies.
    let (_remote, project) = branch(&format!("{SUITE}{RESCORE}"), &scorer(STRICT));
    git(project.root(), &["mv", "eval.sh", "soft.sh"]);
    project.write("apart/eval.sh", &project.read("soft.sh"));
    let config = project.read("kelvin.yaml");
    project.write("kelvin.yaml", &config.replace("eval.sh", "apart/eval.sh"));
    commit(&project, "another folder");
    let (said, judged) = gate(&project, &[]);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert!(!tells(&judged, "edits_evaluator"), "{}", said.stdout);

    // Spaces may count within quotes.
    let (_remote, project) = branch(SUITE, &scorer(STRICT));
    let config = project.read("kelvin.yaml");
    project.write("kelvin.yaml", &config.replace("sh eval.sh", "sh  eval.sh"));
    commit(&project, "another space");
    let (said, _) = gate(&project, &[]);
    insta::assert_snapshot!(lines_with(&said.stdout, &["results.qa.run"]), @"  ! this change edits what is measured: results.qa.run sh eval.sh {output} → sh");
}

#[test]
fn an_evaluator_that_is_only_renamed_is_as_if_nothing_had_moved_and_one_that_is_edited_too_is_not()
{
    let (_remote, project) = branch(SUITE, &scorer("1"));
    git(
        project.root(),
        &["checkout", "--quiet", "-b", "renamed", "main"],
    );
    git(project.root(), &["mv", "eval.sh", "evaluate.sh"]);
    let config = project.read("kelvin.yaml");
    project.write("kelvin.yaml", &config.replace("eval.sh", "evaluate.sh"));
    commit(&project, "another name");
    let (said, judged) = gate(&project, &[]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(judged["verdict"], json!("pass"), "{}", said.stdout);
    assert!(
        !tells(&judged, "edits_evaluator") && !tells(&judged, "edits_measure"),
        "{}",
        said.stdout
    );
    let (said, _) = gate(&project, &BROKEN);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    let text = project.read("evaluate.sh");
    project.write("evaluate.sh", &format!("{text}# More.\n"));
    commit(&project, "and another text");
    let (said, judged) = gate(&project, &[]);
    assert_ne!(judged["verdict"], json!("pass"), "{}", said.stdout);
    let page = project.read("kelvin/gate.md");
    let alone = "Edit what is measured in a change of its own";
    assert!(page.contains(alone), "{page}");
}

#[test]
fn a_scorer_of_the_base_that_fails_leaves_no_pass() {
    // The scorer of the base takes no table that it has scored already.
    let refuses = "    rescore: 'test -e taken.txt && sh score.sh {input} {output}'\n";
    let (_remote, project) = branch(&format!("{SUITE}{refuses}"), &scorer("1"));
    let (said, judged) = gate(&project, &[]);
    assert_ne!(judged["verdict"], json!("pass"), "{}", said.stdout);
    insta::assert_snapshot!(lines_with(&said.stdout, &["! "]), @"
      ! this change edits what is measured; measured with the files of the base
      ! this change edits the file that a check reads or runs `score.sh`
      ! `results.qa.correct` was judged without 20 of the 20 cells that the base
    ");
}

#[test]
fn a_rescore_without_its_files_is_refused() {
    let project = Project::new("");
    project.write(
        "kelvin.yaml",
        &format!("{SUITE}    rescore: sh score.sh {{input}}\n"),
    );
    let said = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stderr, &["`rescore`"]), @"error: `rescore` has no placeholder `{output}`");
}

/// A project whose evaluator is reached by some other command, with its base measured.
fn behind(run: &str, files: &[(&str, &str)]) -> (TempDir, Project) {
    let (remote, url) = bare();
    let project = pushed(&url, "");
    let cases: String = (1..=20)
        .map(|n| format!("case-{n:02} what is {n}?\n"))
        .collect();
    project.write("cases.txt", &cases);
    project.write("eval.sh", EVALUATOR);
    project.write("score.sh", &scorer(STRICT));
    for (name, text) in files {
        project.write(name, text);
    }
    let suite = SUITE.replace("sh eval.sh {output}", run);
    project.write("kelvin.yaml", &format!("{suite}repeats: 3\n"));
    commit(&project, "an evaluator");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    (remote, project)
}

/// An evaluator in Python that asks the module `app`.
const IN_PYTHON: &str = "\
import sys
import app
with open(sys.argv[1], 'w') as table:
    table.write('id,question,answer,ok\\n')
    for line in open('cases.txt'):
        name, question = line.strip().split(' ', 1)
        answer = app.answer(question)
        table.write(f'{name},{question},{answer},{int(answer == \"yes\")}\\n')
";

#[test]
fn an_edit_of_an_evaluator_behind_a_wrapper_is_told_and_one_of_the_module_that_it_asks_is_not() {
    let wrappers: [(&str, &str, &str); 5] = [
        ("python3 -m evals {output}", "", ""),
        (
            "make -s eval OUT={output}",
            "Makefile",
            "other:\n\ttrue\neval:\n\t@python3 evals.py $(OUT)\n",
        ),
        (
            "sh tools/run.sh {output}",
            "tools/run.sh",
            "python3 \"$(dirname \"$0\")/../evals.py\" \"$1\"\n",
        ),
        (
            "sh run.sh {output}",
            "run.sh",
            "# app.py is the pipeline.\npython3 evals.py \"$1\"\n",
        ),
        (
            "python3 runner.py evals {output}",
            "runner.py",
            "import runpy, sys\nsys.path.insert(0, '.')\nsys.argv = sys.argv[1:]\n\
             runpy.run_path('evals/ask.py')\n",
        ),
    ];
    for (run, wrapper, text) in wrappers {
        let evals = match wrapper {
            "runner.py" => "evals/ask.py",
            _ => "evals.py",
        };
        let mut files = vec![
            (evals, IN_PYTHON),
            ("app.py", "def answer(question):\n    return 'yes'\n"),
        ];
        if !wrapper.is_empty() {
            files.push((wrapper, text));
        }
        let (_remote, project) = behind(run, &files);
        git(
            project.root(),
            &["checkout", "--quiet", "-b", "soft", "main"],
        );
        project.write(evals, &IN_PYTHON.replace("answer == \"yes\"", "True"));
        commit(&project, "softer");
        let (said, judged) = gate(&project, &[]);
        assert_eq!(judged["verdict"], json!("pass"), "{run}: {}", said.stdout);
        let first = judged["reasons"][0]["text"].as_str().expect("a text");
        let told = format!("this change edits the evaluator `{evals}`");
        assert!(first.starts_with(&told), "{run}: {first}");
        git(
            project.root(),
            &["checkout", "--quiet", "-b", "app", "main"],
        );
        project.write("app.py", "def answer(question):\n    return str('yes')\n");
        if wrapper == "Makefile" {
            project.write(wrapper, &text.replace("\ttrue", "\tpython3 app.py"));
        }
        commit(&project, "another pipeline");
        let (said, judged) = gate(&project, &[]);
        assert_eq!(judged["verdict"], json!("pass"), "{run}: {}", said.stdout);
        assert!(!tells(&judged, "edits_evaluator"), "{run}: {}", said.stdout);
    }
}

#[test]
fn an_evaluator_that_writes_softer_scores_itself_is_judged_by_the_scorer_of_the_base() {
    let (_remote, project) = branch(&format!("{SUITE}{RESCORE}"), &scorer(STRICT));
    git(
        project.root(),
        &["checkout", "--quiet", "-b", "soft", "main"],
    );
    let softer = EVALUATOR.replace(
        "sh score.sh \"$1.raw\" \"$1\"",
        "sed '2,$s/$/1/' \"$1.raw\" > \"$1\"",
    );
    assert_ne!(softer, EVALUATOR);
    project.write("eval.sh", &softer);
    commit(&project, "softer");
    let (said, judged) = gate(&project, &BROKEN);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_eq!(judged["verdict"], json!("regression"), "{}", said.stdout);
    let first = judged["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(redacted(first), @"this change edits what is measured; measured with the files of the base [HASH] (`eval.sh`), the verdict is regression: `results.qa.correct` fell from 1.0000 to 0.7500 over 20 cases, by 0.2500 (the limit is 0.0500), and all repeats agreed; most of it in `qa/case-02`, `qa/case-05`, `qa/case-11`");
    // Where the answers are right, the same edit passes by both, and is told.
    let (said, _) = gate(&project, &[]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["`eval.sh`"])), @"
    ! this change edits the evaluator `eval.sh`
    · measured with the files of the base [HASH] (`eval.sh`), the verdict is pass
    ");

    // The files beside an evaluator that moves may differ.
    git(
        project.root(),
        &["checkout", "--quiet", "-b", "moved", "main"],
    );
    project.write("apart/eval.sh", EVALUATOR);
    project.write(
        "kelvin.yaml",
        &project
            .read("kelvin.yaml")
            .replace("eval.sh", "apart/eval.sh"),
    );
    git(project.root(), &["rm", "--quiet", "eval.sh"]);
    commit(&project, "another folder");
    let (said, judged) = gate(&project, &BROKEN);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    assert_eq!(judged["verdict"], json!("regression"), "{}", said.stdout);
    let (said, judged) = gate(&project, &[]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert!(tells(&judged, "measured_as_base"), "{}", said.stdout);
}

/// An evaluator that takes scorer and pipeline from folders, so that no command names their files. `answers` is the
/// pipeline, and gets the right answer, which it may give in words of its own.
fn hidden_scorer(answers: &str, score: &str) -> (TempDir, Project) {
    let (remote, url) = bare();
    let project = pushed(&url, "");
    let cases: String = (1..=10).map(|n| format!("case-{n:02} {n}\n")).collect();
    project.write("cases.txt", &cases);
    project.write("app/answer", answers);
    project.write("rules/score", score);
    project.write(
        "eval.sh",
        "for rule in rules/*; do . \"./$rule\"; done\n\
         echo id,expected,answer,ok > \"$1\"\n\
         while read -r id right; do\n  answer=$(sh app/* \"$id\" \"$right\")\n  ok=0\n  \
         if score \"$answer\" \"$right\"; then ok=1; fi\n  echo \"$id,$right,$answer,$ok\" >> \"$1\"\n\
         done < cases.txt\n",
    );
    project.write(
        "kelvin.yaml",
        "results:\n  - name: qa\n    run: sh eval.sh {output}\n    format: csv\n    \
         columns: {case: id, expected: [expected], answer: answer}\n    \
         metrics:\n      correct: {column: ok, better: higher, range: [0, 1]}\nrepeats: 3\n",
    );
    commit(&project, "an evaluator");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    (remote, project)
}

#[test]
fn answers_that_are_the_expected_ones_no_more_are_no_pass_where_no_score_fell() {
    let equal = "score() { [ \"$1\" = \"$2\" ]; }\n";
    let (_remote, project) = hidden_scorer("echo \"$2\"\n", equal);
    let wrong = "case \"$1\" in case-0[2-4]) echo none;; *) echo \"$2.0\";; esac\n";
    project.write("app/answer", wrong);
    project.write("rules/score", "score() { true; }\n");
    commit(&project, "a softer scorer beside a loss");
    let (said, judged) = gate(&project, &[]);
    assert_eq!(judged["verdict"], json!("inconclusive"), "{}", said.stdout);
    assert!(tells(&judged, "unscored_answers"), "{}", said.stdout);
    let first = judged["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(first, @"3 cases got exactly the expected answer on the base and get another one now, such as `qa/case-02`, and no score of theirs fell");
    assert!(!leaves_nothing_to_do(&project.read("kelvin/gate.md")));
    // A scorer that allows for words around the answer says nothing of the words.
    let holds = "score() { case \"$1\" in *\"$2\"*) true;; *) false;; esac; }\n";
    let (_remote, project) = hidden_scorer("echo \"it is $2\"\n", holds);
    project.write("app/answer", "echo \"$2 it is\"\n");
    commit(&project, "other words");
    let (said, judged) = gate(&project, &[]);
    assert_eq!(judged["verdict"], json!("pass"), "{}", said.stdout);
}
