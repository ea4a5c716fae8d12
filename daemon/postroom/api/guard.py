"""What becomes of exceptions: the store's are answered 503 or 507, all others 500; the daemon is told of each."""

from collections.abc import Awaitable

from postroom.api.body import BodyBroken
from postroom.api.parts import Parts
from postroom.api.problems import Code, Refusal
from postroom.api.routing import Result
from postroom.ports.errors import StorageFull, StoreError


async def guarded(parts: Parts, name: str, work: Awaitable[Result]) -> Result:
    """What the work answers, or the refusal that its exception becomes; `name` is the call, for the log."""
    try:
        return await work
    except BodyBroken as broken:
        return broken.refusal
    except StorageFull as full:
        parts.on_store_refused(full)
        return Refusal(Code.STORAGE_FULL, "Nothing was stored.")
    except StoreError as refused:
        parts.on_store_refused(refused)
        return Refusal(Code.STORE_UNAVAILABLE, "Nothing was stored.")
    except Exception as fault:  # noqa: BLE001 (the one place where a bug of ours becomes a 500)
        parts.on_fault(name, fault)
        return Refusal(Code.INTERNAL, "Something went wrong on our side; it is in the log.")
