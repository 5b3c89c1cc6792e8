//! The search for a baseline, with a repository and a GitHub to ask.

use kelvin_fixtures::text::redacted;
use std::path::Path;

use git2::{Oid, Repository, Signature};
use tempfile::TempDir;

use super::fake::{Server, TOKEN, archive};
use super::tests::client;
use super::*;
use crate::baseline::{Baseline, Claims, Hint, Search};
use crate::registry::Registry;
use kelvin_fixtures::report as fixture;
use kelvin_gate::provenance::{Provenance, Source, Tried};
use kelvin_gate::report;
use kelvin_record::settings::{BaselineSettings, BaselineSource};

/// A repository with three commits in a row, oldest first.
fn repository() -> (TempDir, Vec<Oid>) {
    let folder = tempfile::tempdir().expect("made");
    let repo = Repository::init(folder.path()).expect("made");
    let who = Signature::now("t", "t@example.org").expect("a signature");
    let tree = repo
        .treebuilder(None)
        .expect("a builder")
        .write()
        .expect("written");
    let tree = repo.find_tree(tree).expect("found");
    let mut commits: Vec<Oid> = Vec::new();
    for number in 0..3 {
        let parents: Vec<_> = commits.last().into_iter().collect();
        let parents: Vec<_> = parents
            .iter()
            .map(|id| repo.find_commit(**id).expect("found"))
            .collect();
        let parents: Vec<_> = parents.iter().collect();
        let message = format!("commit {number}");
        let commit = repo.commit(Some("HEAD"), &who, &who, &message, &tree, &parents);
        commits.push(commit.expect("made"));
    }
    drop(tree);
    (folder, commits)
}

fn save(server: &Server, commit: Oid) {
    let mut report = fixture::good();
    report.run.session.commit = Some(commit.to_string());
    let mut text = Vec::new();
    report::json::write(&mut text, &report).expect("written");
    let run = server.state().add_run(&commit.to_string());
    let zip = archive::zip(&[(REPORT_FILE, &text)]);
    server.state().add_artifact("kelvin-report-rag", run, zip);
}

fn search(server: Option<&Server>, root: &Path, base: Oid, from: BaselineSource) -> Baseline {
    let artifacts = server.map(|server| Artifacts {
        client: Arc::new(client(server, TOKEN).0),
        branch: "main".to_owned(),
        workflow: None,
    });
    let settings = BaselineSettings {
        from,
        ..BaselineSettings::default()
    };
    let hint = Hint {
        asked: Some(base.to_string()),
        ..Hint::default()
    };
    let search = Search {
        registry: Registry::shipped(),
        settings: &settings,
        root,
        configuration: "rag",
        hint: &hint,
        artifacts: artifacts.as_ref(),
        hold: &|_, _, _| Claims::Hold,
        compute: None,
        head: None,
        login: None,
    };
    crate::baseline::find(&search).expect("no error")
}

fn found(baseline: Baseline) -> Provenance {
    match baseline {
        Baseline::Found(_, provenance) => provenance,
        other => panic!("nothing was found: {other:?}"),
    }
}

fn tried(baseline: Baseline) -> Vec<Tried> {
    match baseline {
        Baseline::None(tried) | Baseline::Unreachable(tried) => tried,
        other => panic!("something was found: {other:?}"),
    }
}

#[test]
fn an_artifact_of_the_commit_before_the_base_serves_and_says_how_far_it_is() {
    let (folder, commits) = repository();
    let server = Server::start();
    save(&server, commits[0]);
    save(&server, commits[1]);
    let provenance = found(search(
        Some(&server),
        folder.path(),
        commits[2],
        BaselineSource::Artifact,
    ));
    assert_eq!(
        (provenance.source, provenance.behind),
        (Source::Artifact, 1)
    );
    assert_eq!(provenance.commit, Some(commits[1].to_string()));
    let text = provenance.to_string();
    insta::assert_snapshot!(redacted(&text), @"base [HASH], from artifact kelvin-report-rag of run 4, 1 commit behind");
}

#[test]
fn a_report_of_a_later_commit_never_serves() {
    let (folder, commits) = repository();
    let server = Server::start();
    save(&server, commits[2]);
    let tried = tried(search(
        Some(&server),
        folder.path(),
        commits[1],
        BaselineSource::Artifact,
    ));
    insta::assert_snapshot!(tried[0].why, @"none of the 1 artifacts `kelvin-report-rag` serves: it is of a commit that is not before the base, or too long before");
}

#[test]
fn auto_asks_for_artifacts_after_the_branch_and_only_where_there_is_a_github() {
    let (folder, commits) = repository();
    let server = Server::start();
    save(&server, commits[2]);
    let provenance = found(search(
        Some(&server),
        folder.path(),
        commits[2],
        BaselineSource::Auto,
    ));
    assert_eq!(
        (provenance.source, provenance.behind),
        (Source::Artifact, 0)
    );
    let before: Vec<Source> = provenance.tried.iter().map(|tried| tried.source).collect();
    assert_eq!(before, [Source::Tree, Source::Branch]);
    let sources = |tried: Vec<Tried>| {
        tried
            .into_iter()
            .map(|tried| tried.source)
            .collect::<Vec<_>>()
    };
    let without = tried(search(
        None,
        folder.path(),
        commits[2],
        BaselineSource::Auto,
    ));
    assert_eq!(
        sources(without),
        [Source::Tree, Source::Branch, Source::Compute]
    );
    server.state().denied.insert("actions");
    let refused = tried(search(
        Some(&server),
        folder.path(),
        commits[2],
        BaselineSource::Auto,
    ));
    assert!(
        refused
            .iter()
            .any(|tried| tried.why.contains("actions: read")),
        "{refused:?}"
    );
    assert_eq!(
        sources(refused),
        [
            Source::Tree,
            Source::Branch,
            Source::Artifact,
            Source::Compute
        ]
    );
}

#[test]
fn artifacts_that_are_asked_for_without_a_github_are_told() {
    let (folder, commits) = repository();
    let tried = tried(search(
        None,
        folder.path(),
        commits[2],
        BaselineSource::Artifact,
    ));
    insta::assert_snapshot!(tried[0].why, @"artifacts can be read only in a workflow of GitHub, with a token");
}
