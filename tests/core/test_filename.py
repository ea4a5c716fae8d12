"""Names of files: harmless for every reader, and what type a name promises."""

import pytest

from postroom.core.filename import ascii_name, harmless_name, type_of


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("/srv/08/report.pdf", "report.pdf"),
        ("C:\\Users\\ann\\report.pdf", "report.pdf"),
        ("a/b\\c.txt", "c.txt"),
        ("b\\a/c.txt", "c.txt"),
        ("..", "attachment"),
        ("/", "attachment"),
        ("", "attachment"),
        (" . ", "attachment"),
        (" a.txt. . ", "a.txt"),
        (".profile", ".profile"),
        ("a\r\nb\0.txt", "ab.txt"),
        ("evil\u202efdp.exe", "evilfdp.exe"),
        ("zero\u200bwidth\u2060.txt", "zerowidth.txt"),
        ("half\ud800.txt", "half.txt"),
        ("a\u2044b\u2215c\u29f5d\u29f8e\u29f9f\ufe68g\uff0fh\uff3ci", "a_b_c_d_e_f_g_h_i"),
        ("a\u2024b\u2025c\ufe52d\uff0e", "a.b.c.d"),
        ("\uff0e\uff0e\uff0fetc", ".._etc"),
        ("con", "_con"),
        ("CON.txt", "_CON.txt"),
        ("nul .txt", "_nul .txt"),
        ("aux:stream", "_aux:stream"),
        ("prn", "_prn"),
        ("conin$", "_conin$"),
        ("CONOUT$.log", "_CONOUT$.log"),
        ("com1", "_com1"),
        ("lpt9.txt", "_lpt9.txt"),
        ("com\xb9.txt", "_com\xb9.txt"),
        ("console.txt", "console.txt"),
        ("com10", "com10"),
        ("my con.txt", "my con.txt"),
        ("a" * 150, "a" * 150),
        ("a" * 151, "a" * 150),
        ("a" * 200 + ".pdf", "a" * 146 + ".pdf"),
        ("a" * 200 + "." + "e" * 12, "a" * 137 + "." + "e" * 12),
        ("a" * 200 + "." + "e" * 13, "a" * 150),
        ("." + "e" * 12 + "a" * 200, "." + "e" * 12 + "a" * 137),
        ("é" * 100 + ".pdf", "é" * 73 + ".pdf"),
        ("é" * 100, "é" * 75),
        ("é" * 100 + ".gif.x", "é" * 74 + ".x"),
    ],
)
def test_a_name_is_the_last_part_of_its_path_and_harms_nobody(path: str, name: str) -> None:
    assert harmless_name(path) == name


TYPES = {
    "pdf": "application/pdf",
    "zip": "application/zip",
    "gz": "application/gzip",
    "json": "application/json",
    "xml": "application/xml",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "txt": "text/plain",
    "log": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "htm": "text/html",
    "ics": "text/calendar",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "mp4": "video/mp4",
    "exe": "application/octet-stream",
}


@pytest.mark.parametrize(("ending", "type_"), TYPES.items())
def test_the_end_of_a_name_promises_a_type(ending: str, type_: str) -> None:
    assert type_of(f"a.pdf.{ending}") == type_of(f"A.{ending.upper()}") == type_


def test_a_name_without_an_ending_promises_nothing() -> None:
    assert type_of("README") == "application/octet-stream"


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("a~ b!.txt", "a~ b!.txt"),
        ("tab\t\x7f.txt", "tab__.txt"),
        ("x" * 41 + ".tar.gz", "x" * 40 + ".gz"),
        ("a." + "e" * 12, "a." + "e" * 12),
        ("a." + "e" * 13, "a." + "e" * 13),
        ("x" * 60 + "." + "e" * 13, "x" * 52),
        ("x" * 60 + "." + "e" * 12, "x" * 40 + "." + "e" * 12),
        ("Ünï.txt", "Uni.txt"),
        ("", ""),
    ],
)
def test_old_readers_get_a_short_plain_name(name: str, plain: str) -> None:
    assert ascii_name(name) == plain
