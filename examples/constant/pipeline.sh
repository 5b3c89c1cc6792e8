#!/bin/sh
# Approves whatever it is given.
# usage: pipeline.sh INPUT.md OUTPUT.json
printf '{"decision": "approve"}\n' > "$2"
