//! How much a gate finds, and how often it cries wolf, for what it costs: a table and a plot of its figures.

use std::fmt::Write as _;

use crate::WORLDS;
use crate::first::{self, Came};
use crate::promises::Promises;
use crate::tables::{one_metric, seed, table};
use crate::trial::{Base, judge};
use crate::world::{Chance, World};

/// The suite of the plot.
const CASES: usize = 20;
const NOISE: f64 = 0.15;

/// Where the plot is kept, from the root of the project.
const IMAGE: &str = "docs/images/gate-power.svg";
const IMAGE_NOW: &str = include_str!("../../docs/images/gate-power.svg");

/// A gate at one price.
struct Point {
    gate: &'static str,
    how: String,
    /// Runs of the suite on both sides together, with nothing changed and with a drop.
    runs: [f64; 2],
    /// Red, in the same.
    red: [f64; 2],
}

/// Judges the worlds of both kinds.
fn point(
    gate: &'static str,
    how: String,
    of: &(dyn Fn(&World, &mut Chance) -> Came + Sync),
) -> Point {
    let mut point = Point {
        gate,
        how,
        runs: [0.0; 2],
        red: [0.0; 2],
    };
    for (at, drop) in [0.0, 0.10].into_iter().enumerate() {
        let setting = one_metric(CASES, NOISE, drop);
        for world in 0..WORLDS {
            let mut chance = Chance::of(seed(setting, Base::run_again(1)), world);
            let came = of(&World::draw(&mut chance, &setting), &mut chance);
            point.runs[at] += came.runs / WORLDS as f64;
            point.red[at] += f64::from(u8::from(came.red)) / WORLDS as f64;
        }
    }
    point
}

fn points() -> Vec<Point> {
    let mut points = Vec::new();
    for runs in [1, 2, 3, 5] {
        let how = format!("{runs} on each side");
        points.push(point("plain threshold", how, &|world, chance| {
            first::threshold(world, chance, runs)
        }));
    }
    for runs in [1, 3, 5] {
        let how = format!("base with {runs}");
        points.push(point("first edition", how, &|world, chance| {
            first::edition(world, chance, runs)
        }));
    }
    for budget in [0.5, 1.0, 2.0, 3.0] {
        let base = Base {
            budget,
            ..Base::run_again(1)
        };
        let how = format!("budget of {budget} a side");
        points.push(point("this engine", how, &|world, chance| {
            let trial = judge(world, chance, base, 1);
            Came {
                red: trial.is_red(),
                runs: 2.0 * trial.cost,
            }
        }));
    }
    points
}

pub(crate) fn table_and_plot(promises: &mut Promises) -> String {
    let points = points();
    let mut table = table(&[
        "gate",
        "runs",
        "drop of 0.10: runs in all",
        "drop of 0.10: red",
        "no change: runs in all",
        "no change: red",
    ]);
    for point in &points {
        let _ = writeln!(
            table,
            "| {} | {} | {:.1} | {:.1} % | {:.1} | {:.1} % |",
            point.gate,
            point.how,
            point.runs[1],
            100.0 * point.red[1],
            point.runs[0],
            100.0 * point.red[0]
        );
    }
    let last = points.last().expect("there are points");
    promises.at_most(
        last.red[0],
        0.05,
        "plot: this engine is red without a change",
    );
    promises.at_least(last.red[1], 0.95, "plot: this engine finds 0.10");
    let image = image(&points);
    if std::env::var_os("KELVIN_UPDATE").is_some() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(IMAGE);
        std::fs::write(path, &image).expect("the plot is written");
    }
    promises.hold(image == IMAGE_NOW, || {
        format!("{IMAGE} has other figures: run the benchmark with `KELVIN_UPDATE=1`")
    });
    table
}

/// A panel: its left edge, its title, the highest share, the step of its lines, and which worlds it shows.
type Panel = (f64, &'static str, f64, f64, usize);

const PANELS: [Panel; 2] = [
    (70.0, "A drop of 0.10 is red", 100.0, 20.0, 1),
    (500.0, "Nothing changed, and it is red", 20.0, 5.0, 0),
];
const WIDTH: f64 = 350.0;
const HEIGHT: f64 = 240.0;
const TOP: f64 = 70.0;
/// The most runs of the suite that are shown.
const MOST: f64 = 12.0;

const GATES: [&str; 3] = ["this engine", "first edition", "plain threshold"];

const STYLE: &str = "text{font:13px -apple-system,Segoe UI,DejaVu Sans,sans-serif;fill:#1f2328}\
.h{font-weight:bold;font-size:15px}.s{fill:#59636e}.g{stroke:#d1d9e0;stroke-width:1}\
.bg{fill:#fff}path{fill:none;stroke-width:2.5}\
.a{stroke:#0969da}.b{stroke:#9a6700;stroke-dasharray:7 4}.c{stroke:#cf222e;stroke-dasharray:2 3}\
circle.a,circle.b,circle.c{stroke:none;stroke-dasharray:none}\
circle.a{fill:#0969da}circle.b{fill:#9a6700}circle.c{fill:#cf222e}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.s{fill:#9198a1}.g{stroke:#3d444d}.bg{fill:#0d1117}\
.a{stroke:#4493f8}.b{stroke:#d29922}.c{stroke:#f85149}\
circle.a{fill:#4493f8}circle.b{fill:#d29922}circle.c{fill:#f85149}}";

fn image(points: &[Point]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 400\" width=\"900\" height=\"400\" role=\"img\">\n\
         <title>What a gate finds, and how often it is red without a cause, for what it costs</title>\n\
         <style>{STYLE}</style>\n<rect class=\"bg\" width=\"900\" height=\"400\"/>\n"
    );
    for (left, title, most, step, of) in PANELS {
        let x = |runs: f64| left + WIDTH * runs / MOST;
        let y = |share: f64| TOP + HEIGHT * (1.0 - share / most);
        let _ = writeln!(
            svg,
            "<text class=\"h\" x=\"{left}\" y=\"46\">{title}</text>"
        );
        let mut share = 0.0;
        while share <= most {
            let at = y(share);
            let _ = writeln!(
                svg,
                "<path class=\"g\" d=\"M{left} {at:.1}h{WIDTH}\"/><text class=\"s\" x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{share} %</text>",
                left - 8.0,
                at + 4.0
            );
            share += step;
        }
        for runs in [2.0, 4.0, 6.0, 8.0, 10.0, 12.0] {
            let _ = writeln!(
                svg,
                "<text class=\"s\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{runs}</text>",
                x(runs),
                TOP + HEIGHT + 20.0
            );
        }
        let _ = writeln!(
            svg,
            "<text class=\"s\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">runs of the suite, both sides \
             together</text>",
            left + WIDTH / 2.0,
            TOP + HEIGHT + 42.0
        );
        for (gate, class) in GATES.into_iter().zip(["a", "b", "c"]) {
            let mut path = String::new();
            let mut dots = String::new();
            for point in points.iter().filter(|point| point.gate == gate) {
                let (runs, share) = (point.runs[of], 100.0 * point.red[of]);
                let (at_x, at_y) = (x(runs), y(share));
                let step = if path.is_empty() { 'M' } else { 'L' };
                let _ = write!(path, "{step}{at_x:.1} {at_y:.1}");
                let _ = writeln!(
                    dots,
                    "<circle class=\"{class}\" cx=\"{at_x:.1}\" cy=\"{at_y:.1}\" r=\"4.5\"><title>{gate}, {}: \
                     {runs:.1} runs, {share:.1} %</title></circle>",
                    point.how
                );
            }
            let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>\n{dots}");
        }
    }
    for (at, (gate, class)) in GATES.into_iter().zip(["a", "b", "c"]).enumerate() {
        let left = 70.0 + 200.0 * at as f64;
        let _ = writeln!(
            svg,
            "<path class=\"{class}\" d=\"M{left} 380h34\"/><text x=\"{}\" y=\"385\">{gate}</text>",
            left + 44.0
        );
    }
    svg.push_str("</svg>\n");
    svg
}
