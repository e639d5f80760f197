"""The one server of a home: HTTP on the loopback, from one warm memory."""
