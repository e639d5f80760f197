"""Extract: chunks become typed memories."""
