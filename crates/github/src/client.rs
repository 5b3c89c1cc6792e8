//! The client: blocking calls, a limited number of requests, and retries that never repeat a request that may have had
//! its effect.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use http::Method;
use octocrab::Octocrab;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::error::{Error, Refusal, Surface};
use super::wire::{self, ApiResponse, IncompleteResponse};
use kelvin_base::clock;
use kelvin_page::safe;
use kelvin_system::signal;

/// The maximum number of requests in one run, including retries. A pull request may have 2,500 comments, which are 25
/// pages. They are read three times: before the request for an approval, for that request, and when the comment is
/// written.
pub const MOST_REQUESTS: usize = 120;
/// How often one request is sent.
const ATTEMPTS: u32 = 4;
/// The longest wait in seconds that GitHub may request; its own advice for a secondary limit is a minute.
pub(super) const LONGEST_WAIT: u64 = 90;
/// The wait in seconds if a limit was reached and GitHub does not say how long.
const UNSAID_WAIT: u64 = 60;
/// The maximum size of a JSON answer: twice the size of a page of a hundred full comments.
const JSON_BYTES: usize = 48 * 1024 * 1024;
/// The number of entries per page; the maximum that GitHub returns.
const PAGE: usize = 100;

/// The address of the API, with the token.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    /// `GITHUB_API_URL`, e.g. `https://api.github.com` or `https://ghes.example/api/v3`.
    pub api_url: &'a str,
    /// `owner/name`.
    pub repository: &'a str,
    /// The token, which is never shown.
    pub token: &'a str,
}

/// A function that waits; tests replace it.
type Pause = Box<dyn Fn(Duration) + Send + Sync>;

/// A client for one repository.
pub struct Client {
    octocrab: Octocrab,
    runtime: Runtime,
    api_url: String,
    repository: String,
    token: String,
    sent: AtomicUsize,
    /// The time of the last answer, in seconds since the epoch; 0 before the first.
    time: AtomicI64,
    hurry: Arc<AtomicBool>,
    pause: Pause,
}

/// A request before it is sent.
pub(super) struct ApiCall<'a> {
    pub(super) surface: Surface,
    pub(super) method: Method,
    /// The path below the address of the API, with the query.
    pub(super) path: String,
    pub(super) body: Option<&'a Value>,
    /// Whether the request may be sent again if the first one may have had its effect.
    pub(super) repeatable: bool,
    /// The maximum size of the answer, in bytes.
    pub(super) most: usize,
}

impl ApiCall<'_> {
    /// A request that changes nothing.
    pub(super) const fn get(surface: Surface, path: String) -> Self {
        Self {
            surface,
            method: Method::GET,
            path,
            body: None,
            repeatable: true,
            most: JSON_BYTES,
        }
    }
}

impl Client {
    /// A client; no request is sent yet.
    ///
    /// # Errors
    ///
    /// Fails if the address, the repository or the token is invalid.
    pub fn new(access: &Access<'_>) -> anyhow::Result<Self> {
        let token = access.token.trim();
        anyhow::ensure!(!token.is_empty(), "there is no token");
        // The message must not contain the token.
        anyhow::ensure!(
            token.bytes().all(|byte| byte.is_ascii_graphic()),
            "the token has characters that no token has"
        );
        let parts: Vec<&str> = access.repository.split('/').collect();
        let plain = |part: &&str| {
            !part.is_empty()
                && !part.bytes().all(|byte| byte == b'.')
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        anyhow::ensure!(
            parts.len() == 2 && parts.iter().all(plain),
            "`{}` is not the name of a repository (`owner/name`)",
            safe::line(access.repository)
        );
        let base = access.api_url.trim().trim_end_matches('/');
        anyhow::ensure!(
            base.starts_with("https://") || base.starts_with("http://"),
            "`{}` is not the address of an API",
            safe::line(base)
        );
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("failed to start the runtime of the API client")?;
        let octocrab = {
            let _inside = runtime.enter();
            wire::octocrab(base, Some(token))?
        };
        let hurry = Arc::new(AtomicBool::new(false));
        Ok(Self {
            octocrab,
            runtime,
            api_url: base.to_owned(),
            repository: access.repository.to_owned(),
            token: token.to_owned(),
            sent: AtomicUsize::new(0),
            time: AtomicI64::new(0),
            pause: {
                let hurry = Arc::clone(&hurry);
                // A cancelled job has only seconds to end.
                Box::new(move |wait| {
                    if !signal::rest(wait) {
                        hurry.store(true, Ordering::Relaxed);
                    }
                })
            },
            hurry,
        })
    }

    /// A client for the same repository with another token.
    ///
    /// # Errors
    ///
    /// Fails if the token is invalid.
    pub fn with_token(&self, token: &str) -> anyhow::Result<Self> {
        Self::new(&Access {
            api_url: &self.api_url,
            repository: &self.repository,
            token,
        })
    }

    /// Replaces sleeping by another way to wait.
    pub fn pausing(mut self, pause: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        self.pause = Box::new(pause);
        self
    }

    /// The repository, as `owner/name`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// How many requests were made so far.
    pub fn requests(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// GitHub's time in its last answer, or the time of this machine if the answer had none.
    pub fn time(&self) -> i64 {
        match self.time.load(Ordering::Relaxed) {
            0 => clock::now(),
            time => time,
        }
    }

    /// From now on every request is sent only once, without waiting, since the program is ending.
    pub fn hurry(&self) {
        self.hurry.store(true, Ordering::Relaxed);
    }

    /// Waits for a random time between `low` and twice as long, so that two jobs that started together do not stay in
    /// step.
    pub(crate) fn pause_about(&self, low: Duration) {
        (self.pause)(low + low.mul_f64(chance()));
    }

    /// The path `/repos/owner/name`, followed by `rest`.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/repos/{}{rest}", self.repository)
    }

    /// Sends a request and reads its JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, call: &ApiCall<'_>) -> Result<T, Error> {
        let answer = self.send(call)?;
        self.read(call.surface, &answer)
    }

    /// All entries of a list from page `first` on, in order. `entries` extracts them from a page.
    pub(super) fn pages<P: DeserializeOwned, T>(
        &self,
        surface: Surface,
        path: &str,
        first: usize,
        entries: impl Fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        let joint = if path.contains('?') { '&' } else { '?' };
        for page in first.max(1).. {
            let path = format!("{path}{joint}per_page={PAGE}&page={page}");
            let answer = self.send(&ApiCall::get(surface, path))?;
            all.extend(entries(self.read(surface, &answer)?));
            if !has_next(&answer) {
                break;
            }
        }
        Ok(all)
    }

    /// Sends a request, and repeats it if that is safe.
    pub(super) fn send(&self, call: &ApiCall<'_>) -> Result<ApiResponse, Error> {
        let mut attempt = 1;
        loop {
            let (error, wait) = match self.once(call)? {
                Ok(answer) if answer.status < 400 => {
                    let date = answer.headers.get(http::header::DATE);
                    let date = date.and_then(|date| clock::of_server(date.to_str().ok()?));
                    self.time.store(date.unwrap_or(0), Ordering::Relaxed);
                    return Ok(answer);
                }
                Ok(answer) => {
                    let refusal = self.refusal(call.surface, &answer);
                    // When a limit is reached, GitHub rejects the request before it has an effect, so even a POST may
                    // be repeated.
                    let again = refusal.wait.is_some() || (answer.status >= 500 && call.repeatable);
                    let wait = refusal.wait.map(Duration::from_secs);
                    (Error::Refused(refusal), again.then_some(wait))
                }
                Err(broken) => {
                    let why = self.without_token(&broken.why);
                    let surface = call.surface;
                    if broken.lasting {
                        return Err(Error::Unreadable { surface, why });
                    }
                    let error = Error::Unreachable { surface, why };
                    (error, call.repeatable.then_some(None))
                }
            };
            let backoff = Duration::from_millis(500 << attempt);
            match wait {
                Some(Some(asked)) if asked.as_secs() > LONGEST_WAIT => return Err(error),
                Some(asked) if attempt < ATTEMPTS && !self.hurry.load(Ordering::Relaxed) => {
                    let jitter = backoff.mul_f64(chance());
                    (self.pause)(asked.unwrap_or(backoff / 2) + jitter);
                }
                _ => return Err(error),
            }
            attempt += 1;
        }
    }

    /// Sends a request once. The outer error means that the run has reached its limit of requests.
    fn once(&self, call: &ApiCall<'_>) -> Result<Result<ApiResponse, IncompleteResponse>, Error> {
        if self.sent.fetch_add(1, Ordering::Relaxed) >= MOST_REQUESTS {
            self.sent.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::Spent(call.surface));
        }
        let body = call.body.map(Value::to_string).unwrap_or_default();
        let mut headers = vec![
            ("accept", "application/vnd.github+json"),
            ("x-github-api-version", "2022-11-28"),
        ];
        if call.body.is_some() {
            headers.push(("content-type", "application/json"));
        }
        Ok(self.runtime.block_on(wire::exchange(
            &self.octocrab,
            &call.method,
            &call.path,
            &headers,
            body.into_bytes(),
            call.most,
        )))
    }

    fn refusal(&self, surface: Surface, answer: &ApiResponse) -> Refusal {
        let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let mut message = said["message"].as_str().unwrap_or_default().to_owned();
        for error in said["errors"].as_array().into_iter().flatten().take(3) {
            if let Some(more) = error.as_str().or_else(|| error["message"].as_str()) {
                message = format!("{message}: {more}");
            }
        }
        let message = safe::cut(&safe::line(&self.without_token(&message)), 300);
        Refusal {
            status: answer.status,
            surface,
            wait: wait(answer, &message),
            message,
        }
    }

    fn read<T: DeserializeOwned>(
        &self,
        surface: Surface,
        answer: &ApiResponse,
    ) -> Result<T, Error> {
        serde_json::from_slice(&answer.body).map_err(|error| Error::Unreadable {
            surface,
            why: self.without_token(&error.to_string()),
        })
    }

    fn without_token(&self, text: &str) -> String {
        text.replace(&self.token, "***")
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("repository", &self.repository)
            .finish_non_exhaustive()
    }
}

/// The seconds to wait, if an answer says that a limit is reached.
fn wait(answer: &ApiResponse, message: &str) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        let value = answer.headers.get(name)?.to_str().ok()?;
        value.trim().parse().ok()
    };
    let spent = number("x-ratelimit-remaining") == Some(0);
    let limited = match answer.status {
        429 => true,
        403 => {
            spent
                || number("retry-after").is_some()
                || message.to_ascii_lowercase().contains("rate limit")
        }
        _ => false,
    };
    let reset = || {
        let reset = number("x-ratelimit-reset").filter(|_| spent)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
        Some(reset.saturating_sub(now) + 1)
    };
    limited.then(|| number("retry-after").or_else(reset).unwrap_or(UNSAID_WAIT))
}

fn has_next(answer: &ApiResponse) -> bool {
    let links = answer.headers.get_all(http::header::LINK);
    links
        .iter()
        .filter_map(|link| link.to_str().ok())
        .any(|link| link.split(',').any(|link| link.contains("rel=\"next\"")))
}

/// A random number from 0 to 1. It only decides how long to wait, so it need not be reproducible.
pub(super) fn chance() -> f64 {
    let word = RandomState::new().hash_one(0_u8);
    f64::from((word >> 40) as u32) / f64::from(1 << 24)
}
