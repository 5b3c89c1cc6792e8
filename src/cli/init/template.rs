//! The files that `kelvin init` writes, as text.

use super::request::Request;
use kelvin_run::config::quote;

/// The address where editors find the schema.
pub(super) const SCHEMA: &str =
    "https://raw.githubusercontent.com/org/kelvin-action/v1/schema/kelvin.schema.json";

/// The text of `kelvin.yaml`. A missing answer gets a valid placeholder, so that each answer can be checked before the
/// next is asked for.
pub(super) fn configuration(said: &Request) -> String {
    let Request {
        run,
        cases,
        decision_field,
        governing_types,
        keep_order,
        harmless,
        ..
    } = said;
    let or = |said: &Option<String>, fine: &str| quote(said.as_deref().unwrap_or(fine));
    let types = match governing_types.as_slice() {
        [] => " []\n".to_owned(),
        names => listed(names),
    };
    let kept = match keep_order.as_slice() {
        [] => String::new(),
        names => format!(
            "\n# The types of the turns, which keep their order in every variant.\nkeep_order:{}",
            listed(names)
        ),
    };
    let pages = self::harmless(harmless);
    format!(
        "# yaml-language-server: $schema={SCHEMA}\n\
         #\n\
         # What `kelvin check` runs and measures. Paths are relative to the folder of this file.\n\
         \n\
         # Runs the pipeline once: it reads the Markdown file {{input}} and writes the JSON file {{output}}.\n\
         run: {run}\n\
         \n\
         # The cases: a folder with one Markdown file each, or a glob such as cases/**/*.md.\n\
         cases: {cases}\n\
         \n\
         # The key of the decision in the output; /a/b looks inside an object.\n\
         decision_field: {decision_field}\n\
         \n\
         # The types of the sections (`## Gate Rule` is a gate_rule) that should govern the decision.\n\
         governing_types:{types}{kept}{pages}{OPTIONS}",
        run = or(run, "pipeline {input} {output}"),
        cases = or(cases, "cases"),
        decision_field = or(decision_field, "decision"),
    )
}

/// A list of names, each on a line.
fn listed(names: &[String]) -> String {
    let lines = names.iter().map(|name| format!("  - {}\n", quote(name)));
    format!("\n{}", lines.collect::<String>())
}

/// The part of the configuration that lists harmless files; empty where there are none.
pub(super) fn harmless(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!(
            "\n# A change that touches nothing but these files is not run, and passes. The list of the base counts.\n\
             harmless:{}",
            listed(names)
        ),
    }
}

/// The further options; every line after `# ` is YAML with the default value.
const OPTIONS: &str = "
# ---- Everything below has a default; the values shown are the defaults. ----

# Seeds the choice of perturbations, never the pipeline.
# seed: 0

# Seconds after which an invocation is stopped.
# timeout_s: 150

# How many variants per case of each default kind; for swap per governing type, or `all`.
# variants: {reorder: 3, pad_length: 3, pad_content: 3, swap: 3}

# More kinds of perturbation, e.g. swap_condition, numeric_magnitude, comparator_flip, drop.
# perturbations: {enable: []}

# How two decisions are compared: exact, set, or {ordinal: [low, medium, high]}.
# scorer: exact

# Replays of the baselines, to measure how much the pipeline varies by itself.
# noise_floor: {enabled: false, replications: 10}

# How often each input of a base is run, on a push whose report is kept. The workflow asks for 5.
# baseline: {repeats: 1}

# Whether answers are kept and used again while the pipeline stays the same.
# cache: false

# When a failed invocation is tried again.
# retry: {max_attempts: 1, transient_exit_codes: [], retry_on_timeout: false}
";

/// The text of the workflow that measures. `config` is the path of the configuration in the repository, where it is not
/// the usual one, and `branch` the branch whose pushes are measured as the base of later changes.
pub(super) fn workflow(config: Option<&str>, setup: Option<&str>, branch: &str) -> String {
    // The noise of a base decides most of what can be said about a later change.
    let setup = setup.map(|command| format!("setup: {}, ", quoted(command)));
    let config = config.map(|path| format!("config: {}, ", quoted(path)));
    let with = [config, setup].into_iter().flatten().collect::<String>();
    let branch = in_a_list(branch);
    format!(
        "# Measures with a token that can only read; the workflow `kelvin-post` publishes and keeps what came of it.\n\
         name: kelvin\n\
         on: {{ pull_request: {{}}, push: {{ branches: [{branch}] }}, merge_group: {{}}, workflow_dispatch: {{}} }}\n\
         permissions: {{ contents: read, actions: read }}\n\
         jobs:\n\
         \x20 kelvin:\n\
         \x20   runs-on: ubuntu-latest\n\
         \x20   steps:\n\
         \x20     - uses: actions/checkout@v5\n\
         \x20       with: {{ persist-credentials: false }}\n\
         \x20     - uses: org/kelvin-action@v1\n\
         \x20       with: {{ {with}base-repeats: 5, comment: later }}\n"
    )
}

/// A text as a value between braces, whatever characters it has: JSON is YAML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The name of a branch within brackets, quoted where needed.
fn in_a_list(branch: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    match branch.starts_with(|c: char| c.is_ascii_alphabetic()) && branch.chars().all(is_plain) {
        true => branch.to_owned(),
        false => format!("\"{}\"", branch.replace('"', "\\\"")),
    }
}

/// The text of the workflow that publishes. `config` is the path of the configuration, where it is not the usual one.
/// The name under which the reports are kept is read from that file.
pub(super) fn post(config: Option<&str>) -> String {
    let with = config.map_or_else(String::new, |path| {
        format!("        with: {{ config: {} }}\n", quoted(path))
    });
    format!(
        "# Posts what the runs of `kelvin` have measured, also those on forks, and keeps the reports of pushes. It runs in the\n\
         # default branch, takes figures from those runs and no code, and judges them itself.\n\
         name: kelvin-post\n\
         on: {{ workflow_run: {{ workflows: [kelvin], types: [completed] }} }} # zizmor: ignore[dangerous-triggers]\n\
         permissions: {{}}\n\
         jobs:\n\
         \x20 post:\n\
         \x20   if: contains(fromJSON('[\"pull_request\", \"push\"]'), github.event.workflow_run.event)\n\
         \x20   runs-on: ubuntu-latest\n\
         \x20   permissions: {{ actions: read, contents: write, pull-requests: write }}\n\
         \x20   steps:\n\
         \x20     - uses: org/kelvin-action/post@v1\n\
         {with}"
    )
}
