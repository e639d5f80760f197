"""The memory as an MCP server: tools, resources and prompts for agents, over stdio and streamable HTTP."""
