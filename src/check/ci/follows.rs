//! Whether the verdict of a run follows from its figures: the code of a fork may have written either. The gate is
//! asked again, by the rules of the base branch and with the report that is kept for it, which a fork cannot write.

use anyhow::{Context as _, ensure};

use super::post::PostRequest;
use crate::baseline::{self, Artifacts, Hint, Visited};
use crate::check::{GateRequest, Request, gate};
use crate::config::Overrides;
use crate::file;
use crate::gate::Judgement;
use crate::gate::verdict::{Verdict, Word};
use crate::github::PullRequest;
use crate::publish::bundle::Bundle;
use crate::run::Silent;

/// What the gate says of the figures of a bundle.
///
/// # Errors
///
/// Why the gate could not be asked.
pub(super) fn judged_again(
    request: &PostRequest<'_>,
    (found, workflow): (&PullRequest, &str),
    bundle: &Bundle,
) -> anyhow::Result<Judgement> {
    let folder = tempfile::tempdir().context("failed to make a folder")?;
    let root = folder.path().join("repository");
    std::fs::create_dir(&root)?;
    let repository = request.client.repository();
    let url = format!("{}/{repository}", request.server_url.trim_end_matches('/'));
    let base_ref = &found.base.branch;
    let visited = Visited {
        number: found.number,
        head: &found.head.sha,
        base_ref,
    };
    let mut hint = Hint {
        pull_request: Some(baseline::PullRequest {
            head: found.head.sha.clone(),
            base_ref: base_ref.clone(),
        }),
        in_workflow: true,
        remote: Some(url.clone()),
        ..Hint::default()
    };
    baseline::visit(&root, &url, visited, (request.login.as_ref(), &hint))?;
    hint.asked = said_base(bundle)
        .filter(|commit| baseline::is_base(&root, visited, commit).unwrap_or(false))
        .map(str::to_owned);
    let report = folder.path().join("report.json");
    file::write(&report, &serde_json::to_vec(&bundle.report)?)?;
    let config = root.join(&request.config);
    ensure!(
        config.is_file(),
        "`{base_ref}` has no `{}`: the input `config` names the configuration",
        request.config
    );
    let asked = GateRequest {
        check: Request {
            overrides: Overrides {
                file: Some(config),
                name: (request.configuration != "kelvin").then(|| request.configuration.clone()),
                ..Overrides::default()
            },
            out: Some(folder.path().join("out")),
            ..Request::default()
        },
        report: Some(report),
        login: request.login.clone(),
        artifacts: Some(Artifacts {
            client: std::sync::Arc::clone(request.client),
            branch: base_ref.clone(),
            workflow: Some(workflow.to_owned()),
        }),
        hint,
        ..GateRequest::default()
    };
    Ok(gate(&asked, &Silent)?.judgement)
}

/// The commit that a bundle says it was compared with. Where the report of an earlier commit stood in for it, the
/// bundle does not say which one that was.
fn said_base(bundle: &Bundle) -> Option<&str> {
    let base = bundle.judgement.as_ref()?.base.as_ref()?;
    base.commit.as_deref().filter(|_| base.behind == 0)
}

/// Whether what a run says of itself is no better than what its figures say.
pub(super) fn follows(said: &Verdict, again: &Verdict) -> bool {
    let was_compared = matches!(again.verdict, Word::Pass | Word::Inconclusive);
    let is_same = plain(said.verdict) == plain(again.verdict);
    !said.passed || is_same || (again.passed && was_compared)
}

/// What was found, whoever may approve it.
const fn plain(word: Word) -> Word {
    match word {
        Word::PendingApproval => Word::Regression,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_run_says_of_itself_is_better_than_its_figures() {
        let of = |word: Word, passed: bool| {
            let mut verdict = Verdict::unmeasured(String::new());
            (verdict.verdict, verdict.passed) = (word, passed);
            verdict
        };
        let follow = |said: (Word, bool), again: (Word, bool)| {
            follows(&of(said.0, said.1), &of(again.0, again.1))
        };
        let (pass, fail) = ((Word::Pass, true), (Word::Regression, false));
        assert!(follow(pass, pass) && follow(fail, pass) && follow(fail, fail));
        assert!(follow(pass, (Word::Inconclusive, true)));
        // `fail-on: never` makes nobody believe that nothing has regressed.
        assert!(follow((Word::Regression, true), fail));
        assert!(follow((Word::NoBaseline, true), (Word::NoBaseline, true)));
        for again in [
            fail,
            (Word::Unmeasured, false),
            (Word::NoBaseline, true),
            (Word::BaselineUnreachable, false),
            (Word::Inconclusive, false),
        ] {
            assert!(!follow(pass, again), "{again:?}");
        }
        assert!(!follow((Word::NoBaseline, true), fail));
    }
}
