"""TLS and login as the settings say them: a relay that can not prove who it is gets neither mail nor password."""

import ssl
from pathlib import Path

import pytest
import trustme

from postroom.core.delivery import DeliveryState
from postroom.core.reason import ReasonCode
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Reply


WHO = "a@one.example"
SECRET = "s3cret-Pässwort"
LINES = """\
tls = "{tls}"
tls_ca = "{folder}/ca.pem"
auth = "password"
username = "box"
password = "file:{folder}/password"
"""


def server(ca: trustme.CA, name: str = "127.0.0.1") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(name).configure_cert(context)
    return context


def lines(folder: Path, ca: trustme.CA, tls: str) -> str:
    """The relay's settings, with the files that they name."""
    ca.cert_pem.write_to_path(str(folder / "ca.pem"))
    (folder / "password").write_text(SECRET)
    (folder / "password").chmod(0o600)
    return LINES.format(folder=folder, tls=tls)


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
async def test_mail_goes_over_a_verified_connection_after_login(tls: str, tmp_path: Path) -> None:
    ca = trustme.CA()
    async with (
        ScriptedRelay(
            tls=server(ca), is_implicit=tls == "implicit", credentials=("box", SECRET)
        ) as relay,
        open_post(settings(tmp_path, relay.port, relay=lines(tmp_path, ca, tls))) as post,
    ):
        job = await post.submit(to=[WHO])
        await post.quiet()
        assert await post.states(job) == {WHO: "sent"}
        (connection,) = relay.connections
        assert (connection.is_tls, connection.username) == (True, "box")
        assert relay.transactions[0].connection is connection
        assert SECRET not in post.log.getvalue()


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
@pytest.mark.parametrize("wrong", ["issuer", "name"])
async def test_with_a_wrong_certificate_mail_waits_and_the_password_is_not_told(
    wrong: str, tls: str, tmp_path: Path
) -> None:
    ca = trustme.CA()
    issuer = trustme.CA() if wrong == "issuer" else ca
    context = server(issuer, "other.example" if wrong == "name" else "127.0.0.1")
    async with (
        ScriptedRelay(
            tls=context, is_implicit=tls == "implicit", credentials=("box", SECRET)
        ) as relay,
        open_post(settings(tmp_path, relay.port, relay=lines(tmp_path, ca, tls))) as post,
    ):
        await _assert_waits(post, relay)


async def test_a_relay_that_offers_no_tls_gets_no_mail_and_no_password(tmp_path: Path) -> None:
    ca = trustme.CA()
    said = lines(tmp_path, ca, "starttls")
    async with (
        ScriptedRelay(credentials=("box", SECRET)) as relay,
        open_post(settings(tmp_path, relay.port, relay=said)) as post,
    ):
        await _assert_waits(post, relay)


async def test_a_relay_that_refuses_starttls_for_now_gets_the_mail_later(tmp_path: Path) -> None:
    ca = trustme.CA()
    said = lines(tmp_path, ca, "starttls")
    async with (
        ScriptedRelay(tls=server(ca), credentials=("box", SECRET)) as relay,
        open_post(settings(tmp_path, relay.port, relay=said)) as post,
    ):
        relay.on("starttls", Reply("454 4.7.0 TLS not available"))
        await _assert_waits(post, relay)
        relay.clear()
        await post.run(16 * 60, step=30)
        assert relay.copies(WHO) == 1


async def _assert_waits(post: Post, relay: ScriptedRelay) -> None:
    job = await post.submit(to=[WHO])
    await post.run(3600, step=30)
    waits = await post.only(job)
    assert (waits.state, waits.attempts) == (DeliveryState.RETRY_SCHEDULED, 0)
    assert waits.reason_code is ReasonCode.TLS_FAILED
    assert waits.deferrals > 1
    assert not relay.transactions
    assert not any("AUTH" in line for one in relay.connections for line in one.commands)
    assert SECRET not in post.log.getvalue()
