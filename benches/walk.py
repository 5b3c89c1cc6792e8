"""Lists the folders that one real run enters, in their order: `python3 benches/walk.py CALLGRIND_FILE [FUNCTION]`.

The file is what `valgrind --tool=callgrind --demangle=no target/debug/kelvin gate --no-rerun --baseline FILE` writes;
with `cache: true` and a cache that has every answer, since valgrind cannot start the program's helper for calls. From
`check::gate::gate`, or another function, each function is followed into what it calls, in the order of the lines on
which it does so. A closure counts as the function around it. One symbol may stand for several instances of a generic
function, so a folder may be listed somewhat before its time.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
SIGNS = {"$LT$": "<", "$GT$": ">", "$RF$": "&", "$BP$": "*", "$C$": ",", "$u20$": " ", "$u7b$": "{", "$u7d$": "}",
         "$u5b$": "[", "$u5d$": "]", "$u27$": "'", "$LP$": "(", "$RP$": ")", "..": "::"}


def named(spec, names):
    """The name of `(12) text` or `(12)`: callgrind writes each name once."""
    number, _, text = spec.partition(" ")
    if text:
        names[number] = text
    return names.get(number, number)


def function(symbol):
    """What a symbol stands for: a function of ours without its closures, anything else as the symbol that it is."""
    if not symbol.startswith("_ZN"):
        return symbol
    rest, parts = symbol[3:], []
    while found := re.match(r"\d+", rest):
        begin = found.end()
        end = begin + int(found.group())
        parts.append(rest[begin:end])
        rest = rest[end:]
    text = "::".join(parts[:-1])
    for sign, plain in SIGNS.items():
        text = text.replace(sign, plain)
    text = text.replace("_<", "<")
    is_ours = "kelvin" in text.split(" as ")[0].split("::")[0]
    return re.split(r"::\{\{closure", text)[0] if is_ours else symbol


def calls(path):
    """For each function: the file it stands in, and what it calls with the line of the call."""
    files, functions = {}, {}
    place, edges = {}, defaultdict(dict)
    file = here = to = None
    line, is_call = 0, False
    with open(path, encoding="utf-8", errors="replace") as lines:
        for text in lines:
            key, is_header, value = text.rstrip("\n").partition("=")
            if is_header:
                if key == "fl":
                    file = named(value, files)
                elif key in ("fi", "fe", "cfi", "cfl", "ob", "cob"):
                    named(value, files if key not in ("ob", "cob") else {})
                elif key == "fn":
                    here = function(named(value, functions))
                    place.setdefault(here, file)
                elif key == "cfn":
                    to = function(named(value, functions))
                elif key == "calls":
                    is_call = True
            elif key and (key[0].isdigit() or key[0] in "+-*"):
                at = key.split(" ")[0]
                line = line if at == "*" else line + int(at) if at[0] in "+-" else int(at)
                if is_call:
                    edges[here].setdefault(to, line)
                    is_call = False
    return place, edges


# What a compiler or a library calls for itself: arguments of the command line, formats, schemas, parts of generated code.
FOREIGN = re.compile(r" as (clap_builder|schemars|core|serde|serde_core|std|alloc|anyhow|erased)|augment_|::_::|\{\{|tests_only")
# What is made once for each program, whoever asks first.
ONCE = re.compile(r"augment_|configure::schema|configured::owners|PATTERNS|NAMES|ESCAPES")


def room(place, here):
    """The file of one of our functions; none for any other. The standard library has functions whose names hold types of
    ours, and folders `src` of its own."""
    found = re.search(r"(?:^|/)((?:crates/[a-z]+/)?src/.*\.rs)$", place.get(here) or "")
    is_ours = found and (HERE / found.group(1)).is_file() and "kelvin" in here and not here.startswith("_ZN")
    return found.group(1) if is_ours else None


def walk(place, edges, begin):
    """Every file in the order in which it is first entered, with the function through which that happens."""
    rooms, seen, below = {}, set(), [begin]
    while below:
        here = below.pop()
        if here in seen or ONCE.search(here):
            continue
        seen.add(here)
        file = room(place, here)
        if file and not FOREIGN.search(here):
            rooms.setdefault(file, here)
        into = sorted(edges.get(here, {}).items(), key=lambda one: -one[1])
        below.extend(to for to, _ in into)
    return rooms


def short(here):
    """A function by the name that stands in its file, with its type where it has one."""
    here = re.sub(r"^<(\S+) as (\S+)>", r"\1", re.sub(r"<impl \S+ for ([^>]+)>", r"\1", here))
    return "::".join(here.split("::")[-2:]).replace(">::", "::")


def main():
    place, edges = calls(sys.argv[1])
    begin = sys.argv[2] if len(sys.argv) > 2 else "kelvin_action::check::gate::gate"
    rooms = walk(place, edges, begin)
    folders = {}
    for file, through in rooms.items():
        folders.setdefault(file.rsplit("/", 1)[0], []).append(through)
    print(f"{len(rooms)} files in {len(folders)} folders.\n")
    print("| | folder | files | entered through |")
    print("|---|---|---|---|")
    for at, (folder, entered) in enumerate(folders.items(), 1):
        print(f"| {at} | `{folder}` | {len(entered)} | `{short(entered[0])}` |")


if __name__ == "__main__":
    main()
