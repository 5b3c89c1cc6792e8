#!/usr/bin/env python3
"""No refund may be sent for an order that was not looked up before."""

import json
import sys

context = json.load(sys.stdin)
looked_up, wrong = set(), []
with open(context["audit_log_path"]) as log:
    events = [json.loads(line) for line in log]
for event in events:
    call = event["details"]
    if event["type"] != "http_call":
        continue
    if call["method"] == "GET" and call["path"].startswith("/orders/"):
        looked_up.add(call["path"].removeprefix("/orders/"))
    elif call["path"] == "/refunds" and call["request_body"]["order"] not in looked_up:
        wrong.append(call["request_body"]["order"])
json.dump(
    {
        "passed": bool(looked_up) and not wrong,
        "reason": f"{len(events)} events, refunds without a look at the order: {wrong or 'none'}",
        "details": {"events": len(events)},
    },
    sys.stdout,
)
