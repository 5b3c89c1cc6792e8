//! Reads the input and the output of an invocation from the folder of the report.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::LeftOut;
use crate::registry::Registry;
use kelvin_base::digest::Digest;
use kelvin_base::file::beneath::{Beneath, NotOpened};
use kelvin_record::ScoredInvocation;
use kelvin_run as run;
use kelvin_run::{INPUTS, OUTPUT};

/// A larger input or output is left out as a whole; it is never truncated.
const LARGEST: u64 = 8 * 1024 * 1024;

/// The fields of the input, and those of the output.
type Both = (Map<String, Value>, Map<String, Value>);

/// Reads the whole input and the whole output. The pipeline may have put anything into the folder, so no link that
/// leads out of it is followed.
pub(super) fn read(
    registry: Registry,
    folder: &Beneath,
    of: &ScoredInvocation,
) -> Result<Both, LeftOut> {
    let leaf = leaf(registry, of);
    let mut found = None;
    for name in INPUTS {
        if let Some(text) = text(folder, &leaf.join(name))? {
            found = Some((name, text));
            break;
        }
    }
    let (name, input) = found.ok_or(LeftOut::NoInput)?;
    if of
        .input
        .is_some_and(|digest| digest != Digest::of(input.as_bytes()))
    {
        return Err(LeftOut::InputChanged);
    }
    let output = text(folder, &leaf.join(OUTPUT))?.ok_or(LeftOut::NoOutput)?;
    let key = name.split('.').next().unwrap_or("input");
    let inputs = match name.ends_with(".json") {
        true => fields(key, &input),
        false => Map::from_iter([(key.to_owned(), Value::from(input))]),
    };
    let outputs = fields("output", &output);
    // The stored input of a probe may contain more than the pipeline was given, and the stored output more than it
    // answered.
    let (inputs, outputs) = match registry.kind(&of.probe) {
        Some(kind) => kind.example(inputs, outputs).ok_or(LeftOut::NotWhole)?,
        None => (inputs, outputs),
    };
    match (is_nothing(&inputs), is_nothing(&outputs)) {
        (true, _) => Err(LeftOut::NoInput),
        (_, true) => Err(LeftOut::NoOutput),
        _ => Ok((inputs, outputs)),
    }
}

/// The folder of an invocation, relative to the report.
fn leaf(registry: Registry, of: &ScoredInvocation) -> PathBuf {
    let kind = registry.kind(&of.probe);
    let folder = kind.and_then(|kind| kind.folder()).unwrap_or_default();
    run::folder_of(
        Path::new(folder),
        &of.case,
        of.variant.as_deref(),
        of.repeat,
    )
}

/// The fields of a JSON object. Any other JSON value, or a text that is not JSON, becomes the only field.
fn fields(key: &str, text: &str) -> Map<String, Value> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        Ok(value) => Map::from_iter([(key.to_owned(), value)]),
        Err(_) => Map::from_iter([(key.to_owned(), Value::from(text))]),
    }
}

fn is_nothing(fields: &Map<String, Value>) -> bool {
    fields.values().all(|value| match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    })
}

/// The text of a file; none if there is no such file.
fn text(folder: &Beneath, path: &Path) -> Result<Option<String>, LeftOut> {
    let file = match folder.open(path) {
        Ok(file) => file,
        Err(NotOpened::Absent) => return Ok(None),
        Err(NotOpened::Escapes | NotOpened::Refused(_)) => return Err(LeftOut::NotWhole),
    };
    whole(file).map(Some).ok_or(LeftOut::NotWhole)
}

fn whole(file: File) -> Option<String> {
    let data = file.metadata().ok()?;
    if !data.is_file() || data.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    // The file may have grown since its size was read.
    if bytes.len() as u64 > LARGEST {
        return None;
    }
    String::from_utf8(bytes).ok()
}
