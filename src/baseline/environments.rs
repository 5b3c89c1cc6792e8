//! The installed packages of a project, for a checkout of its base. Git ignores the folders in which they lie, so that a
//! checkout lacks them, and an installed package may lead back to the code of the change.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::checkout::not_kept;

use kelvin_run::config::Config;
use kelvin_system::git::Repository;

/// The folders with the packages of Python, and those of Node.
const NAMES: [&str; 3] = [".venv", "venv", OF_NODE];
const OF_NODE: &str = "node_modules";
/// A larger file of a program is not one that an installer has written.
const LARGEST: u64 = 1024 * 1024;

/// The top of the work tree, and the top of a checkout.
#[derive(Clone, Copy)]
struct Places<'a> {
    work_tree: &'a Path,
    checkout: &'a Path,
}

/// Whether an environment stands in a folder.
pub(super) fn stand_in(folder: &Path) -> bool {
    NAMES.iter().any(|name| folder.join(name).is_dir())
}

/// Gives a checkout the environments that stand in the work tree. Those that the commit has itself stay. An environment
/// with a file that git keeps is left out: the change may have written it. Fails if the folders cannot be read or
/// written.
pub(crate) fn provide(repo: &Repository, checkout: &Path) -> anyhow::Result<()> {
    let work_tree = repo.workdir().context("the repository has no work tree")?;
    let places = Places {
        work_tree,
        checkout,
    };
    let mut given = false;
    for below in not_kept(repo)? {
        let name = below.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| NAMES.contains(name)) else {
            continue;
        };
        let (here, there) = (work_tree.join(&below), checkout.join(&below));
        let has_folder = there.parent().is_some_and(Path::is_dir);
        if !here.is_dir() || !has_folder || there.symlink_metadata().is_ok() {
            continue;
        }
        let made = match name {
            OF_NODE if leads_back(&here, work_tree) => continue,
            OF_NODE => symlink(&here, &there),
            _ if here.join("pyvenv.cfg").is_file() => environment(&here, &there, places),
            _ => continue,
        };
        made.with_context(|| format!("failed to give the base `{}`", below.display()))?;
        given = true;
    }
    if given {
        exclude(checkout)?;
    }
    Ok(())
}

/// Lets git ignore what was given to a checkout: a pattern for a folder does not fit a link.
fn exclude(checkout: &Path) -> anyhow::Result<()> {
    let info = checkout.join(".git/info");
    fs::create_dir_all(&info)?;
    let file = info.join("exclude");
    let mut text = fs::read_to_string(&file).unwrap_or_default();
    for name in NAMES {
        text.push('\n');
        text.push_str(name);
    }
    text.push('\n');
    fs::write(&file, text).with_context(|| format!("failed to write `{}`", file.display()))
}

/// Whether a package of Node is a link to code of the work tree, as in a workspace of several packages.
fn leads_back(packages: &Path, work_tree: &Path) -> bool {
    let (Ok(packages), Ok(work_tree)) = (packages.canonicalize(), work_tree.canonicalize()) else {
        return true;
    };
    let leads = |entry: &DirEntry| {
        let real = entry.path().canonicalize();
        real.is_ok_and(|real| real.starts_with(&work_tree) && !real.starts_with(&packages))
    };
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    entries(&packages).any(|entry| {
        let is_scope = entry.file_name().as_bytes().starts_with(b"@");
        leads(&entry) || is_scope && entries(&entry.path()).any(|entry| leads(&entry))
    })
}

/// Makes an environment of Python with the same packages, in which everything that leads to code of the work tree leads
/// to that of the checkout: packages that are installed in place, and the programs that start by a path.
fn environment(here: &Path, there: &Path, places: Places<'_>) -> io::Result<()> {
    fs::create_dir(there)?;
    for entry in fs::read_dir(here)? {
        let entry = entry?;
        let (from, to) = (entry.path(), there.join(entry.file_name()));
        if entry.file_type()?.is_symlink() {
            again(&from, &to)?;
        } else if entry.file_name() == "bin" {
            fs::create_dir(&to)?;
            for program in fs::read_dir(&from)? {
                one_file(&program?, &to, places, |_| true)?;
            }
        } else if entry.file_name() == "lib" {
            fs::create_dir(&to)?;
            for version in fs::read_dir(&from)? {
                let version = version?;
                packages(&version.path(), &to.join(version.file_name()), places)?;
            }
        } else {
            symlink(&from, &to)?;
        }
    }
    Ok(())
}

/// The packages of one version of Python.
fn packages(here: &Path, there: &Path, places: Places<'_>) -> io::Result<()> {
    fs::create_dir(there)?;
    for entry in fs::read_dir(here)? {
        let entry = entry?;
        let to = there.join(entry.file_name());
        if entry.file_name() != "site-packages" {
            symlink(entry.path(), &to)?;
            continue;
        }
        fs::create_dir(&to)?;
        for package in fs::read_dir(entry.path())? {
            one_file(&package?, &to, places, leads_to_code)?;
        }
    }
    Ok(())
}

/// Whether an installer writes the place of a package into a file of this name.
fn leads_to_code(name: &[u8]) -> bool {
    name.ends_with(b".pth") || name.starts_with(b"__editable__") && name.ends_with(b".py")
}

/// Links an entry into a folder, or writes it with the paths of the checkout where it names the work tree.
fn one_file(
    entry: &DirEntry,
    into: &Path,
    places: Places<'_>,
    is_rewritten: fn(&[u8]) -> bool,
) -> io::Result<()> {
    let (from, name) = (entry.path(), entry.file_name());
    let to = into.join(&name);
    let about = entry.metadata()?;
    if about.is_symlink() {
        return again(&from, &to);
    }
    if about.is_file() && about.len() <= LARGEST && is_rewritten(name.as_bytes()) {
        let text = fs::read(&from)?;
        if let Some(text) = with_other_paths(&text, places) {
            fs::write(&to, text)?;
            return fs::set_permissions(
                &to,
                fs::Permissions::from_mode(about.permissions().mode()),
            );
        }
    }
    symlink(&from, &to)
}

/// Makes a link again, to the same place.
fn again(from: &Path, to: &Path) -> io::Result<()> {
    let target = fs::read_link(from)?;
    let is_beside = target.components().count() == 1;
    match target.is_absolute() || is_beside {
        true => symlink(target, to),
        false => symlink(from, to),
    }
}

/// A text in which the paths of the work tree are those of the checkout; none if it names none.
fn with_other_paths(text: &[u8], places: Places<'_>) -> Option<Vec<u8>> {
    let real = places.work_tree.canonicalize().ok()?;
    let real = real.as_os_str().as_bytes();
    let mut tops = vec![real];
    let written = places.work_tree.as_os_str().as_bytes();
    let written = written.strip_suffix(b"/").unwrap_or(written);
    if written != real {
        tops.push(written);
    }
    let mut out = Vec::new();
    let mut is_other = false;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let top = tops.iter().find(|top| names(rest, top));
        if let Some(top) = top {
            out.extend_from_slice(places.checkout.as_os_str().as_bytes());
            at += top.len();
            is_other = true;
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    is_other.then_some(out)
}

/// Whether a text begins with a path, and not with that of a neighbour with a longer name.
fn names(text: &[u8], path: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(path) else {
        return false;
    };
    let goes_on = |next: &u8| next.is_ascii_alphanumeric() || b"_-.".contains(next);
    !rest.first().is_some_and(goes_on)
}

/// The variables with the folders in which programs look for code.
const SEARCH_PATHS: [&str; 2] = ["PYTHONPATH", "NODE_PATH"];

/// Why the base would run the code of the change: a variable names a folder of this work tree, or a Python of the machine
/// has a package installed in place from it. None if nothing leads there. Environments below the work tree do not count:
/// [`provide`] turns them.
pub(crate) fn leads_to_the_change(config: &Config, work_tree: &Path) -> Option<String> {
    named_in_a_variable(work_tree).or_else(|| installed_in_place(config, work_tree))
}

fn named_in_a_variable(work_tree: &Path) -> Option<String> {
    let top = work_tree.canonicalize().ok()?;
    let is_of_the_change = |folder: &PathBuf| {
        let real = folder.canonicalize();
        folder.is_absolute() && real.is_ok_and(|real| real.starts_with(&top))
    };
    SEARCH_PATHS.into_iter().find_map(|name| {
        let value = std::env::var_os(name)?;
        let folder = std::env::split_paths(&value).find(is_of_the_change)?;
        Some(format!(
            "the base cannot be measured beside the change: `{name}` names `{}`, a folder of this work tree, so that the \
             code of the change would answer for the base. Write it relative to the folder of the configuration, or compare \
             with a stored report (`baseline.compute: false`)",
            folder.display()
        ))
    })
}

fn installed_in_place(config: &Config, work_tree: &Path) -> Option<String> {
    let places = Places {
        work_tree,
        checkout: Path::new("/"),
    };
    for target in config.targets() {
        let Ok(launch) = target.look_up(&config.root) else {
            continue;
        };
        let (Some(program), Some(found)) = (launch.program, launch.found) else {
            continue;
        };
        // A path below the work tree is one below the checkout there.
        if program.contains('/') && !Path::new(&program).is_absolute() {
            continue;
        }
        let leads = |file: &PathBuf| {
            let text = fs::read(file).unwrap_or_default();
            with_other_paths(&text, places).is_some()
        };
        if let Some(file) = of_installers(&found).find(leads) {
            return Some(format!(
                "the base cannot be measured beside the change: `{program}` has a package that is installed in place from \
                 this work tree (`{}`), so that the code of the change would answer for the base. Install it in `.venv` \
                 here or without `-e`, or compare with a stored report (`baseline.compute: false`)",
                file.display()
            ));
        }
    }
    None
}

/// The files in which installers write the places of packages, for the Python to which a program belongs.
fn of_installers(program: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let prefix = program.parent().and_then(Path::parent);
    let local = prefix.map(|prefix| prefix.join("local"));
    let user = std::env::var_os("HOME").map(|home| Path::new(&home).join(".local"));
    let prefixes = prefix.map(Path::to_path_buf).into_iter();
    let prefixes = prefixes.chain(local).chain(user);
    let versions = prefixes.flat_map(move |prefix| entries(prefix.join("lib")));
    let versions = versions.filter(|entry| entry.file_name().as_bytes().starts_with(b"python3"));
    let folders = versions.flat_map(|version| {
        ["site-packages", "dist-packages"].map(|name| version.path().join(name))
    });
    let files = folders.flat_map(entries);
    files
        .filter(|file| leads_to_code(file.file_name().as_bytes()))
        .map(|file| file.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_work_tree_become_those_of_the_checkout_and_those_of_a_neighbour_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let work_tree = folder.path().canonicalize().expect("there").join("shop");
        fs::create_dir(&work_tree).expect("made");
        let places = Places {
            work_tree: &work_tree,
            checkout: Path::new("/base"),
        };
        let turned = |text: &str| {
            let text = text.replace("TOP", &work_tree.display().to_string());
            let turned = with_other_paths(text.as_bytes(), places)?;
            Some(String::from_utf8(turned).expect("text"))
        };
        for (text, expected) in [
            ("TOP/src\n", Some("/base/src\n")),
            ("#!TOP/.venv/bin/python", Some("#!/base/.venv/bin/python")),
            (
                "{'a': 'TOP', 'b': 'TOP/b'}",
                Some("{'a': '/base', 'b': '/base/b'}"),
            ),
            ("TOP-2/src\nTOP2/src\nTOP.old", None),
            ("/elsewhere/src", None),
        ] {
            assert_eq!(turned(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn packages_of_node_that_are_links_to_code_of_the_work_tree_lead_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path();
        let packages = top.join("node_modules");
        for made in [
            "node_modules/.bin",
            "node_modules/plain",
            "node_modules/@own",
            "packages/one",
        ] {
            fs::create_dir_all(top.join(made)).expect("made");
        }
        symlink("plain", packages.join("again")).expect("linked");
        assert!(!leads_back(&packages, top));
        symlink("../../packages/one", packages.join("@own/one")).expect("linked");
        assert!(leads_back(&packages, top));
    }
}
