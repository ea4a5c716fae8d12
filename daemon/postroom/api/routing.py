"""Which call is which: routes as values, found by method and path, and what a handler gets and gives.

A path has at most one `{name}`, always its second segment: two dictionaries find every route.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

from aiohttp import web
from msgspec import Struct

from postroom.api.parts import Parts
from postroom.api.problems import Code, Refusal
from postroom.api.requests import Asked
from postroom.ports.desk import Actor


Q = TypeVar("Q", bound=Asked)
B = TypeVar("B")

BASE: Final = "/v1"


@dataclass(frozen=True, slots=True)
class Call(Generic[Q, B]):
    """One call: who asks, the `{id}` of the path ('' where there is none), the query and the body as they were checked."""

    parts: Parts
    actor: Actor
    id: str
    query: Q
    body: B
    request: web.BaseRequest

    def header(self, name: str) -> str | None:
        """A header of the request."""
        return self.request.headers.get(name)


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON answer; an event is what its type brings."""

    value: Struct | dict[str, object]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is a text as it stands."""

    text: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes in pieces; `size_bytes` is None where nobody knows it before.

    Who takes nothing for `stall` is hung up on; None = as of every answer. `close` is called at the end, however that
    comes.
    """

    pieces: AsyncIterator[bytes]
    content_type: str
    size_bytes: int | None
    headers: Mapping[str, str]
    stall: timedelta | None = None
    close: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """204."""


Result = Answer | Text | Content | Nothing | Refusal


@dataclass(frozen=True, slots=True)
class Route:
    """One call of the API: how it is found, what it takes, what it may answer.

    `body` None = the body is not read for it (the handler streams it, or there is none); `needs_body`: an empty body
    is a fault; `shown_body` is its shape in the OpenAPI document where that says more. `good` maps status to the shape of the answer, None = no JSON (`content_type` says what then).
    `takes_work`: refused while the daemon is stopping. `may_wait`: it may go on for long, so some connections are kept
    from it. `is_bare`: also without the base path. `is_upload`: the body is
    bytes of any kind.
    """

    method: str
    path: str
    handler: Callable[[Call[Any, Any]], Awaitable[Result]]
    summary: str
    good: Mapping[int, type[Struct] | None]
    refusals: tuple[Code, ...] = ()
    query: type[Asked] = Asked
    body: Any = None
    needs_body: bool = False
    shown_body: Any = None
    is_batch: bool = False
    content_type: str = "application/json"
    takes_work: bool = False
    may_wait: bool = False
    is_bare: bool = False
    is_upload: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The routes of one path by method, and the id in the path."""

    methods: Mapping[str, Route]
    id: str

    @property
    def allow(self) -> str:
        """The Allow header."""
        return ", ".join(sorted(self.methods))


class Table:
    """All routes."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes: Final = tuple(routes)
        self._fixed: dict[str, dict[str, Route]] = {}
        self._named: dict[tuple[str, str], dict[str, Route]] = {}
        for route in self.routes:
            for methods in self._places(route):
                methods[route.method] = route
                if route.method == "GET":
                    methods.setdefault("HEAD", route)

    def find(self, path: str) -> Found | None:
        """The routes behind a decoded path."""
        fixed = self._fixed.get(path)
        if fixed is not None:
            return Found(fixed, "")
        if not path.startswith(BASE + "/"):
            return None
        first, _, rest = path[len(BASE) + 1 :].partition("/")
        name, slash, last = rest.partition("/")
        named = self._named.get((first, slash + last))
        return None if named is None or not name else Found(named, name)

    def _places(self, route: Route) -> list[dict[str, Route]]:
        if "{" in route.path:
            first, _, rest = route.path[1:].partition("/")
            return [self._named.setdefault((first, rest.partition("}")[2]), {})]
        paths = [BASE + route.path, *([route.path] if route.is_bare else [])]
        return [self._fixed.setdefault(path, {}) for path in paths]
