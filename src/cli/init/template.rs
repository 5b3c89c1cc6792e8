//! The files that `kelvin init` writes, as text.

use std::path::Path;

use super::evaluators::THREE_RUNS;
use super::kind::PipelineKind;
use super::request::Request;
use super::scores::{OUTPUT, is_told_where};
use super::survey::is_identifier;
use kelvin_probe::rows::RowForm;
use kelvin_run::config::quote;

/// The address where editors find the schema.
pub(super) const SCHEMA: &str =
    "https://raw.githubusercontent.com/org/kelvin-action/v1/schema/kelvin.schema.json";

/// The text of `kelvin.yaml`. A missing answer gets a valid placeholder, so that each answer can be checked before the
/// next is asked for.
pub(super) fn configuration(said: &Request) -> String {
    let (about, sections, options) = match said.kind.unwrap_or(PipelineKind::Decides) {
        PipelineKind::Decides => (
            "What `kelvin check` runs and measures.",
            decides(said),
            [OPTIONS, if said.decides_lists { "" } else { SCORER }].concat(),
        ),
        PipelineKind::Searches => (
            "What `kelvin check` asks the search, and what it should find.",
            searches(said),
            String::new(),
        ),
        PipelineKind::Answers => (
            "What `kelvin check` asks the pipeline, and who grades its answers.",
            answers(said),
            String::new(),
        ),
        PipelineKind::Acts => (
            "What `kelvin check` lets the agent do, and what has to hold afterwards.",
            acts(said),
            String::new(),
        ),
        PipelineKind::Scores => (
            "The evaluator that `kelvin check` runs, and how what it writes is read: see docs/evaluators.md.",
            scores(said),
            String::new(),
        ),
    };
    format!(
        "# yaml-language-server: $schema={SCHEMA}\n\
         #\n\
         # {about} Paths are relative to the folder of this file.\n\
         \n\
         {sections}{}{options}",
        harmless(&said.harmless)
    )
}

/// The user's answer or, without one, a valid value.
fn or(said: Option<&String>, fine: &str) -> String {
    quote(said.map_or(fine, String::as_str))
}

/// The value of `run`: a Python function or a service if the answer names one, otherwise a command.
fn run(said: &Request) -> String {
    match said.run.as_deref() {
        Some(name) if is_function(name) => format!("{{python: {}}}", quoted(name)),
        Some(url) if is_service(url) => format!("{{http: {{url: {}}}}}", quoted(url.trim())),
        Some(command) => quote(command),
        None => "pipeline {input} {output}".to_owned(),
    }
}

/// Whether an answer has the form `module:function`, which no command has.
pub(super) fn is_function(text: &str) -> bool {
    let names = |path: &str| path.split('.').all(is_identifier);
    text.split_once(':')
        .is_some_and(|(module, function)| names(module) && names(function))
}

/// Whether an answer is the address of a service, which no command begins with.
pub(super) fn is_service(text: &str) -> bool {
    let text = text.trim();
    let is_one_word = !text.contains(char::is_whitespace);
    is_one_word && (text.starts_with("http://") || text.starts_with("https://"))
}

/// The fields of a record that have other names in the file, as a mapping on one line under a key; empty if there are
/// none.
fn fields(key: &str, said: &Request) -> String {
    let pairs: Vec<String> = said
        .fields
        .iter()
        .map(|(name, field)| format!("{name}: {}", quoted(field)))
        .collect();
    match pairs.is_empty() {
        true => String::new(),
        false => format!("{key}: {{{}}}\n", pairs.join(", ")),
    }
}

fn decides(said: &Request) -> String {
    let types = match said.governing_types.as_slice() {
        [] => " []\n".to_owned(),
        names => listed(names),
    };
    let kept = match said.keep_order.as_slice() {
        [] => String::new(),
        names => format!(
            "\n# The types of the turns, which keep their order in every variant.\nkeep_order:{}",
            listed(names)
        ),
    };
    let how = match said.run.as_deref() {
        Some(run) if is_function(run) => {
            "# The function that is called with each case, and returns a decision or an object that has it."
        }
        Some(run) if is_service(run) => {
            "# The service that is sent each case as {\"input\": ...}, by POST, and answers with JSON. `body`, `decision` and \
             more\n# can be set beside `url`."
        }
        _ => {
            "# Runs the pipeline once: it reads the file {input} and writes the JSON file {output}."
        }
    };
    let cases = or(said.cases.as_ref(), "cases");
    let has_records = RowForm::of_file(Path::new(&cases)).is_some();
    let (what, which) = match has_records {
        true => ("a file with one record each", "fields"),
        false => (
            "a folder with one Markdown file each, or a glob such as cases/**/*.md",
            "sections (`## Gate Rule` is a gate_rule)",
        ),
    };
    let records = match fields("records", said) {
        line if line.is_empty() => line,
        line => {
            let has_turns = said.fields.iter().any(|(name, _)| name == "turns");
            let what = match has_turns {
                true => {
                    "its name, its label and its turns, which the pipeline is given one after the other"
                }
                false => "its name and its label",
            };
            format!("# Which fields of a record are {what}.\n{line}")
        }
    };
    format!(
        "{how}\n\
         run: {run}\n\
         \n\
         # The cases: {what}.\n\
         cases: {cases}\n\
         {records}\
         \n\
         # The key of the decision in the output; /a/b looks inside an object.\n\
         decision_field: {decision_field}\n\
         {scorer}\n\
         # The types of the {which} that should govern the decision.\n\
         governing_types:{types}{kept}",
        run = run(said),
        decision_field = or(said.decision_field.as_ref(), "decision"),
        scorer = match said.decides_lists {
            true =>
                "# Lists are compared as sets, by the share of entries that only one of them has; their order does not count.\nscorer: set\n",
            false => "",
        },
    )
}

fn searches(said: &Request) -> String {
    format!(
        "retrieval:\n\
         \x20 # Answers one question with the documents that it finds, the best first.\n\
         \x20 run: {}\n\
         \x20 # The questions, each with the documents that should be found.\n\
         \x20 golden: {}\n\
         {}{}",
        run(said),
        or(said.cases.as_ref(), "golden.yaml"),
        fields("  golden_fields", said),
        output_fields(said),
    )
}

/// The names that an output has for its fields, if they are others than those of this program.
fn output_fields(said: &Request) -> String {
    match said.output_fields.as_str() {
        "" => String::new(),
        names => format!(
            "  # The names that its output has for the hits and their documents.\n  output_fields: {names}\n"
        ),
    }
}

fn answers(said: &Request) -> String {
    let address = said
        .address
        .as_deref()
        .unwrap_or("http://localhost:8080/v1");
    // A server on this machine needs no key.
    let is_local = ["http://localhost", "http://127.", "http://[::1]"]
        .iter()
        .any(|local| address.starts_with(local));
    let key = match is_local {
        true => "",
        false => ", api_key_env: OPENAI_API_KEY",
    };
    format!(
        "# The language model that grades. `kelvin calibrate` says whether its grades can be relied on.\n\
         models:\n\
         \x20 judge: {{kind: openai, base_url: {}, model: {}{key}}}\n\
         \n\
         grading:\n\
         \x20 # What is asked, with an answer that is known to be good where there is one.\n\
         \x20 prompts: {}\n\
         {}\
         \x20 candidate: {{run: {}}}\n\
         \x20 judge: {{type: llm, mode: reference, model: judge}}\n",
        quoted(address),
        quoted(said.judge.as_deref().unwrap_or("model")),
        or(said.cases.as_ref(), "prompts.jsonl"),
        fields("  prompt_fields", said),
        flow(&run(said)),
    )
}

fn acts(said: &Request) -> String {
    let scenarios = said.cases.as_ref().map_or_else(String::new, |file| {
        format!(
            "\n# What it is asked, one scenario a line.\nscenarios: {}\n",
            quote(file)
        )
    });
    let workspace = said.workspace.as_ref().filter(|folder| *folder != ".");
    let workspace = workspace.map_or_else(String::new, |folder| {
        format!("\n# What each run gets a copy of, as its working directory.\nworkspace: {{template: {}}}\n", quoted(folder))
    });
    let check = said.check.as_deref().unwrap_or("true");
    format!(
        "# Runs the agent once. {{root}} is the folder of this file; {{input}} has what is asked, {{output}} is for an answer.\n\
         run: {}\n\
         {scenarios}{workspace}\
         \n\
         # What has to hold afterwards.\n\
         invariants:\n\
         \x20 is_right:\n\
         \x20   description: {}\n\
         \x20   gate: true\n\
         \x20   check: {{type: command_exit, command: {}, exit_code: 0}}\n",
        run(said),
        quoted(&format!("`{check}` passes afterwards")),
        quoted(check),
    )
}

fn scores(said: &Request) -> String {
    let mut text = "results:\n\x20 - name: scores\n".to_owned();
    if let Some(run) = &said.run {
        let about = match run.contains(OUTPUT) {
            true => "# Runs all cases once; {output} is the file that it writes.",
            false => "# Runs all cases once.",
        };
        text += &format!("    {about}\n    run: {}\n", quote(run));
    }
    if said.run.as_deref().is_none_or(|run| !is_told_where(run)) {
        let about = match said.run {
            Some(_) => "# The file that it writes.",
            None => "# What an earlier step has written.",
        };
        text += &format!(
            "    {about}\n    file: {}\n",
            or(said.scores.as_ref(), "scores.csv")
        );
    }
    for (key, value) in &said.results {
        if *key == "metrics" {
            text += "    # The scores. `better: lower` is one of which less is better; one that you leave out is not read.\n";
        }
        text += &format!("    {key}: {value}\n");
    }
    match said.run {
        Some(_) => text + THREE_RUNS,
        None => text,
    }
}

/// A value in a form that is valid between braces.
fn flow(value: &str) -> String {
    match value.starts_with(['{', '"', '\'']) {
        true => value.to_owned(),
        false => quoted(value),
    }
}

/// A list of names, one per line.
fn listed(names: &[String]) -> String {
    let lines = names.iter().map(|name| format!("  - {}\n", quote(name)));
    format!("\n{}", lines.collect::<String>())
}

/// The part of the configuration that lists harmless files; empty if there are none.
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

/// The other options as comments; without the `# `, every line is YAML with the default value.
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

# Replays of the baselines, to measure how much the pipeline varies by itself.
# noise_floor: {enabled: false, replications: 10}

# How often each input of a base is run, on a push whose report is kept. The workflow asks for 5.
# baseline: {repeats: 1}

# Whether answers are kept and used again while the pipeline stays the same.
# cache: false

# When a failed invocation is tried again.
# retry: {max_attempts: 1, transient_exit_codes: [], retry_on_timeout: false}
";

/// The option that a configuration for lists sets.
const SCORER: &str = "
# How two decisions are compared: exact, set, or {ordinal: [low, medium, high]}.
# scorer: exact
";

/// A text as a quoted value between braces; it may contain any characters, because JSON is also YAML.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The name of a branch in a list with brackets, quoted if necessary.
pub(super) fn in_a_list(branch: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    match branch.starts_with(|c: char| c.is_ascii_alphabetic()) && branch.chars().all(is_plain) {
        true => branch.to_owned(),
        false => format!("\"{}\"", branch.replace('"', "\\\"")),
    }
}

/// The text of the workflow that publishes. `config` is the path of the configuration, if it is not the usual one. The
/// name under which the reports are stored is read from that file.
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
         \x20   if: contains(fromJSON('[\"pull_request\", \"pull_request_review\", \"push\"]'), github.event.workflow_run.event)\n\
         \x20   runs-on: ubuntu-latest\n\
         \x20   permissions: {{ actions: read, contents: write, pull-requests: write }}\n\
         \x20   steps:\n\
         \x20     - uses: org/kelvin-action/post@v1\n\
         {with}"
    )
}
