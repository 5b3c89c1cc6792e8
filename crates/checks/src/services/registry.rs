//! Every type of service.

use super::{Service, http_mock, sqlite};
use crate::keys::ServiceKeys;

/// Opens the declaration of a service: `written` is what the file says, for messages, and `keys` the same
/// with the values of its variables. `init` is the text of the file that `init` names; none while the
/// configuration is only looked at.
///
/// # Errors
///
/// What is wrong with one of its keys: the key, and what to say of it.
pub(crate) fn open(
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
