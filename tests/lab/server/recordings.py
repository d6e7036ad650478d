"""The golden payloads: digests of Ansible's own wrapper scripts, and the check of a payload against them.

The stand-in answers as the real wrapper scripts would; it has been read against those whose digests are recorded in
`payloads/<version>.json`. A payload is known when all the scripts of ansible-core that it carries have the digests of
*one* recording. The version number is only where a recording came from, never what is compared: a patch release with
unchanged scripts works, and changed scripts are noticed whatever the version says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.lab.server.payload import script_digest

FOLDER = Path(__file__).parent / "payloads"
RECORD_COMMAND = "python -m tests.lab record-payload"


@dataclass(frozen=True)
class Recording:
    """Digests of the scripts of one ansible-core release, by script name."""

    version: str
    scripts: Mapping[str, str]

    def differing(self, digests: Mapping[str, str]) -> list[str]:
        """Names of the scripts that this recording does not hold with the same digest."""
        return sorted(name for name, digest in digests.items() if self.scripts.get(name) != digest)


def load(folder: Path = FOLDER) -> tuple[Recording, ...]:
    """All recordings of a folder, sorted by file name."""
    found = []
    for path in sorted(folder.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        found.append(Recording(document["ansible_core"], document["scripts"]))
    return tuple(found)


@cache
def known() -> tuple[Recording, ...]:
    """The recordings that are committed."""
    return load()


def objection(digests: Mapping[str, str], core_version: str, recordings: tuple[Recording, ...]) -> str | None:
    """None for a known payload, else the sentence that says what differs and which command records it anew."""
    if any(not recording.differing(digests) for recording in recordings):
        return None
    sender = f"ansible-core {core_version}" if core_version else "this ansible-core"
    if not recordings:
        return f"The lab has no recorded payload to compare that of {sender} with. Record it with: {RECORD_COMMAND}"
    closest = min(recordings, key=lambda recording: len(recording.differing(digests)))
    changed = ", ".join(closest.differing(digests))
    versions = ", ".join(recording.version for recording in recordings)
    return (
        f"The lab does not know the payload of {sender}: {changed} differ from every recording "
        f"(ansible-core {versions}). Read what changed in them, see that tests/lab/server still answers as they do, "
        f"then record them with: "
        f"{RECORD_COMMAND}  (run by the Python that has this ansible-core)"
    )


def record(folder: Path = FOLDER) -> Path:
    """Write the digests of the scripts of the ansible-core that this Python has; returns the file.

    The scripts are taken from where Ansible takes them, signatures and comment stripping included.
    """
    # Imported here: the lab itself runs without Ansible.
    import ansible
    from ansible.executor.powershell.module_manifest import _get_powershell_script
    from ansible.release import __version__

    package = Path(ansible.__file__).parent
    wrappers = sorted(path.name for path in (package / "executor" / "powershell").glob("*.ps1"))
    scripts = {name: script_digest(_get_powershell_script(name).decode("utf-8-sig")) for name in wrappers}
    for path in sorted([*package.glob("module_utils/csharp/*.cs"), *package.glob("module_utils/powershell/*.psm1")]):
        scripts[path.name] = script_digest(path.read_text(encoding="utf-8-sig"))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{__version__}.json"
    document = {"ansible_core": __version__, "scripts": scripts}
    target.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return target
