"""Text from elsewhere, made safe to show: names, subjects and senders are data that somebody chose."""

from __future__ import annotations

import re

BREAKS = re.compile("[\t-\r\x1c-\x1e\x85\u2028\u2029]+")

# Controls; bidi marks, embeddings, overrides and isolates; invisible signs, tags and halves of characters. The joiners
# U+200C and U+200D stay: Persian, Hindi and emoji are written with them, and they move nothing.
UNSHOWN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)

_HIDDEN = re.compile(f"(?!\n)(?:{UNSHOWN.pattern}|[\x85\u2028\u2029])")


def spelled_out(toml: str) -> str:
    """TOML whose signs that steer, turn or are not seen are spelled as escapes: who reads it has the same texts.

    >>> spelled_out('name = "So\\u00adft"')
    'name = "So\\\\U000000ADft"'
    """
    return _HIDDEN.sub(lambda sign: f"\\U{ord(sign[0]):08X}", toml)


def terminal(text: str) -> str:
    """The text on one line, without anything that steers a terminal or turns the order of characters.

    Line breaks and tabs become one space; controls (so every escape sequence is dead), bidi controls and invisible
    characters are left out; all else, right-to-left letters too, stays as it is.

    >>> terminal("pay\\x1b[2J \\u202etxt.exe\\nnow")
    'pay[2J txt.exe now'
    """
    return UNSHOWN.sub("", BREAKS.sub(" ", text))
