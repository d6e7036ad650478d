"""curl.exe of Windows, judged by memory.

One GET over http, through a proxy that its environment names.

Source: curl(1): EXIT CODES, ENVIRONMENT (http_proxy in small letters; Windows' variables have no case), and --proxy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.lab.machine.network import NetworkError
from tests.lab.machine.program import Caller, Run, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

NO_PROXY_FOUND, NO_HOST, NO_CONNECTION, USAGE = 5, 6, 7, 2
_ALONE = {"--silent", "-s", "--show-error", "-S", "--insecure", "-k"}
_WITH_VALUE = {"--output", "-o", "--max-time", "-m", "--proxy", "-x"}


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.2
    given: dict[str, str] = {}
    urls = []
    words = iter(argv[1:])
    for word in words:
        if word in _WITH_VALUE:
            given[word] = next(words, "")
        elif word.startswith("-") and word not in _ALONE:
            return text(USAGE, "", f"curl: option {word}: the lab does not simulate it\r\n")
        elif not word.startswith("-"):
            urls.append(word)
    if len(urls) != 1:
        return text(USAGE, "", "curl: (2) no URL specified\r\n")
    scheme = urlsplit(urls[0]).scheme
    environment = {name.lower(): value for name, value in caller.environment.items()}
    proxy = given.get("--proxy") or given.get("-x") or environment.get(f"{scheme}_proxy")
    if proxy is not None:
        try:
            parts = urlsplit(proxy)
            node.network.resolve((parts.hostname or "").lower(), parts.port or 80)
        except NetworkError:
            return text(NO_PROXY_FOUND, "", f"curl: (5) Could not resolve proxy: {urlsplit(proxy).hostname}\r\n")
    try:
        answer = node.network.get(urls[0], 5.0, proxy=proxy)
    except NetworkError as error:
        host = urlsplit(urls[0]).hostname
        if "could not be resolved" in str(error):
            return text(NO_HOST, "", f"curl: (6) Could not resolve host: {host}\r\n")
        return text(NO_CONNECTION, "", f"curl: (7) Failed to connect to {host}\r\n")
    return text(0, "" if given.keys() & {"--output", "-o"} else answer.body.decode("utf-8", errors="replace"))
