"""What a folder says for the commands that are given in it: `pfspark.toml`, for which the environment and options stand first."""

from __future__ import annotations

import os
import tomllib
from typing import Annotated, Literal

from pydantic import StringConstraints, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from pfspark.edge.engine import CONFIGURATION
from pfspark.errors import PfsparkError
from pfspark.units import nearest

Text = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]


class Configuration(BaseSettings):
    """What may be said in `pfspark.toml`, or as `PFSPARK_…` in the environment, in place of options.

    Nothing of it names what is run or written over: a folder is also what somebody else has sent. The jars of Delta and the
    file of results are the environment's and the options' alone.
    """

    model_config = SettingsConfigDict(env_prefix="PFSPARK_", toml_file=CONFIGURATION, extra="forbid", frozen=True)

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
        raise PfsparkError(f"{CONFIGURATION}: {_first(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PfsparkError(f"{CONFIGURATION}: not TOML: {error}") from None
    except OSError as error:
        raise PfsparkError(f"{CONFIGURATION}: cannot be read: {error.strerror}") from None
    for name, value in said.items():
        os.environ.setdefault(f"PFSPARK_{name.upper()}", value)


def _first(error: ValidationError) -> str:
    """What is said of the first mistake."""
    [first, *_] = error.errors(include_url=False)
    key = ".".join(map(str, first["loc"]))
    known = list(Configuration.model_fields)
    match first["type"]:
        case "extra_forbidden":
            return f"key {key!r} is not known, expected {', '.join(known)}{nearest(key, known)}"
        case "literal_error":
            return f"{key}: found {first['input']!r}, expected {first['ctx']['expected']}"
    return f"{key}: found {first['input']!r}, expected a text"
