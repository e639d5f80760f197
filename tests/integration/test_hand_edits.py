"""`MEMORY.md` edited by hand: new lines are a person's words, removed ones stay out, and nothing is overwritten."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from flows.promote import promote
from slowwave import Memory
from slowwave.home.core_file import write_core_file
from slowwave.home.workspace import open_workspace
from slowwave.store import col, lit
from tests.scripted_model import store_of, write_settings

WISH = "From now on always write commit messages in French."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_settings(tmp_path / "home", embedding={"provider": "none"})
    return tmp_path / "home"


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory(home, records_usage=False) as memory:
        memory.remember("The queue of kiln is Redis.", cell_type="decision")
        memory.remember("Releases go out on Tuesdays.")
        promote.fn(home=str(home))
        yield memory


def page(home: Path) -> str:
    return (home / "MEMORY.md").read_text(encoding="utf-8")


def edit(home: Path, old: str, new: str) -> None:
    text = page(home)
    assert old in text
    (home / "MEMORY.md").write_text(text.replace(old, new), encoding="utf-8")


def add(home: Path, *lines: str) -> None:
    (home / "MEMORY.md").write_text(page(home) + "\n".join([*lines, ""]), encoding="utf-8")


def line_of(home: Path, words: str) -> str:
    (line,) = [line for line in page(home).splitlines() if words in line]
    return line


def cells_of(home: Path, words: str) -> pl.DataFrame:
    return store_of(home).rows("cells").filter(pl.col("content").str.contains(words))


def test_a_new_line_is_remembered_as_the_persons_word_and_stays(memory: Memory, home: Path):
    add(
        home,
        "## Mine",
        "- Never deploy on Fridays.",
        "* Paul is the",
        "  owner of the budget.",
        "1. [risk] The disk is full.",
    )
    promote.fn(home=str(home))
    cells = cells_of(home, "Fridays|budget|disk").sort("content")
    assert cells.select("content", "cell_type", "origin", "protected", "is_wish").rows() == [
        ("Never deploy on Fridays.", "preference", "user", True, True),
        ("Paul is the owner of the budget.", "fact", "user", True, False),
        ("The disk is full.", "risk", "user", True, False),
    ]
    assert "[preference] Never deploy on Fridays. (confirmed by you, " in page(home)
    before = page(home)
    promote.fn(home=str(home))
    assert page(home) == before == memory.core()


def test_a_removed_line_stays_out_and_its_memory_stays(memory: Memory, home: Path):
    edit(home, line_of(home, "Redis") + "\n", "")
    promote.fn(home=str(home))
    promote.fn(home=str(home))
    assert "Redis" not in page(home)
    (cell,) = cells_of(home, "Redis").rows(named=True)
    assert cell["status"] == "active"
    assert "a person took it out of core memory" in str(memory.explain(cell["cell_id"]))
    memory.confirm(cell["cell_id"])
    promote.fn(home=str(home))
    assert "Redis" in page(home)


def test_a_changed_line_is_a_removed_and_a_new_one(memory: Memory, home: Path):
    edit(home, "Tuesdays", "Wednesdays")
    memory.remember("Mara likes tea.")
    assert "Releases go out on Wednesdays. (confirmed by you" in page(home)
    assert "Tuesdays" not in page(home)
    assert cells_of(home, "Tuesdays")["status"].to_list() == ["active"]


def test_a_line_that_is_put_back_stands_again_and_is_no_second_memory(memory: Memory, home: Path):
    line = line_of(home, "Redis")
    edit(home, line + "\n", "")
    promote.fn(home=str(home))
    add(home, line)
    promote.fn(home=str(home))
    assert "The queue of kiln is Redis." in page(home)
    assert cells_of(home, "Redis").height == 1


def test_an_edit_that_nobody_took_in_is_never_overwritten(memory: Memory, home: Path):
    add(home, "- Never deploy on Fridays.")
    with open_workspace(home) as workspace:
        assert write_core_file(workspace.home, workspace.store) is False
    assert "Fridays" in page(home)
    assert cells_of(home, "Fridays").is_empty()
    promote.fn(home=str(home), dry_run=True)
    assert cells_of(home, "Fridays").is_empty()


def test_a_secret_in_a_line_is_redacted(memory: Memory, home: Path):
    key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    add(home, f"- The token of the bot is {key}.")
    promote.fn(home=str(home))
    assert key not in page(home)
    assert "[redacted:" in page(home)


@pytest.mark.parametrize("rest", ["", "\n \n", "\x00\xff{"])
def test_a_file_that_is_gone_or_no_text_asks_for_nothing_and_is_written_anew(
    memory: Memory, home: Path, rest: str
):
    before = page(home)
    (home / "MEMORY.md").write_text(rest, encoding="latin-1")
    promote.fn(home=str(home))
    assert page(home) == before
    (home / "MEMORY.md").unlink()
    promote.fn(home=str(home))
    assert page(home) == before


def test_where_it_is_lost_what_the_file_held_no_line_is_taken_for_a_persons(memory: Memory, home: Path):
    before, cells = page(home), store_of(home).count("cells", col("status") == lit("active"))
    (home / "core.json").unlink()
    add(home, "- Never deploy on Fridays.")
    promote.fn(home=str(home))
    assert before.removesuffix("\n") in page(home)
    assert store_of(home).count("cells", col("status") == lit("active")) == cells + 1


def test_lines_beyond_the_most_are_remembered_and_do_not_stand(memory: Memory, home: Path):
    add(home, *(f"- Rule {number} holds." for number in range(250)))
    promote.fn(home=str(home))
    assert cells_of(home, "^Rule ").height == 250
    assert sum(line.startswith("- ") for line in page(home).splitlines()) == 200


def test_what_is_typed_among_several_users_is_for_all_of_them(memory: Memory, home: Path):
    write_settings(home, embedding={"provider": "none"}, owner={"user_id": "bob"})
    with Memory(home, records_usage=False) as bob:
        bob.remember("Bob hates Mondays.")
        add(home, "- Never deploy on Fridays.")
        promote.fn(home=str(home))
        assert cells_of(home, "Fridays")["scope"].to_list() == ["project-shared"]
        assert "Redis" not in page(home)
        assert "Redis" not in bob.core()
    assert "Fridays" in memory.core()
    assert "Redis" in memory.core()
    assert "Mondays" not in memory.core()


def test_a_standing_wish_that_is_remembered_is_marked_as_one_at_once(memory: Memory, home: Path):
    memory.remember(WISH)
    memory.remember("From now on always deploy twice.", origin="agent")
    wishes = store_of(home).rows(
        "cells", ["content"], (col("is_wish") == lit(value=True)) & (col("origin") == lit("user"))
    )
    assert wishes["content"].to_list() == [WISH]


def test_what_is_erased_is_gone_from_the_file_though_it_was_typed_there(memory: Memory, home: Path):
    add(home, "- The cellar is full of zirconium.")
    memory.erase(text="zirconium")
    assert "zirconium" not in page(home)
    assert cells_of(home, "zirconium").is_empty()


def test_a_line_says_again_what_was_deleted(memory: Memory, home: Path):
    (cell_id,) = cells_of(home, "Tuesdays")["cell_id"]
    memory.forget(cell_id)
    assert "Tuesdays" not in page(home)
    add(home, "- Releases go out on Tuesdays.")
    promote.fn(home=str(home))
    assert "Tuesdays" in page(home)
    assert store_of(home).count("tombstones") == 0
