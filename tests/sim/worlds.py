"""Invented organizations: one seed draws stores, sites, folders, edits, faults and changes of the replica lists.

Every world ends healed and quiet, long enough for the repeats of status and the longest time-outs to have passed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

STORY = 16 * 60
"""Minutes in which things happen."""
PROFILES = ("exchange_2000", "exchange_2003", "exchange_2007", "modern")
NAMES = (("P1", "P2", "P3", "P4", "P5"), ("P1", "P1-2", "P1.b", "P10", "P1_3"))
"""Of stores, in their order. Of the second `P1~2` comes before all others but the first, though as a text it is the last."""
SCHEDULES = ("always", "always", "never", "every 2 hours", "Mon.02:00-Mon.05:00,Mon.09:00-Tue.03:00")


def world(seed: int, *, restores: bool = False, minutes: int = STORY) -> str:
    """The text of a scenario file; `minutes`: in how many of them all happens.

    >>> world(7) == world(7), world(7) == world(8)
    (True, False)
    """
    return "\n".join(_lines(random.Random(seed), seed, restores, minutes)) + "\n"


def _lines(draw: random.Random, seed: int, restores: bool, minutes: int) -> Iterator[str]:
    profile = draw.choice(PROFILES)
    quiet = 24 * (4 if profile == "modern" else 8)
    rare = random.Random(f"{seed} rare")  # drawn apart, so that a new option leaves the stories as they are
    most = draw.randint(1, 3)
    names = random.Random(f"{seed} names").choice(NAMES)
    stores = {name: f"S{draw.randint(1, most)}" for name in names[: draw.randint(2, 5)]}
    sites = sorted(set(stores.values()))
    folders = {f"/F{place}": f"P1:{place}" for place in range(1, draw.randint(1, 3) + 1)}
    yield f'name = "world {seed}"'
    yield f'profile = "{profile}"'
    yield "start = 2026-01-05T00:00:00Z"
    yield f'end = "{minutes + 60 * quiet}m"'
    yield 'interval = "30m"'
    yield f"seed = {seed}"
    yield "[policy]"
    yield 'status_again = "1h doubling to 1d"'
    yield f"relay_status = {_switch(draw)}"
    yield f'answer_when = "{draw.choice(["has_more", "always"])}"'
    yield f'removal_rule = "{draw.choice(["one_holds_all", "one_holds_all", "union_holds_all"])}"'
    yield f'hierarchy_merge = "{draw.choice(["object", "property"])}"'
    yield f"conflict = {int(rare.random() < 0.2)}"
    yield f'age_limit = "{rare.choice(["none"] * 4 + ["2h", "6h", "1d"])}"'
    if (night := random.Random(f"{seed} nights")).random() < 0.8:
        yield f'maintenance_at = "{night.choice(["02:30", "03:00", "03:00", "23:30"])}"'
    if rare.random() < 0.5:  # so that a short campaign sees what takes days by the articles
        yield 'backfill_timeouts = { local = ["30m", "1h", "2h"], remote = ["1h", "2h", "4h"] }'
        yield 'status_after = "2h"\nstatus_clock = "none"'
    if profile in ("exchange_2000", "exchange_2003"):
        yield f'startup_status = "{rare.choice(["off", "off", "seeming_gaps", "all"])}"'
    for store, site in stores.items():
        yield f'[stores."{store}"]'
        yield f'site = "{site}"'
        yield f'version = "{draw.choice(["5.5", "2000", "2003", "2007", "2007"])}"'
        yield f"preferred = {_switch(draw, 0.1)}"
        yield f'size_limit = "{draw.choice([4, 8, 300])}KB"'
        yield f'interval = "{draw.choice(["15m", "15m", "30m", "1h", "2h"])}"'  # rounds meet each cycle
        yield f'schedule = "{draw.choice(["always", "always", "every 2 hours"])}"'
    for one in sites:
        for other in sites:
            if one != other and draw.random() < 0.7:
                yield "[[links]]"
                yield f'from = "{one}"\nto = "{other}"\ncost = {draw.randint(1, 9)}'
                yield f'delay = "{draw.choice(["0m", "20m", "30m", "2h", "5h"])}"'
    held = {}
    for folder, id in folders.items():
        held[id] = replicas = draw.sample(list(stores), draw.randint(1, len(stores)))
        yield f'[folders."{folder}"]'
        yield f"replicas = {_list(replicas)}"
        yield f'holds = "{",".join(f"{store}:1-{draw.randint(1, 6)}" for store in replicas if draw.random() < 0.7)}"'
    yield from _faults(random.Random(f"{seed} faults"), list(stores), minutes)
    yield from _clocks(random.Random(f"{seed} clocks"), minutes)
    yield from _scenes(random.Random(f"{seed} scenes"), held, minutes)
    yield from _returns(random.Random(f"{seed} returns"), held, minutes)
    yield from _series(random.Random(f"{seed} series"), held, minutes)
    yield from _limits(random.Random(f"{seed} limits"), held, minutes)
    yield from _steps(draw, list(stores), list(folders.values()), restores, minutes)


def _faults(draw: random.Random, stores: list[str], minutes: int) -> Iterator[str]:
    """In two worlds of three, ways that lose some mail or all, deliver it twice, or so late that younger overtakes it."""
    for _ in range(draw.choice([0, 0, 1, 1, 2, 3])):
        since = draw.randrange(0, minutes // 2, 10)
        yield f'[[faults]]\nsince = "{since}m"\nuntil = "{min(since + draw.randrange(60, 600, 10), minutes)}m"'
        for end, store in (("from", draw.choice(["", "", *stores])), ("to", draw.choice(["", "", *stores]))):
            if store:
                yield f'{end} = "{store}"'
        yield f"lost = {draw.choice([0, 0.1, 0.3, 1])}\ntwice = {draw.choice([0, 0.2, 0.5])}"
        yield f'late = "{draw.choice(["0m", "2h", "10h"])}"'


def _clocks(draw: random.Random, minutes: int) -> Iterator[str]:
    """In every fourth world, a clock that is put on or back, and right again before things end."""
    if draw.random() < 0.25:
        since = draw.randrange(0, minutes, 10)
        wrong = draw.choice([f"{sign}{length}" for sign in ("", "-") for length in ("30m", "1h30m", "36h")])
        yield f'[[steps]]\nat = "{since}m"\nclock = "{wrong}"'
        yield f'[[steps]]\nat = "{min(since + draw.randrange(60, 600, 10), minutes)}m"\nclock = "0m"'


def _scenes(draw: random.Random, held: dict[str, list[str]], minutes: int) -> Iterator[str]:
    """What chance alone hardly brings about, in folders of three replicas and more: all write upon one version of an item,
    and what one has missed it asks for in vain, as nothing that it sends gets through, or not at all, as all is suspended."""

    def step(at: int, verb: str) -> str:
        return f'[[steps]]\nat = "{at // 10 * 10}m"\n{verb}'

    for folder, (one, other, *more) in ((id, stores) for id, stores in held.items() if len(stores) > 2):
        began = draw.randrange(0, minutes // 8)
        post = f'store = "{one}", folder = "{folder}"'
        if draw.random() < 0.5:
            yield step(began, f'post = {{ {post}, item = "contested" }}')
            for store in (one, other, *more):
                item = f'store = "{store}", folder = "{folder}", item = "contested"'
                yield step(began + minutes // 3, f"modify = {{ {item}, size = {draw.randrange(500, 2000)} }}")
        if draw.random() < 0.8:
            back = began + minutes // 5
            yield step(began, f"cut = {_list([other])}") + "\n" + step(began, f"post = {{ {post} }}")
            yield step(back, f"heal = {_list([other])}") + "\n" + step(back, f"post = {{ {post} }}")
            yield f'[[faults]]\nsince = "{back}m"\nuntil = "{minutes}m"\nfrom = "{other}"\nlost = 1'
            if draw.random() < 0.2:
                yield step(began + 3 * minutes // 10, "suspend = true")


def _series(draw: random.Random, held: dict[str, list[str]], minutes: int) -> Iterator[str]:
    """In every third world, more posts at once than fit into one message, on a way that loses a part of what it is given."""
    for folder, (one, *_) in list(held.items())[:1]:
        if draw.random() < 1 / 3:
            moment = draw.randrange(0, minutes // 2, 30)
            yield f'[[faults]]\nsince = "{moment}m"\nuntil = "{moment + 180}m"\nfrom = "{one}"\nlost = {draw.choice([0.3, 0.5])}'
            post = f'store = "{one}", folder = "{folder}", count = {draw.randint(6, 12)}, size = 5000'
            yield f'[[steps]]\nat = "{moment}m"\npost = {{ {post} }}'


def _limits(draw: random.Random, held: dict[str, list[str]], minutes: int) -> Iterator[str]:
    """In every third world, folders that get a limit of age, some of them in the round of the nightly maintenance."""
    for folder, (one, *_) in held.items():
        if draw.random() < 1 / 3:
            moment = draw.choice([*range(0, minutes, 150), *(each for each in (150, 170, 180) if each < minutes)])
            limit = draw.choice(["10m", "1h", "1d", "none"])
            yield f'[[steps]]\nat = "{moment}m"'
            yield f'set_folder = {{ store = "{one}", folder = "{folder}", age_limit = "{limit}" }}'


def _returns(draw: random.Random, held: dict[str, list[str]], minutes: int) -> Iterator[str]:
    """Replicas that leave in the beginning and come back in the end, some of them after the night in which they were erased,
    and such as go and come, or come and go, in one round."""
    for folder, (one, *more) in held.items():
        if more and draw.random() < 0.5:
            who = f'store = "{one}", folder = "{folder}", replica = "{more[-1]}"'
            yield f'[[steps]]\nat = "{draw.randrange(0, minutes // 8, 10)}m"\nremove_replica = {{ {who} }}'
            yield f'[[steps]]\nat = "{minutes - 10}m"\nadd_replica = {{ {who} }}'
        if draw.random() < 0.3:
            moment, who = draw.randrange(0, minutes, 30), f'store = "{one}", folder = "{folder}", replica = "{one}"'
            for verb in draw.sample(["add", "remove"], 2):
                yield f'[[steps]]\nat = "{moment}m"\n{verb}_replica = {{ {who} }}'


def _steps(draw: random.Random, stores: list[str], folders: list[str], restores: bool, minutes: int) -> Iterator[str]:
    """The folders of the start are named by their ids, since they are renamed and moved; those made later by paths."""
    moments = sorted(draw.randrange(0, minutes, 10) for _ in range(draw.randint(10, 45)))
    items: list[tuple[str, str]] = []
    made = list(folders)
    suspended = False
    for place, minute in enumerate(moments):
        store, other = draw.choice(stores), draw.choice(stores)
        folder = draw.choice(made)
        who = f'store = "{store}", folder = "{folder}"'
        size = draw.choice([100, 1024, 3000, 5000])
        verb = draw.choices(
            ["post", "name", "modify", "delete", "add", "remove", "fault", "create", "change", "suspend", "restore"],
            [8, 4, 6, 2, 3, 3, 6, 1, 2, 0.4, 0.7 if restores else 0],
        )[0]
        if (verb in ("modify", "delete") and not items) or (verb == "create" and len(made) > 4):
            verb = "post"
        yield "[[steps]]"
        yield f'at = "{minute}m"'
        match verb:
            case "post":
                yield f"post = {{ {who}, count = {draw.randint(1, 4)}, size = {size} }}"
            case "name":
                items.append((folder, f"item {place}"))
                yield f'post = {{ {who}, item = "item {place}", size = {size} }}'
            case "modify" | "delete":
                folder, item = draw.choice(items)
                extra = f", size = {size}" if verb == "modify" else ""
                yield f'{verb} = {{ store = "{store}", folder = "{folder}", item = "{item}"{extra} }}'
            case "add" | "remove":
                yield f'{verb}_replica = {{ {who}, replica = "{other}" }}'
            case "fault":
                fault = draw.choice(["cut", "heal", "down", "up"])
                yield f"{fault} = {_list(draw.sample(stores, draw.randint(1, max(1, len(stores) - 1))))}"
            case "create":
                made.append(f"{draw.choice(['', *made[len(folders) :]])}/N{place}")
                replicas = _list(draw.sample(stores, draw.randint(1, len(stores))))
                yield f'create_folder = {{ store = "{store}", path = "{made[-1]}", replicas = {replicas} }}'
            case "change":
                kind = draw.choice(["rename", "move", "set", "set", "delete"])
                who = f'store = "{store}", folder = "{draw.choice(folders)}"'
                if kind == "rename":
                    yield f'rename_folder = {{ {who}, name = "R{place}" }}'
                elif kind == "move":
                    yield f'move_folder = {{ {who}, to = "{draw.choice(["/", *made])}" }}'
                elif kind == "delete":
                    yield f"delete_folder = {{ {who} }}"
                else:
                    yield f'set_folder = {{ {who}, schedule = "{draw.choice(SCHEDULES[:4])}" }}'
            case "suspend":
                suspended = not suspended
                yield f"{'suspend' if suspended else 'resume'} = true"
            case "restore":
                yield f'restore = {{ store = "{store}", to = "{draw.randint(0, minute)}m" }}'
    for verb in ("heal", "up"):
        yield f'[[steps]]\nat = "{minutes}m"\n{verb} = {_list(stores)}'
    yield f'[[steps]]\nat = "{minutes}m"\nresume = true'
    for folder in made:  # what schedule Never holds back would be held back for ever
        for store in stores:
            yield f'[[steps]]\nat = "{minutes}m"'
            yield f'set_folder = {{ store = "{store}", folder = "{folder}", schedule = "always" }}'


def _switch(draw: random.Random, chance: float = 0.5) -> str:
    return str(draw.random() < chance).lower()


def _list(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in sorted(names)) + "]"
