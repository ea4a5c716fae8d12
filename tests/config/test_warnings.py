"""What `config check` and `doctor` warn of: settings that are taken, and seldom meant."""

from pathlib import Path

import pytest

from support.config_files import MAILBOX, load_text


PORTS = {
    "465 as it is without a word": ("port = 465", "starttls", "465"),
    "465 with starttls": ('port = 465\ntls = "starttls"', "starttls", "implicit"),
    "465 in clear": ('port = 465\ntls = "none"', "none", "implicit"),
    "587 with TLS at once": ('port = 587\ntls = "implicit"', "implicit", "starttls"),
    "25 with TLS at once": ('port = 25\ntls = "implicit"', "implicit", "starttls"),
    "465 with TLS at once": ('port = 465\ntls = "implicit"', "", ""),
    "TLS at once and no port": ('tls = "implicit"', "", ""),
    "587 with starttls": ("port = 587", "", ""),
    "25 in clear": ('port = 25\ntls = "none"', "", ""),
    "25 with starttls": ("port = 25", "", ""),
    "a port of one's own": ('port = 2465\ntls = "implicit"', "", ""),
}


@pytest.mark.parametrize(("lines", "tls", "fix"), PORTS.values(), ids=PORTS)
def test_a_port_that_does_not_fit_its_tls_is_warned_of(
    lines: str, tls: str, fix: str, tmp_path: Path
) -> None:
    warnings = load_text(
        tmp_path,
        f'[relay.other]\nhost = "relay.example"\n{lines}\n{MAILBOX}',
    ).warnings
    assert [one.key for one in warnings] == ["relay.other.port"] * bool(tls)
    assert all(f"tls is '{tls}'" in one.wrong and fix in one.fix + one.wrong for one in warnings)


def test_so_is_that_of_a_relay_inside_a_mailbox(tmp_path: Path) -> None:
    box = '[[mailbox]]\nid = "a"\naddress = "a@example.com"\nrelay = { host = "b.example", port = 465 }'
    assert [one.key for one in load_text(tmp_path, box).warnings] == ["mailbox.a.relay.port"]


def test_a_root_of_attachments_that_is_no_folder_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("x")
    warnings = load_text(
        tmp_path, f'{MAILBOX}\nattachment_roots = ["there", "gone", "file"]'
    ).warnings
    assert [one.key for one in warnings] == ["mailbox.support.attachment_roots"] * 2
    assert [one.wrong.partition("', ")[0] for one in warnings] == [
        f"names '{tmp_path}/gone",
        f"names '{tmp_path}/file",
    ]


@pytest.mark.parametrize(
    ("owner", "is_doubtful"),
    [("SUPPORT@example.com", True), ("ops@example.com", False)],
    ids=["itself", "a person"],
)
def test_a_mailbox_that_owns_itself_is_warned_of(
    owner: str, *, is_doubtful: bool, tmp_path: Path
) -> None:
    warnings = load_text(tmp_path, f'{MAILBOX}\nowner = "{owner}"').warnings
    assert [one.key for one in warnings] == ["mailbox.support.owner"] * is_doubtful
