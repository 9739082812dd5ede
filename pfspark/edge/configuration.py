"""What a folder says for the commands that are given in it: `pfspark.toml`, for which the environment and options stand first."""

from __future__ import annotations

import os
import tomllib
from typing import Annotated, Literal

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from pfspark.edge.engine import CONFIGURATION
from pfspark.entries import Entry, explained, reads
from pfspark.errors import PfsparkError
from pfspark.units import unfit


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise unfit(value, "a text")
    return value.strip()


Text = Annotated[str, reads(_text)]


class Configuration(Entry, BaseSettings):
    """What may be said in `pfspark.toml`, or as `PFSPARK_…` in the environment, in place of options.

    Nothing of it names what is run or written over: a folder is also what somebody else has sent. The jars of Delta and the
    file of results are the environment's and the options' alone.
    """

    model_config = SettingsConfigDict(env_prefix="PFSPARK_", toml_file=CONFIGURATION)

    lake: Text | None = None
    org: Text | None = None
    store: Text | None = None
    engine: Literal["on", "off"] | None = None

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
        return env_settings, TomlConfigSettingsSource(settings_cls)


def take_up() -> None:
    """Puts into the environment what the file says and the environment does not: there every command, and what it starts, looks.

    Raises PfsparkError for a file that cannot be read, is no TOML, or says what nobody knows.
    """
    try:
        said = Configuration().model_dump(exclude_none=True)
    except ValidationError as error:
        raise PfsparkError(f"{CONFIGURATION}: {explained(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PfsparkError(f"{CONFIGURATION}: not TOML: {error}") from None
    except OSError as error:
        raise PfsparkError(f"{CONFIGURATION}: cannot be read: {error.strerror}") from None
    for name, value in said.items():
        os.environ.setdefault(f"PFSPARK_{name.upper()}", value)
