"""Advice on what a person must still do after connecting, by the vendors' documentation: no program can do it."""

from slowwave.entrypoints.connecting.names import Harness, Scope

_BY_HAND: dict[Harness, str] = {
    "claude-code": "Start a new session. Claude Code runs hooks only in folders that you trust, and none under "
    "`disableAllHooks`.",
    "codex": "Start Codex and trust Slowwave's hooks where it asks, or type /hooks: it skips them before, and again "
    "after each change of their command; `codex exec` does so without a word.",
    "gemini": "Start a new session. Gemini CLI reads a project's settings only in folders that you trust.",
    "opencode": "Start OpenCode again.",
    "cursor": "Reload Cursor's window, and switch the server on under Tools & MCP where Cursor asks. Cursor also runs "
    "the hooks of Claude Code's user settings.",
    "claude-desktop": "Quit Claude Desktop fully and start it again. It has no hooks: it gets the tools alone.",
    "vscode": "Start the server once by `MCP: List Servers` and trust it. It gets the tools alone, no hooks.",
}
WITH_HOOKS: tuple[Harness, ...] = ("claude-code", "codex", "gemini", "opencode", "cursor")
"""Harnesses whose conversations are recorded, and which get memory before a prompt."""


def advice_of(harness: Harness, scope: Scope) -> tuple[str, ...]:
    """Sentences for a harness that was connected just now."""
    told = [_BY_HAND[harness]]
    if scope == "project" and harness == "codex":
        told.append("Codex reads a project's files only after you trusted the project.")
    if scope == "project":
        told.append(
            "These files lie in the project and name folders of this machine: leave them out of commits."
        )
    if harness in WITH_HOOKS:
        told.append("Hooks work while the server runs: `slowwave serve`, or `slowwave serve --install` once.")
        told.append(
            "What was said before today: `slowwave ingest --discover` shows it and asks before it takes it in."
        )
    return tuple(told)
