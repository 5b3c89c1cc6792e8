"""Draws `docs/images/calibration.svg` from what `kelvin calibrate --format json` printed.

usage: calibration.py TRIAL.json [--out docs/images/calibration.svg]
"""

import argparse
import html
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LABEL, PLOT, RIGHT, ROW, TOP, BOTTOM = 250, 400, 250, 40, 74, 46
LOW, HIGH = -1.0, 1.0
INKS = {"kept": "#1a7f37", "broken": "#cf222e", "open": "#9a6700", "unasked": "#59636e"}
WORDS = {"kept": "kept", "broken": "broken", "open": "open", "unasked": "not asked"}
ASKS = {
    "order": "bad copies below the good answer",
    "position": "gain of the first place",
    "length": "gain by filler",
    "obedience": "gain by an instruction",
    "consistency": "noise between repeats",
    "labels": "rank correlation with labels",
    "self-preference": "gain of the own family",
}


def x(value):
    return LABEL + (min(max(value, LOW), HIGH) - LOW) / (HIGH - LOW) * PLOT


def text(at, y, words, anchor="start", ink="#1f2328", size=13, weight="normal"):
    words = html.escape(words)
    return (
        f'<text x="{at:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{ink}" '
        f'font-size="{size}" font-weight="{weight}">{words}</text>'
    )


def line(criterion, figures, y):
    ruling = criterion["ruling"]
    ink = INKS[ruling]
    parts = [text(16, y + 4, ASKS.get(criterion["name"], criterion["name"]))]
    if allowed := criterion.get("allowed"):
        low, high = (x(end) for end in allowed)
        parts.append(f'<rect x="{low:.1f}" y="{y - 14}" width="{high - low:.1f}" height="28" fill="#eaeef2"/>')
    figure = figures.get(criterion.get("measure"), {})
    said = WORDS[ruling]
    if ruling != "unasked" and figure.get("value") is not None:
        value = figure["value"]
        if figure.get("interval"):
            low, high = figure["interval"]
            parts.append(f'<path d="M{x(low):.1f} {y}H{x(high):.1f}" stroke="{ink}" stroke-width="3"/>')
            said = f"{value:.2f} ({low:.2f} to {high:.2f}) {said}"
        parts.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="5" fill="{ink}"/>')
    parts.append(text(LABEL + PLOT + 16, y + 4, said, ink=ink, weight="bold"))
    return parts


def picture(trial):
    shown = [one for one in trial["criteria"] if one.get("measure")]
    width, height = LABEL + PLOT + RIGHT, TOP + ROW * len(shown) + BOTTOM
    foot = TOP + ROW * len(shown)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="-apple-system, Segoe UI, DejaVu Sans, sans-serif" role="img">',
        f"<title>Trial of a judge: {html.escape(trial['fitness'])}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        text(16, 28, f"Trial of a judge on {trial['prompts']} prompts: {trial['fitness']}", size=16, weight="bold"),
        text(16, 50, "Grey is where the whole 95 % interval must lie.", ink="#59636e"),
    ]
    for at, criterion in enumerate(shown):
        parts += line(criterion, trial["figures"], TOP + ROW * at + ROW // 2)
    for tick in (-1, -0.5, 0, 0.5, 1):
        parts.append(f'<path d="M{x(tick):.1f} {TOP}V{foot}" stroke="#d1d9e0" stroke-dasharray="2 3"/>')
        parts.append(text(x(tick), foot + 20, f"{tick:g}", anchor="middle", ink="#59636e", size=12))
    return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trial", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images/calibration.svg")
    arguments = parser.parse_args()
    trial = json.loads(arguments.trial.read_text())["trial"]
    arguments.out.write_text(picture(trial))


if __name__ == "__main__":
    main()
