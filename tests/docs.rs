//! What a document claims, a test reads.

#[path = "docs/blocks.rs"]
mod blocks;
#[path = "docs/figures.rs"]
mod figures;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_kelvin"))
        .args(arguments)
        .arg("--help")
        .env("COLUMNS", "80")
        .output()
        .expect("the binary starts");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("help is text")
}

/// Every Markdown file that a reader of the repository meets.
fn documents() -> Vec<PathBuf> {
    let mut documents: Vec<PathBuf> = [root().to_path_buf(), root().join("docs")]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("listed"))
        .map(|entry| entry.expect("listed").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    documents.sort();
    assert!(documents.len() > 5, "the documents were not found");
    documents
}

/// The fenced blocks of a document that are marked with a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        match &mut open {
            Some(block) if line.trim_start() == "```" => {
                blocks.push(std::mem::take(block));
                open = None;
            }
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
            None if line.trim() == format!("```{language}") => open = Some(String::new()),
            None => {}
        }
    }
    blocks
}

/// A command and all below it, as the help of each lists them.
fn commands(of: &[String]) -> Vec<Vec<String>> {
    let words: Vec<&str> = of.iter().map(String::as_str).collect();
    let text = help(&words);
    let listed = text.split("\nCommands:\n").nth(1).unwrap_or_default();
    let (explained, others) = listed.split_once("\n\n").unwrap_or((listed, ""));
    // What a command does may go on in a further line, which is indented by more.
    let explained = explained.lines();
    let explained = explained.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let explained = explained.filter_map(|line| line.split_whitespace().next());
    // The help of the program names the other commands only, by groups.
    let named = others
        .lines()
        .take_while(|line| of.is_empty() && !line.is_empty());
    let named = named
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(_, names)| names.split(','));
    let names = explained.chain(named.map(str::trim));
    let below = names.filter(|name| *name != "help");
    let below = below.flat_map(|name| commands(&[of, &[name.to_owned()]].concat()));
    [of.to_vec()].into_iter().chain(below).collect()
}

/// `KELVIN_UPDATE=1 cargo test --test docs` writes the page anew.
#[test]
fn the_command_line_page_is_what_help_prints() {
    let mut page = String::from(
        "# Command line\n\nWhat `--help` prints, command by command; a test keeps it so.\n",
    );
    let commands = commands(&[]);
    assert!(commands.len() > 20, "{commands:?}");
    for command in &commands {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let name = [&["kelvin"], &command[..]].concat().join(" ");
        page.push_str(&format!(
            "\n## `{name}`\n\n```text\n{}```\n",
            help(&command)
        ));
    }
    let path = "docs/command-line.md";
    if std::env::var_os("KELVIN_UPDATE").is_some() {
        fs::write(root().join(path), &page).expect("written");
    }
    assert_eq!(
        read(path),
        page,
        "run `KELVIN_UPDATE=1 cargo test --test docs`"
    );
}

#[test]
fn the_readme_has_one_command_for_the_main_job_and_one_for_the_tests() {
    let readme = read("README.md");
    let commands: Vec<String> = readme
        .lines()
        .filter(|line| line.starts_with("cargo "))
        .map(str::to_owned)
        .collect();
    assert_eq!(commands, ["cargo run -- demo", "cargo test"]);
    // They come before every other command, since they need no release.
    let first: Vec<String> = blocks(&readme, "sh").into_iter().take(2).collect();
    assert_eq!(first.concat().lines().collect::<Vec<_>>(), commands);
}

/// What can be looked up stands elsewhere; whom it is for, and where all documents are, stands in it.
#[test]
fn the_readme_is_short_and_says_for_whom_it_is() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 120);
    for page in [
        "decisions",
        "retrieval",
        "grading",
        "invariants",
        "evaluators",
    ] {
        assert!(readme.contains(&format!("](docs/{page}.md)")), "{page}");
    }
}

/// The index is the side bar of the site too, where every page has one place.
#[test]
fn the_index_has_every_page_once_in_four_groups() {
    let index = read("docs/SUMMARY.md");
    let groups: Vec<&str> = index
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .collect();
    assert_eq!(
        groups,
        ["Summary", "Start", "Guides", "Reference", "Background"]
    );
    let mut pages: Vec<String> = documents()
        .iter()
        .filter(|page| page.parent() == Some(&root().join("docs")))
        .map(|page| {
            page.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name != "SUMMARY.md")
        .collect();
    assert!(pages.len() <= 18, "{} pages: merge some", pages.len());
    let mut named: Vec<String> = index
        .match_indices("](")
        .map(|(at, _)| {
            index[at + 2..]
                .split(')')
                .next()
                .expect("it ends")
                .to_owned()
        })
        .collect();
    pages.sort();
    named.sort();
    assert_eq!(named, pages);
}

#[test]
fn the_exit_codes_of_the_readme_are_those_of_the_program() {
    let readme = read("README.md");
    let source = read("crates/base/src/exit.rs");
    let mut codes: Vec<&str> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Self::")?.split(" => ").nth(1))
        .map(|code| code.trim_end_matches(','))
        .collect();
    codes.dedup();
    assert_eq!(codes, ["0", "1", "2", "3", "130"]);
    for code in codes {
        assert!(
            readme.contains(&format!("| {code} |")),
            "{code} is not in the README"
        );
    }
}

/// The text below a heading of the second level.
fn section<'t>(page: &'t str, heading: &str) -> &'t str {
    let mut sections = page.split("\n## ");
    let found = sections.find_map(|section| section.strip_prefix(&format!("{heading}\n")));
    found.unwrap_or_else(|| panic!("there is no section `{heading}`"))
}

/// The names of the headings of a page, as GitHub and mdBook make links of them.
fn headings(text: &str) -> Vec<String> {
    let mut is_block = false;
    let lines = text.lines().filter(|line| {
        is_block ^= line.trim_start().starts_with("```");
        !is_block && line.starts_with('#')
    });
    let titles = lines.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    titles
        .map(|title| {
            let kept = title
                .chars()
                .filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign));
            kept.map(|sign| if sign == ' ' { '-' } else { sign })
                .collect()
        })
        .collect()
}

/// A word that a page or a verdict shows and that nobody explains would be a riddle.
#[test]
fn the_glossary_is_sorted_and_has_every_word_of_a_verdict_and_of_a_run() {
    let page = read("docs/concepts.md");
    let text = section(&page, "Words");
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    let words: Vec<&str> = rows
        .filter_map(|row| row.split('|').nth(1))
        .map(str::trim)
        .collect();
    assert!(words.len() > 50 && words.is_sorted(), "{words:?}");
    let source = read("crates/gate/src/verdict.rs");
    let verdicts = source.split("pub enum Word {").nth(1).expect("the words");
    let verdicts = verdicts.split("\n}").next().expect("it ends").lines();
    let verdicts: Vec<String> = verdicts
        .filter_map(|line| line.trim().strip_suffix(','))
        .map(|name| {
            let spaced = name.chars().map(|sign| match sign.is_uppercase() {
                true => format!(" {}", sign.to_lowercase()),
                false => sign.to_string(),
            });
            spaced.collect::<String>().trim().to_owned()
        })
        .collect();
    assert!(verdicts.len() >= 7, "{verdicts:?}");
    let reports = read("docs/reports.md");
    let runs = reports
        .lines()
        .filter_map(|line| line.strip_prefix("| **")?.split("**").next());
    // Two of them say in a sentence that something cannot be told.
    let runs = runs.filter(|word| !["not enough to tell", "unsteady"].contains(word));
    let wanted: Vec<String> = verdicts
        .into_iter()
        .chain(runs.map(str::to_owned))
        .collect();
    assert!(wanted.len() >= 14, "{wanted:?}");
    for word in wanted {
        assert!(
            words.contains(&word.as_str()),
            "`{word}` is not among the words of docs/concepts.md"
        );
    }
}

/// Where the site, which has the pages alone, leads for all else.
const REPOSITORY: &str = "https://github.com/org/kelvin-action/blob/main/";

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut broken = Vec::new();
    for path in documents() {
        let is_page = path.parent() == Some(&root().join("docs"));
        let text = fs::read_to_string(&path).expect("read");
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap_or_default();
            let file = target.split('#').next().unwrap_or_default();
            let of_repository = file.strip_prefix(REPOSITORY);
            let is_elsewhere = of_repository.is_none() && file.contains("://");
            if target.is_empty() || is_elsewhere || file.contains(['\n', ' ']) {
                continue;
            }
            let there = match (of_repository, file) {
                (Some(file), _) => root().join(file),
                (None, "") => path.clone(),
                (None, file) => path.parent().expect("it has a folder").join(file),
            };
            if is_page && file.starts_with("../") {
                broken.push(format!(
                    "{}: {target} leads out of the site",
                    path.display()
                ));
            }
            let heading = target.split_once('#').map(|(_, heading)| heading);
            let file = there.to_string_lossy().into_owned();
            let is_there = match heading {
                Some(heading) if file.ends_with(".md") => fs::read_to_string(&there)
                    .is_ok_and(|text| headings(&text).iter().any(|name| name == heading)),
                _ => there.exists(),
            };
            if !is_there {
                broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// A link to one of two headings of the same name would lead to the first.
#[test]
fn no_page_has_two_headings_of_one_name() {
    for path in documents()
        .iter()
        .filter(|path| path.parent() != Some(root()))
    {
        let names = headings(&fs::read_to_string(path).expect("read"));
        let unique: BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "{}: {names:?}", path.display());
    }
}

#[test]
fn the_configurations_of_the_readme_load() {
    let configurations: Vec<String> = blocks(&read("README.md"), "yaml")
        .into_iter()
        .filter(|block| block.contains("decision_field:"))
        .collect();
    assert!(
        !configurations.is_empty(),
        "the README shows no configuration"
    );
    for configuration in configurations {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("kelvin.yaml"), &configuration).expect("written");
        let output = Command::new(env!("CARGO_BIN_EXE_kelvin"))
            .args(["check", "--dry-run"])
            .current_dir(folder.path())
            .output()
            .expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // It has no cases, and that is all that is wrong with it.
        assert!(
            said.contains("cases") && !said.contains("kelvin.yaml:"),
            "{said}"
        );
    }
}

#[test]
fn the_continuous_integration_runs_the_test_command_of_the_readme() {
    assert!(read(".ci/run").contains("README.md"));
}

/// The rows of the table below the plot, each as the point of the plot says it, once for each panel.
#[test]
fn the_plot_of_the_gate_shows_the_figures_of_the_table_below_it() {
    let page = read("docs/statistics.md");
    let plot = read("docs/images/gate-power.svg");
    assert!(page.contains("(images/gate-power.svg)"));
    let rows = page
        .lines()
        .skip_while(|line| !line.starts_with("| gate | runs |"));
    let rows: Vec<Vec<&str>> = rows
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 11, "every gate at every price");
    for row in &rows {
        for (runs, red) in [(row[2], row[3]), (row[4], row[5])] {
            let point = format!("<title>{}, {}: {runs} runs, {red}</title>", row[0], row[1]);
            assert!(plot.contains(&point), "the plot has no point {point}");
        }
    }
    assert_eq!(plot.matches("<circle").count(), 2 * rows.len());
}

#[test]
fn the_schema_that_the_program_prints_is_the_one_at_the_address() {
    let output = Command::new(env!("CARGO_BIN_EXE_kelvin"))
        .arg("schema")
        .output()
        .expect("the binary starts");
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).expect("text");
    assert!(printed == read("schema/kelvin.schema.json"));
    // A copy beside the configuration is taken as the page says.
    assert!(read("docs/configuration.md").contains("`kelvin schema > kelvin.schema.json`"));
}

/// Every message of the table stands in the code, whose strings go on over several lines.
#[test]
fn the_messages_that_people_look_up_are_those_of_the_program() {
    let mut code = String::new();
    for path in ["src", "crates"]
        .iter()
        .flat_map(|folder| sources(Path::new(folder)))
    {
        let text = fs::read_to_string(path).expect("read");
        let lines = text.split("\\\n").enumerate();
        code.extend(lines.map(|(at, line)| match at {
            0 => line,
            _ => line.trim_start(),
        }));
    }
    let page = read("docs/troubleshooting.md");
    let rows: Vec<&str> = section(&page, "Messages")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    assert!(rows.len() > 10, "{rows:?}");
    for message in rows {
        assert!(code.contains(message), "no code says `{message}`");
    }
}

/// Every file of Rust below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}
