"""Sets of change numbers as text, and their algebra in plain Python: no Spark, so `pfspark set` starts no JVM.

A set is a dict from origin label to canonical inclusive ranges: ascending, disjoint, neighbours joined, no origin
without a number. Two equal sets are equal dicts.

>>> missing = subtract(parse("PFS1:1-17,PFS2:1-28"), parse("PFS1:1-11, 17; PFS2:1-20"))  # R95
>>> missing
{'PFS1': ((12, 16),), 'PFS2': ((21, 28),)}
>>> show(missing)
'PFS1:12-16,PFS2:21-28'
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from pfspark.errors import CnSetError, PfsparkError, UsageError

Ranges = tuple[tuple[int, int], ...]
CnSet = dict[str, Ranges]

MAX_CN = 2**63 - 1  # a signed 64-bit column (design: words people read)
MAX_LIFE = 2**31 - 1  # a signed 32-bit column

STORE_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_STORE = re.compile(STORE_NAME)
_LABEL = re.compile(rf"({STORE_NAME})(?:~([1-9][0-9]{{0,9}}))?")
_NUMBER = re.compile(rf"({_LABEL.pattern}):([1-9][0-9]{{0,18}})")
_FOLDER_ID = re.compile(r"FID[0-9A-Fa-f]+-[0-9A-Fa-f]+", re.IGNORECASE)  # F97
_RANGE = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")
_LOG_PAIR = re.compile(r"([0-9A-Fa-f]+)-([0-9A-Fa-f]+),([0-9A-Fa-f]+)-([0-9A-Fa-f]+)")

EXPECT_LABEL = "an origin such as PFS1 or PFS1~2 followed by ':'"
EXPECT_RANGE = "a number or a range such as 17 or 1-11"
EXPECT_PAIR = "a pair of hex ids such as 12-1B67,12-1B69, or {0} alone for the empty set"
EXCERPT = 60  # characters of the text shown above the caret


# --- labels -----------------------------------------------------------------------------------------------------------


def is_store_name(name: str) -> bool:
    """Whether a store may be called so: letters, digits, `. _ -`, first a letter or digit, at most 64."""
    return _STORE.fullmatch(name) is not None


def is_number(text: str) -> bool:
    """Whether it is written like a change number, and so like the id of what that change made.

    >>> is_number("PFS1~2:7"), is_number("PFS1:07"), is_number("/PFS1:7")
    (True, False, False)
    """
    found = _NUMBER.fullmatch(text)
    return found is not None and (found[3] is None or 1 < int(found[3]) <= MAX_LIFE) and int(found[4]) <= MAX_CN


def label(store: str, life: int) -> str:
    """The name of a replica in one of its lives: `PFS1` in life 1, `PFS1~2` in life 2.

    >>> label("PFS1", 2)
    'PFS1~2'
    """
    return store if life == 1 else f"{store}~{life}"


def split_label(text: str) -> tuple[str, int]:
    """Store and life of a label; anything else is a CnSetError.

    >>> split_label("PFS1~2"), split_label("PFS1")
    (('PFS1', 2), ('PFS1', 1))
    """
    found = _LABEL.fullmatch(text)
    if found is None or (found[2] and not 1 < int(found[2]) <= MAX_LIFE):
        raise _mistake(text, 0, text, "an origin such as PFS1 (its first life) or PFS1~2 (its second)")
    return found[1], int(found[2] or 1)


def label_key(text: str) -> tuple[bytes, int]:
    """The order of labels: store name by bytes, then life, so PFS1 < PFS1~2 < PFS1~10 < PFS2."""
    store, life = split_label(text)
    return store.encode(), life


# --- text -------------------------------------------------------------------------------------------------------------


def parse(text: str) -> CnSet:
    """The set that a text names: our form `PFS1:1-11:17,PFS2:1-20`, or the articles' `PFS1:1-11, 17` (R38).

    A range may follow `:` or `,`; origins are parted by `,` or `;`; blanks do not matter; a folder id may lead
    (`FID1-123:PFS1:211`, R32), the same one throughout. Order, overlap and repetition do not matter. Empty text is
    the empty set. Anything else is a CnSetError with the column of the mistake.

    >>> parse("FID1-123:PFS1:1-11, 17")
    {'PFS1': ((1, 11), (17, 17))}
    """
    found: dict[str, list[tuple[int, int]]] = {}
    if not text.strip():
        return {}
    current: list[tuple[int, int]] | None = None
    folder = ""
    at = 0
    for chunk in re.split("[,;]", text):
        parts = chunk.split(":")
        first = 0
        if len(parts) > 2 and _FOLDER_ID.fullmatch(parts[0].strip()) and not _RANGE.fullmatch(parts[1]):
            if folder and parts[0].strip() != folder:
                raise _mistake(text, at, parts[0], f"folder {folder} again: a set belongs to one folder")
            folder = parts[0].strip()
            at += len(parts[0]) + 1
            first = 1
        if len(parts) > first + 1:
            current = found.setdefault(_label_at(text, at, parts[first]), [])
            at += len(parts[first]) + 1
            first += 1
        if current is None:
            raise _mistake(text, at, parts[first], EXPECT_LABEL)
        for part in parts[first:]:
            current.append(_range_at(text, at, part))
            at += len(part) + 1
    return _ordered(found)


def parse_log(text: str, origins: Mapping[str | int, str]) -> CnSet:
    """The set of an Exchange log line: pairs `replid-low,replid-high` in hex, parted by blanks; `{0}` is empty (F96).

    `origins` tells which origin label a REPLID stands for; its keys are numbers, or hex as logged. A REPLID that it
    lacks is a CnSetError: another server may map otherwise (F4), so nothing is guessed.

    >>> parse_log("12-1B67,12-1B67 12-1B69,12-1B6B", {"12": "PFS1"})
    {'PFS1': ((7015, 7015), (7017, 7019))}
    """
    known = {key if isinstance(key, int) else int(key, 16): split_label(name) and name for key, name in origins.items()}
    found: dict[str, list[tuple[int, int]]] = {}
    if text.strip() in ("", "{0}"):
        return {}
    for word in re.finditer(r"\S+", text):
        pair = _LOG_PAIR.fullmatch(word[0])
        if pair is None:
            raise _mistake(text, word.start(), word[0], EXPECT_PAIR)
        replid, low, other, high = (int(digits, 16) for digits in pair.groups())
        if other != replid:
            raise _mistake(text, word.start() + pair.start(3), pair[3], f"the same REPLID {pair[1]} in both halves")
        if replid not in known:
            listed = ", ".join(f"{each:X}" for each in sorted(known)) or "none"
            raise _mistake(text, word.start(), pair[1], f"a REPLID of the table of origins, which has {listed}")
        if not 1 <= low <= high <= MAX_CN:
            raise _mistake(text, word.start(), word[0], "numbers from 1 to 2^63-1, the lower one first")
        found.setdefault(known[replid], []).append((low, high))
    return _ordered(found)


def show(cnset: Mapping[str, Iterable[tuple[int, int]]]) -> str:
    """The canonical text: origins ascending by store name and life, ranges ascending and merged; empty set, empty text.

    >>> show({"PFS2": ((1, 20),), "PFS1": ((17, 17), (1, 5), (4, 11))})
    'PFS1:1-11:17,PFS2:1-20'
    """
    return ",".join(
        origin + "".join(f":{low}" if low == high else f":{low}-{high}" for low, high in ranges)
        for origin, ranges in _ordered(cnset).items()
    )


def _label_at(text: str, at: int, part: str) -> str:
    try:
        name = part.strip()
        split_label(name)
    except CnSetError:
        raise _mistake(text, at, part, EXPECT_LABEL) from None
    return name


def _range_at(text: str, at: int, part: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(part)
    if found is None:
        raise _mistake(text, at, part, EXPECT_RANGE)
    first, last = found[1], found[2] or found[1]
    if len(first) > 19 or len(last) > 19:  # longer than 2^63-1 is written
        raise _mistake(text, at, part, "numbers from 1 to 2^63-1")
    low, high = int(first), int(last)
    if not (1 <= low <= MAX_CN and 1 <= high <= MAX_CN):
        raise _mistake(text, at, part, "numbers from 1 to 2^63-1")
    if low > high:
        raise _mistake(text, at, part, f"the lower number first, {high}-{low}")
    return low, high


def _mistake(text: str, at: int, seen: str, expected: str) -> CnSetError:
    """What was seen in which column and what was expected; below it the text around that place, with a caret."""
    at += len(seen) - len(seen.lstrip()) if seen.strip() else 0
    start = max(0, at - EXCERPT // 2)
    excerpt = "".join(char if char.isprintable() else " " for char in text[start : start + EXCERPT])
    front, back = "…" * (start > 0), "…" * (start + EXCERPT < len(text))
    word = seen.strip()
    found = repr(word if len(word) <= EXCERPT // 2 else word[: EXCERPT // 2] + "…") if word else "nothing"
    return CnSetError(
        f"not a set of change numbers: column {at + 1}: found {found}, expected {expected}\n"
        f"    {front}{excerpt}{back}\n    {' ' * (at - start + len(front))}^"
    )


# --- algebra ----------------------------------------------------------------------------------------------------------


def canonical(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ascending, overlapping and neighbouring ranges joined (F21).

    >>> canonical([(20, 29), (1, 19), (40, 41)])
    ((1, 29), (40, 41))
    """
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            if high > joined[-1][1]:
                joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return tuple(joined)


def union(one: CnSet, other: CnSet) -> CnSet:
    """The numbers of either set."""
    return _ordered({origin: one.get(origin, ()) + other.get(origin, ()) for origin in one | other})


def subtract(one: CnSet, other: CnSet) -> CnSet:
    """The numbers of the first set that the second lacks.

    >>> show(subtract(parse("A:21-57"), parse("A:23-24")))  # V26
    'A:21-22:25-57'
    """
    return _ordered({origin: _minus(ranges, other.get(origin, ())) for origin, ranges in one.items()})


def intersect(one: CnSet, other: CnSet) -> CnSet:
    """The numbers of both sets."""
    return subtract(one, subtract(one, other))


def meets(one: CnSet, label: str, low: int, high: int) -> bool:
    """Whether any number of that range is in the set.

    >>> meets(parse("A:1-3:7"), "A", 4, 6), meets(parse("A:1-3:7"), "A", 4, 7)
    (False, True)
    """
    ranges = one.get(label, ())
    before = bisect_right(ranges, high, key=itemgetter(0))
    return before > 0 and ranges[before - 1][1] >= low


def contains(one: CnSet, other: CnSet) -> bool:
    """Whether every number of the second set is in the first.

    >>> contains(parse("A:21-57"), parse("A:20-25"))  # V25
    False
    """
    return not subtract(other, one)


def size(cnset: CnSet) -> int:
    """How many numbers the set has."""
    return sum(high - low + 1 for ranges in cnset.values() for low, high in ranges)


def _ordered(found: Mapping[str, Iterable[tuple[int, int]]]) -> CnSet:
    return {origin: ranges for origin in sorted(found, key=label_key) if (ranges := canonical(found[origin]))}


def _minus(ranges: Ranges, holes: Ranges) -> Iterator[tuple[int, int]]:
    """Both canonical: one walk over the two."""
    at = 0
    for low, high in ranges:
        while at < len(holes) and holes[at][1] < low:
            at += 1
        hole = at
        while hole < len(holes) and holes[hole][0] <= high:
            if low < holes[hole][0]:
                yield low, holes[hole][0] - 1
            low = holes[hole][1] + 1
            hole += 1
        at = max(at, hole - 1)
        if low <= high:
            yield low, high


# --- `pfspark set` ----------------------------------------------------------------------------------------------------

_VERBS = {"union": union, "subtract": subtract, "intersect": intersect}


def run_set(verb: str, a: str, b: str) -> str:
    """What `pfspark set VERB A B` prints; `contains A B` asks whether B is within A: `true` or `false`.

    An unknown verb is a UsageError, a bad set a CnSetError.

    >>> run_set("subtract", "PFS1:1-17,PFS2:1-28", "PFS1:1-11:17,PFS2:1-20")
    'PFS1:12-16,PFS2:21-28'
    """
    if verb == "contains":
        return "true" if contains(parse(a), parse(b)) else "false"
    if verb not in _VERBS:
        nearest = difflib.get_close_matches(verb, [*_VERBS, "contains"], 1)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise UsageError(f"found verb {verb!r}, expected union, subtract, intersect or contains{hint}")
    return show(_VERBS[verb](parse(a), parse(b)))


def run_lines(lines: Iterable[str]) -> Iterator[str]:
    """What `pfspark set -` prints: one result for each line `verb<TAB>A<TAB>B`, `error: …` for a bad one.

    No set reads `error: …` (after its colon comes a number), so whoever prints may tell the two apart.
    """
    for line in lines:
        words = line.rstrip("\r\n").split("\t")
        try:
            if len(words) != 3:
                raise UsageError(f"found {len(words)} columns, expected verb<TAB>A<TAB>B")
            yield run_set(*words)
        except PfsparkError as error:
            yield "error: " + str(error).splitlines()[0]
