"""Draws the pictures of `docs/images` from what this build prints.

usage: pictures.py [--kelvin PATH] [--chromium PATH] [--out docs/images]

The grounded example on the shipped cases is the base, saved in a repository with a remote; the
position-biased one, the constant one and the same code said otherwise are the changes. `kelvin ci` makes
the comment and the job summary of each, and `kelvin gate` on a terminal of 80 columns the text of
`terminal.svg`. The pages are shown by headless chromium, with the part of Markdown that they use; the
machine needs a font with emoji. Look at the results before they are committed.
"""

import argparse
import html
import os
import pty
import re
import subprocess
import tempfile
from pathlib import Path

from noisy_trials import ENVIRONMENT, ROOT, Project

WIDTH, TALLEST = 932, 1520
COLUMNS = 80
STYLE = """
body { margin: 16px; font: 15px/1.5 -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; color: #1f2328; }
article { border: 1px solid #d1d9e0; border-radius: 6px; }
header { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 7px 16px; color: #59636e; }
header b { color: #1f2328; } main { padding: 4px 16px 16px; }
code { background: #eff1f3; border-radius: 6px; padding: .15em .4em; font: 12px "DejaVu Sans Mono", monospace; }
pre { background: #f6f8fa; padding: 10px; overflow: hidden; } pre code { padding: 0; }
table { border-collapse: collapse; margin: 10px 0; } th, td { border: 1px solid #d1d9e0; padding: 5px 11px; }
tr:nth-child(even) td { background: #f6f8fa; } h3 { margin: 14px 0 8px; } p { margin: 10px 0; }
summary { margin: 10px 0; } sub { font-size: 12px; color: #59636e; vertical-align: baseline; }
hr { border: 0; border-top: 3px solid #d1d9e0; } a { color: #0969da; }
"""


def inline(text):
    """Code, bold and links of a line; what is escaped stays itself."""
    parts = re.split(r"(`+)(.+?)\1(?!`)", text)
    done = []
    for at in range(0, len(parts), 3):
        plain = re.sub(r"<(?!/?sub>|br>)", "&lt;", re.sub(r"&(?!\w+;)", "&amp;", parts[at]))
        plain = re.sub(r"\\([!-/:-@\[-`{-~])", lambda sign: f"&#{ord(sign[1])};", plain)
        plain = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r'<a href="\2">\1</a>', plain)
        done.append(plain)
        if at + 2 < len(parts):
            done.append(f"<code>{html.escape(parts[at + 2].strip())}</code>")
    # A bold passage may have code in it.
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", "".join(done))
    text = re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"<i>\1</i>", text)
    return re.sub(r"(?<![\w*])_([^_]+)_(?!\w)", r"<i>\1</i>", text)


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def table(lines):
    """A table of Markdown."""
    sides = ["right" if rule.endswith(":") else "left" for rule in cells(lines[1])]
    row = lambda line, tag: "<tr>" + "".join(
        f'<{tag} style="text-align:{side}">{inline(cell)}</{tag}>'
        for side, cell in zip(sides, cells(line))
    ) + "</tr>"
    return f"<table>{row(lines[0], 'th')}{''.join(row(line, 'td') for line in lines[2:])}</table>"


def rendered(page):
    """The HTML of a page of Kelvin's."""
    lines, done, at = page.split("\n"), [], 0
    while at < len(lines):
        line, start = lines[at], at
        at += 1
        if line.startswith("```"):
            fence = re.match(r"`+", line)[0]
            while at < len(lines) and lines[at].strip() != fence:
                at += 1
            done.append(f"<pre><code>{html.escape(chr(10).join(lines[start + 1 : at]))}</code></pre>")
            at += 1
        elif line.startswith("|"):
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            done.append(table(lines[start:at]))
        elif line.startswith("- "):
            while at < len(lines) and lines[at].startswith("- "):
                at += 1
            items = "".join(f"<li>{inline(item[2:])}</li>" for item in lines[start:at])
            done.append(f"<ul>{items}</ul>")
        elif heading := re.match(r"(#+) (.*)", line):
            done.append(f"<h3>{inline(heading[2])}</h3>")
        elif line == "---":
            done.append("<hr>")
        elif line.startswith(("<details", "</details", "<!--", "<a ")):
            done.append(line)
        elif line.strip():
            done.append(f"<p>{inline(line)}</p>")
    return "\n".join(done)


def shoot(chromium, folder, title, page, to):
    """A picture of a page, as high as it is, up to a limit."""
    who, what = title
    file = folder / "page.html"
    file.write_text(
        f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>"
        f"<article><header><b>{who}</b> {what}</header><main>{rendered(page)}</main></article>"
        "<script>document.title = Math.ceil(document.documentElement.getBoundingClientRect().height)</script>"
    )
    common = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    common += [f"--user-data-dir={folder}/profile"]
    size = lambda height: f"--window-size={WIDTH},{height}"
    dump = subprocess.run([*common, size(TALLEST), "--dump-dom", file.as_uri()], capture_output=True, text=True, check=True)
    height = int(re.search(r"<title>(\d+)</title>", dump.stdout)[1])
    subprocess.run(
        [*common, size(min(height, TALLEST)), f"--screenshot={to}", file.as_uri()],
        capture_output=True,
        check=True,
    )


def on_terminal(command, folder, environment):
    """What a command prints on a terminal, in its colours."""
    ours, theirs = pty.openpty()
    environment = {**environment, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL
    )
    os.close(theirs)
    out = b""
    try:
        while chunk := os.read(ours, 65536):
            out += chunk
    except OSError:
        pass  # The other end is closed.
    process.wait()
    os.close(ours)
    return out.decode().replace("\r\n", "\n")


def drawn(text):
    """A text with colours as an SVG of a terminal."""
    classes = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y"}
    lines = ["$ kelvin gate"]
    for line in text.rstrip("\n").split("\n"):
        # As a terminal does with a command, which has no colours.
        is_long = "\x1b" not in line and len(line) > COLUMNS
        step = COLUMNS if is_long else max(len(line), 1)
        lines += [line[at : at + step] for at in range(0, max(len(line), 1), step)]
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    width, height = 36 + round(8.4 * max(map(len, plain))), 60 + 19 * len(lines)
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="Terminal report of kelvin">',
        '<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dbe0;white-space:pre}.b{font-weight:700;fill:#fff}.d{fill:#8b949e}.r{fill:#ff8f85;font-weight:700}.g{fill:#7ad39b;font-weight:700}.y{fill:#e9c46a}</style>',
        f'<rect width="{width}" height="{height}" rx="10" fill="#161b22"/>',
        '<circle cx="20" cy="18" r="5" fill="#ff5f57"/><circle cx="38" cy="18" r="5" fill="#febc2e"/><circle cx="56" cy="18" r="5" fill="#28c840"/>',
    ]
    shown = None
    for at, line in enumerate(lines):
        spans = []
        for part in re.split(r"(\x1b\[[\d;]*m)", line):
            if code := re.fullmatch(r"\x1b\[([\d;]*)m", part):
                known = [classes[one] for one in code[1].split(";") if one in classes]
                shown = known[-1] if known else None
            elif part:
                text = html.escape(part, quote=False)
                spans.append(f'<tspan class="{shown}">{text}</tspan>' if shown else text)
        svg.append(f'<text x="18" y="{54 + 19 * at}" xml:space="preserve">{"".join(spans)}</text>')
    return "\n".join([*svg, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kelvin", default=ROOT / "target/release/kelvin", type=Path)
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--out", default=ROOT / "docs/images", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        project = Project(folder, options.kelvin.resolve())
        grounded = project.folder / "examples/grounded"
        code = (grounded / "pipeline.py").read_text()
        (grounded / "said_otherwise.py").write_text("# The same.\n" + code)
        project.git("commit", "--quiet", "--allow-empty", "-m", "empty")
        project.commit("main", "python3 examples/grounded/pipeline.py {input} {output}")
        project.save()
        changes = {
            "position-biased": "python3 examples/position-biased/pipeline.py {input} {output}",
            "constant": "sh examples/constant/pipeline.sh {input} {output}",
            "reformatted": "python3 examples/grounded/said_otherwise.py {input} {output}",
        }
        for name, pipeline in changes.items():
            project.git("checkout", "--quiet", "main")
            project.commit("change", pipeline)
            summary = folder / f"{name}.md"
            project.run(["ci", "--comment", "off"], {"GITHUB_STEP_SUMMARY": str(summary)})
            comment = (project.folder / "kelvin/gate.md").read_text()
            pages = [("comment", ("github-actions", "commented"), comment)]
            if name == "position-biased":
                pages += [("summary", ("kelvin", "summary"), summary.read_text())]
            for kind, title, page in pages:
                shoot(options.chromium, folder, title, page, options.out / f"{kind}-{name}.png")
            if name == "position-biased":
                text = on_terminal([project.kelvin, "gate"], project.folder, ENVIRONMENT)
                (options.out / "terminal.svg").write_text(drawn(text))
            print(name)


if __name__ == "__main__":
    main()
