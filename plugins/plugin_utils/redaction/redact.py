# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets that must not leave a node with its logs; pure. It removes too much rather than too little."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, unquote

from ..engine.secret import Secret, hide
from .json_in_text import Group, Scalar, find_json

MASK = "<removed>"

# Names match anywhere in a word, and are short: such a pattern must not scan far.
_NAME = (
    r"(?:passw(?:or)?d|passphrase|passwort|pwd|\bpw\b|\bp/w\b|pass(?![a-z])|secret(?!s?[_-]?(?:name|ref|store)s?\b)|token(?!-ca-cert-hash)"
    r"|api[_-]?key|access[_-]?key|private[_-]?key|client-key-data|account[_-]?key|shared[_-]?key|storage[_-]?key"
    r"|encryption[_-]?key|signing[_-]?key|master[_-]?key|license[_-]?key|deploy[_-]?key|service[_-]?key|auth[_-]?key"
    r"|secondary[_-]?key|primary[_-]?key|secondarykey|primarykey|subscription[_-]?key|connection[_-]?string|webhook[_-]?url"
    r"|client_?secret|credentials?|signature|\bpsk\b|\bsas\b|cookie(?=\s*:)"
    r"|contrase[n\u00f1]a|mot[_-]?de[_-]?passe|senha|palavra[_-]?passe|kennwort|wachtwoord|parol[a\u0103]\b"
    r"|has[l\u0142]o\b|heslo\b|jelsz[o\u00f3]|salasana|l[o\u00f6]senord|passord|adgangskode|slapta[z\u017e]odis"
    r"|[s\u015f]ifre|\u043f\u0430\u0440\u043e\u043b\u044c|\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2|\u5bc6\u7801"
    r"|\u5bc6\u78bc|\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638|\uc554\ud638)[\w-]{0,40}"
)
_WORD = rf"(?:{MASK}|true|false|null|none|nil|yes|no|\[\]|\{{\}}|(?:\d+(?:\.\d+)?(?:ms|us|[smh]))+)"
_PLAIN = rf"""(?:"(?:{_WORD})?"|'(?:{_WORD})?'|{_WORD})(?=[\s,;}}\])<]|\Z)"""
"""Values that are not secret, whatever their name: switches and durations; a number may be a password."""
_NESTED = r"(?:\{[\"'\s}]|\[[\"'{\s\]])"
"""The start of a value that has named values inside."""
_VALUE = rf"""(?:\\?"(?:[^"\\]|\\.)*\\?"|"(?:[^"\\]|\\.)*"|'[^']*'|(?!{_NESTED})[^\s"]+)"""
_QUOTED = r"""(?:\\?"(?:[^"\\\r\n]|\\.)*?\\?"|'[^'\r\n]*'|[^\s"',;()]+)"""
_FIRST_VALUE = re.compile(_VALUE)
_Q = r"(?:\\?[\"']|\\u002[27]|&quot;)?"
_IS = r"(?::=|=>|=~|[:=]|%3[aAdD])"
"""The separator between a name and its value."""


@dataclass(frozen=True)
class Rule:
    """What is removed, and its replacement: a text, or a function of the match (which returns it unchanged if it is not
    secret)."""

    name: str
    text: str
    instead: str | Callable[[re.Match[str]], str]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when a text is first asked: most texts of one line ask half of the rules."""
        return re.compile(self.text)

    @cached_property
    def needs_name(self) -> bool:
        """Whether it fits only where a name of a secret stands."""
        return _NAME in self.text


# Words that look like tokens: letters of both cases and digits in random order.

_HEX = re.compile(r"[0-9a-fA-F-]+")
_RUN = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")


_SINGLE_CASE = 24
"""The minimum length of a single-case word that counts as random: shorter ones are in names of pods."""


def _is_random(word: str) -> bool:
    """Whether a word of letters and digits is random. Hex is not: hashes and ids of containers are hex."""
    if _HEX.fullmatch(word):
        return False
    runs = _RUN.findall(word)
    digits = sum(run.isdigit() for run in runs)
    if not any(run.isupper() for run in runs) or not any(run.islower() for run in runs):
        return len(word) >= _SINGLE_CASE and digits >= 4 and len(runs) >= 0.3 * len(word)
    return digits >= 3 and len(runs) >= 0.4 * len(word)


def _if_random(match: re.Match[str]) -> str:
    return MASK if _is_random(match["word"] or "") else match[0]


_NO_SECRET = re.compile(
    "(?:^|_)(?:COMMIT|REV|REVISION|BUILD|IMAGE|POD|NODE|VERSION|SHA[0-9]*)(?:_|$)|^HOST"
    "|(?:COMMIT|SHA|HASH|DIGEST|SUM|VERSION|ID|IMAGE|NAME|HOST|POD|NODE|TAG|PRINT|IDENTIFIER|SERIAL|PATH|DIR)$"
)
"""Variables whose values look random but are not secret."""
_UNSPOKEN = re.compile("(?i)[bcdfghjklmnpqrstvwxz]{5}")
_HUMP = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def _if_drawn(match: re.Match[str]) -> str:
    """The value of an environment variable, whatever its name: many services use names of their own."""
    word = match["value"]
    digits = sum(char.isdigit() for char in word)
    mixed = min(digits, len(word) - digits) >= 3 and len(_RUN.findall(word)) >= 0.25 * len(word)
    unspoken = digits > 0 and _UNSPOKEN.search(word)
    humped = len(word) >= 20 and len(_HUMP.findall(word)) >= 0.35 * len(word)
    drawn = mixed or unspoken or humped
    return f"{match['name']}{MASK}" if drawn and not _NO_SECRET.search(match["name"].rstrip("=\"'")) else match[0]


def _if_token(match: re.Match[str]) -> str:
    """A value after a name that may be a secret's: digits and letters of a token's length, no path and no host."""
    value = match[2].strip("\"'\\")
    drawn = len(value) >= 10 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return f"{match[1]}{MASK}" if drawn else match[0]


_REASON = re.compile(
    r"(?:failed|failure|unexpected|exec:|error\b|rpc error|not |no |cannot|could not|unable|invalid|chown |rename "
    r"|open |read |stat |mkdir |the |context |dial |get |post |kubernetes\.io/|is |has |file |timed? ?out|forbidden"
    r"|denied|unauthorized|access is|missing|expired|EOF\b|secretproviderclass)",
    re.IGNORECASE,
)
"""How the reason of an error begins, after the thing that it is about: `getting credentials: exec: not found`."""
_SURE = re.compile("pass(?!port)|pwd|kennwort|key", re.IGNORECASE)
"""In names whose value is a secret, whatever it looks like; tokens, secrets and credentials are also spoken about."""


def _unless_reason(match: re.Match[str]) -> str:
    reason = _REASON.match(match[2]) and not _SURE.search(match[1])
    return match[0] if reason else f"{match[1]}{MASK}"


def _unless_reason_of_word(match: re.Match[str]) -> str:
    """The value is the first word; the next is looked at."""
    if ": " in match[1] and _REASON.match(match[2]) and not _SURE.search(match[1]):
        return match[0]
    value = _FIRST_VALUE.match(match[2])
    return f"{match[1]}{MASK}{match[2][value.end() :] if value else ''}"


def _if_packed(match: re.Match[str]) -> str:
    """Base64 of a text with a secret in it; PowerShell's -EncodedCommand is base64 of UTF-16."""
    word = match[0].replace("\\n", "").replace("\\r", "")
    word = "".join(word.split()).rstrip("=").translate(_URL_SAFE)
    try:
        data = base64.b64decode(f"{word if len(word) % 4 != 1 else word[:-1]}==")
        text = data.decode("utf-16-le" if data[1:40:2].count(0) > 10 else "utf-8")
    except ValueError:
        return match[0]
    if not text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable():
        return match[0]
    return MASK if redact(text)[1] else match[0]


_URL_SAFE = str.maketrans("-_", "+/")
_KEYLIKE = r"(?:[a-z0-9][_.-]?(?:key|auth|salt|seed|session|dsn|pin|otp|code|cert|jwt|pat)|\bauth)"
_PREFIXES = (
    "gh[pousr]_|github_pat_|gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt|oas|ffct)-|GR1348941|npm_|pypi-|rubygems_|do[opr]_v1_"
    "|hv[bsr]\\.|[sb]\\.(?=[A-Za-z0-9]{24})|shp(?:at|ca|pa|ss)_|xox[a-z]-|xoxe\\.xox[bp]-|xapp-|sk_(?:live|test|prod)_|sk-(?=[\\w-]{20})|rk_|pk_live_"
    "|whsec_|SG\\.|xkeysib-|key-(?=[a-f0-9]{32})|dapi|dp\\.[a-z]{2,6}\\.|dt0c01\\.|EZ[AT]K|EAA[A-Z](?=[A-Za-z0-9]{16})|sq0[a-z]{3}-|lin_api_|pul-|pnu_"
    "|pscale_[a-z]+_|PMAK-|rdme_|tk-us-|shippo_[a-z]+_|duffel_[a-z]+_|FLW(?:SEC|PUB)K_TEST-|fio-u-|hf_|api_org_|ico-"
    "|s-s4t2[a-z]{2}-|glsa_|glc_|p8e-|LTAI|CLOJARS_|v1\\.0-(?=[a-f0-9]{24})|AGE-SECRET-KEY-|AIza|ya29\\.|GOCSPX-|tfp_"
    "|dnkey-|NR(?:AK|II|JS|RA)-|AKC(?=[A-Za-z0-9]{30})|access-(?:sandbox|production|development)-|ATATT3|ATCTT3|ATBB|nfp_|"
    "live_(?=[a-z0-9]{30})|sl\\.(?=[\\w-]{60})|t1\\.(?=[\\w-]{20})"
    "|AQVN|YC(?=[A-Z])|sgp_|figd_|dckr_pat_|dop_|oy2|CFPAT-|ops_(?=ey)|secret_(?=[A-Za-z0-9]{30})|ntn_|vercel_|r8_|gsk_|sbp_|tskey-|phc_|phx_"
)


RULES: tuple[Rule, ...] = (
    # In a file that is too long, a block may be cut at either end.
    Rule(
        "private key",
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        f"-----BEGIN PRIVATE KEY----- {MASK}",
    ),
    Rule("private key", r"(?s)PuTTY-User-Key-File-\d.*?(?:Private-MAC:[^\r\n]*|\Z)", MASK),
    Rule(
        "private key",
        r"(\A|bytes left out \.\.\.\r?\n)(?:[A-Za-z0-9+/=]{40,}\s+)*[A-Za-z0-9+/=]*\s*"
        r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
        rf"\1{MASK}",
    ),
    # kubectl's last-applied annotation is a copy of the whole object, and anyone may write annotations.
    Rule(
        "annotations",
        r"""((?:\\?["'])annotations\\?["']\s*:\s*)\{(?:[^{}"]|"(?:[^"\\]|\\.)*"){2,}\}""",
        rf"\1{MASK}",
    ),
    Rule(
        "annotations",
        r"(?m)^([ \t]*)annotations:[ \t]*\r?\n(?:\1[ \t]+[^\r\n]*(?:\r?\n|\Z))+",
        rf"\1annotations: {MASK}\n",
    ),
    Rule(
        "annotations", r"(last-applied-configuration[\"']?\s*[:=]\s*(?:\|\s*)?)(?!<removed>)[^\s][^\r\n]*", rf"\1{MASK}"
    ),
    Rule(
        "data of a Secret",
        r"(?m)^((?:kind: Secret|type: (?:Opaque|kubernetes\.io/[\w./-]+))\b(?:\r?\n(?!---).*){0,12}?\r?\n"
        r"(?:data|stringData):[ \t]*\r?\n)"
        r"(?:[ \t]+[^\r\n]*(?:\r?\n|\Z))+",
        rf"\1  {MASK}\n",
    ),
    Rule(
        "data of a Secret",
        r"(?m)^((?:data|stringData):[ \t]*\r?\n)(?:[ \t]+[^\r\n]*\r?\n)+"
        r"(?=(?:(?!---).*\r?\n){0,8}?kind: Secret\b)",
        rf"\1  {MASK}\n",
    ),
    Rule("arguments of Ansible", r"(?i)(\bInvoked with:?)[^\r\n]*", rf"\1 {MASK}"),
    Rule(
        "header",
        r"(?i)(\b(?:(?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]*(?:key|token|auth|secret)[a-z-]*)"
        r"\\?[\"']?[ \t]*[:=][ \t]*)"
        r"(?!\{|authorization failed)[^\s][^\r\n]*",
        rf"\1{MASK}",
    ),
    Rule(
        "header",
        r"(?i)(\b(?:Bearer|Basic|Negotiate|NTLM|Digest(?!\s+sha\d)|SharedKey|AWS4-HMAC-SHA256)\s+)(?=\S*[\d=+/])[A-Za-z0-9._~+/=:-]{8,}",
        rf"\1{MASK}",
    ),
    Rule("shared access signature", r"(?i)(SharedAccessSignature\s*[= ])\s*[^\s\"';]+", rf"\1{MASK}"),
    Rule("user in an address", r"(?i)(\b[a-z][a-z0-9+.-]{1,15}://)[^\s/@\"']{1,300}@", rf"\1{MASK}@"),
    Rule("user in an address", r"(?i)(\b[a-z][a-z0-9+.-]{1,15}://[^\s:@/\"']{1,80}:)[^\s@\"']{1,100}@", rf"\1{MASK}@"),
    Rule(
        "webhook",
        r"(?i)(\bhttps?://(?:hooks\.slack\.com/(?:services|workflows|triggers)|[\w.-]*discord(?:app)?\.com/api/webhooks"
        r"|[\w.-]*webhook\.office\.com/webhookb2|api\.telegram\.org/bot|hooks\.zapier\.com/hooks|[\w.-]+/hooks?)[/]?)[^\s\"']+",
        rf"\1{MASK}",
    ),
    Rule("JSON web token", r"\bey[JI][\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}", MASK),
    Rule("bootstrap token", r"\b([a-z0-9]{6})\.[a-z0-9]{16}\b", rf"\1.{MASK}"),
    Rule("certificate key", r"(?i)(--certificate-key[=\s]+)\S+", rf"\1{MASK}"),
    Rule(
        "token of a service",
        rf"(?<![A-Za-z0-9_])(?:{_PREFIXES})(?=[A-Za-z0-9=._-]*\d)[A-Za-z0-9=_./+-]{{12,}}(?<![=.])={{0,2}}",
        MASK,
    ),
    Rule(
        "token of a service", r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}\b|\bSK[0-9a-f]{32}\b", MASK
    ),
    Rule(
        "token of a service",
        r"\b[a-zA-Z0-9]{14}\.atlasv1\.[\w=-]{30,}|\b\d{6,16}:A[\w-]{30,}|\b\d{15,16}(?:\||%7C)[\w-]{27,40}",
        MASK,
    ),
    Rule(
        "token of a service",
        r"\b[0-9a-f]{32}-us\d{1,2}\b|\b[\w.~-]{3}\dQ~[\w.~-]{31,34}|\b[a-z0-9]+_[a-z0-9]+\.[a-z0-9]+\.acc[_-][\w.+/=-]{30,}",
        MASK,
    ),
    Rule(
        "signed address",
        r"(?i)([?&;](?:sig|signature|x-amz-[a-z-]*|x-goog-[a-z-]*|awsaccesskeyid|access_token|code|key|apikey|token|auth)=)"
        r"(?!<removed>)[^&\s\"']+",
        rf"\1{MASK}",
    ),
    Rule("registry login", r"(?i)([\"']?\b_?auth[\"']?[ \t]*[:=][ \t]*)(?!\{)" + _VALUE, rf"\1{MASK}"),
    Rule("netrc", r"(?i)(\bmachine\s+\S+\s+login\s+\S+\s+password\s+)\S+", rf"\1{MASK}"),
    # A container's variable, with separate keys for name and value, in either order.
    Rule(
        "variable",
        rf"""(?i)(\\?["'](?:name|key)\\?["']\s*:\s*\\?["'][\w.-]{{0,60}}?{_NAME}\\?["']\s*,\s*\\?["']value\\?["']\s*:\s*)"""
        rf"(?!{_PLAIN}){_VALUE}",
        rf'\1"{MASK}"',
    ),
    Rule(
        "variable",
        rf"""(?i)(\\?["']value\\?["']\s*:\s*){_VALUE}(\s*,\s*\\?["'](?:name|key)\\?["']\s*:\s*\\?["'][\w.-]{{0,60}}?{_NAME}\\?["'])""",
        rf'\1"{MASK}"\2',
    ),
    Rule(
        "variable",
        rf"(?im)^([ \t]{{0,40}}(?:-[ \t]{{1,10}})?(?:name|key):[ \t]*[\"']?[\w.-]{{0,60}}?{_NAME}[\"']?[ \t]*\r?\n"
        rf"[ \t]*value:[ \t]*)(?!{_PLAIN})[^\r\n]+",
        rf"\1{MASK}",
    ),
    Rule(
        "element",
        rf"(?i)(<(?:[\w.-]{{1,20}}:)?[\w.-]{{0,40}}?{_NAME}(?:\s[^<>]*)?>\s*(?:<Value>\s*)?)(?!{MASK}|<|{_PLAIN})[^<]+",
        rf"\1{MASK}",
    ),
    Rule(
        "element",
        rf"""(?i)((?:name|key)=["'][\w.:-]{{0,60}}?{_NAME}["']\s+value=)(?!{_PLAIN})(?:"[^"]*"|'[^']*')""",
        rf'\1"{MASK}"',
    ),
    Rule(
        "element",  # <Data Name='password'>..</Data> of Windows' events
        rf"""(?i)(<[\w:.-]{{1,40}}\s[^<>]{{0,200}}?(?:name|key|id)=["'][\w.:-]{{0,60}}?{_NAME}["'][^<>]{{0,200}}>)(?!{MASK}|<|{_PLAIN})[^<]+""",
        rf"\1{MASK}",
    ),
    Rule(
        "element",
        rf"""(?i)(\svalue=)(?:"[^"]*"|'[^']*')(\s+(?:name|key)=["'][\w.:-]{{0,60}}?{_NAME}["'])""",
        rf'\1"{MASK}"\2',
    ),
    Rule(
        "variable",
        rf"(?im)(\b(?:name|key):[ \t]*[\"']?[\w.-]{{0,60}}?{_NAME}[\"']?[ \t]*\r?\n[ \t]*value:[ \t]*)"
        rf"(?!{_PLAIN}|{MASK})[^\r\n]+",
        rf"\1{MASK}",
    ),
    Rule(
        "variable",
        rf"(?im)(\bvalue:[ \t]*)(?!{_PLAIN}|{MASK})[^\r\n]+"
        rf"(\r?\n[ \t]*(?:name|key):[ \t]*[\"']?[\w.-]{{0,60}}?{_NAME}[\"']?[ \t]*$)",
        rf"\1{MASK}\2",
    ),
    # Neighbours in a list of arguments.
    Rule(
        "neighbour",
        rf"""(?i)(["'](?:--?|/)[\w.-]{{0,40}}?{_NAME}["']\s{{0,8}},\s{{0,8}})(?!["'](?:--?|/)[a-z])(?:"[^"\r\n]*"|'[^'\r\n]*')""",
        rf'\1"{MASK}"',
    ),
    Rule(
        "neighbour",
        rf"(?im)(^[ \t]{{0,40}}-[ \t]+[\"']?(?:--?|/)[\w.-]{{0,40}}?{_NAME}[\"']?[ \t]*\r?\n"
        rf"[ \t]{{0,40}}-[ \t]+)(?!-)[^\r\n]+",
        rf"\1{MASK}",
    ),
    Rule(
        "switch",
        rf"(?i)(\s/[\w-]{{0,40}}?{_NAME}[ \t]+)(?![-/]|HTTP/|\d{{3}}\b|{_PLAIN}|{MASK}){_QUOTED}",
        rf"\1{MASK}",
    ),
    Rule(
        "value below",
        rf"(?im)({_NAME}[\"']?[ \t]*:[ \t]*\r?\n)(?:[ \t]+(?!{MASK})[^\s:-][^\r\n:]*(?:\r?\n|\Z))+",
        rf"\1  {MASK}\n",
    ),
    # PowerShell and Windows programs.
    Rule(
        "PowerShell",
        rf"(?i)(ConvertTo-SecureString\s+(?:-AsPlainText\s+|-Force\s+|-String\s+)*)(?!-|\$|{MASK}){_QUOTED}",
        rf"\1{MASK}",
    ),
    Rule(
        "PowerShell", r"""(?i)(?:"[^"\r\n]{1,200}"|'[^'\r\n]{1,200}')(?=\s{0,4}\|\s{0,4}ConvertTo-SecureString)""", MASK
    ),
    Rule(
        "PowerShell",
        rf"(?i)((?:PSCredential|NetworkCredential)\]?(?:::new)?\s*(?:-ArgumentList\s+)?\(?\s*{_QUOTED}\s*,\s*)(?!\$|\(){_QUOTED}",
        rf"\1{MASK}",
    ),
    Rule(
        "switch",
        rf"(?i)((?<![\w/])/(?:p|rp|pass|pwd|password|pw|savecred|passphrase)[: ]\s*)(?![/-]){_QUOTED}",
        rf"\1{MASK}",
    ),
    Rule("switch", rf"(?i)(\bnet(?:\.exe)?\s+user\s+[^\s/]+\s+)(?!/){_QUOTED}", rf"\1{MASK}"),
    Rule("switch", rf"(?i)(\bnet(?:\.exe)?\s+use\s+(?:\S:\s+)?\\\\\S+\s+)(?!/){_QUOTED}(?=\s+/user:)", rf"\1{MASK}"),
    Rule("switch", rf"(?i)(\bnet(?:\.exe)?\s+use\s[^\r\n]*?/user:\S+\s+)(?!/|\*|failed\s){_QUOTED}", rf"\1{MASK}"),
    Rule(
        "user and password",
        r"(?i)((?<![\w-])(?:--(?:proxy-)?user|-u)[ =]\s*[\"']?[^\s:\"']{1,60}:)[^\s\"']+",
        rf"\1{MASK}",
    ),
    Rule(
        "switch",
        rf"(?i)(\b(?:sshpass|docker|podman|nerdctl|mysql\w*|psexec\w*|plink|pscp|ctr|redis-cli|ldapsearch|smbclient|az|bcp|sqlcmd)"
        rf"(?:\.exe)?\b[^\r\n|]{{0,120}}?\s-(?:p|a|w|P)(?:\s+|(?=\S{{6}})(?=[a-z]*[^\sa-z])))(?!-|\d{{1,5}}\b|{MASK}){_QUOTED}",
        rf"\1{MASK}",
    ),
    Rule("netsh", rf"(?i)(\b(?:keyMaterial|keyContent)[=>\s:]+)(?!{MASK})[^\s<]+", rf"\1{MASK}"),
    # YAML values below their key: a block of any lines, else lines that are not a mapping.
    Rule(
        "value below",
        rf"(?im)^([^\r\n:=]{{0,80}}?{_NAME}[\"']?[ \t]*:[ \t]*[|>][-+0-9]*[ \t]*\r?\n)(?:[ \t]+[^\r\n]+(?:\r?\n|\Z))+",
        rf"\1  {MASK}\n",
    ),
    Rule(
        "value below",
        rf"(?im)^([^\r\n:=]{{0,80}}?{_NAME}[\"']?[ \t]*[:=][ \t]*\r?\n)(?:[ \t]+[^\r\n:-][^\r\n:]*(?:\r?\n|\Z))+",
        rf"\1  {MASK}\n",
    ),
    Rule(
        "rest of the line",
        rf"(?im)^([^\r\n:=]{{0,80}}?{_NAME}[\"']?[ \t]*:[ \t]+)"
        rf"(?!{_PLAIN}|{_NESTED}|[|>][-+0-9]*[ \t]*\r?$)([^\s][^\r\n]*)",
        _unless_reason,
    ),
    Rule(
        "named value",
        rf"(?i)({_NAME}{_Q}[ \t]*{_IS}[ \t]*@?)(?!{_PLAIN}|[,;]\s)({_VALUE}(?:[ ][\w:]{{0,20}})?)",
        _unless_reason_of_word,
    ),
    Rule(
        "in a program",
        rf"""(?i)({_NAME}\s{{0,4}}(?:[!=]={{1,2}}|\(|(?:\[\])?\s{{0,4}}=\s{{0,4}}@?)\s{{0,4}})(?!{_PLAIN})(?:"[^"\r\n]+"|'[^'\r\n]+')""",
        rf"\1{MASK}",
    ),
    Rule(
        "in a program",
        rf"""(?i)(?:"[^"\r\n]+"|'[^'\r\n]+')(?=\s{{0,4}}[!=]={{1,2}}\s{{0,4}}[\w.]{{0,40}}?{_NAME})""",
        MASK,
    ),
    Rule(
        "in a program",
        r"""(?i)(\b\w{0,30}(?:bind|log_?[io]n|auth|authenticate|connect)\(\s*(?:"[^"\r\n]*"|'[^'\r\n]*')\s*,\s*)"""
        r"""(?:"[^"\r\n]+"|'[^'\r\n]+')""",
        rf"\1{MASK}",
    ),
    Rule(
        "argument",
        rf"(?i)((?<![\w-])--?[\w.-]{{0,40}}?{_NAME}\s+)(?!-|(?:via|is|was|from|in|on|and|or)\s|\$[a-z_]+\s)"
        rf"(?!{_PLAIN}){_VALUE}",
        rf"\1{MASK}",
    ),
    Rule(
        "value of a key",
        rf"(?i)((?<![\w.-])[\w.-]{{0,40}}{_KEYLIKE}{_Q}\s*{_IS}\s*)({_Q}[\w=+~!@#$%^&*.-]+{_Q})(?![\w/\\])",
        _if_token,
    ),
    Rule(
        "in a program",  # get("password", "..."), getenv("DB_PASS") or "..."
        rf"""(?i)(\(\s*["'][\w.-]{{0,40}}?{_NAME}["']\s*(?:,|\)\s*(?:or|\|\||\?\?))\s*)(?!{_PLAIN})(?:"[^"\r\n]+"|'[^'\r\n]+')""",
        rf"\1{MASK}",
    ),
    Rule(
        "after its name",
        r"""(?i)(\b(?:\w{0,40}pass(?:word|wd|phrase)|identified\s+by|p/?w)\s+)(?:"[^"\s]+"|'[^'\s]+')""",
        rf"\1{MASK}",
    ),
    Rule(
        "after its name",
        # Not by a blank alone, which in a log parts words.
        r"""(?i)(\b(?:\w{0,40}(?:pass(?:word|wd|phrase)|p/?w)\s+(?:is|are|was|to|REG_(?:EXPAND_|MULTI_)?SZ)\b:?"""
        r"""|identified\s+by|set\s+password|nssm(?:\.exe)?\s+set\s+\S+\s+ObjectName\s+\S+)\s+)([^\s"'<>]+)""",
        _if_token,
    ),
    # Secrets without a name.
    Rule(
        "base64",
        r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}(?:(?:\r?\n[ \t]*|\\n)[A-Za-z0-9+/]{20,})*={0,2}",
        _if_packed,
    ),
    Rule(
        "variable",
        r"(?<![\w.-])(?P<name>[A-Z][A-Z0-9_]{2,60}=[\"']?)(?P<value>[A-Za-z0-9_-]{14,200})(?![\w/\\.])",
        _if_drawn,
    ),
    # Not the checksums of packages.
    Rule(
        "random",
        r"sha(?:256|384|512)-[A-Za-z0-9+/]{40,}|(?<![A-Za-z0-9])(?<!\bid=)(?P<word>[A-Za-z0-9]{20,200})(?![A-Za-z0-9])",
        _if_random,
    ),
)

_FOLDERS = ("pki", "credentialspecs", "secrets", "tokens")
_ENDINGS = (".key", ".pem", ".pfx", ".p12", ".crt", ".cer", ".kubeconfig", ".ppk")
_NAMES = ("kubelet.conf", "bootstrap-kubelet.conf", "admin.conf", "config", ".dockerconfigjson", "docker.json")


def is_secret_file(path: str) -> bool:
    """Whether a file is never fetched: kubeconfigs, keys, credential specs, volumes of pods."""
    parts = [part.casefold() for part in path.split("\\")]
    name = parts[-1]
    if any(part in _FOLDERS or part == "volumes" for part in parts[:-1]):
        return True
    return name in _NAMES or name.endswith(_ENDINGS) or "kubeconfig" in name or name.startswith("id_rsa")


def redact(
    text: str,
    more: Sequence[re.Pattern[str]] = (),
    known: Sequence[Secret[str]] = (),
    *,
    parted_by_blanks: bool = False,
) -> tuple[str, int]:
    """The text without secrets, and how many were removed.

    First by value: `known` are the secrets of the run, which go wherever they stand and however they are written. Then
    by grammar: a name that means a secret, and its value. `more` are patterns that are removed entirely.
    `parted_by_blanks`: the file's format has names and values with blanks between them, as fluent-bit's.
    """
    text, count = hide(text, known, MASK)
    if parted_by_blanks:
        text, found = _BY_BLANKS.subn(rf"\1{MASK}", text)
        count += found
    text, found = _by_grammar(text, 0, {})
    count += found
    for pattern in more:
        text, found = pattern.subn(MASK, text)
        count += found
    return text, count


_BY_BLANKS = re.compile(rf"(?im)^([ \t]*[\w.-]{{0,40}}?{_NAME}[ \t]+)(?!{_PLAIN}|{MASK})[^\r\n]+")


def is_secret_name(name: str) -> bool:
    """Whether a name means a secret."""
    return _NAMED.fullmatch(name) is not None


_DEEPEST = 4
"""Texts within texts."""


def _by_grammar(text: str, depth: int, done: dict[str, tuple[str, int]]) -> tuple[str, int]:
    """JSON is read; rules see the rest. `done` are the texts within JSON that were looked at, since objects of an API
    repeat them."""
    text, count = _KEY_IN_RECORDS.subn(_without_key, text) if "PRIVATE KEY" in text else (text, 0)
    # For a rule a document is an object, which it leaves to its own names.
    sign = _STAND_IN * (1 + max(map(len, _STAND_INS.findall(text)), default=0))
    pieces: list[str] = []
    documents: list[str] = []
    at = 0
    for group in find_json(text) if depth < _DEEPEST else ():
        before = text[at : group.start]
        clean, found = _in_document(text, group, _BEFORE.search(before[-200:]) is not None, depth, done)
        pieces += [before, f'{{"{sign}{len(documents)}{sign}"}}']
        documents.append(clean)
        count += found
        at = group.end
    if not documents:
        clean, found = _by_rules(text, depth, done)
        return clean, count + found
    clean, found = _by_rules("".join([*pieces, text[at:]]), depth, done)
    stand_in = re.compile(rf'\{{"{sign}(\d+){sign}"\}}')
    return stand_in.sub(lambda match: documents[int(match[1])], clean), count + found


_KEY_IN_RECORDS = re.compile(
    r"(?m)^(?P<first>\{(?>[^\r\n]*?-----BEGIN ))[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?!-----END )[^\r\n])*+(?P<line>\r?\n)"
    r"(?:\{(?:(?!-----END )[^\r\n])*+(?:\r?\n|\Z)){1,300}+"
    r"(?P<last>\{(?:(?!-----END )[^\r\n])*+-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?"
)
"""A key that somebody has logged, each of its lines a record in JSON."""


def _without_key(match: re.Match[str]) -> str:
    """The first record with what ends the last one; without a last one it ends there."""
    rest = "" if match["last"] else f'"}}{match["line"]}'
    return f"{match['first']}PRIVATE KEY----- {MASK}{rest}"


_STAND_IN = "\ue000"
_STAND_INS = re.compile(f"{_STAND_IN}+")
_BEFORE = re.compile(rf"(?i){_NAME}{_Q}[ \t]*{_IS}[ \t]*$")


def _in_document(text: str, outer: Group, named: bool, depth: int, done: dict[str, tuple[str, int]]) -> tuple[str, int]:
    """An object or a list without its secrets; it stays JSON. `named`: its own name means a secret."""
    edits: list[tuple[int, int, str]] = []
    count = 0
    waiting = [(outer, named)]
    while waiting:
        group, under = waiting.pop()
        whole, hidden = _list_whole(group), _list_hidden(group, under)
        for place, (_name, value) in enumerate(group.members):
            if place in whole or (place in hidden and isinstance(value, Scalar)):
                if not (isinstance(value, Scalar) and (not value.text or _WHOLE_WORD.fullmatch(value.text))):
                    edits.append((value.start, value.end, f'"{MASK}"'))
                    count += 1
            elif isinstance(value, Group):
                waiting.append((value, place in hidden or (under and not group.named)))
            elif value.quoted and not _SHORT.fullmatch(value.text):
                said, found = _in_text(value.text, depth, done)
                if found:
                    edits.append((value.start, value.end, json.dumps(said, ensure_ascii=False)))
                    count += found
    pieces, at = [], outer.start
    for start, end, instead in sorted(edits):
        pieces += [text[at:start], instead]
        at = end
    return "".join([*pieces, text[at : outer.end]]), count


def _in_text(text: str, depth: int, done: dict[str, tuple[str, int]]) -> tuple[str, int]:
    if text not in done:
        done[text] = _by_grammar(text, depth + 1, done)
    return done[text]


def _list_whole(group: Group) -> set[int]:
    """The members of which nothing stays: annotations, which anybody writes and kubectl copies the whole object into,
    and the data of a Secret."""
    said = {name: value.text for name, value in group.members if isinstance(value, Scalar)}
    is_secret = said.get("kind") == "Secret" or _OF_SECRET.fullmatch(said.get("type", "")) is not None
    found = set()
    for place, (name, value) in enumerate(group.members):
        has_text = bool(value.members) if isinstance(value, Group) else value.quoted
        if has_text and ((name == "annotations" and isinstance(value, Group)) or name.endswith(_LAST_APPLIED)):
            found.add(place)
        if has_text and is_secret and name in {"data", "stringData"}:
            found.add(place)
    return found


def _list_hidden(group: Group, under: bool) -> set[int]:
    """The members whose value is a secret by a name: their own, that of the whole (`under`), of a neighbour in a list
    of arguments, or of a member `name` beside a member `value`."""
    found = set()
    names = {name.casefold(): value for name, value in group.members if isinstance(value, Scalar)}
    pair = any(key in names and _NAMED.fullmatch(names[key].text) for key in ("name", "key"))
    before = ""
    for place, (name, value) in enumerate(group.members):
        said = value.text if isinstance(value, Scalar) else ""
        if group.named:
            is_value = name.casefold() in _OF_VALUES
            by_name = (_NAMED.fullmatch(name) and not (_REASON.match(said) and not _SURE.search(name))) or (
                _OF_HEADERS.fullmatch(name)
            )
            if by_name or ((pair or under) and is_value) or _is_token(name, said):
                found.add(place)
        elif under or (_SWITCH.fullmatch(before) and not said.startswith("-")):
            found.add(place)
        before = said
    return found


def _is_token(name: str, said: str) -> bool:
    """Whether a name may be a secret's, and its value looks like one."""
    match = _MAY_BE_KEY.fullmatch(f"{name}={said}") if len(said) < LONGEST_TOKEN else None
    return match is not None and _if_token(match) != match[0]


_LAST_APPLIED = "last-applied-configuration"
_OF_SECRET = re.compile(r"Opaque|kubernetes\.io/[\w./-]+|bootstrap\.kubernetes\.io/token")
_OF_VALUES = frozenset({"value", "values", "content", "text", "plain"})
_OF_HEADERS = re.compile(
    r"(?i)(?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]*(?:key|token|auth|secret)[a-z-]*|_?auth"
)
_SHORT = re.compile(r"[\w.-]{0,15}")
"""Too short for a secret without a name."""
LONGEST_TOKEN = 1000


def _by_rules(text: str, depth: int, done: dict[str, tuple[str, int]]) -> tuple[str, int]:
    """Of a text without JSON."""
    count = 0
    if depth < _DEEPEST:
        for wrapping in _WRAPPINGS:
            if wrapping.sign in text:
                text, found = _within(text, wrapping, depth, done)
                count += found
        if _HEADED.search(text):
            text, found = _in_blocks(text, depth, done)
            count += found
    if has_name := _SOME_NAME.search(text) is not None:
        text, found = _columns(text)
        count += found
    for rule in RULES:
        if rule.needs_name and not has_name:
            continue
        before = text
        text, found = rule.pattern.subn(rule.instead, text)
        if text != before:
            has_name = _SOME_NAME.search(text) is not None
        # A match that a rule left unchanged is not a secret.
        count += found if isinstance(rule.instead, str) else max(0, text.count(MASK) - before.count(MASK))
    return text, count


def _within(text: str, wrapping: _Wrapping, depth: int, done: dict[str, tuple[str, int]]) -> tuple[str, int]:
    """The texts within a text, each without its secrets; one that has none stays as it was written."""
    count = 0

    def clean(match: re.Match[str]) -> str:
        nonlocal count
        try:
            inner = wrapping.unwrap(match[0]) if wrapping.sign in match[0] else match[0]
        except ValueError:
            return match[0]
        if inner == match[0]:
            return match[0]
        said, found = _by_grammar(inner, depth + 1, done)
        count += found
        return wrapping.wrap(said) if found else match[0]

    return wrapping.pattern.sub(clean, text), count


@dataclass(frozen=True, slots=True)
class _Wrapping:
    """Texts within a text: what they look like, how one is read, and how it is written again. `sign` is in each."""

    sign: str
    pattern: re.Pattern[str]
    unwrap: Callable[[str], str]
    wrap: Callable[[str], str]


def _from_powershell(text: str) -> str:
    return _OF_POWERSHELL.sub(
        lambda match: {"n": "\n", "r": "\r", "t": "\t"}.get(match[1], match[1]), text[1:].removesuffix('"')
    )


def _to_powershell(text: str) -> str:
    return '"' + re.sub(r'[`"]', r"`\g<0>", text) + '"'


_OF_POWERSHELL = re.compile(r"`(.)", re.DOTALL)
# A quote that is not closed is a match, too, so that no text is looked at again from each of its quotes.
_WRAPPINGS: tuple[_Wrapping, ...] = (
    _Wrapping(
        "\\",
        re.compile(r'"(?:[^"\\\r\n]|\\.)*"?'),
        lambda text: str(json.loads(text)),
        lambda text: json.dumps(text, ensure_ascii=False),
    ),
    _Wrapping("`", re.compile(r'"(?:[^"`]|`.)*"?', re.DOTALL), _from_powershell, _to_powershell),
    _Wrapping("&", re.compile(r"(?<=>)[^<>]+(?=<)|[^<>\r\n]+"), html.unescape, html.escape),
    _Wrapping("%", re.compile(r"[^\s\"'<>]+"), unquote, lambda text: quote(text, safe="/:?&=<>")),
)

# Lines of a log that go on: each has its own header, as klog and the kubelet's logs of containers write them.
_HEADED = re.compile(
    r"(?m)^(?:[IWEF]\d{4} [\d:.]{8,20} {1,8}\d{1,10} [\w.-]{1,60}:\d{1,6}\]"
    r"|\d{4}-\d\d-\d\dT[\d:.]{8,20}\S{1,6} std(?:out|err) [FP]) "
)
_GOES_ON = re.compile(r"[ \t}\])-]")
_OPENS = re.compile(r"[:{\[,|>][ \t\r]*$")


def _in_blocks(text: str, depth: int, done: dict[str, tuple[str, int]]) -> tuple[str, int]:
    """Values of several lines in a log whose every line has a header."""
    count = 0
    pieces: list[str] = []
    block: list[tuple[str, str]] = []

    def close() -> None:
        nonlocal count
        inner = "\n".join(said for _header, said in block)
        if len(block) > 1:
            clean, found = _by_grammar(inner, depth + 1, done)
            count += found
            inner = clean if found else inner
        said = inner.split("\n")
        headers = [header for header, _said in block]
        pieces.extend(f"{headers[min(number, len(headers) - 1)]}{line}" for number, line in enumerate(said) if block)
        block.clear()

    for line in text.split("\n"):
        found = _HEADED.match(line)
        said = line[found.end() :] if found else ""
        if block and not (found and (_GOES_ON.match(said) or _OPENS.search(block[-1][1][-200:]))):
            close()
        if found:
            block.append((found[0], said))
        else:
            pieces.append(line)
    close()
    return ("\n".join(pieces), count) if count else (text, 0)


_CELL = re.compile(r"\S+(?: \S+)*")
_NAMED = re.compile(rf"(?i)[\w.-]{{0,60}}?{_NAME}")
_SOME_NAME = re.compile(rf"(?i){_NAME}")
_SWITCH = re.compile(rf"(?i)(?:--?|/)[\w.-]{{0,40}}?{_NAME}")
_MAY_BE_KEY = re.compile(rf"(?i)([\w.-]{{0,40}}{_KEYLIKE}=)([\w=+~!@#$%^&*.-]+)")


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a table. `secret` are the places of its cells that mean a secret; with `shift` there is something
    before the table in its line, such as a log's own words, so that rows begin elsewhere."""

    cells: tuple[tuple[int, int | None], ...]
    secret: tuple[int, ...]
    shift: bool = False

    def find(self, line: str) -> list[tuple[int, int | None]]:
        """Where a row has the secrets: below the head, else counted from the end, where a cell is wider than its column
        or the head does not begin where its line does."""
        begins = {start for start, _end in self.cells}
        own = _cells(line)
        if not self.shift and (len(own) < 2 or all(start in begins for start, _end in own)):
            return [self.cells[place] for place in self.secret]
        starts = {start for start, _end in own}
        below = [self.cells[place] for place in self.secret if self.cells[place][0] in starts]
        if _RECORD.match(line) or not 1 < len(own) <= len(self.cells):
            return below
        counted = [len(own) - (len(self.cells) - place) for place in self.secret]
        return [*{*below, *(own[place] for place in counted if place >= 0)}]


def _cells(line: str) -> list[tuple[int, int | None]]:
    """Where each cell begins, and where the next one does."""
    starts = [cell.start() for cell in _CELL.finditer(line)]
    return list(zip(starts, [*starts[1:], None], strict=False))


def _find_head(line: str, after: str) -> _Head | None:
    """None for a line in which no cell means a secret."""
    found = list(_CELL.finditer(line)) if "  " in line else []
    secret = tuple(place for place, cell in enumerate(found) if _NAMED.fullmatch(cell[0]))
    if len(found) < 2 or not secret or any(cell[0][0] in ":=" for cell in found):
        return None
    begins = [cell.start() for cell in found]
    below = [start for start, _end in _cells(after)]
    return _Head(tuple(_cells(line)), secret, shift=bool(below) and not set(below) <= set(begins))


def _columns(text: str) -> tuple[str, int]:
    """The cells below the heads of a table that mean a secret, up to an empty line."""
    if "  " not in text:
        return text, 0
    lines, count = text.split("\n"), 0
    head: _Head | None = None
    for number, line in enumerate(lines):
        if not line.strip():
            head = None
            continue
        if (found := _find_head(line, lines[number + 1] if number + 1 < len(lines) else "")) is not None:
            head = found
            continue
        for start, end in sorted(head.find(line), reverse=True) if head else ():
            cell_text = line[start:end].strip()
            alone = start == 0 or line[start - 1 : start].isspace()
            if alone and cell_text and set(cell_text) != {"-"} and not _WHOLE_PLAIN.fullmatch(cell_text):
                rest = "" if end is None else line[end:]
                gap = " " * max(1, (end or 0) - start - len(MASK)) if rest else ""
                line = f"{line[:start]}{MASK}{gap}{rest}"
                count += 1
        lines[number] = line
    return "\n".join(lines), count


_RECORD = re.compile(r"[IWEF]\d{4} |\[?\d{4}-\d\d-\d\d|\{|time=|level=")
"""How a record of a log begins. It is a row of a table only where it stands below the head."""
_WHOLE_WORD = re.compile(rf"(?i){_WORD}")
_WHOLE_PLAIN = re.compile(rf"(?i){_WORD}|\d+")


def patterns(texts: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    """The user's own patterns. ValueError with a sentence for one that is not a regular expression."""
    found = []
    for text in texts:
        try:
            found.append(re.compile(text))
        except re.error as error:
            raise ValueError(f"redact: '{text}' is not a regular expression: {error}.") from error
    return tuple(found)


def name_in_bundle(path: str) -> str:
    r"""The name of a node's file below `files/`: C:\k\kubelet.log is c/k/kubelet.log. What the controller cannot hold
    is kept under its first letters and 12 digits of its sha256."""
    drive, rest = path[:1].lower(), path[3:]
    parts = [_holdable(part, LONGEST_PART) for part in rest.split("\\") if part not in {"", ".", ".."}]
    if sum(len(part) + 1 for part in parts) > LONGEST_NAME:
        parts = [_holdable(rest, 0)]
    return "/".join([_holdable(drive, 1), *parts])


LONGEST_PART = 200
"""Bytes of one name on the controller: its file systems hold 255, and a file is written beside its name first."""
LONGEST_NAME = 1500
_FIRST = 40


def _holdable(part: str, most: int) -> str:
    if part.isprintable() and "/" not in part and len(part.encode()) <= most:
        return part
    first = re.sub(r"[^A-Za-z0-9._-]", "", part)[:_FIRST]
    return f"{first}-{hashlib.sha256(part.encode('utf-8', errors='surrogatepass')).hexdigest()[:12]}"
