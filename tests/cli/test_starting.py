"""How a command starts: quickly, because it loads only what it needs, and with one line where it cannot."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import wordferry
from wordferry.texts.datasets import sample

SCRIPT = (
    "import sys\n"
    "from wordferry.cli import main\n"
    "try:\n"
    "    main(sys.argv[1:])\n"
    "finally:\n"
    "    print(sorted(name for name in sys.modules), file=sys.stderr)\n"
)
HEAVY = {"numpy", "scipy", "rich", "sqlite3", "typer", "importlib.metadata", "threadpoolctl", "wordferry.index"}


def loaded(*arguments: str) -> tuple[str, set[str]]:
    """What a command prints, and the modules that it has loaded."""
    source = {"PYTHONPATH": str(Path(wordferry.__file__).resolve().parents[1])}
    line = [sys.executable, "-c", SCRIPT, *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=True, env=os.environ | source)
    return done.stdout, set(eval(done.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("starting") / "index"
    with wordferry.Index.create(path) as made:
        made.add([{"id": str(article.id), "text": article.text} for article in sample().articles])
    return str(path)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["search", "--help"], ["cluster", "--help"]])
def test_help_loads_no_library(arguments: list[str]) -> None:
    assert HEAVY & loaded(*arguments)[1] == set()


def test_only_the_command_that_is_asked_for_is_loaded() -> None:
    commands = {name for name in loaded("search", "--help")[1] if name.startswith("wordferry.cli.")}
    assert commands == {"wordferry.cli.options", "wordferry.cli.output", "wordferry.cli.search"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "{}", "bread and butter"],
        ["similar", "{}", "bread and butter"],
        ["index", "list", "{}", "-k", "3"],
        ["index", "get", "{}", "sport-15"],
        ["index", "info", "{}"],
    ],
)
def test_reading_an_index_loads_little(index: str, arguments: list[str]) -> None:
    """What takes longer to load than a search takes is not loaded for it."""
    out, modules = loaded(*(word.format(index) for word in arguments))
    assert out.startswith("{")
    assert {"scipy", "rich", "importlib.metadata", "threadpoolctl", "pyarrow"} & modules == set()


def test_a_search_starts_no_threads_of_blas(index: str) -> None:
    """They spin when they start, for longer than a search takes."""
    script = (
        "import sys\n"
        "from threadpoolctl import threadpool_info\n"
        "from wordferry.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "finally:\n"
        "    found = [one for one in threadpool_info() if one['internal_api'] == 'openblas']\n"
        "    print([one['num_threads'] for one in found], file=sys.stderr)\n"
    )
    source = {"PYTHONPATH": str(Path(wordferry.__file__).resolve().parents[1])}
    own = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    line = [sys.executable, "-c", script, "search", index, "bread and butter"]
    done = subprocess.run(line, capture_output=True, text=True, check=True, env=own | source)
    assert set(eval(done.stderr.splitlines()[-1])) <= {1}


# -- what stands in the way is said at once ----------------------------------------------------------------------------


def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
    source = {"PYTHONPATH": str(Path(wordferry.__file__).resolve().parents[1])}
    line = [sys.executable, "-m", "wordferry", *arguments]
    return subprocess.run(line, capture_output=True, text=True, env=os.environ | source, timeout=120)


def test_a_busy_port_is_one_line(index: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = ask("serve", index, "--port", port)
    assert done.returncode == 2
    assert done.stderr == (
        f"wordferry: The service cannot listen on 127.0.0.1:{port}: Address already in use. "
        "Choose another --port or --host.\n"
    )


def test_a_ray_cluster_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "text": "a cat"}\n')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    line = ["cluster", "knn-graph", str(tmp_path / "docs.jsonl"), "-o", str(tmp_path / "out"), "--address", address]
    done = ask(*line)
    assert done.returncode == 2
    assert done.stderr == f"wordferry: There is no Ray cluster at {address}: Connection refused.\n"


def test_related_words_of_the_package_are_not_computed_again() -> None:
    """60,000 words take seconds to compare; the graph of the package is read in their place."""
    done = ask("related", "show", "ferry")
    assert done.stdout.startswith('{"word": "ferries"')
    assert "exact: shipped with the package" in done.stderr
