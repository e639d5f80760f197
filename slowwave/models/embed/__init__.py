"""Text to vectors: one small protocol, four ways behind it, and none at all.

Vectors are L2-normalised; what could not be embedded is a row of NaN with its reason, never a made-up vector. A server
that is away or unconfigured is an error, not a row: an outage must not be stored as a property of a text. The libraries
are imported where they are used, so that a face which only reads the journal does not pay for them. Texts never appear
in messages.
"""
