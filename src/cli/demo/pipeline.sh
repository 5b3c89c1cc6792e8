# Reads a loan request, and decides by the income and the policy that stand in it.
text=$(cat "$1")
earns=$(printf '%s' "$text" | sed -n 's/.*earns \([0-9]*\) EUR.*/\1/p')
needs=$(printf '%s' "$text" | sed -n 's/.*needs at least \([0-9]*\) EUR.*/\1/p')
if [ "${earns:-0}" -ge "${needs:-0}" ]; then decision=approve; else decision=deny; fi
printf '{"decision": "%s"}\n' "$decision" > "$2"
