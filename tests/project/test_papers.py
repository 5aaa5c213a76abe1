"""The papers of the project agree with the sources: versions, commands, links, and the files that a forge reads."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import wordferry

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z][a-z0-9-]*):", MAKEFILE, re.MULTILINE))
PAPERS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def commands(text: str) -> list[str]:
    """Targets in ``make x`` that stand as code: in backquotes, or on a line of their own."""
    found = re.findall(r"`make ([a-z0-9-]+)", text) + re.findall(r"^(?:\$|   ) ?make ([a-z0-9-]+)", text, re.MULTILINE)
    return found + re.findall(r"run: make ([a-z0-9-]+)", text)


@pytest.mark.parametrize("file", [*PAPERS, *WORKFLOWS], ids=lambda file: str(file.relative_to(ROOT)))
def test_every_make_command_that_is_named_exists(file: Path) -> None:
    if "_build" not in file.parts:
        assert sorted(set(commands(file.read_text(encoding="utf-8"))) - TARGETS) == []


def test_commands_are_seen() -> None:
    assert commands("`make docs`, `make bench BENCH=x`\n\n    make quick\n$ make help\n- run: make plain\n") == [
        *("docs", "bench", "quick", "help", "plain")
    ]


def test_make_help_names_what_contributors_are_told() -> None:
    told = set(commands(read("CONTRIBUTING.md")))
    assert {"quick", "help", "test", "docs", "check", "editable"} <= told
    assert {target for target in told - {"help"} if f"#   make {target} " not in MAKEFILE} == set()


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_of_the_papers_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)", read(name)):
        assert (ROOT / target).exists(), target


def test_the_citation_has_this_version_and_all_papers() -> None:
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == wordferry.__version__
    assert citation["license"] == PROJECT["license"]
    assert {"title", "message", "authors"} <= set(citation)
    assert {(work["authors"][0]["family-names"], work["year"]) for work in citation["references"]} == {
        *(("Werner", 2020), ("Kusner", 2015), ("Atasu", 2019), ("Sato", 2022), ("Pennington", 2014))
    }


def test_the_changelog_begins_with_this_version() -> None:
    first = re.search(r"^## (\S+) \((.+)\)$", read("CHANGELOG.md"), re.MULTILINE)
    assert first is not None
    assert first[1] == wordferry.__version__


def test_workflows_ask_for_no_more_rights_than_they_need() -> None:
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert workflow["permissions"] in ({"contents": "read"}, {}), file.name
        for name, job in workflow["jobs"].items():
            assert "runs-on" in job, (file.name, name)
            assert all(("uses" in step) != ("run" in step) for step in job["steps"]), (file.name, name)


def test_what_ci_runs_covers_the_pythons_that_are_promised() -> None:
    pythons = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]["test"]["strategy"]["matrix"]["python"]
    promised = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert set(pythons) <= promised
    assert PROJECT["requires-python"] == f">={pythons[0]}"


def test_forms_ask_for_something() -> None:
    for file in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")):
        form = yaml.safe_load(file.read_text(encoding="utf-8"))
        if file.name != "config.yml":
            assert {"name", "description", "body"} <= set(form), file.name
            assert any(part["type"] == "textarea" for part in form["body"]), file.name


def test_hooks_are_the_tools_of_make_lint() -> None:
    wanted = set(PROJECT["optional-dependencies"]["dev"])
    hooks = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    for hook in hooks:
        assert set(hook.get("additional_dependencies", [])) <= wanted, hook["id"]
        assert hook["language"] == "python" or (ROOT / hook["entry"].split()[-1]).exists()
