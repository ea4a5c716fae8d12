"""How programs call sendmail: their words, what they write to it, and what comes of it on the wire.

Written after what these programs do, with words of our own. `wire` are fields that the message must have, None = must not have.
"""

from dataclasses import dataclass, field


OPS = "ops@example.com"  # who gets what is for root
SUPPORT = "Support <support@example.com>"


@dataclass(frozen=True)
class Caller:
    """One program on one day."""

    words: list[str]
    given: bytes
    recipients: list[str]
    wire: dict[str, str | None] = field(default_factory=dict)
    text: str | None = None
    files: list[str] = field(default_factory=list)


CRON = b"""\
From: root (Cron Daemon)
To: root
Subject: Cron <root@host> /usr/local/bin/nightly --all
MIME-Version: 1.0
Content-Type: text/plain; charset=ANSI_X3.4-1968
Content-Transfer-Encoding: 8bit
X-Cron-Env: <SHELL=/bin/sh>
X-Cron-Env-Home: <HOME=/root>

3 tables, 2 \xe2\x82\xac
.
done
"""
CRONIE = b"""\
From: "(Cron Daemon)" <root>
To: ops@example.com
Subject: Cron <alice@host> date
Auto-Submitted: auto-generated
Precedence: bulk
X-Cron-Env: <LANG=C>

Mon Nov 30
"""
PHP = (
    b"To: ann@example.com\r\nSubject: =?UTF-8?Q?Bestellung_=C3=BCber_5_=E2=82=AC?=\r\n"
    b"X-PHP-Originating-Script: 33:order.php\r\nFrom: Shop <support@example.com>\r\n"
    b"Reply-To: sales@example.com\r\nBcc: books@example.com\r\nMIME-Version: 1.0\r\n"
    b"Content-Type: text/html; charset=ISO-8859-1\r\n\r\n<p>Gr\xfc\xdfe</p>\r\n"
)
GIT = b"""\
From: Alice <support@example.com>
To: list@lists.example
Cc: Bob <bob@example.com>
Subject: [PATCH 1/2] queue: say why
Date: Mon, 30 Nov 2026 07:00:00 +0000
Message-Id: <20261130070000.1-1-support@example.com>
X-Mailer: git-send-email 2.39.5
MIME-Version: 1.0
Content-Transfer-Encoding: 8bit

From the cover letter on.
---
 queue.c | 1 +

--
2.39.5

"""
MUTT = b"""\
Date: Mon, 30 Nov 2026 07:00:00 +0000
From: Support <support@example.com>
To: ann@example.com
Cc: carl@example.com
Subject: the plan
Message-ID: <Z0q8Jw@host>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b1"
Content-Disposition: inline
User-Agent: Mutt/2.2.12

--b1
Content-Type: text/plain; charset=us-ascii
Content-Disposition: inline

Here it is.

--b1
Content-Type: text/x-diff; charset=us-ascii
Content-Disposition: attachment; filename="plan.diff"

-old
+new

--b1--
"""
MAILX = b"""\
To: ann@example.com, root
Subject: disk report
MIME-Version: 1.0
Content-Type: text/plain; charset="UTF-8"
Content-Transfer-Encoding: 8bit
Message-Id: <20261130.1@host>
From: Alice <alice@host.example>
Date: Mon, 30 Nov 2026 07:00:00 +0000

full
"""
AT = b"""\
Subject: Output from your job        7
To: alice

out
"""
LOGWATCH = b"""\
To: root
From: Logwatch@host.example
Subject: Logwatch for host (Linux)
Auto-Submitted: auto-generated
Precedence: bulk
MIME-Version: 1.0
Content-Type: text/plain; charset="UTF-8"
Content-Transfer-Encoding: quoted-printable

 ---- =E2=9C=93 ----
"""
SMARTD = b"""\
Subject: SMART error (Health) detected on host: host
To: root@localhost

Device: /dev/sda, FAILED
"""
MDADM = b"""\
From: mdadm monitoring <root@host.example>
To: ops@example.com
Subject: Fail event on /dev/md0:host

A Fail event had been detected.
"""
NAGIOS = b"""\
To: ops@example.com
Subject: ** PROBLEM Service Alert: host/disk is CRITICAL **

Notification Type: PROBLEM
"""
DRUPAL = (
    b"To: ann@example.com\nSubject: Welcome\nMIME-Version: 1.0\n"
    b"Content-Type: text/plain; charset=UTF-8; format=flowed; delsp=yes\n"
    b"Content-Transfer-Encoding: 8Bit\nX-Mailer: Drupal\nReturn-Path: site@example.com\n"
    b"From: Site <site@example.com>\nSender: site@example.com\n\nHello Ann,\n\nlog in.\n"
)

CALLERS = {
    "cron": Caller(
        ["-FCronDaemon", "-i", "-B8BITMIME", "-oem", "root"],
        CRON,
        [OPS],
        {
            "From": SUPPORT,
            "To": OPS,
            "Subject": "Cron <root@host> /usr/local/bin/nightly --all",
            "X-Cron-Env": "<SHELL=/bin/sh>",
            "X-Original-From": "root (Cron Daemon)",
        },
        "3 tables, 2 €\n.\ndone\n",
    ),
    "cronie": Caller(
        ["-FCronDaemon", "-odi", "-oem", "-oi", "-t", "-f", "root"],
        CRONIE,
        [OPS],
        {"Auto-Submitted": "auto-generated", "Precedence": "bulk"},
        "Mon Nov 30\n",
    ),
    "php": Caller(
        ["-t", "-i"],
        PHP,
        ["ann@example.com", "books@example.com"],
        {
            "To": "ann@example.com",
            "Bcc": None,
            "Subject": "Bestellung über 5 €",
            "Reply-To": "sales@example.com",
            "X-PHP-Originating-Script": "33:order.php",
            "X-Original-From": None,
        },
        "<p>Grüße</p>\n",
    ),
    "php with -f": Caller(
        ["-t", "-i", "-fsupport@example.com"],
        b"To: ann@example.com\r\nSubject: x\r\n\r\ny\r\n",
        ["ann@example.com"],
        {"From": SUPPORT},
        "y\n",
    ),
    "git send-email": Caller(
        ["-f", "support@example.com", "-i", "list@lists.example", "bob@example.com"],
        GIT,
        ["list@lists.example", "bob@example.com"],
        {
            "To": "list@lists.example",
            "Cc": "Bob <bob@example.com>",
            "X-Mailer": "git-send-email 2.39.5",
            "X-Original-From": None,
        },
        "From the cover letter on.\n---\n queue.c | 1 +\n\n--\n2.39.5\n\n",
    ),
    "mutt": Caller(
        [
            *("-oem", "-oi", "-f", "support@example.com", "--"),
            *("ann@example.com", "carl@example.com", "hidden@example.com"),
        ],
        MUTT,
        ["ann@example.com", "carl@example.com", "hidden@example.com"],
        {"To": "ann@example.com", "Cc": "carl@example.com", "User-Agent": "Mutt/2.2.12"},
        "Here it is.\n",
        ["plan.diff: -old\n+new\n"],
    ),
    "mailx": Caller(
        ["-i", "-m", "ann@example.com", "root"],
        MAILX,
        ["ann@example.com", OPS],
        {"To": f"ann@example.com, {OPS}", "X-Original-From": "Alice <alice@host.example>"},
        "full\n",
    ),
    "at": Caller(["-i", "alice"], AT, [OPS], {"Subject": "Output from your job        7"}, "out\n"),
    "logwatch": Caller(["-t"], LOGWATCH, [OPS], {"Precedence": "bulk"}, " ---- ✓ ----\n"),
    "smartd": Caller(["-t", "-oi"], SMARTD, [OPS], {"To": OPS}, "Device: /dev/sda, FAILED\n"),
    "mdadm": Caller(
        ["-t"],
        MDADM,
        [OPS],
        {"X-Original-From": "mdadm monitoring <root@host.example>"},
        "A Fail event had been detected.\n",
    ),
    "nagios": Caller(["-t", "-oi", "-oem"], NAGIOS, [OPS], {}, "Notification Type: PROBLEM\n"),
    "drupal": Caller(
        ["-t", "-i", "-f", "site@example.com"],
        DRUPAL,
        ["ann@example.com"],
        {"X-Mailer": "Drupal", "Sender": None, "X-Original-From": "Site <site@example.com>"},
        "Hello Ann,\n\nlog in.\n",
    ),
    "a person": Caller(
        ["ann@example.com"],
        b"no header at all\n.\nnot sent\n",
        ["ann@example.com"],
        {"To": "undisclosed-recipients:;", "Subject": ""},
        "no header at all\n",
    ),
}
