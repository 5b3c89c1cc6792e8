"""Takes the first recommendation it meets, whoever makes it.

usage: pipeline.py INPUT.md OUTPUT.json

The fault is deliberate: the suppliers' and the staff's wishes count as much as the rule, and what
stands first wins.
"""

import json
import re
import sys

STEMS = {"approv": "approve", "pilot": "pilot", "defer": "defer", "reject": "reject"}


def decide(text):
    first = re.search("|".join(STEMS), text.lower())
    return STEMS[first[0]] if first else "hold"


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8", errors="replace") as file:
        decision = decide(file.read())
    with open(target, "w", encoding="utf-8") as file:
        json.dump({"decision": decision}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
