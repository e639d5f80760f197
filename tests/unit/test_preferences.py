"""Sentences that say how something is always to be done, and those that only tell."""

import pytest

from slowwave.language.wishes import is_standing, withdrawn_matters


@pytest.mark.parametrize(
    "text",
    [
        "Always answer in German.",
        "The parser is slow. And please never use tabs in this project.",
        "I really prefer small commits.",
        "Mara prefers answers without apologies.",
        "You must always run the linter before you commit.",
        "From now on the changelog is written first.",
        "Antworte immer kurz. Nie Tabs verwenden!",
        "From now on, answer me in German.",
        "Ok. Ab sofort bitte auf Deutsch.",
        "Désormais, réponds en français.",
        "By default, run the quick tests.",
        "Please remember that we use pnpm, never npm.",
        "Remember: our CI runs on Hetzner.",
        "Bitte merk dir, dass wir pnpm nutzen.",
        "Recuerda que usamos pnpm.",
        "Use tabs, not spaces.",
        "Verwende Tabs, keine Leerzeichen.",
        "Don't add comments unless I ask.",
        "Please do not delete files without asking.",
        "Don't ever use lodash again.",
        "Stop adding comments to the code.",
        "Antworte immer auf Deutsch.",
        "N'utilise jamais lodash.",
        "Arrête d'ajouter des commentaires.",
        "No vuelvas a usar lodash.",
        "A partir de agora escreve as mensagens em português.",
        "Escreve sempre em português.",
    ],
)
def test_a_standing_preference_is_seen(text: str):
    assert is_standing(text)


@pytest.mark.parametrize(
    "text",
    [
        "Do you always answer in German?",
        "The test always fails on Mondays.",
        "I never saw this error.",
        "Never mind, it works.",
        "Always here to help!",
        "Add a column to the table.",
        "Don't do that now.",
        "Don't do this unless the tests pass.",
        "Use the second branch here, not the first.",
        "Use the parser that does not crash.",
        "Remember to push before lunch.",
        "Do you remember that we use pnpm?",
        "I remember that it broke.",
        "And remember, I am here for you.",
        "The port is 8080 by default.",
        "No test fails unless the disk is full.",
        "Don't ever give up.",
        "Keep going and never give up!",
        "Stop the server.",
        "Stop running that.",
        "Nunca vi isso.",
        "Sempre foi assim.",
        "",
    ],
)
def test_what_only_tells_is_none(text: str):
    assert not is_standing(text)


@pytest.mark.parametrize(
    ("text", "matters"),
    [
        ("I take back the Friday rule: Fridays are fine now.", [{"friday"}]),
        ("Forget what I said about dark mode", [{"dark", "mode"}]),
        ("Ich nehme die Regel für Freitag zurück.", [{"freitag"}]),
        ("Oublie ce que j'ai dit sur le mode sombre.", [{"mode", "sombre"}]),
        ("Olvida lo que dije sobre el modo oscuro.", [{"modo", "oscuro"}]),
        ("Esquece o que eu disse sobre o modo escuro.", [{"modo", "escuro"}]),
        ("Let's take it back to the shop.", []),
        ("Forget about it.", []),
        ("Did I take back the Friday rule?", []),
    ],
)
def test_the_matter_of_a_wish_that_is_taken_back_is_told(text: str, matters: list[set[str]]):
    assert withdrawn_matters(text) == matters
