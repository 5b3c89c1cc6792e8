//! Everything outside its code that the command of a pipeline uses: programs, their interpreters and packages, and
//! files that the command names. Git knows none of them, and another version may answer differently.

mod named;
mod programs;

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use crate::targets::Address;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::packages;
pub(super) use named::files_of_project;
use named::{Named, content};

/// The digest of each program and file by name, as far as it can be known without starting a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    /// The programs that are started, and the files that the command itself names.
    parts: BTreeMap<String, Digest>,
    /// The files that scripts name. A run may write some of them, so an interrupted run ignores changes of them.
    of_scripts: BTreeMap<String, Digest>,
}

impl Tools {
    /// The tools of a pipeline whose configuration is in `root`, and of the script that prepares the machine. If globs
    /// define the files of the pipeline, they also decide about the files that the command names.
    pub(super) fn of(
        target: &Address,
        root: &Path,
        names_files: bool,
        setup: Option<&str>,
    ) -> Self {
        let text = target.line();
        let (mut named, mut of_scripts) = (Named::of(root), Named::of(root));
        let mut programs = programs::programs_of_command(target, root);
        let mut parts = BTreeMap::new();
        let mut read = |text: &str| {
            if names_files {
                for script in named.command(text) {
                    of_scripts.script(&script);
                    if script.is_of_a_shell {
                        programs.extend(programs::of_script(&script.text, root));
                    }
                }
            }
        };
        read(&text);
        for (name, value) in variables(&text) {
            read(&value);
            let shown = format!("the variable `{name}` that the command names");
            parts.insert(shown, Digest::of(value.as_bytes()));
        }
        named.files(setup.unwrap_or_default());
        parts.extend(named.found());
        parts.extend(installed(root));
        for program in programs {
            if let Some(content) = content(&program) {
                let shown = program.strip_prefix(root).unwrap_or(&program);
                parts.insert(format!("the program `{}`", shown.display()), content);
            }
            for package in programs::packages(&program) {
                let package = String::from_utf8_lossy(&package).into_owned();
                let digest = Digest::of(package.as_bytes());
                parts.insert(format!("the package `{package}`"), digest);
            }
        }
        Self {
            parts,
            of_scripts: of_scripts.found(),
        }
    }

    /// The digest of all tools.
    pub(super) fn digest(&self) -> Digest {
        digest(self.parts.iter().chain(&self.of_scripts))
    }

    /// The digest of the tools that must be unchanged so that an interrupted run can continue.
    pub(super) fn lasting(&self) -> Digest {
        digest(self.parts.iter())
    }

    /// The tools by name, each with a short digest.
    pub(super) fn listed(&self) -> impl Iterator<Item = (String, String)> {
        let parts = self.parts.iter();
        parts.map(|(name, digest)| (name.clone(), digest.short(8)))
    }
}

fn digest<'a>(parts: impl Iterator<Item = (&'a String, &'a Digest)>) -> Digest {
    let fields = Fields::of("kelvin/tools/v2");
    parts
        .fold(fields, |fields, (name, digest)| {
            fields.field(name, digest.bytes())
        })
        .digest()
}

/// The variables in a command, with their values. Variables with secrets are left out: they change from time to time
/// although the answers do not, and a weak secret could be guessed from its digest.
fn variables(text: &str) -> BTreeMap<String, String> {
    let gives_access = |name: &str| {
        let name = name.to_ascii_uppercase();
        let words = [
            "AUTH",
            "CREDENTIAL",
            "DSN",
            "KEY",
            "PASS",
            "SECRET",
            "TOKEN",
        ];
        words.iter().any(|word| name.contains(word))
    };
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let named = text.split('$').skip(1).map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.split(|letter| !is_part(letter))
            .next()
            .unwrap_or_default()
    });
    let named = named.filter(|name| !name.is_empty() && !gives_access(name));
    named
        .filter_map(|name| Some((name.to_owned(), env::var(name).ok()?)))
        .collect()
}

/// The files that list the installed packages, in the folder of the configuration and above it within the repository,
/// including those that git ignores.
fn installed(root: &Path) -> BTreeMap<String, Digest> {
    let top = root
        .ancestors()
        .position(|folder| folder.join(".git").exists());
    let mut installed = BTreeMap::new();
    for (above, folder) in root.ancestors().take(top.unwrap_or(0) + 1).enumerate() {
        // In `node_modules`, npm lists what it has installed; git ignores that file.
        let lists = packages::LISTS.iter().map(|(name, _)| *name);
        for name in lists.chain(["requirements.txt", "node_modules/.package-lock.json"]) {
            // The path is relative to the project, which may be checked out anywhere.
            let shown = format!("`{}{name}`", "../".repeat(above));
            installed.extend(content(&folder.join(name)).map(|digest| (shown, digest)));
        }
    }
    installed
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Makes a folder with everything that a digest may depend on, and returns the digest.
    fn of(run: &str, change: impl Fn(&Path)) -> Digest {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, text).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
        };
        write("opt/bin/python3.11", "the interpreter");
        write(
            "opt/lib/python3.11/site-packages/one-1.0.dist-info/METADATA",
            "",
        );
        write(
            "venv/lib/python3.11/site-packages/two-1.0.dist-info/METADATA",
            "",
        );
        write("venv/pyvenv.cfg", "");
        fs::create_dir_all(root.join("venv/bin")).expect("made");
        symlink("../../opt/bin/python3.11", root.join("venv/bin/python")).expect("linked");
        write("weights.bin", "1");
        write("run.py", "#!venv/bin/python -u\nprint(1)\n");
        write("node_modules/.package-lock.json", "{}");
        write("unrelated", "1");
        write("data/deep/facts.txt", "1");
        write("data/__pycache__/x.pyc", "1");
        write("answers/.kelvin-run", "");
        write("answers/report.json", "1");
        write("uv.lock", "1");
        write("setup.sh", "1");
        write(
            "read.sh",
            "cat unread.txt\ncat x > calls; echo >>'calls2'; date >> run.log\ngrep -r x \"data/deep/$1\" aside/*.txt answers/\n./helper\n",
        );
        write("unread.txt", "1");
        write("aside/one.txt", "1");
        write("helper", "1");
        write("calls", "1");
        write("calls2", "1");
        write("run.log", "1");
        change(root);
        Tools::of(&Address::command(run), root, true, None).digest()
    }

    #[test]
    fn whatever_the_command_starts_or_names_tells() {
        let nothing = |_: &Path| {};
        let write = |name: &'static str, text: &'static str| {
            move |root: &Path| fs::write(root.join(name), text).expect("written")
        };
        let made = |name: &'static str| {
            move |root: &Path| {
                fs::create_dir_all(root.join(name)).expect("made");
            }
        };
        for run in [
            "venv/bin/python run.py --weights=weights.bin {input} {output}",
            "./run.py --weights 'weights.bin' {input} {output}",
            "venv/bin/python run.py < weights.bin > {output}",
        ] {
            let before = of(run, nothing);
            assert_eq!(of(run, nothing), before, "{run}");
            assert_eq!(of(run, write("unrelated", "2")), before, "{run}");
            for (what, after) in [
                (
                    "the interpreter",
                    of(run, write("opt/bin/python3.11", "another")),
                ),
                ("a file", of(run, write("weights.bin", "2"))),
                (
                    "npm",
                    of(run, write("node_modules/.package-lock.json", "[]")),
                ),
                (
                    "a package",
                    of(
                        run,
                        made("venv/lib/python3.11/site-packages/new-2.dist-info"),
                    ),
                ),
                (
                    "one below",
                    of(
                        run,
                        made("opt/lib/python3.11/site-packages/new-2.dist-info"),
                    ),
                ),
            ] {
                assert_ne!(after, before, "{run}: {what}");
            }
        }
    }

    #[test]
    fn a_folder_that_the_command_names_and_what_a_script_names_tell() {
        let nothing = |_: &Path| {};
        let write = |name: &'static str| {
            move |root: &Path| fs::write(root.join(name), "another").expect("written")
        };
        let folder = "cat --from data ./answers . .. / < {input} > {output}";
        let script = "sh read.sh {input} {output}";
        for (run, tells, does_not) in [
            (
                folder,
                &["data/deep/facts.txt", "uv.lock"][..],
                &["data/__pycache__/x.pyc", "answers/report.json", "unrelated"][..],
            ),
            (
                script,
                &[
                    "unread.txt",
                    "data/deep/facts.txt",
                    "aside/one.txt",
                    "helper",
                    "read.sh",
                ],
                &[
                    "answers/report.json",
                    "unrelated",
                    "setup.sh",
                    "calls",
                    "calls2",
                    "run.log",
                ],
            ),
        ] {
            let before = of(run, nothing);
            for name in tells {
                assert_ne!(of(run, write(name)), before, "{run}: {name}");
            }
            for name in does_not {
                assert_eq!(of(run, write(name)), before, "{run}: {name}");
            }
        }
    }

    #[test]
    fn every_program_of_a_line_tells_and_so_do_the_setup_and_a_variable() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::write(root.join("install.sh"), "1").expect("written");
        let of =
            |run: &str, setup: Option<&str>| Tools::of(&Address::command(run), root, true, setup);
        let names = |tools: &Tools| tools.listed().map(|(name, _)| name).collect::<Vec<_>>();
        for run in [
            "cd . && sort {input} | cut -c1 > {output}",
            "env A=1 nice cut {input} $(sort {output})",
        ] {
            let names = names(&of(run, None));
            for program in ["/sort`", "/cut`"] {
                let found = names.iter().any(|name| name.ends_with(program));
                assert!(found, "{run}: {program}: {names:?}");
            }
        }
        let before = of("cat {input} {output}", Some("bash install.sh"));
        fs::write(root.join("install.sh"), "2").expect("written");
        assert_ne!(of("cat {input} {output}", Some("bash install.sh")), before);
        let found = names(&of(
            "cat $PATH ${HOME}/x $NO_SUCH_TOKEN {input} {output}",
            None,
        ));
        let told = |name: &str| found.iter().any(|found| found.contains(name));
        assert!(
            told("the variable `PATH`") && told("the variable `HOME`"),
            "{found:?}"
        );
        assert!(!told("TOKEN"), "{found:?}");
    }

    #[test]
    fn a_program_that_is_not_there_or_names_itself_is_no_trouble() {
        let itself = |root: &Path| fs::write(root.join("run.py"), "#!./run.py\n").expect("written");
        for run in ["./run.py {input} {output}", "./none {input} {output}", ""] {
            assert_eq!(of(run, itself), of(run, itself));
        }
    }
}
