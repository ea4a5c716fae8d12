"""A file of 25 MiB goes out whole in flat memory, and mail with files never stands in the way of plain mail."""

import base64
import hashlib
import re
import threading
from email import message_from_bytes, policy
from pathlib import Path

from postroom.selftest.nursery import Nursery
from support.house import house_in
from support.post import open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Hold


MIB = 1 << 20
SIZE = 25 * MIB
ROOMY = ("PIPELINING", f"SIZE {60 * MIB}", "8BITMIME", "ENHANCEDSTATUSCODES")
OTHER = """\
[[mailbox]]
id = "other"
address = "other@example.com"
relay = "main"
concurrency = 20
attachment_roots = ["{folder}"]
"""
WHO = "a@one.example"


def big_file(path: Path, size: int = SIZE) -> str:
    """No two of its blocks are alike; its digest."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for n in range(size // 4096):
            block = n.to_bytes(4, "big") * 1024
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def peak_mib(pid: int) -> float:
    """The most memory that the process has had since `forget_peak`."""
    (found,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found) / 1024


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


async def test_a_file_of_25_mib_by_path_goes_out_whole_in_flat_memory(
    tmp_path: Path, nursery: Nursery
) -> None:
    digest = big_file(tmp_path / "big.bin")
    async with (
        ScriptedRelay(extensions=ROOMY) as relay,
        house_in(tmp_path, relay.port, nursery) as house,
    ):
        pid = await house.start()
        warm = await house.post(to=[WHO])
        await house.settled(warm["id"])
        forget_peak(pid)
        before = peak_mib(pid)
        job = await house.post(
            to=["b@one.example"], attachments=[{"path": str(tmp_path / "big.bin")}]
        )
        assert await house.settled(job["id"]) == {"b@one.example": "sent"}
        assert peak_mib(pid) - before < 16
    message = message_from_bytes(relay.transactions[-1].content or b"", policy=policy.SMTP)
    (file,) = message.iter_attachments()  # type: ignore[attr-defined]
    assert hashlib.sha256(base64.b64decode(file.get_payload())).hexdigest() == digest
    assert file.get_filename() == "big.bin"


async def test_jobs_with_files_that_a_relay_holds_leave_half_of_the_slots_to_plain_mail(
    tmp_path: Path,
) -> None:
    (tmp_path / "report.pdf").write_bytes(b"%PDF")
    async with (
        ScriptedRelay() as relay,
        open_post(
            settings(
                tmp_path,
                relay.port,
                mailbox="concurrency = 20",
                relay="concurrency = 40",
                daemon="slots = 16",
                more=OTHER.format(folder=tmp_path),
            )
        ) as post,
    ):
        relay.on("dot", Hold(), recipient="heavy@one.example")
        files = [{"path": str(tmp_path / "report.pdf")}]
        for mailbox in ("support", "other"):
            for _ in range(6):
                await post.submit(
                    mailbox_id=mailbox, to=["heavy@one.example"], attachments=files, priority="high"
                )
        await post.quiet(under_way=8)
        assert post.joined.way.host.with_attachments == 8
        for mailbox in ("support", "other"):
            plain = await post.submit(mailbox_id=mailbox, to=["plain@one.example"], priority="bulk")
            await post.quiet(under_way=8)
            assert await post.states(plain) == {"plain@one.example": "sent"}


async def test_a_plain_job_never_waits_for_files_even_where_its_text_goes_to_the_spool(
    tmp_path: Path,
) -> None:
    let_go = threading.Event()
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        files = post.joined.staging._parts.threads.files
        stuck = [files.submit(let_go.wait, 30) for _ in range(8)]
        try:
            plain = await post.submit(to=["plain@one.example"], text="x" * 200_000)
            await post.until(lambda: relay.copies("plain@one.example") == 1)
            assert not any(one.done() for one in stuck)
        finally:
            let_go.set()
        await post.quiet()
        assert await post.states(plain) == {"plain@one.example": "sent"}
