"""Writes plugins/plugin_utils/facts/kubelet_fields.txt: the fields of KubeletConfiguration and the flags over them.

    python tests/real/upstream/kubelet_fields.py 1.22.17 1.23.17 ...     one release for each minor

The sources come through the module proxy.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

from tests.real.build import ROOT
from tests.real.upstream.gates import downloaded

TABLE = ROOT / "plugins" / "plugin_utils" / "facts" / "kubelet_fields.txt"
PLAIN = {
    "bool": "bool",
    "string": "string",
    "int32": "int",
    "int64": "int",
    "uint32": "int",
    "float64": "float",
    "metav1.Duration": "duration",
    "TimeOrMetaDuration": "log-duration",
    "time.Duration": "log-duration",
    "resource.QuantityValue": "quantity",
    "v1.ResourceList": "strings-by-name",
    "map[string]string": "strings-by-name",
    "map[string][]string": "lists-by-name",
    "map[string]bool": "bools-by-name",
    "[]string": "strings",
    "[]int32": "ints",
}
TAINT = {"key": "string", "value": "string", "effect": "string", "timeAdded": "string"}
"""Of core/v1, whose module has hundreds of other types. Source: k8s.io/api v0.22.17, v0.37.2 core/v1/types.go."""
FLAG_ALIAS = {
    "v": "logging.verbosity",
    "vmodule": "logging.vmodule",
    "logging-format": "logging.format",
    "log-flush-frequency": "logging.flushFrequency",
}
"""Of component-base logs/api/v1/options.go, AddFlags; `logging` is a field from 1.22 on."""
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_ALIAS = re.compile(r"^type (\w+) (\[\]\w+|string|uint32)$", re.MULTILINE)
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?(\*?[\w.\[\]]+)\s+`json:\"([^\"]*)\"", re.MULTILINE)
_FLAG = re.compile(r"fs\.\w*Var\([^&]*(?:&utilflag\.\w+\{\w+: )?&c\.([\w.]+?)(?:\.Duration)?[)},].*?\"([a-z0-9-]+)\"")


def fields_of(version: str) -> dict[str, str]:
    """Path -> kind, of one release. KeyError for a type that is not understood."""
    own = (downloaded("kubelet", version) / "config" / "v1beta1" / "types.go").read_text(encoding="utf-8")
    base = downloaded("component-base", version)
    places = ("logs/api/v1", "config/v1alpha1", "tracing/api/v1")
    others = [base / place / "types.go" for place in places]
    texts = [own, *(path.read_text(encoding="utf-8") for path in others if path.is_file())]
    structs: dict[str, str] = {}
    aliases: dict[str, str] = {}
    for text in reversed(texts):
        text = re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)
        structs |= dict(_STRUCT.findall(text))
        aliases |= dict(_ALIAS.findall(text))
    return dict(_walk("KubeletConfiguration", "", structs, aliases))


def _walk(name: str, above: str, structs: dict[str, str], aliases: dict[str, str]) -> Iterator[tuple[str, str]]:
    for _go_name, go_type, tag in _FIELD.findall(structs[name]):
        json_name = tag.partition(",")[0]
        bare = go_type.lstrip("*").rpartition(".")[2] if go_type.lstrip("*") not in PLAIN else go_type.lstrip("*")
        bare = aliases.get(bare, bare)
        if not json_name:
            if bare != "TypeMeta" and go_type != "metav1.TypeMeta":
                yield from _walk(bare, above, structs, aliases)
            continue
        path = f"{above}{json_name}"
        if bare in PLAIN:
            yield path, PLAIN[bare]
        elif go_type == "[]v1.Taint":
            yield path, "objects"
            yield from ((f"{path}.{key}", kind) for key, kind in TAINT.items())
        elif bare.startswith("[]"):
            yield path, "objects"
            yield from _walk(bare[2:], f"{path}.", structs, aliases)
        elif go_type.startswith("[]"):
            yield path, "objects"
            yield from _walk(bare, f"{path}.", structs, aliases)
        else:
            yield path, "object"
            yield from _walk(bare, f"{path}.", structs, aliases)


def flags_of(version: str, fields: dict[str, str]) -> dict[str, str]:
    """Flag -> path of the field that it overrides."""
    options = downloaded("kubernetes", version) / "cmd" / "kubelet" / "app" / "options" / "options.go"
    text = options.read_text(encoding="utf-8")
    text = text[text.index("func AddKubeletConfigFlags") :]
    by_name = {path.replace(".", "").lower(): path for path in fields}
    by_name |= {"address": "address", "staticpodpath": "staticPodPath", "resolverconfig": "resolvConf"}
    found = {}
    for go_path, flag in _FLAG.findall(text):
        wanted = go_path.replace(".", "").lower()
        if wanted in by_name and flag not in FLAG_ALIAS:
            found[flag] = by_name[wanted]
    return found | {flag: path for flag, path in FLAG_ALIAS.items() if path in fields}


def table(per_minor: dict[int, dict[str, str]], releases: list[str]) -> str:
    """`per_minor`: name -> value (kind, or path for a flag), names of flags with two hyphens."""
    lines = [
        "# Fields of KubeletConfiguration, and flags of the kubelet that override one.",
        "# Written by tests/real/upstream/kubelet_fields.py; do not edit.",
        "# <path> <kind> <first minor> [<first minor without it>]; of the items of `objects` the path goes on below.",
        "# --<flag> <path> <first minor> [<first minor without it>]",
        "# Source: k8s.io/kubelet config/v1beta1/types.go, component-base logs, config and tracing API types,",
        "# kubernetes cmd/kubelet/app/options/options.go (AddKubeletConfigFlags), at",
        f"#   {' '.join(f'v{release}' for release in releases[:8])}",
        f"#   {' '.join(f'v{release}' for release in releases[8:])}",
    ]
    minors = sorted(per_minor)
    for name in sorted(
        {name for found in per_minor.values() for name in found}, key=lambda name: (name[0] == "-", name)
    ):
        having = [minor for minor in minors if name in per_minor[minor]]
        kinds = {per_minor[minor][name] for minor in having}
        if having != [minor for minor in minors if having[0] <= minor <= having[-1]]:
            raise ValueError(f"{name} comes and goes: {having}")
        kind = per_minor[having[-1]][name] if len(kinds) > 1 else kinds.pop()
        gone = f" 1.{having[-1] + 1}" if having[-1] < minors[-1] else ""
        lines.append(f"{name} {kind} 1.{having[0]}{gone}")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="+", help="one release for each minor")
    chosen = sorted(parser.parse_args(arguments).versions, key=lambda version: int(version.split(".")[1]))
    found: dict[int, dict[str, str]] = {}
    for version in chosen:
        fields = fields_of(version)
        flags = {f"--{flag}": path for flag, path in flags_of(version, fields).items()}
        found[int(version.split(".")[1])] = fields | flags
    TABLE.write_text(table(found, chosen), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
