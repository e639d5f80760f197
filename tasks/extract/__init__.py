"""Extract: chunks of a conversation become typed memories."""
