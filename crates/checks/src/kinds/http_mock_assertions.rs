//! Checks which requests a mocked server received, and how often. Only the record of the server itself counts, never
//! the audit log, which the pipeline can write too.

use serde_json::{Value, json};

use super::comparison::{Comes, ExpectedComparison};
use super::{Check, CheckFinding, EarlyEnd, shown};
use crate::keys::{AssertionKeys, HttpMockAssertionsKeys};
use crate::scene::Scene;
use crate::services::DeclaredServices;
use crate::services::http_mock::{FieldSeen, Filter, MockRecord, RequestField};

/// How many failed assertions are reported at most.
const TOLD: usize = 5;

/// Tests every assertion.
#[derive(Debug)]
pub(super) struct HttpMockAssertions {
    service: String,
    assertions: Vec<Assertion>,
}

#[derive(Debug)]
struct Assertion {
    field: RequestField,
    filter: Filter,
    comparison: ExpectedComparison,
    /// The tested subject and its expected value, in the words of the file.
    subject: String,
    expected: String,
}

/// The result of one assertion.
struct AssertionOutcome {
    comes: Comes,
    text: String,
}

impl HttpMockAssertions {
    pub(super) fn of(
        written: &HttpMockAssertionsKeys,
        keys: &HttpMockAssertionsKeys,
        services: &DeclaredServices,
    ) -> Result<Self, (&'static str, String)> {
        let found = services.find(&keys.service, "http_mock_assertions", &["http_mock"]);
        found.map_err(|what| ("service", what))?;
        if !services.records(&keys.service) {
            let what = format!(
                "the service `{}` keeps no requests: add `record: true` to it",
                keys.service
            );
            return Err(("service", what));
        }
        let both = written.assertions.iter().zip(&keys.assertions).enumerate();
        let assertions = both.map(|(at, (written, keys))| {
            Assertion::of(written, keys)
                .map_err(|what| ("assertions", format!("assertion {}: {what}", at + 1)))
        });
        Ok(Self {
            service: keys.service.clone(),
            assertions: assertions.collect::<Result<_, _>>()?,
        })
    }
}

impl Assertion {
    fn of(written: &AssertionKeys, keys: &AssertionKeys) -> Result<Self, String> {
        let filters: Vec<String> = written
            .filters
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) => format!("{name}: {}", shown(text)),
                other => format!("{name}: {}", shown(&other.to_string())),
            })
            .collect();
        let subject = match filters.is_empty() {
            true => format!("`{}`", shown(&written.field)),
            false => format!(
                "`{}` of `{{{}}}`",
                shown(&written.field),
                filters.join(", ")
            ),
        };
        Ok(Self {
            field: RequestField::parse(&keys.field)?,
            filter: Filter::of(&keys.filters).map_err(|what| format!("filters: {what}"))?,
            comparison: ExpectedComparison::of(keys)?,
            subject,
            expected: ExpectedComparison::expected_text(written),
        })
    }

    fn look(&self, record: &MockRecord) -> AssertionOutcome {
        let seen = self.field.of(record, &self.filter);
        let comes = self.comparison.look(&seen, self.field.is_method());
        let found = match &seen {
            FieldSeen::Value(value) => format!("is `{}`", shown(&value.to_string())),
            FieldSeen::Body { texts, .. } => {
                let text = texts.first().map_or("", String::as_str);
                format!("is `{}`", shown(text))
            }
            FieldSeen::Nothing(why) | FieldSeen::Unknown(why) => shown(why),
        };
        let Self {
            subject, expected, ..
        } = self;
        let text = match comes {
            Comes::True => format!("{subject} {found}"),
            Comes::False | Comes::Nothing => format!("{subject} {found}, expected {expected}"),
            Comes::Unknown => format!("{subject} {found}: nobody can tell"),
        };
        AssertionOutcome { comes, text }
    }
}

impl Check for HttpMockAssertions {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let record = scene.services.get(&self.service).record();
        let record = record.map_err(|why| {
            let what = format!("the requests to `{}` are not known: {why}", self.service);
            CheckFinding::error(what)
        })?;
        let outcomes: Vec<AssertionOutcome> = self
            .assertions
            .iter()
            .map(|assertion| assertion.look(&record))
            .collect();
        let warnings = self.warnings(&record);
        let mut finding = finding(&outcomes);
        for warning in &warnings {
            finding.reason.push_str(&format!("; {warning}"));
        }
        let mut details = json!({ "requests": record.summary() });
        if !warnings.is_empty() {
            details["warnings"] = warnings.into();
        }
        finding.details = Some(details);
        Ok(finding)
    }
}

impl HttpMockAssertions {
    /// Warns of assertions that are probably a mistake, and of requests that were not counted.
    fn warnings(&self, record: &MockRecord) -> Vec<String> {
        let mut warnings = record.troubles();
        for (at, assertion) in self.assertions.iter().enumerate() {
            for field in assertion.filter.unknown_fields(record) {
                let field = shown(field);
                warnings.push(format!(
                    "no request has a field `{field}` in its body, which the filters of assertion {} name",
                    at + 1
                ));
            }
        }
        warnings
    }
}

/// The finding over all assertions. One assertion that does not hold is enough, even if others are unknown.
fn finding(outcomes: &[AssertionOutcome]) -> CheckFinding {
    let of = |these: &[Comes]| -> Vec<(usize, &AssertionOutcome)> {
        let all = outcomes.iter().enumerate();
        all.filter(|(_, outcome)| these.contains(&outcome.comes))
            .collect()
    };
    let told = |these: &[(usize, &AssertionOutcome)]| {
        let mut texts: Vec<String> = these
            .iter()
            .take(TOLD)
            .map(|(at, outcome)| match outcomes.len() {
                1 => outcome.text.clone(),
                _ => format!("assertion {}: {}", at + 1, outcome.text),
            })
            .collect();
        if these.len() > TOLD {
            texts.push(format!("and {} more", these.len() - TOLD));
        }
        texts.join("; ")
    };
    let (wrong, unknown) = (of(&[Comes::False, Comes::Nothing]), of(&[Comes::Unknown]));
    if wrong
        .iter()
        .any(|(_, outcome)| outcome.comes == Comes::False)
    {
        return CheckFinding::of(false, told(&wrong));
    }
    if !wrong.is_empty() {
        return CheckFinding::nothing(told(&wrong));
    }
    if !unknown.is_empty() {
        return CheckFinding::error(told(&unknown));
    }
    match outcomes {
        [one] => CheckFinding::of(true, one.text.clone()),
        all => CheckFinding::of(true, format!("all {} assertions hold", all.len())),
    }
}
