//! What an observer gets of an invocation, wherever its answer came from.

use super::*;
use crate::{Observing, OutputObserver};

/// Keeps how long each output was.
struct Lengths {
    version: &'static str,
    seen: Mutex<Vec<(String, Value)>>,
    asked: Mutex<usize>,
}

impl Lengths {
    fn new(version: &'static str) -> Self {
        Self {
            version,
            seen: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    fn seen(&self) -> Vec<(String, Value)> {
        let mut seen = self.seen.lock().expect("no panic").clone();
        seen.sort_by(|(one, _), (other, _)| one.cmp(other));
        seen
    }

    fn asked(&self) -> usize {
        *self.asked.lock().expect("no panic")
    }
}

impl OutputObserver for Lengths {
    fn digest(&self) -> Digest {
        Digest::of(self.version.as_bytes())
    }

    fn observe(&self, output: Option<&[u8]>, _: &Reply) -> Value {
        *self.asked.lock().expect("no panic") += 1;
        json!({ "length": output.map(<[u8]>::len) })
    }

    fn keep(&self, probe: &'static str, task: &Task, input: Digest, observed: &Value) {
        assert_eq!(input, Digest::of(format!("{task}\n").as_bytes()));
        let seen = (format!("{probe}: {task}"), observed.clone());
        self.seen.lock().expect("no panic").push(seen);
    }
}

fn run(bench: &Bench, start: Start, tasks: &[Task], observer: Option<&Lengths>) -> Cost {
    let out = bench.out();
    let settings = RunnerSettings {
        rules: Rules::of(&bench.config, &bench.program()),
        out: &out,
        start,
        fingerprint: bench.fingerprint,
        watch: None,
        reader: &bench.reader,
        observer: &Silent,
        observing: observer.map(|observer| Observing {
            probe: "tests",
            observer,
        }),
    };
    let interrupt = Arc::clone(&bench.interrupt);
    let runner = Runner::stopped_by(interrupt, |site| bench.target.open(site), settings);
    let runner = runner.expect("opened");
    let done = runner.run_all("tests", tasks, &|task| Cow::Owned(format!("{task}\n")));
    let done = done.expect("the run goes on");
    assert!(
        done.iter()
            .flatten()
            .all(|outcome| outcome.observed.is_none())
    );
    runner.cost()
}

/// An output of which the cache keeps only what the reader takes, one that no reader can read, and a crash.
const MIXED: &str = "echo x >> calls\n\
    case $(cat \"$1\") in\n\
    *case-000*) printf '{\"decision\": \"%070000d\"}' 1 > \"$2\";;\n\
    *case-001*) printf 'no JSON' > \"$2\";;\n\
    *) exit 4;;\n\
    esac\n";

#[test]
fn qlt_16_every_invocation_is_observed_called_cached_and_resumed() {
    let bench = Bench::with(MIXED, "cache: true\n");
    let length = |length: Option<usize>| json!({ "length": length });
    let whole = length(Some("{\"decision\": \"\"}".len() + 70_000));
    let wanted = vec![
        ("tests: case-000/baseline".to_owned(), whole),
        ("tests: case-001/baseline".to_owned(), length(Some(7))),
        ("tests: case-002/baseline".to_owned(), length(None)),
    ];
    let called = Lengths::new("1");
    run(&bench, Start::Fresh, &tasks(3), Some(&called));
    assert_eq!((called.seen(), called.asked()), (wanted.clone(), 3));

    // The journal has all three, and nothing is looked at again.
    let resumed = Lengths::new("1");
    let cost = run(&bench, Start::Resume, &tasks(3), Some(&resumed));
    assert_eq!((cost.resumed, cost.invocations), (3, 0));
    assert_eq!((resumed.seen(), resumed.asked()), (wanted.clone(), 0));

    // The cache has the one that could be read, with what was observed of the whole output.
    let cached = Lengths::new("1");
    let cost = run(&bench, Start::Fresh, &tasks(3), Some(&cached));
    assert_eq!((cost.cache_hits, cost.invocations), (1, 2));
    assert_eq!((cached.seen(), cached.asked()), (wanted, 2));
}

#[test]
fn qlt_16_answers_that_were_observed_otherwise_are_misses() {
    let bench = Bench::with(&format!("echo x >> calls\n{ECHO}"), "cache: true\n");
    let hits = |start, observer: Option<&Lengths>| {
        let cost = run(&bench, start, &tasks(2), observer);
        (cost.cache_hits, cost.resumed)
    };
    assert_eq!(hits(Start::Fresh, None), (0, 0));
    assert_eq!(hits(Start::Fresh, Some(&Lengths::new("1"))), (0, 0));
    assert_eq!(hits(Start::Fresh, Some(&Lengths::new("1"))), (2, 0));
    assert_eq!(hits(Start::Fresh, Some(&Lengths::new("2"))), (0, 0));
    assert_eq!(hits(Start::Resume, Some(&Lengths::new("2"))), (0, 2));
    // Those of before are still there for a run that nobody observes.
    assert_eq!(hits(Start::Fresh, None), (2, 0));
}

#[test]
fn a_run_that_nobody_observes_writes_no_word_of_it() {
    let bench = Bench::with(ECHO, "cache: true\n");
    run(&bench, Start::Fresh, &tasks(2), None);
    let files = fs::read_dir(bench.out()).expect("listed").flatten();
    let files = files.filter(|file| file.path().is_file());
    let texts = files.map(|file| fs::read_to_string(file.path()).unwrap_or_default());
    let texts: Vec<String> = texts.filter(|text| text.contains("case-001")).collect();
    assert_eq!(texts.len(), 1, "the journal");
    assert!(!texts[0].contains("observed"), "{}", texts[0]);
}
