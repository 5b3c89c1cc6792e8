use std::fs;

use super::chains::Chains;
use super::*;

const PUBLISHED: &str = "\
trace_id: tr-0001
chain_uri: stratt://chains/intake@1.2.0
version: 1.2.0
fingerprint: blake3:00ff
session_id: s-1
council: [a, b]
started_at: 2026-04-01T10:00:00Z
completed_at: 2026-04-01T10:00:09Z
duration_ms: 9000
status: completed
quality_score: 0.82
token_counts: {input: 4200, output: 1850, total: 6050}
steps:
  - step_id: draft
    unit_uri: stratt://units/draft@1.0.0
    agent: writer
    status: completed
    input_hash: blake3:01
    quality_indicators: {contract_conformance: 1.0, completeness: 1.0, token_efficiency: 0.31}
";

fn trace(id: &str, chain: &str, version: &str, started: &str) -> String {
    format!(
        "{{\"trace_id\": \"{id}\", \"chain_uri\": \"{chain}\", \"version\": \"{version}\", \
         \"started_at\": \"{started}\", \"status\": \"completed\"}}"
    )
}

#[test]
fn qlt_20_traces_are_read_from_yaml_and_json_one_or_many_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    write("2026/04/one.yaml", PUBLISHED);
    let day = "2026-04-02T00:00:00Z";
    let of = |id: &str| trace(id, "stratt://chains/intake@1.2.0", "1.2.0", day);
    write("list.json", &format!("[{}, {}]", of("a"), of("b")));
    write("under.json", &format!("{{\"traces\": [{}]}}", of("c")));
    write("lines.jsonl", &format!("{}\n\n{}\n", of("d"), of("e")));
    write(
        "stream.yml",
        &format!("---\n{}\n---\n# a remark\n{}\n...\n", of("f"), of("g")),
    );
    write("notes.md", "no trace");
    let found = read(folder.path()).expect("read");
    let ids: Vec<&str> = found
        .traces
        .iter()
        .map(|trace| trace.trace_id.as_str())
        .collect();
    assert_eq!(ids, ["tr-0001", "d", "e", "a", "b", "f", "g", "c"]);
    assert_eq!((found.files, found.malformed.len()), (5, 0));
    let published = &found.traces[0];
    assert_eq!(published.chain(), "stratt://chains/intake");
    assert_eq!(published.version(), "1.2.0");
    assert_eq!(published.token_counts.expect("told").total, Some(6050));
    assert!(!published.is_open() && !published.has_failed());
}

#[test]
fn qlt_21_what_is_no_trace_is_skipped_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("a.yaml", PUBLISHED);
    write("b.yaml", PUBLISHED);
    write("broken.json", "{\"trace_id\": ");
    write("no-status.yaml", "trace_id: x\nchain_uri: y\n");
    write(
        "status.yaml",
        "trace_id: x\nchain_uri: y\nstatus: dreaming\n",
    );
    write(
        "score.yaml",
        "trace_id: x\nchain_uri: y\nstatus: failed\nquality_score: 1.5\n",
    );
    write(
        "time.yaml",
        "trace_id: x\nchain_uri: y\nstatus: failed\nstarted_at: yesterday\n",
    );
    write("text.yaml", "just words\n");
    write(
        "tokens.json",
        "[{\"trace_id\": \"x\", \"chain_uri\": \"y\", \"status\": \"failed\", \"token_counts\": {\"input\": -1, \"output\": 1}}]",
    );
    fs::write(folder.path().join("bytes.yaml"), b"\xff\xfe").expect("written");
    let found = read(folder.path()).expect("read");
    assert_eq!((found.traces.len(), found.malformed.len()), (1, 9));
    let why = |name: &str| {
        let mut all = found.malformed.iter();
        let one = all.find(|one| one.file.ends_with(name)).expect(name);
        one.why.clone()
    };
    insta::assert_snapshot!(why("b.yaml"), @"the trace `tr-0001` was read before");
    assert!(why("no-status.yaml").contains("`status`"));
    assert!(why("score.yaml").contains("1.5"));
    assert!(why("time.yaml").contains("yesterday"));
    assert!(read(&folder.path().join("nowhere")).is_err());
}

#[test]
fn qlt_22_versions_are_in_the_order_of_semantic_versions() {
    let times = ["2026-01-03", "2026-01-02", "2026-01-01", "2026-01-04"];
    let versions = ["1.9.0", "1.10.0", "2.0.0-rc.1", "2.0.0"];
    let traces: Vec<ChainTrace> = versions
        .iter()
        .zip(times)
        .map(|(version, time)| {
            let text = trace(version, "c", version, &format!("{time}T00:00:00Z"));
            serde_json::from_str(&text).expect("a trace")
        })
        .collect();
    let found = chains(&traces);
    let names = |found: &Chains<'_>| -> Vec<String> {
        let versions = found.by_name["c"].versions.iter();
        versions.map(|version| version.name.to_owned()).collect()
    };
    assert_eq!(names(&found), versions);
    assert!(found.warnings.is_empty());
    let (_, prior) = found.by_name["c"]
        .with_prior("1.10.0")
        .expect("it is there");
    assert_eq!(prior.expect("one is before it").name, "1.9.0");
    assert!(
        found.by_name["c"]
            .with_prior("1.9.0")
            .expect("it is there")
            .1
            .is_none()
    );

    // One that is no semantic version takes the order away from all.
    let mut traces = traces;
    traces[0].version = Some("spring".to_owned());
    let found = chains(&traces);
    assert_eq!(names(&found), ["2.0.0-rc.1", "1.10.0", "spring", "2.0.0"]);
    assert!(
        found.warnings[0].contains("`spring`"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn qlt_23_a_gated_trace_counts_when_it_is_resolved() {
    let mut gated: ChainTrace =
        serde_json::from_str(&trace("a", "c", "1.0.0", "2026-01-01T00:00:00Z")).expect("a trace");
    gated.status = TraceStatus::Gated;
    assert!(gated.is_open());
    let resolved = ChainTrace {
        trace_id: "b".to_owned(),
        steps: vec![StepTrace {
            step_id: "review".to_owned(),
            unit_uri: None,
            status: StepStatus::Completed,
            token_counts: None,
            quality_indicators: None,
            gate_resolution: Some(serde_json::json!({ "resolved_by": "ada" })),
        }],
        ..gated.clone()
    };
    let failed = ChainTrace {
        trace_id: "c".to_owned(),
        status: TraceStatus::Failed,
        ..gated.clone()
    };
    let traces = [gated, resolved, failed];
    let found = chains(&traces);
    let newest = found.by_name["c"].versions[0].newest(20);
    let ids: Vec<&str> = newest.iter().map(|trace| trace.trace_id.as_str()).collect();
    assert_eq!(ids, ["b", "c"]);
    assert_eq!(found.by_name["c"].versions[0].newest(1).len(), 1);
}
