"""One tree of settings, and how it is read.

Read from the environment (`SLOWWAVE_` prefix, `__` between levels, as in
`SLOWWAVE_LLM__PROVIDER=ollama`), then from `slowwave.toml` in the home folder. Nothing here reads the
clock, the store or the network.
"""

import logging
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from slowwave.errors import ConfigError
from slowwave.settings import groups
from slowwave.settings.place import home_folder
from slowwave.settings.redaction import RedactionSettings
from slowwave.whole_file import read_plain

GONE: Final[Mapping[str, str]] = {
    "context": "opening_shares open_task_days small_lines past_task_days general_shares feature_shares "
    "debugging_shares reviewing_shares quote_characters told_weight shown_entries turn_weight period_weight",
    "decay": "exponent reinforcement reinforcement_scale citation_weight ignore_weight shown_days",
    "edits": "tombstones_a_memory same_words weak_days erase_shortest proof_shortest secret_shortest",
    "embedding": "allow_pull batch_size centring centring_components centring_texts centring_growth centring_sample",
    "episodes": "min_turns max_words turn_words summary_words max_cells max_turns remembered_turns turn_characters "
    "page_characters max_artifacts batch",
    "forget": "preview_days recent_days max_false_rate",
    "graph": "enrich_mentions enrich_general_mentions enrich_growth enrich_cells enrich_words enrich_mention_words "
    "enrich_most_words match_people match_memories causal_pages causal_pairs causal_cells causal_confidence",
    "hooks": "quiet_seconds busy_share retry_seconds attempts waiting stop_seconds",
    "llm": "transport_backoff_seconds outage_failures",
    "night": "min_cells page_tokens extract_batch known_cells earlier_tokens topic_names max_attempts "
    "retry_backoff_hours",
    "promote": "candidates margin settled_days",
    "readers": "document_bytes file_bytes file_lines folder_files part_turns part_characters part_files shown_places "
    "import_salience import_confidence question_set_bytes",
    "reconcile": "scan_days scan_pairs",
    "record": "fold_seconds retry_seconds",
    "search": "fusion text_weight vector_weight entity_weight time_weight former_weight reason_weight evidence_weight "
    "cells topics episodes answer_share asking_penalty speaker_bonus prior_floor",
    "server": "port_tries reads writes waiting body_bytes head_seconds body_seconds connections stop_seconds "
    "flush_seconds runs run_niceness kept_runs telemetry",
    "store": "vector_index_rows keep_versions_hours",
    "summaries": "max_words max_cells whole_tokens",
    "topics": "max_cells group_memories group_topics group_words max_share share_from join_similarity name_weight "
    "crowding group_from",
    "watch": "with_server sources quiet_minutes poll_seconds settle_seconds longest_wait_seconds most_share "
    "compact_ingests",
}
"""Settings that were dropped, by group: files and environments may still have them, to no effect."""

LONGEST_FILE = 1_000_000
"""Bytes of a settings file: a longer one is something else."""

_logger = logging.getLogger("slowwave")


def _without_gone(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Groups of settings without dropped ones, and the names of these; a group of nothing else is left out."""
    kept, gone = dict(given), list[str]()
    for group, names in GONE.items():
        if isinstance(values := given.get(group), Mapping):
            found = [name for name in values if name in names.split()]
            gone += [f"{group}.{name}" for name in found]
            kept[group] = {name: value for name, value in values.items() if name not in found}
            if not kept[group] and group not in Settings.model_fields:
                del kept[group]
    return kept, gone


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
    reconcile: groups.ReconcileSettings = groups.ReconcileSettings()
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
    store: groups.StoreSettings = groups.StoreSettings()

    @model_validator(mode="before")
    @classmethod
    def _ignores_gone(cls, given: dict[str, Any]) -> dict[str, Any]:
        kept, gone = _without_gone(given)
        if gone:
            _logger.warning("there are no such settings any more, remove them: %s", ", ".join(gone))
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
        return env_settings, init_settings


def _gone_in_environment() -> dict[str, dict[str, str]]:
    """Dropped settings in the environment whose whole group was dropped: pydantic does not look at them.

    Raises:
        ConfigError: a name has a group that never was, a slip that would pass unseen.
    """
    gone = dict[str, dict[str, str]]()
    for variable in os.environ:
        group, _, name = variable.lower().removeprefix("slowwave_").partition("__")
        if not variable.lower().startswith("slowwave_") or group in Settings.model_fields:
            continue
        if name not in GONE.get(group, "").split():
            raise ConfigError(
                f"the environment names {variable}, and there is no such setting: see docs/settings.md"
            )
        gone.setdefault(group, {})[name] = ""
    return gone


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
    gone = _gone_in_environment()
    path = folder / "slowwave.toml"
    try:
        settings = Settings(**{**gone, **_read_file(path)})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"setting {name!r} is not usable: {first['msg']}. "
            f"Look at the environment (SLOWWAVE_...) and {path}."
        ) from error
    return settings.model_copy(update={"home": folder})
