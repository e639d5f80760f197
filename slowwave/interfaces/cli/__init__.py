"""The command line: a client that parses, asks the home's server, and prints what it rendered.

It starts with every question of a person or an agent, so a command imports Click and the standard library alone; only
what runs here (`ingest`, `run`, `export`, `connect`, `doctor`) imports more, inside the command.
"""
