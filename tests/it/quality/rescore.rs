//! Scores that are made anew of what is stored.

use super::*;

#[test]
fn qlt_33_a_report_that_is_scored_anew_is_a_fresh_run_to_the_bit() {
    let project = project(&pipeline([37, 11, 3]), 5, QUALITY);
    project.kelvin(&["check"]).expect(0);
    std::fs::rename(project.path("kelvin"), project.path("before")).expect("renamed");
    let report = ["rescore", "quality", "before/report.json"];
    for (keys, arguments) in [
        (
            "  weights: {conformance: 0.1, completeness: 0.2, efficiency: 0.7}\n",
            vec!["--weights", "0.1,0.2,0.7"],
        ),
        (
            "  weights: {conformance: 0.3, efficiency: 0.7}\n",
            vec!["--config", "kelvin.yaml"],
        ),
        (
            "  scorer: weighted_product\n",
            vec!["--scorer", "weighted_product"],
        ),
        ("  live_runs: 4\n", vec!["--config", "kelvin.yaml"]),
        (
            "  groups: {first: ['s00', 's01']}\n",
            vec!["--config", "kelvin.yaml"],
        ),
        ("", vec![]),
    ] {
        configure(&project, &format!("{QUALITY}{keys}"));
        project.kelvin(&["check"]).expect(0);
        project
            .kelvin(&[&report[..], &arguments[..]].concat())
            .expect(0);
        let fresh = project.report();
        let mut anew = project.json("kelvin-rescored/report.json");
        anew["run"]["session"].take();
        assert_eq!(anew, fresh, "{keys}");
    }
}

#[test]
fn qlt_33_what_was_never_looked_at_cannot_be_scored_anew() {
    let project = project(&pipeline([37, 11, 3]), 1, QUALITY);
    project.kelvin(&["check"]).expect(0);
    std::fs::rename(project.path("kelvin"), project.path("before")).expect("renamed");
    let rescore = |arguments: &[&str]| {
        let line = [&["rescore", "quality", "before/report.json"], arguments].concat();
        project.kelvin(&line).expect(1).stderr
    };
    let mut texts = Vec::new();
    for weights in ["0.5,0.5,0.5", "1,2", "speed=1"] {
        let said = rescore(&["--weights", weights]);
        texts.push(said.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    error: the weights add up to 1.5 and not to 1
      help: write `--weights 0.40,0.35,0.25`, or `--weights conformance=0.5,completeness=0.5`

    error: `1,2` has 2 of the three weights for conformance, completeness and efficiency
      help: write `--weights 0.40,0.35,0.25`, or `--weights conformance=0.5,completeness=0.5`

    error: `speed` is none of conformance, completeness and efficiency
      help: write `--weights 0.40,0.35,0.25`, or `--weights conformance=0.5,completeness=0.5`
    ");
    assert!(rescore(&["--scorer", "best"]).contains("weighted_product"));
    configure(&project, &QUALITY.replace(", /reasons]", "]"));
    insta::assert_snapshot!(rescore(&["--config", "kelvin.yaml"]), @"
    error: the report was measured with other required outputs than `kelvin.yaml` has
      help: a report holds no outputs to look at anew: run `kelvin check`
    ");
    configure(&project, "");
    insta::assert_snapshot!(rescore(&["--config", "kelvin.yaml"]), @"
    error: `kelvin.yaml` has no section `quality`
      help: name a configuration that has one, or give the weights by `--weights`
    ");
    project.kelvin(&["check"]).expect(0);
    let said = project
        .kelvin(&["rescore", "quality", "kelvin/report.json"])
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: the report `kelvin/report.json` has no scores of stored factors
      help: name a report of a run that was configured with `quality`, or a folder of traces
    ");
}

#[test]
fn qlt_34_a_folder_of_traces_is_scored_anew_with_what_drifted_and_what_is_no_trace() {
    let project = Project::new("");
    let trace = |id: &str, version: &str, status: &str, score: &str| {
        format!(
            "trace_id: {id}\nchain_uri: stratt://chains/intake@{version}\nversion: {version}\nstatus: {status}\n\
             started_at: 2026-04-01T10:00:00Z\nquality_score: {score}\ncouncil: x\n\
             token_counts: {{input: 4200, output: 1850, total: 6050}}\nsteps:\n  - step_id: a\n    status: completed\n    \
             quality_indicators: {{contract_conformance: 1.0, completeness: 1.0, token_efficiency: 0.31}}\n"
        )
    };
    project.write(
        "traces/a.yaml",
        &trace("tr-1", "1.2.0", "completed", "0.8264"),
    );
    project.write(
        "traces/b.yaml",
        &trace("tr-2", "1.10.0", "completed", "0.5"),
    );
    project.write("traces/c.yaml", &trace("tr-3", "1.10.0", "gated", "0.9"));
    project.write("traces/d.yaml", &trace("tr-4", "1.10.0", "failed", "0.4"));
    project.write("traces/e.yaml", "trace_id: tr-5\n");
    let said = project
        .kelvin(&["rescore", "quality", "traces", "--format", "json"])
        .expect(0);
    let found: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(found["files"], json!(5));
    let score = found["traces"][0]["score"].as_f64().expect("a score");
    assert_eq!(format!("{score:.4}"), "0.8264");
    let chains = found["chains"].as_array().expect("a list");
    let versions: Vec<&str> = chains
        .iter()
        .filter_map(|one| one["version"].as_str())
        .collect();
    assert_eq!(versions, ["1.2.0", "1.10.0"]);
    assert_eq!(
        (&chains[0]["n"], &chains[0]["drifted"]),
        (&json!(1), &json!(0))
    );
    let second = &chains[1];
    let counts = ["n", "failed", "gated", "drifted"].map(|key| second[key].as_u64());
    assert_eq!(counts, [2, 1, 1, 2].map(Some), "{second:#}");
    assert_eq!(found["malformed"].as_array().map(Vec::len), Some(1));
    let said = project
        .kelvin(&["rescore", "quality", "traces", "--weights", "0.5,0.5,0"])
        .expect(0);
    for part in ["1.10.0", "1 skipped", "e.yaml"] {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
    // Where nothing could be read, nothing is said to be fine.
    project.write("none/e.yaml", "trace_id: tr-5\n");
    let said = project.kelvin(&["rescore", "quality", "none"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: there is no trace in 1 file
      help: none/e.yaml, trace 1: missing field `chain_uri`
    ");
}
