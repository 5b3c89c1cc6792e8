//! The questions of `kelvin init` in a real terminal, and every way in which somebody may leave them.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::project::{GROUNDED, Project};

/// Only a program that hangs takes this long: a loaded machine may need a minute for what it measures meanwhile.
const PATIENCE: Duration = Duration::from_secs(180);

/// A program on a terminal of its own, which the test types into.
pub(crate) struct Typist {
    /// The other end; none once the terminal is closed.
    keyboard: Option<File>,
    is_closed: Arc<AtomicBool>,
    screen: Arc<Mutex<String>>,
    child: Child,
}

impl Typist {
    pub(crate) fn start(project: &Project, arguments: &str) -> Self {
        Self::of_command(project, &format!("init {arguments}"))
    }

    /// Types into a command.
    pub(crate) fn of_command(project: &Project, command: &str) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
        // Were the other end inherited, the terminal would never be closed.
        let controller = controller.expect("a terminal");
        grantpt(&controller).expect("granted");
        unlockpt(&controller).expect("unlocked");
        let name = ptsname(&controller, Vec::new()).expect("its name");
        let open = || -> Stdio {
            let path = name.to_str().expect("text");
            let file = OpenOptions::new().read(true).write(true).open(path);
            Stdio::from(OwnedFd::from(file.expect("the terminal opens")))
        };
        // `setsid --ctty` makes it the terminal that a hang-up is told of. Under `nohup` the tests themselves ignore it, and
        // so would every program that they start.
        let line = format!("exec env --default-signal=HUP setsid --ctty kelvin {command}");
        let child = project
            .pasted(&line)
            .env("TERM", "xterm")
            .stdin(open())
            .stdout(open())
            .stderr(open())
            .spawn()
            .expect("a shell");
        let keyboard = File::from(controller);
        let mut from = keyboard.try_clone().expect("a second end");
        let screen: Arc<Mutex<String>> = Arc::default();
        let shown = Arc::clone(&screen);
        let is_closed: Arc<AtomicBool> = Arc::default();
        let closed = Arc::clone(&is_closed);
        // A terminal that nobody reads stops who writes to it. Its last end has to go where it is closed.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            let tick = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: 10_000_000,
            };
            while !closed.load(Ordering::SeqCst) {
                let mut ends = [PollFd::new(&from, PollFlags::IN)];
                if poll(&mut ends, Some(&tick)) == Ok(0) {
                    continue;
                }
                match from.read(&mut bytes) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => {
                        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                        shown.lock().expect("nobody panics").push_str(&text);
                    }
                }
            }
        });
        Self {
            keyboard: Some(keyboard),
            is_closed,
            screen,
            child,
        }
    }

    fn shown(&self) -> String {
        self.screen.lock().expect("nobody panics").clone()
    }

    /// Waits for a question, and types.
    #[track_caller]
    pub(crate) fn answer(&mut self, question: &str, keys: &str) {
        let start = Instant::now();
        while !self.shown().contains(question) {
            assert!(
                start.elapsed() < PATIENCE,
                "no `{question}`: {}",
                self.shown()
            );
            thread::sleep(Duration::from_millis(10));
        }
        let keyboard = self.keyboard.as_mut().expect("it is open");
        keyboard.write_all(keys.as_bytes()).expect("typed");
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("an id");
        kill_process(Pid::from_raw(id).expect("an id"), signal).expect("sent");
    }

    /// How it ended, and all that was shown.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("it is a child") {
                Some(status) => break status,
                None => thread::sleep(Duration::from_millis(10)),
            }
            if start.elapsed() > PATIENCE {
                let _ = self.child.kill();
                panic!("it goes on: {}", self.shown());
            }
        };
        // What is still on its way to the screen.
        thread::sleep(Duration::from_millis(100));
        (status.code(), self.shown())
    }
}

const COMMAND: &str = "sh pipeline.sh {input} {output}";

fn project() -> Project {
    let project = Project::in_folder("it's my project", GROUNDED);
    std::fs::remove_file(project.path("kelvin.yaml")).expect("removed");
    project
}

/// Answers one question, and comes to the next.
fn begun(project: &Project) -> Typist {
    let mut typist = Typist::start(project, "");
    typist.answer(
        "Which command runs your pipeline? ",
        &format!("{COMMAND}\r"),
    );
    typist.answer("Which folder or file holds the cases? [cases] ", "");
    typist
}

/// The command that a stopped one has printed has the answers, and goes on with the questions that are left.
#[track_caller]
fn finish(project: &Project, shown: &str) {
    let line = shown
        .lines()
        .find_map(|line| line.strip_prefix("next, with the answers so far: kelvin init"));
    let arguments = line.expect("it is told");
    assert_eq!(arguments, format!(" '--run={COMMAND}'"));
    let mut typist = Typist::start(project, arguments);
    typist.answer("Which folder or file holds the cases? [cases] ", "\r");
    typist.answer("to see its output? (yes or no) [yes] ", "no\r");
    typist.answer("decision", "decision\r");
    typist.answer("with commas between them)", "4\r");
    let (code, shown) = typist.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(project.read("kelvin.yaml").contains(COMMAND));
    project.kelvin(&["check"]).expect(0);
}

#[test]
fn five_answers_lead_to_a_first_true_report() {
    let project = project();
    let mut typist = begun(&project);
    typist.answer("[cases] ", "\r");
    typist.answer("to see its output? (yes or no) [yes] ", "\r");
    typist.answer("with commas between them)", "4\r");
    typist.answer("Measure all 4 cases now, with at least ", "\r");
    let (code, shown) = typist.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("Grounded"), "{shown}");
    let report = project.json("kelvin/report.json");
    assert_eq!(report["metrics"]["evidence.invariance"]["value"], 1.0);
}

#[test]
fn ctrl_c_and_ctrl_d_print_the_command_with_the_answers() {
    for key in ["\u{3}", "\u{4}"] {
        let project = project();
        let before = files(&project);
        let mut typist = begun(&project);
        typist.answer("[cases] ", key);
        let (code, shown) = typist.end();
        assert_eq!(code, Some(130), "{shown}");
        assert!(shown.contains("stopped"), "{shown}");
        assert_eq!(files(&project), before);
        finish(&project, &shown);
    }
}

#[test]
fn signals_and_a_closed_terminal_leave_everything_as_it_was() {
    for signal in [
        Some(Signal::TERM),
        Some(Signal::HUP),
        Some(Signal::INT),
        None,
    ] {
        let project = project();
        let before = files(&project);
        let mut typist = begun(&project);
        match signal {
            Some(signal) => typist.signal(signal),
            None => {
                typist.is_closed.store(true, Ordering::SeqCst);
                typist.keyboard = None;
            }
        }
        let (code, shown) = typist.end();
        assert_eq!(code, Some(130), "{signal:?}: {shown}");
        assert_eq!(files(&project), before);
        if signal.is_some() {
            finish(&project, &shown);
        }
    }
}

#[test]
fn where_nothing_was_answered_no_command_is_printed() {
    let project = project();
    let mut typist = Typist::start(&project, "");
    // A key that was deleted is no answer either.
    typist.answer("Which command runs your pipeline? ", "x\u{7f}\u{4}");
    let (code, shown) = typist.end();
    assert_eq!(code, Some(130), "{shown}");
    assert!(
        shown.ends_with("stopped; nothing was written\r\n"),
        "{shown}"
    );
}

/// The terminal edits a line at its end. An arrow would go into the answer unseen.
#[test]
fn a_key_that_writes_no_sign_is_no_part_of_an_answer() {
    let project = project();
    let mut typist = Typist::start(&project, "");
    let question = "Which command runs your pipeline? ";
    typist.answer(question, &format!("{COMMAND}\u{1b}[D\r"));
    typist.answer("type the line anew", &format!("{COMMAND} x\u{7f}\u{7f}\r"));
    typist.answer("[cases] ", "\u{4}");
    let (_, shown) = typist.end();
    finish(&project, &shown);
}

/// Every file of a project.
fn files(project: &Project) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![project.path("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("listed") {
            let path = entry.expect("listed").path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}
