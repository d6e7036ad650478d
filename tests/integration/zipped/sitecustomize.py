"""On PYTHONPATH of what Ansible's runs start on the controller (warm.py): a module comes in an archive with Ansible's
own files, which Python compiles anew each time. That is most of what a module costs; here it is kept in .cache/code."""

from __future__ import annotations

import hashlib
import marshal
import os
import zipimport
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType

FOLDER = Path(__file__).resolve().parents[3] / ".cache" / "code"


def keep_code() -> None:
    compile_source = vars(zipimport)["_compile_source"]

    def compiled(path: str, source: bytes) -> CodeType:
        kept = FOLDER / hashlib.sha256(MAGIC_NUMBER + source).hexdigest()
        try:
            return marshal.loads(kept.read_bytes())  # type: ignore[no-any-return]
        except (OSError, EOFError, ValueError, TypeError):
            code: CodeType = compile_source(path, source)
        try:
            new = kept.with_suffix(f".{os.getpid()}")
            new.write_bytes(marshal.dumps(code))
            new.replace(kept)
        except OSError:
            pass
        return code

    vars(zipimport)["_compile_source"] = compiled


if "_compile_source" in vars(zipimport):
    keep_code()
