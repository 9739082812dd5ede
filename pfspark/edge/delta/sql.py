"""Names and texts as SQL reads them, whatever is in them."""

from __future__ import annotations

from collections.abc import Iterable


def named(*parts: str) -> str:
    """A name of those parts.

    >>> named("main", "my.lake")
    '`main`.`my.lake`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def literal(text: str) -> str:
    """A text.

    >>> literal("O'Neill")
    "'O\\\\'Neill'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def among(column: str, texts: Iterable[str]) -> str:
    """The condition that a column is one of these texts. They are written as bytes, so that nothing in them ends a quote."""
    written = [f"CAST(X'{text.encode().hex()}' AS STRING)" for text in texts]
    return f"{column} IN ({', '.join(written)})"
