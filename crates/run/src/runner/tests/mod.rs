//! The runner with real processes: small scripts in a temporary folder.

use std::path::PathBuf;
use std::sync::Mutex;
use std::{fs, thread};

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::config::{Config, Overrides};
use crate::targets::Address;
use crate::{Observer, Reader, Silent};
use kelvin_base::failure::FailureKind;

mod endings;
mod memory;
mod observe;
mod outputs;
mod places;
mod values;

/// Takes the field `decision`, which must not be a list.
struct Decisions {
    /// A part of its digest.
    version: u8,
    keeps_streams: bool,
}

impl Reader for Decisions {
    fn digest(&self) -> Digest {
        Digest::of(&[self.version])
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let output: Value = serde_json::from_slice(output)
            .map_err(|error| Failure::new(FailureKind::OutputNotJson, error.to_string()))?;
        if !output.is_object() {
            return Err(Failure::new(FailureKind::OutputNotObject, "no object"));
        }
        match output.get("decision") {
            None => Err(Failure::new(FailureKind::DecisionMissing, "no decision")),
            Some(Value::Array(_)) => Err(Failure::new(FailureKind::DecisionRefused, "a list")),
            Some(decision) => Ok(decision.clone()),
        }
    }

    fn smallest(&self, decision: &Value) -> Vec<u8> {
        json!({ "decision": decision }).to_string().into_bytes()
    }

    fn keeps_streams(&self) -> bool {
        self.keeps_streams
    }
}

/// A configuration in a folder of its own, and a pipeline.
struct Bench {
    reader: Decisions,
    folder: TempDir,
    config: Config,
    target: Address,
    fingerprint: Option<Digest>,
    interrupt: Arc<Interrupt>,
}

impl Bench {
    /// A pipeline of a few lines of shell; `$1` is the input, `$2` the output.
    fn new(script: &str) -> Self {
        Self::with(script, "")
    }

    /// The same with further lines in `kelvin.yaml`.
    fn with(script: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir(root.join("cases")).expect("made");
        fs::write(root.join("cases/a.md"), "## Rule\n\nx\n").expect("written");
        fs::write(root.join("pipeline.sh"), script).expect("written");
        fs::write(root.join("kelvin.yaml"), format!("jobs: 2\n{more}")).expect("written");
        let overrides = Overrides {
            file: Some(root.join("kelvin.yaml")),
            ..Overrides::default()
        };
        let config = Config::load(&overrides, &[]).expect("a good configuration");
        Self {
            reader: Decisions {
                version: 1,
                keeps_streams: false,
            },
            config,
            target: Address::command("sh pipeline.sh {input} {output}"),
            folder,
            fingerprint: Some(Digest::of(b"code")),
            interrupt: Interrupt::apart(),
        }
    }

    fn program(&self) -> Program<'_> {
        Program {
            turns: None,
            target: &self.target,
            decision_field: "decision",
            input_name: "input.md",
            inputs: "cases",
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    fn out(&self) -> PathBuf {
        self.path("kelvin")
    }

    fn open<'a>(
        &'a self,
        out: &'a std::path::Path,
        start: Start,
        observer: &'a dyn Observer,
    ) -> Runner<'a> {
        self.try_open(out, start, observer).expect("opened")
    }

    fn try_open<'a>(
        &'a self,
        out: &'a std::path::Path,
        start: Start,
        observer: &'a dyn Observer,
    ) -> anyhow::Result<Runner<'a>> {
        let settings = RunnerSettings {
            rules: Rules::of(&self.config, &self.program()),
            out,
            start,
            fingerprint: self.fingerprint,
            watch: None,
            reader: &self.reader,
            observer,
            observing: None,
        };
        Runner::stopped_by(
            Arc::clone(&self.interrupt),
            |site| self.target.open(site),
            settings,
        )
    }

    /// Changes the command line.
    fn again(&mut self) {
        self.target = Address::command(&format!("{} again", self.target.text()));
    }

    /// Runs tasks afresh; the input of each is its name.
    fn run(&self, tasks: &[Task]) -> (Vec<Option<Outcome>>, Cost) {
        self.start(Start::Fresh, tasks)
    }

    fn start(&self, start: Start, tasks: &[Task]) -> (Vec<Option<Outcome>>, Cost) {
        let out = self.out();
        let runner = self.open(&out, start, &Silent);
        let outcomes = runner
            .run_all("tests", tasks, &|task| Cow::Owned(format!("{task}\n")))
            .expect("the run goes on");
        (outcomes, runner.cost())
    }

    /// Runs one baseline.
    fn one(&self) -> Result<Value, Box<Failure>> {
        let (mut outcomes, _) = self.run(&tasks(1));
        outcomes.remove(0).expect("not interrupted").result
    }

    /// Runs one baseline that has to fail.
    fn failure(&self) -> Failure {
        *self.one().expect_err("it fails")
    }

    /// How often the pipeline was called, where it says so in `calls`.
    fn calls(&self) -> usize {
        self.read("calls").lines().count()
    }
}

/// Baselines of so many cases.
fn tasks(count: usize) -> Vec<Task> {
    (0..count)
        .map(|n| Task {
            case: format!("case-{n:03}").into(),
            variant: None,
            repeat: 1,
        })
        .collect()
}

fn decisions(outcomes: &[Option<Outcome>]) -> Vec<Option<Value>> {
    outcomes
        .iter()
        .map(|outcome| {
            outcome
                .as_ref()
                .and_then(|outcome| outcome.result.clone().ok())
        })
        .collect()
}

/// Whether a process is there and no zombie.
fn lives(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit(')').next().unwrap_or("");
        !state.trim_start().starts_with('Z')
    })
}

/// Waits for the death of every process whose number is in a file.
#[track_caller]
fn all_dead(bench: &Bench, file: &str) {
    let pids = bench.read(file);
    assert!(!pids.is_empty(), "nobody wrote a number");
    let start = Instant::now();
    while pids.split_whitespace().any(lives) {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "somebody survived"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// Answers with the name of the task.
const ECHO: &str = "printf '{\"decision\": \"%s\"}' \"$(cat \"$1\")\" > \"$2\"";
