//! Runs the script that prepares the machine for the pipeline, before the measurement.

use std::io::{self, PipeReader, Read as _, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, poll};

use super::supervise::{Running, StopOrder, SupervisedProgram};
use kelvin_base::exit::Misuse;
use kelvin_system::signal::Interrupt;

/// How long the printed text of the script is still read after its end. A process that the script leaves behind may
/// keep the stream open.
const MOMENT: Duration = Duration::from_millis(200);

/// Runs a script in a folder with bash, which stops at the first command that fails. The script prints to the streams
/// of this program. Processes that it leaves running, e.g. a server, continue until [`super::dismiss`], but their
/// output is no longer shown.
///
/// # Errors
///
/// A [`Misuse`] if the exit code is not 0.
pub fn setup(script: &str, folder: &Path) -> anyhow::Result<()> {
    let status =
        run(script, folder).context("failed to start `bash`, which `setup` is run with")?;
    let how = match (status.code(), status.signal()) {
        (Some(0), _) => return Ok(()),
        (Some(code), _) => format!("with {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "unexpectedly".to_owned(),
    };
    Err(Misuse::new(format!("`setup` ended {how}"))
        .help("its output is above; nothing was measured")
        .into())
}

fn run(script: &str, folder: &Path) -> anyhow::Result<ExitStatus> {
    let interrupt = Interrupt::of_process()?;
    let mut program = SupervisedProgram::new("bash", folder);
    program.args(["-eo", "pipefail", "-c", script]).lasting();
    let (stdout, output) = io::pipe()?;
    let (stderr, errors) = io::pipe()?;
    let running = Running::start(&program, [None, Some(output.into()), Some(errors.into())])?;
    let is_heard = Arc::new(AtomicBool::new(true));
    let (ended, ends) = channel();
    hear(stdout, io::stdout(), (&is_heard, ended.clone()));
    hear(stderr, io::stderr(), (&is_heard, ended));
    let mut fds = [
        PollFd::from_borrowed_fd(running.fd()?, PollFlags::IN),
        PollFd::from_borrowed_fd(interrupt.fd(), PollFlags::IN),
    ];
    while fds[0].revents().is_empty() {
        // The loop checks everything again, for any result of the poll.
        let _ = poll(&mut fds, None);
        if !fds[1].revents().is_empty() {
            running.stop(StopOrder::Kill)?;
            break;
        }
    }
    let status = running.end()?;
    for _ in 0..2 {
        let _ = ends.recv_timeout(MOMENT);
    }
    is_heard.store(false, Ordering::Release);
    Ok(status)
}

/// Forwards a stream as long as `is_heard` is set. It always reads the stream to its end, because a process that writes
/// to a closed stream is killed.
fn hear(
    mut from: PipeReader,
    mut to: impl Write + Send + 'static,
    (is_heard, ended): (&Arc<AtomicBool>, Sender<()>),
) {
    let is_heard = Arc::clone(is_heard);
    thread::spawn(move || {
        let mut bytes = [0; 8192];
        loop {
            match from.read(&mut bytes) {
                Ok(0) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
                // A log reader that no longer reads does not mean that the script failed.
                Ok(read) if is_heard.load(Ordering::Acquire) => {
                    let _ = to.write_all(&bytes[..read]).and_then(|()| to.flush());
                }
                Ok(_) => {}
            }
        }
        let _ = ended.send(());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_stops_at_the_first_failure_and_says_how_it_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        setup("touch first", folder.path()).expect("it ended well");
        let error = setup("false | true; touch second", folder.path()).expect_err("it failed");
        insta::assert_snapshot!(error.to_string(), @"
        `setup` ended with 1
          help: its output is above; nothing was measured
        ");
        let error = setup("kill -9 $$", folder.path()).expect_err("it was killed");
        assert!(error.to_string().contains("signal 9"), "{error}");
        assert!(folder.path().join("first").exists());
        assert!(!folder.path().join("second").exists());
    }

    #[test]
    fn what_a_setup_leaves_running_goes_on_and_may_still_print() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "(while sleep 0.1; do echo; date >> beats; done) & echo $! > pid";
        setup(script, folder.path()).expect("it ended well");
        let length = || std::fs::metadata(folder.path().join("beats")).map_or(0, |file| file.len());
        let before = length();
        thread::sleep(Duration::from_millis(500));
        assert!(length() > before, "it has ended");
        let pid = std::fs::read_to_string(folder.path().join("pid")).expect("written");
        let kill = std::process::Command::new("kill").arg(pid.trim()).status();
        assert!(kill.expect("it runs").success());
    }
}
