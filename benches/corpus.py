"""Writes N cases of eight units, the same bytes for the same N on every machine.

usage: corpus.py N FOLDER

Case K has the same text whatever N is. Every release rule is different, so each can replace any
other.
"""

import random
import sys
from pathlib import Path

UNITS = [
    "Change Summary",
    "Clinical Setting",
    "Release Rule",
    "Verification Record",
    "Supplier Statement",
    "Staff Comments",
    "Rollout Plan",
    "Cost Note",
]
WORDS = """
the a every this one unit ward desk shift plan note screen part month morning review team floor
room answer question file page line order stock label carries keeps shows needs follows replaces
joins reaches opens closes before after during without between quietly slowly again together later
""".split()


def sentence(draw):
    words = [draw.choice(WORDS) for _ in range(draw.randint(8, 16))]
    return " ".join(words).capitalize() + "."


def paragraph(draw):
    return " ".join(sentence(draw) for _ in range(draw.randint(3, 6)))


def rule(draw, number):
    return (
        f"Approval under rule {number} requires: at least {draw.randint(24, 168)} hours of soak "
        f"testing; at least {draw.randint(6, 40)} devices in the test; no more than "
        f"{draw.randint(1, 8)} open defects. All conditions are met. {sentence(draw)}"
    )


def case(number):
    # A generator of its own for each case: random.Random is stable for integer seeds and for the
    # methods used here.
    draw = random.Random(number)
    parts = [f"# Change {number}\n"]
    for unit in UNITS:
        text = rule(draw, number) if unit == "Release Rule" else paragraph(draw)
        parts.append(f"## {unit}\n\n{text}\n")
    return "\n".join(parts)


def write(count, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, count + 1):
        (folder / f"case-{number:05}.md").write_text(case(number), encoding="utf-8")


if __name__ == "__main__":
    write(int(sys.argv[1]), Path(sys.argv[2]))
