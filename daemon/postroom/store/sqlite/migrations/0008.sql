-- Alerts that are raised: a restart neither raises them again nor forgets them. The event in the log may be gone by age.
CREATE TABLE alert (
    kind       TEXT NOT NULL,
    scope      TEXT NOT NULL,
    name       TEXT NOT NULL,               -- '' = the daemon
    mailbox_id TEXT NOT NULL,               -- '' = it concerns several mailboxes, or all
    since_at   INTEGER NOT NULL,
    figure     REAL NOT NULL,
    threshold  REAL NOT NULL,
    cause      TEXT NOT NULL,
    raised_at  INTEGER NOT NULL,
    seq        INTEGER NOT NULL,            -- of its alert.raised
    PRIMARY KEY (kind, scope, name, mailbox_id)
) STRICT, WITHOUT ROWID;

-- Up to when the daily digest of each mailbox has spoken.
CREATE TABLE digest (
    mailbox_id TEXT PRIMARY KEY,
    until_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
