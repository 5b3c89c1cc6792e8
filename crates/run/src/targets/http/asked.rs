//! Calls a service: one call is one request to the configured address, and no other host ever gets a request.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use ::http::{Method, Uri};
use serde_json::{Map, Value, json};

use super::body::{self, RequestBody};
use super::host::{HostedService, ServiceHost, Unanswered};
use super::{HttpMethod, HttpSettings, PORT, example_of};
use crate::targets::handed::{self, HandedInput};
use crate::targets::model::http::{self as client, Broken, ExchangeLimits, HttpResponse, Sent};
use crate::targets::model::key::ServerKey;
use crate::targets::model::{base_url, refusal, wire};
use crate::targets::{Ended, FreshTarget, Invocation, Reply, Target, TargetSite, worker};
use crate::{Premises, beside};
use kelvin_base::cause::cause;
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind, Streams};

/// The time limit for the check, without a call, that a service can be reached.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many field names a message contains at most.
const NAMES: usize = 12;
/// How many characters of a name or a type a message contains at most.
const NAME_CHARS: usize = 40;

/// Calls a service.
pub(super) struct HttpTarget {
    settings: Arc<HttpSettings>,
    key: ServerKey,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Arc<RequestBody>,
    site: TargetSite,
    /// The host that starts the service, if this program has to start it.
    host: Option<ServiceHost>,
    /// Whether the service has answered a call of this run.
    has_answered: AtomicBool,
}

impl HttpTarget {
    /// A service with its settings. The first call starts the service or sends the first request. Fails with a
    /// [`Misuse`] if the command that starts it cannot be parsed.
    pub(super) fn open(settings: HttpSettings, site: &TargetSite) -> Result<Self, Misuse> {
        let key = ServerKey::of(settings.api_key_env.as_deref());
        let mut headers = wire::plain(&settings.headers);
        headers.extend(wire::key_header(
            settings.api_key_header.as_deref(),
            key.text(),
        ));
        let mut kinds = headers.iter().filter(|(name, _)| name == CONTENT_TYPE);
        let is_json = kinds.all(|(_, kind)| kind.to_str().is_ok_and(|kind| kind.contains("json")));
        let host = match &settings.start {
            Some(line) => {
                let url = base_url::check_whole(&example_of(&settings.url));
                let url = url.map_err(|refused| Misuse::new(refused.what).help(refused.help))?;
                Some(ServiceHost::open(line, url.host(), site)?)
            }
            None => None,
        };
        Ok(Self {
            has_answered: AtomicBool::new(false),
            body: Arc::new(RequestBody {
                template: settings.body.clone(),
                is_json,
            }),
            settings: Arc::new(settings),
            key,
            headers,
            site: site.clone(),
            host,
        })
    }

    fn limits(&self, timeout: Duration) -> ExchangeLimits<'_> {
        ExchangeLimits {
            timeout,
            most: self.site.max_output_bytes,
            interrupt: &self.site.interrupt,
        }
    }

    fn url(&self, service: Option<&Arc<HostedService>>) -> String {
        let url = self.settings.url.trim();
        match service {
            Some(service) => url.replace(PORT, &service.port.to_string()),
            None => url.to_owned(),
        }
    }

    /// The address and the headers for an input.
    fn addressed(
        &self,
        input: &HandedInput<'_>,
        call: &str,
        service: Option<&Arc<HostedService>>,
    ) -> Result<(String, Vec<(HeaderName, HeaderValue)>), Failure> {
        let unfilled = |key: &str, why: String| {
            let what = format!("`run.http.{key}` cannot be filled: {why}");
            Failure::new(FailureKind::NotStarted, what)
        };
        let url = body::address(&self.url(service), input, call);
        let url = url.map_err(|why| unfilled("url", why))?;
        let Some(turn) = &input.turn else {
            return Ok((url, self.headers.clone()));
        };
        let mut headers = self.headers.clone();
        for (name, value) in &self.settings.headers {
            if body::is_template(value) {
                let filled = body::of_conversation(value, turn);
                let filled = [(name, &filled.map_err(|why| unfilled("headers", why))?)];
                for (name, value) in wire::plain(filled) {
                    headers.retain(|(other, _)| *other != name);
                    headers.push((name, value));
                }
            }
        }
        Ok((url, headers))
    }

    /// The output of a call. If the service asks to wait, the time is stored in the reply.
    fn ask(
        &self,
        input: &HandedInput<'_>,
        service: Option<&Arc<HostedService>>,
        reply: &mut Reply,
    ) -> Result<Vec<u8>, Unanswered> {
        let call = handed::token();
        let body = match self.settings.method {
            HttpMethod::Get => Vec::new(),
            _ => self
                .body
                .of_input(input, &call)
                .map_err(|what| Failure::new(FailureKind::NotStarted, what))?,
        };
        let (url, headers) = self.addressed(input, &call, service)?;
        let sent = Sent {
            method: match self.settings.method {
                HttpMethod::Get => Method::GET,
                HttpMethod::Post => Method::POST,
                HttpMethod::Put => Method::PUT,
                HttpMethod::Patch => Method::PATCH,
            },
            url,
            headers,
            body,
        };
        let limits = self.limits(self.site.timeout);
        let answer = client::exchange(sent, &limits);
        let answer = answer.map_err(|broken| self.broken(broken, &limits, service))?;
        // A service may repeat the request, including the key, in its answer.
        let text = self.key.scrub(&String::from_utf8_lossy(&answer.body));
        if !(200..300).contains(&answer.status) {
            reply.retry_after = refusal::retry_after(&answer.headers);
            return Err(self.refused(&answer, &text).into());
        }
        let output = self.output(&answer, &text)?;
        // JSON can write the same text in several ways, so the key is searched for again.
        Ok(match String::from_utf8(output) {
            Ok(output) => self.key.scrub(&output).into_bytes(),
            Err(error) => error.into_bytes(),
        })
    }

    /// The end of a call whose exchange failed. A service that was started by this program is replaced if it has ended
    /// or does not answer any more.
    fn broken(
        &self,
        broken: Broken,
        limits: &ExchangeLimits<'_>,
        service: Option<&Arc<HostedService>>,
    ) -> Unanswered {
        let is_late = broken == Broken::TimedOut;
        let is_unreached = matches!(broken, Broken::Unreached(_));
        let is_cut = is_unreached || matches!(broken, Broken::Connection(_));
        let Some(failure) = broken.failure(limits, |text| self.key.scrub(text)) else {
            return Unanswered::Interrupted;
        };
        let Some((host, service)) = self.host.as_ref().zip(service) else {
            return failure.into();
        };
        let failure = match service.is_lost().filter(|_| is_cut) {
            Some(kind) => {
                // When people stop a run, they often stop its processes too.
                if self.site.interrupt.tripped() {
                    return Unanswered::Interrupted;
                }
                let how = crate::targets::command::ended(&kind);
                let what =
                    format!("the service of `run.http.start` was lost during the call: {how}");
                Failure::new(FailureKind::WorkerLost, what)
            }
            None => failure,
        };
        if is_late || failure.kind == FailureKind::WorkerLost {
            host.replace(service);
        }
        let stderr = self.key.scrub(&service.log());
        let failure = failure.printed(Streams {
            stderr,
            ..Streams::default()
        });
        match is_unreached && failure.kind == FailureKind::WorkerLost {
            true => Unanswered::EndedBefore(Box::new(failure)),
            false => failure.into(),
        }
    }

    /// The output of a call. If the service had ended unnoticed, another one is started. All turns of a conversation go
    /// to the same service.
    fn answer(&self, call: &Invocation<'_>, reply: &mut Reply) -> Result<Vec<u8>, Unanswered> {
        let inputs = handed::inputs(call, self.site.turns.as_ref())?;
        let mut service = None;
        let mut answer = Vec::new();
        for (at, input) in inputs.iter().enumerate() {
            if at > 0 {
                reply.earlier.push(mem::take(&mut answer));
            }
            let mut once = |service: &mut Option<Arc<HostedService>>| {
                if at == 0 {
                    *service = self.host.as_ref().map(ServiceHost::service).transpose()?;
                }
                self.ask(input, service.as_ref(), reply)
            };
            let end = match once(&mut service) {
                Err(Unanswered::EndedBefore(_)) if at == 0 => once(&mut service),
                end => end,
            };
            answer = end.map_err(|unanswered| unanswered.of_input(input))?;
        }
        Ok(answer)
    }

    /// The failure for an answer that cannot be used. The message does not contain the words of the service or the
    /// target of a redirect, since they may vary from call to call.
    fn refused(&self, answer: &HttpResponse, text: &str) -> Failure {
        let status = answer.status;
        let kind = match status {
            429 => FailureKind::RateLimit,
            _ => FailureKind::Status(status),
        };
        let sends_key = self.key.text().is_some();
        let mut said = refusal::said(text.as_bytes());
        let what = match status {
            300..400 => {
                let to = answer.headers.get(LOCATION).and_then(|to| to.to_str().ok());
                said = to.map_or(said, |to| format!("it redirects to {}", host_of(to)));
                "the service redirects to another address, which is not asked: correct `run.http.url`"
            }
            401 | 403 if sends_key => "the service refused the key",
            401 | 403 => "the service wants a key, and `run.http.api_key_env` names none",
            404 => "the service knows no such address: correct `run.http.url`",
            405 => "the service takes no such request: correct `run.http.method`",
            429 => "the service takes no more calls for now",
            400..500 => "the service refused the call",
            _ => "the service could not answer the call",
        };
        Failure::new(kind, format!("{what} (HTTP status {status})")).printed(Streams {
            stderr: said,
            ..Streams::default()
        })
    }

    /// The output, from the body of an answer.
    fn output(&self, answer: &HttpResponse, text: &str) -> Result<Vec<u8>, Failure> {
        let fails = |kind, what: String| {
            Failure::new(kind, what).printed(Streams {
                stdout: refusal::said(text.as_bytes()),
                ..Streams::default()
            })
        };
        let kind = answer.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            if self.settings.decision.is_none() && kind.starts_with("text/plain") {
                return Ok(text.as_bytes().to_vec());
            }
            let kind = match kind.split(';').next().unwrap_or_default().trim() {
                "" => "of no type".to_owned(),
                kind => format!("of the type `{}`", shown(kind)),
            };
            let wanted = match &self.settings.decision {
                Some(pointer) => format!("`run.http.decision` looks for `{pointer}` in JSON"),
                None => {
                    "without `run.http.decision` it has to be JSON, or have the type `text/plain`"
                        .to_owned()
                }
            };
            let length = answer.body.len();
            let what = format!("its answer is no JSON, found {length} bytes {kind}: {wanted}");
            return Err(fails(FailureKind::OutputNotJson, what));
        };
        let Some(pointer) = &self.settings.decision else {
            let output = worker::output(text);
            return output.ok_or_else(|| {
                let what = "its answer is a text that is not Unicode".to_owned();
                fails(FailureKind::OutputNotJson, what)
            });
        };
        in_field(&value, pointer, &self.site.decision_field).ok_or_else(|| {
            let what = format!(
                "its answer has nothing at `{pointer}`, which `run.http.decision` names: found {}",
                found(&value)
            );
            fails(FailureKind::DecisionMissing, what)
        })
    }
}

impl Target for HttpTarget {
    fn premises(&self) -> Premises {
        Premises::Name
    }

    fn ready(&self) -> Result<(), Misuse> {
        let settings = &self.settings;
        let headers = settings.headers.values().map(|value| ("headers", value));
        let templates = [
            ("url", Some(&settings.url)),
            ("body", settings.body.as_ref()),
        ];
        let templates = templates
            .into_iter()
            .filter_map(|(key, template)| Some((key, template?)));
        let mut named = templates
            .chain(headers)
            .filter(|(_, template)| body::names_a_conversation(template));
        if let (None, Some((key, _))) = (&self.site.turns, named.next()) {
            return Err(Misuse::new(format!(
                "`run.http.{key}` names a conversation, and the cases have no turns"
            ))
            .help(
                "name the array of their turns, as `records: {turns: turns}`, or leave `conversation_id` and `turn` out",
            ));
        }
        self.key.check("the service of `run.http`")
    }

    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        if call.workplace.is_some() {
            let message = "a service has no working directory of its own for a call";
            return Ended::failed(Failure::new(FailureKind::NotStarted, message), None);
        }
        let mut reply = Reply {
            is_first: !self.has_answered.load(Ordering::Relaxed),
            ..Reply::default()
        };
        match self.answer(call, &mut reply) {
            Ok(answer) => {
                self.has_answered.store(true, Ordering::Relaxed);
                *output = answer;
                Ended::Answered(reply)
            }
            Err(Unanswered::Interrupted) => Ended::Interrupted,
            Err(Unanswered::Failed(failure) | Unanswered::EndedBefore(failure)) => {
                Ended::Failed { failure, reply }
            }
        }
    }

    fn afresh(&self) -> Option<FreshTarget<'_>> {
        let host = self.host.as_ref().map(ServiceHost::afresh);
        let remembers = host.is_none();
        let target = Box::new(Self {
            has_answered: AtomicBool::new(false),
            settings: Arc::clone(&self.settings),
            key: self.key.clone(),
            headers: self.headers.clone(),
            body: Arc::clone(&self.body),
            site: self.site.clone(),
            host,
        });
        Some(FreshTarget {
            target,
            noun: "service",
            remembers,
            together: None,
        })
    }

    /// Whether the service sends any answer at all; it need not accept a request without an input. No key is sent. None
    /// if this program starts the service itself.
    fn answers(&self) -> Option<Result<String, String>> {
        let service = match self.host.as_ref().map(ServiceHost::service).transpose() {
            Ok(service) => service,
            Err(Unanswered::Failed(failure) | Unanswered::EndedBefore(failure)) => {
                let said = cause(&failure.stderr).map(|said| format!("; it printed: {said}"));
                let said = said.unwrap_or_default();
                return Some(Err(format!("{}{said}", failure.message)));
            }
            Err(Unanswered::Interrupted) => return None,
        };
        let sent = Sent {
            method: Method::HEAD,
            url: body::example(&self.url(service.as_ref())),
            headers: Vec::new(),
            body: Vec::new(),
        };
        let limits = self.limits(PATIENCE.min(self.site.timeout));
        let url = self.settings.url.trim();
        match client::exchange(sent, &limits) {
            Ok(answer) => Some(Ok(format!(
                "`{url}` answers (HTTP status {} to a HEAD request)",
                answer.status
            ))),
            // A large answer also shows that the service can be reached.
            Err(Broken::TooLarge) => Some(Ok(format!("`{url}` answers"))),
            Err(broken) => {
                let failure = broken.failure(&limits, |text| self.key.scrub(text))?;
                Some(Err(format!("`{url}` gives no answer: {}", failure.message)))
            }
        }
    }
}

/// An output of more bytes has the decision alone. Nothing looks at what stands beside it in a larger one, and a service
/// may send with each answer all the documents that it has found.
const MOST_BESIDE: usize = 64 * 1024;

/// The output with the value at `pointer` in a field, and beside it what stands beside that value in the answer: no
/// figure looks at it, but a reader wants to know where a reason is another one. Of two fields with one name the nearer
/// one counts. If the value is the whole output, a text is written unchanged. None if nothing is at `pointer`.
fn in_field(answer: &Value, pointer: &str, field: &str) -> Option<Vec<u8>> {
    let value = answer.pointer(pointer)?;
    let in_words = |key: &str| key.replace("~1", "/").replace("~0", "~");
    let mut keys: Vec<String> = match field.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(in_words).collect(),
        None if field.is_empty() => {
            return Some(match value {
                Value::String(text) => text.clone().into_bytes(),
                value => value.to_string().into_bytes(),
            });
        }
        None => vec![field.to_owned()],
    };
    let path: Vec<String> = pointer.split('/').skip(1).map(in_words).collect();
    let levels = beside(answer.clone(), path.iter().map(String::as_str))?;
    let last = keys.pop()?;
    let with = |mut fields: Map<String, Value>| {
        fields.insert(last.clone(), value.clone());
        let keys = keys.iter().rev();
        let output = keys.fold(Value::Object(fields), |inside, key| json!({ key: inside }));
        output.to_string().into_bytes()
    };
    let output = with(levels.into_iter().rev().flatten().collect());
    Some(match output.len() > MOST_BESIDE {
        true => with(Map::new()),
        false => output,
    })
}

/// The type of a value, for a message.
fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(fields) if fields.is_empty() => "an empty object".to_owned(),
        Value::Object(fields) => {
            let names: Vec<String> = fields
                .keys()
                .take(NAMES)
                .map(|name| format!("`{}`", shown(name)))
                .collect();
            let more = match fields.len() > NAMES {
                true => " and more",
                false => "",
            };
            format!("an object with {}{more}", names.join(", "))
        }
    }
}

/// A short external text on one line, without characters that could end its quotes.
fn shown(text: &str) -> String {
    let tame = |c: char| match c {
        '`' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().take(NAME_CHARS).map(tame).collect()
}

/// The host of an address to which a service redirects.
fn host_of(to: &str) -> String {
    let uri = to.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(|uri| uri.authority());
    match host {
        Some(host) => shown(host.as_str()),
        None => format!("`{}`", shown(to)),
    }
}
