#!/usr/bin/env python3
"""Says what is in an image, as a list of parts in the form of CycloneDX 1.5. It runs in the image that has Python, and
beside the slim one:

    docker run --rm --interactive --network none --env SOURCE_DATE_EPOCH --entrypoint python3 IMAGE - < image_inventory.py
    image_inventory.py docker SLIM

The parts are the packages of Debian, the packages of npm that come with Node, the distributions of Python, and the
programs that were copied in. What the program `kelvin` is made of is in `kelvin.cdx.json`. The same image gives the same bytes.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path
from urllib.parse import quote

NODE_MODULES = Path("/usr/local/lib/node_modules")
PYTHON = ["/opt/venv/lib"]
# A program, what it says of its version, and how its package is named. What is in no list of packages was copied in.
PROGRAMS = [
    ("kelvin", r"kelvin (\S+)", "pkg:cargo/kelvin-action@{}", None),
    ("node", r"v(\S+)", "pkg:generic/node@{}", "nodejs:node.js"),
    ("uv", r"uv (\S+)", "pkg:pypi/uv@{}", None),
]


# What starts a container, and the image, where this runs beside it.
BESIDE = sys.argv[1:]


def printed(program, *arguments):
    command = [program, *arguments]
    if BESIDE:
        engine, image = BESIDE
        command = [engine, "run", "--rm", "--network", "none", "--entrypoint", program, image, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def part(name, version, purl, kind="library", **more):
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl, **more}


def of_debian():
    release = dict(line.split("=", 1) for line in printed("cat", "/etc/os-release").splitlines() if "=" in line)
    version = (release.get("DEBIAN_VERSION_FULL") or release["VERSION_ID"]).strip('"')
    fields = "${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\n"
    for line in printed("dpkg-query", "--show", "--showformat", fields).splitlines():
        status, name, own, architecture, source, of_source = line.split("\t")
        if not status.startswith("ii"):
            continue
        # Debian's own list of vulnerabilities names sources, which have versions of their own.
        upstream = f"&upstream={quote(source, '')}%40{quote(of_source, ':~.-')}" if (source, of_source) != (name, own) else ""
        purl = f"pkg:deb/debian/{name}@{quote(own, ':~.-')}?arch={architecture}&distro=debian-{version}{upstream}"
        yield part(name, own, purl)


def of_npm():
    for path in sorted(NODE_MODULES.rglob("package.json")):
        # Packages have other files of this name within, which name no package.
        if not re.search(r"node_modules/(@[^/]+/)?[^/]+/package\.json$", str(path)):
            continue
        said = json.loads(path.read_text())
        if said.get("name") and said.get("version"):
            yield part(said["name"], said["version"], f"pkg:npm/{quote(said['name'], '/')}@{quote(said['version'], '')}")


def of_python():
    folders = [str(folder) for lib in PYTHON for folder in sorted(Path(lib).glob("python3*/site-packages"))]
    for found in importlib.metadata.distributions(path=folders):
        name = re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower()
        yield part(found.metadata["Name"], found.version, f"pkg:pypi/{name}@{quote(found.version, '')}")


def of_programs():
    for name, pattern, purl, cpe in PROGRAMS[:1] if BESIDE else PROGRAMS:
        said = re.match(pattern, printed(name, "--version"))
        if not said:
            sys.exit(f"image_inventory.py: `{name} --version` does not say its version")
        version = said.group(1)
        more = {"cpe": f"cpe:2.3:a:{cpe}:{version}:*:*:*:*:*:*:*"} if cpe else {}
        yield part(name, version, purl.format(quote(version, "")), "application", **more)


def main():
    if "SOURCE_DATE_EPOCH" not in os.environ:
        sys.exit("image_inventory.py: give SOURCE_DATE_EPOCH in the environment: `git log -1 --format=%ct`")
    parts = {}
    if BESIDE and (brought := printed("sh", "-c", "command -v python3 node npm uv || true").split()):
        sys.exit(f"image_inventory.py: the slim image has {', '.join(brought)}, whose parts are listed from within")
    kinds = [("Debian", of_debian()), ("programs", of_programs())]
    kinds += [] if BESIDE else [("npm", of_npm()), ("Python", of_python())]
    for name, found in kinds:
        found = {one["purl"]: one for one in found}
        if not found:
            sys.exit(f"image_inventory.py: no part of {name} was found: the image has other places than this file says")
        parts.update(found)
    version = next(one["version"] for one in parts.values() if one["name"] == "kelvin")
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
            "component": {"type": "container", "bom-ref": "image", "name": "kelvin-action" + ("-slim" if BESIDE else ""), "version": version},
        },
        "components": [parts[purl] for purl in sorted(parts)],
    }
    # A number that follows from the content: another content, another number.
    bom["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom, sort_keys=True))}"
    print(json.dumps(bom, indent=1))


main()
