"""Kills a check at random moments, and resumes it: `python3 benches/kills.py --kelvin PATH [--moments 20]`.

For each way to call a pipeline (a command, a worker, a function in Python, a service behind HTTP) a check is killed by
SIGKILL at random moments. Each time it is resumed, and three things have to hold: the report is that of a run that nobody
stopped, nothing that had finished is asked again, and no process is left. A line is printed for each way; the exit code is 1
where something does not hold.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

DECIDE = """import os, re, time

def decide(text):
    time.sleep(0.02)
    number = re.search(r"The limit is (\\d+)", text)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "calls"), "a") as calls:
        calls.write(str(os.getpid()) + "\\n")
    return number.group(1) if number else "none"
"""

COMMAND = """import json, sys
from app import decide
json.dump({"decision": decide(open(sys.argv[1]).read())}, open(sys.argv[2], "w"))
"""

WORKER = """import json, sys
from app import decide
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "shutdown":
        break
    if asked["method"] == "initialize":
        result = {"protocol": 1}
    else:
        result = {"decision": decide(asked["params"]["input"])}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""

SERVICE = """import json, os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from app import decide

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer({})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.answer({"decision": decide(asked["input"])})

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""

WAYS = {
    "command": "python3 command.py {input} {output}",
    "worker": "{worker: python3 worker.py}",
    "python": '{python: "app:decide"}',
    "http": '{http: {url: "http://127.0.0.1:{port}/", start: python3 service.py}}',
}


def project(folder, way):
    files = {"app.py": DECIDE, "command.py": COMMAND, "worker.py": WORKER, "service.py": SERVICE}
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "cases").mkdir()
    for at in range(8):
        (folder / "cases" / ("case-%d.md" % at)).write_text(
            "## Rule\n\nThe limit is %d days.\n\n## Note\n\nThe file is %d.\n\n## Office\n\nIt is on floor %d.\n"
            % (at + 2, at * 37 + 100, at * 3 + 11)
        )
    (folder / "kelvin.yaml").write_text(
        "run: %s\ncases: cases\ndecision_field: decision\ngoverning_types: [rule]\njobs: 2\n"
        'fingerprint: ["*.py"]\n' % WAYS[way]
    )


def kelvin(program, folder, *arguments):
    command = [program, "check", "--no-history", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def report(folder):
    """The report without what tells how this session went."""
    text = json.loads((folder / "kelvin" / "report.json").read_text())
    text["run"].pop("session")
    # A run that was killed before its first call had finished leaves nothing to resume, which is said.
    text["notices"] = [one for one in text["notices"] if not one["text"].startswith("there was nothing to resume")]
    return text


def differences(one, other, place=""):
    """The places at which two reports differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(set(one) | set(other))
        return [found for key in keys for found in differences(one.get(key), other.get(key), place + "/" + key)]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other))
        return [found for at, (left, right) in pairs for found in differences(left, right, "%s/%d" % (place, at))]
    return [] if one == other else ["%s: %.200s instead of %.200s" % (place, json.dumps(other), json.dumps(one))]


def calls(folder):
    try:
        return (folder / "calls").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def known(folder):
    try:
        text = (folder / "kelvin" / ".journal.jsonl").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    # What the kill has cut short is no line.
    return sum('"case"' in line for line in text.split("\n")[:-1])


def alive(pids):
    running = []
    for pid in sorted(set(pids)):
        try:
            state = pathlib.Path("/proc/%s/stat" % pid).read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            running.append(pid)
    return running


def tried(program, way, moments):
    wrong, before, resumed = [], [], 0
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "a project"
        folder.mkdir()
        project(folder, way)
        start = time.monotonic()
        whole = kelvin(program, folder)
        took = time.monotonic() - start
        if whole.returncode != 0:
            return ["the run that nobody stopped ends with %d: %s" % (whole.returncode, whole.stderr)], ""
        expected, all_calls = report(folder), len(calls(folder))
        for moment in range(moments):
            subprocess.run(["rm", "-rf", folder / "kelvin", folder / "calls"], check=True)
            process = subprocess.Popen(
                [program, "check", "--no-history"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(random.uniform(0.02, took))
            process.send_signal(signal.SIGKILL)
            process.wait()
            deadline = time.monotonic() + 5
            while alive(calls(folder)) and time.monotonic() < deadline:
                time.sleep(0.02)
            if left := alive(calls(folder)):
                wrong.append("moment %d: processes are left: %s" % (moment, left))
            kept, made = known(folder), len(calls(folder))
            before.append(kept)
            after = kelvin(program, folder, "--resume")
            if after.returncode != 0:
                wrong.append("moment %d: the resumed run ends with %d: %s" % (moment, after.returncode, after.stderr))
                continue
            again = len(calls(folder)) - made
            resumed += 1
            if again > all_calls - kept:
                wrong.append("moment %d: %d calls were kept, and %d of %d made again" % (moment, kept, again, all_calls))
            for found in differences(expected, report(folder))[:5]:
                wrong.append("moment %d: %s" % (moment, found))
    return wrong, "%d of %d resumed, with %d to %d calls kept" % (resumed, moments, min(before), max(before))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kelvin", default="target/release/kelvin")
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--way", choices=list(WAYS), action="append")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.kelvin)
    failed = False
    for way in arguments.way or WAYS:
        wrong, said = tried(program, way, arguments.moments)
        failed = failed or bool(wrong)
        print("%-8s %s%s" % (way, said, "".join("\n  " + one for one in wrong)), flush=True)
    sys.exit(1 if failed else 0)


main()
