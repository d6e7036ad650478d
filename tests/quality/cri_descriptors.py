"""Makes plugins/plugin_utils/cri/api.binpb.gz of api.proto beside it, by protoc: `make generate`; test_generated.py
compares."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from google.protobuf.descriptor_pb2 import FileDescriptorSet

FOLDER = Path(__file__).resolve().parents[2] / "plugins" / "plugin_utils" / "cri"
DESCRIPTORS = FOLDER / "api.binpb.gz"
APIS = ("v1", "v1alpha2")


def compiled() -> FileDescriptorSet:
    """api.proto once as it stands and once as v1alpha2, in which the same fields have the same numbers."""
    text = (FOLDER / "api.proto").read_text(encoding="utf-8")
    with TemporaryDirectory() as name:
        made = Path(name, "api.binpb")
        for api in APIS:
            Path(name, f"{api}.proto").write_text(text.replace("package runtime.v1;", f"package runtime.{api};"))
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{name}", f"--descriptor_set_out={made}"]
        subprocess.run([*command, *(f"{api}.proto" for api in APIS)], check=True, timeout=60)
        return FileDescriptorSet.FromString(made.read_bytes())


def committed() -> FileDescriptorSet:
    """What the collection carries."""
    return FileDescriptorSet.FromString(gzip.decompress(DESCRIPTORS.read_bytes()))


if __name__ == "__main__":
    DESCRIPTORS.write_bytes(gzip.compress(compiled().SerializeToString(deterministic=True), mtime=0))
