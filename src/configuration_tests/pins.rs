//! Baselines are compared by the digests of their configurations: two configurations that measure the same must have
//! the same digest in every version.

use std::path::Path;

use crate::registry::Registry;
use kelvin_evidence::EvidenceSettings;
use kelvin_retrieval::RetrievalSettings;
use kelvin_run::config::Config;

const EVIDENCE: &str = "run: p {input} {output}\ncases: cases\ndecision_field: decision\n\
                        governing_types: [rule, Gate Rule]\n";
const RETRIEVAL: &str = "retrieval: {run: 'q {input} {output}', golden: golden.yaml}\n";

fn load(text: &str) -> Config {
    Registry::shipped()
        .configured_by(text, Path::new("/nowhere/kelvin.yaml"))
        .expect("it is valid")
}

#[test]
fn the_digest_of_what_is_measured_never_changes() {
    let every_key = format!(
        "{EVIDENCE}seed: 7\nscorer: {{ordinal: [low, high]}}\n\
         variants: {{reorder: 0, pad_length: 1, pad_content: 2, swap: all}}\n\
         perturbations: {{enable: [drop, swap_condition], count_drop: true}}\n\
         pad_include_governing: true\npacks: [legal]\nnoise_floor: {{replications: 5}}\n"
    );
    let every_key_of_retrieval = format!(
        "{EVIDENCE}scorer: set\nretrieval: {{run: ' q {{input}} {{output}} ', golden: g.yaml, \
         corpus: c.jsonl, k: [5, 1, 5], cut_off: 7, chunker_version: x, \
         span_rule: half_of_expected}}\n"
    );
    for (text, digest) in [
        (
            EVIDENCE,
            "3a8cdad4e3636c6021eba1bd787a8a30f36e4275d92bbce01d6ebd010e31485c",
        ),
        (
            RETRIEVAL,
            "61a7df6acda258351be923776755dfe252ea5e20f71269e7a2e4fcc745bf6017",
        ),
        (
            &format!("{EVIDENCE}{RETRIEVAL}"),
            "26d0f34dd2723776e5469288fafcbfaae144c652841de122ea4d943c76712ea6",
        ),
        (
            "gate: {max_drop: 0.1}\n",
            "15da704dfc57fe9a5919d8e65fda2e735004187afade8c3b5caa6b652a70fae2",
        ),
        (
            &format!("{RETRIEVAL}variants: {{reorder: 1}}\nseed: 3\n"),
            "8a8116f59744b03183d066801949cac8d5137bf1b207907da7c9198bff4df342",
        ),
        (
            &every_key,
            "62b47eca5c03afd8376eb8593593077a5c0553c30bfa08fe78afa01f35194f3c",
        ),
        (
            &every_key_of_retrieval,
            "de8980d51a36c94f3f31d63a3efe944225664744ce5a6557d2d3029271b3b173",
        ),
    ] {
        assert_eq!(load(text).measured().to_string(), digest, "{text}");
    }
}

#[test]
fn the_digest_of_a_command_never_changes() {
    let config = load(&format!("{EVIDENCE}{RETRIEVAL}"));
    let evidence: &EvidenceSettings = config.settings().expect("configured");
    let retrieval: &RetrievalSettings = config.settings().expect("configured");
    let digests = [evidence.program(), retrieval.program()]
        .map(|program| program.digest(&config).to_string());
    assert_eq!(
        digests,
        [
            "eeb3716da7a7535ec83fe1ed809376bb0e8cbe907e6e10b0dea469e1c566dfc6",
            "053105872fc28ddb54b6d693e3d6c16644c1ff6b8e74943ddaec0f7d802ee2de",
        ]
    );
}
