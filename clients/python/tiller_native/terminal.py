"""Texts that are safe to write to a terminal. A model's text may contain anything, also what would move the cursor or change the title."""

from __future__ import annotations

import re
import unicodedata

#: A whole escape sequence: of a string (title, link), of a control, or of two characters. What remains of others, `plain` removes.
_SEQUENCE = re.compile(r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -~]")
#: Categories that are not shown: controls; marks of direction and others without a shape; halves of characters; not assigned.
_HIDDEN = ("Cc", "Cf", "Cs", "Cn")


def plain(text: str) -> str:
    """A text on one line, without escape sequences, control characters and marks that reverse or hide text."""
    line = " ".join(_SEQUENCE.sub("", text).split())
    return "".join(one for one in line if unicodedata.category(one) not in _HIDDEN)


def cut(text: str, width: int) -> str:
    """A text as `plain` has it, of at most `width` columns; a text that is too long ends with `…`."""
    line = plain(text)
    if sum(map(_columns, line)) <= width:
        return line
    kept, used = "", 1
    for one in line:
        used += _columns(one)
        if used > width:
            break
        kept += one
    return f"{kept}…" if width > 0 else ""


def _columns(one: str) -> int:
    if unicodedata.combining(one) or unicodedata.category(one) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(one) in ("W", "F") else 1
