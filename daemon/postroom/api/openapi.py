"""The OpenAPI 3.1 document, made from the route table and the shapes: what is not in them is not in it."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from postroom.api.problems import TABLE, Code
from postroom.api.requests import AttachmentRef, DeliveryId, EventId, JobId, LeaseId, ThreadId
from postroom.api.requests_leases import ConsumerName
from postroom.api.routing import BASE, Route
from postroom.api.shapes import Problem


Schema = dict[str, Any]

_REF: Final = "#/components/schemas/{name}"
_ALWAYS: Final = (
    Code.BAD_REQUEST,
    Code.PRINCIPAL_UNKNOWN,
    Code.INVALID_REQUEST,
    Code.UNKNOWN_FIELD,
    Code.INTERNAL,
    Code.TOO_MANY_CONNECTIONS,
    Code.STORE_UNAVAILABLE,
)
_WITH_BODY: Final = (
    Code.NOT_JSON,
    Code.BODY_INCOMPLETE,
    Code.BODY_TIMEOUT,
    Code.BODY_TOO_LARGE,
    Code.ENCODING_UNSUPPORTED,
    Code.EXPECTATION_FAILED,
)
_IDS: Final[dict[str, Any]] = {
    "jobs": JobId,
    "deliveries": DeliveryId,
    "attachments": AttachmentRef,
    "mailboxes": str,
    "leases": LeaseId,
    "consumers": ConsumerName,
    "events": EventId,
    "threads": ThreadId,
}
_BYTES: Final = "application/octet-stream"
_NO_CONTENT: Final = 204


def describe(routes: Sequence[Route], version: str) -> bytes:
    """The document as JSON."""
    shapes = list(dict.fromkeys([Problem, *(one for route in routes for one in _shapes(route))]))
    schemas, components = msgspec.json.schema_components(shapes, ref_template=_REF)
    by_shape = dict(zip(shapes, schemas, strict=True))
    paths: defaultdict[str, Schema] = defaultdict(dict)
    for route in routes:
        queries = components[route.query.__name__]
        paths[BASE + route.path][route.method.lower()] = {
            "operationId": route.handler.__name__,
            "summary": route.summary,
            "parameters": [*_path_parameters(route), *_query_parameters(queries)],
            **_request(route, by_shape),
            "responses": {**_good(route, by_shape), **_refusals(route, by_shape[Problem])},
        }
    bodies = {route.body for route in routes}
    for query in {route.query for route in routes} - bodies:
        del components[query.__name__]
    return msgspec.json.encode(_document(version, paths, components))


def _document(version: str, paths: Schema, components: Schema) -> Schema:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Postroom",
            "version": version,
            "summary": "Durable mail, out and in, on a Unix socket.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "The Unix socket, as curl --unix-socket sees it"}],
        "paths": paths,
        "components": {"schemas": components},
    }


def _shapes(route: Route) -> list[Any]:
    bodies = [] if route.body is None else [route.shown_body or route.body]
    return [route.query, *bodies, *(one for one in route.good.values() if one is not None)]


def _path_parameters(route: Route) -> list[Schema]:
    _, _, after = route.path.partition("{")
    if not after:
        return []
    kind = _IDS[route.path.split("/")[1]]
    name = after.partition("}")[0]
    return [{"name": name, "in": "path", "required": True, "schema": msgspec.json.schema(kind)}]


def _query_parameters(query: Schema) -> list[Schema]:
    needed = query.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": _without_null(schema)}
        for name, schema in query["properties"].items()
    ]


def _without_null(schema: Schema) -> Schema:
    """A query parameter is there or not, never null."""
    kinds = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    return kinds[0] if len(kinds) == 1 else schema


def _request(route: Route, by_shape: dict[Any, Schema]) -> Schema:
    if route.is_upload:
        return {"requestBody": {"required": False, "content": {_BYTES: {"schema": {}}}}}
    if route.body is None:
        return {}
    content = {"application/json": {"schema": by_shape[route.shown_body or route.body]}}
    return {"requestBody": {"required": route.needs_body, "content": content}}


def _good(route: Route, by_shape: dict[Any, Schema]) -> Schema:
    return {
        str(status): _response(route, status, None if shape is None else by_shape[shape])
        for status, shape in route.good.items()
    }


def _response(route: Route, status: int, schema: Schema | None) -> Schema:
    described = {"description": route.summary}
    if status == _NO_CONTENT:
        return described
    return described | {
        "content": {route.content_type: {} if schema is None else {"schema": schema}}
    }


def _refusals(route: Route, problem: Schema) -> Schema:
    by_status: defaultdict[int, list[Code]] = defaultdict(list)
    for code in dict.fromkeys(_codes(route)):
        by_status[TABLE[code].status].append(code)
    return {
        str(status): {
            "description": "; ".join(f"`{code}`: {TABLE[code].title}" for code in codes),
            "content": {"application/problem+json": {"schema": problem}},
        }
        for status, codes in sorted(by_status.items())
    }


def _codes(route: Route) -> list[Code]:
    found = [*_ALWAYS, *route.refusals]
    if "{" in route.path:
        found.append(Code.NOT_FOUND)
    if route.takes_work:
        found.append(Code.DRAINING)
    if route.body is not None or route.is_upload:
        found.extend((*_WITH_BODY, Code.STORAGE_FULL))
    return found
