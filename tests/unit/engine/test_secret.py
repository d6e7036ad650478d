"""A secret is not printed, and nothing is written in its place."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret, SecretError

VALUE = "hunter2hunter2"
SECRET = Secret(VALUE)


@dataclasses.dataclass(frozen=True)
class Holder:
    token: Secret[str]


WRITES: dict[str, Callable[[Any], object]] = {
    "str": str,
    "format": lambda secret: f"{secret}",
    "format with a width": lambda secret: f"{secret:>20}",
    "percent": lambda secret: "%s" % secret,  # noqa: UP031
    "plus": lambda secret: secret + "x",
    "plus from the left": lambda secret: "x" + secret,
    "join": lambda secret: "".join([secret]),
    "join of its letters": lambda secret: "".join(secret),
    "JSON": lambda secret: json.dumps({"token": secret}),
    "JSON with str for what it does not know": lambda secret: json.dumps({"token": secret}, default=str),
    "pickle": pickle.dumps,
    "a part": lambda secret: secret[:3],
    "bytes": bytes,
    "encode": lambda secret: secret.encode(),
}


@pytest.mark.parametrize("way", WRITES)
def test_what_would_write_it_raises_without_it(way: str) -> None:
    with pytest.raises((TypeError, AttributeError)) as raised:
        WRITES[way](SECRET)
    assert VALUE not in "".join(traceback.format_exception(raised.value))


def test_what_people_see_is_stars(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("x").warning("the token is %r", SECRET)
    shown = [
        repr(SECRET),
        repr(Holder(SECRET)),
        repr({"a": [SECRET]}),
        caplog.text,
        repr(dataclasses.replace(Holder(SECRET))),
    ]
    assert all("***" in text and VALUE not in text for text in shown)
    assert not hasattr(SECRET, "__dict__"), "vars() shows nothing"


def test_one_method_opens_it() -> None:
    assert (SECRET.reveal(), bool(SECRET), bool(Secret(b""))) == (VALUE, True, False)
    assert (
        Secret(VALUE) == SECRET
        and Secret("a") != Secret(b"a")
        and VALUE != SECRET
        and len({SECRET, Secret(VALUE)}) == 1
    )
    assert copy.deepcopy({"a": SECRET})["a"] is copy.copy(SECRET) is SECRET
    assert dataclasses.asdict(Holder(SECRET))["token"] is SECRET
    with pytest.raises(SecretError):
        "".join(map(str, dataclasses.asdict(Holder(SECRET)).values()))
