"""What a service is started with: where it listens, who may read and write, and how much one request may ask for."""

from __future__ import annotations

import hmac
import ipaddress
import re
from dataclasses import dataclass, field
from functools import lru_cache

from wordferry.errors import InputError


@dataclass(frozen=True)
class Limits:
    """The most that one request may ask for, and that may wait."""

    body_bytes: int = 4 << 20
    text_length: int = 100_000
    """Characters of one text."""
    batch: int = 64
    """Texts of one search, documents of one add."""
    k: int = 1_000
    """Hits of a search, those before its offset counted."""
    answer_bytes: int = 16 << 20
    """Bytes of one answer."""
    held_bytes: int = 256 << 20
    """Bytes of all large bodies and answers that are held at once; more are refused with 503."""
    seconds: float = 30.0
    head_seconds: float = 5.0
    """How long a connection may take to bring the head of a request."""
    body_seconds: float = 10.0
    """How long a request's body may take to come."""
    answer_seconds: float = 10.0
    """How long a client may take to read a short answer."""
    answer_rate: int = 256 << 10
    """Bytes per second at which a client must read a long answer, beside that time."""
    waiting: int = 1_000
    """Searches that may wait for their turn; more are refused with 503."""
    connections: int = 1_024
    """Open connections. Where there are more, the one that has been idle longest is closed."""
    client_connections: int = 512
    """Open connections of one address, by the same rule."""
    filter_terms: int = 1_000
    """Conditions of a filter, each value of an ``in`` counted."""
    work: float = 2e9
    """Steps that one request may ask for: words x documents, by the cheapest distance (see wordferry.web.work)."""
    work_bytes: float = 512 << 20
    """Bytes that a comparison of two texts may hold."""
    light_work: float = 1e8
    """Steps up to which a request is light: it never waits for a heavier one."""
    heavy: int = 2
    """Heavy requests that run at once."""
    heavy_waiting: int = 16
    """Heavy requests that may wait for their turn; more are refused with 503."""
    map_documents: int = 100_000
    """Documents up to which the service draws a map of them."""
    metadata_keys: int = 256
    """Keys of a document's metadata."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise InputError(f"The limit {name} must be greater than 0, got {value}.")


@dataclass(frozen=True)
class Settings:
    """One service. Off loopback a reader token is required; writing always needs the writer token."""

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    writer_token: str | None = None
    limits: Limits = field(default_factory=Limits)
    root_path: str = ""
    """Path under which a proxy shows the service, such as "/search"; requests may come with it or without."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are believed; none by default."""
    stop_seconds: float = 5.0
    """The most time that a service takes to end when it is told to stop."""
    batching: bool = True
    """Join concurrent searches into one call. False is for measuring what that gains."""

    def __post_init__(self) -> None:
        for name, value in (("token", self.token), ("writer token", self.writer_token)):
            if value is not None and not (value and value.isascii() and value.isprintable() and " " not in value):
                raise InputError(f"The {name} must be printable ASCII without spaces, and not empty.")
        if self.root_path and not re.fullmatch(r"(/[\w.~-]+)+", self.root_path, re.ASCII):
            raise InputError(
                f"The root path must look like /search, without a slash at its end; got {self.root_path!r}."
            )
        for proxy in self.trusted_proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                raise InputError(f"A trusted proxy must be an address or a network, got {proxy!r}.") from None
        if not is_loopback(self.host) and self.token is None:
            raise InputError(
                f"Refusing to listen on {self.host} without a token: everybody who can reach this machine could read "
                "the collection. Set WORDFERRY_TOKEN or pass --token, or listen on 127.0.0.1."
            )
        if self.token is not None and self.token == self.writer_token:
            raise InputError("The writer token must differ from the reader token, else every reader could write.")

    def may_read(self, offered: str | None) -> bool:
        """Whether a request with this token may read."""
        return self.token is None or _same(offered, self.token) or _same(offered, self.writer_token)

    def may_write(self, offered: str | None) -> bool:
        """Whether a request with this token may add and delete."""
        return _same(offered, self.writer_token)


def _same(offered: str | None, right: str | None) -> bool:
    """Compare in constant time; a token that is not set equals nothing."""
    if right is None or offered is None:
        return False
    return hmac.compare_digest(offered.encode("utf-8", "surrogatepass"), right.encode())


@lru_cache(256)
def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
