"""Everything that knows English: lexicon, time phrases, names, intents."""
