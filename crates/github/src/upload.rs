//! Uploads an artifact from inside a container action to the runner's artifact service (v4), which is not part of the
//! API and has its own token.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Method, Uri};
use serde_json::{Value, json};

use super::archive;
use super::client::chance;
use super::error::{Error, Refusal, Surface};
use super::wire::{self, ApiResponse};
use kelvin_base::digest::Digest;
use kelvin_page::safe;

/// The path of the service, below `ACTIONS_RESULTS_URL`.
const SERVICE: &str = "twirp/github.actions.results.api.v1.ArtifactService";
/// How often each of the four requests is sent.
const ATTEMPTS: u32 = 3;
/// The name of the only block, in base64.
const BLOCK: &str = "a2VsdmluMDAwMDAx";
/// The maximum size of an answer, in bytes.
const MOST: usize = 64 * 1024;

/// The name of the report file in an artifact.
pub const REPORT_FILE: &str = "report.json";

/// The prefix of the names of all artifacts with reports.
pub const ARTIFACTS: &str = "kelvin-report-";

/// Reads a variable of the environment.
pub(crate) type Variable<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The name of the artifact for the report of a configuration: GitHub does not accept every character in a name.
pub fn artifact_name(configuration: &str) -> String {
    let kept = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "-_. ".contains(c) => c,
        _ => '-',
    };
    let plain: String = configuration.chars().map(kept).collect();
    let name = format!("{ARTIFACTS}{plain}");
    if plain == configuration && name.len() <= 120 {
        return name;
    }
    // Two configurations whose names became equal must not share an artifact.
    let digest = Digest::of(configuration.as_bytes()).short(8);
    format!("{}-{digest}", &name[..name.len().min(110)])
}

/// Uploads files as one artifact of this run, and returns its number. The same files make the same archive. With
/// `overwrites`, an existing artifact of this name is replaced, such as that of an earlier attempt; otherwise an
/// existing one belongs to another job, and is kept.
///
/// # Errors
///
/// Fails if this step may not upload (with the step to add), or if the service refuses.
pub fn artifact_upload(
    variable: &Variable<'_>,
    name: &str,
    overwrites: bool,
    files: &[(&str, &[u8])],
) -> anyhow::Result<String> {
    upload(variable, (name, overwrites), files, &std::thread::sleep)
}

fn upload(
    variable: &Variable<'_>,
    (name, overwrites): (&str, bool),
    files: &[(&str, &[u8])],
    pause: &dyn Fn(Duration),
) -> anyhow::Result<String> {
    let service = ArtifactService::of(variable, name)?;
    let zip = archive::pack(files)?;
    if overwrites {
        service.delete(name, pause)?;
    }
    let mut created = service.ids(name);
    created["version"] = json!(4);
    let created = service.call("CreateArtifact", &created, pause)?;
    let url = field(&created, "signed_upload_url", "signedUploadUrl");
    let url = url.as_str().unwrap_or_default();
    ensure!(
        created["ok"] == true && !url.is_empty(),
        "the artifact upload: the service gives no place for `{name}`"
    );
    put(url, &zip, pause)?;
    let mut closed = service.ids(name);
    // The service expects a 64-bit number as a string, as in protobuf's JSON.
    closed["size"] = json!(zip.len().to_string());
    closed["hash"] = json!(format!("sha256:{}", Digest::of(&zip).short(64)));
    let closed = service.call("FinalizeArtifact", &closed, pause)?;
    ensure!(
        closed["ok"] == true,
        "the artifact upload: the service did not take `{name}`"
    );
    let id = field(&closed, "artifact_id", "artifactId");
    Ok(id.as_str().map_or_else(|| id.to_string(), str::to_owned))
}

/// A field of an answer: protobuf's JSON may use the name of the field or its camel-case form.
fn field<'a>(answer: &'a Value, name: &str, camel: &str) -> &'a Value {
    answer.get(name).unwrap_or(&answer[camel])
}

/// The address of the service, and the job that asks.
struct ArtifactService {
    base: String,
    token: String,
    run: String,
    job: String,
}

impl ArtifactService {
    fn of(variable: &Variable<'_>, name: &str) -> anyhow::Result<Self> {
        let get = |key: &str| variable(key).filter(|value| !value.trim().is_empty());
        let (Some(base), Some(token)) = (get("ACTIONS_RESULTS_URL"), get("ACTIONS_RUNTIME_TOKEN"))
        else {
            bail!(
                "the artifact upload: only a container action may do it, and this step is none; add \
                 a step: `uses: actions/upload-artifact@v4` with `name: {name}`, `path: kelvin/` and \
                 `if: always()`"
            );
        };
        let token = token.trim().to_owned();
        // The message must not contain the token.
        let (run, job) = backend_ids(&token).context(
            "the artifact upload: `ACTIONS_RUNTIME_TOKEN` does not say which job it is of",
        )?;
        Ok(Self {
            base: base.trim().trim_end_matches('/').to_owned(),
            token,
            run,
            job,
        })
    }

    fn ids(&self, name: &str) -> Value {
        json!({
            "workflow_run_backend_id": self.run,
            "workflow_job_run_backend_id": self.job,
            "name": name,
        })
    }

    /// Deletes the artifact of this name, if there is one, because the service stores only one artifact per name and
    /// run. The request needs the job that made the artifact, which was another job in an earlier attempt.
    fn delete(&self, name: &str, pause: &dyn Fn(Duration)) -> anyhow::Result<()> {
        let list = json!({
            "workflow_run_backend_id": self.run,
            "workflow_job_run_backend_id": self.job,
            "name_filter": name,
        });
        let there = self.call("ListArtifacts", &list, pause)?;
        for artifact in there["artifacts"].as_array().into_iter().flatten() {
            let id = |snake, camel| field(artifact, snake, camel).clone();
            let one = json!({
                "workflow_run_backend_id": id("workflow_run_backend_id", "workflowRunBackendId"),
                "workflow_job_run_backend_id":
                    id("workflow_job_run_backend_id", "workflowJobRunBackendId"),
                "name": name,
            });
            self.call("DeleteArtifact", &one, pause)?;
        }
        Ok(())
    }

    fn call(&self, call: &str, body: &Value, pause: &dyn Fn(Duration)) -> anyhow::Result<Value> {
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json"),
        ];
        let path = format!("/{SERVICE}/{call}");
        let body = body.to_string().into_bytes();
        let answer = send(&self.base, &Method::POST, &path, &headers, &body, pause);
        let answer = answer.map_err(|error| {
            let text = error.to_string().replace(&self.token, "***");
            anyhow::anyhow!(text)
        })?;
        serde_json::from_slice(&answer.body)
            .context("the artifact upload: the answer of the service is no JSON")
    }
}

/// Sends an archive to a signed address on another host, which is secret too: first a block and then the list of
/// blocks, as the runner's own client does.
fn put(url: &str, zip: &[u8], pause: &dyn Fn(Duration)) -> anyhow::Result<()> {
    let uri: Uri = url
        .parse()
        .ok()
        .context("the artifact upload: the service gives no address to upload to")?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        bail!("the artifact upload: the service gives no whole address to upload to");
    };
    let base = format!("{scheme}://{authority}");
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let joint = if path.contains('?') { '&' } else { '?' };
    let version = ("x-ms-version", "2021-08-06");
    let block = format!("{path}{joint}comp=block&blockid={BLOCK}");
    let headers = [version, ("content-type", "application/octet-stream")];
    send(&base, &Method::PUT, &block, &headers, zip, pause)?;
    let list = format!("{path}{joint}comp=blocklist");
    let headers = [
        version,
        ("content-type", "application/xml"),
        ("x-ms-blob-content-type", "application/zip"),
    ];
    let blocks = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList><Latest>{BLOCK}</Latest></BlockList>"
    );
    send(
        &base,
        &Method::PUT,
        &list,
        &headers,
        blocks.as_bytes(),
        pause,
    )?;
    Ok(())
}

/// Sends a request, and repeats it if there was no answer or the service has an error.
fn send(
    base: &str,
    method: &Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
    pause: &dyn Fn(Duration),
) -> Result<ApiResponse, Error> {
    let surface = Surface::Upload;
    let unreachable = |why: String| Error::Unreachable { surface, why };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| unreachable(error.to_string()))?;
    let client = {
        let _inside = runtime.enter();
        wire::octocrab(base, None).map_err(|error| unreachable(format!("{error:#}")))?
    };
    let mut attempt = 1;
    loop {
        let sent = wire::exchange(&client, method, path, headers, body.to_vec(), MOST);
        let error = match runtime.block_on(sent) {
            Ok(answer) if answer.status < 300 => return Ok(answer),
            Ok(answer) => {
                let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                let message = said["msg"].as_str().unwrap_or_default();
                Error::Refused(Refusal {
                    status: answer.status,
                    surface,
                    message: safe::cut(&safe::line(message), 200),
                    wait: None,
                })
            }
            Err(broken) => unreachable(broken.why),
        };
        let again = error.is_unsure() || error.status() == Some(429);
        if !again || attempt == ATTEMPTS {
            return Err(error);
        }
        pause(Duration::from_secs(1 << attempt).mul_f64(0.5 + chance()));
        attempt += 1;
    }
}

/// The run and the job of a token: its claim `scp` contains `Actions.Results:RUN:JOB`, among others. The service checks
/// the signature.
fn backend_ids(token: &str) -> Option<(String, String)> {
    let claims = token.split('.').nth(1)?.trim_end_matches('=');
    let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let scopes = claims["scp"].as_str()?;
    scopes.split(' ').find_map(|scope| {
        let mut parts = scope.strip_prefix("Actions.Results:")?.split(':');
        let ids = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some(ids)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Archive;
    use crate::fake::results::{RUNTIME_TOKEN, Results};

    const FILES: &[(&str, &[u8])] = &[("report.json", b"{}"), ("report.html", b"<p>")];

    fn send(url: &str, token: &str, name: &str) -> anyhow::Result<String> {
        let variable = |key: &str| match key {
            "ACTIONS_RESULTS_URL" => Some(url.to_owned()),
            "ACTIONS_RUNTIME_TOKEN" => Some(token.to_owned()),
            _ => None,
        };
        upload(&variable, (name, false), FILES, &|_| ())
    }

    #[test]
    fn files_are_uploaded_as_one_archive_with_its_size_and_digest() {
        let service = Results::start();
        assert_eq!(
            send(service.url(), RUNTIME_TOKEN, "kelvin-report-rag").expect("uploaded"),
            "4711"
        );
        let uploaded = service.uploaded();
        assert!(uploaded.wrong.is_empty(), "{:?}", uploaded.wrong);
        assert_eq!(uploaded.created[0]["version"], 4);
        let blob = uploaded.blob.as_ref().expect("it came");
        assert_eq!(uploaded.finalized[0]["size"], blob.len().to_string());
        let digest = format!("sha256:{}", Digest::of(blob).short(64));
        assert_eq!(digest.len(), 7 + 64);
        assert_eq!(uploaded.finalized[0]["hash"], digest);
        let mut archive = Archive::open(blob).expect("it is a zip");
        assert_eq!(
            archive.read("report.json", 10).expect("read").as_deref(),
            Some(&b"{}"[..])
        );
    }

    /// Uploads to a real service, where there is one.
    #[test]
    #[ignore = "takes the service of a runner: run it inside of a job, of `act` say"]
    fn files_are_uploaded_to_the_service_of_a_runner() {
        let variable = |key: &str| std::env::var(key).ok();
        artifact_upload(&variable, "kelvin-report-test", false, FILES).expect("uploaded");
    }

    #[test]
    fn both_spellings_of_a_field_are_read() {
        for name in ["artifact_id", "artifactId"] {
            assert_eq!(
                field(&json!({ name: "7" }), "artifact_id", "artifactId"),
                "7"
            );
        }
    }

    #[test]
    fn a_name_that_is_taken_is_told() {
        let service = Results::start();
        send(service.url(), RUNTIME_TOKEN, "a").expect("uploaded");
        let error = send(service.url(), RUNTIME_TOKEN, "a")
            .expect_err("taken")
            .to_string();
        insta::assert_snapshot!(error, @"the artifact upload: GitHub answered 409 (taken); this run has an artifact of this name; give each job or configuration a name of its own");
    }

    #[test]
    fn the_artifact_of_an_earlier_attempt_gives_way_and_no_other_one() {
        let service = Results::start();
        let send = |name: &str, overwrites: bool| {
            let variable = |key: &str| match key {
                "ACTIONS_RESULTS_URL" => Some(service.url().to_owned()),
                "ACTIONS_RUNTIME_TOKEN" => Some(RUNTIME_TOKEN.to_owned()),
                _ => None,
            };
            upload(&variable, (name, overwrites), FILES, &|_| ())
        };
        send("a", true).expect("there is none yet");
        send("b", false).expect("uploaded");
        assert!(send("a", false).is_err());
        send("a", true).expect("uploaded again");
        let uploaded = service.uploaded();
        assert!(uploaded.wrong.is_empty(), "{:?}", uploaded.wrong);
        assert_eq!(uploaded.deleted, ["a"]);
        assert_eq!(uploaded.finalized.len(), 3);
    }

    #[test]
    fn outside_of_a_container_action_the_error_says_which_step_to_add() {
        let error = upload(&|_| None, ("kelvin-report-rag", false), FILES, &|_| ());
        let error = error.expect_err("no service");
        let text = error.to_string();
        assert!(text.contains("actions/upload-artifact") && text.contains("kelvin-report-rag"));
        let error = send("", RUNTIME_TOKEN, "a")
            .expect_err("empty is unset")
            .to_string();
        assert!(error.contains("actions/upload-artifact"), "{error}");
    }

    #[test]
    fn a_token_is_never_shown() {
        for token in ["secret", "a.secret.b", "a.eyJzY3AiOiJ4In0.secret"] {
            let error = send("http://127.0.0.1:1", token, "a").expect_err("no ids");
            assert!(!format!("{error:#}").contains("secret"), "{error:#}");
        }
        let service = Results::start();
        let other = RUNTIME_TOKEN.replace(".c2ln", ".secret");
        let error = send(service.url(), &other, "a").expect_err("refused");
        let text = format!("{error:#}");
        assert!(text.contains("401") && !text.contains("secret"), "{text}");
    }

    #[test]
    fn a_service_that_is_not_there_is_told() {
        let error = send("http://127.0.0.1:1", RUNTIME_TOKEN, "a").expect_err("nobody");
        insta::assert_snapshot!(error.to_string(), @"the artifact upload: GitHub cannot be reached: client error (Connect): tcp connect error: Connection refused (os error 111)");
    }

    #[test]
    fn names_of_artifacts_are_plain_and_differ_where_the_configurations_do() {
        assert_eq!(artifact_name("rag"), "kelvin-report-rag");
        let odd = [
            "a/b",
            "a:b",
            "a\"b",
            "a\nb",
            "ä",
            "a-b",
            &"x".repeat(300),
            &"x".repeat(301),
        ];
        let names: std::collections::BTreeSet<String> =
            odd.iter().map(|c| artifact_name(c)).collect();
        assert_eq!(names.len(), odd.len());
        for name in names {
            assert!(name.len() <= 130 && name.is_ascii());
            assert!(!name.contains(['"', ':', '<', '>', '|', '*', '?', '\r', '\n', '\\', '/']));
        }
    }
}
