"""The Host Networking Service's errors: HRESULT and text, as HNSCall answers them."""

from __future__ import annotations

import json

NOT_FOUND = 0x80070490
NO_MEMORY = 0x8007000E
INVALID = 0x80070057
NO_SERVICE = 0x800706BA
ADAPTER_NOT_FOUND = 0x803B0006
INVALID_NETWORK_TYPE = 0x803B000B
INVALID_POLICY = 0x803B000D
NETWORK_EXISTS = 0x803B0010
ALREADY_ATTACHED = 0x803B0014
INVALID_JSON = 0x803B001B
ADDRESS_RESERVED = 0x803B002F

# 0x8007000e as in docker/for-win and windows.md; the texts of the 0x803b.... codes are field knowledge, unverified.
# Codes: Microsoft, "HCN error codes" (computenetwork.h).
TEXTS = {
    NOT_FOUND: "Element not found.",
    NO_MEMORY: "Not enough memory resources are available to complete this operation.",
    INVALID: "The parameter is incorrect.",
    NO_SERVICE: "The RPC server is unavailable.",
    ADAPTER_NOT_FOUND: "The adapter was not found.",
    INVALID_NETWORK_TYPE: "The network type is invalid.",
    INVALID_POLICY: "The policy is invalid.",
    NETWORK_EXISTS: "The network already exists.",
    ALREADY_ATTACHED: "The specified endpoint is already attached.",
    INVALID_JSON: "Invalid JSON document string.",
    ADDRESS_RESERVED: "The requested address is invalid or reserved.",
}


class HnsError(Exception):
    """code: an HRESULT, e.g. 0x803B0014; text: as HNS says it."""

    def __init__(self, code: int, more: str = "") -> None:
        self.code = code
        self.text = f"{TEXTS.get(code, 'Unspecified error.')} {more}".rstrip()
        super().__init__(f"{self.text} ({code:#010x})")

    def answer(self) -> str:
        """HNS's JSON."""
        document = {"Success": False, "Error": f"{self.text} ", "ErrorCode": self.code}
        return json.dumps(document, separators=(",", ":"))
