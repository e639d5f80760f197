"""The folder of a home: with its user, whatever the current folder."""

from pathlib import Path

import pytest

from slowwave.errors import ConfigError
from slowwave.home.paths import open_home
from slowwave.interfaces.cli import options
from slowwave.interfaces.cli.doctor import former_home_checks
from slowwave.settings.place import data_folder, home_folder


@pytest.fixture
def user(tmp_path, monkeypatch) -> Path:
    """A user's folder; the current one is a checkout with a memory of an earlier version."""
    monkeypatch.setenv("HOME", str(tmp_path / "mara"))
    monkeypatch.delenv("XDG_DATA_HOME")
    journal = tmp_path / "checkout" / "data" / "home" / "journal"
    journal.mkdir(parents=True)
    (journal / "segment").write_text("what was said")
    monkeypatch.chdir(tmp_path / "checkout")
    return tmp_path / "mara"


def files_of(folder: Path) -> dict[Path, str]:
    return {path: path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_the_home_is_the_same_in_every_folder(user, tmp_path, monkeypatch):
    home = home_folder()
    assert home == open_home().root == user / ".local" / "share" / "slowwave"
    monkeypatch.chdir(tmp_path)
    assert home_folder() == home


def test_an_option_wins_over_the_environment_and_both_over_the_home_of_the_user(user, monkeypatch):
    monkeypatch.setenv("SLOWWAVE_HOME", "~/memory")
    assert (home_folder(), home_folder("here")) == (user / "memory", Path("here"))


def test_the_folder_for_data_is_the_one_of_the_system(user, monkeypatch):
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert data_folder("linux") == user / ".local" / "share"
    assert data_folder("darwin") == user / "Library" / "Application Support"
    assert data_folder("win32") == user / "AppData" / "Local"
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    assert data_folder("linux") == user / ".local" / "share"
    monkeypatch.setenv("XDG_DATA_HOME", str(user / "data"))
    assert data_folder("darwin") == user / "data"


def test_a_home_of_nobody_says_how_to_name_another():
    with pytest.raises(ConfigError, match="--home or SLOWWAVE_HOME"):
        home_folder("~no-such-user/home")


def test_an_earlier_home_is_named_until_the_user_has_one_and_left_alone(user, monkeypatch, capsys):
    former = Path.cwd() / "data" / "home"
    before = files_of(former)
    options.name_former_home()
    said = capsys.readouterr().err
    assert (said.count("\n"), f"add --home {former}" in said, str(home_folder()) in said) == (1, True, True)
    assert not home_folder().exists(), "so that the earlier one can be moved there"
    home_folder().mkdir(parents=True)
    options.name_former_home()
    assert capsys.readouterr().err == ""
    assert files_of(former) == before


def test_a_folder_with_no_memory_in_it_is_no_earlier_home(user, tmp_path, monkeypatch, capsys):
    (tmp_path / "data" / "home").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    options.name_former_home()
    assert capsys.readouterr().err == ""
    assert former_home_checks(open_home()) == []


def test_doctor_names_an_earlier_home_unless_it_is_the_one_in_use(user, tmp_path):
    former = tmp_path / "checkout" / "data" / "home"
    (check,) = former_home_checks(open_home())
    assert f"--home {former}" in check.found
    assert (check.is_well, check.is_needed) == (False, False)
    assert former_home_checks(open_home("data/home")) == []


def test_a_home_that_is_a_loop_of_links_ends_in_one_line(tmp_path: Path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.symlink_to(other)
    other.symlink_to(one)
    with pytest.raises(ConfigError, match="a loop of links"):
        home_folder(one)
