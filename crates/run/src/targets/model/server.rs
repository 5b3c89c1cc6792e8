//! A model behind a server: one call is one HTTP exchange in one of the wire formats.

use std::sync::Arc;

use ::http::Method;
use serde_json::Value;

use super::http::{self, ExchangeLimits, Sent};
use super::key::ServerKey;
use super::settings::usage;
use super::wire::{Wire, malformed};
use super::{Price, refusal};
use crate::Premises;
use crate::targets::{Ended, Invocation, Meter, Reply, Target, TargetSite};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::Failure;

/// A model behind a server.
pub(super) struct ModelServer {
    pub(super) name: String,
    pub(super) wire: Box<dyn Wire>,
    pub(super) key: ServerKey,
    pub(super) price: Option<Price>,
    pub(super) meter: Arc<Meter>,
    pub(super) site: TargetSite,
}

impl Target for ModelServer {
    fn premises(&self) -> Premises {
        Premises::Name
    }

    fn ready(&self) -> Result<(), Misuse> {
        self.key.check(&format!("the model `{}`", self.name))
    }

    fn meter(&self) -> Option<&Meter> {
        Some(&self.meter)
    }

    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        let mut reply = Reply::default();
        match self.ask(call.input, &mut reply) {
            Ok(text) => {
                output.extend_from_slice(text.as_bytes());
                Ended::Answered(reply)
            }
            Err(NoAnswer::Interrupted) => Ended::Interrupted,
            Err(NoAnswer::Failed(failure)) => Ended::Failed { failure, reply },
        }
    }
}

/// The reasons why there is no answer.
enum NoAnswer {
    Interrupted,
    Failed(Box<Failure>),
}

impl From<Failure> for NoAnswer {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl ModelServer {
    /// The text of the answer to an input. The other results of the answer are stored in the reply, even if there is no
    /// text, because such a call costs money too.
    fn ask(&self, input: &str, reply: &mut Reply) -> Result<String, NoAnswer> {
        let request = self.wire.request(input)?;
        let sent = Sent {
            method: Method::POST,
            url: self.wire.url().to_owned(),
            headers: self.wire.headers(self.key.text()),
            body: request.to_string().into_bytes(),
        };
        let limits = ExchangeLimits {
            timeout: self.site.timeout,
            most: self.site.max_output_bytes,
            interrupt: &self.site.interrupt,
        };
        let answer = http::exchange(sent, &limits).map_err(|broken| {
            let failure = broken.failure(&limits, |text| self.key.scrub(text));
            failure.map_or(NoAnswer::Interrupted, NoAnswer::from)
        })?;
        // A server may repeat the request, including the key, in its answer.
        let text = self.key.scrub(&String::from_utf8_lossy(&answer.body));
        let bytes = text.as_bytes();
        let sends_key = self.key.text().is_some();
        if !(200..300).contains(&answer.status) {
            reply.retry_after = refusal::retry_after(&answer.headers);
            return Err(refusal::of_status(answer.status, bytes, sends_key).into());
        }
        let Ok(body) = serde_json::from_str::<Value>(&text) else {
            return Err(malformed("it is not JSON").into());
        };
        if let Some(failure) = refusal::of_body(&body, bytes, sends_key) {
            reply.retry_after = refusal::retry_after(&answer.headers);
            return Err(failure.into());
        }
        reply.usage = Some(usage(self.wire.tokens(&body), self.price));
        let served = self.wire.served(&body);
        reply.served = served.map(|name| self.key.scrub(&name));
        let fingerprint = super::wire::fingerprint(&body);
        reply.fingerprint = fingerprint.map(|text| self.key.scrub(&text));
        let output = self.wire.output(&body, input)?;
        // JSON can write the same text in several ways, so the key is searched for again.
        Ok(self.key.scrub(&output))
    }
}
