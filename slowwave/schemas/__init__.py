"""The shapes that cross a border: tables, journal events, requests, results, answers of a model."""
