//! Combines two configurations: one defines what is measured, the other how the pipeline is reached.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::yaml;

/// The keys that say how a pipeline is reached, how much of it runs at once and where the cases are, but not
/// what is measured.
const OF_REACHING: [&str; 10] = [
    "run",
    "cases",
    "scenarios",
    "env",
    "jobs",
    "timeout_s",
    "max_output_bytes",
    "max_per_minute",
    "retry",
    "cache",
];

/// The keys of a section that say where its inputs are.
const OF_INPUTS: [&str; 3] = ["golden", "corpus", "prompts"];

/// The file of inputs of a section, and the names of the fields in it. The names belong to the file: those of the base
/// say what is read from a file that has stayed, and those of the head what is read from another one. The names in an
/// output are always those of the base, since other ones would let another part of the output count.
const FIELDS_OF_INPUTS: [(&str, &str); 2] =
    [("golden", "golden_fields"), ("prompts", "prompt_fields")];

/// The text of a configuration that measures as `base` does and reaches the pipeline as `head` does; none if one of the
/// two is not a mapping. `renamed`: the commands of the base's evaluators, each with the command of the head.
pub fn measuring_as(base: &str, head: &str, renamed: &BTreeMap<String, String>) -> Option<String> {
    let tree = |text: &str| Some(yaml::parse(text).ok()?.to_json());
    let (mut base, mut head) = (tree(base)?, tree(head)?);
    let (base, head) = (base.as_object_mut()?, head.as_object_mut()?);
    let mut models = called_by_the_pipeline(head);
    reach(base, head);
    let suites = base.get_mut("results").and_then(Value::as_array_mut);
    for suite in suites.into_iter().flatten() {
        let Some(Value::String(run)) = suite.get_mut("run") else {
            continue;
        };
        if let Some(now) = renamed.get(run.as_str()) {
            run.clone_from(now);
        }
    }
    for (name, section) in base.iter_mut() {
        if let (Some(section), Some(Value::Object(of_head))) =
            (section.as_object_mut(), head.get(name))
        {
            if section.contains_key("run") {
                reach(section, of_head);
            }
            for (file, fields) in FIELDS_OF_INPUTS {
                if section.contains_key(file) && section.get(file) != of_head.get(file) {
                    take_over(section, of_head, &[fields]);
                }
            }
            if OF_INPUTS.iter().any(|key| section.contains_key(*key)) {
                take_over(section, of_head, &OF_INPUTS);
            }
            let candidate = section.get_mut("candidate").and_then(Value::as_object_mut);
            let of_head = of_head.get("candidate").and_then(Value::as_object);
            if let (Some(candidate), Some(of_head)) = (candidate, of_head)
                && candidate.contains_key("run")
                && of_head.contains_key("run")
            {
                take_over(candidate, of_head, &["run"]);
            }
        }
    }
    if !models.is_empty() {
        // A judge of the base uses the models of the base, even if the change gives their names to other models.
        if let Some(Value::Object(of_base)) = base.remove("models") {
            models.extend(of_base);
        }
        base.insert("models".to_owned(), Value::Object(models));
    }
    serde_json::to_string(base).ok()
}

/// The text of a configuration that takes its items from another folder, with the places that `base` has for them. `text`
/// is a result of [`measuring_as`].
pub fn on_items_of(text: &str, base: &str, root: &Path) -> Option<String> {
    let mut joined: Value = serde_json::from_str(text).ok()?;
    let base = yaml::parse(base).ok()?.to_json();
    let joined_keys = joined.as_object_mut()?;
    place(
        joined_keys,
        base.as_object()?,
        &["cases", "scenarios"],
        root,
    );
    for (name, section) in joined_keys.iter_mut() {
        if let (Some(section), Some(Value::Object(of_base))) =
            (section.as_object_mut(), base.get(name))
        {
            let fields = FIELDS_OF_INPUTS.map(|(_, fields)| fields);
            let has_inputs = OF_INPUTS.iter().any(|key| of_base.contains_key(*key));
            if has_inputs {
                take_over(section, of_base, &fields);
            }
            place(section, of_base, &OF_INPUTS, root);
        }
    }
    serde_json::to_string(&joined).ok()
}

/// Copies the places of items, each as a path below another folder.
fn place(to: &mut Map<String, Value>, from: &Map<String, Value>, keys: &[&str], root: &Path) {
    for key in keys {
        let place = match from.get(*key) {
            Some(Value::String(place)) => json!(root.join(place)),
            Some(inline) => inline.clone(),
            None => continue,
        };
        to.insert((*key).to_owned(), place);
    }
}

/// Copies the settings for reaching the pipeline. Where in the answer of a service the decision lies is none of them, as
/// `decision_field` is none.
fn reach(base: &mut Map<String, Value>, head: &Map<String, Value>) {
    let decision = base
        .get("run")
        .and_then(|run| run.get("http")?.get("decision"));
    let decision = decision.cloned();
    let was_asked = base.get("run").is_some_and(|run| run.get("http").is_some());
    take_over(base, head, &OF_REACHING);
    let http = base.get_mut("run").and_then(|run| run.get_mut("http"));
    if let Some(http) = http.and_then(Value::as_object_mut).filter(|_| was_asked) {
        match decision {
            Some(decision) => http.insert("decision".to_owned(), decision),
            None => http.remove("decision"),
        };
    }
}

/// Copies the values of the given keys.
fn take_over(base: &mut Map<String, Value>, head: &Map<String, Value>, keys: &[&str]) {
    for key in keys {
        match head.get(*key) {
            Some(value) => base.insert((*key).to_owned(), value.clone()),
            None => base.remove(*key),
        };
    }
}

/// Collects the models that the pipelines of a configuration call, and renames them to names that no other
/// configuration has. The configuration then uses the new names.
fn called_by_the_pipeline(head: &mut Map<String, Value>) -> Map<String, Value> {
    let declared = head.get("models").cloned().unwrap_or_default();
    let mut models = Map::new();
    let mut rename = |run: Option<&mut Value>| {
        let model = run.and_then(|run| run.get_mut("model"));
        if let Some(Value::String(name)) = model
            && let Some(settings) = declared.get(&*name)
        {
            *name = format!("{name}.of-the-change");
            models.insert(name.clone(), settings.clone());
        }
    };
    rename(head.get_mut("run"));
    for section in head.values_mut().filter_map(Value::as_object_mut) {
        rename(section.get_mut("run"));
    }
    models
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, head: &str) -> Value {
        let text = measuring_as(base, head, &BTreeMap::new()).expect("both are mappings");
        serde_json::from_str(&text).expect("it is JSON")
    }

    #[test]
    fn what_is_measured_is_that_of_the_base_and_the_way_to_the_pipeline_that_of_the_head() {
        let base = "run: old\ncases: old\nscenarios: old\nseed: 3\ntimeout_s: 5\nretrieval: {run: old, k: 3}\n";
        let head =
            "run: new\ncases: new\nscenarios: new\nseed: 4\njobs: 2\nretrieval: {run: new, k: 9}\n";
        assert_eq!(
            joined(base, head),
            json!({
                "run": "new",
                "cases": "new",
                "scenarios": "new",
                "seed": 3,
                "jobs": 2,
                "retrieval": {"run": "new", "k": 3},
            })
        );
    }

    #[test]
    fn where_the_inputs_of_a_probe_lie_is_that_of_the_head() {
        let base = "retrieval: {run: old, golden: a.jsonl, k: 3}\ngrading: {prompts: a, candidate: {run: old}, max_errors: 1}\n";
        let head = "retrieval: {run: new, golden: b.csv, golden_fields: {query: q}, k: 9}\n\
                    grading: {prompts: b, candidate: {run: new}, max_errors: 0}\n";
        assert_eq!(
            joined(base, head),
            json!({
                "retrieval": {"run": "new", "golden": "b.csv", "golden_fields": {"query": "q"}, "k": 3},
                "grading": {"prompts": "b", "candidate": {"run": "new"}, "max_errors": 1},
            })
        );
    }

    #[test]
    fn the_names_in_an_output_and_in_a_file_that_has_stayed_are_those_of_the_base() {
        let base = "retrieval: {run: a, golden: a.csv, golden_fields: {must_contain: answer}, output_fields: {hits: found}}\n\
                    run: {http: {url: one, decision: /label}}\n";
        let head = "retrieval: {run: a, golden: a.csv, output_fields: {hits: others}}\n\
                    run: {http: {url: two, decision: /other}}\n";
        assert_eq!(
            joined(base, head),
            json!({
                "retrieval": {
                    "run": "a", "golden": "a.csv", "golden_fields": {"must_contain": "answer"},
                    "output_fields": {"hits": "found"},
                },
                "run": {"http": {"url": "two", "decision": "/label"}},
            })
        );
        let whole = "run: {http: {url: one}}\n";
        assert_eq!(joined(whole, head)["run"], json!({"http": {"url": "two"}}));
    }

    #[test]
    fn an_evaluator_that_was_renamed_is_called_as_the_head_calls_it_and_another_one_is_not() {
        let base = "results:\n- {name: a, run: sh old.sh}\n- {name: b, run: sh b.sh}\n";
        let head = "results:\n- {name: a, run: sh new.sh}\n- {name: b, run: sh easy.sh}\n";
        let renamed = BTreeMap::from([("sh old.sh".to_owned(), "sh new.sh".to_owned())]);
        let text = measuring_as(base, head, &renamed).expect("both are mappings");
        let joined: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(joined["results"][0]["run"], "sh new.sh");
        assert_eq!(joined["results"][1]["run"], "sh b.sh");
    }

    #[test]
    fn a_judge_keeps_its_model_where_the_pipeline_gets_another_under_the_same_name() {
        let base = "run: {model: small}\nmodels: {small: {model: one}}\njudge: {model: small}\n";
        let head = "run: {model: small}\nmodels: {small: {model: two}}\njudge: {model: other}\n";
        assert_eq!(
            joined(base, head),
            json!({
                "run": {"model": "small.of-the-change"},
                "judge": {"model": "small"},
                "models": {"small.of-the-change": {"model": "two"}, "small": {"model": "one"}},
            })
        );
    }

    #[test]
    fn what_is_no_mapping_measures_nothing() {
        for text in ["", "- 1", "a: [", "7"] {
            let none = BTreeMap::new();
            assert_eq!(measuring_as(text, "run: x", &none), None, "{text:?}");
            assert_eq!(measuring_as("run: x", text, &none), None, "{text:?}");
        }
    }
}
