"""A module of DSPy that decides by the rules of a request."""

import re

import dspy

GOVERNING = ("release rule", "verification record")


class Rules(dspy.Module):
    def forward(self, text):
        units = re.split(r"(?m)^## ", text)[1:]
        units = sorted(unit.strip() for unit in units if unit.lower().startswith(GOVERNING))
        return dspy.Prediction(decision=str(sum(map(ord, "".join(units))) % 97))


chain = Rules()
