//! Runs a scenario as one call: a new workspace is made, the pipeline runs in it, every check examines what the
//! pipeline has left, and the results of the checks are the answer. So everything that applies to calls (jobs, retries,
//! the cache, the journal, the re-runs of a gate) applies to scenarios, and the results are stored with each run.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};

use tempfile::TempDir;

use super::conduct;
use super::config::ChecksSettings;
use super::forbidden::{Snapshot, leaks};
use super::interpolate;
use super::kinds::{CheckFinding, CheckInterrupted};
use super::record::{CheckResult, MOST_OF_OUTPUT, ScenarioAnswer};
use super::rule_files::RuleFiles;
use super::scenario::{Scenario, plain};
use super::scene::{Scene, Unread, read_beneath};
use super::services::{RunningServices, ServiceSite, Trouble};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind, Streams};
use kelvin_base::file::beneath::Beneath;
use kelvin_record::KeptText;
use kelvin_run::targets::{
    Ended, Invocation, Meter, Reply, StandardOutput, Target, TargetSite, Workplace,
};

/// The variable that names the folder of the configuration.
const ROOT: &str = "KELVIN_ROOT";
/// The name of the file to which events are appended.
const AUDIT_LOG: &str = "audit.jsonl";
/// How many characters of the pipeline's answer are stored at most, for people and for examples.
const EXCERPT: usize = 20_000;

/// Runs scenarios with the target for the pipeline.
pub(super) struct ScenarioTarget<'a> {
    /// The settings with the checks.
    pub(super) settings: &'a ChecksSettings,
    /// The pipeline.
    pub(super) pipeline: Box<dyn Target + 'a>,
    /// The settings that all calls of the run share.
    pub(super) site: TargetSite,
    /// The folder of the template, and of everything that a check reads or runs.
    pub(super) rules: PathBuf,
    /// The contents of the files of the checks when the run began.
    pub(super) rule_files: RuleFiles,
}

/// The folder of one scenario, which is removed with it.
struct ScenarioFolder {
    /// Removes everything when it is dropped.
    _folder: TempDir,
    workspace: PathBuf,
    private: PathBuf,
    input: PathBuf,
    output: PathBuf,
    audit_log: PathBuf,
}

impl ScenarioFolder {
    /// Makes a workspace from the template below a folder, and creates the other files outside it.
    fn make(settings: &ChecksSettings, rules: &Path, scenario: &Scenario) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("kelvin-").tempdir()?;
        // The path contains no links, so that it can be recognised in an output.
        let base = folder.path().canonicalize()?;
        let place = Self {
            workspace: base.join("workspace"),
            input: base.join("input.md"),
            output: base.join("output.json"),
            audit_log: base.join(AUDIT_LOG),
            private: base.join("private"),
            _folder: folder,
        };
        fs::create_dir(&place.private)?;
        fs::create_dir(&place.workspace)?;
        if let Some(template) = settings.template_of(scenario) {
            let template = template.of_scenario(scenario).map_err(io::Error::other)?;
            copy(&rules.join(template), &place.workspace)?;
        }
        fs::write(&place.input, &scenario.prompt)?;
        fs::write(&place.audit_log, "")?;
        Ok(place)
    }

    /// The content of the audit log. The pipeline may have replaced the file by something else.
    fn log(&self) -> Result<Vec<u8>, String> {
        let base = self.workspace.with_file_name("");
        let beneath = Beneath::of(&base).map_err(|error| format!("cannot be found: {error}"))?;
        match read_beneath(&beneath, AUDIT_LOG.as_ref()) {
            Ok(bytes) => Ok(bytes),
            // A log that was removed contains no secret.
            Err(Unread::Absent(_)) if !self.audit_log.exists() => Ok(Vec::new()),
            Err(Unread::Absent(what) | Unread::Unknown(what)) => Err(what),
        }
    }

    /// The environment variables for the pipeline and for the programs of the checks.
    fn variables(&self, scenario: &Scenario, root: &Path) -> Vec<(String, OsString)> {
        let mut variables: Vec<(String, OsString)> = vec![
            ("KELVIN_SCENARIO".to_owned(), scenario.id.clone().into()),
            ("KELVIN_WORKSPACE".to_owned(), (&self.workspace).into()),
            (ROOT.to_owned(), root.into()),
            ("KELVIN_AUDIT_LOG".to_owned(), (&self.audit_log).into()),
        ];
        variables.extend(
            scenario
                .params
                .iter()
                .map(|(name, value)| (interpolate::of_parameter(name), plain(value).into())),
        );
        variables
    }
}

/// A longer value does not become a variable: Linux cannot start a program with a variable of 128 KiB.
const LONGEST_VARIABLE: usize = 100_000;

/// The fields of a scenario that only the programs of the checks get as variables.
pub(super) fn told_to_checks(scenario: &Scenario) -> Vec<(String, OsString)> {
    let expected = scenario.expected.as_ref().map(plain);
    let fields = [
        (interpolate::PROMPT, Some(scenario.prompt.clone())),
        (interpolate::EXPECTED, expected),
    ];
    let fields = fields.into_iter();
    let fields = fields.filter_map(|(name, value)| Some((name, value?)));
    fields
        .filter(|(_, value)| value.len() <= LONGEST_VARIABLE && !value.contains('\0'))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

/// Copies the content of a folder. Links are copied as links.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        } else {
            let what = format!(
                "`{}` is neither a file nor a folder",
                entry.path().display()
            );
            return Err(io::Error::other(what));
        }
    }
    Ok(())
}

/// The data that the checks examine after the pipeline has ended.
struct FinishedRun {
    reply: Reply,
    seconds: f64,
    printed: StandardOutput,
}

impl ScenarioTarget<'_> {
    fn ran(
        &self,
        call: &Invocation<'_>,
        scenario: &Scenario,
        place: &ScenarioFolder,
        variables: &[(String, OsString)],
        services: &RunningServices<'_>,
        output: &mut Vec<u8>,
    ) -> Result<FinishedRun, Box<Ended>> {
        let printed = RefCell::default();
        let inner = Invocation {
            input: &scenario.prompt,
            input_file: &place.input,
            output_file: &place.output,
            repeat: call.repeat,
            sample: call.sample,
            workplace: Some(Workplace {
                folder: &place.workspace,
                variables,
                printed: &printed,
            }),
        };
        let start = Instant::now();
        let ended = self.pipeline.call(&inner, output);
        let seconds = start.elapsed().as_secs_f64();
        let printed = printed.into_inner();
        let reply = match ended {
            Ended::Answered(reply) => reply,
            // Agents leave their work in the workspace, so their printed text is their answer.
            Ended::Failed { failure, reply } if failure.kind == FailureKind::OutputMissing => {
                if printed.is_cut {
                    let failure = Box::new(Failure::too_large(self.site.max_output_bytes));
                    return Err(Box::new(Ended::Failed { failure, reply }));
                }
                output.clone_from(&printed.bytes);
                let streams = Streams {
                    stdout: failure.stdout,
                    stderr: failure.stderr,
                };
                Reply { streams, ..reply }
            }
            other => return Err(Box::new(self.masked(other, place, services))),
        };
        Ok(FinishedRun {
            reply,
            seconds,
            printed,
        })
    }

    /// A failure whose texts contain neither a value of the environment nor the path of a folder that has another name
    /// in every run.
    fn masked(
        &self,
        ended: Ended,
        place: &ScenarioFolder,
        services: &RunningServices<'_>,
    ) -> Ended {
        match ended {
            Ended::Failed { failure, reply } => {
                let text = |text: &str| self.text(text, place, services);
                let failure = Failure {
                    kind: failure.kind.clone(),
                    message: text(&failure.message),
                    stderr: text(&failure.stderr),
                    stdout: text(&failure.stdout),
                };
                Ended::Failed {
                    failure: Box::new(failure),
                    reply,
                }
            }
            other => other,
        }
    }

    fn text(&self, text: &str, place: &ScenarioFolder, services: &RunningServices<'_>) -> String {
        let workspace = place.workspace.display().to_string();
        let beside = place.private.with_file_name("").display().to_string();
        let text = services.masked(text.to_owned());
        let text = text.replace(&workspace, "{workspace}");
        let text = text.replace(beside.trim_end_matches('/'), "{workspace}/..");
        // The folder with the files of the base differs from run to run.
        let text = match self.rules == self.site.root {
            true => text,
            false => {
                let root = self.site.root.display().to_string();
                text.replace(&*self.rules.display().to_string(), &root)
            }
        };
        self.settings.without_values(&text)
    }

    /// The end of a scenario whose services cannot be used.
    fn troubled(&self, trouble: Trouble) -> Ended {
        let why = match trouble {
            Trouble::Failed(why) | Trouble::Unreached(why) => why,
            Trouble::TimedOut(time) => format!("a service took more than {} s", time.as_secs_f64()),
            Trouble::Stopped => return Ended::Interrupted,
        };
        let why = self.settings.without_values(&why);
        Ended::Failed {
            failure: Box::new(Failure::new(FailureKind::ServiceFailed, why)),
            reply: Reply::default(),
        }
    }

    /// Runs every check, and searches for forbidden actions.
    fn look(
        &self,
        scene: &Scene<'_>,
        place: &ScenarioFolder,
    ) -> Result<ScenarioAnswer, CheckInterrupted> {
        let mut answer = ScenarioAnswer::default();
        for invariant in self.settings.invariants_of(scene.scenario) {
            let finding = match self.rule_files.changed(&invariant.runs) {
                None => invariant.check.look(scene)?,
                // Neither the check nor its opposite holds, so the finding is not negated.
                Some(file) => {
                    let reason = format!(
                        "`{}`, which this check runs, is no longer what it was when the run began, so what it says \
                         cannot be trusted: no pipeline may write to the files of its checks",
                        file.display()
                    );
                    let result = CheckFinding::scored(false, 0.0, reason).stored();
                    answer.checks.insert(
                        invariant.name.clone(),
                        CheckResult {
                            reason: self.text(&result.reason, place, scene.services),
                            ..result
                        },
                    );
                    continue;
                }
            };
            let mut finding = match invariant.is_negated {
                true => finding.negated(),
                false => finding,
            };
            if let Some(mut shown) = finding.to_judge.take() {
                // A judge must get neither a secret nor the name of a folder of this run.
                shown.text = self.text(&shown.text, place, scene.services);
                answer.to_judge.insert(invariant.name.clone(), shown);
            }
            let mut result = finding.stored();
            result.reason = self.text(&result.reason, place, scene.services);
            if let Some(details) = &mut result.details {
                each_text(details, &|text| self.text(text, place, scene.services));
            }
            answer.checks.insert(invariant.name.clone(), result);
        }
        let output = String::from_utf8_lossy(scene.output);
        // The output is masked before it is shortened, because half a secret at its end would not be recognised.
        let output = self.text(&output, place, scene.services);
        if let Some((end, _)) = output.char_indices().nth(EXCERPT) {
            answer.is_output_cut = true;
            answer.whole_output = Some(KeptText::beginning(&output, MOST_OF_OUTPUT));
            answer.agent_output = output[..end].to_owned();
        } else {
            answer.agent_output = output;
        }
        Ok(answer)
    }
}

/// Replaces every text in a value.
fn each_text(value: &mut serde_json::Value, change: &dyn Fn(&str) -> String) {
    use serde_json::Value;
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(entries) => entries
            .values_mut()
            .for_each(|value| each_text(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Target for ScenarioTarget<'_> {
    fn ready(&self) -> Result<(), Misuse> {
        self.pipeline.ready()
    }

    fn meter(&self) -> Option<&Meter> {
        self.pipeline.meter()
    }

    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        let impossible = |what: String| Ended::Failed {
            failure: Box::new(Failure::new(FailureKind::NotStarted, what)),
            reply: Reply::default(),
        };
        let scenario: Scenario = match serde_json::from_str(call.input) {
            Ok(scenario) => scenario,
            Err(error) => return impossible(format!("the scenario cannot be read: {error}")),
        };
        let root = &self.site.root;
        let place = match ScenarioFolder::make(self.settings, &self.rules, &scenario) {
            Ok(place) => place,
            Err(error) => return impossible(format!("the workspace could not be made: {error}")),
        };
        let services = RunningServices::open(
            &self.settings.services,
            ServiceSite {
                name: "",
                scenario: &scenario,
                root: &self.rules,
                folder: &place.workspace,
                private: &place.private,
                audit_log: &place.audit_log,
                interrupt: &self.site.interrupt,
            },
        );
        let services = match services {
            Ok(services) => services,
            Err(trouble) => return self.troubled(trouble),
        };
        let mut variables = place.variables(&scenario, root);
        // The number reveals nothing, because a scenario has no variants that it could distinguish.
        variables.push(("KELVIN_REPEAT".to_owned(), call.repeat.to_string().into()));
        variables.extend(services.variables());
        let forbidden = &self.settings.forbidden;
        let snapshot = || match forbidden.writable {
            Some(_) => Snapshot::of(&place.workspace).map(Some),
            None => Ok(None),
        };
        let unseen =
            |error: io::Error| impossible(format!("the workspace cannot be read: {error}"));
        let before = match snapshot() {
            Ok(before) => before,
            Err(error) => return unseen(error),
        };
        let beneath = match Beneath::of(&place.workspace) {
            Ok(beneath) => beneath,
            Err(error) => return unseen(error),
        };
        let ran = match self.ran(call, &scenario, &place, &variables, &services, output) {
            Ok(ran) => ran,
            Err(ended) => return *ended,
        };
        // The services are settled before the checks, because the programs of the checks may write to any service and
        // call any server.
        if let Err(trouble) = services.settle() {
            return self.troubled(trouble);
        }
        let after = match snapshot() {
            Ok(after) => after,
            Err(error) => return unseen(error),
        };
        let secrets = forbidden.kept_secret(|| services.secrets());
        let log = place.log();
        let answered = std::mem::take(output);
        let streams = &ran.reply.streams;
        let places: [(&str, &[u8]); 4] = [
            ("its output", &answered),
            ("its standard output", &ran.printed.bytes),
            ("its standard error", streams.stderr.as_bytes()),
            ("the audit log", log.as_deref().unwrap_or_default()),
        ];
        let mut found = leaks(&secrets, &places);
        // The pipeline got a file at this path. If it replaces the file, it hides the content.
        let unread = log.as_ref().err().filter(|_| !secrets.is_empty());
        found.extend(unread.map(|what| {
            format!("the audit log {what}: nobody can tell whether a secret stands in it")
        }));
        let both = before.as_ref().zip(after.as_ref());
        found.extend(both.and_then(|(before, after)| forbidden.writes(before, after)));
        // The programs of the checks get the folder of the rules, even if the pipeline has another folder.
        let mut looking = variables.clone();
        for (name, value) in &mut looking {
            if name == ROOT {
                *value = (&self.rules).into();
            }
        }
        // Only the programs of the checks get the task and the expected answer as variables, because a pipeline could
        // just return the expected answer.
        looking.extend(told_to_checks(&scenario));
        let scene = Scene {
            scenario: &scenario,
            replica: call.repeat,
            root: &self.rules,
            folder: &place.workspace,
            beneath: &beneath,
            private: &place.private,
            audit_log: &place.audit_log,
            variables: &looking,
            output: &answered,
            output_file: &place.output,
            printed: &ran.printed,
            seconds: ran.seconds,
            services: &services,
            interrupt: &self.site.interrupt,
        };
        let mut answer = match self.look(&scene, &place) {
            Ok(answer) => answer,
            Err(CheckInterrupted) => return Ended::Interrupted,
        };
        answer.forbidden = found;
        let masked = |text: &str| self.text(text, &place, &services);
        answer.calls = conduct::calls(&services, &masked);
        let log = log.unwrap_or_default();
        answer.events = conduct::events(&log, &masked);
        if let Err(trouble) = services.close() {
            return self.troubled(trouble);
        }
        let reply = Reply {
            own_output: Some(answered),
            ..ran.reply
        };
        match serde_json::to_writer(&mut *output, &answer) {
            Ok(()) => Ended::Answered(reply),
            Err(error) => impossible(format!("what was found cannot be written: {error}")),
        }
    }
}
