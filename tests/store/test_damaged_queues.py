"""A waiting delivery that no queue has any more is held and told of, and does not wait for ever unseen."""

from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.store.sqlite.unit import WriteLane
from support.damaging import damage
from support.store_host import outbox_in
from support.store_jobs import new_job


@pytest.mark.parametrize("spoilt", ["lane = 9", "lane = -3", "mailbox_id = CAST(x'ff' AS TEXT)"])
async def test_it_is_held_at_the_start_and_told(tmp_path: Path, spoilt: str) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.intake.accept(new_job(outbox.intake, "bob@example.com"))
        spoil = damage(f"UPDATE delivery SET {spoilt} WHERE number = 1")  # noqa: S608
        await outbox.database.write(spoil, lane=WriteLane.REST)
    async with outbox_in(tmp_path) as outbox:
        found = await outbox.reader.find_delivery(1)
        assert found is not None
        assert (found.state, found.hold_reason) == (DeliveryState.HELD, HoldReason.UNREADABLE)
        assert found.history[-1].by == "recovery"
        (warning,) = outbox.warnings
        assert "postroom jobs --status held" in warning
        other = await outbox.reader.find_delivery(2)
        assert other is not None
        assert other.state is DeliveryState.PENDING
    async with outbox_in(tmp_path) as outbox:
        assert outbox.warnings == ()
