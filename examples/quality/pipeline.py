"""Answers a message in JSON, and tells what it has used. It calls no model: the counts are made up."""

import json
import pathlib
import sys

message = pathlib.Path(sys.argv[1]).read_text()
answer = {"decision": "pass on", "reasons": ["a person has to look at it"]}
usage = {"input_tokens": 60, "output_tokens": 40}
if "broken" in message:
    answer = {"decision": "refund", "reasons": ["what is broken is paid back"]}
elif "last year" in message:
    answer = {"decision": "refuse", "reasons": ["a year is too long"]}
elif "began" in message:
    # It reads a long story, decides, and forgets to say why.
    answer = {"decision": "pass on", "reasons": []}
    usage = {"input_tokens": 950, "output_tokens": 50}
pathlib.Path(sys.argv[2]).write_text(json.dumps({**answer, "usage": usage}))
