//! Releases as the workflow makes them: its own shell steps, run in order in clones of a real repository. Stand-ins take
//! the place of the registry of images (`docker`), of GitHub's releases (`gh`) and of the compiler (`cargo`, `rustup`).

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use kelvin_fixtures::python;
use kelvin_fixtures::text::{lines_with, redacted};
use serde_json::Value;

use crate::programs::{TARGETS, header, program};
use crate::root;

/// A folder for each release, `draft` or `published`. What is published can be downloaded.
const GH: &str = r#"#!/usr/bin/env bash
set -euo pipefail
if [ "$(cat "$WORLD/gh-fails" 2>/dev/null)" = "$1 $2" ]; then
  rm "$WORLD/gh-fails"
  echo 'stand-in: the server does not answer' >&2
  exit 1
fi
releases=$WORLD/releases
mkdir -p "$releases"
tag=${3:-}
verb="$1 $2"
shift 2
case "$verb" in
  'auth setup-git') ;;
  'release list') for one in "$releases"/*/; do [ ! -d "$one" ] || echo "$(basename "$one") $(cat "$one/is-draft")"; done ;;
  'release create' | 'release upload' | 'release edit')
    [ "$verb" = 'release create' ] || [ -d "$releases/$tag" ] || { echo 'release not found' >&2; exit 1; }
    [ "$verb" != 'release create' ] || [ ! -d "$releases/$tag" ] || { echo 'there is one' >&2; exit 1; }
    mkdir -p "$releases/$tag/files"
    shift
    while [ $# -gt 0 ]; do
      case "$1" in
        --draft) echo true > "$releases/$tag/is-draft" ;;
        --draft=false) echo false > "$releases/$tag/is-draft" ;;
        --title) shift ;;
        --notes-file) cp "$2" "$releases/$tag/notes"; shift ;;
        --verify-tag) git ls-remote --exit-code origin "refs/tags/$tag" >/dev/null ;;
        --clobber) ;;
        --*) echo "stand-in: $1 is not known" >&2; exit 1 ;;
        *) cp "$1" "$releases/$tag/files/" ;;
      esac
      shift
    done
    if [ "$(cat "$releases/$tag/is-draft")" = false ]; then
      mkdir -p "$GITHUB_REPOSITORY_FOLDER/releases/download"
      ln -sfnr "$releases/$tag/files" "$GITHUB_REPOSITORY_FOLDER/releases/download/$tag"
    fi
    ;;
  *) echo "stand-in: $verb is not known" >&2; exit 1 ;;
esac
"#;

/// An image is a file with its digest, by its name. Every build is another image, as in life.
const DOCKER: &str = r#"#!/usr/bin/env bash
set -euo pipefail
of() { printf '%s/images/%s' "$WORLD" "$(tr '/' '_' <<<"$1")"; }
digest() { printf 'sha256:%s' "$(sha256sum | cut -d ' ' -f 1)"; }
mkdir -p "$WORLD/images"
case "$1 ${2:-} ${3:-}" in
  'login '*) cat > /dev/null ;;
  'build '*)
    while [ "$1" != --tag ]; do shift; done
    date +%s%N | digest > "$(of "$2").local"
    ;;
  'run --rm --interactive') cat > /dev/null; echo '{"bomFormat": "CycloneDX", "components": []}' ;;
  'run --rm --network')
    # As the slim image answers, which has no Python.
    [ -f "$(of "$7").local" ]
    case "$6" in
      cat) echo 'VERSION_ID="13"' ;;
      dpkg-query) printf 'ii \tgit\t2.47\tamd64\tgit\t2.47\n' ;;
      kelvin) echo 'kelvin 1.0.0' ;;
      sh) ;;
    esac
    ;;
  'run --rm '*) [ -f "$(of "$3").local" ] ;;
  'push '*) cp "$(of "$2").local" "$(of "$2")" ;;
  'buildx imagetools create') cat "$(of "$6")" "$(of "$7")" | digest > "$(of "$5")" ;;
  'buildx imagetools inspect') cat "$(of "$4")" ;;
  *) echo "stand-in: docker $* is not known" >&2; exit 1 ;;
esac
"#;

/// A registry of packages, which takes no version twice.
const NPM: &str = r#"#!/usr/bin/env bash
set -euo pipefail
mkdir -p "$WORLD/npm"
case "$1 $2" in
  'view '*)
    [ -f "$WORLD/npm/${2/@/-}.tgz" ] || exit 1
    echo "${2#*@}"
    ;;
  '--yes npm@'*)
    [ "$3" = publish ]
    [ ! -e "$WORLD/npm/$(basename "$4")" ] || { echo 'it is there already' >&2; exit 1; }
    cp "$4" "$WORLD/npm/"
    basename "$4" >> "$WORLD/npm-order"
    ;;
  *) echo "stand-in: npm $* is not known" >&2; exit 1 ;;
esac
"#;

/// The server of this world is a folder.
const CURL: &str = r#"#!/usr/bin/env bash
PATH=${PATH#*:}
exec curl "${@/#https:\/\/github.com/file://$WORLD/server}"
"#;

/// "Builds" a program that says its version, which stands at the end of its own file. What the real cargo says of this
/// package was asked once.
const CARGO: &str = r#"#!/usr/bin/env bash
set -euo pipefail
case "$1" in
  metadata) exec cat "$WORLD/package/metadata" ;;
  tree) [ "${12}" = kelvin-action ] && exec cat "$WORLD/package/${10}" ;;
esac
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
mkdir -p "target/$TARGET/dist"
{ cat "$WORLD/programs/$TARGET"; printf '\nkelvin %s for %s\n' "$version" "$TARGET"; } > "target/$TARGET/dist/kelvin"
chmod +x "target/$TARGET/dist/kelvin"
"#;

/// What cargo says of this package where `inventory.py` asks: its description, and the trees of two kinds of edges.
static PACKAGE: LazyLock<[(&str, Vec<u8>); 3]> = LazyLock::new(|| {
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let said = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO"))
            .args(arguments)
            .args(["--locked", "--offline", "--manifest-path"])
            .arg(root().join("Cargo.toml"))
            .output()
            .expect("cargo starts");
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        output.stdout
    };
    let tree = |edges| {
        let form = [
            "tree", "--prefix", "none", "--format", "{p}", "--edges", edges,
        ];
        let of = ["--package", "kelvin-action", "--target", &host];
        (edges, said(&[&form[..], &of].concat()))
    };
    let metadata = [
        "metadata",
        "--format-version",
        "1",
        "--filter-platform",
        &host,
    ];
    [
        ("metadata", said(&metadata)),
        tree("normal,no-proc-macro"),
        tree("normal,build"),
    ]
});

/// The first release, which most tests begin after: made once.
struct First {
    /// The folder of its world, as an archive. No file in it names its place, but those of the clones, which are left out.
    folder: Vec<u8>,
    /// What its jobs have handed on.
    outputs: BTreeMap<String, String>,
    /// The folder of its run.
    run: String,
}

static FIRST: LazyLock<First> = LazyLock::new(|| {
    let world = World::new();
    world.commit("1.1.0");
    let mut run = world.start("1.1.0");
    run.whole().expect("the first release");
    let packed = Command::new("tar")
        .arg("-C")
        .arg(world.folder.path())
        .args(["--exclude=clone", "-c", "."])
        .output()
        .expect("tar starts");
    assert!(packed.status.success(), "{}", said(&packed));
    let name = run.folder.file_name().expect("a name");
    First {
        folder: packed.stdout,
        outputs: run.outputs,
        run: name.to_string_lossy().into_owned(),
    }
});

/// A machine of the workflow: the repository of everybody, and what stands in for the servers.
struct World {
    folder: tempfile::TempDir,
}

/// One run of the workflow at one commit, with what its jobs hand on.
struct Run<'a> {
    world: &'a World,
    workflow: Value,
    branch: String,
    commit: String,
    outputs: BTreeMap<String, String>,
    folder: PathBuf,
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

impl World {
    fn new() -> Self {
        let world = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        for (name, text) in [
            ("gh", GH),
            ("docker", DOCKER),
            ("npm", NPM),
            ("npx", NPM),
            ("cargo", CARGO),
            ("curl", CURL),
            ("rustup", "#!/bin/sh\n"),
        ] {
            let program = world.path("bin").join(name);
            fs::create_dir_all(world.path("bin")).expect("made");
            fs::write(&program, text).expect("written");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("allowed");
        }
        fs::create_dir(world.path("programs")).expect("made");
        for target in TARGETS {
            let program = program(target).unwrap_or_else(|| header(target));
            fs::write(world.path("programs").join(target), program).expect("written");
        }
        fs::create_dir(world.path("package")).expect("made");
        for (name, said) in &*PACKAGE {
            fs::write(world.path("package").join(name), said).expect("written");
        }
        symlink(python::path(), world.path("bin/python3")).expect("linked");
        let work = world.path("work");
        fs::create_dir(&work).expect("made");
        for file in [
            "action.yml",
            "Cargo.lock",
            "Cargo.toml",
            "LICENSE-APACHE",
            "LICENSE-MIT",
            "README.md",
            ".gitignore",
        ] {
            fs::copy(root().join(file), work.join(file)).expect("copied");
        }
        for folder in ["host", "slim", ".github/release"] {
            fs::create_dir_all(work.join(folder)).expect("made");
            for file in fs::read_dir(root().join(folder)).expect("listed") {
                let file = file.expect("listed");
                if file.file_type().expect("known").is_file() {
                    fs::copy(file.path(), work.join(folder).join(file.file_name()))
                        .expect("copied");
                }
            }
        }
        world.git(&work, &["init", "--quiet", "--initial-branch", "main"]);
        let bare = world.path("bare.git");
        world.git(
            &work,
            &["init", "--quiet", "--bare", &bare.display().to_string()],
        );
        world.git(&work, &["remote", "add", "origin", "../bare.git"]);
        world
    }

    /// One in which v1.1.0 is out.
    fn released() -> Self {
        let world = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        let mut unpacked = Command::new("tar")
            .arg("-C")
            .arg(world.folder.path())
            .arg("-x")
            .stdin(Stdio::piped())
            .spawn()
            .expect("tar starts");
        let mut input = unpacked.stdin.take().expect("a pipe");
        input.write_all(&FIRST.folder).expect("read by tar");
        drop(input);
        assert!(unpacked.wait().expect("it ends").success());
        world
    }

    /// The run that brought it out.
    fn first(&self) -> Run<'_> {
        Run {
            outputs: FIRST.outputs.clone(),
            ..self.run("1.1.0", self.path(&FIRST.run))
        }
    }

    /// What tests run at this machine with.
    fn bash(&self) -> Command {
        let mut bash = Command::new("bash");
        let path = std::env::var("PATH").expect("a path");
        bash.env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("WORLD", self.folder.path());
        bash
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(arguments)
            .output()
            .expect("git starts");
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// What everybody's repository has under a name.
    fn show(&self, what: &str) -> String {
        self.git(&self.path("bare.git"), &["show", what])
    }

    fn names(&self, reference: &str) -> String {
        self.git(&self.path("bare.git"), &["rev-parse", reference])
    }

    fn tags(&self) -> Vec<String> {
        let tags = self.git(&self.path("bare.git"), &["tag", "--list"]);
        tags.lines().map(str::to_owned).collect()
    }

    /// A commit on the main branch with a version and what is new in it.
    fn commit(&self, version: &str) {
        let work = self.path("work");
        let manifest = fs::read_to_string(work.join("Cargo.toml")).expect("read");
        let at = manifest.find("\nversion = \"").expect("a version") + 1;
        let end = at + manifest[at..].find('\n').expect("a line");
        let changed = format!(
            "{}version = \"{version}\"{}",
            &manifest[..at],
            &manifest[end..]
        );
        fs::write(work.join("Cargo.toml"), changed).expect("written");
        let log = fs::read_to_string(work.join("CHANGELOG.md")).unwrap_or_default();
        let log = format!(
            "# Changelog\n\n## {version}\n\n- What is new in {version}.\n\n{}",
            log.replace("# Changelog\n\n", "")
        );
        fs::write(work.join("CHANGELOG.md"), log).expect("written");
        self.git(&work, &["add", "--all"]);
        self.git(&work, &["commit", "--quiet", "--message", version]);
        self.git(&work, &["push", "--quiet", "origin", "main"]);
    }

    fn run(&self, version: &str, folder: PathBuf) -> Run<'_> {
        let text = fs::read_to_string(root().join(".github/workflows/release.yml")).expect("read");
        let branch = format!("release/v{version}");
        Run {
            world: self,
            workflow: serde_yaml::from_str(&text).expect("YAML"),
            commit: self.names(&branch),
            branch,
            outputs: BTreeMap::new(),
            folder,
        }
    }

    /// What a person does: `git push origin main:refs/heads/release/v1.2.3`. GitHub starts a run.
    fn start(&self, version: &str) -> Run<'_> {
        let branch = format!("release/v{version}");
        self.git(
            &self.path("work"),
            &[
                "push",
                "--quiet",
                "--force",
                "origin",
                &format!("main:refs/heads/{branch}"),
            ],
        );
        let folder = tempfile::tempdir_in(self.folder.path())
            .expect("a folder")
            .keep();
        self.run(version, folder)
    }
}

impl Run<'_> {
    /// What stands between `${{` and `}}` in the workflow.
    fn value(&self, text: &str, matrix: &Value) -> String {
        let mut text = text.to_owned();
        while let Some(from) = text.find("${{") {
            let to = from + text[from..].find("}}").expect("an end");
            let name = text[from + 3..to].trim();
            let value = match name.strip_prefix("matrix.") {
                Some(key) => matrix[key].as_str().expect("in the matrix").to_owned(),
                None if name == "github.token" => "a-token".to_owned(),
                None => {
                    let known = self.outputs.get(name);
                    known
                        .unwrap_or_else(|| panic!("{name} is not known: {:?}", self.outputs))
                        .clone()
                }
            };
            text.replace_range(from..to + 2, &value);
        }
        text
    }

    fn variables(&self, of: &Value, matrix: &Value) -> Vec<(String, String)> {
        let Some(map) = of["env"].as_object() else {
            return Vec::new();
        };
        let text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        map.iter()
            .map(|(name, value)| (name.clone(), self.value(&text(value), matrix)))
            .collect()
    }

    /// Runs a job, once for each entry of its matrix; what a step says that fails is the error.
    fn job(&mut self, name: &str) -> Result<(), String> {
        let job = self.workflow["jobs"][name].clone();
        let legs = match job["strategy"]["matrix"]["include"].as_array() {
            Some(legs) => legs.clone(),
            None => vec![Value::Null],
        };
        for leg in legs {
            let machine = tempfile::tempdir_in(&self.folder).expect("a folder").keep();
            for step in job["steps"].as_array().expect("steps") {
                self.step(&job, step, &leg, &machine)?;
            }
        }
        for (output, value) in job["outputs"].as_object().into_iter().flatten() {
            let value = self.value(value.as_str().expect("text"), &Value::Null);
            self.outputs
                .insert(format!("needs.{name}.outputs.{output}"), value);
        }
        Ok(())
    }

    fn step(
        &mut self,
        job: &Value,
        step: &Value,
        leg: &Value,
        machine: &Path,
    ) -> Result<(), String> {
        let clone = machine.join("clone");
        let left_out = match step["name"].as_str() {
            // Another machine would run it.
            Some("Try it") => program(leg["target"].as_str().expect("a target")).is_none(),
            // Takes seconds, and `packed.rs` does it with the same wheel.
            Some("Install the wheel" | "Install the packages of npm") => true,
            _ => false,
        };
        if left_out {
            return Ok(());
        }
        if let Some(action) = step["uses"].as_str() {
            let kept = self.folder.join("artifacts");
            match action.split('@').next().expect("a name") {
                "actions/checkout" => {
                    let depth = if step["with"]["fetch-depth"] == 0 {
                        "--no-single-branch"
                    } else {
                        "--depth=1"
                    };
                    let from = format!("file://{}", self.world.path("bare.git").display());
                    let to = clone.display().to_string();
                    self.world.git(
                        machine,
                        &[
                            "clone",
                            "--quiet",
                            depth,
                            "--branch",
                            &self.branch,
                            &from,
                            &to,
                        ],
                    );
                    assert_eq!(self.world.git(&clone, &["rev-parse", "HEAD"]), self.commit);
                }
                "actions/upload-artifact" => {
                    let name = self.value(step["with"]["name"].as_str().expect("a name"), leg);
                    copy(&clone.join("dist"), &kept.join(name));
                }
                "actions/download-artifact" => {
                    let with = &step["with"];
                    let wanted = with["name"].as_str().or(with["pattern"].as_str());
                    let begins = wanted.expect("a name").trim_end_matches('*');
                    for artifact in fs::read_dir(&kept).expect("listed") {
                        let artifact = artifact.expect("listed");
                        if artifact.file_name().to_string_lossy().starts_with(begins) {
                            copy(&artifact.path(), &clone.join("dist"));
                        }
                    }
                }
                "actions/attest-build-provenance" => {
                    for value in step["with"].as_object().expect("inputs").values() {
                        self.value(value.as_str().unwrap_or_default(), leg);
                    }
                }
                "pypa/gh-action-pypi-publish" => {
                    let folder = step["with"]["packages-dir"].as_str().expect("a folder");
                    let wheels = fs::read_dir(clone.join(folder)).expect("listed");
                    assert_eq!(wheels.count(), TARGETS.len());
                }
                other => panic!("nothing stands in for {other}"),
            }
            return Ok(());
        }
        let written = machine.join("output");
        fs::write(&written, "").expect("written");
        let mut script = step["run"].as_str().expect("a script").to_owned();
        if step["name"] == "Write the manual" {
            // Another machine would run it, and what stands in for the program here can say its version only: the
            // program of this test writes the same.
            let packed = "\"target/$TARGET/dist/kelvin\"";
            assert!(script.contains(packed), "{script}");
            script = script.replace(packed, &format!("'{}'", env!("CARGO_BIN_EXE_kelvin")));
        }
        let output = self
            .world
            .bash()
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c"])
            .arg(script)
            .current_dir(&clone)
            .env(
                "GITHUB_REPOSITORY_FOLDER",
                self.world.path("server/org/kelvin-action"),
            )
            .env("GITHUB_SERVER_URL", "https://github.com")
            .env("GITHUB_REPOSITORY", "org/kelvin-action")
            .env("GITHUB_REF", format!("refs/heads/{}", self.branch))
            .env("GITHUB_SHA", &self.commit)
            .env("GITHUB_ACTOR", "somebody")
            .env("GITHUB_OUTPUT", &written)
            .env("RUNNER_TEMP", machine)
            .envs(self.variables(job, leg))
            .envs(self.variables(step, leg))
            .output()
            .expect("bash starts");
        if !output.status.success() {
            return Err(said(&output));
        }
        if let Some(id) = step["id"].as_str() {
            for line in fs::read_to_string(&written).expect("read").lines() {
                let (name, value) = line.split_once('=').expect("a name");
                self.outputs
                    .insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
            }
        }
        Ok(())
    }

    fn build(&mut self) -> Result<(), String> {
        self.job("check")?;
        self.job("binary")?;
        self.job("image")
    }

    fn whole(&mut self) -> Result<(), String> {
        self.build()?;
        self.job("publish")?;
        self.job("registries")
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for file in fs::read_dir(from).expect("listed") {
        let file = file.expect("listed");
        fs::copy(file.path(), to.join(file.file_name())).expect("copied");
    }
}

/// The action at a commit starts the image of its own release, and fetches that binary.
fn is_the_release(world: &World, commit: &str, version: &str) {
    for (file, kind) in [("action.yml", ""), ("slim/action.yml", "-slim")] {
        let name = format!("images/ghcr.io_org_kelvin-action:v{version}{kind}");
        let image = fs::read_to_string(world.path(&name)).expect("pushed");
        let action: Value =
            serde_yaml::from_str(&world.show(&format!("{commit}:{file}"))).expect("YAML");
        assert_eq!(
            action["runs"]["image"],
            format!("docker://ghcr.io/org/kelvin-action@{image}"),
            "{version}"
        );
    }

    let clone = tempfile::tempdir_in(world.folder.path()).expect("a folder");
    let at = clone.path().display().to_string();
    world.git(
        &world.path("bare.git"),
        &["worktree", "add", "--quiet", "--detach", &at, commit],
    );
    let mut sums =
        fs::read_to_string(clone.path().join("host/release.txt")).expect("the checksums");
    for target in TARGETS {
        let archive = world.path(&format!("releases/v{version}/files/kelvin-{target}.tar.gz"));
        let sum = Command::new("sha256sum")
            .arg(&archive)
            .output()
            .expect("it starts");
        let sum = String::from_utf8_lossy(&sum.stdout)[..64].to_owned();
        let line = format!("{sum}  kelvin-{target}.tar.gz\n");
        assert!(sums.contains(&line), "{target}: {sums}");
        sums = sums.replace(&line, "");
    }
    assert_eq!(
        sums.lines().count(),
        1,
        "nothing but the address is left: {sums}"
    );

    // With a list of the parts, which names the crates that this package is made of.
    let parts = world.path(&format!("releases/v{version}/files/kelvin.cdx.json"));
    let parts = fs::read_to_string(parts).expect("the list of parts");
    assert!(parts.contains("pkg:cargo/serde_json@"));
    // And one for the image of each architecture, which the stand-in leaves empty.
    for architecture in ["amd64", "arm64"] {
        for (image, wanted) in [
            ("image", "CycloneDX"),
            ("image-slim", "pkg:deb/debian/git@2.47"),
        ] {
            let name = format!("releases/v{version}/files/kelvin-{image}-{architecture}.cdx.json");
            let parts = fs::read_to_string(world.path(&name)).expect("the list of parts");
            assert!(parts.contains(wanted), "{name}: {parts}");
        }
    }

    // The machine of the test is one of the four.
    let fetched = world
        .bash()
        .arg(clone.path().join("host/fetch.sh"))
        .env_remove("KELVIN_BINARY")
        .env("RUNNER_TOOL_CACHE", clone.path().join("tools"))
        .env("RUNNER_TEMP", clone.path())
        .output()
        .expect("bash starts");
    assert!(fetched.status.success(), "{}", said(&fetched));
    let program = String::from_utf8_lossy(&fetched.stdout).trim().to_owned();
    let answer = Command::new(program).output().expect("it starts");
    assert!(
        said(&answer).starts_with(&format!("kelvin {version} for ")),
        "{}",
        said(&answer)
    );
}

#[test]
fn after_two_releases_each_tag_names_its_own_and_no_commit_is_lost() {
    let world = World::released();
    let first = world.names("v1");
    assert_eq!(world.names("v1.1.0"), first);
    is_the_release(&world, &first, "1.1.0");
    // npm has what the last one depends on before it has that one.
    let order = fs::read_to_string(world.path("npm-order")).expect("published");
    assert_eq!(order.lines().count(), TARGETS.len() + 1, "{order}");
    assert_eq!(order.lines().last(), Some("kelvin-action-1.1.0.tgz"));

    world.commit("1.1.1");
    let mut run = world.start("1.1.1");
    run.build().expect("built");
    // While it is built the main branch goes on.
    world.commit("1.1.2");
    run.job("publish").expect("the second release");
    let second = world.names("v1");
    assert_ne!(first, second);
    assert_eq!(world.tags(), ["v1", "v1.1.0", "v1.1.1"]);
    assert_eq!(
        (world.names("v1.1.0"), world.names("v1.1.1")),
        (first.clone(), second.clone())
    );
    is_the_release(&world, &first, "1.1.0");
    is_the_release(&world, &second, "1.1.1");

    // The branches may go: a commit that somebody has pinned is reached from a tag for ever.
    let bare = world.path("bare.git");
    world.git(&bare, &["update-ref", "-d", "refs/heads/release/v1.1.0"]);
    world.git(&bare, &["update-ref", "-d", "refs/heads/release/v1.1.1"]);
    for commit in [&first, &second] {
        let reached = world.git(
            &bare,
            &["for-each-ref", "--format=%(refname)", "--contains", commit],
        );
        assert!(reached.contains("refs/tags/v1.1."), "{commit}: {reached}");
        // It is the commit of the main branch and what the release wrote, and nothing else.
        let changed = world.git(
            &bare,
            &["diff", "--name-only", &format!("{commit}^"), commit],
        );
        assert_eq!(changed, "action.yml\nhost/release.txt\nslim/action.yml");
        world.git(
            &bare,
            &["merge-base", "--is-ancestor", &format!("{commit}^"), "main"],
        );
        // The commit that the notes recommend is the one that the tag names, with the tag beside it.
        let tag = world.git(&bare, &["tag", "--list", "v1.*", "--points-at", commit]);
        let notes =
            fs::read_to_string(world.path(&format!("releases/{tag}/notes"))).expect("notes");
        assert!(
            notes.contains(&format!("- uses: org/kelvin-action@{commit} # {tag}\n")),
            "{notes}"
        );
        assert!(
            notes.contains(&format!("- What is new in {}.", &tag[1..])),
            "{notes}"
        );
        assert_eq!(notes.matches("What is new").count(), 1, "{notes}");
    }
}

#[test]
fn a_release_that_was_interrupted_is_finished_by_running_its_job_again() {
    for broken in ["release create", "release edit"] {
        let world = World::released();
        world.commit("1.1.1");
        let mut run = world.start("1.1.1");
        run.build().expect("built");
        fs::write(world.path("gh-fails"), broken).expect("written");
        let said = run.job("publish").expect_err("the server does not answer");
        assert!(said.contains("does not answer"), "{said}");
        assert_eq!(world.names("v1"), world.names("v1.1.0"), "{broken}");
        run.job("publish").expect("the job again");
        // Also where all of it had been done already.
        let finished = world.names("v1.1.1");
        run.job("publish").expect("once more");
        assert_eq!(
            (world.names("v1"), world.names("v1.1.1")),
            (finished.clone(), finished.clone())
        );
        is_the_release(&world, &finished, "1.1.1");
    }
}

#[test]
fn a_tag_never_moves_and_the_one_of_the_major_version_never_goes_back() {
    let world = World::released();
    let mut first = world.first();
    let pinned = world.names("v1.1.0");

    // "Re-run all jobs" would build other archives and another image.
    let said = world.start("1.1.0").whole().expect_err("it is there");
    insta::assert_snapshot!(redacted(&lines_with(&said, &["::error"])), @r#"::error title=Release::v1.1.0 was made of this commit already. If its release is not finished, open the run that made the tag and choose "Re-run failed jobs": a new build would be another release"#);
    // So would a run whose first job is left out.
    first.job("image").expect("another image");
    let said = first.job("publish").expect_err("another image");
    insta::assert_snapshot!(redacted(&lines_with(&said, &["::error"])), @"::error title=Release::the tag v1.1.0 names [HASH], and this build is [HASH]. A tag that somebody may have pinned does not move. Run the failed jobs of the run that made the tag again, or raise `version` in Cargo.toml and start anew");
    assert_eq!(world.names("v1.1.0"), pinned);

    world.commit("1.1.1");
    let mut slow = world.start("1.1.1");
    slow.build().expect("built");
    world.commit("1.2.0");
    world.start("1.2.0").whole().expect("a newer one");
    slow.job("publish").expect("the older one ends late");
    assert_eq!(world.names("v1"), world.names("v1.2.0"));
    is_the_release(&world, &world.names("v1.1.1"), "1.1.1");
}

#[test]
fn a_release_that_cannot_be_is_refused_before_anything_is_built() {
    let world = World::released();
    let mut told = Vec::new();
    let mut refused = |version: &str| {
        let said = world.start(version).job("check").expect_err("refused");
        told.push(redacted(&lines_with(&said, &["::error title=Release::"])));
    };
    world.commit("1.0.9");
    refused("1.0.9");
    refused("1.2.0");
    world.commit("1.1.0");
    refused("1.1.0");
    world.commit("1.2.0-rc.1");
    refused("1.2.0-rc.1");
    world.commit("1.2.0");
    let log = world.path("work/CHANGELOG.md");
    fs::write(&log, "# Changelog\n\n## 1.2.0\n\n## 1.1.0\n\n- Old.\n").expect("written");
    world.git(
        &world.path("work"),
        &["commit", "--quiet", "--all", "--message", "no notes"],
    );
    world.git(&world.path("work"), &["push", "--quiet", "origin", "main"]);
    refused("1.2.0");
    assert_eq!(world.tags(), ["v1", "v1.1.0"]);

    // A commit that was never merged.
    world.git(
        &world.path("work"),
        &["reset", "--quiet", "--hard", "HEAD^"],
    );
    world.git(
        &world.path("work"),
        &["commit", "--quiet", "--allow-empty", "--message", "apart"],
    );
    let apart = world.start("1.2.0").job("check").expect_err("not merged");
    told.push(redacted(&lines_with(&apart, &["::error title=Release::"])));
    insta::assert_snapshot!(told.join("\n"), @"
    ::error title=Release::v1.0.9 is older than v1.1.0, and v1 only moves forward: raise `version` in Cargo.toml
    ::error title=Release::the package is v1.0.9, and the branch is release/v1.2.0: name the branch release/v1.0.9, or change `version` in Cargo.toml
    ::error title=Release::v1.1.0 is taken by another commit: raise `version` in Cargo.toml
    ::error title=Release::`version` in Cargo.toml makes the tag v1.2.0-rc.1, which is not of the form v1.2.3
    ::error title=Release::CHANGELOG.md has no heading `## 1.2.0` with a text below it: that text is what the release says
    ::error title=Release::[HASH] is not on the branch main: merge it first
    ");
}

#[test]
fn where_the_tag_was_not_taken_the_draft_waits_and_a_new_build_takes_its_place() {
    let world = World::new();
    world.commit("1.0.0");
    let mut run = world.start("1.0.0");
    run.build().expect("built");
    let hook = world.path("bare.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho refusing workflows >&2\nexit 1\n").expect("written");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("allowed");
    let said = run.job("publish").expect_err("no tag");
    let wanted = format!("push it again at {}", run.commit);
    assert!(
        said.contains("refusing workflows") && said.contains(&wanted),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(world.path("releases/v1.0.0/is-draft")).expect("a draft"),
        "true\n"
    );
    assert!(
        !world
            .path("server/org/kelvin-action/releases/download")
            .exists()
    );

    fs::remove_file(&hook).expect("removed");
    // What the draft has is of the build before; here that shows.
    for file in fs::read_dir(world.path("releases/v1.0.0/files")).expect("listed") {
        fs::write(file.expect("listed").path(), "of the build before").expect("written");
    }
    let before = fs::read(world.path("releases/v1.0.0/notes")).expect("notes");
    world.start("1.0.0").whole().expect("from the beginning");
    is_the_release(&world, &world.names("v1.0.0"), "1.0.0");
    // Another image, another commit, and notes that name it.
    assert_ne!(
        fs::read(world.path("releases/v1.0.0/notes")).expect("notes"),
        before
    );
}
