//! The names and types of the services that a configuration declares, for the checks that name one.

use std::collections::{BTreeMap, BTreeSet};

use super::{Service, http_mock, sqlite};
use crate::keys::ServiceKeys;
use kelvin_run::config::nearest;

/// The types of all services by name, and the names of those that record the requests that they receive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeclaredServices {
    types: BTreeMap<String, String>,
    recording: BTreeSet<String>,
}

impl DeclaredServices {
    /// The services with the given names, each with its type.
    pub(crate) fn of<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let types = all.map(|(name, kind)| (name.into(), kind.into())).collect();
        Self {
            types,
            recording: BTreeSet::new(),
        }
    }

    /// The same services, with the names of those that record requests.
    pub(crate) fn recording<'a>(self, names: impl Iterator<Item = &'a str>) -> Self {
        Self {
            recording: names.map(str::to_owned).collect(),
            ..self
        }
    }

    /// Whether a service records the requests that it receives.
    pub(crate) fn records(&self, name: &str) -> bool {
        self.recording.contains(name)
    }

    /// The type of the service that a check names; the check has to support it. Fails if no service has that name, or
    /// if the check cannot use a service of that type.
    pub(crate) fn find(
        &self,
        name: &str,
        check: &str,
        wanted: &[&'static str],
    ) -> Result<&'static str, String> {
        let all: Vec<&str> = self.types.keys().map(String::as_str).collect();
        let Some(kind) = self.types.get(name) else {
            let help = match (nearest(name, &all), &all[..]) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, []) => format!(
                    "declare it, e.g. `services: {{{name}: {{type: {}, …}}}}`",
                    wanted[0]
                ),
                (None, all) => format!("declared are: {}", all.join(", ")),
            };
            return Err(format!("no service is called `{name}`: {help}"));
        };
        let found = wanted.iter().find(|wanted| *wanted == kind);
        found.copied().ok_or_else(|| {
            let wanted: Vec<String> = wanted.iter().map(|kind| format!("`{kind}`")).collect();
            format!(
                "the service `{name}` is of type `{kind}`; a check of type `{check}` asks one of type {}",
                wanted.join(" or ")
            )
        })
    }
}

/// The environment variable with the address of a service.
pub(crate) fn variable(name: &str) -> String {
    let name = name.to_uppercase().replace('-', "_");
    format!("KELVIN_SERVICE_{name}_URL")
}

/// Opens the declaration of a service: `written` is the text of the file, for messages, and `keys` the same with the
/// values of its variables. `init` is the text of the file that `init` names; none while the configuration is only
/// checked. Fails with the problem of one of its keys: the key, and the message.
pub(crate) fn open_service(
    written: &ServiceKeys,
    keys: &ServiceKeys,
    init: Option<&str>,
) -> Result<Box<dyn Service>, (&'static str, String)> {
    use ServiceKeys as Keys;
    match (written, keys) {
        (Keys::Sqlite(written), Keys::Sqlite(keys)) => sqlite::open(written, keys, init),
        (_, Keys::HttpMock(keys)) => http_mock::open(keys),
        #[cfg(feature = "sql")]
        (Keys::Postgres(written), Keys::Postgres(keys)) => {
            super::server::postgres(written, keys, init)
        }
        #[cfg(feature = "sql")]
        (Keys::Mysql(written), Keys::Mysql(keys)) => super::server::mysql(written, keys, init),
        #[cfg(not(feature = "sql"))]
        (_, Keys::Postgres(_) | Keys::Mysql(_)) => {
            let kind = keys.kind();
            let what = format!(
                "this program was built without the feature `sql`, which a service of type `{kind}` needs"
            );
            Err(("type", what))
        }
        _ => {
            unreachable!("values are put into the texts of a service, and leave its type as it is")
        }
    }
}
