"""Everything that knows English: lexicon, terms, excerpts, times, names, intents."""
