"""The description for machines and the one for people say what the API does."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from postroom.api.openapi import describe
from postroom.api.parsing import decode_query
from postroom.api.problems import TABLE, Code
from postroom.api.requests import Asked
from postroom.api.routes.every import ROUTES
from postroom.api.routing import Table
from postroom.core.job import Job
from postroom.core.jobrequest import read_request
from postroom.ports.submitting import RefusalCode
from support.api_server import Api
from support.records import NOW


DOCUMENT = msgspec.json.decode(describe(ROUTES, "1.2.3"))
PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")
SECTIONS = re.split(r"^### `", PAGE, flags=re.MULTILINE)[1:]


class Example(NamedTuple):
    """One call as the page shows it."""

    heading: str
    method: str
    url: str
    data: str | None
    answers: tuple[tuple[str, str], ...]


def examples() -> Iterator[Example]:
    for section in SECTIONS:
        heading = section.partition("`")[0]
        answers = tuple(re.findall(r"```json (\d+)\n(.*?)```", section, re.DOTALL))
        for shell in re.findall(r"```sh\n(.*?)```", section, re.DOTALL):
            words = shlex.split(shell)
            given = {word: words[at + 1] for at, word in enumerate(words[:-1]) if word[0] == "-"}
            data = given.get("-d")
            url = next(word for word in words if word.startswith("http://localhost/"))
            has_body = data is not None or "--data-binary" in given
            method = "HEAD" if "-I" in words else given.get("-X", "POST" if has_body else "GET")
            yield Example(heading, method, url, data, answers)


EXAMPLES = list(examples())


def schema_at(*path: str) -> dict[str, Any]:
    place: Any = DOCUMENT
    for step in path:
        place = place[step]
    return {**place, "components": DOCUMENT["components"]}


def check(value: object, *path: str) -> None:
    Draft202012Validator(schema_at(*path)).validate(value)


def test_the_description_is_openapi() -> None:
    validate(DOCUMENT)


def test_every_call_is_described_and_nothing_else() -> None:
    described = {
        (method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods
    }
    assert described == {(route.method, "/v1" + route.path) for route in ROUTES}


def test_every_list_says_whether_that_was_all() -> None:
    lists = {
        name: shape["required"]
        for name, shape in DOCUMENT["components"]["schemas"].items()
        if shape.get("properties", {}).get("items", {}).get("type") == "array"
    }
    assert {"JobList", "ConsumerList", "Holds", "Waiting"} <= lists.keys()
    assert [name for name, needed in lists.items() if "next_cursor" not in needed] == []


def test_every_call_is_told_to_people_and_nothing_else() -> None:
    told = [tuple(section.partition("`")[0].split(" ")) for section in SECTIONS]
    assert sorted(told) == sorted((route.method, "/v1" + route.path) for route in ROUTES)


def test_no_two_operations_have_one_name() -> None:
    names = [
        one["operationId"] for methods in DOCUMENT["paths"].values() for one in methods.values()
    ]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("call", [heading.partition("`")[0] for heading in SECTIONS])
def test_every_call_has_an_example(call: str) -> None:
    method, _, path = call.partition(" ")
    table = Table(ROUTES)
    found = [one for one in EXAMPLES if one.heading == call]
    assert found
    for one in found:
        place = table.find(urlsplit(one.url).path)
        assert place is not None
        assert one.method == method
        assert "/v1" + place.methods[method].path == path


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.heading)
def test_what_an_example_asks_and_is_answered_is_as_described(example: Example) -> None:
    method, _, path = example.heading.partition(" ")
    operation = ("paths", path, method.lower())
    if example.data is not None:
        body = msgspec.json.decode(example.data)
        check(body, *operation, "requestBody", "content", "application/json", "schema")
    for status, text in example.answers:
        answer = msgspec.json.decode(text)
        check(answer, *operation, "responses", status, "content", "application/json", "schema")
    route = next(one for one in ROUTES if (one.method, "/v1" + one.path) == (method, path))
    query = decode_query(urlsplit(example.url).query, route.query)
    assert isinstance(query, Asked)


def test_the_example_of_a_job_is_a_job() -> None:
    (example,) = (one for one in EXAMPLES if one.heading == "POST /v1/jobs")
    assert example.data is not None
    job = read_request(
        msgspec.json.decode(example.data), header_key="k", trace_header=None, now=NOW
    )
    assert isinstance(job, Job)


def test_the_example_of_a_problem_is_one() -> None:
    (text,) = re.findall(r"```json problem\n(.*?)```", PAGE, re.DOTALL)
    check(msgspec.json.decode(text), "components", "schemas", "Problem")


async def test_every_example_is_understood(api: Api) -> None:
    api.loop.settle.set()
    for one in EXAMPLES:
        parts = urlsplit(one.url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        data = one.data if one.data is not None or one.method != "POST" else "{}"
        said = await api.ask(one.method, path, data=data and data.encode())
        assert said.status < 500, (one, said)
        assert said.status not in {400, 405}, (one, said)
        if said.status == 422:
            assert said.code == "invalid_job", (one, said)


def test_the_table_of_codes_is_the_table_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (yes|no) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    table = [
        (code, str(one.status), "yes" if one.is_retryable else "no", one.title, one.fix)
        for code, one in TABLE.items()
    ]
    assert rows == table


def test_every_code_has_its_entry() -> None:
    assert set(TABLE) == set(Code)
    assert {code.value for code in RefusalCode} <= {code.value for code in Code}
    for code, entry in TABLE.items():
        assert 400 <= entry.status <= 599
        assert entry.fix.endswith("."), code


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: f"{one.method} {one.path}")
def test_query_parameters_are_described_one_by_one(route: Any) -> None:
    operation = DOCUMENT["paths"]["/v1" + route.path][route.method.lower()]
    names = {one["name"] for one in operation["parameters"] if one["in"] == "query"}
    assert names == set(route.query.__struct_fields__)
