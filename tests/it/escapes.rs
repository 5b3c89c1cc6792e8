//! Processes that do all they can to outlive their call. Each asks a server for something again and again, as
//! a client does that pays for it: when all is over nothing lives, and the server is asked no more.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::project::Project;

/// Asks the server until somebody stops it.
const ASK: &str = r#"
while :; do
  { exec 3<>"/dev/tcp/127.0.0.1/$1" && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && exec 3>&-; } 2>/dev/null
  sleep 0.02
done
"#;

/// Every way out that we know: how a pipeline starts `$ASK`, a command that asks for ever.
const WAYS: &[(&str, &str)] = &[
    ("in the background", "$ASK &"),
    ("a session of its own", "setsid $ASK &"),
    ("a session and another process", "setsid -f $ASK"),
    ("nohup", "nohup $ASK > /dev/null 2>&1 &"),
    ("a double fork", "( ( setsid $ASK & ) & )"),
    ("a group of its own", "bash -m -c \"$ASK & exit\""),
    (
        "without its environment",
        "setsid env -i $(command -v setsid) -f $ASK",
    ),
    (
        "without its streams",
        "setsid -f $ASK < /dev/null > /dev/null 2>&1",
    ),
    (
        "deaf to signals",
        "setsid -f bash -c \"trap '' TERM INT HUP QUIT USR1 USR2; $ASK\"",
    ),
    (
        "a deep chain",
        "eval \"$(printf 'setsid -f %.0s' $(seq 20)) $ASK\"",
    ),
    (
        "started again by its parent",
        "setsid -f bash -c \"while :; do $ASK; done\"",
    ),
    (
        "started again by its children",
        "setsid -f bash -c \"trap '' TERM; for i in 1 2 3 4 5; do (while :; do setsid -f $ASK; sleep 5; done) & done; wait\"",
    ),
    (
        "a terminal of its own",
        "script -qfc \"$ASK\" /dev/null > /dev/null 2>&1 &",
    ),
    (
        "a service",
        "start-stop-daemon --start --background --pidfile $PWD/pid --make-pidfile --startas $(command -v bash) -- ${ASK#bash }",
    ),
    (
        "a name that looks like a state",
        "cp \"$(command -v bash)\" './a) S 1 ('; setsid -f './a) S 1 (' ${ASK#bash }",
    ),
    ("a time limit of its own", "setsid timeout 1000 $ASK &"),
    (
        "stopped",
        "setsid -f bash -c \"$ASK & sleep 0.1; kill -STOP \\$! \\$\\$\"",
    ),
    (
        "another user",
        "setsid -f setpriv --reuid 65534 --clear-groups $ASK || setsid -f $ASK",
    ),
    (
        "a namespace of its own",
        "unshare -p -f setsid -f $ASK & sleep 0.05; setsid -f $ASK",
    ),
    (
        "a daemon by the book",
        "python - 'os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0)
os.chdir(\"/\"); os.umask(0); os.closerange(0, 256)
os.execvp(ask[0], ask)'",
    ),
    (
        "a process that changes its number",
        "python - 'import time
os.spawnvp(os.P_NOWAIT, ask[0], ask)
while True:
    if os.fork(): os._exit(0)
    os.setsid(); time.sleep(0.002)'",
    ),
    (
        "below a reaper of its own",
        "python - 'import ctypes
os.fork() and os._exit(0)
os.setsid(); ctypes.CDLL(None).prctl(36, 1)
if os.fork(): os.wait(); os.wait()
elif os.fork() == 0: os.setsid(); os.execvp(ask[0], ask)'",
    ),
    (
        "a leader that leaves its group",
        "python - 'os.spawnvp(os.P_NOWAIT, ask[0], ask); os.setpgid(0, os.getpgid(os.getppid()))'",
    ),
];

/// What a pipeline does before it is at its end.
const PYTHON: &str = r#"
python() { /usr/bin/python3 -c "import os, sys; ask = sys.argv[1:]
$2" $ASK; }
"#;

/// A server that counts who asks.
struct Server {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let asked = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
                let _ = stream.and_then(|mut s| s.write_all(b"HTTP/1.0 200 OK\r\n\r\n"));
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// How often it was asked in all, also by whoever is dead by now but waited to be let in: connections are
    /// taken in the order in which they were made, so that all before this one are counted when it is answered.
    fn asked_until_now(&self) -> usize {
        let mut own = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        own.read_to_end(&mut Vec::new()).expect("it is answered");
        self.asked.fetch_sub(1, Ordering::SeqCst) - 1
    }
}

/// A pipeline of one case whose first call lets something out and then does what is given.
fn project(way: &str, then: &str, port: u16) -> Project {
    let project = Project::new("");
    for case in ["birch", "cedar", "dogwood"] {
        fs::remove_file(project.path(&format!("cases/{case}.md"))).expect("removed");
    }
    project.write("ask.sh", ASK);
    let ask = project.path("ask.sh").display().to_string();
    project.write(
        "pipeline.sh",
        &format!(
            "ASK='bash {ask} {port}'\n{PYTHON}\nif [ ! -e escaped ]; then\n: > escaped\n{way}\n{then}\n\
             else pgrep -f \"^[^ ]*bash {ask}\" >> met\nfi\nprintf '{{\"decision\": \"go\"}}' > \"$2\"\n"
        ),
    );
    project
}

/// The command lines of what lives and names the folder of a project, or works there.
fn alive(project: &Project) -> Vec<String> {
    let root = project.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("listed").flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let works = fs::read_link(entry.path().join("cwd"))
            .is_ok_and(|cwd| cwd.display().to_string().starts_with(root));
        if !line.is_empty() && (works || line.contains(root)) {
            found.push(format!("{:?} {line}", entry.file_name()));
        }
    }
    found
}

/// Nothing lives after two seconds, and nobody asks any more.
fn is_over(way: &str, project: &Project, server: &Server) -> Result<(), String> {
    let asked = server.asked();
    if asked == 0 {
        return Err(format!("{way}: it never asked, so the test says nothing"));
    }
    let begun = Instant::now();
    loop {
        let alive = alive(project);
        if alive.is_empty() {
            break;
        }
        if begun.elapsed() > Duration::from_secs(2) {
            for line in &alive {
                let pid: String = line.chars().filter(char::is_ascii_digit).take(9).collect();
                let _ = Command::new("kill")
                    .args(["-9", &pid])
                    .stderr(Stdio::null())
                    .status();
            }
            return Err(format!("{way}: these live: {alive:#?}"));
        }
        sleep(Duration::from_millis(10));
    }
    let asked = server.asked_until_now();
    sleep(Duration::from_millis(200));
    match server.asked_until_now() - asked {
        0 => Ok(()),
        more => Err(format!("{way}: the server was asked {more} times more")),
    }
}

/// Takes every way to an end, a few at a time.
fn each_way(then: &str, end: impl Fn(&Project, &Server) -> Result<(), String> + Sync) {
    let wrong: Vec<String> = WAYS
        .chunks(4)
        .flat_map(|ways| {
            thread::scope(|scope| {
                let tries: Vec<_> = ways
                    .iter()
                    .map(|(name, way)| {
                        let end = &end;
                        scope.spawn(move || {
                            let server = Server::start();
                            let project = project(way, then, server.port);
                            end(&project, &server)
                                .map_err(|error| format!("{name}: {error}"))
                                .and_then(|()| is_over(name, &project, &server))
                        })
                    })
                    .collect();
                tries
                    .into_iter()
                    .filter_map(|tried| tried.join().expect("no panic").err())
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        WAYS.len(),
        wrong.join("\n")
    );
}

/// Starts a check, alone in its group, and waits until what has got out asks.
fn started(project: &Project, server: &Server) -> Result<Child, String> {
    let mut child = project
        .command(&["check"])
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let begun = Instant::now();
    while server.asked() == 0 {
        if begun.elapsed() > Duration::from_secs(30) {
            child.kill().expect("it can be stopped");
            child.wait().expect("it ends");
            return Err("it never asked".to_owned());
        }
        sleep(Duration::from_millis(5));
    }
    Ok(child)
}

fn signalled(
    project: &Project,
    server: &Server,
    words: &[&str],
    to_group: bool,
) -> Result<(), String> {
    let mut child = started(project, server)?;
    let pid = match to_group {
        true => format!("-{}", child.id()),
        false => child.id().to_string(),
    };
    let sent = Command::new("kill").args(words).args(["--", &pid]).status();
    assert!(sent.expect("kill starts").success());
    child.wait().expect("it ends");
    Ok(())
}

/// The pipeline goes on until it is stopped.
const STAY: &str = "sleep 1000";

#[test]
fn nothing_outlives_its_call() {
    each_way("sleep 0.3", |project, _| {
        let said = project.kelvin(&["check"]);
        if said.code != Some(0) {
            return Err(format!("{:?}: {}", said.code, said.stderr));
        }
        match project.read("met").as_str() {
            "" => Ok(()),
            met => Err(format!("later calls have met it: {met}")),
        }
    });
}

#[test]
fn nothing_outlives_the_time_limit_of_its_call() {
    each_way(STAY, |project, _| {
        project.config("timeout_s: 2\n");
        let said = project.kelvin(&["check"]);
        match said.stderr.contains(" 2 s") || said.stdout.contains(" 2 s") {
            true => Ok(()),
            false => Err(format!("{:?}: {}{}", said.code, said.stdout, said.stderr)),
        }
    });
}

#[test]
fn nothing_outlives_a_run_that_is_asked_to_stop() {
    each_way(STAY, |project, server| {
        signalled(project, server, &["-TERM"], false)
    });
}

#[test]
fn nothing_outlives_a_run_that_is_killed() {
    each_way(STAY, |project, server| {
        signalled(project, server, &["-KILL"], false)
    });
}

#[test]
fn nothing_outlives_a_run_whose_whole_group_is_killed() {
    each_way(STAY, |project, server| {
        signalled(project, server, &["-KILL"], true)
    });
}
