"""Bodies and answers of the API that are not those of `Memory` as they stand."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

from fastapi import Path
from pydantic import Field, create_model

from slowwave.errors import InputError
from slowwave.schemas.context import Activity, Context, ContextLine, ContextRequest, Label, TierName
from slowwave.schemas.context import Path as FilePath
from slowwave.schemas.refusals import CLEAN, Frozen, Request, Switch, Text
from slowwave.schemas.requests import (
    ConfirmRequest,
    CorrectRequest,
    ForgetRequest,
    PageRequest,
    Project,
    ResolveRequest,
    WeakRequest,
)
from slowwave.schemas.results import Entry, Page
from slowwave.schemas.search import FROM_WITHIN

if TYPE_CHECKING:
    ForgetBody: TypeAlias = Request
    ConfirmBody: TypeAlias = Request
    CorrectBody: TypeAlias = Request
    ResolveBody: TypeAlias = Request
else:

    def _without(model: type[Request], name: str, field: str) -> type[Request]:
        """A request without the id, which the address has."""
        kept = {key: (one.annotation, one) for key, one in model.model_fields.items() if key != field}
        return create_model(name, __base__=Request, __doc__=model.__doc__, **kept)

    ForgetBody = _without(ForgetRequest, "ForgetBody", "cell_id")
    ConfirmBody = _without(ConfirmRequest, "ConfirmBody", "cell_id")
    CorrectBody = _without(CorrectRequest, "CorrectBody", "cell_id")
    ResolveBody = _without(ResolveRequest, "ResolveBody", "contradiction_id")

Id = Annotated[
    str, Path(pattern=r"^[0-9A-Za-z_-]{6,64}$", description="An id, or its first 6 or more characters.")
]


class EraseBody(Request):
    """Body of an erase; the address names the memory."""

    dry_run: Switch = Field(default=False, description="Show what would change, and change nothing.")


class Within(Request):
    """A project to ask from."""

    project: Project | None = Field(default=None, description=FROM_WITHIN)


class EntityAsked(Within):
    """A name to describe."""

    name: Annotated[str, Field(min_length=1, max_length=1_000)] = Field(
        description="A person, a thing or a subject."
    )


class DisputesAsked(PageRequest):
    """A page of contradictions."""

    has_resolved: bool = Field(default=False, description="Resolved ones too, after the open ones.")


class FadingAsked(PageRequest, WeakRequest):
    """A page of memories that will fade."""


class Signals(Request):
    """Signals of the moment."""

    current_file: FilePath | None = Field(default=None, description="Path of the file that is being edited.")
    recent_errors: tuple[Text, ...] = Field(default=(), description="The text of a recent error.")
    activity: Activity = Field(default="general", description="The kind of work.")
    branch: Label | None = Field(default=None, description="Branch of version control.")


class AssembleBody(ContextRequest):
    """A request for context: the budget and the signals may also be given as `budget` and in `signals`."""

    budget: int | None = Field(default=None, ge=1, description="The same as `budget_tokens`.")
    signals: Signals | None = Field(default=None, description="The same as the fields of these names.")

    def asked(self) -> dict[str, object]:
        """The keywords of `Memory.context`; of what is given twice, those of its own name."""
        signals = self.signals or Signals()
        found = {name: getattr(signals, name) for name in signals.model_fields_set}
        found |= {} if self.budget is None else {"budget_tokens": self.budget}
        return found | {name: getattr(self, name) for name in self.model_fields_set - {"budget", "signals"}}


class AssembledLine(ContextLine):
    """A line of the context, with its tier."""

    tier: TierName


class Assembled(Frozen):
    """Context for a prompt; `context` is fenced as recalled memory, and empty where there is nothing to say."""

    context: str
    token_count: int = Field(ge=0, description="Tokens of `context`, fence and headings included.")
    budget_tokens: int
    tiers: dict[str, int] = Field(description="Tokens of each tier: `tier1` is critical, `tier4` the index.")
    lines: list[AssembledLine] = Field(description="The lines of `context` with their sources.")
    activity: Activity
    small: bool
    notes: list[str]


def assembled(found: Context) -> Assembled:
    """A context as the API gives it."""
    return Assembled(
        context=found.text,
        token_count=found.tokens,
        budget_tokens=found.budget_tokens,
        tiers={f"tier{number}": tier.tokens for number, tier in enumerate(found.tiers, start=1)},
        lines=[AssembledLine(**dict(line), tier=tier.name) for tier in found.tiers for line in tier.lines],
        activity=found.activity,
        small=found.small,
        notes=found.notes,
    )


def page_of(
    kind: type[Page[Entry]], found: Sequence[Entry], key: Callable[[Entry], str], asked: PageRequest
) -> Page[Entry]:
    """A page of a list that is there as a whole, after the entry that the cursor names.

    Raises:
        InputError: nothing in the list has that cursor any more.
    """
    ids = [key(one) for one in found]
    if asked.cursor and asked.cursor not in ids:
        raise InputError("no entry has this cursor any more: begin at the first page")
    start = ids.index(asked.cursor) + 1 if asked.cursor else 0
    end = start + asked.limit
    cursor = ids[end - 1] if end < len(found) else ""
    return kind(entries=list(found[start:end]), next_cursor=cursor, total=len(found))


class CoreMemory(Frozen):
    """Core memory."""

    text: str = Field(
        description="Core memory of the home, and behind it what a named project has; empty where there is none yet."
    )


class Cited(Frozen):
    """Memories that were counted."""

    cell_ids: list[str]


class IgnoreBody(Request):
    """Memories that were shown and did not help."""

    cell_ids: tuple[Annotated[str, Field(min_length=1, max_length=64), CLEAN], ...] = Field(
        min_length=1, max_length=1_000, description="Whole ids of memories."
    )
    context: Text = Field(default="", description="Where they were shown, such as a conversation.")


class SettleBody(Request):
    """The end of a conversation."""

    conversation_id: Annotated[str, Field(min_length=1, max_length=1_000), CLEAN]
    cited: tuple[Annotated[str, Field(max_length=64), CLEAN], ...] = Field(
        default=(), max_length=1_000, description="Ids that were used, beside those that were cited."
    )
    reads_answers: Switch = Field(
        default=False, description="Find in the stored answers of the conversation what they cite."
    )


class ReleaseBody(Request):
    """Work that goes back to the next night."""

    ids: tuple[Annotated[str, Field(max_length=64), CLEAN], ...] | None = Field(
        default=None, max_length=1_000, description="What goes back; null for all of it."
    )


class Released(Frozen):
    """Work that went back."""

    ids: list[str]


class IngestBody(Request):
    """Files and folders of this machine to take in."""

    sources: tuple[FilePath, ...] = Field(
        min_length=1,
        max_length=100,
        description="Absolute paths of files and folders, which this server's user can read.",
    )
    dry_run: Switch = Field(default=False, description="Show what would change, and change nothing.")
