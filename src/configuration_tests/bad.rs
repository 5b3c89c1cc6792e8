//! Configurations with wrong keys, and files that are not a configuration.

/// The shortest valid configuration.
pub(super) const LEAST: &str = "run: pipeline {input} {output}\ncases: cases\ndecision_field: decision\n\
                     governing_types: [gate_rule]\n";

/// A file, and the texts that its error message must contain.
pub(super) struct Bad {
    pub(super) file: String,
    pub(super) said: &'static [&'static str],
}

/// The shortest configuration with one or more additional lines.
pub(super) fn with(lines: &str, said: &'static [&'static str]) -> Bad {
    Bad {
        file: format!("{LEAST}{lines}\n"),
        said,
    }
}

/// The shortest configuration with one of its lines replaced.
pub(super) fn instead(key: &str, line: &str, said: &'static [&'static str]) -> Bad {
    let lines: Vec<&str> = LEAST
        .lines()
        .map(|old| if old.starts_with(key) { line } else { old })
        .collect();
    Bad {
        file: lines.join("\n") + "\n",
        said,
    }
}

pub(super) fn whole(file: impl Into<String>, said: &'static [&'static str]) -> Bad {
    Bad {
        file: file.into(),
        said,
    }
}

/// Wrong keys and sections.
pub(super) fn keys() -> Vec<Bad> {
    vec![
        instead(
            "run",
            "",
            &[
                "the key `run` is missing",
                "run: python3 pipeline.py {input} {output}",
            ],
        ),
        instead("cases", "", &["the key `cases` is missing", "cases: cases"]),
        instead(
            "decision_field",
            "",
            &["the key `decision_field` is missing"],
        ),
        instead(
            "governing_types",
            "",
            &["the key `governing_types` is missing"],
        ),
        with(
            "sead: 4",
            &[
                "unknown key `sead`",
                "kelvin.yaml:5:1",
                "^^^^",
                "did you mean `seed`?",
            ],
        ),
        with("governing_type: a", &["did you mean `governing_types`?"]),
        with("decision-field: a", &["did you mean `decision_field`?"]),
        with("Seed: 4", &["did you mean `seed`?"]),
        with(
            "colour: red",
            &["unknown key `colour`", "known here: baseline, cache, cases"],
        ),
        with(
            "cache_dir: x",
            &["unknown key `cache_dir`", "`cache: {dir: ...}`"],
        ),
        with(
            "retry_policy: {max_attempts: 3}",
            &["the section is called `retry`"],
        ),
        with(
            "counterfactual_swap: {enabled: true}",
            &["enable: [swap_condition]"],
        ),
        with(
            "intra_slot: {enabled: true}",
            &["`perturbations: {enable: [...]}`"],
        ),
        with("command: x", &["the command is called `run`"]),
        with("timeout: 5", &["write `timeout_s`, in seconds"]),
        with(
            "gate: {metrics: {evidnce.sensitivity: {max_drop: 0.1}}}",
            &[
                "configures no such probe",
                "did you mean `evidence.sensitivity`?",
            ],
        ),
        with(
            "gate: {metrics: {retrieval.found: {max_drop: 0.1}}}",
            &["a metric of `retrieval`", "its probes are: evidence"],
        ),
        with("max_attempts: 3", &["`max_attempts` belongs under `retry`"]),
        with(
            "records: {label: verdict}",
            &[
                "known here: expected, id,",
                "`label` is a key of `gate.approval`",
            ],
        ),
        with(
            "retry: {seed: 3}",
            &["unknown key `seed` in `retry`", "belongs at the top level"],
        ),
        with(
            "retry: {max_attempt: 3}",
            &["unknown key `max_attempt` in `retry`", "`max_attempts`?"],
        ),
        with(
            "variants: {reorders: 3}",
            &["in `variants`", "did you mean `reorder`?"],
        ),
        with(
            "noise_floor: {replication: 3}",
            &["did you mean `replications`?"],
        ),
        with(
            "cache: {dirs: x}",
            &["unknown key `dirs` in `cache`", "did you mean `dir`?"],
        ),
        with(
            "scorer: {ordnal: [a, b]}",
            &[
                "did you mean `ordinal`?",
                "`ordinal` is missing in `scorer`",
            ],
        ),
        with("perturbations: {enabled: []}", &["did you mean `enable`?"]),
        with("\"a\\u202eb\": 1", &["unknown key `a\\u{202e}b`"]),
        with("日本語: 1", &["unknown key `日本語`", "^^^^^^"]),
        with("1: a", &["unknown key `1`"]),
    ]
}

/// Wrong YAML.
pub(super) fn syntax() -> Vec<Bad> {
    let bomb: String = ('b'..'j').fold("a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, name| {
        let last = (name as u8 - 1) as char;
        let nine = vec![format!("*{last}"); 9].join(",");
        format!("{text}{name}: &{name} [{nine}]\n")
    });
    vec![
        whole("", &["the file is empty", "kelvin.yaml", "kelvin init"]),
        whole("# nothing yet\n", &["the file is empty"]),
        whole("---\n", &["the file is empty"]),
        whole("- run\n", &["the file must be a mapping, found a list"]),
        whole(
            "run\n",
            &["the file must be a mapping, found the string `run`"],
        ),
        whole(
            "\u{feff}seeds: 2\n",
            &["unknown key `seeds`", "kelvin.yaml:1:"],
        ),
        instead(
            "run",
            "run: 'p {input} {output}",
            &[
                "not YAML",
                "kelvin.yaml:2:",
                "a quote that opens must close",
            ],
        ),
        instead(
            "run",
            "run: {input} {output}",
            &["not YAML", "kelvin.yaml:1:", "goes in quotes"],
        ),
        instead(
            "cases",
            "cases: a: b",
            &["not YAML", "kelvin.yaml:2:9", "`: ` goes in quotes"],
        ),
        instead(
            "cases",
            "cases:\n\t- a",
            &["not YAML", "tabs", "indent with spaces"],
        ),
        instead("cases", "cases: [", &["not YAML", "kelvin.yaml:"]),
        instead(
            "cases",
            "cases: *anchor",
            &["not YAML", "begins with `*` goes in quotes"],
        ),
        with(
            "seed: 4\nseed: 5",
            &["the key `seed` is there twice", "kelvin.yaml:6:1"],
        ),
        with(
            "retry:\n  jitter_max_s: 1\n  jitter_max_s: 1",
            &["the key `jitter_max_s` is there twice"],
        ),
        with(
            "---\nseed: 4",
            &["a second document", "remove the line `---`"],
        ),
        with("? [a, b]\n: c", &["kelvin.yaml:5:"]),
        with("seed: 4\u{1b}[31m", &["unexpected character"]),
        whole("[".repeat(5000), &["nest the values less deep"]),
        whole("a:\n".to_owned() + &"- ".repeat(5000), &["kelvin.yaml:"]),
        whole("{a: ".repeat(5000), &["kelvin.yaml:"]),
        whole(bomb, &["more than one file may hold"]),
        whole(format!("{LEAST}a: &a [*a]\n"), &["kelvin.yaml:5:"]),
        whole("x".repeat(2 << 20), &["1 MiB"]),
        whole("\0\0\0\0", &["kelvin.yaml"]),
    ]
}
