r"""The public client: the contract as Python calls, synchronous, standard library only.

    from postroom.client import Client

    job = Client().send("support", "ann@example.com", "Your summary", "Resolved.\n")
    job = Client().wait(job["id"], timeout_s=20)

Answers are the daemon's own JSON objects as plain dicts, so that a field of a later daemon is there without a new
client; readers leave alone what they do not know. What goes wrong is raised: `postroom.client.errors`.
A job gets its idempotency key before the first try, and trying goes on for `retry_s` while the daemon is away or
full: a restart in between is not seen, and nothing is sent twice. A Client holds no connection and may be shared by
threads.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Unpack

from postroom.client.asking import Filter, given, part, query
from postroom.client.calling import MARGIN_S, POLL_S, QUICK_S, Json
from postroom.client.conversing import Conversing
from postroom.client.errors import PostroomError, TryLater, Unreachable
from postroom.client.fields import JobFields, Recipients
from postroom.client.host import Host
from postroom.client.running import Running
from postroom.client.wire import Call, Tried


Act = Literal["cancel", "release", "retry", "resolve"]

DEFAULT_SOCKET: Final = "/run/postroom/api.sock"
UNSETTLED: Final = frozenset({"pending", "held", "sending", "retry_scheduled"})

_UPLOAD_S: Final = 120.0


def find_socket(given: str | None = None) -> str:
    """The socket to use: the one given, that of POSTROOM_SOCKET, or the default."""
    return given or os.environ.get("POSTROOM_SOCKET") or DEFAULT_SOCKET


class Client(Conversing, Running):
    """One daemon, at `socket`; `hear` is told of every try of a call."""

    def __init__(
        self,
        socket: str | None = None,
        *,
        timeout_s: float = 30.0,
        retry_s: float = 30.0,
        host: Host | None = None,
        hear: Callable[[Tried], None] | None = None,
    ) -> None:
        super().__init__(find_socket(socket), timeout_s, retry_s, host or Host(), hear)

    # -- jobs

    def send(
        self,
        mailbox_id: str,
        to: str | Recipients,
        subject: str,
        text: str | None = None,
        **fields: Unpack[JobFields],
    ) -> Json:
        """Hand over one mail; returns once it is durable, with the reference of the job."""
        people = [to] if isinstance(to, str) else to
        job = {"mailbox_id": mailbox_id, "to": people, "subject": subject, "text": text}
        return self.submit({**given(job), **fields})

    def submit(self, job: Mapping[str, Any]) -> Json:
        """Hand over a job, its fields as `POST /v1/jobs` takes them (docs/api.md)."""
        keyed = self._with_key(job)
        try:
            return self._post("/v1/jobs", keyed)
        except PostroomError as error:
            error.idempotency_key = keyed["idempotency_key"]
            raise

    def batch(self, jobs: Sequence[Mapping[str, Any]]) -> list[Json]:
        """Hand over many jobs; one result each, in their order, with its own `status`."""
        answer = self._post("/v1/jobs/batch", {"jobs": [self._with_key(job) for job in jobs]})
        results: list[Json] = answer["results"]
        return results

    def job(self, job_id: str) -> Json:
        """A job with its deliveries."""
        return self._get(f"/v1/jobs/{part(job_id)}")

    def wait(self, job_id: str, timeout_s: float = POLL_S) -> Json:
        """The job once it is settled, or as it stands when the time is over."""
        until_s = self._host.monotonic_s() + timeout_s
        while True:
            left_s = max(0.0, until_s - self._host.monotonic_s())
            poll_s = max(1, round(min(left_s, POLL_S)))
            asked: dict[str, Filter] = {"wait": "settled", "timeout_s": poll_s}
            job = self._get(f"/v1/jobs/{part(job_id)}", asked, timeout_s=poll_s + MARGIN_S)
            if is_settled(job) or self._host.monotonic_s() + QUICK_S >= until_s:
                return job
            self._host.sleep(QUICK_S)

    def jobs(self, **filters: Filter) -> Json:
        """A page of jobs, newest first: `items` and `next_cursor`."""
        return self._get("/v1/jobs", filters)

    def cancel(self, job_id: str) -> Json:
        """Take back what has no mark yet: for each delivery `cancelled`, `too_late` or `uncertain`."""
        return self._post(f"/v1/jobs/{part(job_id)}/cancel")

    def reschedule(self, job_id: str, send_at: str) -> Json:
        """Move what has no mark yet to another time."""
        return self._post(f"/v1/jobs/{part(job_id)}/reschedule", {"send_at": send_at})

    # -- deliveries

    def delivery(self, delivery_id: str) -> Json:
        """A delivery with its history."""
        return self._get(f"/v1/deliveries/{part(delivery_id)}")

    def explain(self, delivery_id: str) -> Json:
        """Every gate that a delivery has to pass, and which it waits for."""
        return self._get(f"/v1/deliveries/{part(delivery_id)}/explain")

    def raw(self, delivery_id: str) -> bytes:
        """The message, as it was or will be sent."""
        return self._wire.call(Call("GET", f"/v1/deliveries/{part(delivery_id)}/raw")).body

    def deliveries(self, **filters: Filter) -> Json:
        """A page of deliveries, newest first."""
        return self._get("/v1/deliveries", filters)

    def retry(self, delivery_id: str) -> Json:
        """Send a failed delivery after all."""
        return self._post(f"/v1/deliveries/{part(delivery_id)}/retry", is_repeatable=False)

    def release_held(self, delivery_id: str) -> Json:
        """Let a held delivery go when its time comes."""
        return self._post(f"/v1/deliveries/{part(delivery_id)}/release", is_repeatable=False)

    def resolve(self, delivery_id: str, verdict: Literal["sent", "resend", "failed"]) -> Json:
        """Settle an uncertain delivery by hand."""
        path = f"/v1/deliveries/{part(delivery_id)}/resolve"
        return self._post(path, {"as": verdict}, is_repeatable=False)

    def act(
        self,
        act: Act,
        matching: Mapping[str, str],
        *,
        verdict: Literal["sent", "resend", "failed"] | None = None,
        dry_run: bool = False,
        limit: int | None = None,
    ) -> Json:
        """Do it to every delivery that a filter meets; how many `matched`, and to how many it was `done`."""
        body = {"filter": dict(matching), "dry_run": dry_run, "limit": limit, "as": verdict}
        return self._post(f"/v1/deliveries/{act}", given(body), is_repeatable=dry_run)

    def dead_letters(self, **filters: Filter) -> Json:
        """A page of what ended unsent or in doubt."""
        return self._get("/v1/dead-letters", filters)

    # -- attachments

    def stage(
        self,
        source: str | os.PathLike[str] | BinaryIO,
        *,
        filename: str | None = None,
        content_type: str = "application/octet-stream",
    ) -> Json:
        """Upload a file, streamed; its `ref` goes into a job's `attachments`."""
        if isinstance(source, str | os.PathLike):
            with Path(source).open("rb") as stream:
                name = filename or Path(source).name
                return self.stage(stream, filename=name, content_type=content_type)
        headers = {"Content-Type": content_type}
        if source.seekable():
            here = source.tell()
            headers["Content-Length"] = str(source.seek(0, os.SEEK_END) - here)
            source.seek(here)
        path = f"/v1/attachments{query({'filename': filename or 'attachment'})}"
        call = Call("POST", path, stream=source, headers=headers, timeout_s=_UPLOAD_S)
        return self._wire.call(call).object()

    def attachment(self, ref: str) -> bytes:
        """The bytes of a staged upload."""
        return self._wire.call(
            Call("GET", f"/v1/attachments/{part(ref)}", timeout_s=_UPLOAD_S)
        ).body

    # -- mailboxes, suppressions, the log, the daemon

    def mailboxes(self) -> Json:
        """Every mailbox with its relay, pause and breaker."""
        return self._get("/v1/mailboxes")

    def waiting(self, **filters: Filter) -> Json:
        """What waits on what: every lane with its queues, holds and retries; of a `mailbox_id`, `relay`, `priority`."""
        return self._get("/v1/waiting", filters)

    def pause(self, mailbox_id: str, reason: str | None = None) -> Json:
        """Stop a mailbox; its mail waits until `resume`."""
        body = given({"reason": reason})
        return self._post(f"/v1/mailboxes/{part(mailbox_id)}/pause", body)

    def resume(self, mailbox_id: str) -> Json:
        """Let a mailbox go on; where its relay is stopped, it is tried at once."""
        return self._post(f"/v1/mailboxes/{part(mailbox_id)}/resume")

    def check(self, mailbox_id: str) -> Json:
        """Try the mailbox's relay step by step, without sending anything."""
        path = f"/v1/mailboxes/{part(mailbox_id)}/check"
        return self._post(path, timeout_s=_UPLOAD_S)

    def suppressions(self, **filters: Filter) -> Json:
        """A page of the addresses that are written to no more."""
        return self._get("/v1/suppressions", filters)

    def suppress(
        self, address: str, *, mailbox_id: str | None = None, reason: str | None = None
    ) -> Json:
        """Write to this address no more, from one mailbox or from any."""
        body = given({"address": address, "mailbox_id": mailbox_id, "reason": reason})
        return self._post("/v1/suppressions", body)

    def unsuppress(self, address: str, *, mailbox_id: str | None = None) -> None:
        """Allow it again."""
        asked = query({"mailbox_id": mailbox_id, "address": address})
        self._wire.call(Call("DELETE", f"/v1/suppressions{asked}", is_repeatable=False))

    def events(self, after: str | int = 0, **more: Filter) -> Json:
        """A page of the log, in order, after a seq or an event id (or a page's `next_cursor`)."""
        cursor = more.pop("cursor", None)
        return self._get("/v1/events", {"after": after if cursor is None else cursor, **more})

    def stats(self) -> Json:
        """Depth, wait and outcomes."""
        return self._get("/v1/stats")

    def metrics(self) -> str:
        """The same for Prometheus."""
        return self._wire.call(Call("GET", "/v1/metrics")).body.decode()

    def version(self) -> Json:
        """What daemon this is."""
        return self._get("/v1/version")

    def is_ready(self) -> bool:
        """Whether the daemon accepts jobs; it is given `retry_s` to start."""
        try:
            self._wire.call(Call("GET", "/v1/readyz"))
        except (TryLater, Unreachable):
            return False
        return True

    def every(self, page: Callable[..., Json], **filters: Filter) -> Iterator[Json]:
        """All items of a list: `client.every(client.jobs, mailbox_id="support")`."""
        while True:
            found = page(**filters)
            yield from found["items"]
            if not found.get("next_cursor"):
                return
            filters["cursor"] = found["next_cursor"]


def is_settled(job: Mapping[str, Any]) -> bool:
    """Whether nothing of a job waits or is under way."""
    return all(delivery["state"] not in UNSETTLED for delivery in job["deliveries"])
