//! A small fake of the runner's artifact service (v4): what GitHub's runner offers at
//! `ACTIONS_RESULTS_URL`. It is written from the open client and holds no more than that needs.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::wire::{self, Request, Response};

/// The claims `{"scp":"Actions.Results:RUN:JOB"}` and nobody's signature.
pub(crate) const RUNTIME_TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJzY3AiOiJBY3Rpb25zLkdlbmVyaWNSZWFkOjAgQWN0aW9ucy5SZXN1bHRzOnJ1bi1iYWNrZW5kOmpvYi1iYWNrZW5kIn0.c2ln";

/// What was uploaded.
#[derive(Default)]
pub(crate) struct Uploaded {
    /// The requests for a place, as they came.
    pub(crate) created: Vec<Value>,
    /// The names that were deleted.
    pub(crate) deleted: Vec<String>,
    /// The requests to close it, as they came.
    pub(crate) finalized: Vec<Value>,
    /// A block that is in no list yet, and its name.
    pub(crate) staged: Option<(String, Vec<u8>)>,
    /// The archive.
    pub(crate) blob: Option<Vec<u8>>,
    /// What was not as the service wants it.
    pub(crate) wrong: Vec<String>,
}

/// The service, until the process ends.
pub(crate) struct Results {
    url: String,
    uploaded: Arc<Mutex<Uploaded>>,
}

impl Results {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let uploaded = Arc::new(Mutex::new(Uploaded::default()));
        let shared = Arc::clone(&uploaded);
        let here = url.clone();
        wire::serve(listener, move |request| {
            let mut uploaded = shared.lock().expect("no request panics");
            Some(answer(&mut uploaded, &here, &request))
        });
        Self { url, uploaded }
    }

    /// `ACTIONS_RESULTS_URL`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What came.
    pub(crate) fn uploaded(&self) -> std::sync::MutexGuard<'_, Uploaded> {
        self.uploaded.lock().expect("no request panics")
    }
}

fn answer(uploaded: &mut Uploaded, url: &str, request: &Request) -> Response {
    let authorization = request.headers.get("authorization").map(String::as_str);
    if request.path.starts_with("/blob") {
        if authorization.is_some() {
            uploaded
                .wrong
                .push("the storage was shown a token".to_owned());
        }
        let query = |name: &str| request.query.get(name).map_or("", String::as_str);
        if request.method != "PUT" || query("sig") != "a+b=" {
            uploaded
                .wrong
                .push(format!("no signed PUT: {}", request.method));
            return Response::bytes(403, Vec::new());
        }
        match (query("comp"), query("blockid")) {
            ("block", id) if !id.is_empty() => {
                uploaded.staged = Some((id.to_owned(), request.body.clone()))
            }
            ("blocklist", _) => {
                let list = String::from_utf8_lossy(&request.body);
                let staged = uploaded.staged.take();
                uploaded.blob = staged
                    .filter(|(id, _)| list.contains(&format!("<Latest>{id}</Latest>")))
                    .map(|(_, block)| block);
            }
            other => uploaded
                .wrong
                .push(format!("neither a block nor a list: {other:?}")),
        }
        return Response::bytes(201, Vec::new());
    }
    let service = "/twirp/github.actions.results.api.v1.ArtifactService/";
    let call = request.path.strip_prefix(service);
    let bearer = format!("Bearer {RUNTIME_TOKEN}");
    if call.is_none() || request.method != "POST" || authorization != Some(&bearer) {
        uploaded
            .wrong
            .push(format!("{} {}", request.method, request.path));
        return Response::json(401, &json!({ "code": "unauthenticated", "msg": "no" }));
    }
    let body = request.json();
    let ids = [
        ("workflow_run_backend_id", "run-backend"),
        ("workflow_job_run_backend_id", "job-backend"),
    ];
    for (name, wanted) in ids {
        if body[name] != wanted {
            uploaded.wrong.push(format!("{name} is {}", body[name]));
        }
    }
    match call {
        Some("ListArtifacts") => {
            let wanted = &body["name_filter"];
            let there = uploaded.created.iter().filter(|one| one["name"] == *wanted);
            let there: Vec<Value> = there
                .map(|one| {
                    json!({
                        "workflow_run_backend_id": one["workflow_run_backend_id"],
                        "workflow_job_run_backend_id": one["workflow_job_run_backend_id"],
                        "name": one["name"], "database_id": "4711", "size": "1",
                    })
                })
                .collect();
            Response::json(200, &json!({ "artifacts": there }))
        }
        Some("DeleteArtifact") => {
            let name = body["name"].as_str().unwrap_or_default().to_owned();
            let before = uploaded.created.len();
            uploaded.created.retain(|one| one["name"] != name.as_str());
            if uploaded.created.len() == before {
                return Response::json(
                    404,
                    &json!({ "code": "not_found", "msg": "no such artifact" }),
                );
            }
            uploaded.deleted.push(name);
            Response::json(200, &json!({ "ok": true, "artifact_id": "4711" }))
        }
        Some("CreateArtifact") => {
            let name = body["name"].clone();
            let taken = uploaded.created.iter().any(|one| one["name"] == name);
            if taken {
                return Response::json(409, &json!({ "code": "already_exists", "msg": "taken" }));
            }
            uploaded.created.push(body);
            let signed = format!("{url}blob/1?sig=a%2Bb%3D&se=2026");
            Response::json(200, &json!({ "ok": true, "signed_upload_url": signed }))
        }
        Some("FinalizeArtifact") => {
            uploaded.finalized.push(body);
            Response::json(200, &json!({ "ok": true, "artifact_id": "4711" }))
        }
        _ => Response::json(404, &json!({ "code": "bad_route", "msg": "no such call" })),
    }
}
