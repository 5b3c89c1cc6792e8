//! Stops and ends the descendants of this process. It becomes the parent of each descendant whose own parent has ended,
//! so none can escape.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// The pause after killing: a killed process needs some time to end.
const MOMENT: Duration = Duration::from_millis(2);
/// The longest wait: a process that waits for a device may never end.
const MOST: Duration = Duration::from_secs(5);

/// Kills the descendants of this process. Returns how many are left after some time.
pub(super) fn end() -> usize {
    let begun = Instant::now();
    let mut was_empty = false;
    loop {
        let found = below(&[]);
        // A process whose parent ends while the list is read may be missed once.
        if found.is_empty() && was_empty {
            return 0;
        }
        was_empty = found.is_empty();
        for process in &found {
            let _ = kill_process(*process, Signal::KILL);
        }
        if begun.elapsed() > MOST {
            return found.len();
        }
        sleep(MOMENT);
    }
}

/// Stops the descendants of this process until [`go_on`]. Fails if a process does not stop within some time; then all
/// processes are continued.
pub(super) fn stop() -> io::Result<Vec<Pid>> {
    let begun = Instant::now();
    let mut stopped = Vec::new();
    let mut was_empty = false;
    loop {
        let found = below(&["T", "t"]);
        if found.is_empty() && was_empty {
            return Ok(stopped);
        }
        was_empty = found.is_empty();
        for process in found {
            if kill_process(process, Signal::STOP).is_ok() && !stopped.contains(&process) {
                stopped.push(process);
            }
        }
        if begun.elapsed() > MOST {
            go_on(&stopped);
            return Err(io::ErrorKind::TimedOut.into());
        }
        sleep(MOMENT);
    }
}

/// Continues stopped processes.
pub(super) fn go_on(stopped: &[Pid]) {
    for process in stopped {
        let _ = kill_process(*process, Signal::CONT);
    }
}

/// The descendants of this process that have not ended and are in none of these states.
fn below(but: &[&str]) -> Vec<Pid> {
    let own = getpid();
    let found: HashMap<Pid, ProcessStatus> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter_map(|process| {
            let path = format!("/proc/{}/status", process.as_raw_nonzero());
            let text = fs::read(path).ok()?;
            Some((
                process,
                ProcessStatus::read(&String::from_utf8_lossy(&text))?,
            ))
        })
        .collect();
    let is_below = |process: &Pid| {
        let parent = |process: &Pid| found.get(process)?.parent;
        let mut above = std::iter::successors(parent(process), parent);
        // A list that was read while processes started and ended may contain a cycle.
        above.by_ref().take(found.len()).any(|above| above == own)
    };
    found
        .iter()
        .filter(|(process, status)| {
            let is_left_out = status.has_ended() || but.contains(&&*status.state);
            is_below(process) && !is_left_out
        })
        .map(|(process, _)| *process)
        .collect()
}

/// The status of a process from the system.
#[derive(Debug, PartialEq, Eq)]
struct ProcessStatus {
    state: String,
    parent: Option<Pid>,
}

impl ProcessStatus {
    /// Reads a status. A line break in a name is written escaped.
    fn read(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()
        };
        Some(Self {
            state: field("State:")?.to_owned(),
            parent: Pid::from_raw(field("PPid:")?.parse().ok()?),
        })
    }

    fn has_ended(&self) -> bool {
        matches!(&*self.state, "Z" | "X")
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    #[test]
    fn what_the_system_says_of_a_process_is_read() {
        let text = "Name:\tsh\nState:\tZ (zombie)\nTgid:\t7\nPPid:\t1\n";
        let status = ProcessStatus::read(text).expect("it is whole");
        assert_eq!(status.parent, Pid::from_raw(1));
        assert!(status.has_ended());
        for line in text
            .lines()
            .skip(1)
            .filter(|line| !line.starts_with("Tgid"))
        {
            assert_eq!(ProcessStatus::read(&text.replace(line, "")), None, "{line}");
        }
    }

    #[test]
    fn processes_of_this_one_stop_and_go_on() {
        // Other tests have processes too, which must be left alone, so this test looks for its own.
        let mut child: Child = Command::new("sleep").arg("60").spawn().expect("it starts");
        let pid = Pid::from_child(&child);
        assert!(below(&[]).contains(&pid));
        kill_process(pid, Signal::STOP).expect("sent");
        let begun = Instant::now();
        while below(&["T"]).contains(&pid) {
            assert!(begun.elapsed() < MOST, "it has not stopped");
        }
        go_on(&[pid]);
        while !below(&["T"]).contains(&pid) {
            assert!(begun.elapsed() < MOST, "it does not go on");
        }
        child.kill().expect("sent");
        child.wait().expect("it has ended");
        assert!(!below(&[]).contains(&pid));
    }
}
