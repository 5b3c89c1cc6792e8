use kelvin_fixtures::text::redacted;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::project::{GROUNDED, Project};

/// A `kelvin view` that ends with the test.
struct View {
    child: Child,
    address: String,
}

impl View {
    fn of(project: &Project) -> Self {
        let mut command = project.command(&["view", "--port", "0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut said = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut said)
            .expect("it says where it is");
        let address = said.trim().rsplit("http://").next().expect("an address");
        Self {
            address: address.trim_end_matches('/').to_owned(),
            child,
        }
    }

    /// The status and the body of an answer.
    fn ask(&self, method: &str, path: &str, host: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let asked =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(asked.as_bytes()).expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status");
        (status.parse().expect("a number"), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path, &self.address)
    }

    fn state(&self) -> Value {
        serde_json::from_str(&self.get("/state").1).expect("JSON")
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_last_report_and_those_of_the_history_are_shown_and_a_run_is_followed() {
    let project = Project::new(GROUNDED);
    let refused = project.kelvin(&["view"]).expect(1);
    insta::assert_snapshot!(redacted(&refused.stderr), @"
    error: there is no report in `[TEMP]/project/kelvin`, and no run is recorded
      help: run `kelvin check` first, or name the folder with `--out`
    ");
    project.check();
    let view = View::of(&project);
    assert!(view.get("/").1.contains("<iframe"));
    assert_eq!(
        view.get("/report"),
        (200, project.read("kelvin/report.html"))
    );
    let before = view.state();
    assert_eq!(before["is_under_way"], false);
    let id = before["runs"][0]["id"].as_str().expect("an id");
    let (status, page) = view.get(&format!("/run/{id}"));
    assert_eq!(status, 200);
    assert!(page.contains("</html>") && page.contains("Sensitivity"));

    // The pipeline goes on when it is let, so that the run is seen while it lasts.
    project.write(
        "pipeline.sh",
        &format!(
            "[ -e started ] && until [ -e go ]; do sleep 0.02; done; touch started\n{GROUNDED}"
        ),
    );
    let mut run = project.start(&["check"]);
    until("the run is told", || view.state()["is_under_way"] == true);
    project.write("go", "");
    until("the new report is told", || {
        let state = view.state();
        state["is_under_way"] == false
            && state["report"] != before["report"]
            && !state["report"].is_null()
    });
    assert!(run.wait().expect("it ends").success());
    assert_eq!(view.get("/report").1, project.read("kelvin/report.html"));
    until("the run is in the list", || {
        view.state()["runs"].as_array().map(Vec::len) == Some(2)
    });
    let (status, course) = view.get("/course");
    assert_eq!(status, 200, "{course}");
    assert!(
        course.contains("<svg") && course.contains("evidence.invariance"),
        "{course}"
    );
}

#[test]
fn no_other_site_is_answered_and_nothing_else_is_served() {
    let project = Project::new(GROUNDED);
    project.check();
    let view = View::of(&project);
    let port = view.address.rsplit(':').next().expect("a port");
    // A name that somebody else lets point to this machine.
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1",
        "",
    ] {
        for path in ["/", "/report", "/state", "/course"] {
            let (status, body) = view.ask("GET", path, host);
            assert!(status == 421 || status == 400, "{host} {path}: {status}");
            assert!(!body.contains("evidence"), "{host} {path}");
        }
    }
    assert_eq!(
        view.ask("GET", "/report", &format!("localhost:{port}")).0,
        200
    );
    assert_eq!(view.ask("POST", "/report", &view.address).0, 405);
    for path in [
        "/kelvin.yaml",
        "/../kelvin.yaml",
        "/run/",
        "/run/../../kelvin.yaml",
        "/run/%2e%2e",
        "//etc/passwd",
    ] {
        assert_eq!(view.get(path).0, 404, "{path}");
    }
}
