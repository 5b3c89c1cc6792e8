//! `kelvin import cases`: a file of records becomes a folder of cases.

mod answers;
mod choose;
mod mapping;
mod records;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum as _};

use super::again::Again;
use super::ask::{self, Ask, Back, Stopped, Terminal};
use kelvin_base::exit::{Exit, Misuse};
use kelvin_base::file;
use kelvin_gate::reproduce::quoted;
use kelvin_page::{counted, safe};
use kelvin_system::signal;
use mapping::{Made, Mapping, UnitField};
use records::{Format, More, Record, Source, shown};

/// The arguments of `kelvin import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
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
    /// The field with the name of the case; `/a/b` for `b` inside `a`. Without it cases are numbered.
    #[arg(long, value_name = "FIELD")]
    id: Option<String>,
    /// The field with what stands before the units and is never changed, such as a question.
    #[arg(long, value_name = "FIELD")]
    preamble: Option<String>,
    /// A field that is a unit, or a list of which each item is one; `rule=Gate Rule` gives it another heading. May
    /// be repeated.
    #[arg(long, value_name = "FIELD")]
    units: Vec<String>,
    /// Where the items of a list are objects: the key of the text of a unit.
    #[arg(long, value_name = "KEY")]
    text_key: Option<String>,
    /// Where the items of a list are objects: the key of the heading of a unit, which is its type.
    #[arg(long, value_name = "KEY")]
    heading_key: Option<String>,
    /// The form of the file, where its name does not tell.
    #[arg(long, value_name = "FORMAT")]
    from: Option<Format>,
    /// What stands between the cells of a table [default: a comma, in `.tsv` a tab].
    #[arg(long, value_name = "SIGN", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Reads the whole file, shows the first case and writes nothing.
    #[arg(long)]
    dry_run: bool,
    /// Asks nothing; what no flag says is an error.
    #[arg(long, short)]
    yes: bool,
    /// Overwrites cases that are there already.
    #[arg(long)]
    force: bool,
}

impl Mapping {
    /// What the flags say.
    fn given(args: &CasesArgs) -> Self {
        Self {
            id: args.id.clone(),
            preamble: args.preamble.clone(),
            units: args
                .units
                .iter()
                .map(|text| UnitField::parse(text))
                .collect(),
            text_key: args.text_key.clone(),
            heading_key: args.heading_key.clone(),
        }
    }
}

/// One sign of ASCII, or `tab`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        b"tab" | b"\\t" => Ok(b'\t'),
        _ => Err("name one character, such as `;`, or `tab`".to_owned()),
    }
}

/// Runs `kelvin import`.
pub(super) fn main(args: ImportArgs) -> anyhow::Result<Exit> {
    let What::Cases(args) = args.what;
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let ask = (terminal && !args.yes).then_some(&Terminal as &dyn Ask);
    if ask.is_some() {
        signal::heed()?;
    }
    let next = match args.dry_run {
        true => String::new(),
        false => next(&args.into),
    };
    let stopped = again(&args, &Mapping::given(&args));
    match import(args, ask, &mut anstream::stdout()) {
        Err(error) if error.is::<Stopped>() || error.is::<Back>() => {
            super::say(&format!("stopped; nothing was written\n{}", stopped.next()));
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(error),
        Ok(()) => {
            super::say(&next);
            Ok(Exit::Passed)
        }
    }
}

/// The first file of a folder, by its name, that has records by its ending. Settings of other programs are none.
pub(super) fn candidate(folder: &Path) -> Option<PathBuf> {
    const OTHERS: &[&str] = &[
        "package.json",
        "package-lock.json",
        "tsconfig.json",
        "composer.json",
    ];
    let files = std::fs::read_dir(folder).ok()?;
    let mut files: Vec<PathBuf> = files
        .flatten()
        .filter(|file| {
            let name = file.file_name();
            let name = name.to_string_lossy();
            !name.starts_with('.') && !OTHERS.contains(&&*name)
        })
        .map(|file| file.path())
        .filter(|file| file.is_file() && records::format_of(file).is_ok())
        .collect();
    files.sort();
    files.into_iter().find(|file| has_records(file))
}

/// What makes cases of a file.
pub(super) fn command(file: &Path, into: &Path) -> String {
    let word = |path: &Path| {
        let here = std::env::current_dir().unwrap_or_default();
        quoted(&path.strip_prefix(&here).unwrap_or(path).to_string_lossy())
    };
    let (file, into) = (word(file), word(into));
    format!("this makes cases of a file: `kelvin import cases {file} --into {into} --units FIELD`")
}

/// Makes cases of a file, with all that has to be known asked for.
///
/// # Errors
///
/// As the command itself, [`Back`] and [`Stopped`] too.
pub(super) fn offer(
    file: &Path,
    into: &Path,
    ask: &dyn Ask,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let args = CasesArgs {
        file: file.to_path_buf(),
        into: into.to_path_buf(),
        ..CasesArgs::default()
    };
    import(args, Some(ask), out)
}

/// Makes the cases: all of them are made before the first is written.
fn import(args: CasesArgs, ask: Option<&dyn Ask>, out: &mut dyn Write) -> anyhow::Result<()> {
    let source = Source::of(&args.file, args.from, args.delimiter)?;
    // Before the first question: what was answered would be lost.
    if let Some(file) = in_the_way(&args.into) {
        return Err(Misuse::new(format!(
            "`{}` is a file, and the cases need a folder",
            shown(&file)
        ))
        .help("`--into DIR` names another one")
        .into());
    }
    let given = Mapping::given(&args);
    let first = first(&source)?;
    let asks = ask.filter(|_| given.units.is_empty());
    let mapping = match asks {
        Some(ask) => choose::choose(&first.fields, &given, ask)?,
        None if given.units.is_empty() => return Err(choose::missing(&first.fields).into()),
        None => given,
    };
    let again = again(&args, &mapping);
    let ended = make(&args, &source, &mapping, asks, out);
    if let (Some(_), Err(error)) = (asks, &ended)
        && !error.is::<Stopped>()
        && !error.is::<Back>()
        && let Some(command) = again.command()
    {
        writeln!(out, "the same again, with the answers given: {command}")?;
    }
    ended?;
    if args.dry_run {
        write!(out, "{}", again.next())?;
    }
    Ok(())
}

/// Makes the cases of all records, shows what became of them, and writes them.
fn make(
    args: &CasesArgs,
    source: &Source<'_>,
    mapping: &Mapping,
    asks: Option<&dyn Ask>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut made = Made::default();
    source.each(&mut |record| {
        made.take(&record, mapping)?;
        Ok(More::Wanted)
    })?;
    let folder = &args.into;
    let files: Vec<PathBuf> = made
        .cases
        .iter()
        .map(|case| folder.join(format!("{}.md", case.name)))
        .collect();
    if !args.force {
        refuse(&files)?;
    }
    let total = counted(made.cases.len(), "case");
    if args.dry_run || asks.is_some() {
        let (case, file) = (made.cases.first().context("there is no case")?, &files[0]);
        writeln!(out, "{}:\n", shown(file))?;
        writeln!(out, "{}", safe::lines(&case.text))?;
    }
    tell(&made, mapping, out)?;
    if args.dry_run {
        writeln!(
            out,
            "{total} would be written; without `--dry-run` they are"
        )?;
        return Ok(());
    }
    if let Some(ask) = asks
        && !ask::yes(
            ask,
            &format!("Write {total} into `{}`?", shown(folder)),
            true,
        )?
    {
        return Err(Stopped.into());
    }
    for (case, file) in made.cases.iter().zip(&files) {
        file::write(file, case.text.as_bytes())?;
    }
    writeln!(out, "wrote {total} into `{}`", shown(folder))?;
    Ok(())
}

/// What is no folder where one has to be made: the path itself, or one above it.
pub(super) fn in_the_way(folder: &Path) -> Option<PathBuf> {
    let is_no_folder = |path: &&Path| path.symlink_metadata().is_ok() && !path.is_dir();
    folder.ancestors().find(is_no_folder).map(Path::to_path_buf)
}

/// Whether a file has records, of which cases can be made.
pub(super) fn has_records(file: &Path) -> bool {
    let source = Source::of(file, None, None);
    file.is_file() && source.is_ok_and(|source| first(&source).is_ok())
}

/// What to do with cases. A configuration that is there may name another folder, which `lint` shows.
fn next(into: &Path) -> String {
    match Path::new("kelvin.yaml").exists() {
        true => Again::kelvin("lint").next(),
        false => Again::kelvin("init").flag("--cases", into).next(),
    }
}

/// The import without `--dry-run`, and without questions: the fields are those that were chosen.
fn again(args: &CasesArgs, mapping: &Mapping) -> Again {
    let mut again = Again::kelvin("import cases").word(&args.file);
    if args.into != Path::new("cases") {
        again = again.flag("--into", &args.into);
    }
    again = again
        .given("--id", mapping.id.as_ref())
        .given("--preamble", mapping.preamble.as_ref());
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

/// A sign between cells, as the command line has it.
fn written(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "tab".to_owned(),
        sign => char::from(sign).to_string(),
    }
}

/// The first record, by which the fields are chosen.
fn first(source: &Source<'_>) -> anyhow::Result<Record> {
    let mut first = None;
    source.each(&mut |record| {
        first = Some(record);
        Ok(More::Enough)
    })?;
    first.ok_or_else(|| {
        Misuse::new(format!("{}: there is no record in it", shown(source.path)))
            .help("a record is one object or row, of which one case is made")
            .into()
    })
}

/// Nothing is overwritten unless that was asked for; not one file is written before all were looked at.
fn refuse(files: &[PathBuf]) -> Result<(), Misuse> {
    let is_there = |file: &&PathBuf| file.symlink_metadata().is_ok();
    let there = files.iter().filter(is_there).count();
    let Some(file) = files.iter().find(is_there) else {
        return Ok(());
    };
    let others = match there {
        1 => String::new(),
        _ => format!(
            ", and so {} more",
            if there == 2 {
                "is 1".to_owned()
            } else {
                format!("are {}", there - 1)
            }
        ),
    };
    Err(
        Misuse::new(format!("`{}` is there already{others}", shown(file)))
            .help("`--force` overwrites cases, and `--into DIR` writes into another folder"),
    )
}

/// What became of the fields.
fn tell(made: &Made, mapping: &Mapping, out: &mut dyn Write) -> anyhow::Result<()> {
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
