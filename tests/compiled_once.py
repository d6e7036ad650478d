"""What Ansible's loader of collections compiles anew in each process, as it writes no .pyc files: kept in .cache.

The tests start some dozen processes that import the collection (each of pytest-xdist, each template of
tests/integration/warm.py, each run of a playbook), and compiling was a third of that.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import importlib.util
import marshal
import os
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / ".cache" / "code"
_HASH = 32


def keep_code(folder: Path = FOLDER) -> None:
    """From here on Ansible's loader looks into `folder` first, and writes there what it has compiled."""
    from ansible.utils.collection_loader import _collection_finder

    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)

    def compiled(source: Any, filename: str, mode: str, flags: int, dont_inherit: bool) -> Any:
        data = source if isinstance(source, bytes) else str(source).encode()
        key = hashlib.sha256(importlib.util.MAGIC_NUMBER + filename.encode() + b"\0" + data).digest()
        # One file for each path, so that the folder does not grow with each change of the code.
        kept = folder / hashlib.sha256(filename.encode()).hexdigest()[:_HASH]
        with contextlib.suppress(OSError, EOFError, ValueError, TypeError):
            held = kept.read_bytes()
            if held.startswith(key):
                return marshal.loads(held[len(key) :])
        code = builtins.compile(source, filename, mode, flags=flags, dont_inherit=dont_inherit)
        with contextlib.suppress(OSError):
            number, name = tempfile.mkstemp(dir=folder)
            with os.fdopen(number, "wb") as stream:
                stream.write(key + marshal.dumps(code))
            Path(name).replace(kept)
        return code

    vars(_collection_finder)["compile"] = compiled
