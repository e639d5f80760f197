"""One settings tree: every number of the specification is a default here, never a constant in code.

Read from the environment (`SLOWWAVE_` prefix, `__` between levels, as in
`SLOWWAVE_LLM__PROVIDER=ollama`), then from `slowwave.toml` in the home folder. Nothing here reads the
clock, the store or the network.
"""

import logging
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from slowwave.errors import ConfigError
from slowwave.settings.groups import (
    ChunkSettings,
    DecaySettings,
    EditSettings,
    EmbeddingSettings,
    EpisodeSettings,
    ForgetSettings,
    GraphSettings,
    LLMSettings,
    NightSettings,
    PromoteSettings,
    ReconcileSettings,
    RecordSettings,
    ScopeSettings,
    StoreSettings,
)
from slowwave.settings.hooks import HookSettings
from slowwave.settings.place import home_folder
from slowwave.settings.readers import ReaderSettings
from slowwave.settings.reading import ContextSettings, SearchSettings
from slowwave.settings.redaction import RedactionSettings
from slowwave.settings.server import ServerSettings
from slowwave.settings.topics import SummarySettings, TopicSettings
from slowwave.whole_file import read_plain

FORMER_GROUPS = {"own": "owner", "words": "edits"}
"""Groups by the name that they had before, with the name of today: files and environments may still say it."""

GONE = (
    ("search", "fusion"),
    *(
        ("search", f"{name}_weight")
        for name in ("text", "vector", "entity", "time", "former", "reason", "evidence")
    ),
    ("search", "cells"),
    ("context", "turn_weight"),
    ("context", "period_weight"),
    ("graph", "causal_pairs"),
    *(
        ("topics", name)
        for name in ("max_share", "share_from", "join_similarity", "name_weight", "crowding", "group_from")
    ),
    ("embedding", "allow_pull"),
    ("readers", "question_set_bytes"),
)
"""Settings that were dropped, by group and name: files and environments may still say them, to no effect."""

LONGEST_FILE = 1_000_000
"""Bytes of a settings file: a longer one is something else."""

_logger = logging.getLogger("slowwave")


def _renamed(given: Mapping[str, Any], *, spelled: str) -> dict[str, Any]:
    """Settings with former group names replaced, each said in a warning; `spelled` is how a group is written."""
    told = dict(given)
    for former, name in FORMER_GROUPS.items():
        before, after = spelled.format(former), spelled.format(name)
        for key in [
            key
            for key in told
            if key.lower() == before.lower() or key.lower().startswith(f"{before.lower()}__")
        ]:
            renamed = after + key[len(before) :]
            _logger.warning("the setting %s is called %s now; the old name is still read", key, renamed)
            told.setdefault(renamed, told.pop(key))
    return told


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix="SLOWWAVE_", env_nested_delimiter="__", extra="forbid", frozen=True, defer_build=True
    )

    home: Path = Field(
        default=Path("~/.local/share/slowwave"),
        description="Where journal, store and caches live; on macOS and Windows the system's own folder for data.",
    )
    owner: ScopeSettings = ScopeSettings()
    readers: ReaderSettings = ReaderSettings()
    redaction: RedactionSettings = RedactionSettings()
    chunks: ChunkSettings = ChunkSettings()
    llm: LLMSettings = LLMSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    night: NightSettings = NightSettings()
    reconcile: ReconcileSettings = ReconcileSettings()
    topics: TopicSettings = TopicSettings()
    summaries: SummarySettings = SummarySettings()
    episodes: EpisodeSettings = EpisodeSettings()
    graph: GraphSettings = GraphSettings()
    decay: DecaySettings = DecaySettings()
    forget: ForgetSettings = ForgetSettings()
    edits: EditSettings = EditSettings()
    record: RecordSettings = RecordSettings()
    promote: PromoteSettings = PromoteSettings()
    search: SearchSettings = SearchSettings()
    context: ContextSettings = ContextSettings()
    server: ServerSettings = ServerSettings()
    store: StoreSettings = StoreSettings()
    hooks: HookSettings = HookSettings()

    @model_validator(mode="before")
    @classmethod
    def _without_gone(cls, given: dict[str, Any]) -> dict[str, Any]:
        kept = dict(given)
        for group, name in GONE:
            if isinstance(kept.get(group), Mapping) and name in kept[group]:
                _logger.warning("there is no setting %s.%s any more: it is ignored, remove it", group, name)
                kept[group] = {key: value for key, value in kept[group].items() if key != name}
        return kept

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
        if isinstance(env_settings, EnvSettingsSource):
            env_settings.env_vars = _renamed(env_settings.env_vars, spelled="slowwave_{}")
        return env_settings, init_settings


def _refuse_unknown_names() -> None:
    """A name in the environment whose group does not exist: a slip that would pass unseen."""
    groups = {f"SLOWWAVE_{name.upper()}" for name in (*Settings.model_fields, *FORMER_GROUPS)}
    for name in os.environ:
        if name.upper().startswith("SLOWWAVE_") and name.upper().split("__")[0] not in groups:
            raise ConfigError(
                f"the environment names {name}, and there is no such setting: see docs/settings.md"
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
    _refuse_unknown_names()
    path = folder / "slowwave.toml"
    try:
        settings = Settings(**_renamed(_read_file(path), spelled="{}"))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"setting {name!r} is not usable: {first['msg']}. "
            f"Look at the environment (SLOWWAVE_...) and {path}."
        ) from error
    return settings.model_copy(update={"home": folder})
