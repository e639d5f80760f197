"""MCP: tools, resources and a prompt over one home's memory, and the bridge that speaks it over stdio."""
