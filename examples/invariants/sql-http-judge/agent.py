"""Cancels an order: writes it into the database, sends a mail, and says so to the customer."""

import json
import os
import re
import sqlite3
import sys
import urllib.request

MAIL = os.environ["KELVIN_SERVICE_MAIL_URL"]
DATABASE = os.environ["KELVIN_SERVICE_DB_URL"]


def send(to, subject, text):
    """Sends a mail by way of the server that the environment names."""
    body = json.dumps({"to": to, "subject": subject, "text": text}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(MAIL + "/api/messages", body, headers, method="POST")
    # The server is on this machine, whatever proxy the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request) as answer:
        return json.load(answer)["ok"]


with open(sys.argv[1]) as asked:
    prompt = asked.read()
order = int(re.search(r"order (\d+)", prompt, re.IGNORECASE).group(1))
database = sqlite3.connect(DATABASE.removeprefix("sqlite:///"))
with database:
    database.execute("UPDATE orders SET status = 'cancelled' WHERE id = ?", (order,))
(customer,) = database.execute("SELECT email FROM orders WHERE id = ?", (order,)).fetchone()
database.close()
send(customer, f"Order {order} is cancelled", "You get your money back within three days.")
print(f"I have cancelled order {order}. You get your money back within three days, and a mail that says so.")
