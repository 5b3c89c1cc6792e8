//! The pipelines behind HTTP: the checks that a schema cannot express, wherever a `run` stands.

use super::Problem;
use super::models;
use super::yaml::{Content, Node};
use crate::targets::{HttpProblem, base_url, example_of, http_problems};

/// The problems of every `http` under a `run`.
pub(super) fn problems(file: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    look(file, &mut found);
    found
}

fn look(node: &Node, found: &mut Vec<Problem>) {
    match &node.content {
        Content::Map(entries) => {
            for (key, value) in entries {
                match value.get(&["http"]).filter(|_| key.text == "run") {
                    Some(service) => of_service(service, found),
                    None => look(value, found),
                }
            }
        }
        Content::List(items) => items.iter().for_each(|item| look(item, found)),
        _ => {}
    }
}

fn of_service(service: &Node, found: &mut Vec<Problem>) {
    let text = |key: &str| service.text(&[key]).map(|(text, _)| text);
    if let Some((url, at)) = service.text(&["url"]) {
        let read = base_url::check_whole(&example_of(url));
        models::address(service, at, read, found);
    }
    models::key(service, found);
    models::headers(service, found);
    if let Some(Content::Map(headers)) = service.get(&["headers"]).map(|node| &node.content) {
        for (name, value) in headers {
            if let Content::Text(text) = &value.content
                && text.contains("${")
            {
                let what = format!("`{}` is sent as it is, with its `${{`", name.text);
                found.push(Problem::new(value.at.clone(), what).help(
                    "name the environment variable of a key in `api_key_env`, and its header in `api_key_header`",
                ));
            }
        }
    }
    let of_keys = http_problems(&text, service.get(&["headers"]).is_some());
    found.extend(of_keys.into_iter().map(|HttpProblem { key, what, help }| {
        let at = service.get(&[key]).map_or(0..0, |node| node.at.clone());
        Problem::new(at, what).help(help)
    }));
}
