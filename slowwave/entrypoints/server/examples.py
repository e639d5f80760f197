"""An example of each body, as the description of the API shows it. A test sends every one of them."""

from typing import Any

NOTE = {"note": "Mara said so on the phone."}

EXAMPLES: dict[str, dict[str, Any]] = {
    "/v1/search": {
        "query": "How are the tokens of the auth service signed?",
        "limit": 5,
        "after": "last_month",
    },
    "/v1/context/assemble": {
        "budget": 4000,
        "question": "Why is the signature refused?",
        "signals": {
            "current_file": "src/auth/login.ts",
            "recent_errors": ["TypeError: Cannot read property 'kid' of undefined"],
            "activity": "debugging",
        },
        "conversation_id": "talk-17",
    },
    "/v1/remember": {
        "text": "The tokens of the auth service are signed with RS256.",
        "subject": "auth service",
        "attribute": "signature",
        "value": "RS256",
        "entities": ["auth service"],
    },
    "/v1/cells/{cell_id}/correct": {
        "text": "The tokens of the auth service are signed with Ed25519.",
        "reason": "changed",
    },
    "/v1/cells/{cell_id}/confirm": NOTE,
    "/v1/cells/{cell_id}/forget": NOTE,
    "/v1/cells/{cell_id}/erase": {"dry_run": True},
    "/v1/erase": {"session_id": "talk-17", "dry_run": True},
    "/v1/contradictions/{contradiction_id}/resolve": {
        "resolution": "b_wins",
        "note": "Migration completed, A is outdated",
    },
    "/v1/quarantine/release": {"ids": ["0123456789abcdef01234567"]},
    "/v1/turns": {
        "client": "my-agent",
        "turns": [
            {
                "session_id": "talk-17",
                "id": "m1",
                "role": "user",
                "text": "Sign the tokens with Ed25519 from now on.",
            }
        ],
    },
    "/v1/ingest": {"sources": ["/home/mara/notes"], "dry_run": True},
    "/v1/usage/cite": {"cell_ids": ["0123456789abcdef01234567"], "context": "talk-17"},
    "/v1/usage/ignore": {"cell_ids": ["0123456789abcdef01234567"], "context": "talk-17"},
    "/v1/usage/settle": {"conversation_id": "talk-17"},
    "/v1/flows/{flow}/runs": {"run_id": "decay-2026-11-23", "dry_run": True},
    "/v1/consolidate": {"dry_run": True, "wait_seconds": 30},
    "/v1/memory/reindex": {"clear_existing": True},
}
"""By the template of the route."""
