"""The builds that the controller keeps: bounded, for their owner, and checked before they are used."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.cache import (
    MAX_BUILDS,
    MAX_BYTES,
    MAX_DELTAS,
    PushCache,
    default_folder,
)


def kept(cache: PushCache, data: bytes, age_s: int = 0) -> str:
    sha256 = hashlib.sha256(data).hexdigest()
    assert cache.keep(data, sha256)
    then = (cache.folder / sha256).stat().st_mtime - age_s
    os.utime(cache.folder / sha256, (then, then))
    return sha256


def test_five_builds_and_a_gigabyte() -> None:
    assert (MAX_BUILDS, MAX_BYTES) == (5, 1_000_000_000)


def test_the_ones_longest_unused_go(tmp_path: Path) -> None:
    cache = PushCache(tmp_path / "builds")
    old = [kept(cache, b"build %d" % n, age_s=100 - n) for n in range(5)]
    assert cache.find(old[0]) == b"build 0"
    kept(cache, b"build 5")
    assert [cache.find(item) is not None for item in old] == [True, False, True, True, True]


def test_not_more_bytes_than_allowed(tmp_path: Path) -> None:
    cache = PushCache(tmp_path / "builds", max_bytes=25)
    first, second = kept(cache, b"a" * 10, age_s=20), kept(cache, b"b" * 10, age_s=10)
    third = kept(cache, b"c" * 10)
    assert [cache.find(item) is not None for item in (first, second, third)] == [False, True, True]
    assert not cache.keep(b"d" * 26, hashlib.sha256(b"d" * 26).hexdigest())


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    cache = PushCache(tmp_path / "builds")
    sha256 = kept(cache, b"build")
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert (cache.folder / sha256).stat().st_mode & 0o077 == 0


@contextmanager
def closed(folder: Path) -> Iterator[None]:
    """As for another user, whose folder it is not."""
    if os.geteuid():
        folder.chmod(0)
    else:
        os.seteuid(65534)
    try:
        yield
    finally:
        if os.geteuid() == 65534:
            os.seteuid(0)
        else:
            folder.chmod(0o700)


def test_the_folder_of_another_user_is_as_good_as_none(tmp_path: Path) -> None:
    """After sudo -E two users have one XDG_CACHE_HOME."""
    cache = PushCache(tmp_path / "builds")
    sha256 = kept(cache, b"a build")
    with closed(cache.folder):
        assert not cache.has(sha256)
        assert cache.find(sha256) is None
        assert not cache.keep(b"another", hashlib.sha256(b"another").hexdigest())
        with cache.parts("key", lambda: iter([b"1", b"2"])) as parts:
            assert [part.read_bytes() for part in parts] == [b"1", b"2"]
    assert cache.find(sha256) == b"a build"


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    cache = PushCache(default_folder({}))
    sha256 = hashlib.sha256(b"a build").hexdigest()
    assert not cache.keep(b"a build", sha256)
    assert not cache.has(sha256)
    assert cache.find(sha256) is None
    with cache.parts("key", lambda: iter([b"1"])) as parts:
        assert [part.read_bytes() for part in parts] == [b"1"]


def test_a_damaged_build_is_not_used(tmp_path: Path) -> None:
    cache = PushCache(tmp_path / "builds")
    sha256 = kept(cache, b"build")
    (cache.folder / sha256).write_bytes(b"built")
    assert cache.has(sha256)
    assert cache.find(sha256) is None
    assert not cache.has(sha256)
    assert not (cache.folder / sha256).exists()


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "deltas", "A" * 64])
def test_only_a_sha256_is_looked_for(tmp_path: Path, name: str) -> None:
    assert PushCache(tmp_path).find(name) is None


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert default_folder({"XDG_CACHE_HOME": "/var/cache/me"}) == Path("/var/cache/me/winkube/builds")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder({"XDG_CACHE_HOME": "relative"}) == tmp_path / ".cache" / "winkube" / "builds"


def test_parts_are_made_once_for_many_at_a_time(tmp_path: Path) -> None:
    cache, made, seen = PushCache(tmp_path / "builds"), list[int](), list[list[bytes]]()

    def make() -> Iterator[bytes]:
        made.append(1)
        yield b"one"
        yield b"two"

    def work() -> None:
        with cache.parts("a-b", make) as files:
            seen.append([file.read_bytes() for file in files])

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert seen == [[b"one", b"two"]] * 5


def test_half_made_parts_are_made_again(tmp_path: Path) -> None:
    cache = PushCache(tmp_path / "builds")

    def broken() -> Iterator[bytes]:
        yield b"one"
        yield b"two"
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError), cache.parts("a-b", broken):
        pass
    with cache.parts("a-b", lambda: iter([b"all"])) as files:
        assert [file.read_bytes() for file in files] == [b"all"]


def test_old_deltas_go_but_not_one_that_is_being_sent(tmp_path: Path) -> None:
    cache = PushCache(tmp_path / "builds")
    with cache.parts("0", lambda: iter([b"0"])) as sending:
        for number in range(1, 8):
            with cache.parts(str(number), lambda: iter([b"x"])) as files:
                os.utime(files[0].parent, (number * 10, number * 10))
            os.utime(sending[0].parent, (0, 0))
        left = {path.name for path in (cache.folder / "deltas").iterdir() if path.is_dir()}
        assert left == {"0", *(str(n) for n in range(8 - MAX_DELTAS, 8))}
        assert sending[0].read_bytes() == b"0"
