"""The lexicon's lists hold words once, as they are compared."""

import pytest

from slowwave.language import lexicon

LISTS = {name: words for name, words in lexicon.LISTS.items() if not isinstance(words, dict)}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_holds_each_word_once_and_in_lower_case(name: str):
    words = lexicon.words(name)
    assert words
    assert len(set(words)) == len(words)
    assert [word for word in words if word != word.lower()] == []


@pytest.mark.parametrize("table", ["nicknames", "kind_synonyms"])
def test_an_alias_stands_for_one_word_alone(table: str):
    aliases = [alias for known in lexicon.LISTS[table].values() for alias in known.split()]
    assert len(set(aliases)) == len(aliases)
    assert not set(aliases) & lexicon.LISTS[table].keys()


def test_a_nickname_is_the_name_that_it_stands_for():
    nicknames = lexicon.by_alias("nicknames")
    assert nicknames["peggy"] == "margaret"
    assert not {"alex", "chris", "pat", "sam"} & nicknames.keys()
