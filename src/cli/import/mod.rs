//! `kelvin import`: makes cases from traces of production, after a person has read a list of them.

mod assemble;
mod file;
mod langfuse;
mod messages;
mod otlp;
mod redact;
mod review;
mod span;
mod store;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};

use super::again::Again;
use assemble::{TraceCase, UnusedTrace};
use file::UnreadPart;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_page::{counted, safe};
use kelvin_probe::rows::RowForm;
use redact::{OwnRedaction, Redactor, RuleCounts, ShippedRule};
use review::ReviewList;
use store::CaseStore;

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
    /// Adds to the file those cases that it does not have.
    #[arg(long, requires = "into")]
    add: bool,
    /// Overwrites the files that are there already.
    #[arg(long, requires = "into", conflicts_with = "add")]
    force: bool,
    /// Writes the answers of production into this file, for the person who labels the cases.
    #[arg(long, value_name = "FILE", requires = "into")]
    answers: Option<PathBuf>,
    /// Replaces what a pattern finds by `[NAME 1]`, `[NAME 2]` and so on. May be repeated.
    #[arg(long, value_name = "NAME=REGEX", value_parser = OwnRedaction::parse)]
    redact: Vec<OwnRedaction>,
    /// Keeps what this built-in rule would replace. May be repeated.
    #[arg(long, value_enum, value_name = "RULE")]
    keep: Vec<ShippedRule>,
    /// Leaves out a field, such as `passages`, or a field of another one, such as `/customer/address`; of a list, a
    /// field of each element. May be repeated.
    #[arg(long, value_name = "FIELD")]
    drop: Vec<String>,
    /// Leaves out the trace with this id, or with an id that begins so; the list shows the ids. May be repeated.
    #[arg(long, value_name = "ID")]
    without: Vec<String>,
    /// Also makes cases from traces that ended with an error.
    #[arg(long)]
    with_errors: bool,
    /// Lists the texts in full.
    #[arg(long)]
    full: bool,
    /// A file that is given without a flag.
    #[arg(hide = true)]
    others: Vec<PathBuf>,
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
    if let Some(other) = args
        .others
        .iter()
        .find(|file| *file != Path::new("cases"))
        .or(args.others.first())
    {
        return Err(needs_none(other).into());
    }
    if args.otlp.is_empty() && args.langfuse.is_empty() {
        return Err(Misuse::new("no file with traces is named")
            .help("`--otlp FILE` reads spans of OpenTelemetry, `--langfuse FILE` an export of Langfuse; a file with records needs no import: write `cases: FILE` into kelvin.yaml")
            .into());
    }
    let opened = |file: &PathBuf| CaseStore::open(file, args.add, args.force);
    let mut store = args.into.as_ref().map(opened).transpose()?;
    let answers = args.answers.as_ref().map(opened).transpose()?;

    let mut list = ReviewList::default();
    let spans = read(args, &mut list.unread)?;
    list.spans = spans.len();
    let (mut cases, unused) = assemble::cases(spans, args.with_errors);
    list.traces = cases.len() + unused.len();
    drop_fields(&mut cases, &args.drop)?;
    let id_field = match store.as_ref().and_then(CaseStore::id_field) {
        Some(field) => field.to_owned(),
        None => free_field(&cases, &["id", "case_id", "trace_id", "kelvin_id"]),
    };
    if let Some(case) = cases
        .iter()
        .find(|case| case.fields.contains_key(&id_field))
    {
        return Err(Misuse::new(format!("the input of the trace `{}` has a field `{id_field}`, which names the cases in that file", safe::line(&case.id)))
            .help("write these into a file of their own, or leave the field out with `--drop`")
            .into());
    }
    redact(args, cases, unused, store.as_ref(), &mut list);
    leave_out(&args.without, &mut list)?;
    if let Some(store) = &store {
        list.compare(store);
    }

    match &mut store {
        None => list.show(args.full, out)?,
        Some(_) => list.show_left_out(out)?,
    }
    list.show_sums(out)?;
    if list.cases.is_empty() {
        return match store.is_some_and(|store| store.has_cases()) {
            true => {
                writeln!(out, "no case is new")?;
                Ok(Again::kelvin("lint"))
            }
            false => Err(Misuse::new("no case can be made of these traces")
                .help("above stands why, trace by trace")
                .into()),
        };
    }
    let Some(store) = store else {
        writeln!(
            out,
            "{} can be made; nothing is written without `--into FILE`",
            counted(list.cases.len(), "case")
        )?;
        return Ok(again(args));
    };
    store.write(
        list.cases.iter().map(|case| case.line(&id_field)),
        "case",
        out,
    )?;
    if let Some(answers) = answers {
        let lines = list
            .cases
            .iter()
            .filter_map(|case| case.answer_line(&id_field));
        answers.write(lines, "answer", out)?;
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
    let file = args.into.as_deref().unwrap_or(Path::new("cases.jsonl"));
    list.show_configuration(file, &id_field, out)?;
    if Path::new("kelvin.yaml").exists() {
        return Ok(Again::kelvin("lint"));
    }
    let types = list.governing();
    let init = Again::kelvin("init").flag("--cases", file);
    Ok(types
        .iter()
        .fold(init, |init, name| init.flag("--governing-type", name)))
}

/// The error for a file that needs no flag to name it.
fn needs_none(file: &Path) -> Misuse {
    let shown = safe::line(&file.display().to_string());
    let is_records = RowForm::of_file(file).is_some();
    let misuse = Misuse::new(format!("`{shown}` is named by no flag"));
    match is_records {
        true => misuse.help(format!(
            "records need no import: write `cases: {shown}` into kelvin.yaml, or run `kelvin init --cases={shown}`; traces are named by `--otlp` or `--langfuse`"
        )),
        false => misuse.help("traces are named by `--otlp FILE` or `--langfuse FILE`; records need no import: write `cases: FILE` into kelvin.yaml"),
    }
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
    Err(Misuse::new(format!("there is no trace in the file{}", why.unwrap_or_default())).help(
        "`--otlp` takes spans of OpenTelemetry, `--langfuse` an export of Langfuse; a file with records needs no import: write `cases: FILE` into kelvin.yaml",
    ))
}

/// The first of the given names that no case uses for a field.
fn free_field(cases: &[TraceCase], names: &[&str]) -> String {
    let is_free = |name: &&&str| cases.iter().all(|case| !case.fields.contains_key(**name));
    names
        .iter()
        .find(is_free)
        .or(names.last())
        .map_or_else(String::new, |name| (*name).to_owned())
}

/// Removes fields from all cases.
///
/// # Errors
///
/// A [`Misuse`] if no case has one of the fields.
fn drop_fields(cases: &mut [TraceCase], fields: &[String]) -> Result<(), Misuse> {
    for field in fields {
        let parts: Vec<String> = match field.strip_prefix('/') {
            Some(pointer) => pointer
                .split('/')
                .map(|part| part.replace("~1", "/").replace("~0", "~"))
                .collect(),
            None => vec![field.clone()],
        };
        let mut found = false;
        for case in cases.iter_mut() {
            found |= remove(&mut case.fields, &parts);
        }
        if !found {
            let mut names: Vec<String> = cases
                .iter()
                .flat_map(|case| case.fields.keys())
                .map(|key| format!("`{}`", safe::line(key)))
                .collect();
            names.sort();
            names.dedup();
            return Err(Misuse::new(format!(
                "`--drop {}`: no trace has such a field",
                safe::line(field)
            ))
            .help(format!(
                "the fields are {}; `/a/b` names `b` within `a`",
                safe::cut(&names.join(", "), 200)
            )));
        }
    }
    Ok(())
}

/// Removes a field from an object, or from every object in a list on the path to it.
fn remove(fields: &mut Map<String, Value>, parts: &[String]) -> bool {
    match parts {
        [] => false,
        [last] => fields.remove(last).is_some(),
        [first, rest @ ..] => match fields.get_mut(first) {
            Some(Value::Object(inside)) => remove(inside, rest),
            Some(Value::Array(values)) => {
                let mut found = false;
                for inside in values.iter_mut().filter_map(Value::as_object_mut) {
                    found |= remove(inside, rest);
                }
                found
            }
            _ => false,
        },
    }
}

/// Puts all traces on the list after removing what the rules find. Later steps show and write only this list.
fn redact(
    args: &ImportArgs,
    cases: Vec<TraceCase>,
    unused: Vec<UnusedTrace>,
    store: Option<&CaseStore>,
    list: &mut ReviewList,
) {
    let mut redactor = Redactor::new(&args.redact, &args.keep);
    for case in &cases {
        redactor.reserve(&Value::Object(case.fields.clone()).to_string());
    }
    if let Some(store) = store {
        redactor.reserve(store.text());
    }
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for case in cases {
        let mut replaced = RuleCounts::new();
        let fields = redactor.fields(case.fields, &mut replaced);
        let answer = case
            .answer
            .map(|answer| redactor.value(answer, &mut replaced));
        let mut aside = RuleCounts::new();
        let clean = review::ReviewedCase {
            id: clean_id(&case.id, &mut redactor),
            start: case.start,
            name: redactor.text(&case.name, &mut aside),
            remarks: case
                .remarks
                .iter()
                .map(|remark| redactor.text(remark, &mut aside))
                .collect(),
            fields,
            answer,
            replaced,
        };
        let content = Value::Object(clean.fields.clone()).to_string();
        let why = match seen.get(&content) {
            _ if clean.fields.is_empty() => "nothing is left of its input".to_owned(),
            Some(first) => format!("its input is that of `{first}`"),
            None => {
                seen.insert(content, clean.id.clone());
                list.cases.push(clean);
                continue;
            }
        };
        list.unused.push(UnusedTrace { id: clean.id, why });
    }
    let mut aside = RuleCounts::new();
    for trace in unused {
        list.unused.push(UnusedTrace {
            id: clean_id(&trace.id, &mut redactor),
            why: redactor.text(&trace.why, &mut aside),
        });
    }
    for part in &mut list.unread {
        part.why = redactor.text(&part.why, &mut aside);
    }
    list.values = redactor.values();
}

/// The id of a trace as the name of a case. An id that an SDK generates is not private, whatever digits it contains.
fn clean_id(id: &str, redactor: &mut Redactor) -> String {
    let is_drawn = id.len() >= 32
        && id
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    match is_drawn {
        true => id.to_owned(),
        false => redactor.text(id, &mut RuleCounts::new()),
    }
}

/// Leaves out the traces that a person has named.
///
/// # Errors
///
/// A [`Misuse`] if no trace, or more than one, begins with one of the given ids.
fn leave_out(ids: &[String], list: &mut ReviewList) -> Result<(), Misuse> {
    for id in ids {
        let cases = list.cases.iter().map(|case| &case.id);
        let all: Vec<&String> = cases
            .chain(list.unused.iter().map(|trace| &trace.id))
            .collect();
        let is_whole = all.contains(&id);
        let is_meant = |known: &str| known == id || !is_whole && known.starts_with(&**id);
        match all.iter().filter(|known| is_meant(known)).count() {
            1 => {}
            0 => {
                return Err(Misuse::new(format!(
                    "`--without {}`: no trace has this id",
                    safe::line(id)
                ))
                .help("write an id as the list has it, or its beginning"));
            }
            more => {
                return Err(Misuse::new(format!(
                    "`--without {}`: {more} traces begin so",
                    safe::line(id)
                ))
                .help("write more of the id"));
            }
        }
        if let Some(place) = list.cases.iter().position(|case| is_meant(&case.id)) {
            let case = list.cases.remove(place);
            list.unused.push(UnusedTrace {
                id: case.id,
                why: "`--without` names it".to_owned(),
            });
        }
    }
    Ok(())
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
    for rule in &args.keep {
        again = again.choice("--keep", Some(*rule));
    }
    for field in &args.drop {
        again = again.flag("--drop", field);
    }
    for id in &args.without {
        again = again.flag("--without", id);
    }
    again = again.switch("--with-errors", args.with_errors);
    match Path::new("cases.jsonl").exists() {
        true => again.flag("--into", "cases.jsonl").switch("--add", true),
        false => again.flag("--into", "cases.jsonl"),
    }
}
