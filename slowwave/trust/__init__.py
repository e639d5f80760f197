"""The origin of a text: who stated it, by its structure and by the evidence behind it."""
