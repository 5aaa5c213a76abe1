"""The service where others reach it: behind a proxy, under a path, described for people, with a log that tells when."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.docs.blocks import ROOT, blocks
from tests.web.conftest import QUERY, open_client, post, serving
from wordferry.errors import InputError
from wordferry.web.settings import Settings

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
PAGE = (ROOT / "docs/howto/deploying.md").read_text(encoding="utf-8")
BLOCKS = {block.language: block.text for block in blocks(PAGE)}
ROOTED = "/search"


@contextmanager
def proxied(service: str, folder: Path, *, cut: bool = False) -> Iterator[str]:
    """nginx before a service, with the location of the documentation; ``cut`` takes the path off."""
    assert NGINX is not None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    location = BLOCKS["nginx"].replace("http://127.0.0.1:8080;", f"{service}{'/' if cut else ''};")
    assert service in location
    places = " ".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {places} server {{ listen 127.0.0.1:{port};\n{location}\n}} }}\n"
    )
    process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"])
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(600):
            assert process.poll() is None, "nginx ended"
            try:
                httpx.get(address, timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(f"{path}.log").read_text(encoding="utf-8").splitlines()]


@pytest.mark.skipif(NGINX is None, reason="there is no nginx (Debian's package nginx-light has it)")
@pytest.mark.parametrize("cut", [False, True], ids=["path kept", "path cut off"])
def test_behind_nginx_under_a_path(own_index: Path, tmp_path: Path, cut: bool) -> None:
    options = ("--root-path", ROOTED, "--trust-proxy", "127.0.0.1")
    with (
        serving(own_index, *options, WORDFERRY_TOKEN="secret") as (service, _),
        proxied(service, tmp_path, cut=cut) as address,
        httpx.Client(base_url=f"{address}{ROOTED}/", headers={"authorization": "Bearer secret"}, timeout=60) as client,
    ):
        assert client.get(f"{address}{ROOTED}").headers["location"].endswith(f"{ROOTED}/")
        page = client.get("")
        assert "<title>wordferry</title>" in page.text
        parts = re.findall(r'(?:src|href)="([^"#]+)"', page.text)
        assert "static/main.js" in parts
        for part in parts:
            assert client.get(part).status_code == 200, part
        assert post(client, "api/search", {"texts": [QUERY], "k": 1})["results"][0]["hits"][0]["id"]
        assert client.get("openapi.json").json()["servers"] == [{"url": ROOTED}]
        assert client.get("api/stats", headers={"authorization": ""}).status_code == 401
        assert httpx.get(f"{service}/healthz").status_code == 200


@pytest.mark.parametrize(("path", "status"), [("/", 200), (f"{ROOTED}/", 200), (ROOTED, 308), (f"{ROOTED}x", 401)])
def test_paths_with_and_without_the_root(built_index: Path, path: str, status: int) -> None:
    with open_client(built_index, root_path=ROOTED, token="secret") as client:
        answer = client.get(path, follow_redirects=False)
        assert answer.status_code == status
        assert answer.headers.get("location") == (f"{ROOTED}/" if status == 308 else None)
        assert client.get(f"{ROOTED}/static/main.js").text == client.get("/static/main.js").text


@pytest.mark.parametrize("wrong", ["search", "/search/", "/", "/a b", "//", "/a/../b?"])
def test_root_paths_that_are_none(wrong: str) -> None:
    with pytest.raises(InputError, match="root path"):
        Settings(root_path=wrong)


def test_proxies_are_addresses() -> None:
    assert Settings(trusted_proxies=("127.0.0.1", "10.0.0.0/8", "::1")).trusted_proxies
    for wrong in ("*", "proxy.example", ""):
        with pytest.raises(InputError, match="proxy"):
            Settings(trusted_proxies=(wrong,))


@pytest.mark.parametrize("trusted", [(), ("127.0.0.1",), ("10.0.0.0/8",)])
def test_forwarded_addresses_are_believed_only_from_those_named(own_index: Path, trusted: tuple[str, ...]) -> None:
    options = [word for one in trusted for word in ("--trust-proxy", one)]
    with serving(own_index, *options) as (address, _):
        assert httpx.get(f"{address}/api/stats", headers={"x-forwarded-for": "203.0.113.7"}, timeout=60).is_success
    (client,) = {line["client"] for line in lines_of(own_index) if line.get("route") == "/api/stats"}
    assert client == ("203.0.113.7" if trusted == ("127.0.0.1",) else "127.0.0.1")


def test_every_line_of_the_log_says_when(own_index: Path) -> None:
    with serving(own_index) as (address, _):
        assert httpx.get(f"{address}/api/stats", timeout=60).is_success
        moved = own_index.rename(own_index.with_name("moved"))
        assert httpx.get(f"{address}/api/fields", timeout=60).status_code == 503
        moved.rename(own_index)
    lines = lines_of(own_index)
    assert {line.get("level", "access") for line in lines} >= {"access", "info", "error"}
    times = [datetime.fromisoformat(line["time"]) for line in lines]
    assert times == sorted(times)
    assert all(next(iter(line)) == "time" for line in lines)


def test_every_request_is_described(reader: Any) -> None:
    described = reader.get("/openapi.json").json()
    schemas = described["components"]["schemas"]
    silent = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            silent += [path] if not operation.get("description") else []
            silent += [f"{path} {one['name']}" for one in operation.get("parameters", []) if not one.get("description")]
            assert ("requestBody" in operation) == (method == "post")
    taken = [name for name in schemas if name.endswith("Request")] + ["OfText", "OfDocument", "NewDocument"]
    assert len(taken) == 8
    for name in taken:
        silent += [name] if not schemas[name].get("description") else []
        silent += [f"{name}.{key}" for key, one in schemas[name]["properties"].items() if not one.get("description")]
    assert silent == []


def test_examples_of_the_description_are_answered(reader: Any) -> None:
    described = reader.get("/openapi.json").json()
    for path in ("search", "similar", "distance", "explain"):
        schema = described["components"]["schemas"][f"{path.title()}Request"]
        body = {name: schema["properties"][name]["examples"][0] for name in schema["required"]}
        assert post(reader, f"/api/{path}", body)


def test_the_description_for_people_needs_no_network(reader: Any) -> None:
    page = reader.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert re.findall(r"https?://[^\"' ]+", page.text) == []
    assert "https://" not in reader.get("/static/docs.js").text


def test_what_a_container_runs(own_index: Path) -> None:
    """The command and the check of the Dockerfile, on the paths and ports of a test."""
    joined = BLOCKS["dockerfile"].replace("\\\n", "")
    found = dict(re.findall(r"^(HEALTHCHECK CMD|CMD) (\[.*\])$", joined, re.MULTILINE))
    command, check = json.loads(found["CMD"]), json.loads(found["HEALTHCHECK CMD"])
    assert command[:3] == ["wordferry", "serve", "/index"]
    assert command[-2:] == ["--port", "8080"]
    assert BLOCKS["ini"].split("ExecStart=")[1].startswith("/opt/wordferry/bin/wordferry serve /var/lib/wordferry/news")
    with serving(own_index, *command[3:-2], WORDFERRY_TOKEN="secret") as (address, _):
        script = check[2].replace("http://127.0.0.1:8080", address)
        assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60).returncode != 0
