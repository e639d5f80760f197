"""The stages of a night: a folder a stage, each with its pure functions beside it."""
