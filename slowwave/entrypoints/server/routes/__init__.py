"""The routes of the server, a file a subject; each file has one `router`."""
