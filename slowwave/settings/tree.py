"""One tree of settings, and how it is read.

Read from the environment (`SLOWWAVE_` prefix, `__` between levels, as in
`SLOWWAVE_LLM__PROVIDER=ollama`), then from `slowwave.toml` in the home folder. Nothing here reads the
clock, the store or the network.
"""

import os
import tomllib
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from slowwave.errors import ConfigError
from slowwave.settings import groups
from slowwave.settings.place import home_folder
from slowwave.settings.redaction import RedactionSettings
from slowwave.whole_file import read_plain

LONGEST_FILE = 1_000_000
"""Bytes of a settings file: a longer one is something else."""


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix="SLOWWAVE_", env_nested_delimiter="__", extra="forbid", frozen=True, defer_build=True
    )

    home: Path = Field(
        default=Path("~/.local/share/slowwave"),
        description="Where journal, store and caches live; on macOS and Windows the system's own folder for data.",
    )
    owner: groups.ScopeSettings = groups.ScopeSettings()
    readers: groups.ReaderSettings = groups.ReaderSettings()
    redaction: RedactionSettings = RedactionSettings()
    chunks: groups.ChunkSettings = groups.ChunkSettings()
    llm: groups.LLMSettings = groups.LLMSettings()
    embedding: groups.EmbeddingSettings = groups.EmbeddingSettings()
    night: groups.NightSettings = groups.NightSettings()
    summaries: groups.SummarySettings = groups.SummarySettings()
    episodes: groups.EpisodeSettings = groups.EpisodeSettings()
    graph: groups.GraphSettings = groups.GraphSettings()
    decay: groups.DecaySettings = groups.DecaySettings()
    forget: groups.ForgetSettings = groups.ForgetSettings()
    edits: groups.EditSettings = groups.EditSettings()
    hooks: groups.HookSettings = groups.HookSettings()
    promote: groups.PromoteSettings = groups.PromoteSettings()
    search: groups.SearchSettings = groups.SearchSettings()
    context: groups.ContextSettings = groups.ContextSettings()
    server: groups.ServerSettings = groups.ServerSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment over arguments: arguments carry the file, and the environment wins over a file."""
        return env_settings, init_settings


def _check_environment() -> None:
    """Refuse a variable whose group there never was: pydantic does not look at it, and the slip would pass unseen."""
    for variable in os.environ:
        prefix, _, name = variable.lower().partition("_")
        if prefix == "slowwave" and name.partition("__")[0] not in Settings.model_fields:
            raise ConfigError(
                f"the environment names {variable}, and there is no such setting: see docs/settings.md"
            )


def _read_file(path: Path) -> dict[str, Any]:
    """The settings in a file, as they stand there; none where there is no file."""
    try:
        if (size := path.stat().st_size) > LONGEST_FILE:
            raise ConfigError(
                f"{path} has {size:,} bytes, and settings have {LONGEST_FILE:,} at most. Mend or remove it."
            )
        return tomllib.loads(read_plain(path).decode())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}). Mend or remove it.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}. Mend or remove it.") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply to be settings. Mend or remove it.") from error


def load_settings(home: Path | str | None = None) -> Settings:
    """Settings of one home folder.

    `home` wins over `SLOWWAVE_HOME`, which wins over the one of this user. `slowwave.toml` in that folder is
    read when it exists; the environment wins over it.

    Raises:
        ConfigError: the file is not TOML, a name or value is not allowed, or this user has no folder.
    """
    folder = home_folder(home)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"the home {folder} is not a folder: name another with --home or SLOWWAVE_HOME")
    _check_environment()
    path = folder / "slowwave.toml"
    try:
        settings = Settings(**_read_file(path))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise ConfigError(
                f"there is no setting {name!r}: remove it from {path} or from the environment (SLOWWAVE_...), "
                "docs/settings.md lists all"
            ) from error
        raise ConfigError(
            f"setting {name!r} is not usable: {first['msg']}. "
            f"Look at the environment (SLOWWAVE_...) and {path}."
        ) from error
    return settings.model_copy(update={"home": folder})
