-- Loops: how often machines wrote, and what is held because of it.

-- The latest of each kind only, and none older than a day.
CREATE TABLE velocity (
    mailbox_id TEXT NOT NULL,
    what       TEXT NOT NULL,               -- what is counted: a word, and a thread, an address or a domain
    turn       INTEGER NOT NULL,            -- the event; where turns of a talk are counted, our delivery that was answered
    thread     INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (mailbox_id, what, turn)
) STRICT, WITHOUT ROWID;
CREATE INDEX velocity_age ON velocity (at);
CREATE INDEX velocity_thread ON velocity (thread);

-- One row for each thing that a loop holds; those of one loop have the same event.
CREATE TABLE hold (
    mailbox_id TEXT NOT NULL,
    scope      TEXT NOT NULL,               -- thread, address or domain
    name       TEXT NOT NULL,               -- the number of the thread, a folded address, a domain
    thread     INTEGER NOT NULL,            -- in which it was found
    event      INTEGER NOT NULL,            -- the mail by which it was found
    peer       TEXT NOT NULL,               -- the folded address that it came from
    evidence   TEXT NOT NULL,
    held_at    INTEGER NOT NULL,
    PRIMARY KEY (mailbox_id, scope, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX hold_event ON hold (event);
