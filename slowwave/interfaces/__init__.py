"""One server per home that answers and renders, and its clients: command line, hooks, MCP."""
