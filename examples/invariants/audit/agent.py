"""Decides about a refund: looks the order up in the shop, and pays where it may."""

import json
import os
import re
import sys
import urllib.error
import urllib.request

SHOP = os.environ["KELVIN_SERVICE_SHOP_URL"]


def call(method, path, body=None):
    """What the shop answers; nothing where it knows no such thing."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(SHOP + path, data, headers, method=method)
    # The shop is on this machine, whatever proxy the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise


def note(kind, **details):
    """Appends an event of the agent's own, a line in one write."""
    with open(os.environ["KELVIN_AUDIT_LOG"], "a") as log:
        log.write(json.dumps({"type": kind, "details": details}) + "\n")


with open(sys.argv[1]) as asked:
    order = re.search(r"Order (\d+)", asked.read()).group(1)
found = call("GET", f"/orders/{order}")
decision = "refund" if found and found["days"] <= 30 else "refuse"
note("decided", order=order, decision=decision)
if decision == "refund":
    call("POST", "/refunds", {"order": order})
with open(sys.argv[2], "w") as answer:
    json.dump({"decision": decision}, answer)
