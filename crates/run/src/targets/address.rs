//! The value of `run`: a command line, or the key of another target with its settings.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;

use super::model::{self, AskedModel, Asking, KEY, ModelSettings};
use super::registry::target_kinds;
use super::{Launch, Target, TargetKind, TargetSite};
use kelvin_base::exit::Misuse;

/// The address of a pipeline, in the form of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Address(Value);

impl Default for Address {
    fn default() -> Self {
        Self::command("")
    }
}

impl Address {
    /// The address of a command line, with its placeholders `{input}` and `{output}`.
    pub fn command(line: &str) -> Self {
        Self(Value::String(line.trim().to_owned()))
    }

    /// The address of a target by its key and settings.
    pub(super) fn of(key: &str, settings: Value) -> Self {
        Self(json!({ key: settings }))
    }

    /// The settings under the key of a target; none if it is the address of another target.
    pub(super) fn settings_of(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The same address without white space around a command line.
    #[must_use]
    pub fn trimmed(self) -> Self {
        match &self.0 {
            Value::String(line) => Self::command(line),
            _ => self,
        }
    }

    /// The command line; none if it is the address of another kind of target.
    pub fn command_line(&self) -> Option<&str> {
        self.0.as_str()
    }

    /// Where the decision lies in the answer of a service, which defines what is measured and not how the pipeline is
    /// reached.
    pub fn decision(&self) -> Option<&str> {
        self.settings_of("http")?.get("decision")?.as_str()
    }

    /// Whether the address is empty.
    pub fn is_empty(&self) -> bool {
        self.0.as_str().is_some_and(str::is_empty)
    }

    /// The command line in the form of the configuration; for any other target, the JSON text of all settings on which
    /// its answers depend. Two addresses with the same text reach the same pipeline.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Value::String(line) => Cow::Borrowed(line),
            settings => Cow::Owned(match self.kind() {
                Ok((kind, inner)) if kind.key().is_some() => {
                    json!({ kind.key().unwrap_or_default(): kind.identity(inner) }).to_string()
                }
                _ => settings.to_string(),
            }),
        }
    }

    /// The text that names the started programs and their files.
    pub(crate) fn line(&self) -> Cow<'_, str> {
        let line = self.kind().ok();
        let line = line.and_then(|(kind, settings)| kind.line(settings));
        line.map_or_else(|| self.text(), Cow::Owned)
    }

    /// Whether the answers may depend on files of the repository.
    pub(crate) fn runs_code(&self) -> bool {
        self.kind()
            .map_or(true, |(kind, settings)| kind.runs_code(settings))
    }

    /// Whether a process of the pipeline stays in memory between calls, so that it may remember earlier calls.
    pub fn stays(&self) -> bool {
        self.kind().is_ok_and(|(kind, _)| kind.stays())
    }

    /// How many calls one process of the pipeline handles at the same time.
    pub fn at_once(&self) -> usize {
        self.kind()
            .map_or(1, |(kind, settings)| kind.at_once(settings))
    }

    /// Whether the same process answers, regardless of the checked-out commit.
    pub fn is_of_no_commit(&self) -> bool {
        self.kind()
            .is_ok_and(|(kind, settings)| kind.is_of_no_commit(settings))
    }

    /// Whether a call can have its own working directory and variables.
    pub fn has_workplaces(&self) -> bool {
        self.kind().map_or(true, |(kind, _)| kind.has_workplaces())
    }

    /// Whether a call can pass the turns of a conversation one after the other.
    ///
    /// # Errors
    ///
    /// Fails with the reason why it cannot, and advice.
    pub fn takes_turns(&self) -> Result<(), Misuse> {
        let (kind, settings) = self.kind()?;
        kind.takes_turns(settings)
    }

    /// Opens the target.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] if its settings cannot be used.
    pub fn open(&self, site: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        let (kind, settings) = self.kind()?;
        kind.open(settings, site)
    }

    /// Finds out which program the target would start, without starting it.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] if its settings cannot be used.
    pub fn look_up(&self, root: &Path) -> Result<Launch, Misuse> {
        let (kind, settings) = self.kind()?;
        kind.look_up(settings, root)
    }

    /// The kind of the target, and its settings.
    fn kind(&self) -> Result<(&'static dyn TargetKind, &Value), Misuse> {
        let entry = self.0.as_object().and_then(|entries| entries.iter().next());
        let (key, settings) = match entry {
            Some((key, settings)) => (Some(key.as_str()), settings),
            None => (None, &self.0),
        };
        let kind = target_kinds().into_iter().find(|kind| kind.key() == key);
        // The schema allows no other key, so this happens only for a file that was not checked.
        kind.map(|kind| (kind, settings))
            .ok_or_else(|| Misuse::new(format!("`run` names no known target: {}", self.0)))
    }
}

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// The schema of a command line, or of a mapping with the key of one of the other targets.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut ways: Vec<Value> = target_kinds()
            .into_iter()
            .map(|kind| match kind.key() {
                None => kind.schema(),
                Some(key) => json!({
                    "type": "object",
                    "properties": { key: kind.schema() },
                    "required": [key],
                    "additionalProperties": false,
                }),
            })
            .collect();
        let schema = match ways.len() {
            1 => ways.remove(0),
            _ => json!({ "anyOf": ways }),
        };
        Schema::try_from(schema).expect("every kind of target has an object as its schema")
    }
}

impl ModelSettings {
    /// The address of a chat call: the input of the call is the user's message, and the output is the text of the
    /// answer.
    pub fn chat(&self, asking: &Asking) -> Address {
        Address::of(KEY, self.chat_call(asking))
    }

    /// The address of an embedding call: the input is a JSON list of texts, the output a JSON list of
    /// as many vectors.
    pub fn embedding(&self) -> Address {
        Address::of(KEY, self.embedding_call())
    }
}

impl Address {
    /// The same address for the calls of a judge, which are counted separately.
    #[must_use]
    pub(crate) fn by_a_judge(self) -> Self {
        let call = self.settings_of(KEY).and_then(model::by_a_judge);
        match call {
            Some(call) => Self::of(KEY, call),
            None => self,
        }
    }

    /// The address together with the declared settings of the model that it names. The function finds a model by its
    /// name.
    ///
    /// # Errors
    ///
    /// Fails if no model of that name is declared.
    pub fn resolved<'m>(
        self,
        find: impl Fn(&str) -> Option<&'m ModelSettings>,
    ) -> Result<Self, String> {
        match self.settings_of(KEY) {
            Some(written) => Ok(Self::of(KEY, model::resolve(written, find)?)),
            None => Ok(self),
        }
    }

    /// The called model and how it is called; none if no model is called.
    pub fn asked_model(&self) -> Option<AskedModel> {
        model::asked(self.settings_of(KEY)?)
    }

    /// The name of the model that is called; none if no model is called.
    pub fn called_model(&self) -> Option<String> {
        model::called(self.settings_of(KEY)?)
    }
}
