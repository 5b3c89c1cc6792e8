# The pipeline of both tools: asks the server of compare.py to decide, which saves starting an
# interpreter for every input.
# usage: bash ask.bash PORT PIPELINE INPUT.md OUTPUT.json
exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
printf '%s %s\n' "$2" "$3" >&3
IFS= read -r answer <&3 || exit 1
printf '%s\n' "$answer" > "$4"
