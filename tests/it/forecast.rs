use serde_json::Value;

use crate::project::{GROUNDED, Project, counting};

fn forecast(project: &Project, more: &[&str]) -> Value {
    let arguments = [&["check", "--forecast", "--format", "json"], more].concat();
    let said = project.kelvin(&arguments).expect(0);
    serde_json::from_str(&said.stdout).expect("JSON")
}

#[test]
fn a_check_makes_the_calls_that_were_forecast_and_its_time_is_known_after_it() {
    for more in [
        "",
        "repeats: 3\n",
        "variants: {reorder: 1, swap: 2}\nnoise_floor: {replications: 4}\n",
    ] {
        let project = Project::new(&counting(GROUNDED));
        project.config(more);
        let before = forecast(&project, &[]);
        assert_eq!(project.calls(), 0, "a forecast calls nothing");
        assert!(!project.path("kelvin").exists() && !project.path(".kelvin").exists());
        assert_eq!(before["call"], Value::Null);
        assert_eq!(before["check"]["seconds"], Value::Null);
        project.check();
        assert_eq!(before["check"]["calls"], project.calls(), "{more}");

        let after = forecast(&project, &["--usd-per-call", "0.5"]);
        let usd = after["check"]["usd"].as_f64().expect("the price was given");
        assert_eq!(usd, 0.5 * project.calls() as f64);
        assert!(after["check"]["seconds"].as_f64().expect("it was measured") > 0.0);
        let listed = project.kelvin(&["history", "--format", "json"]).expect(0);
        let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
        assert_eq!(after["call"]["run"], listed[0]["id"]);
    }
}

#[test]
fn the_calls_that_compare_orders_are_forecast_where_a_process_stays() {
    let project = Project::new("");
    project.write(
        "app.py",
        "def decide(text):\n    open(\"calls\", \"a\").write(\"x\\n\")\n    return text.count(\"e\") % 3\n",
    );
    project.write(
        "kelvin.yaml",
        "run: {python: \"app:decide\"}\ncases: cases\ndecision_field: decision\ngoverning_types: [rule]\njobs: 2\n\
         fingerprint: [\"*.py\"]\n",
    );
    let before = forecast(&project, &[]);
    // Four inputs, each in one order, in the other, and alone.
    assert_eq!(before["calls_by"]["to compare the order of the calls"], 12);
    project.kelvin(&["check"]).expect(0);
    assert_eq!(before["check"]["calls"], project.calls());
    // Of one case, three variants are the other inputs.
    let only = forecast(&project, &["--only", "alder"]);
    assert_eq!(only["calls_by"]["to compare the order of the calls"], 12);
}

#[test]
fn a_gate_takes_no_more_than_was_forecast() {
    // Half of the answers are thrown by a coin, so that much is in doubt.
    const COIN: &str = "n=$(od -An -N1 -tu1 /dev/urandom)\n\
                        [ $((n % 2)) = 0 ] && echo '{\"decision\": \"yes\"}' > \"$2\" || echo '{\"decision\": \"no\"}' > \"$2\"\n";
    let project = Project::new(&counting(COIN));
    let most = forecast(&project, &[])["gate_at_most"]["calls"].as_u64();
    let most = usize::try_from(most.expect("a number")).expect("it is small");
    project.check();
    let before = project.calls();
    project.kelvin(&["gate", "--baseline", "kelvin/report.json", "--out", "again"]);
    let made = project.calls() - before;
    assert!(made > before, "nothing was run again: {made} calls");
    assert!(made <= most, "{made} calls, {most} were forecast");
    // What takes every drop as it is runs nothing again.
    project.config("gate: {deterministic: true}\n");
    let exact = forecast(&project, &[]);
    assert_eq!(exact["gate_at_most"]["calls"], exact["check"]["calls"]);
}

#[test]
fn a_price_that_is_none_is_refused() {
    let project = Project::new(GROUNDED);
    let mut told = Vec::new();
    for arguments in [
        &["check", "--forecast", "--usd-per-call", "-1"][..],
        &["check", "--forecast", "--usd-per-call", "nan"],
        &["check", "--usd-per-call", "1"],
        &["gate", "--forecast"],
    ] {
        let said = project.kelvin(arguments);
        assert_ne!(said.code, Some(0));
        told.push(said.stderr.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    error: unexpected argument '-1' found

    Usage: kelvin check [OPTIONS]

    For more information, try '--help'.

    error: `--usd-per-call` must be a number from 0
      help: such as 0.002

    error: the following required arguments were not provided:
      --forecast

    Usage: kelvin check --forecast --usd-per-call <USD>

    For more information, try '--help'.

    error: there is nothing to gate in a dry run
    ");
}
