"""Secrets are found and taken out before anything is stored."""
