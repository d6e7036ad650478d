"""Who is at the other end of a connection, by Basic or NTLM, and the messages that NTLM has sealed.

NTLM belongs to a connection, not to a request: what it agreed on opens and seals every message that follows on it.
Sources: Microsoft, [MS-WSMV] 2.2.9.1.1 (sealed messages), [MS-NLMP]; RFC 4559 (Negotiate); RFC 7617 (Basic).
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import struct
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import spnego
from spnego.exceptions import NegotiateOptions, SpnegoError

from tests.lab.server.nodes import NodeSpec

SEALED = "application/HTTP-SPNEGO-session-encrypted"
_BOUNDARY = b"--Encrypted Boundary"
_PAYLOAD = b"\tContent-Type: application/octet-stream\r\n"
_SIGNATURE = b"NTLMSSP\0"
# pyspnego's acceptor takes its accounts, and Kerberos' its keys, from the files that environment variables name.
_ACCOUNTS_VARIABLE = "NTLM_USER_FILE"
_KEYTAB_VARIABLE = "KRB5_KTNAME"
_ENVIRONMENT = threading.Lock()


class SealError(Exception):
    """A sealed message that this connection cannot open: Windows answers it with 400."""


class Login:
    """The login of one connection to one node. `user` is who it is, once it is known."""

    def __init__(self, spec: NodeSpec, *, encrypted: bool) -> None:
        self.user: str | None = None
        self.failed = False
        """Whether the last request carried a wrong password or a token that makes no sense."""
        self.last_word = ""
        """What the login ends with, once: a WWW-Authenticate that goes with the answer to the request itself. SPNEGO's
        keys count from it, and a client of Kerberos knows by it who the server is."""
        self._spec = spec
        self._encrypted = encrypted
        self._context: spnego.ContextProxy | None = None

    @property
    def sealing(self) -> bool:
        """Whether messages of this connection can be sealed."""
        return self.user is not None and self._context is not None

    def challenges(self) -> list[str]:
        """What a 401 offers: Basic without TLS only where the node takes messages that are not encrypted."""
        offers = ["Negotiate"]
        if self._encrypted or self._spec.winrm_unencrypted:
            offers.append('Basic realm="WSMAN"')
        return offers

    def check(self, authorization: str) -> list[str] | None:
        """Read an Authorization header ("" where there is none).

        Returns None when the request may be answered, else the values of WWW-Authenticate for a 401.
        """
        self.failed, self.last_word = False, ""
        scheme, _, value = authorization.partition(" ")
        try:
            token = base64.b64decode(value.strip(), validate=True)
        except binascii.Error:
            return self.refuse()
        if scheme.lower() == "basic" and len(self.challenges()) > 1:
            return self._basic(token)
        if scheme.lower() in ("negotiate", "ntlm") and token:
            return self._negotiate(scheme, token)
        return None if self.user is not None else self.challenges()

    def refuse(self) -> list[str]:
        """Nobody is logged in on this connection any more; what a 401 offers."""
        self.user = self._context = None
        self.failed = True
        return self.challenges()

    def _basic(self, token: bytes) -> list[str] | None:
        try:
            name, _, password = token.decode("utf-8").partition(":")
        except UnicodeDecodeError:
            name, _, password = token.decode("latin-1").partition(":")  # as requests encodes it
        user = self._local_user(name)
        if user is None or not hmac.compare_digest(password.encode(), self._spec.winrm_password.encode()):
            return self.refuse()
        self.user, self._context = user, None
        return None

    def _negotiate(self, scheme: str, token: bytes) -> list[str] | None:
        if self._context is None or self._context.complete:
            self.user, self._context = None, self._acceptor(token)
        try:
            with _accounts(self._spec):
                answer = self._context.step(token)
        except SpnegoError:
            return self.refuse()
        if not self._context.complete:
            return [f"{scheme} {base64.b64encode(answer or b'').decode()}"]
        if answer:
            self.last_word = f"{scheme} {base64.b64encode(answer).decode()}"
        self.user = self._local_user(str(self._context.client_principal))
        return None if self.user is not None else self.refuse()

    def _acceptor(self, token: bytes) -> spnego.ContextProxy:
        """NTLM bare, or in the envelope of SPNEGO: clients send either."""
        protocol = "ntlm" if token.startswith(_SIGNATURE) else "negotiate"
        options = NegotiateOptions.use_ntlm if protocol == "ntlm" else NegotiateOptions.use_negotiate
        with _accounts(self._spec):
            return spnego.server(hostname=self._spec.address, service="HTTP", protocol=protocol, options=options)

    def _local_user(self, name: str) -> str | None:
        """`Administrator`, `.\\Administrator`, `WIN1\\Administrator` and, in a domain, `Administrator@REALM` ->
        `Administrator`; None for anybody else."""
        if self._spec.realm:
            name = name.removesuffix(f"@{self._spec.realm}")
        domain, _, user = name.rpartition("\\")
        known = domain.lower() in _domains(self._spec) and user.lower() == self._spec.username.lower()
        return user if known else None

    # -- sealed messages -----------------------------------------------------------------------------------------

    def open(self, body: bytes) -> bytes:
        """The message in a sealed body. SealError."""
        marker = body.find(_PAYLOAD)
        if self._context is None or marker < 0:
            raise SealError("a sealed message on a connection whose login agreed on no keys")
        sealed = body[marker + len(_PAYLOAD) :].removesuffix(b"\r\n").removesuffix(_BOUNDARY + b"--")
        if len(sealed) < 4:
            raise SealError("a sealed message without a signature")
        (length,) = struct.unpack("<I", sealed[:4])
        try:
            return self._context.unwrap_winrm(sealed[4 : 4 + length], sealed[4 + length :])
        except SpnegoError as error:
            raise SealError(str(error)) from error

    def seal(self, message: bytes) -> bytes:
        """A body with the message sealed in it."""
        if self._context is None:
            raise SealError("nothing to seal with")
        made = self._context.wrap_winrm(message)
        return b"".join(
            (
                _BOUNDARY + b"\r\n\tContent-Type: " + SEALED.encode() + b"\r\n",
                b"\tOriginalContent: type=application/soap+xml;charset=UTF-8;Length=%d\r\n" % len(message),
                _BOUNDARY + b"\r\n" + _PAYLOAD,
                struct.pack("<I", len(made.header)) + made.header + made.data,
                _BOUNDARY + b"--\r\n",
            )
        )


def is_sealed(content_type: str) -> bool:
    return SEALED.lower() in content_type.lower()


SEALED_TYPE = f'multipart/encrypted;protocol="{SEALED}";boundary="Encrypted Boundary"'


def _domains(spec: NodeSpec) -> tuple[str, ...]:
    return ("", ".", spec.name.lower())


@contextmanager
def _accounts(spec: NodeSpec) -> Iterator[None]:
    """The node's one account and its keytab where they are looked for, for as long as one step of a login takes.

    It has fields between colons: a password with one in it is never the right one.
    """
    lines = [f"{domain}:{spec.username}:{spec.winrm_password}" for domain in _domains(spec)]
    with _ENVIRONMENT, tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="winkube-lab-") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        wanted = {_ACCOUNTS_VARIABLE: file.name} | ({_KEYTAB_VARIABLE: spec.keytab} if spec.keytab else {})
        before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
