"""The project of a folder: its repository, the same for all worktrees, and nothing for a folder outside of any."""

import os
from pathlib import Path

import pytest

from slowwave.settings.groups import ScopeSettings
from slowwave.settings.projects import project_of, repository_project


def repository(folder: Path) -> Path:
    """A repository as `git init` leaves it, as far as its folders go."""
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def worktree(of: Path, folder: Path) -> Path:
    """A worktree as `git worktree add` leaves it."""
    state = of / ".git" / "worktrees" / folder.name
    state.mkdir(parents=True)
    (state / "commondir").write_text("../..\n")
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {state}\n")
    return folder


def test_a_project_is_named_after_its_repository_and_told_apart_by_its_place(tmp_path: Path):
    one, other = repository(tmp_path / "a" / "Kiln App"), repository(tmp_path / "b" / "Kiln App")
    names = {repository_project(str(one)), repository_project(str(other))}
    assert len(names) == 2
    assert all(name is not None and name.startswith("kiln-app-") for name in names)


def test_folders_and_worktrees_of_a_repository_are_one_project(tmp_path: Path):
    kiln = repository(tmp_path / "kiln")
    (kiln / "app" / "deep").mkdir(parents=True)
    beside = worktree(kiln, tmp_path / "elsewhere" / "kiln-fix")
    (tmp_path / "link").symlink_to(kiln)
    places = [
        kiln,
        kiln / "app" / "deep",
        kiln / "app" / "gone",
        kiln / ".git",
        beside,
        tmp_path / "link" / "app",
    ]
    assert {repository_project(str(place)) for place in places} == {repository_project(str(kiln))}


def test_a_bare_repository_and_a_submodule_are_projects(tmp_path: Path):
    kiln = repository(tmp_path / "kiln")
    module = kiln / ".git" / "modules" / "oven"
    module.mkdir(parents=True)
    (kiln / "oven").mkdir()
    (kiln / "oven" / ".git").write_text("gitdir: ../.git/modules/oven\n")
    bare = tmp_path / "ferry.git"
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    assert str(repository_project(str(kiln / "oven"))).startswith("oven-")
    assert str(repository_project(str(bare))).startswith("ferry-")


@pytest.mark.parametrize(
    "folder",
    [
        "",
        "kiln",
        "../kiln",
        "/",
        "/no/such/folder",
        "C:\\work\\kiln",
        "/a\x00b",
        "/" + "x" * 5_000,
        "/proc/self/fd",
    ],
)
def test_what_is_no_folder_of_a_repository_is_no_project(folder: str):
    assert repository_project(folder) is None


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: /no/such/folder", "gitdir: \x00", "x" * 100_000])
def test_a_pointer_that_leads_nowhere_is_passed_by(tmp_path: Path, text: str):
    (tmp_path / ".git").write_text(text)
    assert repository_project(str(tmp_path)) is None


def test_a_pipe_in_the_place_of_a_repository_is_never_read(tmp_path: Path):
    os.mkfifo(tmp_path / ".git")
    assert repository_project(str(tmp_path)) is None


def test_a_home_that_keeps_to_its_project_looks_at_no_folder(tmp_path: Path):
    kiln = str(repository(tmp_path / "kiln"))
    assert project_of(ScopeSettings(project_id="mine", project_from="setting"), kiln) == "mine"
    assert project_of(ScopeSettings(project_id="mine"), str(tmp_path)) == "mine"
    assert project_of(ScopeSettings(project_id="mine"), kiln) == repository_project(kiln)
