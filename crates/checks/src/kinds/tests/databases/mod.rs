//! Databases: what a query brings, what is refused, and what is left as it was. The servers are real, and
//! their tests are ignored where nobody asks for them: `tests/databases/servers` starts them.

#[cfg(feature = "sql")]
mod attacks;
#[cfg(feature = "sql")]
mod servers;
mod sqlite;
#[cfg(feature = "sql")]
mod types;
#[cfg(feature = "sql")]
mod unreachable;

use std::collections::BTreeMap;

use super::*;
use crate::keys::ServiceKeys;
use crate::services::{self, Query, Service, ServiceSite, Trouble};

/// A workspace with one service, which is called `db`.
struct Beside {
    left: Left,
    workspace: PathBuf,
    private: PathBuf,
    services: BTreeMap<String, Box<dyn Service>>,
    declared: DeclaredServices,
    scenario: Scenario,
}

/// The scenario of a service under way.
struct Under<'b> {
    beside: &'b Beside,
    services: RunningServices<'b>,
}

impl Beside {
    /// A service; `init` is the SQL itself, in place of a file with it.
    fn new(service: Value) -> Self {
        let keys: ServiceKeys = serde_json::from_value(service).expect("a service");
        let opened = services::open_service(&keys, &keys, keys.init());
        let declared = DeclaredServices::of([("db", keys.kind())].into_iter());
        let left = Left::new("");
        Self {
            workspace: left.folder.path().join("workspace"),
            private: left.folder.path().join("private"),
            left,
            services: BTreeMap::from([("db".to_owned(), opened.expect("nothing is wrong"))]),
            declared,
            scenario: Scenario::asking("s".to_owned(), "do it".to_owned()),
        }
    }

    /// The same service for a scenario with a parameter.
    fn param(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.scenario.params.insert(name.to_owned(), value.clone());
        self.left = self.left.param(name, value);
        self
    }

    fn opened(&self) -> Result<Under<'_>, Trouble> {
        let site = ServiceSite {
            name: "",
            scenario: &self.scenario,
            root: self.left.folder.path(),
            folder: &self.workspace,
            private: &self.private,
            audit_log: &self.private,
            interrupt: &self.left.interrupt,
        };
        let services = RunningServices::open(&self.services, site)?;
        Ok(Under {
            beside: self,
            services,
        })
    }

    #[track_caller]
    fn open(&self) -> Under<'_> {
        self.opened().expect("it is opened")
    }

    /// Why it is not opened.
    #[cfg(feature = "sql")]
    #[track_caller]
    fn trouble(&self) -> String {
        match self.opened().err().expect("it is not opened") {
            Trouble::Failed(why) => why,
            other => panic!("{other:?}"),
        }
    }
}

impl Under<'_> {
    fn look(&self, check: Value) -> CheckFinding {
        let beside = self.beside;
        beside
            .left
            .look_beside(&self.services, &beside.declared, check)
    }

    fn ask(&self, query: &str, equals: Value) -> CheckFinding {
        self.look(json!({"type": "sql", "service": "db", "query": query, "equals": equals}))
    }

    #[track_caller]
    fn brings(&self, query: &str, equals: Value) {
        let found = self.ask(query, equals.clone());
        assert_eq!(
            found.outcome,
            Outcome::Passed,
            "{query}, {equals}: {found:?}"
        );
        assert_eq!(found.score, Some(1.0));
    }

    #[track_caller]
    fn fails(&self, query: &str, equals: Value) -> String {
        let found = self.ask(query, equals);
        assert_eq!(found.outcome, Outcome::Failed, "{query}: {found:?}");
        found.reason
    }

    #[track_caller]
    fn is_error(&self, query: &str) -> String {
        let found = self.ask(query, json!(1));
        assert_eq!(
            (found.outcome, found.score),
            (Outcome::Error, None),
            "{query}: {found:?}"
        );
        found.reason
    }

    /// Asks the service itself, whatever the check would have refused.
    fn past_the_check(&self, text: &str) -> Result<services::QueryAnswer, Trouble> {
        let query = Query {
            text,
            values: &[],
            between: &[],
            timeout: std::time::Duration::from_secs(20),
            interrupt: &self.beside.left.interrupt,
        };
        self.services.get("db").ask(&query)
    }

    fn url(&self) -> String {
        self.services.get("db").url().expect("it has an address")
    }
}

/// Why a check is not opened.
fn refused(kind: &str, query: &str) -> (&'static str, String) {
    let check = json!({"type": "sql", "service": "db", "query": query, "equals": 1});
    let keys: CheckKeys = serde_json::from_value(check).expect("a check");
    let declared = DeclaredServices::of([("db", kind)].into_iter());
    open(&keys, &keys, &declared).expect_err(query)
}

#[test]
fn a_check_names_a_service_that_is_declared_and_is_asked_with_sql() {
    let check = |service: &str| -> CheckKeys {
        let check = json!({"type": "sql", "service": service, "query": "SELECT 1", "equals": 1});
        serde_json::from_value(check).expect("a check")
    };
    let declared = [("orders", "sqlite"), ("smtp", "http_mock")];
    let declared = DeclaredServices::of(declared.into_iter());
    let mut texts = Vec::new();
    for service in ["order", "x", "smtp"] {
        let keys = check(service);
        let (key, what) = open(&keys, &keys, &declared).expect_err(service);
        assert_eq!(key, "service");
        texts.push(what.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    no service is called `order`: did you mean `orders`?
    no service is called `x`: declared are: orders, smtp
    the service `smtp` is of type `http_mock`; a check of type `sql` asks one of type `postgres` or `mysql` or `sqlite`
    ");
    let keys = check("db");
    let none = open(&keys, &keys, &DeclaredServices::default()).expect_err("none");
    assert!(
        none.1.contains("services: {db: {type: postgres, …}}"),
        "{none:?}"
    );
    assert!(open(&check("orders"), &check("orders"), &declared).is_ok());
}
