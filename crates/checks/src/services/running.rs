//! The services of one scenario while it runs.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use super::declared::variable;
use super::{MockRecord, RunningService, Service, ServiceSite, Trouble};
use kelvin_system::signal::Interrupt;

/// How often a waiting scenario checks whether it is its turn.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Only the scenario that holds this lock may use a shared service. There is one lock for all such services, so that
/// two scenarios never wait for each other.
static TURN: Mutex<()> = Mutex::new(());

/// The services of one scenario, by name.
#[derive(Default)]
pub(crate) struct RunningServices<'a> {
    all: BTreeMap<&'a str, Box<dyn RunningService + 'a>>,
    /// The lock is dropped after the services, which end before the next scenario gets its turn.
    _turn: Option<MutexGuard<'static, ()>>,
}

impl<'a> RunningServices<'a> {
    /// Opens all services, in the order of their names; `site` is for the first one. Fails if one of them cannot be
    /// used; those that were already opened are closed.
    pub(crate) fn open(
        services: &'a BTreeMap<String, Box<dyn Service>>,
        site: ServiceSite<'a>,
    ) -> Result<Self, Trouble> {
        let is_serial = services.values().any(|service| service.is_serial());
        let mut running = Self {
            all: BTreeMap::new(),
            _turn: match is_serial {
                true => Some(turn(site.interrupt)?),
                false => None,
            },
        };
        for (name, service) in services {
            let opened = service.open(&ServiceSite { name, ..site });
            let opened = opened.map_err(|trouble| {
                trouble.of(&format!(
                    "the service `{name}` of type `{}`",
                    service.kind()
                ))
            })?;
            running.all.insert(name, opened);
        }
        Ok(running)
    }

    /// The service with a name. The check of the configuration has made sure that it exists.
    pub(crate) fn get(&self, name: &str) -> &dyn RunningService {
        let found = self.all.get(name);
        &**found.expect("a check names a service that is declared")
    }

    /// The environment variables with the addresses of the services.
    pub(crate) fn variables(&self) -> Vec<(String, OsString)> {
        let all = self.all.iter();
        all.filter_map(|(name, service)| Some((variable(name), service.url()?.into())))
            .collect()
    }

    /// The data about the services that a script of a check gets.
    pub(crate) fn context(&self) -> Value {
        let all = self.all.iter();
        all.map(|(name, service)| {
            let told = json!({ "type": service.kind(), "url": service.url() });
            ((*name).to_owned(), told)
        })
        .collect()
    }

    /// Secrets that the services gave to the pipeline, and that the pipeline must not reveal.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let all = self.all.iter();
        let secrets = all.flat_map(|(name, service)| {
            let secrets = service.secrets().into_iter();
            secrets.map(move |(word, text)| Secret {
                what: format!("the {word} of the service `{name}`"),
                text,
            })
        });
        secrets.collect()
    }

    /// A copy of a text without addresses and other texts that a service hides.
    pub(crate) fn masked(&self, text: String) -> String {
        let all = self.all.iter();
        let hidden = all.flat_map(|(name, service)| {
            let url = service.url();
            let url = url.map(|url| (url, format!("${{{}}}", variable(name))));
            url.into_iter().chain(service.hidden())
        });
        hidden.fold(text, |text, (hidden, shown)| match &*hidden {
            "" => text,
            hidden => text.replace(hidden, &shown),
        })
    }

    /// The records of the servers that keep one, by name.
    pub(crate) fn records(&self) -> Vec<(&str, Arc<MockRecord>)> {
        let all = self.all.iter();
        all.filter_map(|(name, service)| Some((*name, service.record().ok()?)))
            .collect()
    }

    /// Records that the pipeline has ended. Fails if the record of a service is incomplete.
    pub(crate) fn settle(&self) -> Result<(), Trouble> {
        self.all.iter().try_for_each(|(name, service)| {
            let kind = service.kind();
            let settled = service.settle();
            settled.map_err(|trouble| trouble.of(&format!("the service `{name}` of type `{kind}`")))
        })
    }

    /// Ends all services. Fails with the message of the first service that could not be ended properly.
    pub(crate) fn close(self) -> Result<(), Trouble> {
        let ends = self.all.into_iter().map(|(name, service)| {
            let kind = service.kind();
            let end = service.close();
            end.map_err(|trouble| trouble.of(&format!("the service `{name}` of type `{kind}`")))
        });
        let ends: Vec<Result<(), Trouble>> = ends.collect();
        ends.into_iter().collect()
    }
}

/// Waits until no other scenario with a shared service runs.
fn turn(interrupt: &Interrupt) -> Result<MutexGuard<'static, ()>, Trouble> {
    loop {
        match TURN.try_lock() {
            Ok(turn) => return Ok(turn),
            // The lock guards no value that a panic could have left inconsistent.
            Err(TryLockError::Poisoned(turn)) => return Ok(PoisonError::into_inner(turn)),
            Err(TryLockError::WouldBlock) if !interrupt.sleep(LOOK_EVERY) => {
                return Err(Trouble::Stopped);
            }
            Err(TryLockError::WouldBlock) => {}
        }
    }
}

/// A text that must not be revealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Secret {
    /// The word for the secret, as the subject of a sentence.
    pub(crate) what: String,
    /// The text itself.
    pub(crate) text: String,
}

impl Secret {
    /// The forms that the secret may have in another text: unchanged, inside JSON, and inside an address.
    pub(crate) fn forms(&self) -> BTreeSet<String> {
        let json = Value::from(&*self.text).to_string();
        let form: String = form_urlencoded::byte_serialize(self.text.as_bytes()).collect();
        let percent = form.replace('+', "%20").replace("%7E", "~");
        BTreeSet::from([
            self.text.clone(),
            json[1..json.len() - 1].to_owned(),
            percent,
            form,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_as_it_is_in_json_and_in_an_address() {
        let secret = Secret {
            what: "it".to_owned(),
            text: "a\"b c~d".to_owned(),
        };
        let forms = secret.forms();
        for form in ["a\"b c~d", "a\\\"b c~d", "a%22b%20c~d", "a%22b+c%7Ed"] {
            assert!(forms.contains(form), "{form}: {forms:?}");
        }
    }
}
