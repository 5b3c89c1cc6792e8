use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

/// A project in a temporary folder.
pub(crate) struct Project {
    folder: TempDir,
    root: PathBuf,
}

/// `PATH` with the programs in front that start quickly, where they are there. What a manager of versions puts before the
/// system's Python is a script that takes seven times as long to start, and GNU's awk takes twice as long as the small
/// one. Some tests start them for each of thousands of calls.
static QUICK_FIRST: LazyLock<Option<OsString>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quick");
    let path = std::env::var_os("PATH")?;
    fs::create_dir_all(&folder).ok()?;
    for (name, program) in [("python3", "/usr/bin/python3"), ("awk", "/usr/bin/mawk")] {
        if Path::new(program).exists() {
            // Another process of the tests may have made it.
            std::os::unix::fs::symlink(program, folder.join(name)).ok();
        }
    }
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).ok()
});

/// The same with the folder of the binary before it. The programs are the same as everywhere: kelvin would find others to
/// be a change of the pipeline.
pub(crate) fn path_with_kelvin() -> OsString {
    let folder = Path::new(env!("CARGO_BIN_EXE_kelvin")).parent();
    let folder = folder.expect("it lies in a folder").as_os_str().to_owned();
    let path = QUICK_FIRST.clone().or_else(|| std::env::var_os("PATH"));
    [folder, path.unwrap_or_default()].join(OsStr::new(":"))
}

/// What the binary said and how it ended.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program for `awk` that prints a number of the governing units, in any order. A test makes thousands of calls,
/// and each program that a call starts costs more than what it does.
macro_rules! rules {
    () => {
        r###"
BEGIN { for (code = 32; code < 127; code++) known = known sprintf("%c", code) }
function mixed(text, number,    at) {
    for (at = 1; at <= length(text); at++) number = (number * number + index(known, substr(text, at, 1))) % 94906249
    return number
}
/^## / { on = 0 }
/^## Rule/ { on = 1 }
on && /./ { sum += mixed($0, 17) }
"###
    };
}
pub(crate) use rules;

/// A number of a line, in the shell itself: starting `awk` costs more than a call does besides. It goes by the digits,
/// and by the places where some letters stand first and last. To look at each character would be a third of a call.
macro_rules! mixed {
    () => {
        r###"
mixed() {
  mixed=${#1}
  for one in a b d e h l m n o r s t u 0 1 2 3 4 5 6 7 8 9; do
    case $1 in *$one*)
      before=${1%%$one*} after=${1##*$one}
      mixed=$(((mixed * 8191 + ${#before} * 127 + ${#after}) % 94906249));;
    *) mixed=$((mixed + 1));;
    esac
  done
}
"###
    };
}
pub(crate) use mixed;

/// A number of all lines of the input in their order, in the shell itself as well.
macro_rules! summed {
    () => {
        concat!(
            mixed!(),
            r###"sum=7
while IFS= read -r line || [ "$line" ]; do mixed "$line"; sum=$(((sum * 8191 + mixed) % 94906249)); done < "$1"
"###
        )
    };
}
pub(crate) const SUMMED: &str = summed!();

/// The whole input, in the shell itself.
macro_rules! text {
    () => {
        r#"text=
while IFS= read -r line || [ "$line" ]; do text="$text$line
"; done < "$1"
"#
    };
}
pub(crate) use text;

/// Decides by the governing units alone, in any order: grounded.
pub(crate) const GROUNDED: &str = concat!(
    mixed!(),
    r###"sum=0 on=
while IFS= read -r line || [ "$line" ]; do
  case $line in '## Rule'*) on=1;; '## '*) on=;; esac
  [ "$on" ] && [ "$line" ] && mixed "$line" && sum=$((sum + mixed))
done < "$1"
printf '{"decision": "%s"}' "$sum" > "$2"
"###
);

/// A function of the shell that looks for a text in a file. To start `grep` takes ten times as long.
pub(crate) const HAS: &str = r#"
has() {
  while IFS= read -r line || [ "$line" ]; do
    case $line in *"$2"*) return 0;; esac
  done < "$1"
  return 1
}
"#;

/// Decides the same whatever it reads.
pub(crate) const CONSTANT: &str = r#"printf '{"decision": "go"}' > "$2""#;

/// Decides by the unit that comes first.
pub(crate) const FIRST_UNIT: &str = concat!(
    mixed!(),
    r###"while IFS= read -r line; do case $line in '## '*) mixed "$line"; break;; esac; done < "$1"
printf '{"decision": "%s"}' "$mixed" > "$2"
"###
);

/// One variant of each kind that must change nothing. Most tests are about what is said of a run and who decides, and
/// most of their time would go to further calls.
const FEW: &str = "variants: {reorder: 1, pad_length: 1, pad_content: 1}\n";

/// As many variants as a configuration has that says nothing of them, for tests that count them or need them.
pub(crate) const USUAL: &str = "variants: {}\n";

/// Finds out where the record of the input goes, as `/alder/perturbations/reorder-02/input.md`, for pipelines that
/// are to fail on some inputs alone. Nothing that a pipeline is given tells it: the text is looked up among those
/// that [`Project::tell_places`] has written.
pub(crate) const KNOWING: &str = concat!(
    summed!(),
    r#"place=; read -r place 2> /dev/null < "../places/$sum"
"#
);

impl Project {
    /// Four cases of five units, of which one, `rule`, governs; and a pipeline.
    pub(crate) fn new(script: &str) -> Self {
        Self::in_folder("project", script)
    }

    /// The same with the usual number of variants.
    pub(crate) fn usual(script: &str) -> Self {
        let project = Self::new(script);
        project.config(USUAL);
        project
    }

    /// The same in a folder with a name of one's own.
    pub(crate) fn in_folder(name: &str, script: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let root = folder.path().join(name);
        fs::create_dir_all(root.join("cases")).expect("made");
        let project = Self { folder, root };
        for (at, case) in ["alder", "birch", "cedar", "dogwood"].iter().enumerate() {
            project.write(&format!("cases/{case}.md"), &case_text(case, at));
        }
        project.write("pipeline.sh", script);
        project.config("");
        project
    }

    /// A project in a folder that is a copy of another project's.
    pub(crate) fn copied(folder: TempDir) -> Self {
        let root = folder.path().join("project");
        Self { folder, root }
    }

    /// The folder around the root, which is the home of its user as well.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes `kelvin.yaml` with further lines, and with few variants unless these lines say how many.
    pub(crate) fn config(&self, more: &str) -> &Self {
        let few = if more.contains("variants:") { "" } else { FEW };
        self.write(
            "kelvin.yaml",
            &format!(
                "run: sh pipeline.sh {{input}} {{output}}\ncases: cases\ndecision_field: decision\n\
                 governing_types: [rule]\njobs: 2\n{more}{few}"
            ),
        );
        self
    }

    /// Writes beside the project where the record of each input goes, for [`KNOWING`].
    pub(crate) fn tell_places(&self) {
        self.kelvin(&[
            "check",
            "--dry-run",
            "--no-history",
            "--out",
            "../rehearsal",
        ])
        .expect(0);
        let list = format!(
            "mkdir -p ../places && cd ../rehearsal && find . -type f -name 'input.*' | sort > ../inputs\n\
             while read -r file; do set -- \"$file\"\n{SUMMED}\
             [ -e \"../places/$sum\" ] || echo \"${{file#.}}\" > \"../places/$sum\"\n\
             done < ../inputs"
        );
        Said::of(&mut self.program("sh", &["-c", &list])).expect(0);
        fs::remove_dir_all(self.path("../rehearsal")).expect("removed");
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).expect("it is JSON")
    }

    /// The notices of the report with this code.
    pub(crate) fn notices(&self, code: &str) -> Vec<String> {
        let report = self.json("kelvin/report.json");
        let all = report["notices"].as_array().cloned().unwrap_or_default();
        let of_code = all.iter().filter(|notice| notice["code"] == code);
        of_code
            .map(|notice| notice["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The run report without the part that may differ between equal runs.
    pub(crate) fn report(&self) -> Value {
        let mut report = self.json("kelvin/report.json");
        report["run"]["session"].take();
        report
    }

    /// A figure of the run report.
    pub(crate) fn figure(&self, id: &str) -> Value {
        self.json("kelvin/report.json")["metrics"][format!("evidence.{id}")]["value"].clone()
    }

    /// The binary with an environment that tells it nothing.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.program(env!("CARGO_BIN_EXE_kelvin"), arguments)
    }

    /// A line of a shell that finds the binary as `kelvin`, as a person pastes it.
    pub(crate) fn pasted(&self, line: &str) -> Command {
        let mut command = self.program("sh", &["-c", line]);
        command.env("PATH", path_with_kelvin());
        command
    }

    /// Runs such a line.
    pub(crate) fn paste(&self, line: &str) -> Said {
        Said::of(&mut self.pasted(line))
    }

    fn program(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(name);
        command
            .args(arguments)
            .current_dir(&self.root)
            .stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let told = ["GITHUB_", "RUNNER_", "ACTIONS_", "INPUT_", "KELVIN_"];
            if told.iter().any(|prefix| text.starts_with(prefix)) || text == "CI" {
                command.env_remove(&name);
            }
        }
        command
            .env("HOME", self.folder.path())
            .env_remove("NO_COLOR");
        if let Some(path) = QUICK_FIRST.as_ref() {
            command.env("PATH", path);
        }
        command
    }

    pub(crate) fn kelvin(&self, arguments: &[&str]) -> Said {
        Said::of(&mut self.command(arguments))
    }

    /// Starts the binary and leaves it running.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts")
    }

    /// Runs a check that has to end with 0.
    pub(crate) fn check(&self) -> Said {
        self.kelvin(&["check"]).expect(0)
    }

    /// Every file below a folder, with its bytes.
    pub(crate) fn files(&self, path: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let root = self.path(path);
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("listed") {
                let path = entry.expect("listed").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path
                        .strip_prefix(&root)
                        .expect("below")
                        .display()
                        .to_string();
                    files.insert(name, fs::read(&path).expect("read"));
                }
            }
        }
        files
    }

    /// How often the pipeline was called, where it says so in `calls`.
    pub(crate) fn calls(&self) -> usize {
        fs::read_to_string(self.path("calls")).map_or(0, |text| text.lines().count())
    }
}

impl Said {
    /// Runs a program to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the program starts");
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is text"),
            stderr: String::from_utf8(output.stderr).expect("stderr is text"),
        }
    }

    /// The command of the last line, behind `next: ` or a condition, and the only one there is.
    #[track_caller]
    pub(crate) fn next(&self) -> &str {
        let is_next = |line: &&str| line.trim_start_matches("# ").starts_with("next");
        let lines: Vec<&str> = self.stdout.lines().filter(is_next).collect();
        let last = self.stdout.lines().last().unwrap_or_default();
        assert_eq!(lines, [last], "one step, and at the end: {}", self.stdout);
        last.split_once(": ").expect("a command").1
    }

    /// Demands an exit code, and shows everything where it is another.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}

/// The step that a page of the gate advises below its reason, where nothing stands above that.
pub(crate) fn step(page: &str) -> &str {
    page.split("\n\n").nth(2).unwrap_or_default().trim_end()
}

/// Whether a terminal says of a run that all is well.
pub(crate) fn is_calm(stdout: &str) -> bool {
    stdout.lines().any(|line| line.starts_with("= "))
}

/// Judges each of several worlds, all at the same time: most of them wait for a server.
pub(crate) fn beside<World: Send>(
    worlds: impl IntoIterator<Item = World>,
    judge: impl Fn(World) + Sync,
) {
    std::thread::scope(|scope| {
        for world in worlds {
            scope.spawn(|| judge(world));
        }
    });
}

/// A script that counts its calls in `calls` and then does the other.
pub(crate) fn counting(script: &str) -> String {
    format!("echo x >> calls\n{script}")
}

fn case_text(name: &str, at: usize) -> String {
    format!(
        "# Request {name}\n\nSent in on day {at}.\n\n\
         ## Summary\n\nThe {name} team asks for room {at}.\n\n\
         ## Rule\n\nRoom {at} may be given to at most {} people.\n\n\
         ## Cost\n\nThe room costs {} a day.\n\n\
         ## History\n\nThe team had room {} last year.\n\n\
         ## Contact\n\nWrite to the {name} desk.\n",
        at + 3,
        100 + at,
        at + 10,
    )
}
