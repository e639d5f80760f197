"""One settings tree: every number of the specification is a default here, never a constant in code.

Read from the environment (`SLOWWAVE_` prefix, `__` between levels, as in
`SLOWWAVE_LLM__PROVIDER=ollama`), then from `slowwave.toml` in the home folder. Nothing here reads the
clock, the store or the network.
"""

import os
import tomllib
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from slowwave.errors import ConfigError
from slowwave.settings.groups import (
    ChunkSettings,
    DecaySettings,
    EmbeddingSettings,
    EpisodeSettings,
    ForgetSettings,
    GraphSettings,
    LLMSettings,
    NightSettings,
    PromoteSettings,
    ReconcileSettings,
    ScopeSettings,
    StoreSettings,
    SummarySettings,
    WordSettings,
)
from slowwave.settings.reading import ContextSettings, SearchSettings


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix="SLOWWAVE_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    home: Path = Field(default=Path("data/home"), description="Where journal, store and caches live.")
    own: ScopeSettings = ScopeSettings()
    chunks: ChunkSettings = ChunkSettings()
    llm: LLMSettings = LLMSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    night: NightSettings = NightSettings()
    reconcile: ReconcileSettings = ReconcileSettings()
    summaries: SummarySettings = SummarySettings()
    episodes: EpisodeSettings = EpisodeSettings()
    graph: GraphSettings = GraphSettings()
    decay: DecaySettings = DecaySettings()
    forget: ForgetSettings = ForgetSettings()
    words: WordSettings = WordSettings()
    promote: PromoteSettings = PromoteSettings()
    search: SearchSettings = SearchSettings()
    context: ContextSettings = ContextSettings()
    store: StoreSettings = StoreSettings()

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


def _refuse_unknown_names() -> None:
    """A name in the environment whose group does not exist: a slip that would pass unseen."""
    groups = {f"SLOWWAVE_{name.upper()}" for name in Settings.model_fields}
    for name in os.environ:
        if name.upper().startswith("SLOWWAVE_") and name.upper().split("__")[0] not in groups:
            raise ConfigError(
                f"the environment names {name}, and there is no such setting: see docs/settings.md"
            )


def load_settings(home: Path | str | None = None) -> Settings:
    """Settings of one home folder.

    `home` wins over `SLOWWAVE_HOME`, which wins over `data/home`. `slowwave.toml` in that folder is read
    when it exists; the environment wins over it.

    Raises:
        ConfigError: the file is not TOML, or a name or value is not allowed.
    """
    folder = Path(home or os.environ.get("SLOWWAVE_HOME") or "data/home").expanduser()
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"the home {folder} is not a folder: name another with --home or SLOWWAVE_HOME")
    _refuse_unknown_names()
    path = folder / "slowwave.toml"
    given: dict[str, Any] = {}
    if path.is_file():
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is not valid TOML: {error}. Mend or remove it.") from error
    try:
        settings = Settings(**given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"setting {name!r} is not usable: {first['msg']}. "
            f"Look at the environment (SLOWWAVE_...) and {path}."
        ) from error
    return settings.model_copy(update={"home": folder})
