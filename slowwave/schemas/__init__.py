"""The shapes of everything that crosses a border: tables, journal events, model answers."""
