#!/usr/bin/env python3
"""Says what is in the program: `inventory.py FOLDER` writes `kelvin.cdx.json` and `LICENSES-THIRD-PARTY.txt`.

The first is a list of parts in the form of CycloneDX 1.5: every crate of Cargo.lock that a machine of the release
needs, with its checksum and its licence, and the libraries in C that some crates bring. The crates of this repository
are the program itself, and no parts of it. A crate that only takes part in the
build is marked `excluded`. The second has the texts of the licences of all that is in the program, as they ask for.
Only Python's standard library and cargo are needed; the same commit gives the same bytes.
"""

import json
import os
import re
import subprocess
import sys
import time
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "aarch64-apple-darwin"]
# Libraries in C: the crate that brings them, the file that says the version, how it says it, and the names of a CPE.
BUNDLED = [
    ("libgit2-sys", "libgit2/include/git2/version.h", r'LIBGIT2_VERSION\s+"([^"]+)"', "libgit2", "libgit2:libgit2"),
    ("libsqlite3-sys", "sqlite3/sqlite3.h", r'SQLITE_VERSION\s+"([^"]+)"', "sqlite", "sqlite:sqlite"),
    ("libz-sys", "src/zlib/zlib.h", r'ZLIB_VERSION\s+"([^"]+)"', "zlib", "zlib:zlib"),
]


def refuse(text):
    sys.exit(f"inventory.py: {text}")


def metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", str(ROOT / "Cargo.toml")]
    for target in TARGETS:
        command += ["--filter-platform", target]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def tree(edges):
    """The crates that `cargo tree` finds, as names and versions. `cargo metadata` has more: whatever a feature may bring."""
    command = ["cargo", "tree", "--locked", "--manifest-path", str(ROOT / "Cargo.toml")]
    command += ["--prefix", "none", "--format", "{p}", "--edges", edges, "--package", "kelvin-action"]
    for target in TARGETS:
        command += ["--target", target]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return {tuple(line.split()[:2]) for line in lines if line}


def reach(packages):
    """A crate's identity leads to whether it is in the program, and not in its build alone."""
    inside, building = tree("normal,no-proc-macro"), tree("normal,build")
    names = {identity: (package["name"], f"v{package['version']}") for identity, package in packages.items()}
    return {identity: name in inside for identity, name in names.items() if name in inside | building}


def bundled(packages, found):
    for crate, header, pattern, name, cpe in BUNDLED:
        for identity in sorted(found):
            package = packages[identity]
            if package["name"] != crate:
                continue
            path = Path(package["manifest_path"]).parent / header
            said = re.search(pattern, path.read_text(errors="replace")) if path.exists() else None
            if not said:
                refuse(f"{crate} {package['version']} does not say in {header} which version of {name} it brings")
            version = said.group(1)
            yield identity, {
                "type": "library",
                "bom-ref": f"pkg:generic/{name}@{version}",
                "name": name,
                "version": version,
                "purl": f"pkg:generic/{name}@{version}",
                "cpe": f"cpe:2.3:a:{cpe}:{version}:*:*:*:*:*:*:*",
            }


def component(package, checksum, inside):
    entry = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "scope": "required" if inside else "excluded",
        "purl": reference(package),
        # "MIT/Apache-2.0" is an older way to write "or".
        "licenses": [{"expression": package["license"].replace("/", " OR ")}],
    }
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def notices(packages, found, ours):
    """The texts of the licences; crates with the same text share it."""
    texts, silent = {}, []
    for identity, inside in found.items():
        package = packages[identity]
        if not inside or identity in ours:
            continue
        title = f"{package['name']} {package['version']}"
        folder = Path(package["manifest_path"]).parent
        names = [p for p in sorted(folder.iterdir()) if re.match(r"(?i)(licen[cs]e|copying|notice|copyright|unlicense)", p.name)]
        names += [folder / header.split("/")[0] / "COPYING" for crate, header, *_ in BUNDLED if crate == package["name"]]
        read = [p.read_text(errors="replace").strip() for p in names if p.is_file()]
        for text in read:
            texts.setdefault(text.replace("\r\n", "\n"), set()).add(title)
        if not read:
            silent.append(f"{title}: {package['license']}, {', '.join(package['authors']) or 'its authors'}, {package['repository']}")
    out = ["What Kelvin is made of, and on what terms. Each text is followed by nothing but the next one.\n"]
    for text, titles in sorted(texts.items(), key=lambda entry: sorted(entry[1])):
        out.append("=" * 80 + "\n" + "\n".join(sorted(titles)) + "\n" + "-" * 80 + "\n" + text + "\n")
    if silent:
        out.append("=" * 80 + "\nThese bring no text of their own:\n" + "\n".join(sorted(silent)) + "\n")
    return "\n".join(out)


def main():
    if len(sys.argv) != 2 or "SOURCE_DATE_EPOCH" not in os.environ:
        refuse("give the folder to write to, and SOURCE_DATE_EPOCH in the environment: `git log -1 --format=%ct`")
    data = metadata()
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    own = data["resolve"]["root"]
    unlicensed = sorted(p["name"] for p in packages.values() if not p["license"])
    if unlicensed:
        refuse(f"no licence is named by {', '.join(unlicensed)}")
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in locked}
    found = reach(packages)
    libraries = list(bundled(packages, found))
    if len(libraries) != len(BUNDLED):
        refuse(f"of {', '.join(entry[3] for entry in BUNDLED)} only {len(libraries)} were found: change BUNDLED")

    ours = {identity for identity in found if packages[identity]["source"] is None}
    others = sorted(found.keys() - ours, key=lambda one: reference(packages[one]))
    parts = [component(packages[one], checksums[packages[one]["name"], packages[one]["version"]], found[one]) for one in others]
    parts += [part for _, part in libraries]
    needs = []
    for identity in [own, *others]:
        needing = ours if identity == own else [identity]
        wanted = {d["pkg"] for one in needing for d in nodes[one]["deps"] if d["pkg"] in found and d["pkg"] not in ours}
        wanted = {reference(packages[one]) for one in wanted}
        wanted |= {part["bom-ref"] for crate, part in libraries if crate == identity}
        needs.append({"ref": reference(packages[identity]), "dependsOn": sorted(wanted)})
    package = packages[own]
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
            "component": {
                "type": "application",
                "bom-ref": reference(package),
                "name": package["name"],
                "version": package["version"],
                "description": package["description"],
                "purl": reference(package),
                "licenses": [{"expression": package["license"]}],
                "externalReferences": [{"type": "vcs", "url": package["repository"]}],
            },
        },
        "components": parts,
        "dependencies": needs,
    }
    # A number that follows from the content: another content, another number.
    bom["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom, sort_keys=True))}"
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kelvin.cdx.json").write_text(json.dumps(bom, indent=1) + "\n")
    (folder / "LICENSES-THIRD-PARTY.txt").write_text(notices(packages, found, ours))


main()
