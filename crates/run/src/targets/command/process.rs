//! Waits for a program on the thread that started it. The thread reads what the program prints, stops the program after
//! its time limit, and ends all of its processes.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::cell::RefCell;
use std::io::{self, PipeReader, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::supervise::{Running, StopOrder, SupervisedProgram};
use super::tail::Sink;
use kelvin_base::failure::FailureKind;
use kelvin_system::signal::{Interrupt, timespec};

/// The time between the request to end (SIGTERM) and SIGKILL. A client needs some time to stop its own work elsewhere,
/// e.g. a container; with a longer time users would have to wait.
const GRACE: Duration = Duration::from_millis(300);
/// How many buffers are read at most after a process has ended: on systems where a descendant can escape, it may still
/// write.
const LAST_READS: usize = 64;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 * 1024]);
}

/// How a process ended.
#[derive(Debug)]
pub(super) enum ProcessEnd {
    /// The process ended by itself, within its time limit.
    Exited(ExitStatus),
    /// The process was stopped after its time limit.
    TimedOut,
    /// The process was stopped because the run was interrupted.
    Interrupted,
}

/// A running program. When the value is dropped, everything that the program has started is killed.
pub(super) struct ProgramCall {
    running: Running,
    /// Whether its standard output is read by this program.
    prints: bool,
}

impl ProgramCall {
    /// Starts a program whose standard input is a file or empty. Its standard output goes to another file, or is read
    /// by this program.
    pub(super) fn start(
        program: &SupervisedProgram,
        input: Option<OwnedFd>,
        output: Option<OwnedFd>,
    ) -> io::Result<Self> {
        Ok(Self {
            prints: output.is_none(),
            running: Running::start(program, [input, output, None])?,
        })
    }

    /// Waits until the process itself ends, even if other processes still hold its standard streams. Afterwards none of
    /// the processes that it started is left.
    pub(super) fn watch(
        mut self,
        timeout: Duration,
        interrupt: &Interrupt,
        stdout: &mut dyn Sink,
        stderr: &mut dyn Sink,
    ) -> io::Result<ProcessEnd> {
        let [output, errors] = self.running.printed();
        let mut streams = [
            self.prints.then_some(Stream {
                from: output,
                sink: stdout,
            }),
            Some(Stream {
                from: errors,
                sink: stderr,
            }),
        ];
        let mut deadline = Instant::now() + timeout;
        let mut stopped = None;
        let mut stop = StopOrder::Ask;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                stopped.get_or_insert(ProcessEnd::TimedOut);
                self.running.stop(stop)?;
                stop = StopOrder::Kill;
                deadline = Instant::now() + GRACE;
                continue;
            }
            let interrupt = stopped.is_none().then(|| interrupt.fd());
            let woken = wait(self.running.fd()?, left, interrupt, &streams)?;
            for (stream, ready) in streams.iter_mut().zip(woken.streams) {
                if ready && stream.as_mut().is_some_and(|stream| !stream.read()) {
                    *stream = None;
                }
            }
            if woken.ended {
                break;
            }
            if woken.interrupted {
                stopped = Some(ProcessEnd::Interrupted);
                deadline = Instant::now();
            }
        }
        let mut is_read = true;
        for stream in streams.iter_mut().flatten() {
            is_read &= stream.read_the_rest();
        }
        if !is_read {
            self.running.be_the_last();
        }
        let status = self.running.end();
        match stopped {
            // An error about a process that cannot be killed is more important than the fact that it was stopped.
            Some(stopped) => status.map(|_| stopped),
            None => status.map(ProcessEnd::Exited),
        }
    }
}

/// Waits until the process ends or prints something, or until the run is stopped.
fn wait(
    end: BorrowedFd<'_>,
    most: Duration,
    interrupt: Option<BorrowedFd<'_>>,
    streams: &[Option<Stream<'_>>; 2],
) -> io::Result<Woken> {
    let [stdout, stderr] = streams.each_ref().map(|s| s.as_ref().map(Stream::fd));
    let watched = [Some(end), interrupt, stdout, stderr];
    let mut fds: Vec<PollFd<'_>> = watched
        .iter()
        .flatten()
        .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
        .collect();
    match poll(&mut fds, Some(&timespec(most))) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut seen = fds.iter().map(|fd| !fd.revents().is_empty());
    let [ended, interrupted, stdout, stderr] =
        watched.map(|fd| fd.is_some() && seen.next().unwrap_or(false));
    Ok(Woken {
        ended,
        interrupted,
        streams: [stdout, stderr],
    })
}

struct Woken {
    ended: bool,
    interrupted: bool,
    streams: [bool; 2],
}

/// A standard stream of a process, and the buffer for its text.
struct Stream<'a> {
    from: &'a PipeReader,
    sink: &'a mut dyn Sink,
}

impl Stream<'_> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }

    /// Reads once from a stream that is ready. Returns whether there may be more.
    fn read(&mut self) -> bool {
        BUFFER.with_borrow_mut(|buffer| match self.from.read(buffer) {
            Ok(0) => false,
            Ok(read) => {
                self.sink.push(&buffer[..read]);
                true
            }
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
        })
    }

    /// Reads the available bytes without waiting for more. Returns whether the stream has no more bytes.
    fn read_the_rest(&mut self) -> bool {
        for _ in 0..LAST_READS {
            let mut fds = [PollFd::from_borrowed_fd(self.fd(), PollFlags::IN)];
            let ready = poll(&mut fds, Some(&timespec(Duration::ZERO)));
            if !matches!(ready, Ok(1)) || !self.read() {
                return matches!(ready, Ok(0 | 1));
            }
        }
        false
    }
}

/// The kind of the failure of a process that has ended by itself.
pub(in crate::targets) fn how(status: ExitStatus) -> FailureKind {
    match status.code() {
        Some(code) => FailureKind::Exit(code),
        None => FailureKind::Signal(status.signal().unwrap_or(0)),
    }
}

/// The message for a process that ended by itself, with an exit code or by a signal.
pub(in crate::targets) fn ended(kind: &FailureKind) -> String {
    match kind {
        FailureKind::Exit(126) => {
            "it ended with exit code 126: a command was found that cannot be executed".to_owned()
        }
        FailureKind::Exit(127) => "it ended with exit code 127: a command was not found".to_owned(),
        FailureKind::Exit(code) => format!("it ended with exit code {code}"),
        FailureKind::Signal(signal) => match signal_hook::low_level::signal_name(*signal) {
            Some("SIGKILL") => {
                "SIGKILL ended it; the system does so where memory runs out".to_owned()
            }
            Some(name) => format!("{name} ended it"),
            None => format!("signal {signal} ended it"),
        },
        _ => "it wrote no output that could be read".to_owned(),
    }
}

/// The message for a program that could not be started.
pub(in crate::targets) fn not_started(program: &str, error: &io::Error) -> String {
    // The message leaves out the number that the standard library adds.
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "; is it installed, and is its path right?",
        io::ErrorKind::PermissionDenied => "; is it executable?",
        // ENOEXEC: the system does not know the format, as with a script without an interpreter.
        _ if error.raw_os_error() == Some(8) => "; does it begin with a `#!` line?",
        _ => "",
    };
    format!("`{program}` could not be started: {reason}{hint}")
}

/// The message for a process that took longer than allowed.
pub(in crate::targets) fn timed_out(timeout: Duration) -> String {
    format!(
        "it was stopped after {} s, which is what `timeout_s` allows",
        timeout.as_secs_f64()
    )
}

/// Whether processes end in this way when a person stops them: by a signal, or with the exit code by which a shell
/// reports one of the signals 1 to 15.
pub(super) const fn is_of_a_stop(kind: &FailureKind) -> bool {
    matches!(kind, FailureKind::Signal(_) | FailureKind::Exit(129..=143))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::targets::command::tail::{Printed, Tail};

    #[test]
    fn a_panic_kills_the_process_that_was_being_watched() {
        let mut program = SupervisedProgram::new("sh", Path::new("/"));
        program.args(["-c", "echo $$; exec sleep 60"]);
        let call = ProgramCall::start(&program, None, None).expect("started");
        let mut said = [0; 32];
        let [mut output, _] = call.running.printed().each_ref();
        let read = output.read(&mut said);
        let pid = String::from_utf8_lossy(&said[..read.expect("read")]).into_owned();
        let stat = format!("/proc/{}/stat", pid.trim());
        assert!(fs::exists(&stat).expect("asked"), "it runs: {stat}");
        drop(call);
        assert!(!fs::exists(&stat).expect("asked"), "it is gone");
    }

    /// What a program prints, and how it ends.
    fn printed(program: &SupervisedProgram) -> (ProcessEnd, Vec<u8>, String) {
        let (mut stdout, mut stderr) = (Printed::at_most(1 << 24), Tail::default());
        let interrupt = Interrupt::of_process().expect("signals can be heard");
        let call = ProgramCall::start(program, None, None).expect("started");
        let end = call.watch(
            Duration::from_secs(60),
            &interrupt,
            &mut stdout,
            &mut stderr,
        );
        let bytes = stdout.start().bytes;
        (end.expect("watched"), bytes, stderr.text())
    }

    fn shell(script: &str) -> SupervisedProgram {
        let mut program = SupervisedProgram::new("sh", Path::new("/"));
        program.args(["-c", script]);
        program
    }

    #[test]
    fn a_program_gets_nothing_of_what_an_earlier_one_printed_or_did_to_the_same_pipe() {
        let left = shell(
            "head -c 1000000 /dev/zero | tr '\\0' y >&2; (sleep 60; echo late) & echo early; \
             python3 -c 'import fcntl, os; [fcntl.fcntl(n, fcntl.F_SETFL, os.O_NONBLOCK) for n in (1, 2)]'",
        );
        let much = shell("head -c 1000000 /dev/zero | tr '\\0' x; echo end >&2");
        for _ in 0..3 {
            let (end, output, errors) = printed(&left);
            assert!(matches!(end, ProcessEnd::Exited(status) if status.success()));
            assert_eq!(output, b"early\n");
            assert!(errors.ends_with("yyy"), "{}", &errors[errors.len() - 9..]);
            let (_, output, errors) = printed(&much);
            assert_eq!(errors, "end");
            assert_eq!(output.len(), 1_000_000);
            assert!(output.iter().all(|byte| *byte == b'x'));
        }
    }

    #[test]
    fn a_program_has_the_variables_of_this_one_and_its_own_sorted_by_their_names() {
        let mut program = SupervisedProgram::new("env", Path::new("/"));
        program.envs([("KELVIN_SAMPLE", "1=2"), ("HOME", "/home of another")]);
        let (_, output, _) = printed(&program);
        let output = format!("\n{}", String::from_utf8_lossy(&output));
        let path = std::env::var("PATH").expect("it is set");
        for wanted in [
            format!("\nPATH={path}\n"),
            "\nKELVIN_SAMPLE=1=2\n".to_owned(),
            "\nHOME=/home of another\n".to_owned(),
        ] {
            assert!(output.contains(&wanted), "{wanted} in {output}");
        }
        assert_eq!(output.matches("\nHOME=").count(), 1);
        let names = ["\nHOME=", "\nKELVIN_SAMPLE=", "\nPATH="];
        let places = names.map(|name| output.find(name).expect("it is there"));
        assert!(places.is_sorted(), "{output}");
    }

    #[test]
    fn a_program_whose_file_is_still_written_starts_as_soon_as_it_is_closed() {
        let folder = tempfile::tempdir().expect("a folder");
        let tool = folder.path().join("tool");
        fs::write(&tool, "#!/bin/sh\necho started\n").expect("written");
        let may = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&tool, may).expect("changed");
        let file = fs::File::options().append(true).open(&tool).expect("open");
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(file);
        });
        let (end, output, _) = printed(&SupervisedProgram::new(&tool, folder.path()));
        assert!(
            matches!(end, ProcessEnd::Exited(status) if status.success()),
            "{end:?}"
        );
        assert_eq!(String::from_utf8_lossy(&output), "started\n");
        writer.join().expect("it ends");
    }

    #[test]
    fn a_program_without_a_folder_is_looked_for_in_its_own_search_path_and_runs_in_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let tool = folder.path().join("tool-of-the-test");
        fs::write(&tool, "#!/bin/sh\n/bin/pwd\n").expect("written");
        let may = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&tool, may).expect("changed");
        let of = |path: &Path, within: &Path| {
            let mut program = SupervisedProgram::new("tool-of-the-test", within);
            program.envs([("PATH", path)]);
            program
        };
        let within = folder.path().canonicalize().expect("a path");
        let (end, output, _) = printed(&of(folder.path(), &within));
        assert!(matches!(end, ProcessEnd::Exited(status) if status.success()));
        assert_eq!(
            String::from_utf8_lossy(&output).trim(),
            within.display().to_string()
        );
        let missing = within.join("missing");
        for program in [of(&missing, &within), of(&within, &missing)] {
            let interrupt = Interrupt::of_process().expect("signals can be heard");
            let call = ProgramCall::start(&program, None, None).expect("sent");
            let (mut stdout, mut stderr) = (Tail::default(), Tail::default());
            let end = call.watch(
                Duration::from_secs(60),
                &interrupt,
                &mut stdout,
                &mut stderr,
            );
            let error = end.expect_err("it is not there");
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
        }
    }

    #[test]
    fn a_program_runs_in_the_folder_that_has_the_name_now() {
        let around = tempfile::tempdir().expect("a folder");
        let folder = around.path().join("again");
        let mut program = SupervisedProgram::new("touch", &folder);
        program.args(["made"]);
        for _ in 0..4 {
            fs::create_dir(&folder).expect("made");
            let (end, ..) = printed(&program);
            assert!(matches!(end, ProcessEnd::Exited(status) if status.success()));
            assert!(folder.join("made").is_file());
            fs::remove_dir_all(&folder).expect("removed");
        }
    }
}
