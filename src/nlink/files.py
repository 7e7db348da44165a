"""Files written whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path` that takes its place when the block ends well and vanishes otherwise.

    It is on the disk before it is renamed, so that neither a kill nor a power cut leaves half a file under the name.
    """
    temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex[:8]}{path.suffix}")
    try:
        temporary.open("xb").close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        yield temporary
        with temporary.open("rb+") as done:
            os.fsync(done.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
