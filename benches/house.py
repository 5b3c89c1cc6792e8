#!/usr/bin/env python3
"""Counts what there is to read: `house.py [FOLDER ...]` prints a table with a column for each checkout, of which the
first is this one where no folder is named. `house.py --names [FOLDER]` lists the names behind the last rows.

How it counts. The house is every file of Rust below `src` and `crates/*/src`. A file is one of tests where a part of its
path is `tests`, `fixture`, `fixtures` or `fake`, or ends with `_tests`; in the other files tests begin at
`#[cfg(test)]` before `mod tests {`. Lines are counted with comments and blank lines. Names are found by patterns, not by
a compiler: a type is what follows `struct`, `enum` or `trait` at the beginning of a line, and a public item what follows
`pub fn`, `pub struct`, `pub enum`, `pub trait`, `pub const`, `pub static` or `pub type`, also inside of an `impl`. An item
counts as used where its name stands as a word, in code, comments or tests, of `src`, `crates`, `tests`, `benches` and
`fuzz`. So an item whose name is a common word passes for used: the last two rows are candidates to look at, and there
may be more. What a crate hands on by `pub use` is no use of it; its own `impl` is one.
"""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
TYPE = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|trait) (\w+)", re.MULTILINE)
PUBLIC = re.compile(r"^ *pub (?:const |async |unsafe )*(?:fn|struct|enum|trait|const|static|type) (\w+)", re.MULTILINE)
SHORT = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:const )?fn (?:of|at|told|tell|by)\b", re.MULTILINE)
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod tests \{", re.MULTILINE)
HANDED_ON = re.compile(r"^ *pub(?:\([^)]*\))? use [^;]*;", re.MULTILINE)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def is_test(path):
    parts = [*path.parts[:-1], path.stem]
    return any(part in ("tests", "fixture", "fixtures", "fake") or part.endswith("_tests") for part in parts)


def crate_of(path):
    """The folder of the crate that a file belongs to; tests and benches are on top of the root package."""
    return path.parts[1] if path.parts[0] == "crates" else path.parts[0]


def files(root):
    """Every file of Rust, by its path from the root."""
    found = (path for folder in ("src", "crates", "tests", "benches", "fuzz") for path in (root / folder).rglob("*.rs"))
    names = [path.relative_to(root) for path in sorted(found)]
    return {name: (root / name).read_text() for name in names if name.parts[:2] != ("fuzz", "target")}


def count(root):
    texts = files(root)
    is_house = lambda path: path.parts[0] == "src" or path.parts[0] == "crates" and path.parts[2] == "src"
    code = {path: TESTS.split(text)[0] for path, text in texts.items() if is_house(path) and not is_test(path)}
    lines = {path: len(text.splitlines()) for path, text in code.items()}

    types = Counter()
    of_crate = defaultdict(Counter)
    for path, text in code.items():
        for name in TYPE.findall(text):
            types[name] += 1
            of_crate[crate_of(path)][name] += 1
    twice = {name for name, times in types.items() if times > 1}
    within = {crate: sum(times > 1 for times in names.values()) for crate, names in of_crate.items()}
    most = max(within, key=lambda crate: (within[crate], crate))

    # How often a word stands in each crate, without what is handed on.
    words = defaultdict(Counter)
    for path, text in texts.items():
        words[crate_of(path)].update(WORD.findall(HANDED_ON.sub("", text)))
    inner, nowhere, public = [], [], 0
    for crate in sorted(path.name for path in (root / "crates").glob("*")):
        defined = Counter()
        for path, text in code.items():
            if path.parts[:2] == ("crates", crate):
                defined.update(PUBLIC.findall(text))
        public += sum(defined.values())
        for name, times in sorted(defined.items()):
            if any(words[other][name] for other in words if other != crate):
                continue
            (nowhere if words[crate][name] <= times else inner).append(f"{crate}::{name}")
    rows = [
        ("lines of Rust without tests", f"{sum(lines.values()):,}"),
        ("files without tests", len(lines)),
        ("of these under 50 lines", sum(number < 50 for number in lines.values())),
        ("type names defined more than once in the house", len(twice)),
        ("type names defined more than once in one crate, the most", f"{within[most]} ({most})"),
        ("functions called `of`, `at`, `told`, `tell` or `by`, outside of a type", sum(len(SHORT.findall(text)) for text in code.values())),
    ]
    # Where there is one crate, nothing is public for another one.
    has_crates = (root / "crates").is_dir()
    rows += [
        ("public items of the crates in `crates`", public if has_crates else "none"),
        ("of these, named in their own crate alone", len(inner) if has_crates else "none"),
        ("of these, named nowhere", len(nowhere) if has_crates else "none"),
    ]
    return rows, inner, nowhere


def main():
    arguments = sys.argv[1:]
    wants_names = "--names" in arguments
    folders = [Path(one) for one in arguments if one != "--names"] or [HERE]
    counted = [count(folder) for folder in folders]
    if wants_names:
        for title, names in zip(("named in their own crate alone", "named nowhere"), counted[0][1:]):
            print(f"\n{title}:", *names, sep="\n")
        return
    print("| what | " + " | ".join(folder.resolve().name for folder in folders) + " |")
    print("|---|" + "---:|" * len(folders))
    for rows in zip(*(rows for rows, *_ in counted)):
        print(f"| {rows[0][0]} | " + " | ".join(str(value) for _, value in rows) + " |")


main()
