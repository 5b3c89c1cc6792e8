#!/usr/bin/env python3
"""Packs a binary for those who have no Rust: `pack.py BINARY TARGET FOLDER [MANUAL]` writes an archive, a Python wheel,
and two packages for npm: one with the program, and one that depends on those of all targets and starts the one that
npm has installed. FOLDER has the notices that `inventory.py` has written. MANUAL has the man pages and completions that `manual` has
written; what is in it goes into the archive.

The same binary gives the same bytes: names are sorted, owners are nobody, and every time is SOURCE_DATE_EPOCH. Only
Python's standard library is needed. The binary is looked at first, since the name of a wheel is a promise: what says
`musllinux` has to run without any C library, and what says `macosx_11_0` on macOS 11.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import struct
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The Python of the wheel: a plugin for pytest.
PYTHON = ROOT / "python"
LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"]
# Made by `inventory.py`: what the program is made of asks for it.
NOTICES = "LICENSES-THIRD-PARTY.txt"
MACOS = (11, 0)
# What npm installs as `kelvin`, by the name of the target at npm.
STARTER = ROOT / ".github/release/kelvin.js"
NPM = {
    "x86_64-unknown-linux-gnu": ("linux", "x64"),
    "aarch64-unknown-linux-gnu": ("linux", "arm64"),
    "x86_64-apple-darwin": ("darwin", "x64"),
    "aarch64-apple-darwin": ("darwin", "arm64"),
}

# By target: the machine as the file names it, and the tags of the wheel.
LINUX = {
    "x86_64-unknown-linux-gnu": (62, "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"),
    "aarch64-unknown-linux-gnu": (183, "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"),
}
DARWIN = {
    "x86_64-apple-darwin": (0x01000007, "macosx_11_0_x86_64"),
    "aarch64-apple-darwin": (0x0100000C, "macosx_11_0_arm64"),
}


def refuse(text):
    sys.exit(f"pack.py: {text}")


def look_at_elf(data, machine):
    """A static program: it names no loader and needs no library."""
    if data[:6] != b"\x7fELF\x02\x01":
        refuse("the binary is no 64-bit program for Linux")
    if struct.unpack_from("<H", data, 18)[0] != machine:
        refuse("the binary is for another processor than the target")
    table, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for at in range(table, table + size * count, size):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at)
        if kind == 3:
            refuse("the binary needs a loader, so it is not static: build it with `-C target-feature=+crt-static`")
        if kind == 2:
            tags = [struct.unpack_from("<q", data, entry)[0] for entry in range(offset, offset + length, 16)]
            if 1 in tags[: tags.index(0)]:
                refuse("the binary needs a library, so it is not static")


def look_at_macho(data, machine):
    """A program that says it runs on the macOS of the wheel's tag."""
    if data[:4] != b"\xcf\xfa\xed\xfe":
        refuse("the binary is no 64-bit program for macOS")
    if struct.unpack_from("<I", data, 4)[0] != machine:
        refuse("the binary is for another processor than the target")
    at = 32
    for _ in range(struct.unpack_from("<I", data, 16)[0]):
        command, size = struct.unpack_from("<II", data, at)
        # LC_BUILD_VERSION and LC_VERSION_MIN_MACOSX: the version is a word of x.y.z.
        if command in (0x32, 0x24):
            word = struct.unpack_from("<I", data, at + (12 if command == 0x32 else 8))[0]
            version = (word >> 16, word >> 8 & 0xFF)
            if version > MACOS:
                refuse(f"the binary needs macOS {version[0]}.{version[1]}: set MACOSX_DEPLOYMENT_TARGET to 11.0")
            return
        at += size
    refuse("the binary does not say which macOS it needs")


def archive(files, epoch):
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as compressed:
        with tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, (data, mode) in sorted(files.items()):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode, entry.mtime = len(data), mode, epoch
                tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def wheel(package, binary, licenses, platforms, epoch):
    name, version = package["name"].replace("-", "_"), package["version"]
    info = f"{name}-{version}.dist-info"
    metadata = [
        "Metadata-Version: 2.4",
        f"Name: {package['name']}",
        f"Version: {version}",
        f"Summary: {package['description']}",
        f"Project-URL: Homepage, {package['homepage']}",
        f"Project-URL: Source, {package['repository']}",
        f"License-Expression: {package['license']}",
        *(f"License-File: {license}" for license in licenses),
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
    ]
    about = ["Wheel-Version: 1.0", "Generator: kelvin-action pack.py", "Root-Is-Purelib: false"]
    about += [f"Tag: py3-none-{platform}" for platform in platforms.split(".")]
    files = {
        f"{name}-{version}.data/scripts/kelvin": (binary, 0o755),
        f"{info}/METADATA": (("\n".join(metadata) + "\n\n").encode() + (ROOT / "README.md").read_bytes(), 0o644),
        f"{info}/WHEEL": (("\n".join(about) + "\n").encode(), 0o644),
        **{f"{info}/licenses/{name}": (text, 0o644) for name, text in licenses.items()},
        **{str(path.relative_to(PYTHON)): (path.read_bytes(), 0o644) for path in PYTHON.glob("*/*.py")},
    }
    record = []
    for path, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(data)}\n")
    record.append(f"{info}/RECORD,,\n")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        # The description of the package stands last, as the format advises.
        for path, (data, mode) in [*sorted(files.items()), (f"{info}/RECORD", ("".join(record).encode(), 0o644))]:
            entry = zipfile.ZipInfo(path, time.gmtime(epoch)[:6])
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data)
    return f"{name}-{version}-py3-none-{platforms}.whl", packed.getvalue()


def npm(package, fields, files, epoch):
    """A package as npm wants it: an archive with one folder, `package`."""
    fields = {
        "name": package["name"],
        "version": package["version"],
        "description": package["description"],
        "homepage": package["homepage"],
        # npm compares this with the repository of the workflow that publishes.
        "repository": {"type": "git", "url": f"git+{package['repository']}.git"},
        "license": package["license"],
        **fields,
    }
    files = {**files, "package.json": (json.dumps(fields, indent=2).encode() + b"\n", 0o644)}
    data = archive({f"package/{name}": file for name, file in files.items()}, epoch)
    return f"{fields['name']}-{fields['version']}.tgz", data


def of_target(package, target):
    return f"{package['name']}-{'-'.join(NPM[target])}"


def npm_packages(package, binary, licenses, target, epoch):
    """The package of a target, and the one that brings it."""
    texts = {name: (text, 0o644) for name, text in licenses.items()}
    system, processor = NPM[target]
    own = {"name": of_target(package, target), "os": [system], "cpu": [processor]}
    yield npm(package, own, {"kelvin": (binary, 0o755), **texts}, epoch)
    starter = {
        # `npx` starts the program that has the name of the package.
        "bin": {"kelvin": "kelvin.js", package["name"]: "kelvin.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {of_target(package, one): package["version"] for one in NPM},
    }
    files = {"kelvin.js": (STARTER.read_bytes(), 0o755), "README.md": ((ROOT / "README.md").read_bytes(), 0o644), **texts}
    yield npm(package, starter, files, epoch)


def described(manifest):
    """What the package says of itself, also where it says so for all crates of the workspace."""
    shared = manifest["workspace"]["package"]
    return {key: shared[key] if value == {"workspace": True} else value for key, value in manifest["package"].items()}


def main():
    if len(sys.argv) not in (4, 5):
        refuse("give the binary, the target, the folder to write to, and the folder of the manual if there is one")
    binary, target, folder = Path(sys.argv[1]).read_bytes(), sys.argv[2], Path(sys.argv[3])
    if "SOURCE_DATE_EPOCH" not in os.environ:
        refuse("set SOURCE_DATE_EPOCH, e.g. to the time of the commit: `git log -1 --format=%ct`")
    # A zip has no time before 1980.
    epoch = max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800)
    if target in LINUX:
        machine, platforms = LINUX[target]
        look_at_elf(binary, machine)
    elif target in DARWIN:
        machine, platforms = DARWIN[target]
        look_at_macho(binary, machine)
    else:
        refuse(f"{target} is not one of {', '.join([*LINUX, *DARWIN])}")
    package = described(tomllib.loads((ROOT / "Cargo.toml").read_text()))
    if not (folder / NOTICES).exists():
        refuse(f"{folder / NOTICES} is not there: run inventory.py first")
    licenses = {name: (ROOT / name).read_bytes() for name in LICENSES}
    licenses[NOTICES] = (folder / NOTICES).read_bytes()
    files = {"kelvin": (binary, 0o755), **{name: (text, 0o644) for name, text in licenses.items()}}
    for manual in map(Path, sys.argv[4:]):
        pages = {str(path.relative_to(manual)): path for path in manual.rglob("*") if path.is_file()}
        if not pages:
            refuse(f"{manual} is empty: run `manual BINARY {manual}` first")
        files |= {name: (path.read_bytes(), 0o644) for name, path in pages.items()}
    (folder / f"kelvin-{target}.tar.gz").write_bytes(archive(files, epoch))
    packed = [wheel(package, binary, licenses, platforms, epoch), *npm_packages(package, binary, licenses, target, epoch)]
    for name, data in packed:
        (folder / name).write_bytes(data)


main()
