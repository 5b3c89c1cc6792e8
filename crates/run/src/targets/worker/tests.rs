//! Workers as they should be and as they should not: small Python programs in a temporary folder.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::python;
use crate::targets::Address;
use crate::text::redacted;
use kelvin_base::notice::Code;
use kelvin_system::signal::Interrupt;

/// A worker by the book. `answer(params)` is put in before it, and may do anything.
pub(super) const SERVE: &str = r#"
import json, os, sys, time
def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "shutdown":
        break
    if asked["method"] == "initialize":
        result = {"protocol": 1}
        with open("started", "a") as started:
            started.write(f"{os.getpid()}\n")
    else:
        result = answer(asked["params"])
    say({"jsonrpc": "2.0", "id": asked["id"], "result": result})
"#;

/// A folder with a worker.
pub(super) struct Yard {
    pub(super) folder: TempDir,
    pub(super) interrupt: Arc<Interrupt>,
    pub(super) target: Box<dyn Target>,
}

impl Yard {
    /// A worker with this function `answer`.
    fn new(answer: &str, bounds: Value) -> Self {
        Self::with(answer, bounds, Duration::from_secs(20))
    }

    fn with(answer: &str, bounds: Value, timeout: Duration) -> Self {
        let mut settings = bounds;
        settings["run"] = json!(format!("{} worker.py", python::word()));
        Self::of_address(
            &Address::of("worker", settings),
            &[("worker.py", &format!("{answer}\n{SERVE}"))],
            timeout,
        )
    }

    fn of_address(address: &Address, files: &[(&str, &str)], timeout: Duration) -> Self {
        Self::with_jobs(address, files, timeout, 1)
    }

    pub(super) fn with_jobs(
        address: &Address,
        files: &[(&str, &str)],
        timeout: Duration,
        jobs: usize,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("written");
        }
        let interrupt = Interrupt::apart();
        let site = TargetSite {
            turns: None,
            jobs: NonZeroUsize::new(jobs).expect("not zero"),
            root: folder.path().to_owned(),
            timeout,
            max_output_bytes: 1000,
            decision_field: String::new(),
            interrupt: Arc::clone(&interrupt),
        };
        Self {
            target: address.open(&site).expect("it can be opened"),
            folder,
            interrupt,
        }
    }

    pub(super) fn ask(&self, input: &str) -> Result<String, Failure> {
        let file = self.folder.path().join(format!("{}.md", rpc::token()));
        fs::write(&file, input).expect("written");
        let call = Invocation {
            input,
            input_file: &file,
            output_file: Path::new("/nowhere"),
            repeat: 1,
            sample: "",
            workplace: None,
        };
        let mut output = Vec::new();
        match self.target.call(&call, &mut output) {
            Ended::Answered(_) => Ok(String::from_utf8(output).expect("text")),
            Ended::Failed { failure, .. } => Err(*failure),
            Ended::Interrupted => Ok("interrupted".to_owned()),
        }
    }

    /// Asks all inputs in one row, which begins at once.
    pub(super) fn ask_row(&self, inputs: &[&str]) -> Vec<Result<String, Failure>> {
        let files: Vec<_> = inputs
            .iter()
            .map(|input| {
                let file = self.folder.path().join(format!("{}.md", rpc::token()));
                fs::write(&file, input).expect("written");
                file
            })
            .collect();
        let calls = inputs.iter().zip(&files).map(|(input, file)| Invocation {
            input,
            input_file: file,
            output_file: Path::new("/nowhere"),
            repeat: 1,
            sample: "",
            workplace: None,
        });
        let calls: Vec<_> = calls.collect();
        let ends = self.target.call_together(&calls).into_iter();
        ends.map(|(ended, output)| match ended {
            Ended::Answered(_) => Ok(String::from_utf8(output).expect("text")),
            Ended::Failed { failure, .. } => Err(*failure),
            Ended::Interrupted => Ok("interrupted".to_owned()),
        })
        .collect()
    }

    /// Asks all inputs at the same time.
    pub(super) fn ask_all(&self, inputs: &[&str]) -> Vec<Result<String, Failure>> {
        thread::scope(|scope| {
            let asking: Vec<_> = inputs
                .iter()
                .map(|input| scope.spawn(|| self.ask(input)))
                .collect();
            let ends = asking.into_iter().map(|end| end.join());
            ends.map(|end| end.expect("no panic")).collect()
        })
    }

    /// The texts of the notices with this code.
    pub(super) fn notices(&self, code: &'static str) -> Vec<String> {
        let notices = self.target.notices().into_iter();
        let notices = notices.filter(|notice| notice.code == Code::own(code));
        notices.map(|notice| notice.text).collect()
    }

    #[track_caller]
    fn fails(&self, input: &str, kind: &FailureKind) -> Failure {
        let failure = self.ask(input).expect_err("it fails");
        assert_eq!(failure.kind, *kind, "{failure:?}");
        failure
    }

    pub(super) fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits for the death of every process whose number is in a file, and returns how many these are.
    #[track_caller]
    pub(super) fn all_dead(&self, file: &str) -> usize {
        let numbers = self.lines(file);
        let lives = |number: &String| {
            fs::read_to_string(format!("/proc/{number}/stat")).is_ok_and(|stat| {
                !stat
                    .rsplit(')')
                    .next()
                    .unwrap_or("")
                    .trim()
                    .starts_with('Z')
            })
        };
        let begun = Instant::now();
        while let Some(alive) = numbers.iter().find(|number| lives(number)) {
            assert!(begun.elapsed() < Duration::from_secs(10), "{alive} lives");
            thread::sleep(Duration::from_millis(5));
        }
        numbers.len()
    }
}

#[test]
fn one_process_answers_all_calls_and_ends_with_the_run() {
    let yard = Yard::new(
        "seen = []\ndef answer(params):\n    assert open(params['input_path']).read() == params['input']\n    \
         seen.append(params['call'])\n    assert len(set(seen)) == len(seen)\n    \
         return {'decision': params['input'].upper(), 'n': len(seen), 'more': sorted(params)}",
        json!({}),
    );
    for n in 1..=20 {
        let said = yard.ask("straße\n").expect("answered");
        let more = r#"["call", "input", "input_path"]"#;
        let decision = r#""STRASSE\n""#;
        assert_eq!(
            said,
            format!(r#"{{"decision": {decision}, "n": {n}, "more": {more}}}"#)
        );
    }
    let Yard {
        target,
        folder,
        interrupt,
    } = yard;
    drop(target);
    let (target, yard) = (Address::command("true"), folder);
    let site = TargetSite {
        turns: None,
        jobs: NonZeroUsize::MIN,
        root: yard.path().to_owned(),
        timeout: Duration::from_secs(1),
        max_output_bytes: 1,
        decision_field: String::new(),
        interrupt: Arc::clone(&interrupt),
    };
    let rest = Yard {
        target: target.open(&site).expect("opened"),
        folder: yard,
        interrupt,
    };
    assert_eq!(rest.all_dead("started"), 1, "one process, which has ended");
}

#[test]
fn a_text_is_the_output_itself_and_a_large_one_is_refused_without_a_new_process() {
    let yard = Yard::new(
        "def answer(params):\n    return params['input'] * int(params['input'][-1])",
        json!({}),
    );
    assert_eq!(yard.ask("go 2").expect("answered"), "go 2go 2");
    let long = "x".repeat(500) + "9";
    insta::assert_snapshot!(yard.fails(&long, &FailureKind::OutputTooLarge).message, @"its output is larger than the 1000 bytes that `max_output_bytes` allows; it was not kept");
    assert_eq!(yard.ask("go 1").expect("answered"), "go 1");
    assert_eq!(yard.lines("started").len(), 1);
    let endless = Yard::new(
        "def answer(params):\n    return 'x' * 10_000_000",
        json!({}),
    );
    insta::assert_snapshot!(endless.fails("a", &FailureKind::OutputTooLarge).message, @"it sent a line that is longer than `max_output_bytes` allows (1000 bytes)");
}

#[test]
fn a_large_input_and_a_large_log_do_not_wait_for_each_other() {
    let yard = Yard::new(
        "def answer(params):\n    sys.stderr.write('log\\n' * 300_000)\n    return len(params['input'])",
        json!({}),
    );
    let large = "line of the input\n".repeat(100_000);
    assert_eq!(yard.ask(&large).expect("answered"), "1800000");
    assert_eq!(yard.ask("a").expect("answered"), "1");
}

#[test]
fn a_worker_that_crashes_is_replaced_and_its_log_is_kept() {
    let yard = Yard::new(
        "def answer(params):\n    if params['input'] == 'crash':\n        print('no more', file=sys.stderr, flush=True)\n        \
         os._exit(7)\n    if params['input'] == 'kill':\n        os.kill(os.getpid(), 9)\n    return params['input']",
        json!({}),
    );
    assert_eq!(yard.ask("a").expect("answered"), "a");
    let failure = yard.fails("crash", &FailureKind::WorkerLost);
    insta::assert_snapshot!(failure.message, @"the worker was lost during the call: it ended with exit code 7");
    assert_eq!(failure.stderr, "no more");
    assert_eq!(yard.ask("b").expect("answered"), "b");
    insta::assert_snapshot!(yard.fails("kill", &FailureKind::WorkerLost).message, @"the worker was lost during the call: SIGKILL ended it; the system does so where memory runs out");
    assert_eq!(yard.ask("c").expect("answered"), "c");
    assert_eq!(yard.lines("started").len(), 3);
}

#[test]
fn a_worker_that_ends_between_two_calls_costs_no_call() {
    let yard = Yard::new(
        "import threading\ndef answer(params):\n    threading.Timer(0.05, lambda: os._exit(3)).start()\n    return params['input']",
        json!({}),
    );
    for _ in 0..3 {
        assert_eq!(yard.ask("a").expect("answered"), "a");
        yard.all_dead("started");
    }
    assert_eq!(yard.lines("started").len(), 3);
}

#[test]
fn a_worker_that_hangs_is_stopped_with_a_bomb_of_fifty_processes() {
    let bomb = "def answer(params):\n    for n in range(50):\n        if os.fork() == 0:\n            \
                if n % 2:\n                os.setsid()\n            \
                with open('forked', 'a') as forked:\n                forked.write(f'{os.getpid()}\\n')\n            \
                time.sleep(1000)\n    while len(open('forked').readlines()) < 50:\n        time.sleep(0.01)\n    \
                if params['input'] == 'hang':\n        time.sleep(1000)\n    return 'forked'";
    let yard = Yard::with(bomb, json!({}), Duration::from_secs(3));
    insta::assert_snapshot!(yard.fails("hang", &FailureKind::Timeout).message, @"it was stopped after 3 s, which is what `timeout_s` allows");
    assert_eq!(yard.all_dead("forked"), 50);
    // Those that a finished call leaves behind end with the worker.
    let yard = Yard::new(bomb, json!({ "recycle_after": 1 }));
    assert_eq!(yard.ask("leave").expect("answered"), "forked");
    assert_eq!(yard.all_dead("forked"), 50);
}

#[test]
fn a_worker_that_takes_too_much_memory_is_replaced_with_what_it_has_started() {
    let yard = Yard::new(
        "kept = []\ndef answer(params):\n    if params['input'] == 'leak':\n        if os.fork() == 0:\n            \
         open('forked', 'a').write(f'{os.getpid()}\\n')\n            kept.append(b'x' * 300_000_000)\n            \
         time.sleep(1000)\n        time.sleep(1000)\n    if params['input'] == 'grow':\n        \
         kept.append(b'x' * 300_000_000)\n        time.sleep(0.2)\n    return 'well'",
        json!({ "max_memory_mb": 200 }),
    );
    assert_eq!(yard.ask("a").expect("answered"), "well");
    insta::assert_snapshot!(yard.fails("leak", &FailureKind::WorkerLost).message, @"the worker was lost during the call: together with the processes below it, it held more than the 200 MiB that `max_memory_mb` allows");
    assert_eq!(yard.all_dead("forked"), 1);
    assert_eq!(yard.ask("b").expect("answered"), "well");
    assert_eq!(yard.lines("started").len(), 2);
}

#[test]
fn a_worker_that_answers_with_another_id_is_replaced() {
    let yard = Yard::new(
        "last = []\ndef answer(params):\n    if params['input'] == 'wrong':\n        \
         say({'jsonrpc': '2.0', 'id': last[-1], 'result': 'of the last call'})\n        time.sleep(1000)\n    \
         last.append(params['call'])\n    return params['input']",
        json!({}),
    );
    assert_eq!(yard.ask("a").expect("answered"), "a");
    insta::assert_snapshot!(yard.fails("wrong", &FailureKind::WorkerLost).message, @"the worker was lost during the call: it answered with the id of another call");
    assert_eq!(yard.ask("b").expect("answered"), "b");
    assert_eq!(yard.lines("started").len(), 2);
}

#[test]
fn a_second_answer_to_one_call_is_not_taken_for_that_of_the_next() {
    let yard = Yard::new(
        "def answer(params):\n    if params['input'] == 'twice':\n        \
         say({'jsonrpc': '2.0', 'id': params['call'], 'result': 'twice'})\n        time.sleep(0.3)\n    return params['input']",
        json!({}),
    );
    assert_eq!(yard.ask("twice").expect("answered"), "twice");
    // Either it is lost, because the worker still owes an answer that nobody waits for, or it answers rightly.
    if let Ok(answer) = yard.ask("b") {
        assert_eq!(answer, "b");
    }
    assert_eq!(yard.ask("c").expect("answered"), "c");
}

#[test]
fn garbage_on_standard_output_is_passed_over_and_said_once() {
    let yard = Yard::new(
        "def answer(params):\n    print('Loading model: 100%')\n    sys.stdout.buffer.write(b'\\xff\\xfe\\n{}\\n[1]\\n')\n    \
         sys.stdout.flush()\n    say({'jsonrpc': '2.0', 'method': 'progress'})\n    return params['input']",
        json!({}),
    );
    assert!(yard.target.notices().is_empty());
    for input in ["a", "b"] {
        assert_eq!(yard.ask(input).expect("answered"), input);
    }
    let [notice] = &yard.target.notices()[..] else {
        panic!("one notice");
    };
    insta::assert_snapshot!(notice.text, @"a worker printed lines on its standard output that are no messages of the protocol; they were ignored. What is printed for people belongs on standard error");
    assert_eq!(yard.lines("started").len(), 1);
}

#[test]
fn a_worker_is_replaced_after_its_number_of_calls_and_a_fresh_one_shares_nothing() {
    let count = "seen = []\ndef answer(params):\n    seen.append(1)\n    return len(seen)";
    let yard = Yard::new(count, json!({ "recycle_after": 2 }));
    let answers: Vec<_> = (0..5).map(|_| yard.ask("a").expect("answered")).collect();
    assert_eq!(answers, ["1", "2", "1", "2", "1"]);
    let yard = Yard::new(count, json!({}));
    assert_eq!(yard.ask("a").expect("answered"), "1");
    assert_eq!(yard.ask("a").expect("answered"), "2");
    let mut output = Vec::new();
    let call = Invocation {
        input: "a",
        input_file: Path::new("/nowhere"),
        output_file: Path::new("/nowhere"),
        repeat: 1,
        sample: "",
        workplace: None,
    };
    let fresh = yard
        .target
        .afresh()
        .expect("a worker keeps its memory")
        .target;
    assert!(matches!(fresh.call(&call, &mut output), Ended::Answered(_)));
    assert_eq!(output, b"1");
}

#[test]
fn an_error_is_the_failure_of_its_call_alone() {
    let yard = Yard::new(
        "def answer(params):\n    if params['input'] == 'a':\n        return 'well'\n    \
         say({'jsonrpc': '2.0', 'id': params['call'], 'error': {'code': 75, 'message': 'busy'}})\n    \
         line = json.loads(sys.stdin.readline())\n    \
         say({'jsonrpc': '2.0', 'id': line['id'], 'result': 'after'})\n    sys.exit(0)",
        json!({}),
    );
    insta::assert_snapshot!(yard.fails("b", &FailureKind::ErrorAnswer(75)).message, @"it answered with an error: busy");
    assert_eq!(yard.ask("a").expect("answered"), "after");
}

#[test]
fn a_worker_that_does_not_get_ready_is_told_as_such() {
    let within =
        |line: &str, time| Yard::of_address(&Address::of("worker", json!(line)), &[], time);
    let worker = |line: &str| within(line, Duration::from_secs(20));
    insta::assert_snapshot!(worker("no-such-program").fails("a", &FailureKind::NotStarted).message, @"`no-such-program` could not be started: No such file or directory; is it installed, and is its path right?");
    let failure = worker("echo no >&2; exit 3").fails("a", &FailureKind::NotStarted);
    insta::assert_snapshot!(failure.message, @"the worker `echo no >&2; exit 3` was not ready: it ended with exit code 3");
    assert_eq!(failure.stderr, "no");
    let quick = within("sleep 1000", Duration::from_millis(700));
    insta::assert_snapshot!(redacted(&quick.fails("a", &FailureKind::Timeout).message), @"the worker `sleep 1000` was not ready: it was stopped after [SECONDS] s, which is what `timeout_s` allows");
    let other = r#"read line; id=$(echo "$line" | cut -d'"' -f8)
        echo "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"protocol\":2}}"; sleep 1000"#;
    insta::assert_snapshot!(worker(other).fails("a", &FailureKind::NotStarted).message, @r#"
    the worker `read line; id=$(echo "$line" | cut -d'"' -f8)
            echo "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"protocol\":2}}"; sleep 1000` answered `initialize` with the protocol 2, and only 1 is known: the result has to be `{"protocol": 1}`
    "#);
}

#[test]
fn a_stopped_run_ends_a_call_and_its_worker() {
    let yard = Yard::new("def answer(params):\n    time.sleep(1000)", json!({}));
    thread::scope(|scope| {
        let asking = scope.spawn(|| yard.ask("a"));
        while yard.lines("started").is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        yard.interrupt.trip();
        assert_eq!(
            asking.join().expect("no panic").expect("stopped"),
            "interrupted"
        );
    });
    assert_eq!(yard.all_dead("started"), 1);
}

#[test]
fn placeholders_of_a_call_are_refused_and_the_root_is_filled_in() {
    let folder = tempfile::tempdir().expect("a folder");
    for line in ["python3 w.py {input}", "cat {input} | python3 w.py"] {
        let address = Address::of("worker", json!(line));
        let refused = address.look_up(folder.path()).expect_err("refused");
        assert!(refused.what.contains("{input}"), "{refused}");
    }
    let yard = Yard::of_address(
        &Address::of(
            "worker",
            json!(format!("{} {{root}}/worker.py", python::word())),
        ),
        &[(
            "worker.py",
            &format!("def answer(params):\n    return 'here'\n{SERVE}"),
        )],
        Duration::from_secs(20),
    );
    assert_eq!(yard.ask("a").expect("answered"), "here");
}

/// A worker that serves a Python function.
fn python(module: &str, function: &str) -> Yard {
    let function = format!("app:{function}");
    python_of(
        module,
        json!({ "function": function, "interpreter": python::path() }),
    )
}

fn python_of(module: &str, function: Value) -> Yard {
    Yard::of_address(
        &Address::of("python", function),
        &[("app.py", module)],
        Duration::from_secs(20),
    )
}

#[test]
fn a_function_gets_the_parameters_that_it_names() {
    for (parameters, answer) in [
        ("input", "input"),
        ("path", "open(path).read()"),
        (
            "path, input",
            "input if open(path).read() == input else None",
        ),
        ("document", "document"),
        ("document, model='small'", "document"),
        ("input, /, *, model='small'", "input"),
        ("*, path, **more", "open(path).read() + ''.join(more)"),
        ("text='none'", "text"),
    ] {
        let yard = python(
            &format!("def decide({parameters}):\n    return {answer}"),
            "decide",
        );
        assert_eq!(
            yard.ask("gö").expect(parameters),
            r#"{"decision": "gö"}"#,
            "{parameters}"
        );
    }
    let mut each = Vec::new();
    for parameters in [
        "",
        "a, b",
        "input, other",
        "a=1, b=2",
        "*inputs",
        "other, /, input",
    ] {
        let yard = python(
            &format!("def decide({parameters}):\n    return 1"),
            "decide",
        );
        each.push(yard.fails("a", &FailureKind::ErrorAnswer(1)).message);
    }
    insta::assert_snapshot!(each.join("\n"), @"
    it answered with an error: kelvin cannot call `app:decide()`: it gives a function `input` (the input), `path` (its file), or the input as its only parameter; give every other parameter a default
    it answered with an error: kelvin cannot call `app:decide(a, b)`: it gives a function `input` (the input), `path` (its file), or the input as its only parameter; give every other parameter a default
    it answered with an error: kelvin cannot call `app:decide(input, other)`: it gives a function `input` (the input), `path` (its file), or the input as its only parameter; give every other parameter a default
    it answered with an error: kelvin cannot call `app:decide(a=1, b=2)`: it gives a function `input` (the input), `path` (its file), or the input as its only parameter; give every other parameter a default
    it answered with an error: kelvin cannot call `app:decide(*inputs)`: it gives a function `input` (the input), `path` (its file), or the input as its only parameter; give every other parameter a default
    it answered with an error: kelvin cannot call `app:decide(other, /, input)`: it gives a function `input` (the input), `path` (its file), or the input as its only parameter; give every other parameter a default
    ");
}

#[test]
fn what_a_function_returns_becomes_json() {
    let yard = python(
        "import dataclasses, enum, sys\nclass Colour(enum.Enum):\n    RED = 'red'\n@dataclasses.dataclass\nclass Inner:\n    n: int\n\
         @dataclasses.dataclass\nclass Outer:\n    decision: str\n    inner: Inner\nclass Model:\n    \
         def model_dump(self, mode):\n        return {'decision': mode}\n\
         class Number:\n    def item(self):\n        return 2.5\n\
         def decide(input):\n    return eval(input)",
        "decide",
    );
    for (returned, output) in [
        (
            "{'decision': 'go', 'n': 1}",
            r#"{"decision": "go", "n": 1}"#,
        ),
        (
            "Outer('go', Inner(3))",
            r#"{"decision": "go", "inner": {"n": 3}}"#,
        ),
        ("Model()", r#"{"decision": "json"}"#),
        ("Colour.RED", r#"{"decision": "red"}"#),
        ("Number()", r#"{"decision": 2.5}"#),
        ("True", r#"{"decision": true}"#),
        ("None", r#"{"decision": null}"#),
        (
            "12345678901234567890123",
            r#"{"decision": 12345678901234567890123}"#,
        ),
        ("[Inner(1), Inner(2)]", r#"[{"n": 1}, {"n": 2}]"#),
        ("{'decision': Colour.RED}", r#"{"decision": "red"}"#),
    ] {
        assert_eq!(yard.ask(returned).expect(returned), output, "{returned}");
    }
    let mut each = Vec::new();
    for returned in [
        "float('nan')",
        "{'decision': object()}",
        "'\\ud800'",
        "(lambda: 1 / 0)()",
    ] {
        each.push(yard.fails(returned, &FailureKind::ErrorAnswer(1)).message);
    }
    insta::assert_snapshot!(each.join("\n"), @r"
    it answered with an error: ValueError: the function returned a number that JSON does not know: NaN or Infinity
    it answered with an error: TypeError: the function returned object, which JSON does not know
    it answered with an error: UnicodeEncodeError: 'utf-8' codec can't encode character '\ud800' in position 85: surrogates not allowed
    it answered with an error: ZeroDivisionError: division by zero
    ");
    insta::assert_snapshot!(yard.fails("sys.exit(75)", &FailureKind::ErrorAnswer(75)).message, @"it answered with an error: SystemExit: 75");
    assert_eq!(yard.ask("1").expect("it goes on"), r#"{"decision": 1}"#);
}

#[test]
fn an_exception_leaves_its_traceback_in_the_log_and_the_worker_alive() {
    let yard = python(
        "import os\ndef inner(text):\n    raise ValueError(f'cannot read {text}')\n\
         def decide(text):\n    print('about to fail')\n    return inner(text) if text == 'b' else os.getpid()",
        "decide",
    );
    let process = yard.ask("a").expect("answered");
    let failure = yard.fails("b", &FailureKind::ErrorAnswer(1));
    insta::assert_snapshot!(failure.message, @"it answered with an error: ValueError: cannot read b");
    let log = &failure.stderr;
    assert!(log.starts_with("about to fail\nTraceback"), "{log}");
    assert!(
        log.contains("line 3, in inner") && log.ends_with("ValueError: cannot read b"),
        "{log}"
    );
    assert!(
        !log.contains("<string>"),
        "our own frames are no help: {log}"
    );
    assert_eq!(yard.ask("a").expect("answered"), process);
}

#[test]
fn what_a_function_prints_or_reads_does_not_reach_the_messages() {
    let yard = python(
        "import os, subprocess, sys\nprint('importing')\ndef decide(text):\n    print('printed', flush=True)\n    \
         os.write(1, b'written\\n')\n    subprocess.run(['sh', '-c', 'echo by a child; cat'], check=True)\n    \
         return sys.stdin.read() + text",
        "decide",
    );
    for input in ["a", "b"] {
        assert_eq!(
            yard.ask(input).expect("answered"),
            format!(r#"{{"decision": "{input}"}}"#)
        );
    }
    assert!(
        yard.target.notices().is_empty(),
        "{:?}",
        yard.target.notices()
    );
}

#[test]
fn an_async_function_runs_on_one_loop() {
    let yard = python(
        "import asyncio\nlock = None\nasync def decide(text):\n    global lock\n    lock = lock or asyncio.Lock()\n    \
         async with lock:\n        await asyncio.sleep(0)\n        return id(asyncio.get_running_loop())",
        "decide",
    );
    let first = yard.ask("a").expect("answered");
    assert_eq!(yard.ask("b").expect("answered"), first);
}

#[test]
fn a_module_that_cannot_be_used_is_named_with_its_python_and_asked_for_once() {
    let start = "open('started', 'a').write('x\\n')\n";
    let mut each = Vec::new();
    for (module, function) in [
        ("", "missing"),
        ("def decide(x): pass", "decid"),
        ("import nothing_like_this\n", "decide"),
        ("1 / 0\n", "decide"),
        ("decide = 3\n", "decide"),
        ("def decide(:\n", "decide"),
    ] {
        let function = json!(format!("app:{function}"));
        let yard = python_of(&format!("{start}{module}"), function);
        each.push(yard.fails("a", &FailureKind::ErrorAnswer(1)).message);
        each.push(yard.fails("b", &FailureKind::ErrorAnswer(1)).message);
        assert!(
            yard.lines("started").len() <= 1,
            "it is imported once: {module}"
        );
    }
    insta::assert_snapshot!(each.join("\n"), @"
    the worker `app:missing` by `python3` cannot answer: the module `app` has no `missing`; it has: nothing to call
    the worker `app:missing` by `python3` cannot answer: the module `app` has no `missing`; it has: nothing to call
    the worker `app:decid` by `python3` cannot answer: the module `app` has no `decid`; it has: decide
    the worker `app:decid` by `python3` cannot answer: the module `app` has no `decid`; it has: decide
    the worker `app:decide` by `python3` cannot answer: `app` imports `nothing_like_this`, which this Python has not got
    the worker `app:decide` by `python3` cannot answer: `app` imports `nothing_like_this`, which this Python has not got
    the worker `app:decide` by `python3` cannot answer: importing `app` failed: ZeroDivisionError: division by zero
    the worker `app:decide` by `python3` cannot answer: importing `app` failed: ZeroDivisionError: division by zero
    the worker `app:decide` by `python3` cannot answer: `app:decide` is int, which cannot be called
    the worker `app:decide` by `python3` cannot answer: `app:decide` is int, which cannot be called
    the worker `app:decide` by `python3` cannot answer: importing `app` failed: SyntaxError: invalid syntax (app.py, line 2)
    the worker `app:decide` by `python3` cannot answer: importing `app` failed: SyntaxError: invalid syntax (app.py, line 2)
    ");
    let absent = Yard::of_address(
        &Address::of("python", json!("lib.app:decide")),
        &[],
        Duration::from_secs(20),
    );
    insta::assert_snapshot!(absent.fails("a", &FailureKind::ErrorAnswer(1)).message, @"the worker `lib.app:decide` by `python3` cannot answer: there is no module `lib` in the folder of the configuration, nor among the packages of this Python");
    for wrong in ["app", "app:", "app.py:decide()", ":x", "a b:c"] {
        let refused = Address::of("python", json!(wrong)).look_up(Path::new("/"));
        let refused = refused.expect_err(wrong).to_string();
        assert!(refused.contains(wrong), "{refused}");
    }
}
