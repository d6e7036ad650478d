"""Forms of secrets told to the redaction of log bundles; each secret is drawn from its form, so none is a real one."""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.redaction.redact import redact

FORMS = Path(__file__).parent / "forms.yml"
FROZEN = Path(__file__).parent / "frozen.yml"

CLASSES = {
    "x": "0123456789abcdef",
    "a": "abcdefghijklmnopqrstuvwxyz0123456789",
    "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "w": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "d": "0123456789",
}
_CLASS = re.compile(r"\{([xaAwd])(\d+)\}")
_PACK = re.compile(r"\{\{(base64|utf16)\|(.*?)\}\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Score:
    """`shown` and `changed` name the forms and texts that failed."""

    forms: int
    harmless: int
    shown: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def redacted(self) -> int:
        """Forms whose secret is gone."""
        return self.forms - len(self.shown)

    def figures(self) -> dict[str, int]:
        """For the last line."""
        return {
            "forms": self.forms,
            "redacted": self.redacted,
            "harmless": self.harmless,
            "spoiled": len(self.changed),
        }


def of(path: Path) -> Score:
    """How the redaction does on one file."""
    known = yaml.safe_load(path.read_text(encoding="utf-8"))
    forms = list(samples(known))
    shown = tuple(name for name, text, secret in forms if not is_gone(text, secret))
    harmless = [str(text) for text in known.get("harmless") or ()]
    changed = tuple(text for text in harmless if redact(text) != (text, 0))
    return Score(len(forms), len(harmless), shown, changed)


def is_gone(text: str, secret: str) -> bool:
    """Whether nothing of a secret is left, nor of what packs it."""
    clean, count = redact(text)
    return count > 0 and secret not in clean and (secret in text or clean != text)


def samples(known: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Name, text and secret of each form. A rule's secret stands below the name that the rule is called by
    (adafruit-api-key: ADAFRUIT_API_KEY=..), or alone in a line of a log where the rule looks for the value alone. An
    example has its secret between « and »."""
    for rule in known.get("rules") or ():
        name, form, *how = rule.split(" ")
        secret = drawn(form, name)
        alone = "alone" in how
        text = f"I0101 main.go:12] answered with {secret} at once" if alone else f"{variable(name)}={secret}"
        yield name, text, secret
    for example in known.get("examples") or ():
        before, secret, after = re.split("[«»]", drawn(example, example))
        yield str(example)[:100].replace("\n", " "), before + secret + after, secret
    for number, form in enumerate(known.get("forms") or ()):
        secret = drawn("{w6}-Hunter2-{a6}", str(number))
        text = _PACK.sub(lambda match, secret=secret: _packed(match, secret), str(form))  # type: ignore[misc]
        yield str(form)[:100].replace("\n", " "), text.replace("SECRET", secret), secret


def variable(rule: str) -> str:
    """ADAFRUIT_API_KEY for adafruit-api-key."""
    return re.sub(r"[^A-Z0-9]+", "_", rule.upper())


def drawn(form: str, seed: str) -> str:
    """A value of a form: `{x32}` are 32 hex digits, `a` lower case and digits, `A` upper case, `w` both, `d` digits."""
    dice = random.Random(seed)
    return _CLASS.sub(lambda match: "".join(dice.choices(CLASSES[match[1]], k=int(match[2]))), form)


def _packed(match: re.Match[str], secret: str) -> str:
    text = match[2].replace("SECRET", secret)
    return base64.b64encode(text.encode("utf-16-le" if match[1] == "utf16" else "utf-8")).decode()
