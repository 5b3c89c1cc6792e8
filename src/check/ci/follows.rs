//! Whether the verdict of a run follows from its figures: the code of a fork may have written either. The gate is
//! asked again, by the rules of the base branch and with the report that is kept for it, which a fork cannot write.

use anyhow::{Context as _, ensure};

use super::PostRequest;
use crate::baseline::{self, Artifacts, Hint, Visited};
use crate::check::{self, GateRequest, claims, configuration, gate};
use crate::config::Overrides;
use crate::file;
use crate::gate::Judgement;
use crate::gate::approval::{Approval, Request};
use crate::gate::verdict::{Verdict, Word};
use crate::github::PullRequest;
use crate::probe;
use crate::publish::bundle::Bundle;
use crate::run::Silent;

/// What is published of a bundle.
pub(super) struct Held {
    /// The verdict.
    pub(super) judgement: Option<Judgement>,
    /// What it is to be taken for, in sentences.
    pub(super) claim: String,
    /// Why the verdict of the run is not believed, where it is not.
    pub(super) refused: Option<String>,
}

const OWN: &str = "The figures are the pull request's own claim: its own code has measured them.";

/// What is published on each of the pull requests that the run of a bundle can have been for; once where there is
/// none. GitHub does not say which of them it was, so what the run says need not follow from the base of every one.
pub(super) fn hold(
    request: &PostRequest<'_>,
    (found, workflow): (&[PullRequest], &str),
    bundle: &Bundle,
) -> Vec<Held> {
    let Some((said, false)) = bundle
        .judgement
        .as_ref()
        .map(|said| (said, found.is_empty()))
    else {
        return vec![Held {
            judgement: bundle.judgement.clone(),
            claim: OWN.to_owned(),
            refused: None,
        }];
    };
    let judged: Vec<_> = found
        .iter()
        .map(|found| judged_again(request, (found, workflow), bundle))
        .collect();
    let agrees = |again: &Judgement| plain(said.verdict.verdict) == plain(again.verdict.verdict);
    let has_its_own = judged.iter().any(|again| again.as_ref().is_ok_and(agrees));
    let mut held = Vec::new();
    for (found, again) in found.iter().zip(judged) {
        held.push(match again {
            Ok(again) if has_its_own && !agrees(&again) => of_another(found, again),
            Ok(again) => of_its_own(found, said, again),
            Err(error) => unknown(said, &error),
        });
    }
    held
}

/// The run was for another pull request.
fn of_another(found: &PullRequest, again: Judgement) -> Held {
    Held {
        claim: format!("{OWN} The verdict is what they give {}.", with(found)),
        judgement: Some(at_its_tip(again, found)),
        refused: None,
    }
}

/// The run was for this pull request.
fn of_its_own(found: &PullRequest, said: &Judgement, again: Judgement) -> Held {
    let word = again.verdict.verdict.as_str();
    if !follows(&said.verdict, &again.verdict) {
        let why = format!(
            "The run says `{}`, and computed again from its own figures, {}, the verdict is `{word}`: that of the run \
             is not believed",
            said.verdict.verdict.as_str(),
            with(found)
        );
        return Held {
            claim: format!("{OWN} {why}."),
            judgement: Some(at_its_tip(again, found)),
            refused: Some(why),
        };
    }
    let computed = format!(
        "{OWN} The verdict was computed again from them, {}",
        with(found)
    );
    if plain(said.verdict.verdict) != plain(again.verdict.verdict) {
        return Held {
            claim: format!("{computed}, and is `{word}`."),
            judgement: Some(Judgement {
                approval: None,
                ..said.clone()
            }),
            refused: None,
        };
    }
    // What the run has done and looked at is known to the run alone.
    let again = at_its_tip(again, found);
    Held {
        claim: format!("{computed}."),
        judgement: Some(Judgement {
            verdict: again.verdict,
            base: again.base,
            tried: again.tried,
            cases: again.cases,
            flips: again.flips,
            comparisons: again.comparisons,
            drift: again.drift,
            approval: again.approval,
            ..said.clone()
        }),
        refused: None,
    }
}

/// Nobody knows whether the run is right. What fails anyway stays as it is.
fn unknown(said: &Judgement, error: &anyhow::Error) -> Held {
    let why = format!(
        "The verdict could not be computed again, so nobody knows whether it is true: {error:#}"
    );
    if !said.verdict.passed {
        return Held {
            judgement: Some(said.clone()),
            claim: format!("{OWN} {why}."),
            refused: None,
        };
    }
    let verdict = Verdict::unmeasured(why.clone());
    Held {
        judgement: Some(Judgement::without_base(verdict, Vec::new())),
        claim: OWN.to_owned(),
        refused: Some(why),
    }
}

/// What a verdict was computed with.
fn with(found: &PullRequest) -> String {
    let branch = &found.base.branch;
    format!("with the rules and the report of `{branch}`")
}

/// Somebody is asked about what has regressed at the tip, by the rules of the base.
fn at_its_tip(again: Judgement, found: &PullRequest) -> Judgement {
    let approval = again.approval.map(|approval| Approval {
        request: Request {
            head: found.head.sha.clone(),
            ..approval.request
        },
        ..approval
    });
    Judgement { approval, ..again }
}

/// What the gate says of the figures of a bundle.
///
/// # Errors
///
/// Why the gate could not be asked.
fn judged_again(
    request: &PostRequest<'_>,
    (found, workflow): (&PullRequest, &str),
    bundle: &Bundle,
) -> anyhow::Result<Judgement> {
    // Of another version the figures may be made otherwise; then nobody knows what is true.
    ensure!(
        claims::figures_follow(&bundle.report),
        "the report has figures that its own records do not give (kelvin {} wrote it, and this is kelvin {}; use one \
         version of the action in both workflows)",
        bundle.report.tool.version,
        env!("CARGO_PKG_VERSION")
    );
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
    // The name that a configuration has by itself is that of its reports; another one was given by an input.
    let by_itself = probe::configured(&Overrides {
        file: Some(config.clone()),
        ..Overrides::default()
    })?;
    let name =
        (configuration(&by_itself) != request.configuration).then(|| request.configuration.clone());
    let asked = GateRequest {
        check: check::Request {
            overrides: Overrides {
                file: Some(config),
                name,
                ..Overrides::default()
            },
            out: Some(folder.path().join("out")),
            ..check::Request::default()
        },
        report: Some(report),
        login: request.login.clone(),
        artifacts: Some(Artifacts {
            client: std::sync::Arc::clone(request.client),
            branch: base_ref.clone(),
            workflow: Some(workflow.to_owned()),
        }),
        hint,
        by_the_base: true,
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
fn follows(said: &Verdict, again: &Verdict) -> bool {
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
