"""Tables that people write: what fits is values, what does not is one sentence."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from inspect import getmembers, isclass
from typing import Annotated, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfspark.entries import Entry, reads, reads_by
from pfspark.errors import UsageError
from pfspark.files import language
from pfspark.units import parse_duration, unfit


def _known(names: list[str]) -> object:
    def read(value: object) -> str:
        if value not in names:
            raise unfit(value, " or ".join(names))
        return str(value)

    return read


class Inner(Entry):
    wait: Annotated[timedelta, reads(parse_duration)]
    kind: Literal["good", "better"] = "good"


class Outer(Entry):
    inner: Inner | None = None
    name: Annotated[str | None, reads_by(_known)] = None
    switch: bool = False
    table: dict[str, object] = {}  # noqa: RUF012
    listed: list[object] = []  # noqa: RUF012


def refused(found: object) -> str:
    with pytest.raises(UsageError) as caught:
        Outer.read(found, ["a", "b"])
    return str(caught.value)


def test_what_fits_is_values_and_what_is_said_is_known() -> None:
    read = Outer.read({"inner": {"wait": "1h"}, "name": "b", "switch": False}, ["a", "b"])
    assert (read.name, read.switch, read.table) == ("b", False, {})
    assert read.inner is not None and (read.inner.wait, read.inner.kind) == (timedelta(hours=1), "good")
    assert list(read.said()) == ["inner", "name", "switch"]
    assert list(read.inner.said()) == ["wait"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (3, "found 3, expected a table with inner, name, switch, table, listed"),
        ({"nmae": "a"}, "key 'nmae' is not known, expected inner, name, switch, table, listed; the nearest known is 'name'"),
        ({3: "a"}, "key '3' is not known, expected inner, name, switch, table, listed"),
        ({"name": "c", "nmae": "a"}, "key 'nmae' is not known"),
        ({"name": "c"}, "name: found 'c', expected a or b"),
        ({"inner": "x"}, "inner: found 'x', expected a table with wait, kind"),
        ({"inner": {}}, "inner: key 'wait' is missing"),
        ({"inner": {"kind": "bad"}}, "inner: key 'wait' is missing"),
        ({"inner": {"wait": "1x"}}, "inner: wait: found '1x', expected a duration"),
        (
            {"inner": {"wait": "1h", "kind": "goo"}},
            "inner: kind: found 'goo', expected good or better; the nearest known is 'good'",
        ),
        ({"inner": {"wait": "{said}"}}, "inner: wait: found '{said}', expected a duration"),
        ({"inner": {"wait": "1h", "kind": "\udcff"}}, "inner: kind: found '\\udcff', expected a text that UTF-8 can write"),
        ({"inner": {"wait": "\udcff"}}, "inner: wait: found '\\udcff', expected a duration"),
        ({"nmae": None}, "key 'nmae' is not known"),
        ({"name": None}, "name: found None, expected a value, or no such key"),
        ({"inner": {"wait": None}}, "inner: wait: found None, expected a value, or no such key"),
        ({"switch": 1}, "switch: found 1, expected true or false"),
        ({"table": []}, "table: found [], expected a table"),
        ({"listed": {}}, "listed: found {}, expected a list of tables"),
    ],
)
def test_what_does_not_is_one_sentence(found: object, said: str) -> None:
    assert refused(found).startswith(said)


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4)
    | st.sampled_from([datetime(2026, 1, 5, tzinfo=UTC), date(2026, 1, 5), time(1), timedelta(1)])
    | st.sampled_from(["PFS1", "/Sales", "1h", "2h-3h", "none", "always", "PFS1:1-3", "PFS1:3-1", "high", "2007", "10KB"])
)  # fmt: skip
MODELS = sorted(
    (each for _, each in getmembers(language, isclass) if issubclass(each, Entry) and each.model_fields),
    key=lambda each: each.__name__,
)
KEYS = sorted({key for model in MODELS for key in model.known_keys()})
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=3),
)


@given(st.data())
@settings(max_examples=600, deadline=None)
def test_whatever_is_written_is_read_or_explained(data: st.DataObject) -> None:
    model = data.draw(st.sampled_from(MODELS))
    table = {key: data.draw(VALUES) for key in data.draw(st.lists(st.sampled_from(model.known_keys()), max_size=3))}
    found = data.draw(st.just(table) | VALUES)
    known = language.Known(stores=["PFS1"], sites=["default"], start=datetime(2026, 1, 5, tzinfo=UTC))
    try:
        read = model.read(found, known)
    except UsageError as error:
        assert str(error) and "pydantic" not in str(error)
    else:
        assert set(read.said()) <= set(model.model_fields)
