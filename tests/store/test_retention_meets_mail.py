"""Mail that comes when retention has taken what it would be tied to."""

from datetime import timedelta
from pathlib import Path

from postroom.core.instant import Instant, micros
from postroom.core.retention import Retention
from postroom.store.sqlite.retention import SqliteRetention
from support.arrivals import PostOffice, in_mail
from support.store_host import NOON, outbox_in


SHORT = Retention(events=timedelta(days=1), answers=timedelta(days=1))


async def test_a_weak_sign_of_a_thread_that_is_gone_ties_nothing(tmp_path: Path) -> None:
    """Where tokens end early, a thread may go while the subject of its last mail is still remembered."""

    async def unlink(sha256: str) -> bool:
        return True

    def days(count: float) -> Instant:
        return Instant(NOON + micros(timedelta(days=count)))

    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        first = await office.published(in_mail(subject="Question"))
        second = await office.published(in_mail(subject="Re: Question"), at=days(20))
        assert second["thread"]["id"] == first["thread"]["id"]
        retention = SqliteRetention(outbox.database, SHORT, unlink, lambda: True)
        assert (await retention.run(days(40))).threads == 1
        third = await office.published(in_mail(subject="RE: question"), at=days(45))
        assert third["thread"]["id"] != first["thread"]["id"]
        assert (third["thread"]["matched_by"], third["type"]) == ("none", "message.received")
