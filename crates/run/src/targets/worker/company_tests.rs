//! Workers that have several calls at once, as they should be and as they should not.

use super::tests::Yard;
use super::*;
use crate::python;
use crate::text::redacted;

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::targets::Address;

/// A worker that answers each call on a thread. `answer(params)` is put in before it.
const TOGETHER: &str = r#"
import json, os, sys, threading, time
lock = threading.Lock()
def say(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()
def serve(asked):
    with lock:
        open("calls", "a").write(f"{os.getpid()} {asked['params']['input']}\n")
    say({"id": asked["id"], "result": answer(asked["params"])})
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "shutdown":
        break
    if asked["method"] == "initialize":
        open("started", "a").write(f"{os.getpid()}\n")
        most = asked["params"]["concurrency"]
        say({"id": asked["id"], "result": {"protocol": 1, "concurrency": most}})
    else:
        threading.Thread(target=serve, args=(asked,), daemon=True).start()
"#;

/// A worker that answers lists. `answers(calls)` is put in before it, and says what the list is.
const LISTS: &str = r#"
import json, os, sys, time
def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()
def each(calls):
    return [{"call": one["call"], "result": one["input"].upper()} for one in calls]
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "shutdown":
        break
    if asked["method"] == "initialize":
        open("started", "a").write(f"{os.getpid()}\n")
        say({"id": asked["id"], "result": {"protocol": 1, "batch": asked["params"]["batch"]}})
        continue
    is_list = asked["method"] == "assess_batch"
    calls = asked["params"]["calls"] if is_list else [asked["params"]]
    open("calls", "a").write(" ".join(one["input"] for one in calls) + "\n")
    given = answers(calls)
    if isinstance(given, dict):
        say({"id": asked["id"], "error": given})
    elif is_list:
        say({"id": asked["id"], "result": given})
    else:
        rest = {key: value for key, value in given[0].items() if key != "call"}
        say({"id": asked["id"], **rest})
"#;

const INPUTS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn yard(program: &str, mut bounds: Value, jobs: usize, timeout: Duration) -> Yard {
    bounds["run"] = json!(format!("{} worker.py", python::word()));
    Yard::with_jobs(
        &Address::of("worker", bounds),
        &[("worker.py", program)],
        timeout,
        jobs,
    )
}

fn together(answer: &str, bounds: Value) -> Yard {
    together_within(answer, bounds, Duration::from_secs(20))
}

fn together_within(answer: &str, bounds: Value, timeout: Duration) -> Yard {
    yard(&format!("{answer}\n{TOGETHER}"), bounds, 1, timeout)
}

fn lists(answers: &str, bounds: Value) -> Yard {
    let timeout = Duration::from_secs(20);
    yard(&format!("{answers}\n{LISTS}"), bounds, 1, timeout)
}

/// The answers, all of them good.
#[track_caller]
fn all(ends: Vec<Result<String, Failure>>) -> Vec<String> {
    let ends = ends.into_iter();
    ends.map(|end| end.expect("answered")).collect()
}

#[test]
fn calls_are_under_way_together_and_each_gets_its_own_answer_in_whatever_order_they_come() {
    // Nobody is answered before all eight are there; then the first is answered last.
    let yard = together(
        "import threading\nall = threading.Barrier(8)\ndef answer(params):\n    all.wait(15)\n    \
         time.sleep(0.02 * (104 - ord(params['input'])))\n    return params['input'].upper()",
        json!({ "concurrency": 8 }),
    );
    for _ in 0..2 {
        let ends = all(yard.ask_all(&INPUTS));
        assert_eq!(ends, ["A", "B", "C", "D", "E", "F", "G", "H"]);
    }
    assert_eq!(yard.lines("started").len(), 1);
    assert!(yard.target.notices().is_empty());
    drop(yard.target);
}

#[test]
fn no_process_has_more_calls_than_it_may_and_no_more_processes_than_jobs() {
    let answer = "now = 0\ndef answer(params):\n    global now\n    with lock:\n        now += 1\n        most = now\n    \
                  time.sleep(0.05)\n    with lock:\n        now -= 1\n    return f'{os.getpid()} {most}'";
    let program = format!("{answer}\n{TOGETHER}");
    let yard = yard(
        &program,
        json!({ "concurrency": 3 }),
        2,
        Duration::from_secs(20),
    );
    let inputs: Vec<&str> = INPUTS.into_iter().cycle().take(24).collect();
    let ends = all(yard.ask_all(&inputs));
    let processes: BTreeSet<&str> = ends
        .iter()
        .filter_map(|end| end.split(' ').next())
        .collect();
    assert_eq!(processes.len(), 2);
    let most = ends.iter().filter_map(|end| end.split(' ').next_back());
    assert_eq!(most.max(), Some("3"));
}

#[test]
fn calls_one_at_a_time_are_under_way_in_as_many_processes_as_there_are_jobs() {
    // Nobody is answered before both processes have a call.
    let program = "def answer(params):\n    open(f'of-{params[\"input\"]}', 'w').close()\n    \
                   while len([name for name in os.listdir('.') if name.startswith('of-' + params['input'][0])]) < 2:\n        \
                   time.sleep(0.01)\n    return params['input']\n";
    let program = format!("{program}{}", super::tests::SERVE);
    let yard = yard(&program, json!({}), 2, Duration::from_secs(20));
    // The processes are idle before each pair but the first, and both have to be woken.
    for letter in INPUTS {
        let pair = ["1", "2"].map(|number| format!("{letter}{number}"));
        let inputs: Vec<&str> = pair.iter().map(String::as_str).collect();
        assert_eq!(all(yard.ask_all(&inputs)), pair);
    }
    assert_eq!(yard.lines("started").len(), 2);
}

#[test]
fn a_worker_that_does_not_say_that_it_takes_several_gets_one_at_a_time_and_it_is_told() {
    let program = "def answer(params):\n    time.sleep(0.02)\n    return params['input']\n";
    let program = format!("{program}{}", super::tests::SERVE);
    let mut told = Vec::new();
    for key in ["concurrency", "batch"] {
        let yard = yard(&program, json!({ key: 4 }), 2, Duration::from_secs(20));
        assert_eq!(all(yard.ask_all(&INPUTS)), INPUTS);
        assert!(yard.lines("started").len() <= 2);
        let notices = yard.notices("fewer_at_once");
        told.push(notices[0].clone());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    a worker gets 1 instead of 4 calls at once, as `concurrency` asks for: its answer to `initialize` says no `concurrency`
    a worker gets 1 instead of 4 calls at once, as `batch` asks for: its answer to `initialize` says no `batch`
    ");
}

#[test]
fn both_ways_at_once_are_refused() {
    let address = Address::of(
        "worker",
        json!({ "run": "x", "concurrency": 2, "batch": 3 }),
    );
    let refused = address.look_up(Path::new("/")).expect_err("refused");
    assert!(refused.what.contains("`batch: 3`"), "{refused}");
}

#[test]
fn the_other_calls_of_a_process_that_is_lost_are_asked_again_alone() {
    let mut told = Vec::new();
    for deed in [
        "os._exit(9)",
        "say({'id': 'nobody', 'result': 1}); time.sleep(1000)",
        "say({'id': 3, 'method': 'ask'}); time.sleep(1000)",
        "say({'id': params['call'], 'result': 'x' * 1000_000})",
    ] {
        // Nobody is answered before all eight are there, and the others wait for ever.
        let yard = together(
            &format!(
                "def answer(params):\n    if params['input'] == 'd':\n        \
                 while len(open('calls').readlines()) < 8:\n            time.sleep(0.01)\n        \
                 open('dead', 'w').close()\n        {deed}\n    \
                 if not os.path.exists('dead'):\n        time.sleep(1000)\n    return params['input'].upper()"
            ),
            json!({ "concurrency": 8 }),
        );
        let ends = yard.ask_all(&INPUTS);
        for (input, end) in INPUTS.iter().zip(ends) {
            match (*input, end) {
                ("d", end) => {
                    let failure = end.expect_err("it is to blame");
                    told.push(failure.message);
                }
                (input, end) => assert_eq!(end.expect(deed), input.to_uppercase()),
            }
        }
        let notices = yard.notices("asked_alone");
        told.push(notices[0].clone());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    the worker was lost during the call: it ended with exit code 9
    calls were asked again alone, since they were in company when something went wrong, which tells nothing of each: 8 in all. The first reason: the worker was lost during the call: it ended with exit code 9
    the worker was lost during the call: it answered with the id of another call
    calls were asked again alone, since they were in company when something went wrong, which tells nothing of each: 8 in all. The first reason: the worker was lost during the call: it answered with the id of another call
    the worker was lost during the call: it sent a request of its own
    calls were asked again alone, since they were in company when something went wrong, which tells nothing of each: 8 in all. The first reason: the worker was lost during the call: it sent a request of its own
    it sent a line that is longer than `max_output_bytes` allows (1000 bytes)
    calls were asked again alone, since they were in company when something went wrong, which tells nothing of each: 8 in all. The first reason: it sent a line that is longer than `max_output_bytes` allows (1000 bytes)
    ");
}

#[test]
fn a_second_answer_to_a_call_is_not_taken_for_that_of_another_one() {
    let yard = together(
        "def answer(params):\n    if params['input'] == 'a':\n        \
         while len(open('calls').readlines()) < 8:\n            time.sleep(0.01)\n        \
         say({'id': params['call'], 'result': 'first'})\n        open('said', 'w').close()\n        return 'second'\n    \
         if not os.path.exists('said'):\n        time.sleep(1000)\n    return params['input'].upper()",
        json!({ "concurrency": 8 }),
    );
    let ends = all(yard.ask_all(&INPUTS));
    assert_eq!(ends, ["first", "B", "C", "D", "E", "F", "G", "H"]);
    assert_eq!(yard.notices("asked_alone").len(), 1);
}

#[test]
fn a_call_without_an_answer_costs_the_others_of_its_process_nothing() {
    let yard = together_within(
        "def answer(params):\n    time.sleep(1000 if params['input'] == 'd' else 0.05)\n    return params['input'].upper()",
        json!({ "concurrency": 8 }),
        Duration::from_millis(1500),
    );
    let ends = yard.ask_all(&INPUTS);
    let mut failed = ends.iter().filter_map(|end| end.as_ref().err());
    assert_eq!(
        failed.next().map(|failure| &failure.kind),
        Some(&FailureKind::Timeout)
    );
    assert_eq!(failed.next(), None);
    // It alone was asked twice, the second time alone.
    assert_eq!(yard.lines("calls").len(), INPUTS.len() + 1);
    insta::assert_snapshot!(redacted(&yard.notices("asked_alone")[0]), @"calls were asked again alone, since they were in company when something went wrong, which tells nothing of each: 1 in all. The first reason: it was stopped after [SECONDS] s, which is what `timeout_s` allows");
    yard.all_dead("started");
}

#[test]
fn an_error_is_that_of_its_call_and_what_was_printed_meanwhile_stays_with_it() {
    let yard = together(
        "def answer(params):\n    time.sleep(0.1)\n    if params['input'] == 'c':\n        \
         print('no luck', file=sys.stderr, flush=True)\n        \
         say({'id': params['call'], 'error': {'code': 75, 'message': 'busy'}})\n        time.sleep(1000)\n    \
         return params['input'].upper()",
        json!({ "concurrency": 8 }),
    );
    for (input, end) in INPUTS.iter().zip(yard.ask_all(&INPUTS)) {
        match end {
            Ok(end) => assert_eq!(end, input.to_uppercase()),
            Err(failure) => {
                assert_eq!((*input, failure.kind), ("c", FailureKind::ErrorAnswer(75)));
                assert_eq!(failure.stderr, "no luck");
            }
        }
    }
    assert_eq!(yard.lines("started").len(), 1);
}

#[test]
fn a_process_with_several_calls_is_replaced_after_its_number_and_when_it_holds_too_much() {
    let yard = together(
        "def answer(params):\n    time.sleep(0.02)\n    return str(os.getpid())",
        json!({ "concurrency": 4, "recycle_after": 6 }),
    );
    let inputs: Vec<&str> = INPUTS.into_iter().cycle().take(24).collect();
    let ends = all(yard.ask_all(&inputs));
    let processes: BTreeSet<&String> = ends.iter().collect();
    assert_eq!(processes.len(), 4);
    for process in processes {
        assert_eq!(ends.iter().filter(|end| *end == process).count(), 6);
    }
    // The others wait for the one that grows. Its process may be stopped while it grows, so that they are told before.
    let yard = together(
        "kept = []\ndef answer(params):\n    if params['input'] == 'd':\n        \
         open('grown', 'w').close()\n        kept.append(b'x' * 300_000_000)\n        time.sleep(1000)\n    \
         if not os.path.exists('grown'):\n        time.sleep(1000)\n    return params['input'].upper()",
        json!({ "concurrency": 8, "max_memory_mb": 200 }),
    );
    for (input, end) in INPUTS.iter().zip(yard.ask_all(&INPUTS)) {
        match end {
            Ok(end) => assert_eq!(end, input.to_uppercase()),
            Err(failure) => {
                assert_eq!(*input, "d");
                assert!(failure.message.contains("200 MiB"), "{failure:?}");
            }
        }
    }
}

#[test]
fn a_stopped_run_ends_all_calls_of_a_process_and_later_ones() {
    let yard = together(
        "def answer(params):\n    time.sleep(1000)",
        json!({ "concurrency": 8 }),
    );
    thread::scope(|scope| {
        let asking = scope.spawn(|| yard.ask_all(&INPUTS));
        while yard.lines("calls").len() < INPUTS.len() {
            thread::sleep(Duration::from_millis(5));
        }
        yard.interrupt.trip();
        let ends = all(asking.join().expect("no panic"));
        assert_eq!(ends, ["interrupted"; 8]);
    });
    assert_eq!(yard.ask("late").expect("no failure"), "interrupted");
    assert_eq!(yard.all_dead("started"), 1);
}

#[test]
fn waiting_calls_go_in_one_message_and_each_result_goes_to_its_own_call() {
    let yard = lists(
        "import random\ndef answers(calls):\n    given = each(calls)\n    random.shuffle(given)\n    return given",
        json!({ "batch": 4 }),
    );
    let ends = all(yard.ask_all(&INPUTS));
    assert_eq!(ends, ["A", "B", "C", "D", "E", "F", "G", "H"]);
    let sizes: Vec<usize> = yard
        .lines("calls")
        .iter()
        .map(|line| line.split(' ').count())
        .collect();
    assert_eq!(sizes.iter().sum::<usize>(), 8);
    assert!(sizes.iter().all(|size| *size <= 4), "{sizes:?}");
    all(yard.ask_row(&INPUTS));
    let rows = yard.lines("calls");
    assert_eq!(rows[rows.len() - 2..], ["a b c d", "e f g h"]);
    assert!(yard.target.notices().is_empty());
    // One that has no company does not wait for any.
    assert_eq!(yard.ask("x").expect("answered"), "X");
}

#[test]
fn an_error_of_one_call_of_a_list_is_its_own() {
    let yard = lists(
        "def answers(calls):\n    error = {'code': 75, 'message': 'busy'}\n    \
         return [{'call': one['call'], 'error': error} if one['input'] == 'c' else each([one])[0] for one in calls]",
        json!({ "batch": 8 }),
    );
    for (input, end) in INPUTS.iter().zip(yard.ask_row(&INPUTS)) {
        match end {
            Ok(end) => assert_eq!(end, input.to_uppercase()),
            Err(failure) => {
                assert_eq!((*input, failure.kind), ("c", FailureKind::ErrorAnswer(75)));
            }
        }
    }
    assert_eq!(yard.lines("calls").len(), 1);
}

#[test]
fn a_list_with_other_answers_than_it_was_asked_for_fails_with_all_its_calls() {
    let mut told = Vec::new();
    for given in [
        "each(calls)[:-1]",
        "each(calls) + [{'call': 'x', 'result': 1}]",
        "each(calls)[:-1] + [{'call': 'x', 'result': 1}]",
        "each(calls)[:-1] + each(calls)[:1]",
        "[{'result': 1}] * 8",
        "'x'",
    ] {
        let yard = lists(
            &format!("def answers(calls):\n    return {given}"),
            json!({ "batch": 8 }),
        );
        for end in yard.ask_row(&INPUTS) {
            let failure = end.expect_err(given);
            assert_eq!(failure.kind, FailureKind::WorkerLost);
            told.push(failure.message.to_string());
        }
        assert_eq!(yard.lines("calls").len(), 1, "{given}");
    }
    told.dedup();
    insta::assert_snapshot!(told.join("\n"), @"
    the worker was lost during the call: it answered a list of 8 calls with one of 7 that are not the same ones
    the worker was lost during the call: it answered a list of 8 calls with one of 9 that are not the same ones
    the worker was lost during the call: it answered a list of 8 calls with one of 8 that are not the same ones
    the worker was lost during the call: it answered one call of a list twice
    the worker was lost during the call: it answered a list of calls with an answer that names no `call`
    the worker was lost during the call: it answered a list of calls with no list of objects
    ");
}

#[test]
fn a_list_that_was_lost_or_refused_as_a_whole_is_asked_again_one_by_one() {
    let mut told = Vec::new();
    for (deed, kind) in [
        ("os._exit(9)", FailureKind::WorkerLost),
        (
            "return {'code': 7, 'message': 'cannot read it'}",
            FailureKind::ErrorAnswer(7),
        ),
    ] {
        let yard = lists(
            &format!(
                "def answers(calls):\n    if any(one['input'] == 'd' for one in calls):\n        {deed}\n    return each(calls)"
            ),
            json!({ "batch": 8 }),
        );
        for (input, end) in INPUTS.iter().zip(yard.ask_row(&INPUTS)) {
            match (*input, end) {
                ("d", end) => assert_eq!(end.expect_err(deed).kind, kind),
                (input, end) => assert_eq!(end.expect(deed), input.to_uppercase()),
            }
        }
        let notices = yard.notices("asked_alone");
        told.push(notices[0].clone());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    calls were asked again alone, since they were in company when something went wrong, which tells nothing of each: 8 in all. The first reason: the worker was lost during the call: it ended with exit code 9
    calls were asked again alone, since they were in company when something went wrong, which tells nothing of each: 8 in all. The first reason: it answered a list with an error, 7: cannot read it
    ");
}

/// A worker that serves a Python function of `app.py` with these bounds.
fn python(module: &str, mut settings: Value, timeout: Duration) -> Yard {
    settings["function"] = json!("app:decide");
    settings["interpreter"] = json!(python::path());
    Yard::with_jobs(
        &Address::of("python", settings),
        &[("app.py", module)],
        timeout,
        1,
    )
}

fn python_together(module: &str) -> Yard {
    let settings = json!({ "concurrency": 8 });
    python(module, settings, Duration::from_secs(20))
}

#[test]
fn an_async_function_has_several_calls_under_way_on_one_loop() {
    let yard = python_together(
        "import asyncio\nhere = 0\nall = None\nasync def decide(text):\n    global here, all\n    all = all or asyncio.Event()\n    \
         here += 1\n    if here == 8:\n        all.set()\n    await asyncio.wait_for(all.wait(), 15)\n    \
         if text == 'c':\n        raise ValueError('not c')\n    print('done', text)\n    return text.upper()",
    );
    for (input, end) in INPUTS.iter().zip(yard.ask_all(&INPUTS)) {
        match end {
            Ok(end) => assert_eq!(
                end,
                format!(r#"{{"decision": "{}"}}"#, input.to_uppercase())
            ),
            Err(failure) => {
                assert_eq!(*input, "c");
                assert!(failure.message.contains("ValueError: not c"), "{failure:?}");
                assert!(failure.stderr.contains("in decide"), "{failure:?}");
            }
        }
    }
    assert!(yard.target.notices().is_empty());
}

#[test]
fn a_call_that_blocks_the_loop_is_told_from_those_that_wait_behind_it() {
    let module = "import asyncio, time\nasync def decide(text):\n    if text == 'd':\n        time.sleep(1000)\n    \
                  await asyncio.sleep(0.1)\n    return text.upper()";
    let yard = python(
        module,
        json!({ "concurrency": 8 }),
        Duration::from_millis(1500),
    );
    for (input, end) in INPUTS.iter().zip(yard.ask_all(&INPUTS)) {
        match (*input, end) {
            ("d", end) => assert_eq!(end.expect_err("it hangs").kind, FailureKind::Timeout),
            (input, end) => assert!(end.expect(input).contains(&input.to_uppercase())),
        }
    }
}

#[test]
fn objects_of_frameworks_are_asked_by_their_async_methods_and_an_ordinary_function_is_refused() {
    for object in [
        "class Chain:\n    def invoke(self, input):\n        1 / 0\n    async def ainvoke(self, input):\n        return input.upper()\n",
        "class Chain:\n    def query(self, input):\n        1 / 0\n    async def aquery(self, input):\n        return input.upper()\n",
        "class Chain:\n    async def __call__(self, input):\n        return input.upper()\n",
    ] {
        let yard = python_together(&format!("{object}decide = Chain()\n"));
        let ends = all(yard.ask_all(&INPUTS));
        assert_eq!(ends[7], r#"{"decision": "H"}"#, "{object}");
    }
    let yard = python_together("def decide(text):\n    return text\n");
    let failure = yard.ask("a").expect_err("refused");
    insta::assert_snapshot!(failure.message.replace(python::path(), "[PYTHON]"), @"the worker `app:decide` by `[PYTHON]` cannot answer: `app:decide` is no `async def`, and `concurrency: 8` needs one: calls of an ordinary function cannot be under way at the same time in one process. Leave out `concurrency`; `jobs` says how many processes there are");
}

#[test]
fn a_function_gets_a_list_of_inputs_and_returns_a_list_of_as_many_answers() {
    let batch = |module: &str| {
        let settings = json!({ "batch": 8 });
        python(module, settings, Duration::from_secs(20))
    };
    for module in [
        "def decide(texts):\n    return [text.upper() for text in texts]\n",
        "def decide(inputs, model='small'):\n    return [text.upper() for text in inputs]\n",
        "def decide(paths):\n    return tuple(open(path).read().upper() for path in paths)\n",
        "async def decide(texts):\n    return [text.upper() for text in texts]\n",
        "class Chain:\n    def invoke(self, input):\n        1 / 0\n    def ainvoke(self, input):\n        1 / 0\n    \
         def batch(self, inputs, return_exceptions):\n        return [input.upper() for input in inputs]\ndecide = Chain()\n",
    ] {
        let ends = all(batch(module).ask_row(&INPUTS));
        assert_eq!(ends[7], r#"{"decision": "H"}"#, "{module}");
    }
    // An exception in the list is the error of its input, and so is what JSON does not know.
    let yard = batch(
        "def decide(texts):\n    open('calls', 'a').write('x\\n')\n    \
         return [ValueError('not c') if text == 'c' else object() if text == 'd' else text for text in texts]\n",
    );
    for (input, end) in INPUTS.iter().zip(yard.ask_row(&INPUTS)) {
        match end {
            Ok(end) => assert_eq!(end, format!(r#"{{"decision": "{input}"}}"#)),
            Err(failure) => match *input {
                "c" => assert!(failure.message.contains("ValueError: not c"), "{failure:?}"),
                _ => assert!(failure.message.contains("object"), "{input}: {failure:?}"),
            },
        }
    }
    assert_eq!(yard.lines("calls").len(), 1);
    let mut told = Vec::new();
    for returned in ["texts[:-1]", "'x'", "None"] {
        let yard = batch(&format!("def decide(texts):\n    return {returned}\n"));
        for end in yard.ask_row(&INPUTS) {
            let failure = end.expect_err(returned);
            told.push(failure.message.to_string());
        }
    }
    told.dedup();
    insta::assert_snapshot!(told.join("\n"), @"
    it answered with an error: `app:decide` got a list of 8 inputs, and returned no list of as many answers: found 7 of them
    it answered with an error: `app:decide` got a list of 8 inputs, and returned no list of as many answers: found str
    it answered with an error: `app:decide` got a list of 8 inputs, and returned no list of as many answers: found NoneType
    ");
    // What fails as a whole is asked one by one.
    let yard = batch(
        "def decide(texts):\n    return [text.upper() if text != 'd' else 1 / 0 for text in texts]\n",
    );
    for (input, end) in INPUTS.iter().zip(yard.ask_row(&INPUTS)) {
        assert_eq!(end.is_err(), *input == "d");
    }
    assert_eq!(yard.notices("asked_alone").len(), 1);
}
