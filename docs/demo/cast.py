#!/usr/bin/env python3
"""Draws the README's picture: runs `tiller demo` on a pseudo-terminal and renders what it printed as an animated SVG.

    cargo build --release && python3 docs/demo/cast.py [target/release/tiller]

Nothing is made up: every line is the program's own output, its times included. Only the pace is slower than it was, so that people
can follow. Needs Python 3 and nothing else.
"""

import html
import os
import pathlib
import pty
import re
import sys

COLUMNS, ROWS = 118, 60
CHAR_WIDTH, LINE_HEIGHT, MARGIN, BAR = 7.4, 17, 14, 30
SECONDS_PER_LINE = 0.18
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#f2cc60", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd", "2": "#8b949e"}
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


def capture(command):
    """Runs a command on a pseudo-terminal and returns what it printed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(ROWS))
        os.environ.pop("NO_COLOR", None)
        os.execv(command[0], command)
    printed = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side has closed
            break
        if not piece:
            break
        printed += piece
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        sys.exit(f"{' '.join(command)} ended with {status}:\n{printed.decode()}")
    return printed.decode().replace("\r\n", "\n")


def spans(line):
    """A line with colour codes as SVG text spans."""
    out, style, at = [], "", 0
    for match in [*ESCAPE.finditer(line), None]:
        text = line[at : match.start() if match else len(line)]
        if text:
            out.append(f"<tspan{style}>{html.escape(text)}</tspan>")
        if match:
            at, code = match.end(), match.group(1)
            if code == "1":
                style = ' font-weight="bold"'
            else:
                style = f' fill="{COLOURS[code]}"' if code in COLOURS else ""
    return "".join(out)


def draw(lines):
    """The lines as an SVG in which one appears after the other."""
    width = round(COLUMNS * CHAR_WIDTH + 2 * MARGIN)
    height = BAR + len(lines) * LINE_HEIGHT + MARGIN
    rows = []
    for number, line in enumerate(lines):
        if not ESCAPE.sub("", line).strip():
            continue
        y = BAR + (number + 1) * LINE_HEIGHT - 4
        delay = f"{number * SECONDS_PER_LINE:.2f}s"
        rows.append(f'<text x="{MARGIN}" y="{y}" style="animation-delay:{delay}">{spans(line)}</text>')
    dots = "".join(f'<circle cx="{18 + 18 * n}" cy="15" r="5" fill="{fill}"/>' for n, fill in enumerate(("#ff5f57", "#febc2e", "#28c840")))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" xml:space="preserve">
<title>tiller demo: an editor and its agent, step by step</title>
<style>
text {{ font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3; white-space: pre; animation: appear 0.1s both; }}
@keyframes appear {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none; }} }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>
{dots}
{os.linesep.join(rows)}
</svg>
"""


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "target/release/tiller").resolve()
    text = capture([str(program), "demo"])
    lines = ["\x1b[2m$\x1b[0m \x1b[1mtiller demo\x1b[0m", "", *text.rstrip("\n").split("\n")]
    target = root / "docs/demo/demo.svg"
    target.write_text(draw(lines), encoding="utf-8")
    print(f"{target.relative_to(root)}: {len(lines)} lines")


if __name__ == "__main__":
    main()
