use kelvin_fixtures::text::{lines_with, redacted};
use std::collections::BTreeMap;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;
use crate::publish::Excerpt;
use kelvin_base::usage::Usage;
use kelvin_fixtures::report as fixture;
use kelvin_gate::answers::{ChangedAnswer, ChangedAnswers};
use kelvin_gate::compare::{Change, Measured, compare};
use kelvin_gate::policy::{Attention, Effect, Policy};
use kelvin_gate::provenance::{Source, Tried};
use kelvin_gate::reproduce::Reproduction;
use kelvin_gate::verdict::{BrokenCase, Reason, ReasonCode, Verdict, Word};
use kelvin_gate::{Gate, Next, changes};
use kelvin_record::{Flip, Ought};

mod remarks;

fn judged(base: &Report, head: &Report) -> Judgement {
    let (old, new) = (Measured::from(base), Measured::from(head));
    let comparison = compare(&old, &new);
    let policy = Policy::default();
    let mut gate = Gate::new(&policy, false, false, None);
    let verdict = match gate.next(&comparison, 0) {
        Next::Verdict(verdict) => *verdict,
        Next::Rerun(_) => gate.give_up(&comparison),
    };
    Judgement {
        cases: changes::case_changes(&comparison, &verdict),
        reproduce: Some(Reproduction {
            commit: Some("0123456789abcdef".to_owned()),
            arguments: vec!["--seed".to_owned(), "42".to_owned()],
            ..Reproduction::default()
        }),
        ..Judgement::without_base(verdict, Vec::new())
    }
}

fn context() -> Context {
    Context {
        event: "pull_request".to_owned(),
        repository: "acme/widgets".to_owned(),
        server_url: "https://github.com".to_owned(),
        run_id: "12".to_owned(),
        configuration: "kelvin".to_owned(),
        ..Context::default()
    }
}

fn page(report: &Report, judgement: &Judgement, excerpts: &[Excerpt], budget: usize) -> String {
    let context = context();
    render(
        &Publication {
            report,
            judgement: Some(judgement),
            context: &context,
            out: Path::new("kelvin"),
            folder: "",
            excerpts,
            warnings: &[],
        },
        budget,
    )
}

/// The next step: the third line that is not empty.
fn advice(page: &str) -> &str {
    page.lines().nth(4).expect("advice")
}

fn excerpt(judgement: &Judgement, text: &str) -> Excerpt {
    let case = &judgement.cases[0];
    let variant = case.variants.first();
    let variant = variant.and_then(|first| first.variant.as_deref());
    Excerpt {
        case: case.case.clone(),
        variant: variant.unwrap_or("reorder-01").to_owned(),
        before: "## Rule\n\nHold.\n".to_owned(),
        after: format!("## Rule\n\n{text}\n"),
    }
}

/// Every fold is closed, and every tag is ours.
fn is_whole(page: &str) {
    const OURS: [&str; 7] = [
        "<br>",
        "<details>",
        "<details open>",
        "<summary>",
        "</summary>",
        "<sub>",
        "</sub>",
    ];
    let mut open = 0_usize;
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        if let Event::Html(html) | Event::InlineHtml(html) = event {
            open += html.matches("<details").count();
            open -= html.matches("</details>").count();
            let mut rest = html.replace("</details>", "");
            for tag in OURS {
                rest = rest.replace(tag, "");
            }
            assert!(!rest.contains('<'), "{html}");
        }
    }
    assert_eq!(open, 0, "{page}");
    // A fence that was cut would take in what follows.
    let last = Parser::new(page).last().expect("a page");
    assert!(!matches!(last, Event::End(TagEnd::CodeBlock)), "{page}");
}

#[test]
fn a_regression_is_told_in_the_first_lines() {
    let (base, head) = (fixture::good(), fixture::bad());
    let judgement = judged(&base, &head);
    assert!(!judgement.verdict.passed);
    let page = page(&head, &judgement, &[excerpt(&judgement, "Go.")], 60_000);
    is_whole(&page);
    let mut lines = page.lines();
    let heading = lines.next().expect("a heading");
    insta::assert_snapshot!(heading, @"### ❌ Kelvin: regression, `evidence.following.release_rule` 1.00 → 0.08 and 2 more");
    let reason = lines.nth(1).expect("a reason");
    assert!(
        reason.starts_with("**") && reason.contains("evidence"),
        "{reason}"
    );
    insta::assert_snapshot!(lines.nth(1).expect("advice"), @"Look first at case `case_000`, variant `swap-release_rule-01`.");
    assert!(
        page.contains("`0123456789ab`: `kelvin gate --seed 42 --only="),
        "{page}"
    );
    assert!(page.contains("| +Go."), "{page}");
    let row = lines_with(&page, &["<br>`evidence.invariance`"]);
    insta::assert_snapshot!(row, @"| Holds under rewrites<br>`evidence.invariance` | 1.00 | 0.77 | -0.23 | 108 | ❌ regression |");
}

/// One item that is answered otherwise.
fn answered_otherwise(kind: &str, name: &str) -> ChangedAnswers {
    ChangedAnswers {
        item: kind.to_owned(),
        items: format!("{kind}s"),
        are_endings: false,
        same: 3,
        other: 1,
        gone: 0,
        gone_items: Vec::new(),
        new: 0,
        varied: 0,
        varied_on_base: 0,
        rewritten: false,
        less_steady: false,
        once: true,
        answers: vec![ChangedAnswer {
            item: name.to_owned(),
            asked: None,
            edited: false,
            expected: Some("Paris".to_owned()),
            base: "I do not know.".to_owned(),
            head: "Paris".to_owned(),
            hits: None,
            beside: BTreeMap::new(),
        }],
        edited: Vec::new(),
        unscored: 0,
        asides: Vec::new(),
        one_for_all: None,
    }
}

#[test]
fn the_first_sentence_is_about_the_item_that_the_next_step_names() {
    let (base, head) = (fixture::good(), fixture::bad());
    let mut judgement = judged(&base, &head);
    let worst = judgement.cases.iter().find(|case| case.is_worse());
    let worst = worst.expect("a case that is worse").case.clone();
    judgement.flips = vec![Flip {
        metric: "evidence.invariance".to_owned(),
        item: "another".to_owned(),
        ought: Ought::Hold,
        flipped: 1,
        of: 3,
        part: "reorder-01".to_owned(),
        base: "\"pay\"".to_owned(),
        head: "\"refuse\"".to_owned(),
    }];
    let first = |judgement: &Judgement| {
        let page = page(&head, judgement, &[], 60_000);
        page.lines().nth(2).expect("a sentence").to_owned()
    };
    let alone = first(&judgement);
    insta::assert_snapshot!(alone, @"**`another` now answers *refuse* instead of *pay* in 1 of 3 rewrites that should not matter**");
    let answers = answered_otherwise("case", &worst);
    judgement
        .verdict
        .answers
        .insert("evidence".to_owned(), answers);
    let told = first(&judgement);
    insta::assert_snapshot!(told, @"**`case_000` is answered *Paris* instead of *I do not know.* (expected *Paris*)**");
    judgement.flips[0].item = worst.clone();
    let told = first(&judgement);
    insta::assert_snapshot!(told, @"**`case_000` now answers *refuse* instead of *pay* in 1 of 3 rewrites that should not matter**");
}

#[test]
fn another_answer_of_one_probe_does_not_stand_for_the_loss_in_another() {
    let (base, head) = (fixture::good(), fixture::bad());
    let mut judgement = judged(&base, &head);
    let better = answered_otherwise("prompt", "p1");
    judgement
        .verdict
        .answers
        .insert("another".to_owned(), better);
    let page = page(&head, &judgement, &[], 60_000);
    is_whole(&page);
    let reason = page.lines().nth(2).expect("a reason");
    assert!(
        reason.starts_with("**`evidence.") && !reason.contains("p1"),
        "{reason}"
    );
    insta::assert_snapshot!(lines_with(&page, &["`repeats: 3`"]), @"Each side has answered once, so that nothing tells a change from the noise of the pipeline; `repeats: 3` would, where kelvin runs it.");
}

#[test]
fn a_pass_says_that_there_is_nothing_to_do() {
    let report = fixture::good();
    let judgement = judged(&report, &report);
    let page = page(&report, &judgement, &[], 60_000);
    is_whole(&page);
    insta::assert_snapshot!(page.lines().take(5).collect::<Vec<_>>().join("\n"), @"
    ### ✅ Kelvin: pass

    **None of 4 gated metrics dropped beyond what is allowed**

    Nothing to do.
    ");
}

#[test]
fn a_pass_that_leaves_something_out_does_not_say_that_there_is_nothing_to_do() {
    let report = fixture::good();
    let told = |code: ReasonCode| {
        let mut judgement = judged(&report, &report);
        let reason = Reason {
            code,
            effect: Some(Effect::Warn),
            metric: None,
            text: "it is told".to_owned(),
        };
        judgement.verdict.reasons.insert(0, reason);
        page(&report, &judgement, &[], 60_000)
    };
    let mut steps = Vec::new();
    for code in [
        ReasonCode::LeftOut,
        ReasonCode::AddedBroken,
        ReasonCode::UncalibratedJudge,
    ] {
        steps.push(advice(&told(code)).to_owned());
    }
    let mut judgement = judged(&report, &report);
    let turnover = judgement.verdict.turnover.values_mut().next();
    turnover.expect("a kind of items").removed = 1;
    let page = page(&report, &judgement, &[], 60_000);
    steps.push(advice(&page).to_owned());
    insta::assert_snapshot!(steps.join("\n"), @r"
    Run the gate without `--probe` before this is merged: nothing is said of what was left out.
    Look at what is new: it fails from the start, and once this is merged nothing tells of it any more.
    Put the judge on trial once, with `kelvin calibrate --report kelvin/report.json`.
    Look at what was removed: what is missing is compared with nothing, so that a drop there does not show.
    ");
}

#[test]
fn more_runs_are_advised_only_where_noise_leaves_a_verdict_open() {
    let report = fixture::good();
    let mut judgement = judged(&report, &report);
    judgement.verdict.verdict = Word::Inconclusive;
    let open = |judgement: &Judgement| page(&report, judgement, &[], 60_000);
    let alone = open(&judgement);
    assert!(!alone.contains("`budget`"), "{alone}");
    insta::assert_snapshot!(advice(&alone), @"Look at what the reasons name: more runs would not decide it.");
    judgement.verdict.reasons.insert(
        0,
        Reason {
            code: ReasonCode::MeasuredAsBase,
            effect: Some(Effect::Warn),
            metric: None,
            text: "it was not measured by what the base has".to_owned(),
        },
    );
    let settings = open(&judgement);
    insta::assert_snapshot!(advice(&settings), @"Edit what is measured in a change of its own: then both can be judged. Where something only gets another name, let the old one stay beside it until that is merged.");
    let mut metrics = judgement.verdict.metrics.values_mut();
    let metric = metrics.find(|metric| metric.policy == Attention::Gate);
    metric.expect("a gated metric").verdict = Word::Inconclusive;
    let noise = open(&judgement);
    insta::assert_snapshot!(lines_with(&noise, &["`budget`"]), @"Running the pipeline again, a larger `budget`, or more cases would decide.");
}

#[test]
fn the_log_is_named_only_where_calls_failed() {
    let report = fixture::good();
    let mut judgement = judged(&report, &report);
    judgement.verdict.verdict = Word::Unmeasured;
    judgement.verdict.passed = false;
    let whole = page(&report, &judgement, &[], 60_000);
    insta::assert_snapshot!(advice(&whole), @"The reasons say what could not be measured.");
    let rate = judgement.verdict.metrics.get_mut("evidence.failure_rate");
    let rate = rate.expect("every check has it");
    rate.policy = Attention::Gate;
    rate.head = Some(0.5);
    let failed = page(&report, &judgement, &[], 60_000);
    insta::assert_snapshot!(advice(&failed), @"The reasons say what could not be measured. Where calls failed, the log of the run has the last lines that the pipeline printed.");
}

#[test]
fn a_pass_in_which_a_case_may_have_broken_says_what_would_decide() {
    let report = fixture::good();
    let mut judgement = judged(&report, &report);
    judgement.verdict.broken_cases.push(BrokenCase {
        case: "alder".to_owned(),
        metric: "evidence.invariance".to_owned(),
        certain: false,
        bad: 3,
        runs: 3,
        valueless: false,
    });
    let page = page(&report, &judgement, &[], 60_000);
    insta::assert_snapshot!(advice(&page), @"Look at case `alder`: it may have broken, and a mean over all cases hides one. Where the same input always gets the same answer, `gate: {deterministic: true}` decides; else `baseline: {repeats: 5}` tells what is usual on the base.");
}

#[test]
fn a_baseline_that_is_turned_off_asks_for_no_run_on_the_base_branch() {
    let report = fixture::good();
    let shown = |tried: Vec<Tried>| {
        let verdict = Verdict::without_base(Word::NoBaseline, Effect::Warn, "there is none");
        let judgement = Judgement::without_base(verdict, tried);
        page(&report, &judgement, &[], 60_000)
    };
    let off = shown(Vec::new());
    insta::assert_snapshot!(advice(&off), @"Nothing is gated as long as the baseline is turned off in the configuration.");
    let tried = Tried {
        source: Source::Tree,
        why: "it has none".to_owned(),
        unknown: None,
    };
    insta::assert_snapshot!(advice(&shown(vec![tried])), @"A run on the base branch keeps a report to compare with; until then nothing is gated.");
}

#[test]
fn a_case_of_a_single_input_is_not_run_again_alone() {
    let (base, head) = (fixture::good(), fixture::bad());
    let mut judgement = judged(&base, &head);
    for change in judgement
        .cases
        .iter_mut()
        .flat_map(|case| &mut case.variants)
    {
        change.variant = None;
    }
    let page = page(&head, &judgement, &[], 60_000);
    insta::assert_snapshot!(redacted(&lines_with(&page, &["`kelvin gate --seed 42`"])), @"Reproduce, in the root of a clone, at commit `[HASH]`: `kelvin gate --seed 42`");
    assert!(!page.contains("--only="), "{page}");
}

#[test]
fn what_the_models_took_stands_next_to_what_they_took_on_the_base() {
    let (mut base, mut head) = (fixture::good(), fixture::good());
    let judgement = judged(&base, &head);
    let plain = page(&head, &judgement, &[], 60_000);
    let took = |page: &str, head: &Report| {
        let invocations = head.run.session.cost.invocations;
        lines_with(page, &[&format!("· {invocations} ")])
    };
    insta::assert_snapshot!(took(&plain, &head), @"
    <sub>no baseline · 180 invocations, 12 answered by the cache</sub>
    ");
    let usage = |input_tokens, usd| {
        Some(Usage {
            input_tokens,
            usd,
            ..Usage::default()
        })
    };
    base.run.session.cost.usage_of_answers = usage(10_000, Some(1.0));
    head.run.session.cost.usage_of_answers = usage(15_000, Some(1.7));
    let ratio = |base: &Report, head: &Report| {
        let cost_ratio = head.run.session.cost.times(&base.run.session.cost);
        let judgement = Judgement {
            cost_ratio,
            ..judgement.clone()
        };
        page(head, &judgement, &[], 60_000)
    };
    let shown = ratio(&base, &head);
    insta::assert_snapshot!(lines_with(&shown, &["15,000"]), @"<sub>no baseline · 180 invocations, 12 answered by the cache; 15,000 tokens, $1.70, 1.7 times the cost of the base for each answer</sub>");
    // Twice the answers for twice the money is the same cost; without prices the tokens are compared.
    let cost = &mut head.run.session.cost;
    cost.invocations *= 2;
    cost.cache_hits *= 2;
    cost.usage_of_answers = usage(30_000, None);
    let shown = ratio(&base, &head);
    insta::assert_snapshot!(lines_with(&shown, &["30,000"]), @"<sub>no baseline · 360 invocations, 24 answered by the cache; 30,000 tokens, 1.5 times the cost of the base for each answer</sub>");
    // What is not known has no ratio.
    head.run.session.cost.usage_of_answers = Some(Usage::untold());
    let shown = ratio(&base, &head);
    insta::assert_snapshot!(took(&shown, &head), @"<sub>no baseline · 360 invocations, 24 answered by the cache; tokens unknown</sub>");
}

#[test]
fn act_10_a_page_keeps_to_its_budget_and_sheds_whole_sections() {
    let base = fixture::report(400, |_, kind, _| Some(f64::from(u8::from(kind == "swap"))));
    let head = fixture::report(400, |case, _, _| Some(f64::from(u8::from(case % 2 == 0))));
    let judgement = judged(&base, &head);
    let excerpts = [excerpt(&judgement, &"Go. ".repeat(3_000))];
    let (mut lengths, mut left_out) = (Vec::new(), Vec::new());
    for budget in [2_000, 2_500, 3_000, 4_000, 6_000, 10_000, 20_000, 60_000] {
        let page = page(&head, &judgement, &excerpts, budget);
        assert!(page.len() <= budget, "{} of {budget}", page.len());
        is_whole(&page);
        assert!(page.starts_with("### ❌ Kelvin: regression, `evidence."));
        let mut lines = page.lines().filter(|line| line.starts_with("<sub>"));
        let line = lines.find(|line| line.contains("`gate.json`"));
        left_out.push(line.unwrap_or("-").to_owned());
        lengths.push(page.len());
    }
    left_out.dedup();
    insta::assert_snapshot!(left_out.join("\n"), @"
    <sub>Left out for length: what changed in the inputs, the cases. All of it is in `report.html` and `gate.json` of the run.</sub>
    <sub>Left out for length: what changed in the inputs. All of it is in `report.html` and `gate.json` of the run.</sub>
    -
    ");
    assert!(lengths.is_sorted(), "{lengths:?}");
}

#[test]
fn act_11_nothing_that_others_wrote_can_act() {
    for text in fixture::corpus() {
        let head = fixture::hostile::hostile(&text);
        let base = fixture::good();
        let mut judgement = judged(&base, &head);
        judgement.differences.push(text.clone());
        for case in &mut judgement.cases {
            case.case.clone_from(&text);
            case.flipped = vec![text.clone()];
        }
        for reason in &mut judgement.verdict.reasons {
            reason.text = format!("{text} fell, in case `{text}`");
        }
        let excerpt = Excerpt {
            case: text.clone(),
            variant: text.clone(),
            before: text.clone(),
            after: format!("{text}\n{text}x"),
        };
        let warnings = [text.clone()];
        let context = Context {
            configuration: text.clone(),
            repository: "acme/widgets".to_owned(),
            server_url: "https://github.com".to_owned(),
            run_id: "12".to_owned(),
            ..Context::default()
        };
        let publication = Publication {
            report: &head,
            judgement: Some(&judgement),
            context: &context,
            out: Path::new("kelvin"),
            folder: "",
            excerpts: &[excerpt],
            warnings: &warnings,
        };
        let measured = Publication {
            judgement: None,
            excerpts: &[],
            ..publication
        };
        assert!(
            render(&measured, 60_000).starts_with("### Kelvin ("),
            "{text}"
        );
        for page in [
            render(&publication, 60_000),
            render(&measured, 60_000),
            crate::publish::outputs::job_summary(&publication),
        ] {
            is_whole(&page);
            let mut links = Vec::new();
            for event in Parser::new_ext(&page, Options::ENABLE_TABLES) {
                match event {
                    Event::Start(Tag::Link { dest_url, .. }) => links.push(dest_url.to_string()),
                    Event::Start(Tag::Image { .. }) => panic!("an image of {text}"),
                    _ => {}
                }
            }
            assert_eq!(
                links,
                ["https://github.com/acme/widgets/actions/runs/12"],
                "{text}"
            );
            for line in page.lines() {
                assert!(!line.starts_with("::"), "a command of {text}");
                assert!(!line.trim_start().starts_with('/'), "an order of {text}");
            }
            let hidden = |c: char| {
                (c.is_control() && c != '\n')
                    || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            };
            assert!(!page.contains(hidden), "{text}");
            assert!(!page.contains("<!--"), "{text}");
            let mention = page
                .match_indices('@')
                .any(|(at, _)| page[at + 1..].starts_with(|c: char| c.is_alphanumeric()));
            assert!(!mention, "a mention of {text}: {page}");
        }
    }
}

#[test]
fn act_10_any_report_fits_any_budget() {
    use proptest::prelude::*;

    let corpus = fixture::corpus();
    let stacked = format!("e{}", "\u{301}".repeat(900)).repeat(9);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let input = (
        2_000_usize..70_000,
        1_usize..12,
        0..=corpus.len(),
        1_usize..40,
    );
    runner
        .run(&input, |(budget, cases, at, times)| {
            let base = fixture::report(cases, |_, kind, _| {
                Some(f64::from(u8::from(kind == "swap")))
            });
            let head =
                fixture::report(cases, |case, _, _| Some(f64::from(u8::from(case % 2 == 1))));
            let mut judgement = judged(&base, &head);
            let text = corpus.get(at).unwrap_or(&stacked).repeat(times);
            for case in &mut judgement.cases {
                case.flipped.push(text.clone());
            }
            if let Some(case) = judgement.cases.first_mut() {
                case.case.clone_from(&text);
            }
            for reason in &mut judgement.verdict.reasons {
                reason.text = format!("`{text}` and {text}");
            }
            let excerpts: Vec<Excerpt> = judgement
                .cases
                .first()
                .map(|_| excerpt(&judgement, &text))
                .into_iter()
                .collect();
            let page = page(&head, &judgement, &excerpts, budget);
            prop_assert!(page.len() <= budget, "{} of {budget}", page.len());
            is_whole(&page);
            Ok(())
        })
        .expect("every page fits");
}
