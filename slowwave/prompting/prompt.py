"""A rendered prompt: what goes to the model, and the version of the file that it was rendered from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompt:
    """`prompt_version` names file and version (`extract_cells.v1`); both texts are final, never templates."""

    prompt_version: str
    system: str
    user: str
