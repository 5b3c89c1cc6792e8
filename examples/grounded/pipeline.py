"""Decides on a change by its release rule and its verification record, and by nothing else.

usage: pipeline.py INPUT.md OUTPUT.json

Every rule is applied to every record, wherever they stand, and the most cautious result counts.
A document without a readable rule or without a record is put on hold.
"""

import json
import re
import sys

RULE, RECORD = "release_rule", "verification_record"
CAUTION = ["approve", "pilot", "defer", "reject", "hold"]
STEMS = {"approv": "approve", "pilot": "pilot", "defer": "defer", "reject": "reject"}
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4}

# What is measured, by the words that follow the number.
UNITS = {
    "hours of soak": "soak",
    "devices": "devices",
    "percent of test alarms": "alarms",
    "open defect": "defects",
    "minutes": "rollback",
    "percent of staff": "training",
}
COMPARATORS = {
    ">=": ["at least", "no less than", "no fewer than", "upwards of", ">=", "≥"],
    "<=": ["at most", "no more than", "up to", "within", "<=", "≤"],
    ">": ["more than", "in excess of", "above", "over", "beyond", ">"],
    "<": ["less than", "fewer than", "below", "under", "<"],
}
HOLDS = {
    ">=": lambda value, limit: value >= limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    "<": lambda value, limit: value < limit,
}
SIGNS = {words: sign for sign, phrases in COMPARATORS.items() for words in phrases}
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
MEASURE = NUMBER + r" (" + "|".join(UNITS) + r")"
CONDITION = r"(" + "|".join(sorted(map(re.escape, SIGNS), key=len, reverse=True)) + r") " + MEASURE


def units(text):
    """The (type, text) of each level-2 section; headings inside fenced code are text."""
    found, fence = [], None
    for line in text.splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if fence is None and mark:
            fence = mark[1]
            continue
        if fence is not None:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = None
            continue
        heading = re.match(r" {0,3}##(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$", line)
        if heading:
            found.append(("_".join((heading[1] or "").lower().split()), []))
        elif found:
            found[-1][1].append(line)
    return [(kind, "\n".join(lines)) for kind, lines in found]


def number(text):
    return float(text.replace(",", ""))


def sentences(text):
    """Lower-case sentences and clauses, each on one line; a blank line ends one too."""
    parts = re.split(r"(?<=[.;])\s+|\n\s*\n", text.lower())
    return [" ".join(part.split()) for part in parts]


def conditions(text):
    """Every "at least 30 devices" as (measure, sign, limit)."""
    return [
        (UNITS[unit], SIGNS[words], number(limit))
        for sentence in sentences(text)
        for words, limit, unit in re.findall(CONDITION, sentence)
    ]


def outcomes(text):
    """What follows from how many missed conditions, e.g. {1: "pilot", 2: "reject"}."""
    table = {0: "defer"}  # Where the rule does not say.
    for sentence in sentences(text):
        decision = re.search("|".join(STEMS), sentence)
        if "miss" in sentence and decision:
            for word in re.findall(r"\b(" + "|".join(NUMBERS) + r")\b", sentence):
                table[NUMBERS[word]] = STEMS[decision[0]]
    return table


def measured(text):
    """The figures of a record, and the conditions under which it counts at all."""
    figures, validity = {}, []
    for sentence in sentences(text):
        if "counts only" in sentence:
            validity += conditions(sentence)
            continue
        sentence = sentence.replace("no open defect", "0 open defect")
        for value, unit in re.findall(MEASURE, sentence):
            figures.setdefault(UNITS[unit], number(value))
    return figures, validity


def missed(figures, wanted):
    """How many conditions do not hold; what was not measured does not."""
    return sum(
        name not in figures or not HOLDS[sign](figures[name], limit)
        for name, sign, limit in wanted
    )


def apply(rule, record):
    wanted = conditions(rule)
    figures, validity = measured(record)
    if not wanted or not figures:
        return "hold"
    if missed(figures, validity):
        return "defer"
    count = missed(figures, wanted)
    if count == 0:
        return "approve"
    table = outcomes(rule)
    return table[max((known for known in table if known <= count), default=0)]


def decide(text):
    sections = units(text.removeprefix("\ufeff"))
    rules = [body for kind, body in sections if kind == RULE]
    records = [body for kind, body in sections if kind == RECORD]
    results = [apply(rule, record) for rule in rules for record in records]
    return max(results, key=CAUTION.index, default="hold")


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8", errors="replace") as file:
        decision = decide(file.read())
    with open(target, "w", encoding="utf-8") as file:
        json.dump({"decision": decision}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
