//! Configurations with wrong keys, and files that are not a configuration.

/// The shortest valid configuration.
pub(super) const LEAST: &str = "run: pipeline {input} {output}\ncases: cases\ndecision_field: decision\n\
                     governing_types: [gate_rule]\n";

/// The shortest configuration with one or more additional lines.
pub(super) fn with(lines: &str) -> String {
    format!("{LEAST}{lines}\n")
}

/// The shortest configuration with one of its lines replaced.
pub(super) fn instead(key: &str, line: &str) -> String {
    let lines: Vec<&str> = LEAST
        .lines()
        .map(|old| if old.starts_with(key) { line } else { old })
        .collect();
    lines.join("\n") + "\n"
}

pub(super) fn whole(file: impl Into<String>) -> String {
    file.into()
}

/// Wrong keys and sections.
pub(super) fn keys() -> Vec<String> {
    vec![
        instead("run", ""),
        instead("cases", ""),
        instead("decision_field", ""),
        instead("governing_types", ""),
        with("sead: 4"),
        with("governing_type: a"),
        with("decision-field: a"),
        with("Seed: 4"),
        with("colour: red"),
        with("cache_dir: x"),
        with("retry_policy: {max_attempts: 3}"),
        with("counterfactual_swap: {enabled: true}"),
        with("intra_slot: {enabled: true}"),
        with("command: x"),
        with("timeout: 5"),
        with("gate: {metrics: {evidnce.sensitivity: {max_drop: 0.1}}}"),
        with("gate: {metrics: {retrieval.found: {max_drop: 0.1}}}"),
        with("max_attempts: 3"),
        with("records: {label: verdict}"),
        with("retry: {seed: 3}"),
        with("retry: {max_attempt: 3}"),
        with("variants: {reorders: 3}"),
        with("noise_floor: {replication: 3}"),
        with("cache: {dirs: x}"),
        with("scorer: {ordnal: [a, b]}"),
        with("perturbations: {enabled: []}"),
        with("\"a\\u202eb\": 1"),
        with("日本語: 1"),
        with("1: a"),
    ]
}

/// Wrong YAML.
pub(super) fn syntax() -> Vec<String> {
    let bomb: String = ('b'..'j').fold("a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, name| {
        let last = (name as u8 - 1) as char;
        let nine = vec![format!("*{last}"); 9].join(",");
        format!("{text}{name}: &{name} [{nine}]\n")
    });
    vec![
        whole(""),
        whole("# nothing yet\n"),
        whole("---\n"),
        whole("- run\n"),
        whole("run\n"),
        whole("\u{feff}seeds: 2\n"),
        instead("run", "run: 'p {input} {output}"),
        instead("run", "run: {input} {output}"),
        instead("cases", "cases: a: b"),
        instead("cases", "cases:\n\t- a"),
        instead("cases", "cases: ["),
        instead("cases", "cases: *anchor"),
        with("seed: 4\nseed: 5"),
        with("retry:\n  jitter_max_s: 1\n  jitter_max_s: 1"),
        with("---\nseed: 4"),
        with("? [a, b]\n: c"),
        with("seed: 4\u{1b}[31m"),
        whole("[".repeat(5000)),
        whole("a:\n".to_owned() + &"- ".repeat(5000)),
        whole("{a: ".repeat(5000)),
        whole(bomb),
        whole(format!("{LEAST}a: &a [*a]\n")),
        whole("x".repeat(2 << 20)),
        whole("\0\0\0\0"),
    ]
}
