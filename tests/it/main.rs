//! End to end: the real binary on real folders, with pipelines of a few lines of shell.

/// A project in a temporary folder, and what the binary says about it.
mod planted;
mod project;

/// Scores of pipelines whose behaviour is known.
mod scores;

/// Decisions in prose, which a judge compares.
mod prose;

/// What kinds that edit numbers and words do to figures that are known.
mod wording;

/// What a run leaves on disk, and what it never touches.
mod demands;
mod demo;
mod disk;

/// What the place, the time and the order of a call tell the pipeline.
mod neutral;

/// Failures, signals and runs that were cut off.
mod stale;
mod stopped;

/// What was answered then and now.
mod answers;

/// What is kept of answers, and what of secrets.
mod kept;

/// Processes that try to outlive their call.
mod environments;
mod escapes;

/// Code that changes while it runs.
mod changed;

/// `kelvin ci` on recorded events.
mod ci;

/// A GitHub on loopback.
mod github;

/// A git server on loopback.
mod server;

/// Graded answers, their gate, the ledger, and grading anew.
mod grading;
mod guides;

/// Evaluators that a team has already.
mod results;

/// Repositories made with the system's git, and copies of those that many tests begin with.
mod begun;
mod repository;

/// Many small drops in a row.
mod drift;
mod forecast;

/// Changes that edit what is measured.
mod made;
mod measured_as_base;

/// Chats, whose turns keep their order.
mod chats;

/// Conversations that are asked one turn after the other.
mod turns;

/// Cases that are records of one file, and those that are made of traces.
mod records;
mod traces;

/// Labels of cases.
mod labels;

/// Cases that a change edits, asked of the code of the base as well.
mod edited_cases;

/// Changes that edit the rules they are judged by.
mod rules;

/// The gate on real repositories.
mod following;
mod forged;

/// Repositories in every form that git makes.
mod forms;

/// The gate, with a base from each source.
mod gate;
/// Changes for which nothing is run.
mod harmless;

/// One probe of several, on both sides.
mod one_probe;

/// What the gate runs again, and what that costs.
mod base_again;
mod reruns;

/// Unchanged code whose answers vary.
mod noise;

/// Rules over declared types, items and answers, with changes whose truth is known.
mod by_rules;

/// Stored reports as repeats of the base.
mod stored_repeats;

/// How often a base and a head are run, and what of that is counted.
mod repeats;

/// What hides a drop: edited cases, lost inputs, withdrawn types.
mod loss;
mod manual;
mod shells;

/// The command that a verdict shows to run the gate again.
mod reproduce;

/// The local history, and what can be compared.
mod history;

/// What many reports say together: a period beside the one before it, a version beside the one before it.
mod past;

/// Owners, work trees and environments that a repository may have.
mod workspace;

/// Transports, partial clones and history that was rewritten.
mod transport;

/// Defects of the peer that no other file shows absent.
mod peer;

/// What a run would lack.
mod doctor;
mod door;

/// What `kelvin init` finds in projects that name things in their own way.
mod proposed;

/// What the cells of a golden set name.
mod golden_cells;

/// What counts as a refusal of a search that answers.
mod refusals;

/// The retrieval probe and the evaluation of runs made elsewhere.
mod retrieval;

/// The gate on retrieval pipelines whose right verdict is known.
mod ranks;

/// What must hold after a run.
mod invariants;

/// How good the outputs are.
mod quality;

/// Runs that are spread over several machines, and joined again.
mod shards;

/// Baselines that are kept, and such as cannot be asked for.
mod names;
mod saved;
mod unreachable;

/// The command line: exit codes, formats, messages.
mod command_line;
mod promises;

/// Live runs that are tried and not kept.
mod unsaid;
mod veritas;
mod view;
mod wizard;

/// The sample workflow under `act`.
mod act;

/// Code of a change that wants the token, or wants to outlive its run.
mod after;
mod apart;
mod next;

/// Pipelines behind HTTP.
mod http;

/// Pipelines that are a process that stays, or a Python function.
mod workers;

/// The image of the container action.
mod container;

/// A probe that is a crate of its own, outside the workspace.
mod another_probe;
/// Models as pipelines, on loopback.
mod models;
