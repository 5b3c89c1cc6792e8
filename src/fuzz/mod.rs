//! What the fuzzer calls, one function for each kind of file that comes from outside. Each takes any bytes, and
//! panics where the reader breaks a promise: not only where it crashes, but also where it reads something that is
//! not what the file says. `fuzz/` has the programs around them; the tests here take the seeds of the repository
//! through the same functions, without a fuzzer.

mod archive;
mod case;
mod configuration;
mod report;
mod run;

use std::cell::RefCell;
use std::fs;
use std::path::Path;

pub use archive::archive;
pub use case::case;
pub use configuration::configuration;
pub use report::report;
pub use run::run;

/// Writes the bytes to a file of that name and hands on its path: some readers take files only. The folder is
/// made once for a thread, and goes with it.
fn with_file<T>(name: &str, bytes: &[u8], then: impl FnOnce(&Path) -> T) -> T {
    thread_local! {
        static FOLDER: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
    }
    FOLDER.with_borrow_mut(|folder| {
        let folder = folder.get_or_insert_with(|| tempfile::tempdir().expect("a folder"));
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        let result = then(&path);
        fs::remove_file(&path).expect("removed");
        result
    })
}

#[cfg(test)]
mod tests;
