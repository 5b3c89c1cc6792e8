#!/usr/bin/env python3
"""No refund may be sent for an order that was not looked up before."""

import json
import sys

context = json.load(sys.stdin)
looked_up, wrong = set(), []
with open(context["audit_log_path"]) as log:
    events = [json.loads(line) for line in log]
for event in events:
    order = event["details"]["order"]
    if event["type"] == "order_lookup":
        looked_up.add(order)
    elif event["type"] == "refund_sent" and order not in looked_up:
        wrong.append(order)
json.dump(
    {
        "passed": bool(events) and not wrong,
        "reason": f"{len(events)} events, refunds without a look at the order: {wrong or 'none'}",
        "details": {"events": len(events)},
    },
    sys.stdout,
)
