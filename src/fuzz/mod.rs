//! The functions that the fuzzer calls, one for each kind of file from outside. Each takes any bytes, and panics where
//! the reader breaks a promise: not only where it crashes, but also where it reads something that the file does not
//! say. `fuzz/` has the programs around these functions; the tests here pass the seeds of the repository to them,
//! without a fuzzer.

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

/// Writes the bytes to a file of that name and passes its path to `then`: some readers take files only. The folder is
/// made once for each thread, and removed when the thread ends.
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
