//! The worlds of the study: 90 suites with the draws of both sides, the verdict of the study's own rule, and those that
//! the truth allows.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::look::{TypeFigures, TypeVerdict};
use super::looks::{FollowUp, SuiteLooks};
use super::{Answers, LossLimit, SuiteCase, SuiteRules, SuiteSide, SuiteSwap, SwapSuite};
use crate::looks::{Means, Rerun};

#[derive(Deserialize)]
struct Worlds {
    worlds: Vec<World>,
}

#[derive(Deserialize)]
struct World {
    id: String,
    numeric: bool,
    types: usize,
    base_draws: usize,
    rerun: bool,
    expected: String,
    acceptable: Option<Vec<String>>,
    cases: Vec<WorldCase>,
}

#[derive(Deserialize)]
struct WorldCase {
    base: Vec<f64>,
    head: Vec<f64>,
    swaps: Vec<WorldSwap>,
}

#[derive(Deserialize)]
struct WorldSwap {
    #[serde(rename = "type")]
    of_type: usize,
    donor: usize,
    base: Vec<f64>,
    head: Vec<f64>,
}

/// How often each input of a side was drawn: the cases, and their swaps by number.
#[derive(Default)]
struct Drawn {
    cases: BTreeMap<usize, usize>,
    swaps: BTreeMap<(usize, usize), usize>,
}

impl Drawn {
    fn all(world: &World, runs: usize) -> Self {
        let cases = world.cases.iter().enumerate();
        Self {
            cases: (0..world.cases.len()).map(|case| (case, runs)).collect(),
            swaps: cases
                .flat_map(|(case, of)| (0..of.swaps.len()).map(move |swap| ((case, swap), runs)))
                .collect(),
        }
    }

    fn raise(&mut self, wanted: &kelvin_record::WantedRepeats) {
        for (name, wanted) in wanted {
            let case: usize = name.parse().expect("a number");
            let runs = self.cases.entry(case).or_default();
            *runs = wanted.input.max(*runs);
            for (swap, runs) in wanted
                .single
                .iter()
                .filter(|(name, _)| !name.starts_with('o'))
            {
                let drawn = self.swaps.entry((case, swap.parse().expect("a number")));
                let drawn = drawn.or_default();
                *drawn = (*drawn).max(*runs);
            }
        }
    }
}

fn side<A>(
    world: &World,
    drawn: &Drawn,
    of_the_head: bool,
    answer: impl Fn(f64) -> A,
) -> SuiteSide<A> {
    fn of(case: &WorldCase, of_the_head: bool) -> &[f64] {
        if of_the_head { &case.head } else { &case.base }
    }
    fn of_swap(swap: &WorldSwap, of_the_head: bool) -> &[f64] {
        if of_the_head { &swap.head } else { &swap.base }
    }
    let draws = of_swap(&world.cases[0].swaps[0], of_the_head).len();
    let take = |answers: &[f64]| answers.iter().map(|value| answer(*value)).collect();
    let cases = world.cases.iter().enumerate();
    SuiteSide {
        own: cases
            .clone()
            .map(|(at, case)| {
                let own = of(case, of_the_head);
                take(&own[..drawn.cases[&at] * (own.len() / draws)])
            })
            .collect(),
        swaps: cases
            .flat_map(|(at, case)| case.swaps.iter().enumerate().map(move |swap| (at, swap)))
            .map(|(at, (number, swap))| {
                take(&of_swap(swap, of_the_head)[..drawn.swaps[&(at, number)]])
            })
            .collect(),
        draws: *drawn.cases.values().max().expect("there are cases"),
    }
}

fn suite(world: &World, base: &Drawn, head: &Drawn) -> SwapSuite {
    let cases = 0..world.cases.len();
    let class = |value: f64| value as u32;
    let same = |value: f64| value;
    let answers = match world.numeric {
        true => Answers::Numbers(
            side(world, base, false, same),
            side(world, head, true, same),
        ),
        false => Answers::Classes(
            side(world, base, false, class),
            side(world, head, true, class),
        ),
    };
    SwapSuite {
        types: (0..world.types).map(|at| at.to_string()).collect(),
        cases: cases
            .map(|case| SuiteCase {
                name: case.to_string(),
                own: (vec!["o".to_owned()], vec!["o".to_owned()]),
            })
            .collect(),
        items: world
            .cases
            .iter()
            .enumerate()
            .flat_map(|(case, of)| {
                of.swaps
                    .iter()
                    .enumerate()
                    .map(move |(number, swap)| SuiteSwap {
                        case,
                        of_type: swap.of_type,
                        donor: Some(swap.donor),
                        variants: (number.to_string(), number.to_string()),
                    })
            })
            .collect(),
        answers,
    }
}

/// The verdict on a world, with the re-runs that the looks ask for.
fn judged(world: &World) -> (&'static str, Vec<TypeFigures>) {
    let max_drop = vec![
        LossLimit {
            max_drop: 0.05,
            is_whole: false
        };
        world.types
    ];
    let rules = SuiteRules {
        max_drop: &max_drop,
        is_exact: false,
    };
    let means = Means {
        head_runs: 20,
        base: world.rerun,
    };
    let mut base = Drawn::all(world, world.base_draws);
    let mut head = Drawn::all(world, 1);
    let mut looks = SuiteLooks::default();
    let ended = loop {
        match looks.next(&suite(world, &base, &head), &rules, (means, false)) {
            FollowUp::Decided(ended) => break ended,
            FollowUp::Rerun(Rerun {
                base: of_base,
                head: of_head,
            }) => {
                base.raise(&of_base);
                head.raise(&of_head);
            }
        }
    };
    let verdicts: Vec<TypeVerdict> = ended.types.iter().map(|(.., verdict)| *verdict).collect();
    let figures: Vec<TypeFigures> = ended.types.into_iter().map(|(one, ..)| one).collect();
    let word = match () {
        () if verdicts.contains(&TypeVerdict::Regression) => "regression",
        () if verdicts
            .iter()
            .any(|one| matches!(one, TypeVerdict::Open(_))) =>
        {
            "inconclusive"
        }
        () if figures.iter().any(TypeFigures::is_blind) => "pass_blind",
        () => "pass",
    };
    (word, figures)
}

/// What tells one judgement of a world from another.
fn shown(figures: &[TypeFigures]) -> String {
    let one = |one: &TypeFigures| {
        format!(
            "{} of {} to {}, drop {:.3} of {:.3}, loss {:.4}",
            one.moved_base,
            one.swaps,
            one.moved_head,
            one.drop,
            one.limit,
            one.likely_loss.unwrap_or(f64::NAN)
        )
    };
    figures.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[test]
fn the_worlds_of_the_study_are_judged_as_it_judged_them() {
    let text = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/gate_worlds.json"
    ));
    let worlds: Worlds = serde_json::from_str(text).expect("it is JSON");
    let known = ["x36", "x39", "x72"];
    let (mut equal, mut beyond, mut other) = (0, Vec::new(), Vec::new());
    for world in &worlds.worlds {
        let (word, figures) = judged(world);
        match word == world.expected {
            true => equal += 1,
            false => other.push(format!(
                "{}: {word}, not {}: {}",
                world.id,
                world.expected,
                shown(&figures)
            )),
        }
        let allowed = world.acceptable.as_ref();
        let is_known = known.iter().any(|id| world.id.starts_with(id));
        if !is_known && allowed.is_some_and(|allowed| !allowed.iter().any(|one| one == word)) {
            beyond.push(world.id.clone());
        }
    }
    assert!(beyond.is_empty(), "{beyond:?}\n{other:#?}");
    assert_eq!(equal, worlds.worlds.len(), "{}", other.join("\n"));
}
