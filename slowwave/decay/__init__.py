"""Decay: retention as a formula, what fades when, and what forgetting did. Nothing here writes."""
