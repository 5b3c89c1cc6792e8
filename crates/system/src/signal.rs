//! The request to stop the program. SIGINT, SIGTERM and SIGHUP set a flag, and make a descriptor
//! readable, so that a thread that waits in `poll` wakes up.

use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether a signal has requested a stop. Once it is set, it stays set.
#[derive(Debug)]
pub struct Interrupt {
    tripped: Arc<AtomicBool>,
    /// Readable from the first signal on; it is never read, so that every poller sees it.
    watched: UnixStream,
    trigger: UnixStream,
}

impl Interrupt {
    /// An interrupt that no signal triggers.
    fn new() -> anyhow::Result<Self> {
        let (trigger, watched) = UnixStream::pair().context("failed to make a signal pipe")?;
        Ok(Self {
            tripped: Arc::default(),
            watched,
            trigger,
        })
    }

    /// An interrupt for a test, which the signals of the process do not trigger.
    pub fn apart() -> Arc<Self> {
        Arc::new(Self::new().expect("a socket pair"))
    }

    /// The interrupt that the signals of this process trigger. The first call installs the handlers.
    pub fn of_process() -> anyhow::Result<Arc<Self>> {
        static INSTALLED: OnceLock<Arc<Interrupt>> = OnceLock::new();
        if let Some(interrupt) = INSTALLED.get() {
            return Ok(Arc::clone(interrupt));
        }
        let interrupt = INSTALLED.get_or_init({
            let interrupt = Arc::new(Self::new()?);
            || interrupt
        });
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // A run under `nohup` has to outlive its terminal.
            if signal == SIGHUP && ignored(SIGHUP) != Some(false) {
                continue;
            }
            interrupt.listen(signal)?;
        }
        Ok(Arc::clone(interrupt))
    }

    fn listen(&self, signal: i32) -> anyhow::Result<()> {
        // Handlers run in the order in which they are registered, so a thread that the pipe wakes finds the flag set.
        signal_hook::flag::register(signal, Arc::clone(&self.tripped))
            .and_then(|_| signal_hook::low_level::pipe::register(signal, self.trigger.try_clone()?))
            .context("failed to listen to signals")?;
        Ok(())
    }

    /// Triggers the interrupt without a signal.
    pub fn trip(&self) {
        use std::io::Write as _;
        self.tripped.store(true, Ordering::SeqCst);
        (&self.trigger)
            .write_all(b"x")
            .expect("somebody holds the other end");
    }

    /// Whether a signal has requested a stop.
    pub fn tripped(&self) -> bool {
        self.tripped.load(Ordering::SeqCst)
    }

    /// A descriptor that is readable once a signal has requested a stop.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.watched.as_fd()
    }

    /// Sleeps until the time is over or a signal requests a stop. Returns whether it slept to the end.
    pub fn sleep(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            if self.tripped() {
                return false;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let mut fds = [PollFd::from_borrowed_fd(self.fd(), PollFlags::IN)];
            // The loop checks the clock and the flag again, for any result of the poll.
            let _ = poll(&mut fds, Some(&timespec(left)));
        }
    }
}

/// From now on a signal that requests a stop ends the current wait instead of the process, so that a prompt can restore
/// the terminal.
///
/// # Errors
///
/// Fails if the handlers cannot be installed.
pub fn heed() -> anyhow::Result<()> {
    Interrupt::of_process().map(|_| ())
}

/// Waits until a terminal has input. Returns false if a signal requested a stop, or if the terminal is gone. A signal
/// that arrives while no thread waits is not missed.
pub fn can_read(file: BorrowedFd<'_>) -> bool {
    let Ok(interrupt) = Interrupt::of_process() else {
        return true;
    };
    loop {
        if interrupt.tripped() {
            return false;
        }
        let mut fds = [
            PollFd::from_borrowed_fd(interrupt.fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(file, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) if fds[0].revents().is_empty() => {
                return !fds[1].revents().intersects(PollFlags::HUP | PollFlags::ERR);
            }
            // The flag is set before the descriptor becomes readable, so the next round sees it.
            Ok(_) | Err(Errno::INTR) => {}
            // The reader will get the error itself.
            Err(_) => return true,
        }
    }
}

/// Sleeps until the time is over or a signal requests a stop. Returns whether it slept to the end.
pub fn rest(time: Duration) -> bool {
    match Interrupt::of_process() {
        Ok(interrupt) => interrupt.sleep(time),
        Err(_) => {
            std::thread::sleep(time);
            true
        }
    }
}

/// A duration in the form that `poll` takes.
pub fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time).unwrap_or(Timespec {
        tv_sec: i32::MAX.into(),
        tv_nsec: 0,
    })
}

/// Whether a signal was ignored when the process began; none if the system does not report it.
fn ignored(signal: i32) -> Option<bool> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_sleep_ends_with_the_interruption() {
        let interrupt = Interrupt::apart();
        assert!(interrupt.sleep(Duration::from_millis(1)));
        let start = Instant::now();
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| interrupt.sleep(Duration::from_secs(60)));
            thread::sleep(Duration::from_millis(20));
            interrupt.trip();
            assert!(!sleeper.join().expect("no panic"));
        });
        assert!(start.elapsed() < Duration::from_secs(30));
        assert!(interrupt.tripped());
    }
}
