//! What the place of a call tells.

use super::*;
use crate::text::redacted;

/// A baseline with a repeat, and two variants.
fn of_one_case() -> Vec<Task> {
    let all = [
        (None, 1),
        (None, 2),
        (Some("swap-01"), 1),
        (Some("reorder-01"), 1),
    ];
    let task = |(variant, repeat): (Option<&str>, usize)| Task {
        case: "alder".into(),
        variant: variant.map(Into::into),
        repeat,
    };
    all.map(task).into()
}

/// Runs these tasks, whose inputs all have the same text, and gives what was decided.
fn decided(bench: &Bench) -> Vec<Option<Value>> {
    let out = bench.out();
    let runner = bench.open(&out, Start::Fresh, &Silent);
    let done = runner.run_all("tests", &of_one_case(), &|_| "the same".into());
    decisions(&done.expect("the run goes on"))
}

#[test]
fn equal_texts_are_answered_alike_whatever_a_pipeline_makes_of_where_it_is_called() {
    let answers = [
        // All that it is given, what lies beside it, and its environment but for the sample.
        "$1 $2 $(ls -A \"$(dirname \"$1\")\") $(env | grep -v '^KELVIN_SAMPLE=' | sort | cksum)",
        // The name of its folder alone, in large letters.
        "$(basename \"$(dirname \"$1\")\" | tr a-f A-F)",
    ];
    for answer in answers {
        let bench = Bench::new(&format!(
            "printf '{{\"decision\": \"%s\"}}' \"{answer}\" > \"$2\""
        ));
        let decided = decided(&bench);
        assert!(decided[0].is_some());
        assert!(decided.iter().all(|one| *one == decided[0]), "{decided:?}");
        // The record says what was compared.
        let record = bench.read("kelvin/alder/perturbations/swap-01/output.json");
        assert!(record.contains(crate::CALL), "{record}");
    }
}

#[test]
fn what_a_failed_call_prints_of_its_place_is_the_same_in_every_run() {
    let bench = Bench::new("echo \"$1 is odd\" | tee /dev/stderr; exit 3");
    let failure = bench.failure();
    insta::assert_snapshot!(redacted(&failure.stderr), @"[TEMP]/kelvin/calls/{call}/input.md is odd");
    assert_eq!(failure.stdout, failure.stderr);
}

#[test]
fn a_call_finds_its_text_under_no_name_that_tells() {
    let search = "grep -rlxF \"$(cat \"$1\")\" kelvin | grep -v '^kelvin/calls/' && exit 5\n";
    let bench = Bench::new(&format!("{search}{ECHO}"));
    // Neither the first run nor one that reuses the folders of the run before.
    for _ in 0..2 {
        let (outcomes, _) = bench.run(&tasks(3));
        assert!(decisions(&outcomes).iter().all(Option::is_some));
    }
}

#[test]
fn what_is_left_beside_an_output_goes_with_it_and_no_place_stays() {
    let bench = Bench::new(&format!(
        "{ECHO}\necho trace > \"$2.trace\"\nmkdir \"$(dirname \"$2\")/repeat-02\"\necho x > \"$1\""
    ));
    assert!(bench.one().is_ok());
    let folder = "kelvin/case-000/baseline";
    assert_eq!(
        bench.read(&format!("{folder}/output.json.trace")),
        "trace\n"
    );
    assert_eq!(
        bench.read(&format!("{folder}/input.md")),
        "case-000/baseline\n"
    );
    assert!(!bench.path(&format!("{folder}/repeat-02")).exists());
    assert!(!bench.path("kelvin/calls").exists());
}

#[test]
fn a_pipeline_that_removes_its_place_has_left_no_output() {
    let bench = Bench::new("rm -r \"$(dirname \"$1\")\"");
    assert_eq!(bench.failure().kind, FailureKind::OutputMissing);
    assert!(!bench.read("kelvin/case-000/baseline/input.md").is_empty());
}

#[test]
fn a_case_may_have_the_name_of_the_folder_of_the_calls() {
    let bench = Bench::new(ECHO);
    let task = Task {
        case: "calls".into(),
        variant: None,
        repeat: 1,
    };
    for start in [Start::Fresh, Start::Resume] {
        // As a run leaves it that was killed.
        fs::create_dir_all(bench.path("kelvin/calls/0123456789abcdef")).expect("made");
        fs::write(bench.path("kelvin/.kelvin-run"), "").expect("written");
        let (outcomes, _) = bench.start(start, std::slice::from_ref(&task));
        assert!(decisions(&outcomes)[0].is_some());
        let left = fs::read_dir(bench.path("kelvin/calls")).expect("listed");
        let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["baseline"]);
    }
}
