//! The output on a terminal after a check: the first failure in full, the command that repeats that call, and the next
//! step.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::again::{Again, MENDED};
use super::check::CheckArgs;
use crate::check::Checked;
use crate::registry::Registry;
use crate::{baseline, check};
use kelvin_gate::report::Report;
use kelvin_gate::reproduce::quoted;
use kelvin_gate::verdict::Word;
use kelvin_gate::{Judgement, report};
use kelvin_github::publish::mask::Masker;
use kelvin_page::{FailedInvocation, safe};
use kelvin_probe::Kind;
use kelvin_record::Ending;
use kelvin_record::settings::BaselineSource;
use kelvin_run as run;
use kelvin_run::config::Config;
use kelvin_run::targets::Address;
use kelvin_system::git;

/// How many lines of the output of a failed call are shown; the page has all of the kept output.
const LINES: usize = 20;

/// The text below the page of a check. A verdict that does not pass names the next step itself.
pub(super) fn after(
    args: &CheckArgs,
    registry: Registry,
    checked: &Checked,
    judgement: Option<&Judgement>,
) -> String {
    let page = report::page::run_page(&checked.report);
    let configured = registry.configured_in(&args.config);
    // If the configuration has changed and cannot be read now, some hints are left out.
    let configured = configured.ok();
    let mut text = String::new();
    // The failures of a copied report are failures of the base, and their files do not exist here.
    let first = page.first_failure().filter(|_| !checked.is_a_copy());
    let mut by_hand = first
        .zip(configured.as_ref())
        .and_then(|(first, config)| by_hand((registry, config), &checked.out, first));
    if let Some(first) = first {
        text.push_str(&failure(first));
    }
    let next = match judgement {
        None if checked.report.run.ending == Ending::Failed => {
            nothing_came(args, registry, configured.as_ref(), &mut by_hand)
        }
        None => step(args, checked, configured.as_ref(), first.is_some()),
        Some(judgement) if judgement.verdict.verdict == Word::NoBaseline => {
            // If the baseline is turned off, no source was asked, and a saved base would not be used either.
            let is_off = judgement.tried.is_empty();
            match is_off {
                true => view(args).next(),
                // Without a commit no report can be stored in git.
                false if checked.report.run.session.commit.is_none() => name_a_base(args),
                false => keep_a_base(args, configured.as_ref()),
            }
        }
        Some(judgement) if judgement.asks_nothing() => view(args).next(),
        // A repeated run would be invalid too, until git ignores the files that the pipeline leaves.
        Some(_) if checked.report.run.ending == Ending::Changed => {
            let line = ignoring(&args.config, &checked.ignorable);
            line.map_or_else(String::new, |line| format!("next: {line}\n"))
        }
        Some(_) => String::new(),
    };
    if let Some(command) = by_hand {
        let _ = writeln!(text, "by hand: {command}");
    }
    text.push_str(&next);
    // The command comes from the configuration, which may hold secrets.
    Masker::of_environment([]).text(&text).into_owned()
}

/// The next step if no call gave an answer. The doctor is suggested only if it can find a problem: for a pipeline that
/// merely fails, it reports that everything is there.
fn nothing_came(
    args: &CheckArgs,
    registry: Registry,
    config: Option<&Config>,
    by_hand: &mut Option<String>,
) -> String {
    let is_ill = config.is_none_or(|config| check::doctor::is_something_missing(registry, config));
    if is_ill {
        return Again::kelvin("doctor")
            .config(&args.config)
            .given("--out", args.out.as_ref())
            .next();
    }
    // A next step is one line, but the command of a script may have several lines.
    match by_hand.take_if(|command| !command.contains('\n')) {
        Some(command) => format!("next, by hand: {command}\n"),
        None => args.again().next_when(MENDED),
    }
}

/// Shows a failure, with the last lines of the output of the call.
fn failure(first: &FailedInvocation<'_>) -> String {
    let mut text = format!(
        "\nThe first failure, {}, {}: {}\n",
        safe::cut_middle(first.item, 80),
        safe::cut(first.place, 80),
        safe::line(&first.failure.message)
    );
    let lines: Vec<&str> = first.failure.stderr.lines().collect();
    if lines.len() > LINES {
        let _ = writeln!(
            text,
            "  … {} lines before these are in the report",
            lines.len() - LINES
        );
    }
    for line in &lines[lines.len().saturating_sub(LINES)..] {
        let _ = writeln!(text, "  {}", safe::line(line));
    }
    text
}

/// The command that repeats a call, for pasting into a shell. None if the pipeline is not a command, or the call was
/// made in a workspace that no longer exists.
fn by_hand(
    (registry, configured): (Registry, &Config),
    out: &Path,
    first: &FailedInvocation<'_>,
) -> Option<String> {
    let folder = first.folder.as_ref()?;
    let mut inputs = run::INPUTS.iter().map(|name| out.join(folder).join(name));
    let input = inputs.find(|path| path.is_file())?;
    let command = configured
        .target_of(kind_of(registry, folder)?.name())
        .and_then(Address::command_line)?
        .to_owned();
    let output = std::env::temp_dir().join("kelvin-by-hand.json");
    let command = filled(&command, &configured.root, &input, &output)?;
    let is_here = std::env::current_dir().is_ok_and(|here| here == configured.root);
    Some(match is_here {
        true => safe::lines(&command),
        false => {
            let root = quoted(&configured.root.to_string_lossy());
            safe::lines(&format!("cd {root} && {command}"))
        }
    })
}

/// The kind of probe whose files are in a folder of a run: the kind with that folder name, or the kind whose items have
/// their folders at the top.
fn kind_of(registry: Registry, folder: &Path) -> Option<&'static dyn Kind> {
    let top = folder.components().next()?.as_os_str().to_str();
    let mut kinds = registry.kinds().iter().copied();
    let named = kinds.clone().find(|kind| kind.folder() == top);
    named.or_else(|| kinds.find(|kind| kind.folder().is_none()))
}

/// The command with its paths in place of the placeholders. A path that needs quotes can be inserted only if the
/// command itself contains no quotes.
fn filled(command: &str, root: &Path, input: &Path, output: &Path) -> Option<String> {
    let quotes = command.contains(['\'', '"', '`', '\\']);
    let below = |path: &Path| -> PathBuf { path.strip_prefix(root).unwrap_or(path).to_path_buf() };
    let mut filled = command.to_owned();
    for (name, path) in [
        ("{input}", below(input)),
        ("{output}", output.to_path_buf()),
        ("{root}", root.to_path_buf()),
    ] {
        if !filled.contains(name) {
            continue;
        }
        let path = path.to_str()?;
        let word = quoted(path);
        if quotes && word != path {
            return None;
        }
        filled = filled.replace(name, &word);
    }
    Some(filled)
}

/// The next step. Files that git neither tracks nor ignores prevent the reuse of answers, so advice about them comes
/// first.
fn step(args: &CheckArgs, checked: &Checked, config: Option<&Config>, some_failed: bool) -> String {
    let report = &checked.report;
    let again = args.again().command();
    match (ignoring(&args.config, &checked.ignorable), again) {
        // The next run would be invalid too, as long as git does not ignore these files.
        (Some(line), Some(again)) if report.run.ending == Ending::Changed => {
            format!("next: {line} && {again}\n")
        }
        (Some(line), _) if report.run.ending == Ending::Complete => format!("next: {line}\n"),
        _ => next(args, report, config, some_failed),
    }
}

/// The command that makes git ignore the files that the pipeline leaves in the repository; none if it leaves no files.
fn ignoring(config: &Path, lines: &BTreeSet<String>) -> Option<String> {
    let root = check::folder(config).ok().filter(|_| !lines.is_empty())?;
    let top = git::top(&root);
    let is_here = std::env::current_dir().is_ok_and(|here| here == top);
    let file = match is_here {
        true => ".gitignore".to_owned(),
        false => quoted(&top.join(".gitignore").to_string_lossy()),
    };
    let lines: Vec<String> = lines.iter().map(|line| quoted(line)).collect();
    // The added rule must not be appended to a last line without a line break.
    let line = format!(r"printf '\n%s\n' {} >> {file}", lines.join(" "));
    // If the path contains a character that a line cannot show, the pasted command would add another rule.
    (safe::lines(&line) == line).then_some(line)
}

/// The command that fits the ending of a run, for the last line.
fn next(args: &CheckArgs, report: &Report, config: Option<&Config>, some_failed: bool) -> String {
    let session = &report.run.session;
    // Some of the cases, or one of several probes, cannot be the base of later comparisons.
    let is_whole = report.run.only.is_empty() && !args.is_restricted();
    let can_be_kept = is_whole && session.commit.is_some();
    // A report with fewer repeats cannot be a base.
    let more = config.map(|config| config.baseline.repeats);
    let more = more.filter(|wanted| report.run.repeats < wanted.get());
    match report.run.ending {
        Ending::Interrupted => args.again().word("--resume").next(),
        Ending::DryRun | Ending::Changed | Ending::Failed => args.again().next(),
        // The other shards ran elsewhere.
        Ending::Complete if report.run.shard.is_some() => String::new(),
        // A report without any figure is refused as a base.
        Ending::Complete if some_failed || report.lacks_figures() => args.again().next_when(MENDED),
        Ending::Complete if can_be_kept && session.dirty => {
            let later = config.filter(|config| needs_a_base(config));
            let later = later.map(|_| once_committed(args, more));
            later.unwrap_or_default() + &view(args).next()
        }
        Ending::Complete if can_be_kept => match more {
            Some(_) => args.again_with(more).next(),
            None => save(args).next(),
        },
        Ending::Complete => view(args).next(),
    }
}

/// Whether a saved report would be used as a base and none has been saved yet.
fn needs_a_base(config: &Config) -> bool {
    let asks = !matches!(config.baseline.from, BaselineSource::Off);
    asks && !config.baseline.compute && !check::is_one_kept(config)
}

/// Explains how to save this report as a base after a commit, because a report of uncommitted changes cannot be saved.
fn once_committed(args: &CheckArgs, more: Option<NonZeroUsize>) -> String {
    let check = args.again_with(more.or(args.repeats));
    match (check.command(), save(args).command()) {
        (Some(check), Some(save)) => format!(
            "A report can be kept to compare with once all changes are committed: {check} && {save}\n"
        ),
        _ => String::new(),
    }
}

/// The next step for a gate outside of git, when only a file can be the base.
fn name_a_base(args: &CheckArgs) -> String {
    Again::kelvin("gate")
        .config(&args.config)
        .given("--out", args.out.as_ref())
        .flag("--baseline", "base.json")
        .next_when("with the report of the version to compare with as `base.json`")
}

/// The next step for a gate that has found no base.
fn keep_a_base(args: &CheckArgs, config: Option<&Config>) -> String {
    let more = config.filter(|config| config.repeats < config.baseline.repeats);
    let check = Again::kelvin("check")
        .config(&args.config)
        .given(
            "--repeats",
            more.map(|config| config.baseline.repeats.to_string()),
        )
        .given("--out", args.out.as_ref());
    match (check.command(), save(args).command()) {
        (Some(check), Some(save)) => {
            format!("next, on the branch to compare with: {check} && {save}\n")
        }
        _ => String::new(),
    }
}

/// The command that saves the report as a base; without a remote, it is saved in this clone alone.
fn save(args: &CheckArgs) -> Again {
    let root = check::folder(&args.config).ok();
    let is_remote = root.and_then(|root| baseline::address(&root)).is_some();
    Again::kelvin("baseline save")
        .switch("--local", !is_remote)
        .config(&args.config)
        .given(
            "--report",
            args.out.as_ref().map(|out| out.join("report.json")),
        )
}

fn view(args: &CheckArgs) -> Again {
    Again::kelvin("view")
        .config(&args.config)
        .given("--out", args.out.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_a_shell_would_take_apart_is_quoted_or_not_put_in() {
        let fill = |command: &str, root: &str| {
            let root = Path::new(root);
            filled(
                command,
                root,
                &root.join("kelvin/a/input.md"),
                Path::new("/tmp/o"),
            )
        };
        assert_eq!(
            fill("python3 {root}/x.py {input} {output}", "/p").as_deref(),
            Some("python3 /p/x.py kelvin/a/input.md /tmp/o")
        );
        assert_eq!(
            fill("cat {input} | x > {output}", "/my project").as_deref(),
            Some("cat kelvin/a/input.md | x > /tmp/o")
        );
        assert_eq!(
            fill("x {root}/y {input} {output}", "/my project").as_deref(),
            Some("x '/my project'/y kelvin/a/input.md /tmp/o")
        );
        assert_eq!(
            fill("sh -c \"x {root}/y\" {input} {output}", "/my project"),
            None
        );
    }
}
