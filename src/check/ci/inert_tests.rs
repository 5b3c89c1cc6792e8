//! Whatever stands in a bundle, nothing of it is active in what `post/` publishes: all fields of a bundle are changed,
//! one after the other and several at once, and a parser reads the pages as GitHub does.
//!
//! The choices are seeded, so a run can be repeated. `KELVIN_FUZZ_EXECUTIONS=20000 cargo test --lib -- inert` makes more
//! of them than the suite does, and `KELVIN_FUZZ_FROM` begins with a later one.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::follows::of_one;
use crate::registry::Registry;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::draw::Draw;
use kelvin_fixtures::page::{active, corpus};
use kelvin_fixtures::report as fixture;
use kelvin_gate::approval::{Approval, Origin, Rules};
use kelvin_gate::compare::{Measured, compare};
use kelvin_gate::differences::differences;
use kelvin_gate::policy::Policy;
use kelvin_gate::provenance::{Provenance, Source};
use kelvin_gate::report::Report;
use kelvin_gate::reproduce::Reproduction;
use kelvin_gate::{Gate, Judgement, align, answers, changes};
use kelvin_github::PullRequest;
use kelvin_github::publish::bundle::Bundle;
use kelvin_github::publish::failure::UnmeasuredRun;
use kelvin_github::publish::{
    Context, Excerpt, Level, Publication, annotations, commands, comment, failure, outputs,
};

/// How many bundles the suite changes.
const EXECUTIONS: usize = 150;
/// So many fields are changed in one of them at most.
const CHANGES: usize = 10;
/// A word that stands in all that is put into a bundle.
const MARK: &str = "zqx";
const RUN: &str = "https://github.com/acme/widgets/actions/runs/12";

/// A bundle as JSON, the report of the base, and the ways to its fields.
struct Document {
    name: String,
    bundle: Value,
    base: Value,
    /// The fields, those of one form together: their ways are the same but for names of others and places in lists.
    forms: Vec<Vec<Way>>,
}

/// The way to a field, or to the name of a field.
#[derive(Clone, Debug)]
struct Way {
    steps: Vec<Step>,
    is_name: bool,
}

impl Way {
    /// The way within the report alone, for a way that leads into it.
    fn of_the_report(&self) -> Self {
        let is_in_it = matches!(self.steps.first(), Some(Step::Name(name)) if name == "report");
        Self {
            steps: match is_in_it {
                true => self.steps[1..].to_vec(),
                false => Vec::new(),
            },
            is_name: self.is_name,
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Name(String),
    At(usize),
}

fn context() -> Context {
    Context {
        event: "workflow_run".to_owned(),
        repository: "acme/widgets".to_owned(),
        server_url: "https://github.com".to_owned(),
        head_sha: "a".repeat(40),
        pull_request: Some(7),
        run_id: "12".to_owned(),
        run_attempt: "1".to_owned(),
        configuration: "kelvin".to_owned(),
        ..Context::default()
    }
}

fn found() -> PullRequest {
    serde_json::from_value(json!({
        "number": 7, "state": "open",
        "head": { "sha": "a".repeat(40), "ref": "feature" }, "base": { "sha": "b", "ref": "main" },
    }))
    .expect("a pull request")
}

/// Reports of all probes, and one whose head is worse than its base.
fn documents() -> Vec<Document> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/report");
    let mut files: Vec<_> = std::fs::read_dir(seeds)
        .expect("the seeds are there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut documents = vec![document(
        "worse".to_owned(),
        &fixture::report(2, |_, kind, _| Some(f64::from(u8::from(kind == "swap")))),
        &fixture::report(2, |case, kind, number| match (kind, number) {
            ("swap", 2) => None,
            _ => Some(f64::from(u8::from(case == 0))),
        }),
    )];
    for file in files {
        let bytes = std::fs::read(&file).expect("a seed");
        let report = Registry::shipped().report(&bytes).expect("a report");
        documents.push(document(file.display().to_string(), &report, &report));
    }
    documents
}

fn document(name: String, base: &Report, head: &Report) -> Document {
    let judgement = judged(base, head);
    let case = judgement
        .cases
        .first()
        .map_or("case", |case| case.case.as_str());
    let excerpts = [Excerpt {
        case: case.to_owned(),
        variant: "reorder-01".to_owned(),
        before: "## Rule\n\nHold.\n".to_owned(),
        after: "## Rule\n\nGo.\n".to_owned(),
    }];
    let bundle = Bundle::of(&Publication {
        report: head,
        judgement: Some(&judgement),
        context: &context(),
        out: Path::new("kelvin"),
        folder: "",
        excerpts: &excerpts,
        warnings: &[],
    });
    let bundle = serde_json::to_value(&bundle).expect("it is JSON");
    let mut ways = BTreeMap::<String, Vec<Way>>::new();
    collect(&bundle, &mut Vec::new(), &mut String::new(), &mut ways);
    Document {
        name,
        forms: ways.into_values().collect(),
        base: serde_json::to_value(base).expect("it is JSON"),
        bundle,
    }
}

/// Every text, number and name of a value, by its form.
fn collect(
    value: &Value,
    steps: &mut Vec<Step>,
    form: &mut String,
    ways: &mut BTreeMap<String, Vec<Way>>,
) {
    let way = |steps: &[Step], is_name| Way {
        steps: steps.to_vec(),
        is_name,
    };
    let length = form.len();
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                steps.push(Step::Name(name.clone()));
                // Names that a report gives have other signs than fields, and one form.
                let is_field = name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
                form.push('/');
                form.push_str(if is_field { name } else { "*" });
                let name = ways.entry(format!("{form} name")).or_default();
                name.push(way(steps, true));
                collect(inner, steps, form, ways);
                form.truncate(length);
                steps.pop();
            }
        }
        Value::Array(list) => {
            form.push_str("/[]");
            for (at, inner) in list.iter().enumerate() {
                steps.push(Step::At(at));
                collect(inner, steps, form, ways);
                steps.pop();
            }
            form.truncate(length);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let field = ways.entry(form.clone()).or_default();
            field.push(way(steps, false));
        }
    }
}

/// Puts a text into a field, or in the place of its name. A way that leads nowhere any more changes nothing.
fn put(value: &mut Value, way: &Way, text: &str) {
    let Some((last, before)) = way.steps.split_last() else {
        return;
    };
    let mut inner = value;
    for step in before {
        let next = match step {
            Step::Name(name) => inner.get_mut(name),
            Step::At(at) => inner.get_mut(at),
        };
        match next {
            Some(next) => inner = next,
            None => return,
        }
    }
    match (last, way.is_name) {
        (Step::Name(name), true) => {
            if let Some(map) = inner.as_object_mut()
                && let Some(taken) = map.remove(name)
            {
                map.insert(text.to_owned(), taken);
            }
        }
        (Step::Name(name), false) => {
            if let Some(field) = inner.get_mut(name) {
                *field = text.into();
            }
        }
        (Step::At(at), _) => {
            if let Some(field) = inner.get_mut(at) {
                *field = text.into();
            }
        }
    }
}

/// A text that tries to be more than one.
fn hostile(draw: &mut Draw, corpus: &[String]) -> String {
    const FURTHER: [&str; 24] = [
        "/merge",
        "\n/merge",
        "`/merge",
        "x`/merge`",
        "\n\n# zqx",
        "\r\n- [ ] zqx",
        "- [x] zqx",
        "* [ ] x",
        "@team",
        "`@team`",
        "#1",
        "acme/widgets#1",
        "GH-1",
        "![x](u)",
        "[x](u)",
        "<b>",
        "</details>",
        "\n```\n@team",
        "~~~",
        "| a | b |\n| - | - |",
        "\u{2028}/merge",
        "\u{85}@team",
        "www.a.org",
        "> [!NOTE]",
    ];
    let one = |draw: &mut Draw| match draw.below(3) {
        0 => FURTHER[draw.below(FURTHER.len())].to_owned(),
        _ => corpus[draw.below(corpus.len())].clone(),
    };
    let (first, second) = (one(draw), one(draw));
    match draw.below(5) {
        0 => format!("{first}{MARK}"),
        1 => format!("{MARK}{first}{second}"),
        2 => format!("{first}\n{second}"),
        3 => format!("`{first}` {second}"),
        _ => first,
    }
}

fn judged(base: &Report, head: &Report) -> Judgement {
    let aligned = align::align(base, head);
    let (old, new) = (Measured::from(&aligned.base), Measured::from(&aligned.head));
    let comparison = compare(&old, &new);
    let policy = Policy::default();
    let mut verdict = Gate::new(&policy, false, false, None).give_up(&comparison);
    verdict.warn_of_alignment(&aligned.comparisons, &policy);
    let cases = changes::case_changes(&comparison, &verdict);
    let provenance = Provenance {
        source: Source::Branch,
        place: "kelvin-reports".to_owned(),
        commit: Some("b".repeat(40)),
        artifact: None,
        why: Some("it is where the change begins".to_owned()),
        behind: 0,
        days: Some(1),
        tried: Vec::new(),
        unchecked: None,
    };
    let told = differences(base, head);
    Judgement {
        flips: answers::gone_wrong(&cases, &verdict, (base, head)),
        cases,
        comparisons: aligned.comparisons,
        reproduce: Some(Reproduction {
            commit: head.run.session.commit.clone(),
            arguments: vec!["--seed".to_owned(), head.run.seed.to_string()],
            ..Reproduction::default()
        }),
        ..Judgement::with_base(verdict, provenance)
    }
    .differing(told.told)
}

/// Every page that is published of a bundle, and whether it was one.
fn pages(bytes: &[u8], base: &Report) -> (Vec<String>, bool) {
    let mut context = context();
    let bundle = match Bundle::read(bytes, &context, &Registry::shipped().of_sections()) {
        Ok(bundle) => bundle,
        Err(bad) => {
            let page = failure::page(&UnmeasuredRun {
                context: &context,
                what: "The result of the run cannot be read",
                reason: bad.to_string(),
                place: None,
                level: Level::Failure,
            });
            return (vec![page], false);
        }
    };
    let said = bundle.judgement.as_ref();
    let again = judged(base, &bundle.report);
    let names: Vec<&String> = bundle.report.metrics.keys().collect();
    let unknown = anyhow::anyhow!("the report is unusable: {names:?}");
    let mut pages = Vec::new();
    for again in [Ok(again), Err(unknown)] {
        let is_known = again.is_ok();
        let mut held = of_one(&found(), said, again);
        context.claim = Some(held.claim.clone());
        if let Ok(request) = held.judgement.approvable(&context.head_sha) {
            let rules = Rules {
                by: vec!["alice".to_owned()],
                label: None,
                comment: true,
                timeout_s: 3_600,
                not_author: true,
            };
            let mut approval = Approval::pending(request, rules, held.judgement.last_good());
            approval.origin = Some(Origin::default());
            pages.push(comment::asking(&approval, &[]));
            held.judgement.settle(approval);
        }
        let publication = Publication {
            report: &bundle.report,
            judgement: Some(&held.judgement),
            context: &context,
            out: Path::new("kelvin"),
            folder: "",
            excerpts: &bundle.excerpts,
            warnings: &[],
        };
        pages.push(comment::render(&publication, 60_000));
        if !is_known {
            continue;
        }
        pages.push(comment::render(&publication, 3_000));
        pages.push(outputs::job_summary(&publication));
        for line in commands::annotations(&annotations::annotations(&publication)).lines() {
            let known = ["::error ", "::warning ", "::notice "];
            assert!(known.iter().any(|word| line.starts_with(word)), "{line}");
        }
        for (_, value) in outputs::outputs(&publication, None) {
            assert!(!value.contains(['\n', '\r']), "{value}");
        }
    }
    (pages, true)
}

#[expect(clippy::print_stderr, reason = "a long run says how much it was")]
#[test]
fn no_field_of_a_bundle_is_active_in_what_is_published() {
    let number = |name: &str| {
        let text = std::env::var(name).ok();
        text.map(|text| text.parse::<usize>().expect("a number"))
    };
    let executions = number("KELVIN_FUZZ_EXECUTIONS").unwrap_or(EXECUTIONS);
    let from = number("KELVIN_FUZZ_FROM").unwrap_or(0);
    let corpus = corpus();
    let documents = documents();
    let (mut read, mut changed) = (0, 0);
    let mut reached = std::collections::BTreeSet::new();
    for execution in from..from + executions {
        let key: Digest = Fields::of("kelvin/inert/v1")
            .field("execution", execution.to_string())
            .digest();
        let mut draw = Draw::of(key);
        let at = execution % documents.len();
        let document = &documents[at];
        let mut bundle = document.bundle.clone();
        let mut base = document.base.clone();
        // One form after the other, so that none is left out, and others beside it.
        let first = execution / documents.len() * CHANGES;
        for turn in first..first + draw.between(1, CHANGES) {
            let form = turn % document.forms.len();
            let ways = &document.forms[form];
            let way = &ways[draw.below(ways.len())];
            let text = hostile(&mut draw, &corpus);
            let mut tried = bundle.clone();
            put(&mut tried, way, &text);
            let is_read = Bundle::read(
                tried.to_string().as_bytes(),
                &context(),
                &Registry::shipped().of_sections(),
            )
            .is_ok();
            // A field that takes no text makes a bundle that is not read; few of those tell all.
            if !is_read && draw.below(20) > 0 {
                continue;
            }
            bundle = tried;
            changed += 1;
            reached.insert((at, form));
            // A name that both sides have is compared.
            if draw.below(2) == 0 {
                put(&mut base, &way.of_the_report(), &text);
            }
        }
        let base = Registry::shipped().report(base.to_string().as_bytes());
        let base = base.unwrap_or_else(|_| {
            Registry::shipped()
                .report(document.base.to_string().as_bytes())
                .expect("it is a report")
        });
        let (pages, is_read) = pages(bundle.to_string().as_bytes(), &base);
        read += usize::from(is_read);
        for page in pages {
            // A line below another within a cell is ours.
            let found = active(&page.replace("<br>", " "), &[RUN], MARK);
            assert!(
                found.is_empty(),
                "execution {execution} of {}: {found:?}\n{page}",
                document.name
            );
        }
    }
    eprintln!(
        "{executions} executions: {changed} changes of {} kinds of fields, {read} bundles were read",
        reached.len()
    );
    assert!(
        read * 2 >= executions,
        "only {read} of {executions} could be read"
    );
}
