"""The answers that a language model gives: one flat model a prompt, checked against the page that it was shown."""
