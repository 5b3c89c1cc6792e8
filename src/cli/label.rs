//! `kelvin label`.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::again::Again;
use super::ask::{Ask, Stopped, Terminal};
use crate::check::{BlindPair, LabelRequest, Labelling, Preference};
use crate::registry::{Registry, overrides_naming};
use kelvin_base::exit::Exit;
use kelvin_page::{counted, safe};
use kelvin_run::judge::calibration::PeopleRecord;

/// The arguments of `kelvin label`.
#[derive(Debug, Args)]
pub(super) struct LabelArgs {
    /// The report whose answers are shown: a file, some characters of the id of a recorded run, `latest`, `previous`, or
    /// a git revision.
    #[arg(default_value = "kelvin/report.json")]
    report: String,
    /// The configuration beside which the ledger lies.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The criterion that you choose by: shown with each pair, and counted separately.
    #[arg(long, value_name = "TEXT", default_value = "better", value_parser = word)]
    criterion: String,
    /// Your name in the ledger; several people may label the same pairs.
    #[arg(long, value_name = "NAME", default_value = "me", value_parser = word)]
    person: String,
    /// How many pairs are shown.
    #[arg(long, value_name = "N", default_value = "10")]
    pairs: NonZeroUsize,
    /// Leaves the file of calibrations as it is.
    #[arg(long)]
    no_save: bool,
}

/// Checks a name that becomes a part of an id.
fn word(text: &str) -> Result<String, String> {
    match text.trim().is_empty() || text.contains('/') || !safe::is_one_line(text) {
        true => Err("write a word or a line without `/`".to_owned()),
        false => Ok(text.trim().to_owned()),
    }
}

/// An answer that a person types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Typed {
    Said(Preference),
    Skip,
    Stop,
}

fn typed(line: &str) -> Result<Typed, String> {
    match line.trim().to_lowercase().as_str() {
        "l" | "left" => Ok(Typed::Said(Preference::Left)),
        "r" | "right" => Ok(Typed::Said(Preference::Right)),
        "t" | "tie" => Ok(Typed::Said(Preference::Tie)),
        "s" | "skip" => Ok(Typed::Skip),
        "q" | "quit" => Ok(Typed::Stop),
        _ => Err("type l, r, t, s or q".to_owned()),
    }
}

/// Runs `kelvin label`.
pub(super) fn main(args: LabelArgs, registry: Registry) -> anyhow::Result<Exit> {
    let mut labelling = Labelling::open(&LabelRequest {
        registry,
        overrides: overrides_naming(&args.config),
        report: args.report.clone(),
        criterion: args.criterion.clone(),
        person: args.person.clone(),
        pairs: args.pairs.get(),
    })?;
    let is_stopped = ask_all(&mut labelling, &args.criterion, &Terminal)?;
    let left = labelling.open_pairs()?.len();
    let all = labelling.pairs();
    let records = labelling.agreement()?;
    let file = match args.no_save {
        true => None,
        false => labelling.keep(&records)?,
    };
    let mut text = format!("{} of {} labelled\n", all - left, counted(all, "pair"));
    for record in &records {
        let _ = writeln!(text, "{}", sentence(record));
    }
    if records.is_empty() {
        text.push_str(
            "no choice of a person is about a pair that the judge of this report has graded\n",
        );
    }
    if let Some(file) = file {
        let _ = writeln!(text, "kept in {}", safe::line(&file.display().to_string()));
    }
    super::say(&text);
    let again = match left {
        0 => Again::kelvin("ledger summary").config(&args.config),
        _ => Again::kelvin("label")
            .word(&args.report)
            .config(&args.config)
            .flag("--criterion", &args.criterion)
            .flag("--person", &args.person),
    };
    super::say(&again.next());
    Ok(match is_stopped {
        true => Exit::Interrupted,
        false => Exit::Passed,
    })
}

/// Shows the pairs without a decision, each once. Returns whether the person stopped before the end.
fn ask_all(labelling: &mut Labelling, criterion: &str, ask: &dyn Ask) -> anyhow::Result<bool> {
    let all = labelling.pairs();
    let open = labelling.open_pairs()?;
    let before = all - open.len();
    for (number, pair) in (before + 1..).zip(open) {
        ask.show(&shown(&pair, number, all, criterion));
        let check = |line: &str| typed(line).map(|_| ());
        let question = "Which is better: l(eft), r(ight), t(ie), s(kip), or q(uit)?";
        let line = match ask.line(question, None, &check) {
            Err(error) if error.is::<Stopped>() => return Ok(true),
            line => line?,
        };
        match typed(&line).map_err(anyhow::Error::msg)? {
            Typed::Said(said) => labelling.put(&pair, said)?,
            Typed::Skip => {}
            Typed::Stop => return Ok(true),
        }
    }
    Ok(false)
}

/// A pair as lines for a terminal.
fn shown(pair: &BlindPair, number: usize, all: usize, criterion: &str) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        format!("Pair {number} of {all}; choose by: {criterion}"),
    ];
    let parts = [
        ("Prompt", &pair.asked),
        ("Left", &pair.left),
        ("Right", &pair.right),
    ];
    for (name, text) in parts {
        lines.push(format!("{name}:"));
        // The texts are foreign; the terminal must not execute anything in them.
        let text = safe::lines(text);
        lines.extend(text.trim_end().lines().map(|line| format!("  {line}")));
    }
    lines
}

/// The agreement of the judge with people, in one line.
fn sentence(record: &PeopleRecord) -> String {
    let PeopleRecord {
        judge,
        criterion,
        choices,
        agreed,
        kappa,
        interval,
        ..
    } = record;
    let share = format!(
        "`{judge}` agrees with people by \"{}\" in {:.0} % of {}",
        safe::line(criterion),
        100.0 * agreed,
        counted(*choices, "choice")
    );
    match (kappa, interval) {
        (Some(kappa), Some((low, high))) => format!(
            "{share}: Cohen's kappa {kappa:.2}, with 95 % confidence between {low:.2} and {high:.2}"
        ),
        (Some(kappa), None) => {
            format!("{share}: Cohen's kappa {kappa:.2}; one choice has no interval")
        }
        (None, _) => format!(
            "{share}; one of the two says the same of every pair, so that chance explains all agreement"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_or_a_word_is_a_choice_and_anything_else_is_asked_again() {
        assert_eq!(typed(" L\n"), Ok(Typed::Said(Preference::Left)));
        assert_eq!(typed("right"), Ok(Typed::Said(Preference::Right)));
        assert_eq!(typed("t"), Ok(Typed::Said(Preference::Tie)));
        assert_eq!((typed("s"), typed("q")), (Ok(Typed::Skip), Ok(Typed::Stop)));
        assert!(typed("").is_err() && typed("lr").is_err());
        assert!(word("a/b").is_err() && word(" ").is_err());
    }
}
