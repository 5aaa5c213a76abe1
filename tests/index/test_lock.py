"""One writer at a time, named; no network file systems; no use after a fork."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index.collection import documents
from wordferry.errors import LockedError, StorageError, Unsupported
from wordferry.index import Index
from wordferry.index.storage.lock import file_system, refuse_network

Make = Callable[..., Index]


def test_second_writer_is_told_who_holds_the_lock(make: Make, tmp_path: Path) -> None:
    first = make()
    first.add(documents(2))
    second = Index.open(tmp_path / "index")
    with pytest.raises(LockedError, match=rf"is being written by process {os.getpid()} on \S+ since 20\d\d-"):
        second.add(["w01"])
    assert len(second.similar("w01")) == 2
    first.close()
    second.add(["w01"])
    assert len(second) == 3
    second.close()


def test_another_process_is_named(make: Make, tmp_path: Path) -> None:
    make().close()
    code = (
        "import sys\nfrom wordferry.index import Index\n"
        "index = Index.open(sys.argv[1])\nindex.add(['w01'])\nprint('added', flush=True)\nsys.stdin.readline()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "index")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "added\n"
    with Index.open(tmp_path / "index") as index:
        with pytest.raises(LockedError, match=f"process {process.pid} on"):
            index.delete(index.ids())
        assert len(index) == 1
        process.kill()
        process.communicate()
        assert index.delete(index.ids()) == 1


def test_reading_takes_no_lock(make: Make, tmp_path: Path) -> None:
    make().add(documents(3))
    readers = [Index.open(tmp_path / "index") for _ in range(3)]
    assert [len(reader.similar("w01")) for reader in readers] == [3, 3, 3]
    for reader in readers:
        reader.close()


def test_an_index_that_is_written_is_not_overwritten(make: Make, tmp_path: Path) -> None:
    index = make()
    index.add(documents(2))
    with pytest.raises(LockedError):
        make(overwrite=True)
    assert len(index) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_use_after_fork_is_refused(make: Make) -> None:
    index = make()
    index.add(documents(2))
    child = os.fork()
    if child == 0:
        try:
            len(index)
        except StorageError as error:
            os._exit(7 if "another process" in str(error) else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert len(index) == 2


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:40 / /home/share\\040one rw - nfs4 server:/x rw
24 22 0:41 / /mnt/c rw - 9p C: rw
25 23 0:42 / /home/share\\040one/local rw - tmpfs none rw
"""


@pytest.mark.parametrize("holder", ["__main__", "numpy", "builtins"])
def test_an_index_that_is_left_open_at_exit_is_quiet(make: Make, tmp_path: Path, holder: str) -> None:
    """Whatever of Python is left when the index goes, nothing is printed, and the next writer finds the lock free."""
    make().close()
    code = (
        "import sys\nfrom wordferry.index import Index\n"
        "sys.modules[sys.argv[2]].kept = index = Index.open(sys.argv[1])\nindex.add(['w01'])\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "index"), holder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    with Index.open(tmp_path / "index") as index:
        index.add(["w02"])
        assert len(index) == 2


def test_network_file_systems_are_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)
    assert file_system(Path("/var/index"), str(table)) == "ext4"
    assert file_system(Path("/home/share one/index"), str(table)) == "nfs4"
    assert file_system(Path("/home/share one/local/x"), str(table)) == "tmpfs"
    assert file_system(Path("/home/share"), str(table)) == "ext4"
    assert file_system(Path("/x"), str(tmp_path / "nothing")) is None
    with pytest.raises(Unsupported, match=r"network file system \(nfs4\).*Put it on a local disk"):
        refuse_network(Path("/home/share one/index"), str(table))
    refuse_network(Path("/home/share one/local/x"), str(table))
    with caplog.at_level(logging.WARNING, logger="wordferry"):
        refuse_network(Path("/mnt/c/index"), str(table))
    assert "use the index from one machine only" in caplog.text


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="the system has no table of mounts")
def test_this_machine_is_seen() -> None:
    assert file_system(Path("/proc/self")) == "proc"
