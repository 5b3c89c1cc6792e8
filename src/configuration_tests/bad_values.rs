//! Configurations with wrong values.

use super::bad::{Bad, instead, with};

/// Wrong values.
pub(super) fn values() -> Vec<Bad> {
    vec![
        instead("run", "run: ''", &["`run` must not be empty"]),
        instead(
            "run",
            "run: [a, b]",
            &[
                "`run` must be a string or a mapping with one of the keys `model`, `worker`, `python`, `node` or `http`, found a list",
            ],
        ),
        instead(
            "run",
            "run:",
            &[
                "`run` must be a string or a mapping with one of the keys `model`, `worker`, `python`, `node` or `http`, found nothing",
                "give it a value",
            ],
        ),
        instead(
            "run",
            "run: p {output}",
            &["`run` has no placeholder `{input}`", "the path of the case"],
        ),
        instead(
            "run",
            "run: p {input}",
            &["no placeholder `{output}`", "the JSON file to write"],
        ),
        instead(
            "run",
            "run: p {inputs} {output}",
            &[
                "did you mean `{input}` instead of `{inputs}`?",
                "kelvin.yaml:1:8",
            ],
        ),
        instead(
            "run",
            "run: p {{input}} {output}",
            &["`{{input}}` is not a placeholder", "single braces"],
        ),
        instead(
            "run",
            "run: p ${input} {output}",
            &["`${input}` is not a placeholder", "without the `$`"],
        ),
        instead(
            "run",
            "run: p $INPUT <output>",
            &["instead of `$INPUT`?", "instead of `<output>`?"],
        ),
        instead(
            "run",
            "run: \"p {input} {output} \\0\"",
            &["a control character"],
        ),
        instead("cases", "cases: '  '", &["`cases` must not be empty"]),
        instead(
            "cases",
            "cases: 5",
            &[
                "`cases` must be a string, found `5`",
                "put it in quotes: \"5\"",
            ],
        ),
        instead(
            "decision_field",
            "decision_field: true",
            &["must be a string, found `true`", "quotes"],
        ),
        instead(
            "decision_field",
            "decision_field: /a~b",
            &["`/a~b` is not a JSON pointer", "`~0`"],
        ),
        instead(
            "governing_types",
            "governing_types: gate_rule",
            &[
                "must be a list of strings",
                "`governing_types: [gate_rule]`",
            ],
        ),
        instead(
            "governing_types",
            "governing_types: [a, 5]",
            &["entry 2 of `governing_types` must be a string, found `5`"],
        ),
        instead(
            "governing_types",
            "governing_types: [Gate Rule, gate_rule]",
            &["`Gate Rule` and `gate_rule` are the same"],
        ),
        instead(
            "governing_types",
            "governing_types: [a, a]",
            &["the governing type `a` is listed twice"],
        ),
        instead(
            "governing_types",
            "governing_types: ['']",
            &["a governing type must not be empty"],
        ),
        instead(
            "governing_types",
            "governing_types: ['## Gate']",
            &["without the `#`", "write `Gate`"],
        ),
        instead(
            "governing_types",
            "governing_types:\n  - ## Gate",
            &["found nothing", "`#` begins a comment"],
        ),
        with(
            "seed: true",
            &["`seed` must be a whole number from 0 to 18446744073709551615, found `true`"],
        ),
        with("seed: 'four'", &["found the string `four`"]),
        with("seed: '4'", &["write the number without quotes"]),
        with("seed: -1", &["found `-1`"]),
        with("seed: 1.5", &["found `1.5`"]),
        with(
            "seed: 18446744073709551616",
            &["found `18446744073709551616`"],
        ),
        with("repeats: 0", &["`repeats` must be a whole number from 1"]),
        with("jobs: 0", &["`jobs` must be a whole number from 1"]),
        with("jobs: 1000000", &["from 1 to 1024"]),
        with("repeats: 017", &["found `017`", "without leading zeros"]),
        with("timeout_s: 0", &["`timeout_s` must be a number above 0"]),
        with("timeout_s: -3", &["found `-3`"]),
        with("timeout_s: .inf", &["found `.inf`"]),
        with("timeout_s: .nan", &["found `.nan`"]),
        with("timeout_s: 1e300", &["at most 604800, found `1e300`"]),
        with(
            "max_output_bytes: 16 MiB",
            &["`max_output_bytes` must be a whole number", "`16 MiB`"],
        ),
        with(
            "max_per_minute: 0",
            &["`max_per_minute` must be a whole number from 1"],
        ),
        with("retry: 3", &["`retry` must be a mapping, found `3`"]),
        with(
            "retry: {max_attempts: 0}",
            &["`retry.max_attempts` must be a whole number from 1 to 100"],
        ),
        with(
            "retry: {backoff_factor: 0.5}",
            &["`retry.backoff_factor` must be a number from 1"],
        ),
        with("retry: {initial_delay_s: -1}", &["`retry.initial_delay_s`"]),
        with(
            "retry: {transient_exit_codes: [0]}",
            &["entry 1 of `retry.transient_exit_codes`", "from 1 to 255"],
        ),
        with(
            "retry: {transient_exit_codes: 75}",
            &["`transient_exit_codes: [75]`"],
        ),
        with(
            "retry: {retry_on_timeout: yes}",
            &["must be `true` or `false`", "write `true`, without quotes"],
        ),
        with(
            "cache: maybe",
            &["`cache` must be `true` or `false` or a mapping with the key `dir`"],
        ),
        with("cache: {dir: ''}", &["`cache.dir` must not be empty"]),
        with(
            "env: [API_KEY=x]",
            &["not the name of a variable", "write `API_KEY`"],
        ),
        with("env: [$HOME]", &["write `HOME`"]),
        with("env: [A, A]", &["the variable `A` is listed twice"]),
        with(
            "env: {A: b}",
            &["`env` must be a list of strings, found a mapping"],
        ),
        with("fingerprint: ['src/[']", &["`src/[` is not a glob"]),
        with("fingerprint: ['']", &["a glob must not be empty"]),
        with(
            "variants: {swap: some}",
            &["a whole number from 0 to 1000 or `all`, found `some`"],
        ),
        with("variants: {reorder: -1}", &["`variants.reorder`"]),
        with("variants: {pad_length: 5000}", &["from 0 to 1000"]),
        with(
            "perturbations: {enable: [polarity]}",
            &["known names: swap_condition, numeric_magnitude"],
        ),
        with(
            "perturbations: {enable: [polarity_flipp]}",
            &["did you mean `polarity_flip`?"],
        ),
        with(
            "perturbations: {enable: [reorder]}",
            &["`reorder` is made by default", "`variants.reorder`"],
        ),
        with(
            "perturbations: {enable: [drop, drop]}",
            &["the kind `drop` is listed twice"],
        ),
        with(
            "perturbations: {count_drop: true}",
            &["`count_drop` has no effect"],
        ),
        with(
            "noise_floor: true",
            &[
                "`noise_floor` must be a mapping",
                "`noise_floor: {enabled: true}`",
            ],
        ),
        with(
            "noise_floor: {replications: 1}",
            &["from 2 to 1000, found `1`"],
        ),
        with(
            "scorer: exakt",
            &[
                "`scorer` must be `exact`, `set` or a mapping with one of the keys `ordinal`, `embedding` or `llm`",
                "did you mean `exact`?",
            ],
        ),
        with(
            "scorer: {ordinal: [low]}",
            &["`scorer.ordinal` needs at least 2 entries, found 1"],
        ),
        with(
            "scorer: {ordinal: [low, low]}",
            &["the level `low` is listed twice"],
        ),
        with(
            "scorer: {ordinal: [1, 2]}",
            &[
                "entry 1 of `scorer.ordinal` must be a string",
                "quotes: \"1\"",
            ],
        ),
        with(
            "packs: [legal, legal]",
            &["the pack `legal` is listed twice"],
        ),
        with("packs: ['']", &["an entry of `packs` must not be empty"]),
        with("filler: ''", &["`filler` must not be empty"]),
        with("repeats: \"\\e[31m\"", &["found the string `\\u{1b}[31m`"]),
    ]
}
