"""Whatever somebody names is read, or refused with a sentence; nothing waits for ever or is read without an end."""

from __future__ import annotations

import os
import socket
import threading
import zipfile
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.foreign.encoding import (
    decode,
    decode_anyhow,
    encode,
    encoding_of,
)
from ansible_collections.winkube.node.plugins.plugin_utils.foreign.files import (
    ForeignError,
    is_zip,
    read_end,
    read_file,
    read_members,
    read_text,
)

GREEN = "grün und so\r\n"
CODINGS = {
    "utf-8": GREEN.encode(),
    "utf-8 with a mark": b"\xef\xbb\xbf" + GREEN.encode(),
    "utf-16-le": GREEN.encode("utf-16-le"),
    "utf-16-be": GREEN.encode("utf-16-be"),
    "utf-16-le with a mark": b"\xff\xfe" + GREEN.encode("utf-16-le"),
    "utf-16-be with a mark": b"\xfe\xff" + GREEN.encode("utf-16-be"),
    "utf-32-le with a mark": b"\xff\xfe\0\0" + GREEN.encode("utf-32-le"),
}


@pytest.mark.parametrize("data", CODINGS.values(), ids=CODINGS)
def test_a_text_is_read_whatever_wrote_it_and_written_as_it_was(data: bytes) -> None:
    assert decode(data) == decode_anyhow(data) == GREEN
    assert encode(GREEN, data) == data


def test_bytes_that_are_no_text_have_a_place_or_a_sign() -> None:
    with pytest.raises(UnicodeDecodeError) as caught:
        decode(b"\xef\xbb\xbfab\xff")
    assert caught.value.start == 5
    assert decode_anyhow(b"ab\xff") == "ab\ufffd"
    assert decode_anyhow("ab".encode("utf-16-le") + b"x", "utf-16-le") == "ab"
    assert encoding_of(b"") == "utf-8"


def test_a_file_has_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "long"
    file.write_bytes(b"x" * 30)
    assert read_file(file, 30) == b"x" * 30
    with pytest.raises(ForeignError, match="30 bytes, more than the 0 MB"):
        read_file(file, 29)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_of_a_long_file_the_end_is_read_in_its_encoding(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "log"
    file.write_bytes("".join(f"line {number:07}\n" for number in range(1000)).encode(encoding))
    end = read_end(file, 2000)
    assert end.cut and end.text.endswith("line 0000998\nline 0000999\n")
    assert not read_end(file, 100_000).cut


@pytest.mark.parametrize("read", [read_file, read_end])
def test_what_has_no_end_or_never_begins_is_refused(tmp_path: Path, read: object) -> None:
    assert callable(read)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ForeignError, match="nothing came out of it for 0 seconds"):
        read(tmp_path / "fifo", 100, wait_s=0.05)
    with pytest.raises(ForeignError, match="more than the 1 MB"):
        read(Path("/dev/zero"), 1 << 20)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(ForeignError, match="it cannot be read: No such device"):
            read(tmp_path / "socket", 100)
    for name, said in (("absent", "No such file"), ("", "Is a directory"), ("a\0b", "null")):
        with pytest.raises(ForeignError, match=f"it cannot be read: .*{said}"):
            read(tmp_path / name, 100)


def test_a_fifo_that_somebody_writes_to_is_read(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_text, args=("hello",))
    writer.start()
    assert read_file(fifo, wait_s=20) == b"hello"
    writer.join()


def test_a_text_says_that_it_is_missing_or_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "absent")
    (tmp_path / "bytes").write_bytes(b"abc\xff")
    with pytest.raises(ForeignError, match="it is not text: byte 3 is not UTF-8"):
        read_text(tmp_path / "bytes")


def _broken(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def test_members_that_are_bad_are_told_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("bad", "good", "large"):
            archive.writestr(name, name * (200 if name == "large" else 1))
        archive.writestr("picture.png", "x")
    _broken(path, path.read_bytes().index(b"bad", 33))
    members = list(read_members(path, lambda name: not name.endswith(".png"), 500))
    assert [(each.name, each.data) for each in members] == [("bad", b""), ("good", b"good"), ("large", b"")]
    assert "Bad CRC-32" in members[0].refused and "more than the 0 MB" in members[2].refused


@pytest.mark.parametrize(
    ("offset", "value", "said"), [(6, 1, "it is encrypted"), (8, 99, "compression"), (14, 0, "CRC")]
)
def test_an_encrypted_or_unknown_member_is_told(tmp_path: Path, offset: int, value: int, said: str) -> None:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("one", "1")
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\x01\x02")
    data[offset] = data[central + offset + 2] = value
    path.write_bytes(data)
    (member,) = read_members(path, lambda _name: True)
    assert said in member.refused


def test_an_archive_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("one", "1")
    assert is_zip(path) and not is_zip(Path("/dev/zero")) and not is_zip(tmp_path / "absent")
    path.write_bytes(path.read_bytes().replace(b"PK\x01\x02", b"PK\x09\x09"))
    with pytest.raises(ForeignError, match="not a zip archive that can be read"):
        list(read_members(path, lambda _name: True))
