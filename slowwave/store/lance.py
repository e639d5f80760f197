"""Import LanceDB without its warnings, and without the half of it that no home needs.

It is imported before every other file of this room.
"""

import os

from slowwave.deferred import defer_package

os.environ.setdefault("LANCEDB_LOG", "error")  # its warnings would stand beside our one line

defer_package("lance_namespace_urllib3_client")
"""The client of a server of tables: more than half of the time that importing LanceDB takes."""
