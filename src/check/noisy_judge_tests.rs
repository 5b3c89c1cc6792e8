//! The gate on `grading.judge_score` in worlds where the truth is known: a candidate whose answers vary, a judge
//! whose grades vary, and a change that has no effect or that makes the answers worse.
//!
//! Only the pipelines and the judge are played here. Figures, alignment, comparison and gate are those of the
//! program.

use std::collections::BTreeMap;

use crate::registry::Registry;
use kelvin_base::cost::Cost;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::draw::Draw;
use kelvin_gate::align::align;
use kelvin_gate::compare::{Measured, compare};
use kelvin_gate::policy::Policy;
use kelvin_gate::report::{Fingerprints, Report, Run, Session};
use kelvin_gate::verdict::{Verdict, Word};
use kelvin_gate::{Gate, Next};
use kelvin_grading::{
    Answered, GradedSample, GradingBasis, GradingKind, GradingSection, PromptRecord, Scoring,
};
use kelvin_record::{Ending, KeptText, SectionFingerprint, SectionKind as _, Sections};
use kelvin_run::judge::Grade;

const ID: &str = "grading.judge_score";
const TRIALS: u64 = 100;

/// A world: how good the answers are, and how much everything varies.
#[derive(Clone, Copy)]
struct World {
    scoring: Scoring,
    prompts: usize,
    /// How often the base was asked.
    base_runs: usize,
    /// How much worse the answers of the head are, and of which share of the prompts.
    drop: (f64, f64),
    /// The standard deviation of the quality of an answer around that of its prompt.
    answers: f64,
    /// The standard deviation of a grade around the quality.
    judge: f64,
}

const NOISY: World = World {
    scoring: Scoring::Each,
    prompts: 30,
    base_runs: 1,
    drop: (0.0, 1.0),
    answers: 0.15,
    judge: 0.1,
};

/// More repeats than the gate asks for.
const MOST_RUNS: usize = 20;

/// More calls than a gate can use.
const PLENTY: usize = 100_000;

/// Everything that is drawn in one trial. It is drawn at once, so that a further repeat changes no other.
struct Drawn {
    /// The quality of each prompt, and whether the change hits it: a number that the share is compared with.
    prompts: Vec<(f64, f64)>,
    /// A deviate for each prompt and repeat: of the answers of both sides, and of three grades.
    deviates: Vec<[[f64; MOST_RUNS]; 5]>,
}

impl Drawn {
    fn of(trial: u64, prompts: usize) -> Self {
        let fields = Fields::of("kelvin/grading-world/v1").field("trial", trial.to_be_bytes());
        let mut draw = Draw::of(fields.digest());
        // About a normal deviate: the sum of twelve.
        let mut normal = || (0..12).map(|_| draw.unit()).sum::<f64>() - 6.0;
        let deviates = (0..prompts)
            .map(|_| std::array::from_fn(|_| std::array::from_fn(|_| normal())))
            .collect();
        Self {
            deviates,
            prompts: (0..prompts)
                .map(|_| (0.4 + 0.5 * draw.unit(), draw.unit()))
                .collect(),
        }
    }
}

/// The places of the deviates of a sample.
const OF_BASE: usize = 0;
const OF_HEAD: usize = 1;
const OF_GRADES: [usize; 3] = [2, 3, 4];

impl World {
    /// How good an answer is. It is the answer too: two answers of the same quality are the same.
    fn quality(&self, drawn: &Drawn, side: usize, prompt: usize, repeat: usize) -> f64 {
        let (of_prompt, hit) = drawn.prompts[prompt];
        let drop = if side == OF_HEAD && hit < self.drop.1 {
            self.drop.0
        } else {
            0.0
        };
        of_prompt - drop + self.answers * drawn.deviates[prompt][side][repeat - 1]
    }

    /// What the judge says, rounded as a model rounds.
    fn grade(&self, quality: f64, deviate: f64) -> Grade {
        let score = (quality + self.judge * deviate).clamp(0.0, 1.0);
        Grade::new((score * 10.0).round() / 10.0, "", "played/v1").expect("it is within 0 and 1")
    }

    /// Which of two answers the judge takes.
    fn choice(&self, margin: f64, deviate: f64) -> Grade {
        let score = match margin + 2.0 * self.judge * deviate {
            margin if margin.abs() < 0.03 => 0.5,
            margin if margin > 0.0 => 1.0,
            _ => 0.0,
        };
        Grade::new(score, "", "played/v1").expect("it is within 0 and 1")
    }

    fn sample(&self, drawn: &Drawn, side: usize, prompt: usize, repeat: usize) -> GradedSample {
        let own = self.quality(drawn, side, prompt, repeat);
        let [of_base, first, second] =
            OF_GRADES.map(|place| drawn.deviates[prompt][place][repeat - 1]);
        let deviate = if side == OF_BASE { of_base } else { first };
        let answered = |quality: f64| Answered {
            answer: Some(KeptText::of(&quality.to_string())),
            passages: None,
            failure: None,
            usage: None,
        };
        let base_repeat = (repeat - 1) % self.base_runs + 1;
        let other = self.quality(drawn, OF_BASE, prompt, base_repeat);
        let next_to = side == OF_HEAD && self.scoring.is_preference();
        GradedSample {
            candidate: answered(own),
            baseline: next_to.then(|| answered(other)),
            base_repeat: next_to.then_some(base_repeat),
            grade: match self.scoring {
                Scoring::Choice if next_to => Some(self.choice(own - other, deviate)),
                Scoring::Exchange if next_to => Some(self.grade(0.5 + own - other, deviate)),
                Scoring::Choice | Scoring::Exchange => None,
                Scoring::Each | Scoring::Likeness => Some(self.grade(own, deviate)),
            },
            grade_by_old_reference: None,
            baseline_grade: (next_to && self.scoring == Scoring::Exchange)
                .then(|| self.grade(0.5 + other - own, second)),
            judge_usage: None,
            unscored: None,
        }
    }

    fn report(&self, drawn: &Drawn, side: usize, repeats: impl Fn(&str) -> usize) -> Report {
        let prompt = |at: usize| {
            let id = format!("prompt-{at:02}");
            let samples = (1..=repeats(&id)).map(|repeat| self.sample(drawn, side, at, repeat));
            let record = PromptRecord {
                input: Digest::of(id.as_bytes()),
                prompt: KeptText::of(&id),
                reference: None,
                tags: Vec::new(),
                samples: samples.collect(),
            };
            (id, record)
        };
        report(GradingSection {
            ending: Ending::Complete,
            fingerprint: SectionFingerprint {
                items: None,
                command: None,
            },
            basis: basis(self.scoring),
            items: (0..self.prompts).map(prompt).collect(),
        })
    }

    /// What the gate says of one trial, with re-runs.
    fn verdict(&self, trial: u64) -> Verdict {
        let drawn = Drawn::of(trial, self.prompts);
        let base = self.report(&drawn, OF_BASE, |_| self.base_runs);
        let mut runs: BTreeMap<String, usize> = BTreeMap::new();
        let policy = Policy::default();
        let mut gate = Gate::new(&policy, true, false, None);
        loop {
            let head = self.report(&drawn, OF_HEAD, |id| runs.get(id).copied().unwrap_or(1));
            let aligned = align(&base, &head);
            let sides = (Measured::from(&aligned.base), Measured::from(&aligned.head));
            match gate.next(&compare(&sides.0, &sides.1), PLENTY) {
                Next::Verdict(verdict) => return *verdict,
                Next::Rerun(rerun) => runs.extend(
                    rerun
                        .head
                        .into_iter()
                        .map(|(name, runs)| (name, runs.input)),
                ),
            }
        }
    }

    /// Of a hundred trials: how many passed, how many were called a regression of the score, and how many
    /// passed because the gate is sure.
    fn trials(&self) -> (usize, usize, usize) {
        let verdicts: Vec<Verdict> = (0..TRIALS).map(|trial| self.verdict(trial)).collect();
        let count = |is: &dyn Fn(&Verdict) -> bool| verdicts.iter().filter(|one| is(one)).count();
        let score = |verdict: &Verdict| verdict.metrics[ID].verdict;
        (
            count(&|verdict| verdict.passed),
            count(&|verdict| score(verdict) == Word::Regression),
            count(&|verdict| score(verdict) == Word::Pass),
        )
    }
}

fn basis(scoring: Scoring) -> GradingBasis {
    GradingBasis {
        judge: "played/v1".to_owned(),
        scoring,
        max_errors: kelvin_run::judge::MaxErrors::default(),
        candidate: "played".to_owned(),
        baseline: None,
        asked: None,
        planted: None,
        base_anew: None,
    }
}

fn report(section: GradingSection) -> Report {
    let found = GradingKind.recompute(Box::new(section));
    let mut probes = Sections::new(Registry::shipped().of_sections());
    probes.put(GradingKind.name(), found.section);
    let run = Run {
        ending: Ending::Complete,
        seed: 0,
        only: Vec::new(),
        shard: None,
        repeats: 1,
        fingerprints: Fingerprints {
            config: Digest::of(b"config"),
            pipeline: None,
        },
        session: Session {
            started_at: "2026-11-22T06:00:00Z".to_owned(),
            seconds: 1.0,
            configuration: None,
            commit: None,
            dirty: false,
            copied_from: None,
            texts_withheld: false,
            cost: Cost::default(),
            judge_cost: None,
            item_seconds: BTreeMap::new(),
            decision: None,
            verdict: None,
        },
    };
    Report::new(run, probes, found.metrics, found.notices)
}

/// Every way to score that needs no baseline beside the candidate, with one and with three answers of the base.
fn worlds() -> Vec<World> {
    let scorings = [Scoring::Each, Scoring::Choice, Scoring::Exchange];
    let worlds = scorings.into_iter().flat_map(|scoring| {
        [1, 3].map(|base_runs| World {
            scoring,
            base_runs,
            ..NOISY
        })
    });
    worlds.collect()
}

/// Where the figures stand for people to read; they must be these.
const PAGE: &str = include_str!("../../docs/grading.md");

/// What a world is called on the page.
fn called(world: &World) -> &'static str {
    match world.scoring {
        Scoring::Each => "by itself",
        Scoring::Likeness => "by likeness",
        Scoring::Choice => "by choice",
        Scoring::Exchange => "by exchange",
    }
}

#[test]
fn an_unchanged_noisy_candidate_passes_and_a_planted_drop_is_a_regression_of_the_score() {
    let mut rows = String::new();
    for world in worlds() {
        let (passed, alarms, sure) = world.trials();
        let of = (world.scoring, world.base_runs);
        assert!(
            passed >= 95 && alarms <= 5,
            "{of:?}: {passed} passed, {alarms} regressions"
        );
        let worse = World {
            drop: (0.25, 1.0),
            ..world
        };
        let (missed, found, _) = worse.trials();
        assert!(
            found >= 95 && missed <= 5,
            "{of:?}: {missed} passed, {found} regressions"
        );
        let name = called(&world);
        rows += &format!(
            "| {name} | {} | {passed} | {sure} | {alarms} | {found} |\n",
            world.base_runs
        );
    }
    assert!(
        PAGE.contains(&rows),
        "docs/grading.md has other figures than\n{rows}"
    );
}

#[test]
fn a_drop_a_little_beyond_the_limit_is_hardly_ever_called_a_sure_pass() {
    for base_runs in [1, 3] {
        let world = World {
            base_runs,
            drop: (0.06, 1.0),
            ..NOISY
        };
        let (_, _, sure) = world.trials();
        // The bound holds with 90 % confidence; of a hundred trials at 10 %, 16 are not unusual.
        assert!(
            sure <= 16,
            "{base_runs} runs of the base: {sure} sure passes"
        );
    }
}

#[test]
fn a_drop_in_two_of_five_prompts_is_a_regression_of_the_score() {
    // A choice says of two answers only which is better, so that it takes more prompts to see as much.
    for (scoring, prompts) in [
        (Scoring::Each, 30),
        (Scoring::Exchange, 30),
        (Scoring::Choice, 60),
    ] {
        let world = World {
            scoring,
            prompts,
            drop: (0.6, 0.4),
            ..NOISY
        };
        let (passed, regressions, _) = world.trials();
        assert!(
            regressions >= 95,
            "{scoring:?}: {passed} passed, {regressions} regressions"
        );
    }
}

#[test]
fn an_unchanged_deterministic_candidate_passes_at_once_whatever_the_judge_does() {
    for scoring in [Scoring::Choice, Scoring::Exchange] {
        let world = World {
            scoring,
            answers: 0.0,
            judge: 0.0,
            ..NOISY
        };
        assert_eq!(world.trials(), (100, 0, 100), "{scoring:?}");
    }
}

#[test]
fn the_scores_of_another_judge_are_not_compared_and_do_not_pass() {
    let drawn = Drawn::of(1, NOISY.prompts);
    let base = NOISY.report(&drawn, OF_BASE, |_| 1);
    let mut head = NOISY.report(&drawn, OF_HEAD, |_| 1);
    let section = head
        .probes
        .get_mut::<GradingSection>()
        .expect("it is there");
    section.basis.judge = "played/v2".to_owned();
    let aligned = align(&base, &head);
    let sides = (Measured::from(&aligned.base), Measured::from(&aligned.head));
    let policy = Policy::default();
    let Next::Verdict(verdict) =
        Gate::new(&policy, false, false, None).next(&compare(&sides.0, &sides.1), PLENTY)
    else {
        panic!("nothing can be run again");
    };
    assert_eq!(verdict.metrics[ID].verdict, Word::Unmeasured);
    let told = verdict.reasons.iter().any(|reason| {
        reason.text.contains("played/v1")
            && reason.text.contains("played/v2")
            && reason.text.contains("`kelvin rescore")
    });
    assert!(told, "{:?}", verdict.reasons);
}

#[test]
fn a_head_that_was_graded_next_to_another_base_is_not_compared_with_this_one() {
    let world = World {
        scoring: Scoring::Choice,
        ..NOISY
    };
    let (drawn, another) = (Drawn::of(1, world.prompts), Drawn::of(2, world.prompts));
    let other = world.report(&another, OF_BASE, |_| 1);
    let head = world.report(&drawn, OF_HEAD, |_| 1);
    let aligned = align(&other, &head);
    let metric = &aligned.base.metrics[ID];
    let reason = metric.reason.as_deref().unwrap_or_default();
    assert_eq!(metric.value, None, "{reason}");
    insta::assert_snapshot!(reason, @"30 prompts of the head were graded next to other answers than those of this base: run `kelvin gate` with this base");
    let aligned = align(&world.report(&drawn, OF_BASE, |_| 1), &head);
    assert_eq!(aligned.base.metrics[ID].value, Some(0.5));
}
