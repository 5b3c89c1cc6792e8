//! `kelvin import`: makes cases from traces of production, and lists them for a person to read.

mod assemble;
mod file;
mod langfuse;
mod messages;
mod otlp;
mod redact;
mod review;
mod span;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::again::Again;
use assemble::{TraceCase, UnusedTrace};
use file::UnreadPart;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_page::{counted, safe};
use redact::{OwnRedaction, Redactor};
use review::ReviewList;

/// The arguments of `kelvin import`.
#[derive(Debug, Default, Args)]
pub(super) struct ImportArgs {
    /// Spans of OpenTelemetry in OTLP/JSON: a request, one request a line as the collector's file exporter writes them,
    /// or spans alone. May be repeated.
    #[arg(long, value_name = "FILE", conflicts_with = "langfuse")]
    otlp: Vec<PathBuf>,
    /// An export of Langfuse, JSON or JSON lines: traces with their observations, or observations. May be repeated.
    #[arg(long, value_name = "FILE")]
    langfuse: Vec<PathBuf>,
    /// Writes the cases into this file, one a line, as `cases:` reads it. Without it they are listed and nothing is
    /// written.
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Overwrites the files that are there already.
    #[arg(long, requires = "into")]
    force: bool,
    /// Writes the answers of production into this file, for the person who labels the cases.
    #[arg(long, value_name = "FILE", requires = "into")]
    answers: Option<PathBuf>,
    /// Replaces what a pattern finds by `[NAME 1]`, `[NAME 2]` and so on. May be repeated.
    #[arg(long, value_name = "NAME=REGEX", value_parser = OwnRedaction::parse)]
    redact: Vec<OwnRedaction>,
}

/// Runs `kelvin import`.
pub(super) fn main(args: ImportArgs) -> anyhow::Result<Exit> {
    let mut list = Vec::new();
    let next = import(&args, &mut list);
    // The list says why there is no case.
    super::say_remark(&String::from_utf8_lossy(&list));
    super::say(&next?.next());
    Ok(Exit::Passed)
}

/// Lists the cases that can be made, writes them if that was requested, and returns the next step.
fn import(args: &ImportArgs, out: &mut dyn Write) -> anyhow::Result<Again> {
    if args.otlp.is_empty() && args.langfuse.is_empty() {
        return Err(Misuse::new("no file with traces is named")
            .help(READS)
            .into());
    }
    for file in args.into.iter().chain(&args.answers) {
        check_writable(file, args.force)?;
    }
    let mut list = ReviewList::default();
    let spans = read(args, &mut list.unread)?;
    list.spans = spans.len();
    let (cases, unused) = assemble::cases(spans);
    list.traces = cases.len() + unused.len();
    let is_free = |name: &&str| cases.iter().all(|case| !case.fields.contains_key(*name));
    let id_field = ["id", "case_id"]
        .into_iter()
        .find(is_free)
        .unwrap_or("kelvin_id");
    redact(args, cases, unused, &mut list);

    if args.into.is_none() {
        list.show_cases(out)?;
    }
    list.show_left_out(out)?;
    list.show_sums(out)?;
    if list.cases.is_empty() {
        return Err(Misuse::new("no case can be made of these traces")
            .help("above stands why, trace by trace")
            .into());
    }
    let Some(file) = &args.into else {
        writeln!(
            out,
            "{} can be made; nothing is written without `--into FILE`",
            counted(list.cases.len(), "case")
        )?;
        return Ok(again(args));
    };
    let lines = list.cases.iter().map(|case| case.line(id_field));
    write(file, lines, "case", out)?;
    if let Some(answers) = &args.answers {
        let lines = list
            .cases
            .iter()
            .filter_map(|case| case.answer_line(id_field));
        write(answers, lines, "answer", out)?;
        writeln!(
            out,
            "an answer of production is no label until somebody has read it"
        )?;
    }
    for file in args.otlp.iter().chain(&args.langfuse) {
        writeln!(
            out,
            "`{}` still has what was replaced: keep it out of the repository",
            safe::line(&file.display().to_string())
        )?;
    }
    if Path::new("kelvin.yaml").exists() {
        return Ok(Again::kelvin("lint"));
    }
    let init = Again::kelvin("init").flag("--cases", file);
    let types = list.governing();
    Ok(types
        .iter()
        .fold(init, |init, name| init.flag("--governing-type", name)))
}

/// What is read, for whoever names a file that has no traces.
const READS: &str = "`--otlp` takes spans of OpenTelemetry, `--langfuse` an export of Langfuse; a file with records needs no import: write `cases: FILE` into kelvin.yaml";

/// Checks a file before the traces are read, so that a path that cannot be written is reported at once.
fn check_writable(path: &Path, force: bool) -> Result<(), Misuse> {
    let shown = safe::line(&path.display().to_string());
    let is_lines = path
        .extension()
        .is_some_and(|ending| ending == "jsonl" || ending == "ndjson");
    if !is_lines {
        return Err(Misuse::new(format!(
            "`{shown}` would be read in another form by its name"
        ))
        .help("name a file that ends in `.jsonl`: one case a line is written"));
    }
    if path.symlink_metadata().is_ok() && !force {
        return Err(Misuse::new(format!("`{shown}` is there already"))
            .help("name another file, or overwrite this one with `--force`"));
    }
    Ok(())
}

/// Writes a file of lines, and says so.
fn write(
    path: &Path,
    lines: impl Iterator<Item = String>,
    what: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let lines: Vec<String> = lines.map(|line| line + "\n").collect();
    kelvin_base::file::write(path, lines.concat().as_bytes())?;
    let shown = safe::line(&path.display().to_string());
    writeln!(out, "wrote {} into `{shown}`", counted(lines.len(), what))?;
    Ok(())
}

/// Reads all spans of all files.
fn read(
    args: &ImportArgs,
    unread: &mut Vec<UnreadPart>,
) -> Result<Vec<span::RecordedSpan>, Misuse> {
    let mut spans = Vec::new();
    for file in &args.otlp {
        file::each_value(file, unread, &mut |value| otlp::take(&value, &mut spans))?;
    }
    for file in &args.langfuse {
        file::each_value(file, unread, &mut |value| {
            langfuse::take(&value, &mut spans)
        })?;
    }
    if !spans.is_empty() {
        return Ok(spans);
    }
    let why = unread
        .first()
        .map(|part| format!("; {}: {}", part.place, safe::cut(&part.why, 160)));
    let what = format!("there is no trace in the file{}", why.unwrap_or_default());
    Err(Misuse::new(what).help(READS))
}

/// Puts all traces on the list after removing what the rules find. Later steps show and write only this list.
fn redact(
    args: &ImportArgs,
    cases: Vec<TraceCase>,
    unused: Vec<UnusedTrace>,
    list: &mut ReviewList,
) {
    let mut redactor = Redactor::new(&args.redact);
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for case in cases {
        let clean = TraceCase {
            fields: redactor.fields(case.fields),
            answer: case.answer.map(|answer| redactor.value(answer)),
            id: clean_id(&case.id, &mut redactor),
            start: case.start,
            name: redactor.text(&case.name),
            remarks: case
                .remarks
                .iter()
                .map(|remark| redactor.text(remark))
                .collect(),
        };
        let content = Value::Object(clean.fields.clone()).to_string();
        if let Some(first) = seen.get(&content) {
            let why = format!("its input is that of `{first}`");
            list.unused.push(UnusedTrace { id: clean.id, why });
            continue;
        }
        seen.insert(content, clean.id.clone());
        list.cases.push(clean);
    }
    for trace in unused {
        list.unused.push(UnusedTrace {
            id: clean_id(&trace.id, &mut redactor),
            why: redactor.text(&trace.why),
        });
    }
    for part in &mut list.unread {
        part.why = redactor.text(&part.why);
    }
    list.replaced = redactor.into_counts();
}

/// The id of a trace as the name of a case. An id that an SDK generates is not private, whatever digits it contains.
fn clean_id(id: &str, redactor: &mut Redactor) -> String {
    let is_drawn = id.len() >= 32
        && id
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    match is_drawn {
        true => id.to_owned(),
        false => redactor.text(id),
    }
}

/// The command for the same import that also writes the cases.
fn again(args: &ImportArgs) -> Again {
    let mut again = Again::kelvin("import");
    for file in &args.otlp {
        again = again.flag("--otlp", file);
    }
    for file in &args.langfuse {
        again = again.flag("--langfuse", file);
    }
    for rule in &args.redact {
        again = again.flag("--redact", rule.written());
    }
    let mut names = (1..).map(|number| match number {
        1 => "cases.jsonl".to_owned(),
        number => format!("cases-{number}.jsonl"),
    });
    let free = names.find(|name| !Path::new(name).exists());
    again.flag("--into", free.unwrap_or_default())
}
