//! How much memory a worker and all its descendants use.

/// Whether this system provides the number.
pub(super) const IS_KNOWN: bool = cfg!(target_os = "linux");

/// The bytes of memory that all descendants of a process use. Pages that several of them share count several times.
/// Zero if the number is not available, e.g. because the processes have ended meanwhile.
#[cfg(target_os = "linux")]
pub(super) fn bytes_below(process: u32) -> u64 {
    let mut found = 0;
    let mut processes = children(process);
    while let Some(next) = processes.pop() {
        found += resident(next).unwrap_or(0);
        processes.extend(children(next));
    }
    found
}

/// The children of all threads of a process.
#[cfg(target_os = "linux")]
fn children(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let lists = threads
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let numbers = |list: String| -> Vec<u32> {
        let words = list.split_whitespace();
        words.filter_map(|number| number.parse().ok()).collect()
    };
    lists.flat_map(numbers).collect()
}

#[cfg(target_os = "linux")]
fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Other systems do not provide the number.
#[cfg(not(target_os = "linux"))]
pub(super) fn bytes_below(_: u32) -> u64 {
    0
}
