//! The questions to GitHub about an approval, and their answers.

use super::{ApprovalSite, ChangeStage};
use crate::registry::Registry;
use kelvin_base::clock::{of_seconds, to_seconds};
use kelvin_gate::approval::{
    Act, Approval, Deed, Facts, OtherRequest, Request, Rights, Rules, decide, eligible,
    read_command,
};
use kelvin_github::publish::post::{ApprovalNotice, latest, made};
use kelvin_github::{Account, Client, Comment, Error, PullRequest};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How many people are asked about at most, because a run may make few requests.
const MOST_PEOPLE: usize = 15;

/// The current state of a pull request on GitHub.
#[derive(Debug)]
pub(in crate::check) struct Desk {
    pub(in crate::check) request: PullRequest,
    pub(in crate::check) comments: Vec<Comment>,
    /// The requests for approval that were made on the pull request and still count.
    pub(in crate::check) notices: Vec<ApprovalNotice>,
    /// All requests for approval that were ever made on the pull request.
    made: Vec<ApprovalNotice>,
}

impl Desk {
    /// Looks at a pull request. Fails with an [`Error`] if GitHub does not answer.
    pub(in crate::check) fn of(client: &Client, number: u64) -> Result<Self, Error> {
        let request = client.pull_request(number)?;
        let me = client.viewer()?;
        let comments = client.comments(number, 1)?;
        let notices = latest(&comments, &me, number);
        let made = made(&comments, &me, number);
        Ok(Self {
            request,
            comments,
            notices,
            made,
        })
    }

    /// The requests for other configurations about the same commit.
    fn beside(&self, notice: &ApprovalNotice) -> Vec<OtherRequest> {
        let others = self.made.iter().filter(|other| {
            other.request.head == notice.request.head && !other.origin.is_of(&notice.origin)
        });
        let others = others.map(|other| OtherRequest {
            id: other.id(),
            at: other.at,
        });
        others.collect()
    }
}

/// Looks up the decision about the regression of a run. If GitHub does not answer, nothing is approved. None if nobody
/// has approved and nobody can be asked any more.
pub(in crate::check) fn answer(
    site: &ApprovalSite,
    request: Request,
    rules: Rules,
    last_good: String,
) -> Option<Approval> {
    let mut approval = Approval::pending(request, rules, last_good).asked_on(site.origin.clone());
    let is_open = site.stage == ChangeStage::Open;
    let told = |mut approval: Approval, error: &Error| {
        approval.unknown.push(error.to_string());
        is_open.then_some(approval)
    };
    let desk = match Desk::of(&site.client, site.origin.pull_request) {
        Ok(desk) => desk,
        Err(error) => return told(approval, &error),
    };
    let branch = &desk.request.base.branch;
    if is_open && *branch != site.rules_at {
        // Nobody is asked about the comparison with a branch into which the pull request is no longer to be merged.
        approval.origin = None;
        approval.unknown.push(format!(
            "the pull request now goes into `{branch}` and not into `{}`, which needs a new run: close and \
             open it again",
            site.rules_at
        ));
        return Some(approval);
    }
    let of_key = |notice: &&ApprovalNotice| notice.origin.is_of(&site.origin);
    let notice = match is_open {
        true => desk.notices.iter().find(of_key),
        // The run of a merge may have another key. Then one existing request counts, but several do not: they are for
        // different configurations, and a decision about one of them does not decide about the others.
        false => {
            let covering = desk.notices.iter().filter(|notice| {
                notice.origin.config == site.origin.config
                    && notice.request.covers(&approval.request, false)
            });
            let covering: Vec<&ApprovalNotice> = covering.collect();
            let own = covering.iter().copied().find(|notice| of_key(notice));
            own.or_else(|| {
                <[&ApprovalNotice; 1]>::try_from(covering)
                    .ok()
                    .map(|[only]| only)
            })
        }
    };
    let Some(notice) = notice.filter(|notice| notice.request.covers(&approval.request, is_open))
    else {
        return is_open.then_some(approval);
    };
    let clients = (&*site.client, &*site.teams);
    if let Err(error) = settle(clients, &desk, notice, &mut approval) {
        return told(approval, &error);
    }
    (is_open || approval.decision.is_some()).then_some(approval)
}

/// Decides a request that was made; `teams` is the client that may see teams. Fails with an [`Error`] if GitHub does
/// not answer; then nothing is decided.
pub(in crate::check) fn settle(
    (client, teams): (&Client, &Client),
    desk: &Desk,
    notice: &ApprovalNotice,
    approval: &mut Approval,
) -> Result<(), Error> {
    approval.comment = Some(notice.url.clone());
    approval.asked_at = Some(of_seconds(notice.at));
    // The decision covers all regressions of the request that people saw; the regressions that were measured since then
    // are among these.
    approval.id = notice.id();
    let number = desk.request.number;
    let mut facts = Facts {
        id: approval.id.clone(),
        asked_at: notice.at,
        others: desk.beside(notice),
        deeds: deeds(client, desk, &approval.rules)?,
        ..Facts::default()
    };
    if approval.rules.not_author {
        match authors(client, &desk.request)? {
            Ok(authors) => facts.authors = authors,
            Err(why) => {
                approval.unknown.push(why);
                return Ok(());
            }
        }
    }
    facts.is_labelled = is_labelled(&desk.request, &approval.rules);
    let (found, _) = eligible(&approval.rules, &facts);
    let rules = &approval.rules;
    let people: BTreeSet<String> = found.iter().map(|deed| deed.by.to_lowercase()).collect();
    let mut people: Vec<String> = people
        .into_iter()
        .filter(|login| rules.may_name(login))
        .collect();
    // The people whom the rules name come first, so that comments of many strangers cannot push them off the list.
    people.sort_by_key(|login| !rules.by.iter().any(|name| name.eq_ignore_ascii_case(login)));
    let mut rights = BTreeMap::new();
    for login in people.into_iter().take(MOST_PEOPLE) {
        rights.insert(
            login.clone(),
            rights_of((client, teams), &approval.rules, &login),
        );
    }
    facts.now = client.time();
    // The decision counts only if this tip is still the tip after all questions.
    let tip = client.pull_request(number)?;
    facts.is_labelled &= is_labelled(&tip, &approval.rules);
    let head = tip.head.sha;
    if head == approval.request.head || desk.request.merged_at.is_some() {
        decide(approval, &facts, &rights);
    } else {
        let moved = "the pull request has a newer commit, which needs a request of its own";
        approval.unknown.push(moved.to_owned());
    }
    Ok(())
}

/// Whether the label that approves is on the pull request. The event of adding it is not enough: whoever deletes a
/// label in the repository takes it off everything, and GitHub has no event for that.
fn is_labelled(request: &PullRequest, rules: &Rules) -> bool {
    let mut names = request
        .labels
        .iter()
        .filter_map(|label| label.name.as_ref());
    rules
        .label
        .as_ref()
        .is_some_and(|ours| names.any(|name| name.eq_ignore_ascii_case(ours)))
}

/// The actions of people on the request, in the order in which they happened.
fn deeds(client: &Client, desk: &Desk, rules: &Rules) -> Result<Vec<Deed>, Error> {
    let mut found = Vec::new();
    for comment in &desk.comments {
        let command = comment.body.as_deref().and_then(read_command);
        let (Some(command), Ok(at)) = (command, to_seconds(&comment.created_at)) else {
            continue;
        };
        let by_app = comment.performed_via_github_app.is_some();
        found.push(Deed {
            by: name(comment.user.as_ref()),
            is_person: is_person(comment.user.as_ref()) && !by_app,
            at,
            act: command.act,
            names: command.names,
            reason: command.reason,
            is_edited: comment.created_at != comment.updated_at,
        });
    }
    let Some(label) = &rules.label else {
        return Ok(found);
    };
    for event in client.label_events(desk.request.number)? {
        let named = event.label.as_ref().and_then(|label| label.name.as_deref());
        // GitHub treats labels that differ only in case as the same label.
        let is_ours = named.is_some_and(|named| named.eq_ignore_ascii_case(label));
        let (true, Ok(at)) = (is_ours, to_seconds(&event.created_at)) else {
            continue;
        };
        let by_app = event.performed_via_github_app.is_some();
        found.push(Deed {
            by: name(event.actor.as_ref()),
            is_person: is_person(event.actor.as_ref()) && !by_app,
            at,
            act: match event.event.as_str() {
                "labeled" => Act::Label,
                _ => Act::Unlabel,
            },
            names: None,
            reason: String::new(),
            is_edited: false,
        });
    }
    found.sort_by_key(|deed| deed.at);
    Ok(found)
}

fn name(account: Option<&Account>) -> String {
    account.map_or_else(|| "ghost".to_owned(), |account| account.login.clone())
}

/// Whether an account belongs to a person. `ghost` stands for deleted accounts.
fn is_person(account: Option<&Account>) -> bool {
    account.is_some_and(|account| account.kind == "User" && !account.login.ends_with("[bot]"))
}

/// The authors of a pull request: the person who opened it, and the authors of its commits. An error text if GitHub
/// does not list all commits: the author of an unlisted commit could approve the pull request.
fn authors(
    client: &Client,
    request: &PullRequest,
) -> Result<Result<BTreeSet<String>, String>, Error> {
    let opener = request.user.iter().map(|user| user.login.to_lowercase());
    let mut authors: BTreeSet<String> = opener.collect();
    let (listed, names) = client.commit_authors(request.number)?;
    let all = request.commits.unwrap_or(0).max(listed);
    if all > listed {
        return Ok(Err(format!(
            "who wrote it is not known: it has {all} commits, of which GitHub lists {listed}; make fewer of \
             them, or set `gate.approval.not_author` to false on the base branch"
        )));
    }
    authors.extend(names);
    Ok(Ok(authors))
}

fn rights_of((client, seeing): (&Client, &Client), rules: &Rules, login: &str) -> Rights {
    let permission = client
        .permission_of(login)
        .map_err(|error| error.to_string());
    let may_push = matches!(permission.as_deref(), Ok("admin" | "maintain" | "write"));
    // Nobody needs to look up the teams of a person who may not push, or of a person whom the rules name.
    let teams = match may_push && !rules.names(login) {
        false => BTreeMap::new(),
        true => rules
            .teams()
            .map(|(org, team)| {
                let found = seeing.is_in_team(org, team, login);
                (
                    format!("{org}/{team}"),
                    found.map_err(|error| error.to_string()),
                )
            })
            .collect(),
    };
    Rights { permission, teams }
}

/// Who may approve, according to the configuration at the tip of a branch; none if that configuration names nobody.
/// Fails if the configuration is missing, cannot be fetched or cannot be read.
pub(in crate::check) fn rules_of_branch(
    registry: Registry,
    client: &Client,
    config: &str,
    branch: &str,
) -> anyhow::Result<Option<Rules>> {
    anyhow::ensure!(!branch.is_empty(), "the base branch is not known");
    let text = client.file_of(config, branch)?;
    let config = registry.configured_by(&text, Path::new(config))?;
    Ok(config.gate.approval.as_ref().map(Rules::from))
}
