"""The keys of reply addresses: made once, never lost without a word."""

import stat
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.listening import TokenRules
from postroom.core.token import make_key
from postroom.ops.host import SystemEntropy
from postroom.ops.tokenkeys import FILE, KeyRing, open_keys
from postroom.ports.errors import StateRefused
from support.clock import START, CountedEntropy
from support.inbox import FakeInbox


OLD = make_key(b"old" * 16)
NEW = make_key(b"new" * 16)


async def _open(
    folder: Path, inbox: FakeInbox, *keys: object, accepts_lost: bool = False
) -> KeyRing:
    rules = TokenRules(keys=keys, expiry=timedelta(days=400))  # type: ignore[arg-type]
    entropy = SystemEntropy()
    return await open_keys(rules, folder, inbox, entropy, START, accepts_lost=accepts_lost)


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    inbox = FakeInbox()
    first = await _open(tmp_path, inbox)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert _names(tmp_path) == [FILE]
    assert len(first.keys) == 1
    assert await _open(tmp_path, inbox) == first
    assert first.lost_ids == frozenset()


async def test_no_two_stores_have_the_same_key(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    rings = [await _open(tmp_path / name, FakeInbox()) for name in "ab"]
    assert rings[0].keys != rings[1].keys


async def test_a_key_of_small_numbers_is_whole(tmp_path: Path) -> None:
    ring = await open_keys(
        TokenRules(), tmp_path, FakeInbox(), CountedEntropy(), START, accepts_lost=False
    )
    assert len(ring.keys[0].secret) == 32


async def test_keys_of_the_settings_are_used_and_none_is_made(tmp_path: Path) -> None:
    ring = await _open(tmp_path, FakeInbox(), NEW, OLD)
    assert ring.keys == (NEW, OLD)
    assert _names(tmp_path) == []


async def test_our_own_key_stays_in_use_behind_those_of_the_settings(tmp_path: Path) -> None:
    inbox = FakeInbox()
    (own,) = (await _open(tmp_path, inbox)).keys
    assert (await _open(tmp_path, inbox, NEW)).keys == (NEW, own)


async def test_a_rotation_that_keeps_the_old_key_is_no_loss(tmp_path: Path) -> None:
    inbox = FakeInbox()
    await _open(tmp_path, inbox, OLD)
    ring = await _open(tmp_path, inbox, NEW, OLD)
    assert ring == KeyRing((NEW, OLD), frozenset())


async def test_a_key_that_is_missing_ends_the_start_and_is_named(tmp_path: Path) -> None:
    inbox = FakeInbox()
    await _open(tmp_path, inbox, OLD)
    with pytest.raises(StateRefused) as raised:
        await _open(tmp_path, inbox, NEW)
    assert OLD.fingerprint in str(raised.value)
    assert "--accept-lost-keys" in str(raised.value)


async def test_a_start_that_was_refused_leaves_nothing_to_miss(tmp_path: Path) -> None:
    inbox = FakeInbox()
    before = await _open(tmp_path, inbox, OLD)
    with pytest.raises(StateRefused):
        await _open(tmp_path, inbox, NEW)
    assert await _open(tmp_path, inbox, OLD) == before


async def test_who_accepts_the_loss_knows_what_its_addresses_look_like(tmp_path: Path) -> None:
    inbox = FakeInbox()
    await _open(tmp_path, inbox, OLD)
    ring = await _open(tmp_path, inbox, NEW, accepts_lost=True)
    assert ring == KeyRing((NEW,), frozenset({OLD.id}))


async def test_our_own_key_that_is_gone_ends_the_start_and_no_other_is_made(tmp_path: Path) -> None:
    inbox = FakeInbox()
    (own,) = (await _open(tmp_path, inbox)).keys
    (tmp_path / FILE).unlink()
    with pytest.raises(StateRefused) as raised:
        await _open(tmp_path, inbox)
    assert "--accept-lost-keys" in str(raised.value)
    assert not (tmp_path / FILE).exists()
    ring = await _open(tmp_path, inbox, accepts_lost=True)
    assert ring.keys != (own,)
    assert ring.lost_ids == {own.id}


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33])
async def test_a_damaged_key_is_never_used(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    (tmp_path / FILE).chmod(0o600)
    with pytest.raises(StateRefused) as raised:
        await _open(tmp_path, FakeInbox())
    assert "damaged" in str(raised.value)


async def test_a_key_that_others_may_read_is_never_used(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"x" * 32)
    (tmp_path / FILE).chmod(0o640)
    with pytest.raises(StateRefused) as raised:
        await _open(tmp_path, FakeInbox())
    assert "chmod 600" in str(raised.value)


async def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"x" * 32)
    (tmp_path / "elsewhere").chmod(0o600)
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateRefused):
        await _open(tmp_path, FakeInbox())


async def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(StateRefused) as raised:
        await _open(tmp_path / "none", FakeInbox())
    assert "can not be written" in str(raised.value)
