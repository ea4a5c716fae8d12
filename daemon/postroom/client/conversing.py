"""Conversations: leases, consumers, threads, and the log as it grows (docs/agents.md)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Unpack

from postroom.client.asking import Filter, given, part, query
from postroom.client.calling import MARGIN_S, QUICK_S, Calling, Json
from postroom.client.fields import LeaseFields
from postroom.client.following import follow
from postroom.client.wire import Call


_LONG_POLL_S: Final = 30.0  # the longest that a daemon waits


class Conversing(Calling):
    """What agents ask for. A lease is passed as the daemon gave it."""

    def lease(
        self,
        consumer: str = "default",
        *,
        wait_s: float = 0.0,
        **fields: Unpack[LeaseFields],
    ) -> list[Json]:
        """Leases on the conversations that wait longest; none when `wait_s` was in vain.

        Every call is an attempt of its own, so an answer that is lost on the way is asked for again.
        """
        asked = {"attempt_id": self._host.mint_key(), **fields, "consumer": consumer}
        until_s = self._host.monotonic_s() + wait_s
        while True:
            left_s = max(0.0, until_s - self._host.monotonic_s())
            body = {**asked, "wait_s": round(min(left_s, _LONG_POLL_S), 3)}
            answer = self._post("/v1/leases", body, timeout_s=left_s + MARGIN_S)
            leases: list[Json] = answer["leases"]
            if leases or self._host.monotonic_s() + QUICK_S >= until_s:
                return leases
            self._host.sleep(QUICK_S)

    def extend(self, lease: Mapping[str, Any], lease_s: float = 60.0) -> Json:
        """Keep a lease for so long from now; the lease as it stands, with what came in meanwhile."""
        body = {"fence": lease["fence"], "lease_s": lease_s}
        return self._post(f"/v1/leases/{part(lease['id'])}", body, method="PATCH")

    def release(
        self,
        lease: Mapping[str, Any],
        *,
        delay_s: float = 0.0,
        reason: str = "",
        failed: bool = False,
    ) -> None:
        """Give a lease back; `failed` counts towards the ten failures that make its events dead."""
        body = {"fence": lease["fence"], "delay_s": delay_s, "reason": reason, "failed": failed}
        self._post(f"/v1/leases/{part(lease['id'])}/release", body)

    def complete(
        self,
        lease: Mapping[str, Any],
        replies: Sequence[Mapping[str, Any]] = (),
        *,
        ack: Literal["all"] | Sequence[str] = "all",
    ) -> Json:
        """Acknowledge, and hand in replies, in one transaction: all of it is done, or nothing.

        A reply is a job; `{"in_reply_to_event": id, "text": …}` is enough. Raises Conflict with the code `lease_lost` or
        `already_replied`.
        """
        body = {
            "fence": lease["fence"],
            "ack": ack if ack == "all" else list(ack),
            "replies": [self._with_key(one) for one in replies],
        }
        return self._post(f"/v1/leases/{part(lease['id'])}/complete", body)

    def consumers(self) -> Json:
        """Every consumer, and how much waits for it."""
        return self._get("/v1/consumers")

    def make_consumer(
        self,
        name: str,
        types: Sequence[str] | None = None,
        *,
        start: Literal["oldest", "now"] = "oldest",
    ) -> Json:
        """Make a consumer, or widen its types."""
        asked = {"name": name, "types": None if types is None else list(types), "start": start}
        return self._post("/v1/consumers", given(asked))

    def delete_consumer(self, name: str) -> None:
        """Forget a consumer and what waits for it."""
        self._wire.call(Call("DELETE", f"/v1/consumers/{part(name)}", is_repeatable=False))

    def retry_event(self, event_id: str, consumer: str) -> Json:
        """Make an event that is dead for a consumer pending again."""
        path = f"/v1/events/{part(event_id)}/retry"
        return self._post(path, {"consumer": consumer}, is_repeatable=False)

    def dead_events(self, **filters: Filter) -> Json:
        """A page of events that somebody could not handle."""
        cursor = filters.pop("cursor", None)
        found = self._get("/v1/dead-letters", {"events_cursor": cursor, **filters})
        return {"items": found.get("events", []), "next_cursor": found.get("next_events_cursor")}

    def thread(self, thread_id: str, **more: Filter) -> Json:
        """A conversation: its latest deliveries and events."""
        return self._get(f"/v1/threads/{part(thread_id)}", more)

    def resume_thread(self, thread_id: str) -> Json:
        """Free a conversation that a loop holds, and whatever else holds deliveries in it; the conversation as it stands."""
        return self._post(f"/v1/threads/{part(thread_id)}/resume", {})

    def event(self, event_id: str) -> Json:
        """One event of the log."""
        return self._get(f"/v1/events/{part(event_id)}")

    def event_raw(self, event_id: str) -> bytes:
        """The received message behind an event, to the byte."""
        return self._wire.call(Call("GET", f"/v1/events/{part(event_id)}/raw")).body

    def follow(self, after: str | int | None = None) -> Iterator[Json]:
        """Every event after this seq or id (None = from now), as it comes, for ever; a restart of the daemon is not seen.

        Raises: Gone when the log is another one or was trimmed there, Unreachable when the daemon stays away.
        """
        asked = query({"after": after})
        return follow(self._wire, f"/v1/events/stream{asked}", self._host, self._retry_s)
