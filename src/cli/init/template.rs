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
        ..
    } = said;
    let or = |said: &Option<String>, fine: &str| quote(said.as_deref().unwrap_or(fine));
    let listed = |names: &[String]| -> String {
        let lines = names.iter().map(|name| format!("  - {}\n", quote(name)));
        format!("\n{}", lines.collect::<String>())
    };
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
         governing_types:{types}{kept}{OPTIONS}",
        run = or(run, "pipeline {input} {output}"),
        cases = or(cases, "cases"),
        decision_field = or(decision_field, "decision"),
    )
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
    let with = |own: &str| {
        let mut with = format!("          {own}\n");
        with.extend(config.map(|path| format!("          config: {}\n", quote(path))));
        with.extend(setup.map(|command| format!("          setup: {}\n", quote(command))));
        with
    };
    // The noise of a base decides most of what can be said about a later change.
    let (change, base) = (with("comment: later"), with("base-repeats: 5"));
    let branch = in_a_list(branch);
    format!(
        "# Tells on every pull request whether it made the pipeline worse, and where. It measures with a token\n\
         # that can only read, since it runs the code of the pull request; `kelvin-post` publishes what came of it.\n\
         name: kelvin\n\
         on:\n\
         \x20 pull_request:\n\
         \x20 push:\n\
         \x20   branches: [{branch}]\n\
         \x20 merge_group:\n\
         \x20 workflow_dispatch:\n\
         permissions: {{}}\n\
         jobs:\n\
         \x20 kelvin:\n\
         \x20   if: github.event_name != 'push'\n\
         \x20   runs-on: ubuntu-latest\n\
         \x20   permissions:\n\
         \x20     contents: read\n\
         \x20     actions: read\n\
         \x20   steps:\n\
         \x20     - uses: actions/checkout@v5\n\
         \x20       with: {{ persist-credentials: false }}\n\
         \x20     - uses: org/kelvin-action@v1\n\
         \x20       with:\n\
         {change}\
         \x20 # What was merged is measured for the changes to come, and its report is kept.\n\
         \x20 baseline:\n\
         \x20   if: github.event_name == 'push'\n\
         \x20   runs-on: ubuntu-latest\n\
         \x20   permissions:\n\
         \x20     contents: write\n\
         \x20     actions: read\n\
         \x20   steps:\n\
         \x20     - uses: actions/checkout@v5\n\
         \x20       with: {{ persist-credentials: false }}\n\
         \x20     - uses: org/kelvin-action@v1\n\
         \x20       with:\n\
         {base}"
    )
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
        format!("        with:\n          config: {}\n", quote(path))
    });
    format!(
        "# Posts what the workflow `kelvin` has measured. It runs in the default branch, with a token that can\n\
         # write, and executes nothing of the pull request.\n\
         name: kelvin-post\n\
         on:\n\
         \x20 # Linters warn of this event, which gives rights to a run that a stranger may have started. `post/` takes\n\
         \x20 # figures from that run and no code, and computes the verdict again where it can.\n\
         \x20 workflow_run: # zizmor: ignore[dangerous-triggers]\n\
         \x20   workflows: [kelvin]\n\
         \x20   types: [completed]\n\
         permissions: {{}}\n\
         jobs:\n\
         \x20 post:\n\
         \x20   if: github.event.workflow_run.event == 'pull_request'\n\
         \x20   runs-on: ubuntu-latest\n\
         \x20   permissions:\n\
         \x20     actions: read\n\
         \x20     contents: read\n\
         \x20     pull-requests: write\n\
         \x20   steps:\n\
         \x20     - uses: org/kelvin-action/post@v1\n\
         {with}"
    )
}
