"""Decides about a refund, and notes every step in the audit log."""

import json
import os
import re
import sys

ORDERS = {"17": {"days": 3}, "4": {"days": 400}}


def note(kind, **details):
    with open(os.environ["KELVIN_AUDIT_LOG"], "a") as log:
        log.write(json.dumps({"type": kind, "details": details}) + "\n")


with open(sys.argv[1]) as asked:
    order = re.search(r"Order (\d+)", asked.read()).group(1)
found = ORDERS.get(order)
note("order_lookup", order=order, found=found is not None)
decision = "refund" if found and found["days"] <= 30 else "refuse"
if decision == "refund":
    note("refund_sent", order=order)
with open(sys.argv[2], "w") as answer:
    json.dump({"decision": decision}, answer)
