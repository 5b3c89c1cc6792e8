//! A file of recorded answers that replaces a model, for tests and for runs without a network.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::settings::usage;
use super::{Asking, Price};
use crate::targets::{Ended, Invocation, Meter, Reply, Target};
use kelvin_base::digest::Fields;
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind};

/// The number of hex digits of a digest in the message for a prompt without an answer.
const SHOWN_DIGITS: usize = 16;

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayLine {
    /// The input of the call: a text, or the list of texts of an embedding call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<Value>,
    /// The instructions before the prompt, if the same prompt is used with different instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    /// The beginning of the digest of the call, as an alternative to the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    /// The answer: a text, or any other JSON value.
    answer: Value,
    /// The tokens that the call used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
}

/// The tokens of a recorded call.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
}

/// A recorded answer.
#[derive(Debug)]
struct RecordedReply {
    text: String,
    tokens: Option<Tokens>,
}

/// Recorded answers by instructions and prompt.
type Answers = BTreeMap<(Option<String>, String), Vec<RecordedReply>>;

/// The answers of a file, grouped by their questions.
#[derive(Debug, Default)]
struct Tape {
    /// The answers by the beginning of a digest.
    requests: BTreeMap<String, Vec<RecordedReply>>,
    /// The answers by prompt and, if a line has them, instructions.
    prompts: Answers,
}

/// A file of recorded answers as a target.
pub(super) struct Replay {
    tape: Tape,
    /// The settings of the calls besides their input; none for embedding calls.
    asking: Option<Asking>,
    price: Option<Price>,
    meter: Arc<Meter>,
    recorder: Option<Recorder>,
}

/// Calls a model if no answer is recorded, and adds its answers to the file.
struct Recorder {
    path: PathBuf,
    model: Box<dyn Target>,
    /// The answers that were added in this run, by instructions and prompt.
    added: Mutex<Answers>,
}

impl Replay {
    /// Reads the file. Fails with a [`Misuse`] with the first line that cannot be used.
    pub(super) fn open(
        path: &Path,
        asking: Option<Asking>,
        price: Option<Price>,
        meter: Arc<Meter>,
        is_recorded: bool,
    ) -> Result<Self, Misuse> {
        let shown = path.display();
        let text = fs::read_to_string(path).or_else(|error| match error.kind() {
            // If answers are recorded, the first recording creates the file.
            io::ErrorKind::NotFound if is_recorded => Ok(String::new()),
            _ => Err(error),
        });
        let text = text.map_err(|error| {
            Misuse::new(format!(
                "the recorded answers `{shown}` cannot be read: {error}"
            ))
            .help("`file` is relative to the folder of the configuration")
        })?;
        let mut tape = Tape::default();
        for (number, line) in text.lines().enumerate() {
            if !line.trim().is_empty() {
                let number = number + 1;
                tape.add(line).map_err(|why| {
                    Misuse::new(format!("{shown}, line {number}: {why}")).at(path, number)
                })?;
            }
        }
        Ok(Self {
            tape,
            asking,
            price,
            meter,
            recorder: None,
        })
    }

    /// Adds a model that is called if the file has no answer.
    pub(super) fn recording(mut self, path: PathBuf, model: Option<Box<dyn Target>>) -> Self {
        self.recorder = model.map(|model| Recorder {
            path,
            model,
            added: Mutex::default(),
        });
        self
    }
}

impl Tape {
    fn add(&mut self, line: &str) -> Result<(), String> {
        let ReplayLine {
            prompt,
            system,
            request,
            answer,
            usage,
        } = serde_json::from_str(line)
            .map_err(|error| format!("it is no recorded answer: {error}"))?;
        let recorded = RecordedReply {
            text: text(answer),
            tokens: usage,
        };
        match (prompt, request) {
            (Some(prompt), None) => {
                let of_prompt = self.prompts.entry((system, text(prompt)));
                of_prompt.or_default().push(recorded);
            }
            (None, Some(request)) => {
                let is_hex = request.bytes().all(|byte| byte.is_ascii_hexdigit());
                if !is_hex || request.len() < SHOWN_DIGITS || system.is_some() {
                    return Err(format!(
                        "`request` takes at least {SHOWN_DIGITS} hex digits, and no `system` beside it"
                    ));
                }
                let request = request[..SHOWN_DIGITS].to_ascii_lowercase();
                self.requests.entry(request).or_default().push(recorded);
            }
            _ => return Err("it needs `prompt` or `request`, and not both".to_owned()),
        }
        Ok(())
    }

    /// The answers to an input, in the order of the file.
    fn find(&self, input: &str, system: Option<&str>, digest: &str) -> Option<&[RecordedReply]> {
        let by_prompt = |system: Option<&str>| {
            let key = (system.map(str::to_owned), input.to_owned());
            self.prompts.get(&key)
        };
        let found = self.requests.get(digest);
        let found = found.or_else(|| by_prompt(Some(system?)));
        found.or_else(|| by_prompt(None)).map(Vec::as_slice)
    }
}

/// A string unchanged; any other value as JSON in a normal form.
fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

impl Recorder {
    /// Calls the model, unless this run has already called it for that repeat.
    fn call(
        &self,
        key: (Option<String>, String),
        call: &Invocation<'_>,
        output: &mut Vec<u8>,
    ) -> Ended {
        if let Some(known) = self
            .added()
            .get(&key)
            .and_then(|all| all.get(call.repeat - 1))
        {
            output.extend_from_slice(known.text.as_bytes());
            return Ended::Answered(Reply::default());
        }
        let before = output.len();
        let ended = self.model.call(call, output);
        let Ended::Answered(reply) = &ended else {
            return ended;
        };
        let tokens = reply.usage.filter(|usage| usage.untold == 0);
        let recorded = RecordedReply {
            text: String::from_utf8_lossy(&output[before..]).into_owned(),
            tokens: tokens.map(|usage| Tokens {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
            }),
        };
        match self.add(key, recorded) {
            Ok(()) => ended,
            Err(error) => {
                output.truncate(before);
                let message =
                    format!("the answer could not be added to the recorded ones: {error}");
                Ended::failed(Failure::new(FailureKind::NotRecorded, message), None)
            }
        }
    }

    /// Adds a line to the file. The lock prevents that lines of several calls mix.
    fn add(&self, key: (Option<String>, String), recorded: RecordedReply) -> io::Result<()> {
        let mut added = self.added();
        let line = ReplayLine {
            prompt: Some(Value::String(key.1.clone())),
            system: key.0.clone(),
            request: None,
            answer: Value::String(recorded.text.clone()),
            usage: recorded.tokens,
        };
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        file.write_all(format!("{}\n", serde_json::to_string(&line)?).as_bytes())?;
        added.entry(key).or_default().push(recorded);
        Ok(())
    }

    fn added(&self) -> MutexGuard<'_, Answers> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Target for Replay {
    /// If a model is called, the limits of that model apply.
    fn meter(&self) -> Option<&Meter> {
        let recorder = self.recorder.as_ref();
        recorder
            .and_then(|recorder| recorder.model.meter())
            .or(Some(&self.meter))
    }

    fn ready(&self) -> Result<(), Misuse> {
        let recorder = self.recorder.as_ref();
        recorder.map_or(Ok(()), |recorder| recorder.model.ready())
    }

    /// The n-th repeat of an input gets the n-th of its answers, or the last one if there are fewer.
    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        let input = match (&self.asking, serde_json::from_str::<Value>(call.input)) {
            // The layout of the list of texts may differ from that in the file.
            (None, Ok(texts)) => texts.to_string(),
            _ => call.input.to_owned(),
        };
        let asking = self.asking.as_ref();
        let system = asking.and_then(|asking| asking.system.as_deref());
        let digest = digest(&input, asking);
        let answers = self.tape.find(&input, system, &digest);
        let is_enough = answers.is_some_and(|answers| answers.len() >= call.repeat);
        if let (false, Some(recorder)) = (is_enough, &self.recorder) {
            let known = answers.map_or(0, <[RecordedReply]>::len);
            let key = (system.map(str::to_owned), input);
            // Repeats that are already in the file are not recorded again.
            let call = Invocation {
                repeat: call.repeat - known,
                ..*call
            };
            return recorder.call(key, &call, output);
        }
        let Some(answers) = answers else {
            let message = format!("no answer is recorded for this prompt (request {digest})");
            return Ended::failed(Failure::new(FailureKind::NotRecorded, message), None);
        };
        let nth = call.repeat.saturating_sub(1).min(answers.len() - 1);
        let RecordedReply { text, tokens } = &answers[nth];
        output.extend_from_slice(text.as_bytes());
        let tokens = tokens.map(|tokens| (tokens.input_tokens, tokens.output_tokens));
        Ended::Answered(Reply {
            usage: Some(usage(tokens, self.price)),
            ..Reply::default()
        })
    }
}

/// The beginning of the digest of a call. It does not depend on the model and its parameters, so that answers recorded
/// from one model can be used for another.
fn digest(input: &str, asking: Option<&Asking>) -> String {
    let mut fields = Fields::of("kelvin/replay/v1").field("input", input);
    if let Some(Asking { system, schema, .. }) = asking {
        if let Some(system) = system {
            fields = fields.field("system", system);
        }
        if let Some(schema) = schema {
            fields = fields.field("schema", schema.to_string());
        }
    } else {
        fields = fields.field("kind", "embedding");
    }
    fields.digest().short(SHOWN_DIGITS)
}
