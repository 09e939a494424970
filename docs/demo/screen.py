#!/usr/bin/env python3
"""Draws what a terminal shows as an SVG, for the pictures in docs/editors.

    tmux capture-pane -e -p -t PANE | python3 docs/demo/screen.py "TITLE" > docs/editors/NAME.svg

Every character comes from the program on the screen: nothing is drawn that it did not print. Reads text with colour codes (the 16
colours, the 256 and 24 bits; bold, dim, italic, underline, reverse). Needs Python 3 and nothing else.
"""

import html
import re
import sys
import unicodedata

CHAR_WIDTH, LINE_HEIGHT, MARGIN, BAR = 7.4, 17, 14, 30
BACK, FRONT = "#0d1117", "#e6edf3"
SIXTEEN = (
    "#484f58 #ff7b72 #7ee787 #f2cc60 #79c0ff #d2a8ff #56d4dd #b1bac4 "
    "#6e7681 #ffa198 #aff5b4 #f8e3a1 #a5d6ff #e2c5ff #b3f0ff #ffffff"
).split()
CODE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b[()][A-Z0-9]|\x0e|\x0f|\x1b\]8;[^\x1b]*\x1b\\")


def indexed(number):
    """One of the 256 colours."""
    if number < 16:
        return SIXTEEN[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    number -= 16
    return "#" + "".join(f"{levels[part]:02x}" for part in (number // 36, number // 6 % 6, number % 6))


class Style:
    """What the codes so far say about the text that follows."""

    def __init__(self):
        self.front = self.back = None
        self.flags = set()

    def apply(self, codes):
        numbers = [int(code) if code else 0 for code in re.split("[;:]", codes)]
        while numbers:
            code = numbers.pop(0)
            if code == 0:
                self.__init__()
            elif code in (1, 2, 3, 4, 7):
                self.flags.add(code)
            elif code in (22, 23, 24, 27):
                self.flags -= {1, 2} if code == 22 else {code - 20}
            elif code in (38, 48):
                colour = self._wide(numbers)
                self._set(code == 38, colour)
            elif code in (39, 49):
                self._set(code == 39, None)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self._set(True, SIXTEEN[code - 30 if code < 90 else code - 82])
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self._set(False, SIXTEEN[code - 40 if code < 100 else code - 92])

    def _wide(self, numbers):
        kind = numbers.pop(0) if numbers else 0
        if kind == 5 and numbers:
            return indexed(numbers.pop(0))
        if kind == 2 and len(numbers) >= 3:
            return "#" + "".join(f"{numbers.pop(0):02x}" for _ in range(3))
        return None

    def _set(self, front, colour):
        if front:
            self.front = colour
        else:
            self.back = colour

    def look(self):
        """The colours and the attributes of a text of this style."""
        front, back = self.front or FRONT, self.back
        if 7 in self.flags:
            front, back = back or BACK, front
        attributes = f' fill="{front}"' if front != FRONT else ""
        attributes += ' font-weight="bold"' if 1 in self.flags else ""
        attributes += ' opacity="0.6"' if 2 in self.flags else ""
        attributes += ' font-style="italic"' if 3 in self.flags else ""
        attributes += ' text-decoration="underline"' if 4 in self.flags else ""
        return attributes, back


def cells(text):
    """How many columns a text takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def draw(lines, title):
    columns = max((cells(CODE.sub("", line)) for line in lines), default=1)
    width, height = round(columns * CHAR_WIDTH + 2 * MARGIN), BAR + len(lines) * LINE_HEIGHT + MARGIN
    boxes, texts = [], []
    style = Style()
    for row, line in enumerate(lines):
        top, column, at = BAR + row * LINE_HEIGHT, 0, 0
        for match in [*CODE.finditer(line), None]:
            text = line[at : match.start() if match else len(line)]
            attributes, back = style.look()
            x, span = MARGIN + column * CHAR_WIDTH, cells(text)
            if text and back:
                boxes.append(f'<rect x="{x:.1f}" y="{top}" width="{span * CHAR_WIDTH:.1f}" height="{LINE_HEIGHT}" fill="{back}"/>')
            if text.strip():
                length = f'textLength="{span * CHAR_WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
                texts.append(f'<text x="{x:.1f}" y="{top + 13}" {length}{attributes}>{html.escape(text)}</text>')
            column += span
            if match:
                at = match.end()
                if match.group(1) is not None:
                    style.apply(match.group(1))
    dots = "".join(f'<circle cx="{18 + 18 * n}" cy="15" r="5" fill="{c}"/>' for n, c in enumerate(("#ff5f57", "#febc2e", "#28c840")))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" fill="{FRONT}" xml:space="preserve">',
        f"<title>{html.escape(title)}</title>",
        '<style>text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;',
        "white-space: pre; }</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACK}"/>',
        dots, *boxes, *texts, "</svg>", "",
    ])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = sys.stdin.read().rstrip("\n").split("\n")
    sys.stdout.write(draw(lines, sys.argv[1]))


if __name__ == "__main__":
    main()
