//! The questions of `kelvin init` in a real terminal, and every way in which somebody may leave them.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::project::{GROUNDED, Project};

/// A program on a terminal of its own, which the test types into.
struct Typist {
    /// The other end; none once the terminal is closed.
    keyboard: Option<File>,
    is_closed: Arc<AtomicBool>,
    screen: Arc<Mutex<String>>,
    child: Child,
}

impl Typist {
    fn start(project: &Project, arguments: &str) -> Self {
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
        let line = format!("exec env --default-signal=HUP setsid --ctty kelvin init {arguments}");
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
    fn answer(&mut self, question: &str, keys: &str) {
        let start = Instant::now();
        while !self.shown().contains(question) {
            assert!(
                start.elapsed() < Duration::from_secs(30),
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
    fn end(mut self) -> (Option<i32>, String) {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("it is a child") {
                Some(status) => break status,
                None => thread::sleep(Duration::from_millis(10)),
            }
            if start.elapsed() > Duration::from_secs(30) {
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
    typist.answer("Which folder holds the cases? [cases] ", "");
    typist
}

/// Goes on with what is left of the questions, and has a configuration that works.
fn finish(project: &Project) {
    let mut typist = Typist::start(project, "");
    typist.answer("Go on where you stopped? (yes or no) [yes] ", "\r");
    typist.answer("Which folder holds the cases? [cases] ", "\r");
    typist.answer("to see its output? (yes or no) [yes] ", "no\r");
    typist.answer("decision", "decision\r");
    typist.answer("with commas between them)", "4\r");
    typist.answer("Keep the output folder out of git", "no\r");
    typist.answer("Write GitHub workflows", "no\r");
    let (code, shown) = typist.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        !shown.contains("Which command"),
        "it was answered before: {shown}"
    );
    assert!(project.read("kelvin.yaml").contains(COMMAND));
    assert!(!project.path(".kelvin").exists(), "it is done");
    project.kelvin(&["check"]).expect(0);
}

/// What is kept after each ending, and for nobody else.
#[track_caller]
fn is_kept(project: &Project) {
    assert!(!project.path("kelvin.yaml").exists());
    let kept = project.json(".kelvin/init.json");
    assert_eq!(kept["run"], COMMAND);
    assert_eq!(kept["command"], format!("kelvin init '--run={COMMAND}'"));
    let path = project.path(".kelvin/init.json");
    let mode = std::fs::metadata(path).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Nor does git take it in, which everybody reads.
    let rules = project.read(".kelvin/.gitignore");
    assert!(rules.lines().any(|line| line == "/init.json"), "{rules}");
}

#[test]
fn ctrl_c_and_ctrl_d_keep_the_answers_and_print_the_command() {
    for key in ["\u{3}", "\u{4}"] {
        let project = project();
        let mut typist = begun(&project);
        typist.answer("[cases] ", key);
        let (code, shown) = typist.end();
        assert_eq!(code, Some(130), "{shown}");
        assert!(
            shown.contains("stopped; nothing was written but the answers"),
            "{shown}"
        );
        let line = shown
            .lines()
            .find_map(|line| line.strip_prefix("next, with the answers so far: "));
        assert_eq!(line, Some(&*format!("kelvin init '--run={COMMAND}'")));
        is_kept(&project);
        finish(&project);
    }
}

#[test]
fn signals_and_a_closed_terminal_keep_the_answers() {
    for signal in [
        Some(Signal::TERM),
        Some(Signal::HUP),
        Some(Signal::INT),
        None,
    ] {
        let project = project();
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
        is_kept(&project);
        finish(&project);
    }
}

#[test]
fn nothing_is_kept_where_nothing_was_answered_and_damage_is_told() {
    let project = project();
    let mut typist = Typist::start(&project, "");
    typist.answer("Which command runs your pipeline? ", "\u{4}");
    let (code, shown) = typist.end();
    assert_eq!(code, Some(130), "{shown}");
    assert!(
        shown.contains("stopped; nothing was written\r\n"),
        "{shown}"
    );
    assert!(!project.path(".kelvin").exists());
    project.write(".kelvin/init.json", "{\"run\": 7}\n");
    let mut typist = Typist::start(&project, "");
    typist.answer("Which command runs your pipeline? ", "x\u{7f}\u{4}");
    let (_, shown) = typist.end();
    assert!(
        shown.contains("are damaged, so every question is asked"),
        "{shown}"
    );
    // Whoever says no is asked everything, and what was kept stays until something else is.
    project.write(".kelvin/init.json", "{\"run\": \"old\"}\n");
    let mut typist = Typist::start(&project, "");
    typist.answer("Go on where you stopped?", "no\r");
    typist.answer(
        "Which command runs your pipeline? ",
        &format!("{COMMAND}\r"),
    );
    typist.answer("[cases] ", "\u{3}");
    typist.end();
    is_kept(&project);
    // Flags say it all, so nothing is offered.
    let said = project
        .kelvin(&["init", "--yes", "--run", COMMAND])
        .expect(0);
    assert!(!said.stdout.contains("Go on"), "{}", said.stdout);
    assert!(!project.path(".kelvin").exists());
}

/// A long line that is corrected in its middle, over more than one row of the screen.
#[test]
fn a_long_answer_is_edited_where_the_mistake_is() {
    let project = project();
    let mut typist = Typist::start(&project, "");
    let long = format!("{COMMAND} {}", "word ".repeat(40));
    let left = "\u{1b}[D".repeat(long.len() - 2);
    // The `h` of `sh` was forgotten.
    let typed = long.replacen("sh ", "s ", 1);
    typist.answer(
        "Which command runs your pipeline? ",
        &format!("{typed}{left}h\r"),
    );
    typist.answer("[cases] ", "\u{4}");
    typist.end();
    let kept = project.json(".kelvin/init.json");
    assert_eq!(kept["run"].as_str().map(str::trim), Some(long.trim()));
}
