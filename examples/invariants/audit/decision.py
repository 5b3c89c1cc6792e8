#!/usr/bin/env python3
"""Compares the decision in the output with the one that the scenario expects."""

import json
import sys

context = json.load(sys.stdin)
with open(context["agent_output_path"]) as output:
    decision = json.load(output)["decision"]
json.dump(
    {
        "passed": decision == context["expected"],
        "reason": f"decided `{decision}`, expected `{context['expected']}`",
    },
    sys.stdout,
)
