"""A stand-in for a language model that judges: it reads the question of the judge on its standard input and
answers as a model would. The better answer is the one that names more of the facts in `facts.json`."""

import json
import pathlib
import re
import sys

question = sys.stdin.read()
facts = json.loads(pathlib.Path(__file__).with_name("facts.json").read_text(encoding="utf-8"))


def framed(name):
    """The text in a frame of the question."""
    found = re.search(rf"^BEGIN {name} (\w+)\n(.*?)\nEND {name} \1$", question, re.M | re.S)
    return found.group(2) if found else ""


wanted = facts[framed("PROMPT")]
one, two = (sum(fact in framed(name) for fact in wanted) for name in ("ANSWER ONE", "ANSWER TWO"))
choice = "tie" if one == two else "one" if one > two else "two"
print(json.dumps({"notes": f"{one} and {two} of {len(wanted)} facts", "choice": choice}))
