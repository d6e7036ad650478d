"""What Ansible's runs parse again and again: the routing of ansible.builtin (400 kB), the documentation of each plugin,
the roles' defaults and specifications. That was a third of a run's processor time; their copies (warm.py) need it once.
"""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import tempfile
from collections.abc import Callable
from typing import Any

_PLACES = ("/site-packages/", "/ansible_collections/winkube/node/")


class ReadOnce:
    """`yaml.load` with a memory. What a run parses is told through a file to the process that runs are copies of: it
    parses it, too, so that the next one need not. Kept is what belongs to programs, not what a test has written."""

    def __init__(self) -> None:
        import yaml

        self._parse: Callable[..., Any] = yaml.load
        self._known: dict[tuple[Any, ...], Any] = {}
        self._told = tempfile.TemporaryFile("ab+", buffering=0)  # noqa: SIM115  it lives as long as the process
        self._read = 0
        yaml.load = self.load

    def load(self, stream: Any, Loader: Any) -> Any:  # noqa: N803
        key = self._key(stream, Loader)
        if key is None:
            return self._parse(stream, Loader)
        if key not in self._known:
            self._known[key] = self._parse(stream, Loader)
            with contextlib.suppress(OSError, pickle.PicklingError):
                self._told.write(pickle.dumps((stream, Loader)))
        found = self._known[key]
        return found if isinstance(stream, bytes) else copy.deepcopy(found)

    def learn(self) -> None:
        """What the runs have told since the last time."""
        with (
            os.fdopen(os.dup(self._told.fileno()), "rb") as stream,
            contextlib.suppress(EOFError, pickle.UnpicklingError),
        ):
            while True:  # up to the end, or to what is being written
                stream.seek(self._read)
                text, loader = pickle.load(stream)
                self._read = stream.tell()
                key = self._key(text, loader)
                if key is not None and key not in self._known:
                    self._known[key] = self._parse(text, loader)

    def _key(self, stream: Any, loader: Any) -> tuple[Any, ...] | None:
        if isinstance(stream, bytes):  # the collection loader's: meta/runtime.yml
            return (loader, stream)
        from ansible.module_utils._internal._datatag import AnsibleTagHelper

        if not isinstance(stream, str):
            return None
        tags = AnsibleTagHelper.tags(stream)
        path = next((path for path in (getattr(tag, "path", None) for tag in tags) if path), "")
        if not any(place in path for place in _PLACES):
            return None
        return (loader, str(stream), tags)
