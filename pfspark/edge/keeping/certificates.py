"""The certificate of the last audit, left beside the tables of a local lake: its page says what was found, and when."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from pfspark.edge.delta.beside import CERTIFICATE


def leave(folder: Path, certificate: Mapping[str, Any], at: datetime) -> None:
    """Puts a certificate in the place of the one that is there; where nothing can be written there is none."""
    new = folder / f"{CERTIFICATE}.{uuid4().hex}.tmp"
    try:
        new.write_text(json.dumps({"at": at.isoformat(), **certificate}), "utf-8")
        os.replace(new, folder / CERTIFICATE)
    except OSError:  # reading needs no permission to write
        with suppress(OSError):
            new.unlink()


def find(folder: Path) -> dict[str, Any] | None:
    """What was left, with the time `at` which that was; None: nothing that can be read."""
    with suppress(OSError, ValueError, KeyError, AttributeError, TypeError):
        said = json.loads((folder / CERTIFICATE).read_text("utf-8"))
        checks = {str(id): None if rows is None else int(rows) for id, rows in said["checks"].items()}
        datetime.fromisoformat(said["at"])
        return {**said, "round": int(said["round"]), "checks": checks}
    return None
