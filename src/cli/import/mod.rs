//! `kelvin import cases`: a file of records becomes a folder of cases.

mod mapping;
mod messages;
mod proposal;
mod records;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum as _};

use super::again::Again;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_base::file;
use kelvin_evidence::config::unit_type;
use kelvin_page::{counted, safe};
use kelvin_probe::case_files::LABELS;
use mapping::{MadeCases, Mapping, UnitField};
use proposal::proposal;
use records::{ImportedRecord, RecordsFormat, shown};

/// The types of turns for which `found` is true; none where no case ends in a turn that is to be answered, since cases
/// may have a section `System` and be no chats.
pub(super) fn turns_among(found: impl Fn(&str) -> bool) -> Vec<String> {
    if !found(GOVERNS) {
        return Vec::new();
    }
    let types = messages::HEADINGS.iter().map(|heading| unit_type(heading));
    types.filter(|name| found(name)).collect()
}

/// The type of the turn that the pipeline is to answer.
pub(super) const GOVERNS: &str = "last_user_turn";

/// The arguments of `kelvin import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    #[command(subcommand)]
    what: ImportCommand,
}

#[derive(Debug, Subcommand)]
enum ImportCommand {
    /// Makes Markdown cases of a file with JSON, JSONL or CSV.
    Cases(CasesArgs),
}

/// The arguments of `kelvin import cases`.
#[derive(Debug, Default, Args)]
struct CasesArgs {
    /// A list of JSON objects (`.json`), one object a line (`.jsonl`), or a table (`.csv`, `.tsv`).
    file: PathBuf,
    /// The folder for the cases, one file each.
    #[arg(long, value_name = "DIR", default_value = "cases")]
    into: PathBuf,
    #[command(flatten)]
    mapping: Mapping,
    /// The form of the file, where its name does not tell.
    #[arg(long, value_name = "FORMAT")]
    from: Option<RecordsFormat>,
    /// What stands between the cells of a table [default: a comma, in `.tsv` a tab].
    #[arg(long, value_name = "SIGN", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Reads the whole file, shows the first case and writes nothing.
    #[arg(long)]
    dry_run: bool,
    /// Overwrites cases that are there already.
    #[arg(long)]
    force: bool,
}

/// Parses one ASCII character, or `tab`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        b"tab" | b"\\t" => Ok(b'\t'),
        _ => Err("name one character, such as `;`, or `tab`".to_owned()),
    }
}

/// Runs `kelvin import`.
pub(super) fn main(args: ImportArgs) -> anyhow::Result<Exit> {
    let ImportCommand::Cases(args) = args.what;
    let next = match args.dry_run {
        true => again(&args).next(),
        false => next(&args),
    };
    import(&args, &mut anstream::stdout())?;
    super::say(&next);
    Ok(Exit::Passed)
}

/// Makes the cases of all records, shows a summary, and writes them.
fn import(args: &CasesArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let made = make(args)?;
    if !args.dry_run {
        tell(&made, &args.mapping, out)?;
        return write(&made, args, out);
    }
    show_first(&made, args, out)?;
    tell(&made, &args.mapping, out)?;
    let total = counted(made.cases.len(), "case");
    writeln!(
        out,
        "{total} would be written; without `--dry-run` they are"
    )?;
    Ok(())
}

/// Makes the cases: all of them are made before the first is written.
fn make(args: &CasesArgs) -> anyhow::Result<MadeCases> {
    if let Some(file) = in_the_way(&args.into) {
        return Err(Misuse::new(format!(
            "`{}` is a file, and the cases need a folder",
            shown(&file)
        ))
        .help("`--into DIR` names another one")
        .into());
    }
    let records = records::read(&args.file, args.from, args.delimiter)?;
    if let (true, Some(first)) = (args.mapping.is_empty(), records.first()) {
        return Err(missing(args, first).into());
    }
    let mut made = MadeCases::default();
    for record in &records {
        made.take(record, &args.mapping)?;
    }
    if !args.force {
        let mut files = made.files(&args.into);
        files.extend(made.table().map(|_| args.into.join(LABELS)));
        refuse(&files)?;
    }
    Ok(made)
}

/// The error where no flag says which fields are units; it shows the fields with a proposal.
fn missing(args: &CasesArgs, first: &ImportedRecord) -> Misuse {
    let mut mapping = proposal(&first.fields);
    if mapping.is_empty() {
        mapping.units = first
            .fields
            .keys()
            .take(1)
            .map(|key| UnitField::of_key(key))
            .collect();
    }
    let proposed = CasesArgs {
        file: args.file.clone(),
        into: args.into.clone(),
        mapping: Mapping {
            id: args.mapping.id.clone().or(mapping.id),
            preamble: args.mapping.preamble.clone().or(mapping.preamble),
            expected: args.mapping.expected.clone(),
            ..mapping
        },
        ..*args
    };
    let again = again(&proposed).switch("--dry-run", true);
    let command = again
        .command()
        .map_or_else(String::new, |command| format!("; e.g. `{command}`"));
    let how = match &proposed.mapping.messages {
        Some(field) => format!(
            "`{}` is a conversation: `--messages` makes a unit of each of its turns",
            safe::line(field)
        ),
        None => "name them with `--units`, once for each field".to_owned(),
    };
    Misuse::new(format!(
        "which fields are the units of a case is not known; the first record has:{}",
        proposal::fields(&first.fields)
    ))
    .help(how + &command)
}

fn show_first(made: &MadeCases, args: &CasesArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let files = made.files(&args.into);
    for (case, file) in made.cases.iter().zip(&files).take(1) {
        writeln!(out, "{}:\n", shown(file))?;
        writeln!(out, "{}", safe::lines(&case.text))?;
    }
    Ok(())
}

fn write(made: &MadeCases, args: &CasesArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    for (case, file) in made.cases.iter().zip(made.files(&args.into)) {
        file::write(&file, case.text.as_bytes())?;
    }
    if let Some((table, labels)) = made.table() {
        let file = args.into.join(LABELS);
        file::write(&file, table.as_bytes())?;
        let labels = counted(labels, "label");
        writeln!(out, "wrote {labels} into `{}`", shown(&file))?;
    } else if let Some(field) = &args.mapping.expected {
        let field = safe::line(field);
        writeln!(
            out,
            "no record has anything in `{field}`, so there is no label"
        )?;
    }
    let total = counted(made.cases.len(), "case");
    writeln!(out, "wrote {total} into `{}`", shown(&args.into))?;
    Ok(())
}

/// The path that is no folder although one has to be made there: the path itself, or one of its parents.
pub(super) fn in_the_way(folder: &Path) -> Option<PathBuf> {
    let is_no_folder = |path: &&Path| path.symlink_metadata().is_ok() && !path.is_dir();
    folder.ancestors().find(is_no_folder).map(Path::to_path_buf)
}

/// The first record of a file that has some; none where it has none, or its name tells no form of records.
pub(super) fn first_record(file: &Path) -> Option<serde_json::Map<String, serde_json::Value>> {
    records::format_of(file).ok()?;
    let records = records::read(file, None, None).ok()?;
    records.into_iter().next().map(|record| record.fields)
}

/// The next step after an import. An existing configuration may name another folder of cases, which `lint` shows.
fn next(args: &CasesArgs) -> String {
    if Path::new("kelvin.yaml").exists() {
        return Again::kelvin("lint").next();
    }
    let init = Again::kelvin("init").flag("--cases", &args.into);
    match args.mapping.messages {
        Some(_) => init.flag("--governing-type", GOVERNS).next(),
        None => init.next(),
    }
}

/// The import without `--dry-run`.
fn again(args: &CasesArgs) -> Again {
    let mut again = Again::kelvin("import cases").word(&args.file);
    if args.into != Path::new("cases") {
        again = again.flag("--into", &args.into);
    }
    let mapping = &args.mapping;
    again = again
        .given("--id", mapping.id.as_ref())
        .given("--preamble", mapping.preamble.as_ref())
        .given("--expected", mapping.expected.as_ref())
        .given("--messages", mapping.messages.as_ref());
    for unit in &mapping.units {
        again = again.flag("--units", unit.written());
    }
    let form = args.from.and_then(|form| form.to_possible_value());
    again
        .given("--text-key", mapping.text_key.as_ref())
        .given("--heading-key", mapping.heading_key.as_ref())
        .given("--from", form.map(|form| form.get_name().to_owned()))
        .given("--delimiter", args.delimiter.map(written))
        .switch("--force", args.force)
}

/// The separator of cells, as the command line writes it.
fn written(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "tab".to_owned(),
        sign => char::from(sign).to_string(),
    }
}

/// Refuses to overwrite files unless that was asked for. All files are checked before the first is written.
fn refuse(files: &[PathBuf]) -> Result<(), Misuse> {
    let is_there = |file: &&PathBuf| file.symlink_metadata().is_ok();
    let there = files.iter().filter(is_there).count();
    let Some(file) = files.iter().find(is_there) else {
        return Ok(());
    };
    let others = match there {
        1 => String::new(),
        2 => ", and so is 1 more".to_owned(),
        _ => format!(", and so are {} more", there - 1),
    };
    Err(
        Misuse::new(format!("`{}` is there already{others}", shown(file)))
            .help("`--force` overwrites cases, and `--into DIR` writes into another folder"),
    )
}

/// Shows what the fields became.
fn tell(made: &MadeCases, mapping: &Mapping, out: &mut dyn Write) -> anyhow::Result<()> {
    const SHOWN: usize = 12;
    let all = made.headings.iter().take(SHOWN);
    let headings: Vec<String> = all
        .map(|(heading, count)| format!("{} ({count})", safe::cut(&safe::line(heading), 40)))
        .collect();
    let more = match made.headings.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    writeln!(out, "units: {}{more}", headings.join(", "))?;
    if made.empty > 0 {
        let values = counted(made.empty, "value");
        writeln!(
            out,
            "{values} missing or empty where a unit was looked for; none was made of them"
        )?;
    }
    if mapping.messages.is_some() {
        tell_of_turns(made, out)?;
    }
    for field in mapping.answers() {
        writeln!(
            out,
            "`{}` is the right answer, by its name: it stands in the input, where the pipeline can copy it",
            safe::line(field)
        )?;
    }
    if mapping.id.is_none() {
        writeln!(
            out,
            "the cases are numbered; `--id FIELD` names them by a field"
        )?;
    }
    Ok(())
}

/// Shows what of the conversations is in no case, and what the configuration has to say of turns.
fn tell_of_turns(made: &MadeCases, out: &mut dyn Write) -> anyhow::Result<()> {
    if made.after > 0 {
        let messages = counted(made.after, "message");
        writeln!(
            out,
            "{messages} behind the last user turns left out, since the pipeline is to answer those turns"
        )?;
    }
    if !made.left_out.is_empty() {
        let keys: Vec<String> = made.left_out.iter().map(|key| safe::line(key)).collect();
        let keys = safe::cut(&keys.join(", "), 120);
        writeln!(
            out,
            "left out of the messages, which become their texts: {keys}"
        )?;
    }
    if made.systems > 0 {
        let records = counted(made.systems, "record");
        writeln!(
            out,
            "{records} with a field `system`, which is in no case; `--preamble system` puts it before the turns"
        )?;
    }
    let headings = made.headings.keys();
    let types: Vec<String> = headings.map(|heading| unit_type(heading)).collect();
    let types = turns_among(|name| types.iter().any(|found| found == name));
    writeln!(
        out,
        "the lines for kelvin.yaml:\n\ngoverning_types: [{GOVERNS}]\nkeep_order: [{}]\n",
        types.join(", ")
    )?;
    Ok(())
}
