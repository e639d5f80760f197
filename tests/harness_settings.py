"""Settings of coding agents as people have them, written for the tests: comments, others' hooks, odd white space."""

CLAUDE_SETTINGS = """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": {
    "allow": ["Bash(make test:*)", "Read(~/.zshrc)"],
    "deny":  [ ]
  },
  "env": { "NODE_OPTIONS": "--max-old-space-size=4096" },
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [
          { "type": "command", "command": "npx prettier --write \\"$CLAUDE_FILE\\"" }
        ]
      }
    ],
    "Stop": [
      { "hooks": [ { "type": "command", "command": "afplay /System/Library/Sounds/Glass.aiff", "timeout": 5 } ] }
    ]
  },
  "model": "opus",
  "statusLine": {"type": "command", "command": "~/.claude/line.sh"}
}
"""

CLAUDE_STATE = (
    '{"numStartups":212,"theme":"dark","oauthAccount":{"emailAddress":"mara@example.org"},"mcpServers":{},'
    '"projects":{"/home/mara/kittiwake":{"allowedTools":[],"mcpServers":{"db":{"type":"stdio","command":"db-mcp",'
    '"args":[],"env":{"DB_TOKEN":"made-up-7f3a"}}},"hasTrustDialogAccepted":true}}}'
)

CODEX_CONFIG = """# my codex
model = "gpt-6"
approval_policy = "on-request"
notify = [
  "python3",
  "/home/mara/notify.py", # [not a table]
]

[projects."/home/mara/kittiwake"]
trust_level = "trusted"

[mcp_servers.docs]
command = 'npx'
args = ["-y", "docs-mcp"]
env = { "TOKEN" = "made-up" }   # keep

[tui]
notifications = true
"""

CODEX_HOOKS = """{
\t"description": "house rules",
\t"hooks": {
\t\t"PreToolUse": [
\t\t\t{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}
\t\t]
\t}
}
"""

GEMINI_SETTINGS = """{
  // Gemini CLI reads comments
  "theme": "Default",
  "mcpServers": {
    "fetch": {"command": "uvx", "args": ["mcp-server-fetch"]} /* the web */
  },
  "hooks": {
    "BeforeTool": [
      {
        "matcher": "write_file",
        "hooks": [{"name": "lint", "type": "command", "command": "./lint.sh", "timeout": 5000}]
      }
    ]
  }
}
"""

OPENCODE_CONFIG = """{
  "$schema": "https://opencode.ai/config.json",
  "autoupdate": true, // not at work
  "mcp": {
    "files": {
      "type": "local",
      "command": ["npx", "-y", "files-mcp"],
      "enabled": false,
    },
  },
  "plugin": ["opencode-wakatime"],
}
"""

CURSOR_MCP = """{
    "mcpServers": {
        "github": {
            "url": "https://example.org/mcp",
            "headers": {"Authorization": "Bearer made-up"}
        }
        // "old": {"command": "old-mcp"}
    }
}"""

CURSOR_HOOKS = """{
  "version": 1,
  "hooks": {
    "afterFileEdit": [{ "command": "./format.sh" }],
    "stop": [{ "command": "./done.sh", "loop_limit": 3 }]
  }
}
"""

DESKTOP_CONFIG = """{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/mara/Desktop"]
    }
  }
}
"""

VSCODE_MCP = """{
\t"inputs": [
\t\t{ "type": "promptString", "id": "key", "password": true },
\t],
\t"servers": {
\t\t// ours
\t\t"playwright": { "type": "stdio", "command": "npx", "args": ["@playwright/mcp@latest"] }, // pages
\t},
}
"""

USER: dict[str, dict[str, str]] = {
    "claude-code": {".claude/settings.json": CLAUDE_SETTINGS, ".claude.json": CLAUDE_STATE},
    "codex": {".codex/config.toml": CODEX_CONFIG, ".codex/hooks.json": CODEX_HOOKS},
    "gemini": {".gemini/settings.json": GEMINI_SETTINGS},
    "opencode": {".config/opencode/opencode.jsonc": OPENCODE_CONFIG},
    "cursor": {".cursor/mcp.json": CURSOR_MCP, ".cursor/hooks.json": CURSOR_HOOKS},
    "claude-desktop": {".config/Claude/claude_desktop_config.json": DESKTOP_CONFIG},
    "vscode": {".config/Code/User/mcp.json": VSCODE_MCP},
}
"""Files below the user's folder, by harness."""

PROJECT: dict[str, dict[str, str]] = {
    "claude-code": {".claude/settings.local.json": CLAUDE_SETTINGS},
    "codex": {".codex/config.toml": CODEX_CONFIG, ".codex/hooks.json": CODEX_HOOKS},
    "gemini": {".gemini/settings.json": GEMINI_SETTINGS},
    "opencode": {"opencode.jsonc": OPENCODE_CONFIG},
    "cursor": {".cursor/mcp.json": CURSOR_MCP, ".cursor/hooks.json": CURSOR_HOOKS},
    "vscode": {".vscode/mcp.json": VSCODE_MCP},
}
"""Files below a project's folder, by harness."""
