"""The ways in: one server that answers and renders, and its thin clients (command line, hooks, MCP)."""
