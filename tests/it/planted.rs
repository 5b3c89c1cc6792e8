//! Thirty secrets of real shapes, which a pipeline gives away in every way that it has: where each of them may be
//! found afterwards is what the table of SECURITY.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::project::Project;
use crate::repository::{commit, git};

/// Variables with what they hold. The shapes are those of the services; the values are made up.
pub(crate) fn secrets() -> Vec<(&'static str, String)> {
    // In parts, so that no scanner takes them for real ones.
    let joined = |parts: &[&str]| parts.concat();
    vec![
        ("AWS_ACCESS_KEY_ID", joined(&["AKIA", "Q7RZ5KXWPLM2NVTB"])),
        (
            "AWS_SECRET_ACCESS_KEY",
            joined(&["wJq7XUtnFEMIK7MDENGbPx", "RfiCYzQ8aLmT4kVs"]),
        ),
        (
            "GH_TOKEN",
            joined(&["ghp_", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"]),
        ),
        (
            "GHO_TOKEN",
            joined(&["gho_", "bC4eF6gH8jK0lM2nP4qR6sT8uV0wX2yZ4aB6"]),
        ),
        (
            "GHU_TOKEN",
            joined(&["ghu_", "cD5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7"]),
        ),
        (
            "GHS_TOKEN",
            joined(&["ghs_", "dE6gH8jK0lM2nP4qR6sT8uV0wX2yZ4aB6cD8"]),
        ),
        (
            "GHR_TOKEN",
            joined(&["ghr_", "eF7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9"]),
        ),
        (
            "PAT_TOKEN",
            joined(&[
                "github_pat_",
                "11ABCDEFG0aB3dE5fG7hJ9_kL1mN3pQ5rS7tU9vW1xY3zA5",
            ]),
        ),
        (
            "OPENAI_API_KEY",
            joined(&["sk-proj-", "Xy12Zw34Vu56Ts78Rq90Po12Nm34Lk56"]),
        ),
        (
            "ANTHROPIC_API_KEY",
            joined(&["sk-ant-api03-", "Qw12Er34Ty56Ui78Op90As12Df34Gh56"]),
        ),
        (
            "HF_TOKEN",
            joined(&["hf_", "ZxCvBnMaSdFgHjKlQwErTyUiOpZxCvBnMa"]),
        ),
        (
            "SLACK_BOT_TOKEN",
            joined(&[
                "xoxb-",
                "123456789012-123456789012-AbCdEfGhIjKlMnOpQrStUvWx",
            ]),
        ),
        (
            "STRIPE_SECRET_KEY",
            joined(&["sk_live_", "51HxYzAbCdEfGhIjKlMnOpQrSt"]),
        ),
        (
            "GOOGLE_API_KEY",
            joined(&["AIza", "SyD1eF2gH3iJ4kL5mN6oP7qR8sT9uV0wX1y"]),
        ),
        (
            "SESSION_AUTH",
            joined(&[
                "eyJhbGciOiJIUzI1NiJ9.",
                "eyJzdWIiOiIxMjM0NTY3ODkwIn0.",
                "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
            ]),
        ),
        (
            "DEPLOY_PRIVATE_KEY",
            joined(&[
                "-----BEGIN PRIVATE",
                " KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n",
                "-----END PRIVATE",
                " KEY-----",
            ]),
        ),
        (
            "DATABASE_DSN",
            "postgres://svc:pl4nted-pw-77@db.internal:5432/app".into(),
        ),
        ("BASIC_AUTH", "svc:pl4nted-basic-88".into()),
        (
            "STORAGE_KEY",
            "/9k3bT+q7aLm2/ZxW4vUeR8sY1nC6dGh0jFpKtQ=".into(),
        ),
        ("PIN_PASSWORD", "8402751936".into()),
        ("PERCENT_PASSWORD", "50%off%20all&now=yes".into()),
        ("QUOTE_PASSWORD", "say\"hello\"42-friend".into()),
        ("BACKSLASH_PASSWORD", "dom\\user\\n-pl4nted".into()),
        (
            "LINES_SECRET",
            "first-line-pl4nted\nsecond-line-pl4nted".into(),
        ),
        ("UNICODE_PASSWORD", "größe-пароль-密码-77".into()),
        ("SPACE_PASSPHRASE", "correct horse battery 7 staple".into()),
        (
            "NPM_TOKEN",
            joined(&["npm_", "aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"]),
        ),
        (
            "SENTRY_DSN",
            "https://0a1b2c3d4e5f60718293a4b5c6d7e8f9@o1.ingest.example/42".into(),
        ),
        (
            "HEX_SECRET",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b".into(),
        ),
        ("SIGNED_CREDENTIAL", "~tilde!bang*star'quote()-7".into()),
    ]
}

/// A secret in each form, by the name of the form: what is printed, and what must not be found of it.
fn forms(secret: &str) -> Vec<(&'static str, String, String)> {
    let percent: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let json = Value::from(secret).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let mut forms = vec![
        ("plain", secret.to_owned(), secret.to_owned()),
        ("percent", percent.clone(), percent),
        ("json", json.clone(), json),
    ];
    for (name, before) in [("base64+0", ""), ("base64+1", "u"), ("base64+2", "u:")] {
        let text = STANDARD.encode(format!("{before}{secret}"));
        // Without the letters that depend on the neighbours as well.
        let core = text.trim_end_matches('=')[4..].to_owned();
        forms.push((name, text, core[..core.len() - 1].to_owned()));
    }
    forms
}

/// Has what the pipeline gives away beside the repository, in ten parts of three secrets each.
pub(crate) fn plant(project: &Project) {
    for (at, three) in secrets().chunks(3).enumerate() {
        let texts = three.iter().flat_map(|(_, secret)| forms(secret));
        let texts: Vec<String> = texts.map(|(_, text, _)| format!("[{text}]")).collect();
        project.write(&format!("../planted/{at}.txt"), &texts.join(" "));
        let decision = format!("refused: {}", three[at % 3].1);
        let output = json!({ "decision": decision, "why": texts.join(" ") });
        project.write(&format!("../planted/{at}.json"), &output.to_string());
    }
}

/// Prints a part in two halves on both streams, with time for a read between them, and writes it. Every fourth
/// variant fails with it.
pub(crate) const GIVES_AWAY: &str = r#"
n=$(cksum < "$1"); n=${n%% *}; f=../planted/$((n % 10)); size=$(wc -c < $f.txt)
head -c $((size / 2)) $f.txt; head -c $((size / 2)) $f.txt >&2; sleep 0.01
read -r _ _ case _ < "$1"
tail -c +$((size / 2 + 1)) $f.txt; tail -c +$((size / 2 + 1)) $f.txt >&2
cmp -s "$1" "cases/$case.md" || { [ $((n % 4)) = 0 ] && exit 3; }
cp $f.json "$2"
"#;

/// Gives a process all of the secrets.
pub(crate) fn knowing(command: &mut Command) -> &mut Command {
    command.envs(secrets())
}

/// What is found in a text: the variables, each with the form.
pub(crate) fn found(bytes: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(bytes);
    let secrets = secrets();
    let all = secrets.iter().flat_map(|(name, secret)| {
        let forms = forms(secret).into_iter();
        forms.map(move |(form, _, core)| (format!("{name} ({form})"), core))
    });
    let mut found: BTreeSet<String> = all
        .filter(|(_, core)| text.contains(core.as_str()))
        .map(|(name, _)| name)
        .collect();
    // One line of a key is a part of it too.
    for (name, secret) in &secrets {
        let mut lines = secret.lines().filter(|line| !line.starts_with("-----"));
        if lines.any(|line| text.contains(line)) {
            found.insert(format!("{name} (line)"));
        }
    }
    found
}

/// What is written where, by the rows of the table: the row, and whether it says that secrets are masked.
fn table() -> BTreeMap<String, bool> {
    let text = include_str!("../../SECURITY.md");
    let (_, text) = text
        .split_once("| what | where | masked |")
        .expect("the table");
    let rows = text
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let is_masked = match cells[2] {
            masked if masked.starts_with("yes") => true,
            masked if masked.starts_with("**no**") => false,
            other => panic!("neither yes nor no: {other}"),
        };
        (cells[0].to_owned(), is_masked)
    };
    rows.map(row).collect()
}

/// The row of the table that a file of a project belongs to.
fn row(name: &str) -> &'static str {
    let base = name.rsplit('/').next().unwrap_or(name);
    match base {
        _ if name.contains(".kelvin-cache/") => "the cache of answers",
        ".journal.jsonl" => "the journal of a run, `.journal.jsonl`",
        _ if name.starts_with(".kelvin/") => "the history and its ledger",
        "report.json" | "report.html" | "report.md" | "gate.json" | "gate.md" => {
            "the reports: `report.json`, `report.html`, `report.md`, `gate.json`, `gate.md`"
        }
        _ if base.starts_with("output") || base.starts_with("input") => {
            "inputs, and the outputs that the pipeline writes"
        }
        _ => "everything else in the output folder",
    }
}

/// Holds everything that was left or said against the table: what is masked has nothing, and of what is not masked
/// every row has something, so that the table warns of no more than there is.
pub(crate) fn agree(places: &BTreeMap<String, Vec<u8>>) {
    let table = table();
    let mut leaks: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (row, bytes) in places {
        let (row, place) = row.split_once('\t').expect("a row and a place");
        let is_masked = table
            .get(row)
            .unwrap_or_else(|| panic!("no such row: {row}"));
        let found = found(bytes);
        assert!(
            !is_masked || found.is_empty(),
            "{place} ({row}) has {found:?}"
        );
        leaks.entry(row).or_default().extend(found);
    }
    for (row, found) in &leaks {
        assert!(table[*row] || !found.is_empty(), "{row}: nothing was found");
    }
    // The search finds what is there: every secret was given away in every form.
    let given: BTreeSet<&String> = leaks.values().flatten().collect();
    let plain = secrets();
    for (name, secret) in &plain {
        for (form, _, _) in forms(secret) {
            let key = format!("{name} ({form})");
            // A line break, a quote or a backslash stands in no file of JSON as it is.
            let is_plain = form == "plain" && secret.contains(['\n', '"', '\\']);
            assert!(is_plain || given.contains(&key), "{key} was not given away");
        }
    }
}

/// The files of a project, each with its row.
pub(crate) fn files(project: &Project) -> BTreeMap<String, Vec<u8>> {
    let folders = ["kelvin", ".kelvin", ".kelvin-cache"];
    let folders = folders
        .iter()
        .filter(|folder| project.path(folder).exists());
    let files = folders.flat_map(|folder| {
        let files = project.files(folder).into_iter();
        files.map(move |(name, bytes)| (format!("{folder}/{name}"), bytes))
    });
    files
        .map(|(name, bytes)| (format!("{}\t{name}", row(&name)), bytes))
        .collect()
}

#[test]
fn a_check_writes_secrets_where_the_table_says_and_nowhere_else() {
    let project = Project::usual(GIVES_AWAY);
    project.config(
        "variants: {}\ncache: true\nfingerprint: [pipeline.sh]\nretry: { max_attempts: 2, initial_delay_s: 0.01, transient_exit_codes: [3] }\n",
    );
    plant(&project);
    let mut places = BTreeMap::new();
    let mut command = project.command(&["check"]);
    let output = knowing(&mut command).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("attempt"), "{said}");
    for (name, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
        places.insert(format!("what `kelvin` prints\t{name}"), bytes);
    }
    let report = project.read("kelvin/report.json");
    assert!(report.contains("***"), "something was masked");
    places.extend(files(&project));
    agree(&places);
}

#[test]
fn what_reads_a_run_afterwards_prints_and_exports_nothing_of_them() {
    let project = Project::new(GIVES_AWAY);
    plant(&project);
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    project.write(".gitignore", "/kelvin/\n/.kelvin/\n/export-*/\n");
    commit(&project, "base");
    let run = |arguments: &[&str]| -> Vec<u8> {
        let mut command = project.command(arguments);
        let output = knowing(&mut command).output().expect("it starts");
        let all = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&all).into_owned();
        assert!(
            matches!(output.status.code(), Some(0 | 3)),
            "{arguments:?}: {said}"
        );
        all
    };
    run(&["check"]);
    project.write("../base.json", &project.read("kelvin/report.json"));
    project.write("README.md", "Another version.\n");
    commit(&project, "another version");
    run(&["check"]);
    for arguments in [
        &["gate", "--baseline", "../base.json"][..],
        &[
            "gate",
            "--baseline",
            "../base.json",
            "--report",
            "kelvin/report.json",
            "--format",
            "json",
        ],
        &["compare", "../base.json", "kelvin/report.json"],
        &["compare", "previous", "latest", "--format", "json"],
        &["history"],
        &["history", "--format", "json"],
        &[
            "history",
            "--format",
            "html",
            "--out",
            "export-pages/history.html",
        ],
        &["history", "digest"],
        &["history", "regression"],
        &["rescore", "figures", "latest"],
        &["ledger"],
        &["doctor"],
        &["lint"],
        &["check", "--list"],
        &["check", "--forecast"],
        &["baseline", "save", "--local"],
        &[
            "export",
            "--metric",
            "evidence.invariance",
            "--min-score",
            "0",
            "--variants",
            "--out",
            "export-jsonl",
        ],
        &[
            "export",
            "--metric",
            "evidence.invariance",
            "--min-score",
            "0",
            "--format",
            "dspy",
            "--out",
            "export-dspy",
        ],
        &[
            "export",
            "--metric",
            "evidence.invariance",
            "--min-score",
            "0",
            "--format",
            "csv",
            "--out",
            "export-csv",
        ],
    ] {
        let found = found(&run(arguments));
        assert!(found.is_empty(), "{arguments:?} prints {found:?}");
    }
    let mut exported = 0;
    for folder in ["export-pages", "export-jsonl", "export-dspy", "export-csv"] {
        for (name, bytes) in project.files(folder) {
            let found = found(&bytes);
            assert!(found.is_empty(), "{folder}/{name} has {found:?}");
            exported += bytes.windows(3).filter(|three| three == b"***").count();
        }
    }
    assert!(
        exported > 30,
        "only {exported} places were masked: the export has no answers"
    );
    // What the branch of reports keeps.
    let kept = std::process::Command::new("git")
        .args(["log", "--patch", "--all"])
        .current_dir(project.root())
        .output()
        .expect("git starts");
    assert!(
        String::from_utf8_lossy(&kept.stdout).contains("***"),
        "no report was kept"
    );
    let found = found(&kept.stdout);
    assert!(found.is_empty(), "the branches have {found:?}");
}
