"""What a folder says for the commands that are given in it: `pfspark.toml`, for which the environment and options stand first."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from pfspark.edge.config import CONFIGURATION
from pfspark.entries import Entry, explained, reads
from pfspark.errors import PfsparkError
from pfspark.files.documents import toml
from pfspark.units import unfit

LONGEST = 2**16
"""Bytes of a file: a folder is also what somebody else has sent, and every command given in it reads this."""


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise unfit(value, "a text")
    return value.strip()


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


Text = Annotated[str, reads(_text)]


class Configuration(Entry, BaseSettings):
    """What may be said in `pfspark.toml`, or as `PFSPARK_…` in the environment, in place of options.

    Nothing of it names what is run or written over: a folder is also what somebody else has sent. The jars of Delta and the
    file of results are the environment's and the options' alone.
    """

    model_config = SettingsConfigDict(env_prefix="PFSPARK_", env_ignore_empty=True)

    lake: Text | None = None
    org: Text | None = None
    store: Text | None = None
    engine: Annotated[Literal["on", "off"] | None, BeforeValidator(_lower)] = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment, then the file."""
        return env_settings, InitSettingsSource(settings_cls, init_kwargs=_file())


def _file() -> dict[str, Any]:
    """What the file says. Raises PfsparkError for one that is too long, or no TOML."""
    with Path(CONFIGURATION).open("rb") as file:
        said = file.read(LONGEST + 1)
    if len(said) > LONGEST:
        raise PfsparkError(f"{CONFIGURATION}: more than {LONGEST // 2**10} KiB, expected a few lines")
    return toml(said.decode("utf-8-sig").replace("\r\n", "\n"), CONFIGURATION)


def take_up() -> None:
    """Puts into the environment what the file says and the environment does not: there every command, and what it starts, looks.

    Raises PfsparkError for a file that cannot be read, is no TOML, or says what nobody knows.
    """
    try:
        said = Configuration().model_dump(exclude_none=True)
    except ValidationError as error:
        text = explained(error)
        name = text.partition(":")[0]
        variable = f"PFSPARK_{name.upper()}"
        told = variable + text.removeprefix(name) if os.environ.get(variable) else f"{CONFIGURATION}: {text}"
        raise PfsparkError(told) from None
    except UnicodeDecodeError as error:
        raise PfsparkError(f"{CONFIGURATION}: not TOML: {error}") from None
    except OSError as error:
        raise PfsparkError(f"{CONFIGURATION}: cannot be read: {error.strerror}") from None
    os.environ |= {f"PFSPARK_{name.upper()}": value for name, value in said.items()}
