//! The addresses of declared models.

use super::Address;
use super::model::{self, Asking, KEY, ModelSettings};

impl ModelSettings {
    /// The address of a chat call: the input of the call is the user's message, the output is the
    /// text of the answer.
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
    /// The same address for the calls of a judge, which are counted apart.
    #[must_use]
    pub fn by_a_judge(self) -> Self {
        let call = self.settings_of(KEY).and_then(model::by_a_judge);
        match call {
            Some(call) => Self::of(KEY, call),
            None => self,
        }
    }

    /// The address with everything that the configuration declares of the model that it names. The
    /// function finds a model by its name.
    ///
    /// # Errors
    ///
    /// Where no model of that name is declared.
    pub fn resolved<'m>(
        self,
        find: impl Fn(&str) -> Option<&'m ModelSettings>,
    ) -> Result<Self, String> {
        match self.settings_of(KEY) {
            Some(written) => Ok(Self::of(KEY, model::resolve(written, find)?)),
            None => Ok(self),
        }
    }

    /// The name of the model that is called; none where no model is.
    pub fn called_model(&self) -> Option<String> {
        model::called(self.settings_of(KEY)?)
    }
}
