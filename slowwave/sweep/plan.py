"""The plan of a sweep: written to `redact.json` before anything changes, and kept there until the proof is done."""

from pydantic import BaseModel, ConfigDict


class Cut(BaseModel):
    """Borders and hash of a window of turns after the text of one of them changed."""

    model_config = ConfigDict(frozen=True)

    first_char: int
    last_char: int
    content_hash: str


class Taken(BaseModel):
    """Secrets of one kind that one event loses: the payload of `text.redacted` but for what all of a sweep share."""

    model_config = ConfigDict(frozen=True)

    event_id: str
    secret_kind: str
    secret_count: int


class Found(BaseModel):
    """Findings in numbers: by kind of secret, by place in the home, and by source and day."""

    model_config = ConfigDict(frozen=True)

    kinds: dict[str, int] = {}
    places: dict[str, int] = {}
    days: dict[str, int] = {}


class SweepPlan(BaseModel):
    """Everything by which the journal is rewritten and the home is searched afterwards.

    `secrets` (with their kinds) are masked wherever they stand, and searched for. `weak` ones are plain or short words:
    they are taken out where their surroundings show them, and of what was made from `touched` rows. `segments` change,
    and so may those after `last_segment`. `renamed` has former and new ids, `hashes` former and new hashes of texts,
    `cuts` the windows of changed turns by former and new id. `torn` files of the journal hold a secret and go.
    """

    model_config = ConfigDict(frozen=True)

    redaction_id: str
    rules_id: str
    secrets: dict[str, str]
    weak: dict[str, str]
    touched: list[str]
    segments: list[str]
    last_segment: str
    renamed: dict[str, str]
    hashes: dict[str, str]
    cuts: dict[str, Cut]
    taken: list[Taken]
    torn: list[str]
    found: Found

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was found anywhere."""
        return not self.found.places
