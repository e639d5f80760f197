"""Requests to the memory by a person or an agent, beside `SearchRequest` and `ContextRequest`.

One model a call: `Memory` makes it from keywords, the command line takes its help texts, bounds and defaults from it.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from slowwave.schemas.choices import (
    CellStatus,
    CellType,
    CorrectionReason,
    ExportFormat,
    Resolution,
    SaidBy,
)
from slowwave.schemas.refusals import CLEAN, Request, Switch, Text, possible_time
from slowwave.schemas.search import FROM_WITHIN, MAX_LIMIT, Moment, Narrowing, Query, Scope, When

LONGEST_TEXT = 4_000
"""Characters of what may be remembered at once: a memory is a sentence or two; a file goes through `ingest`."""

LONGEST_NAME = 200
"""Characters of a subject, an attribute, a value or an entity."""

MOST_ENTITIES = 32

LONGEST_PATH = 4_096
"""Characters of a project, which may be named by a folder in it."""

LONGEST_CURSOR = 500
MOST_OF_A_PAGE = 200

LONGEST_ID = 200
"""Characters of an id that another program gave: of a message or a conversation."""

LONGEST_MESSAGE = 1_000_000
"""Characters of one recorded message; of a longer one than `readers.message_characters` the middle is left out."""

MOST_MESSAGES = 1_000
"""Messages that are recorded at once."""

Name = Annotated[str, Field(max_length=LONGEST_NAME), CLEAN]
Project = Annotated[str, Field(min_length=1, max_length=LONGEST_PATH), CLEAN]
Sentence = Annotated[str, Field(max_length=LONGEST_TEXT), CLEAN]
Asked = Annotated[Project | None, Field(description=FROM_WITHIN)]
"""A project to ask from."""

OwnId = Annotated[str, Field(max_length=LONGEST_ID), CLEAN]
Entities = Annotated[
    tuple[Name, ...],
    Field(max_length=MOST_ENTITIES, description="A person, project, place or thing that it names."),
]


class CellRequest(Request):
    """One memory, by its id: to explain or confirm it."""

    cell_id: Text = Field(description="Id of a memory; its first 6 or more characters are enough.")
    note: Sentence = Field(default="", description="Your reason; kept with the memory.")


NEW_PROJECT = "Begin that project where none is called so yet; a repository's needs no beginning."

WHOSE_WORD = "Whose word it is: user, reported (passed on by an assistant) or agent (an assistant's own)."


class ConfirmRequest(CellRequest):
    """A memory that holds, by its id."""

    origin: SaidBy = Field(
        default="user", description=f"{WHOSE_WORD} But for the user's it is noted, and protects nothing."
    )


class _Statement(Request):
    """A person's statement, and what it is about."""

    subject: Name | None = Field(default=None, description="The person or thing that it is about.")
    attribute: Name | None = Field(
        default=None,
        description="The property of the subject that it states: a later memory with another value replaces it.",
    )
    value: Name | None = Field(default=None, description="The value of that property.")


class RememberRequest(_Statement):
    """Something to remember, in a person's own words."""

    text: Sentence = Field(description="One or two whole sentences that can be understood alone.")
    cell_type: CellType = Field(default="fact", description="The type of memory.")
    entities: Entities = ()
    salience: float = Field(default=0.8, ge=0, le=1, description="How much it matters, from 0 to 1.")
    origin: SaidBy = Field(default="user", description=WHOSE_WORD)
    project: Project | None = Field(
        default=None, description="The project that it is about alone (default: it is known in all of them)."
    )
    new_project: Switch = Field(default=False, description=NEW_PROJECT)


class _Edit(CellRequest):
    """An edit by which a memory goes."""

    dry_run: Switch = Field(default=False, description="Show what would go, and change nothing.")


class ForgetRequest(_Edit):
    """A memory to delete, by its id; or a part of one that is raw talk."""

    only: Sentence = Field(
        default="", description="Words of what is meant, where the memory is raw talk: the rest of it stays."
    )


class CorrectRequest(_Edit, _Statement):
    """The right text instead of a memory. Fields that are not given are taken over from that memory.

    From a memory that no person said or confirmed only those that the text says itself.
    """

    text: Sentence = Field(description="What is right, as a sentence that can be understood alone.")
    entities: Entities | None = None
    reason: CorrectionReason | None = Field(
        default=None,
        description="changed: it was true until then; wrong: it never was (default: the words decide).",
    )
    since: When | None = Field(
        default=None,
        description="Day of the change: 2026-05-01, last_week (default: as the text says, else today).",
    )
    origin: SaidBy = Field(
        default="user",
        description=f"{WHOSE_WORD} But for the user's it opens a contradiction with what a person said.",
    )

    @model_validator(mode="after")
    def _has_a_day_if_changed(self) -> "CorrectRequest":
        if self.reason == "wrong" and self.since is not None:
            raise ValueError("what is wrong never held, so it has no day: leave out since, or choose changed")
        return self


class ResolveRequest(Request):
    """The end of a contradiction."""

    contradiction_id: Text = Field(
        description="Id of a contradiction; its first 6 or more characters are enough."
    )
    resolution: Resolution = Field(
        description="a_wins, b_wins, both_valid, or merged (a new text replaces both)."
    )
    text: Sentence = Field(default="", description="The text that replaces both memories; only for merged.")
    note: Sentence = Field(default="", description="Your reason; kept with the contradiction.")

    @model_validator(mode="after")
    def _has_a_text_if_merged(self) -> "ResolveRequest":
        if self.resolution == "merged" and not self.text.strip():
            raise ValueError("this resolution needs the text that replaces both memories: give one")
        if self.resolution != "merged" and self.text.strip():
            raise ValueError("a text belongs to the resolution that merges both: this one writes nothing new")
        return self


class EraseRequest(Request):
    """One memory, turn, conversation or text to erase; or the end of an erase that was interrupted."""

    cell_id: Text | None = Field(
        default=None, description="A memory, together with the turns that it was made from."
    )
    turn_id: Text | None = Field(default=None, description="One turn of a conversation.")
    session_id: Text | None = Field(default=None, description="A whole conversation.")
    text: Text | None = Field(
        default=None, description="Every turn and every memory that contains this text."
    )
    resume: Switch = Field(default=False, description="Finish an erase that was interrupted.")
    dry_run: Switch = Field(default=False, description="Show what would change, and change nothing.")


class ExportRequest(Request):
    """A way out of the home: a folder, a form, and which of the memories that you may see."""

    to: Text = Field(
        min_length=1, description="The folder to write into; a file of an earlier export there is replaced."
    )
    format: ExportFormat = Field(
        default="jsonl",
        description="jsonl (complete, for `slowwave ingest`) or markdown (one page for people).",
    )
    project: Text | None = Field(
        default=None, description="Only what is of this project (default: all that you may see)."
    )
    scopes: tuple[Scope, ...] = Field(default=(), description="Only memories of this scope.")
    dry_run: Switch = Field(default=False, description="Show what would be written, and write nothing.")


class CiteRequest(Request):
    """Memories that were used in an answer."""

    cell_ids: tuple[Text, ...] = Field(
        description="Ids of memories; their first 6 or more characters are enough."
    )
    context: Text = Field(default="", description="Where they were used, such as a conversation or a file.")


class TimelineRequest(Request):
    """Dated memories of exactly one name, topic or conversation."""

    name: Text = Field(default="", description="A person, a thing or a subject.")
    topic: Text = Field(default="", description="A topic instead, by its name or id.")
    session: Text = Field(default="", description="A conversation instead, by its id or file name.")
    limit: int = Field(
        default=100, ge=1, le=10_000, description="The most events to show; the newest are kept."
    )
    project: Asked = None


class ArchivedRequest(Request):
    """Words to find faded memories by."""

    query: Query = Field(description="Words of the memories to find.")
    limit: int = Field(default=10, ge=1, le=MAX_LIMIT, description="The most memories to show.")


class WeakRequest(Request):
    """Days to look ahead for memories that will fade."""

    days: float | None = Field(
        default=None,
        ge=0,
        le=36_500,
        description="Days to look ahead (default: 30).",
    )


class PageRequest(Request):
    """A page of a list, which goes on where the cursor of the page before says."""

    limit: int = Field(default=50, ge=1, le=MOST_OF_A_PAGE, description="The most entries of the page.")
    cursor: str = Field(
        default="",
        max_length=LONGEST_CURSOR,
        description="The `next_cursor` of the page before; empty for the first page.",
    )


class CellsRequest(PageRequest, Narrowing[When]):
    """A page of the memories that pass all filters, newest first."""

    status: CellStatus | None = Field(
        default=None, description="Only memories in this state; of a past moment only those that held then."
    )


class ProjectPageRequest(PageRequest):
    """A page of entities, conversations or topics."""

    project: Asked = None


class RecordTurn(Request):
    """A message of a conversation, as it was said."""

    session_id: OwnId = Field(min_length=1, description="The conversation.")
    role: Literal["user", "assistant", "system", "tool"] = Field(
        description="Who speaks; what the system and tools say is counted and not stored."
    )
    text: Annotated[str, Field(max_length=LONGEST_MESSAGE), CLEAN] = Field(description="What was said.")
    id: OwnId = Field(
        default="",
        description="The message's own id, unique in its conversation: said again, it adds nothing; with another text "
        "it takes the place of the first. Without one, the same text at the same time is the same message.",
    )
    time: Annotated[Moment, AfterValidator(possible_time)] | None = Field(
        default=None, description="When it was said (default: now)."
    )
    speaker: OwnId = Field(default="", description="The name of who speaks.")
    cwd: Text = Field(default="", description="The folder that the conversation is about.")
    branch: Name = Field(default="", description="The git branch there.")


class RecordRequest(Request):
    """Messages to record: durable when the call returns, found soon after, remembered by the next night."""

    turns: tuple[RecordTurn, ...] = Field(
        min_length=1, max_length=MOST_MESSAGES, description="The messages, oldest first."
    )
    client: Name = Field(
        default="", description="The program that records them, such as claude-code: their source in answers."
    )
    project: Project | None = Field(
        default=None,
        description="Their project (default: that of their conversation so far, else of the repository of its folder).",
    )
    new_project: Switch = Field(default=False, description=NEW_PROJECT)
