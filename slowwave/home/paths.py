"""One home folder: where everything lies, and who may write.

    home/
    |-- slowwave.toml        settings (optional)
    |-- journal/             the truth
    |-- store/               derived tables
    |-- damaged-store-<time> a store that was damaged, moved aside by a rebuild
    |-- cache/answers.sqlite answers of the language model
    |-- MEMORY.md            core memory, written by `promote`
    |-- core.json            hashes of the lines that it was written with: others are a person's
    |-- erase.json           an erase that was cut off, until the next one ends it
    |-- redact.json          a redaction that was cut off, until the next one ends it
    |-- redacted.json        the rules by which the texts were last redacted
    |-- erased.key           the secret behind the digests that keep erased texts out
    |-- rederived/           a derivation beside the memory, a home of its own, until it is switched to or dropped
    |-- cache/opening/       what a conversation in a folder is told at its start, for when no server runs
    |-- cache/shown/         what each conversation was shown, so that it is not told twice
    |-- hooks/               agents that are connected, and what waits of their transcripts
    |-- editing/             a memory's text while `slowwave correct` has it open
    |-- run.lock             the lease of the one run that is at work
    |-- writer.lock          held by whoever changes the store, for one commit
    `-- run.json, writer.json   which process holds them

Any process may commit to the journal. Only the holder of the writer lock changes the store
(`slowwave/home/workspace.py`). Reading needs nothing more than this file, so it imports no language model.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from slowwave.errors import ConfigError
from slowwave.ingest.redact.table import put_in_force, rules_with
from slowwave.journal.segments import Journal
from slowwave.schemas.tables import OWNER
from slowwave.settings.groups import ScopeSettings
from slowwave.settings.tree import Settings, load_settings
from slowwave.store.scopes import asking_in


@dataclass(frozen=True)
class Home:
    """The paths below one home folder, and its settings.

    `living` is the home beside which this one holds a derivation; the two share one answer cache.
    """

    settings: Settings
    living: "Home | None" = None

    @property
    def root(self) -> Path:
        """The home folder."""
        return self.settings.home

    @property
    def owner(self) -> dict[str, str]:
        """The owner in the settings, as the columns `OWNER`."""
        return self.settings.owner.model_dump(include={*OWNER})

    def asking_in(self, project: str | None) -> "Home":
        """The same home, read from within a project (`slowwave/store/scopes.py`)."""
        return self._owned(asking_in(self.settings.owner, project))

    def of_project(self, project: str | None) -> "Home":
        """The same home, whose new rows are of a project; null for the home's own."""
        own = self.settings.owner
        return self._owned(own if project is None else own.model_copy(update={"project_id": project}))

    def _owned(self, owner: ScopeSettings) -> "Home":
        return replace(self, settings=self.settings.model_copy(update={"owner": owner}))

    @property
    def journal(self) -> Journal:
        """The journal."""
        return Journal(self.root / "journal")

    @property
    def store_root(self) -> Path:
        """The folder of the store's generations."""
        return self.root / "store"

    @property
    def cache_path(self) -> Path:
        """The answer cache."""
        return (self.living or self).root / "cache" / "answers.sqlite"

    @property
    def derivation_root(self) -> Path:
        """The folder of a derivation beside this memory."""
        return self.root / "rederived"

    @property
    def core_path(self) -> Path:
        """Core memory as a file."""
        return self.root / "MEMORY.md"

    @property
    def erase_path(self) -> Path:
        """The plan of an erase that is under way, or was cut off."""
        return self.root / "erase.json"

    @property
    def redact_path(self) -> Path:
        """The plan of a redaction that is under way, or was cut off."""
        return self.root / "redact.json"


def open_home(path: Path | str | None = None) -> Home:
    """The home at `path`, else at `SLOWWAVE_HOME`, else this user's; it need not exist yet.

    Raises:
        ConfigError: its settings are not usable.
    """
    settings = load_settings(path)
    own = settings.redaction
    put_in_force(rules_with(own.rules, own.labels, own.keep))
    return Home(settings)


def unwritable(home: Home, error: OSError) -> ConfigError:
    """The error that says of a home folder that it cannot be written."""
    where = f" ({Path(error.filename).name})" if error.filename else ""
    return ConfigError(f"the home folder {home.root} cannot be written{where}: {error.strerror}")
