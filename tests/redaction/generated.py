"""Written forms of a secret, generated: names x ways to write name and value x what is wrapped around.

The secret is words, so that only its name gives it away.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.redaction.redact import redact

SECRET = "correct-horse-battery"

NAMES = (
    *("password", "DB_PASSWORD", "apiToken", "client-secret", "AccessKey", "passphrase", "registryPassword"),
    *("auth_token", "ServicePwd", "connectionString", "privateKey", "AZURE_CLIENT_SECRET"),
)

Write = Callable[[str, str], str]


def _table(name: str, value: str) -> str:
    rows = (("USER", name, "PORT"), ("----", "-" * len(name), "----"), ("ann", value, "5"))
    return "\n".join(f"{user:<10}{cell:<30}{port}" for user, cell, port in rows)


WAYS: Mapping[str, Write] = {
    "n=v": lambda n, v: f"{n}={v}",
    "n = v": lambda n, v: f"{n} = {v}",
    'n="v"': lambda n, v: f'{n}="{v}"',
    "n: v": lambda n, v: f"{n}: {v}",
    "n => v": lambda n, v: f"{n} => '{v}'",
    "--n v": lambda n, v: f"tool.exe --{n} {v} --verbose",
    "--n=v": lambda n, v: f"tool.exe --{n}={v} --verbose",
    "-n v": lambda n, v: f"Connect-It -{n} {v} -Verbose",
    "/n v": lambda n, v: f"tool.exe /{n} {v} /quiet",
    "/n:v": lambda n, v: f"tool.exe /{n}:{v} /quiet",
    "neighbours": lambda n, v: f'["tool.exe", "--{n}", "{v}", "--verbose"]',
    "neighbours in lines": lambda n, v: f"args:\n- tool.exe\n- --{n}\n- {v}\n- --verbose",
    "JSON": lambda n, v: json.dumps({"user": "ann", n: v, "port": 5}),
    "JSON, a list": lambda n, v: json.dumps({"user": "ann", n: [v, "x"]}),
    "JSON, value below": lambda n, v: json.dumps({n: {"value": v, "from": None}, "port": 5}, indent=1),
    "JSON, cut off": lambda n, v: json.dumps({"user": "ann", n: v, "port": 5})[:-3],
    "name, more, value": lambda n, v: json.dumps({"name": n, "optional": False, "value": v}),
    "name, value": lambda n, v: json.dumps({"name": n, "value": v}),
    "value, name": lambda n, v: json.dumps({"value": v, "name": n}),
    "name, value in YAML": lambda n, v: f"- name: {n}\n  value: {v}\n- name: OTHER\n  value: x",
    "value, name in YAML": lambda n, v: f"- value: {v}\n  name: {n}\n- value: x\n  name: OTHER",
    "XML element": lambda n, v: f"<{n}>{v}</{n}>",
    "XML attribute": lambda n, v: f'<login user="ann" {n}="{v}"/>',
    "event XML": lambda n, v: f"<Data Name='User'>ann</Data><Data Name='{n}'>{v}</Data>",
    "key, value in XML": lambda n, v: f'<add key="{n}" value="{v}"/>',
    "value, key in XML": lambda n, v: f'<add value="{v}" key="{n}"/>',
    "a column": lambda n, v: _table(n, v),
    "columns of Format-List": lambda n, v: f"User     : ann\n{n.ljust(20)} : {v}",
    "userinfo": lambda n, v: f"https://{n}:{v}@registry.example/v2/",
    "header": lambda n, v: f"X-{n}: {v}",
    "below": lambda n, v: f"{n}:\n  {v}\nother: x",
}

WRAPPINGS: Mapping[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "a log line": lambda text: f"I0512 12:00:01.123456    4242 main.go:12] started with {text}",
    "log lines": lambda text: "\n".join(
        f"I0512 12:00:01.123456    4242 main.go:12] {line}" for line in text.split("\n")
    ),
    "a YAML block": lambda text: "message: |\n" + "\n".join(f"  {line}" for line in text.split("\n")),
    "a PowerShell string": lambda text: 'Write-Output "' + text.replace('"', '`"') + '"',
    "CDATA": lambda text: f"<Message><![CDATA[{text}]]></Message>",
    "a JSON string": lambda text: json.dumps({"msg": text}),
    "JSON in JSON": lambda text: json.dumps({"msg": json.dumps({"inner": text})}),
    "single quotes": lambda text: f"echo '{text}'",
    "HTML": lambda text: f"<Data>{html.escape(text)}</Data>",
    "URL": lambda text: f"https://log.example/x?m={quote(text)}",
    "base64": lambda text: f"payload {base64.b64encode(text.encode()).decode()} end",
    "-EncodedCommand": lambda text: f"powershell -enc {base64.b64encode(text.encode('utf-16-le')).decode()}",
    "continued lines": lambda text: text if "\n" in text else text.replace(" -", " `\n  -").replace(" /", " ^\n  /"),
    "indented": lambda text: "\n".join(f"        {line}" for line in text.split("\n")),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """Of one way in one wrapping: how many forms, and those that still show the secret."""

    way: str
    wrapping: str
    forms: int
    shown: tuple[str, ...]

    @property
    def rate(self) -> float:
        return 1 - len(self.shown) / self.forms


def cells() -> Iterator[Cell]:
    """Every way in every wrapping."""
    for way, write in WAYS.items():
        for wrapping, wrap in WRAPPINGS.items():
            texts = [wrap(write(name, SECRET)) for name in NAMES]
            yield Cell(way, wrapping, len(texts), tuple(each for each in texts if shows(redact(each)[0], each)))


def shows(clean: str, text: str, secret: str = SECRET) -> bool:
    """Whether a text shows its secret, or is what it was where the secret is packed."""
    return secret in clean or (secret not in text and clean == text)


VALUES = (
    SECRET,
    "two words",
    'it\'s a "q\u00fcote" & <more>/of+it%',
    "a line\nand another line",
    "back\\slash`tick$sign",
)
"""What a run knows; it stands under names that mean nothing."""


def known_cells() -> Iterator[Cell]:
    """Every wrapping, of values that the run knows."""
    for wrapping, wrap in WRAPPINGS.items():
        texts = {value: wrap(f"sent {value} as output") for value in VALUES}
        shown = (text for value, text in texts.items() if shows(redact(text, known=[Secret(value)])[0], text, value))
        yield Cell("known", wrapping, len(texts), tuple(shown))
