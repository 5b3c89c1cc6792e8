use serde_json::json;

use crate::project::{CONSTANT, FIRST_UNIT, GROUNDED, KNOWING, Project};

#[test]
fn kel_30_a_constant_pipeline_is_invariant_and_insensitive() {
    let project = Project::new(CONSTANT);
    project.check();
    assert_eq!(project.figure("invariance"), json!(1.0));
    assert_eq!(project.figure("sensitivity"), json!(0.0));
    assert_eq!(project.figure("kelvin_score"), json!(1.0));
}

#[test]
fn kel_31_a_pipeline_that_reads_the_governing_units_only_is_perfect() {
    let project = Project::new(GROUNDED);
    project.check();
    assert_eq!(project.figure("invariance"), json!(1.0));
    assert_eq!(project.figure("sensitivity"), json!(1.0));
    assert_eq!(project.figure("kelvin_score"), json!(0.0));
}

#[test]
fn kel_32_a_pipeline_that_looks_at_the_order_is_not_invariant() {
    let project = Project::new(FIRST_UNIT);
    project.check();
    assert!(project.figure("invariance").as_f64().expect("measured") < 1.0);
    assert!(
        project
            .figure("invariance.reorder")
            .as_f64()
            .expect("measured")
            < 1.0
    );
}

#[test]
fn kel_33_means_are_over_samples_and_every_figure_has_its_n() {
    let project = Project::usual(CONSTANT);
    project.check();
    let metrics = &project.json("kelvin/report.json")["metrics"];
    // 4 cases: 3 reorders, 3 + 3 pads, and one rule swapped with each of three peers.
    assert_eq!(metrics["evidence.invariance"]["n"], json!(36));
    assert_eq!(metrics["evidence.sensitivity"]["n"], json!(12));
    assert_eq!(metrics["evidence.invariance"]["n_failed"], json!(0));
    assert!(metrics["evidence.invariance"]["interval"]["low"].is_number());
}

#[test]
fn kel_35_kel_34_a_single_case_has_no_sensitivity_and_says_why() {
    let project = Project::new(CONSTANT);
    for case in ["birch", "cedar", "dogwood"] {
        std::fs::remove_file(project.path(&format!("cases/{case}.md"))).expect("removed");
    }
    project.check();
    let metrics = &project.json("kelvin/report.json")["metrics"];
    let mut reasons = Vec::new();
    for id in ["sensitivity", "sensitivity.rule", "kelvin_score"] {
        let metric = &metrics[format!("evidence.{id}")];
        assert_eq!(metric["value"], json!(null), "{id}");
        let reason = metric["reason"].as_str().expect("a reason");
        reasons.push(reason.to_owned());
    }
    insta::assert_snapshot!(reasons.join("\n"), @"
    there is only one case, and so no other to take evidence from
    there is only one case, and so no other to take evidence from
    sensitivity is null: there is only one case, and so no other to take evidence from
    ");
    // M15: nothing was sampled, so nothing is 0.
    assert_eq!(metrics["evidence.sensitivity.rule"]["n"], json!(0));
    assert_eq!(project.figure("invariance"), json!(1.0));
}

#[test]
fn kel_42_p15_the_number_of_jobs_changes_no_byte_of_a_report() {
    let project = Project::new(FIRST_UNIT);
    project.kelvin(&["check", "--jobs", "1"]).expect(0);
    let (one, case) = (project.report(), project.read("kelvin/alder/report.json"));
    project.kelvin(&["check", "--jobs", "4"]).expect(0);
    assert_eq!(one, project.report());
    assert_eq!(case, project.read("kelvin/alder/report.json"));
}

#[test]
fn kel_19_kel_05_a_seed_decides_the_variants_and_is_recorded() {
    let project = Project::new(CONSTANT);
    project.check();
    let inputs = |project: &Project| {
        let mut files = project.files("kelvin");
        files.retain(|name, _| name.ends_with("input.md"));
        files
    };
    let first = inputs(&project);
    project.check();
    assert_eq!(first, inputs(&project));
    assert_eq!(project.report()["run"]["seed"], json!(0));
    project.kelvin(&["check", "--seed", "7"]).expect(0);
    assert_ne!(first, inputs(&project));
    assert_eq!(project.report()["run"]["seed"], json!(7));
}

#[test]
fn kel_47_m1_m2_noise_is_taken_out_in_distance_space() {
    // The answer turns on the number of calls so far: noise that no evidence explains.
    let project = Project::new(
        "echo x >> calls\nn=$(wc -l < calls)\nif [ $((n % 7)) = 0 ]; then d=odd; else d=even; fi\n\
         printf '{\"decision\": \"%s\"}' $d > \"$2\"",
    );
    project.config(
        "jobs: 1\nnoise_floor: {enabled: true, replications: 10}\n"
            .replace("jobs: 1\n", "")
            .as_str(),
    );
    project.check();
    let eta = project.figure("noise_floor").as_f64().expect("measured");
    let raw = project.figure("invariance").as_f64().expect("measured");
    let corrected = project
        .figure("invariance_corrected")
        .as_f64()
        .expect("measured");
    assert!(eta > 0.0 && raw < 1.0);
    let by_hand = 1.0 - ((1.0 - raw - eta) / (1.0 - eta)).max(0.0);
    assert!((corrected - by_hand).abs() < 1e-12);
    assert!(corrected > raw);
}

#[test]
fn kel_47_without_noise_the_corrected_figures_are_the_raw_ones() {
    let project = Project::new(FIRST_UNIT);
    project.config("noise_floor: {enabled: true, replications: 3}\n");
    project.check();
    for id in ["invariance", "sensitivity", "kelvin_score"] {
        assert_eq!(
            project.figure(id),
            project.figure(&format!("{id}_corrected"))
        );
    }
    assert_eq!(project.figure("noise_floor"), json!(0.0));
}

#[test]
fn m5_failures_are_a_figure_of_their_own_and_never_stability() {
    // Fails on every input that is not the case itself: only the case has `asks for room` first.
    let project = Project::usual(&format!(
        "{KNOWING}case \"$place\" in */baseline/*) ;; *reorder-01*) ;; *) echo no >&2; exit 4;; esac\n\
         printf '{{\"decision\": \"go\"}}' > \"$2\"",
    ));
    project.tell_places();
    let said = project.check();
    let report = project.json("kelvin/report.json");
    assert_eq!(report["metrics"]["evidence.invariance"]["n"], json!(4));
    assert_eq!(
        report["metrics"]["evidence.invariance"]["n_failed"],
        json!(32)
    );
    let rate = project.figure("failure_rate").as_f64().expect("measured");
    assert!((rate - 44.0 / 52.0).abs() < 1e-12, "{rate}");
    assert_eq!(
        report["probes"]["evidence"]["items"]["alder"]["insufficient"],
        json!(true)
    );
    assert_eq!(project.figure("sensitivity"), json!(null));
    assert!(said.stdout.contains("failed"), "{}", said.stdout);
}

#[test]
fn repeats_are_scored_each_by_itself() {
    let project = Project::usual(CONSTANT);
    project.config("variants: {}\nrepeats: 3\n");
    project.check();
    let report = project.json("kelvin/report.json");
    assert_eq!(report["metrics"]["evidence.invariance"]["n"], json!(108));
    let case = &report["metrics"]["evidence.invariance"]["per_case"]["alder"];
    assert_eq!(case["repeats"], json!([1.0, 1.0, 1.0]));
    assert_eq!(
        case["cells"]["reorder-01"]["values"],
        json!([1.0, 1.0, 1.0])
    );
}

#[test]
fn kel_50_another_scorer_takes_other_decisions() {
    let project = Project::new(r#"printf '{"decision": ["a", "%s"]}' "$(grep -c . "$1")" > "$2""#);
    project.kelvin(&["check"]).expect(2);
    project.config("scorer: set\n");
    project.check();
    let invariance = project.figure("invariance").as_f64().expect("measured");
    assert!(invariance > 0.3 && invariance < 1.0, "{invariance}");
}
