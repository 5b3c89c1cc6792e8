//! Finds outputs that contain the path of their own input: then the pipeline has most likely taken the path for the
//! text.

use std::path::{Path, PathBuf};

use serde_json::Value;

use kelvin_base::file;
use kelvin_base::notice::{Code, Notice};
use kelvin_run as run;

/// How many items are examined: a pipeline that takes a path for the text does so for every item.
const LOOKED_AT: usize = 20;

/// A notice for each folder of answers with such an output; it names the first item that has one.
pub(super) fn notices(answers: &[(PathBuf, Vec<String>)]) -> Vec<Notice> {
    let first = |(out, items): &(PathBuf, Vec<String>)| {
        let mut items = items.iter().take(LOOKED_AT);
        let item = items.find(|item| is_in(&run::folder_of(out, item, None, 1)))?;
        let text = "the output contains the path of its input: does the pipeline read the file, or take the path for \
                    the text?";
        Some(Notice::new(Code::PathInOutput, text).case(item))
    };
    answers.iter().filter_map(first).collect()
}

/// Examines the files of one call. A file that is missing or cannot be read counts as one without the path.
pub(crate) fn is_in(folder: &Path) -> bool {
    let mut inputs = run::INPUTS.iter();
    let input = inputs.find(|name| folder.join(name).is_file());
    let output = file::read(&folder.join("output.json"));
    match (input, output) {
        (Some(input), Ok(output)) => tells(&output, &format!("{}/{input}", run::CALL)),
        _ => false,
    }
}

/// Whether an output contains a text, ignoring case. The end of a path is enough, because a program may write its
/// beginning differently.
fn tells(output: &str, end: &str) -> bool {
    let end = end.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&end);
    let Ok(output) = serde_json::from_str(output) else {
        return has(output);
    };
    let mut values: Vec<&Value> = vec![&output];
    while let Some(value) = values.pop() {
        match value {
            Value::String(text) if has(text) => return true,
            Value::Array(items) => values.extend(items),
            Value::Object(fields) => {
                if fields.keys().any(|key| has(key)) {
                    return true;
                }
                values.extend(fields.values());
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::is_in;

    #[test]
    fn an_output_with_the_path_of_its_input_is_known_however_it_is_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let call = folder.path().join("alder/baseline");
        fs::create_dir_all(&call).expect("made");
        assert!(!is_in(&call), "nothing is there");
        fs::write(call.join("input.md"), "# Alder").expect("written");
        assert!(!is_in(&call), "there is no output");
        let path = format!("/project/kelvin/calls/{}/input.md", kelvin_run::CALL);
        let escaped = path.replace('/', "\\/");
        for (output, is_told) in [
            (format!(r#"{{"request": {{"q": "{path}"}}}}"#), true),
            // As PHP writes it.
            (format!(r#"["I do not know {escaped}"]"#), true),
            (format!(r#"{{"{}": 1}}"#, path.to_uppercase()), true),
            (format!("no JSON: {path}"), true),
            (r#"{"decision": "go"}"#.to_owned(), false),
            (
                r#"{"source": "input.md", "why": "baseline"}"#.to_owned(),
                false,
            ),
            (String::new(), false),
        ] {
            fs::write(call.join("output.json"), &output).expect("written");
            assert_eq!(is_in(&call), is_told, "{output}");
        }
    }
}
