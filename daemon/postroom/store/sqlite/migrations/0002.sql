-- The way in: what was received, what ids name which thread, consumers, what is pending for them, and leases.

CREATE TABLE received (
    number        INTEGER PRIMARY KEY AUTOINCREMENT,
    received_at   INTEGER NOT NULL,
    envelope_from TEXT NOT NULL,            -- '' = the null reverse-path
    recipients    TEXT NOT NULL,            -- JSON list: address, mailbox, the genuine token in it or null
    client_ip     TEXT NOT NULL,
    helo          TEXT NOT NULL,
    is_tls        INTEGER NOT NULL,
    is_trusted    INTEGER NOT NULL,
    raw           BLOB,                     -- NULL: in the spool
    raw_sha256    TEXT,                     -- hex; NULL: in the row
    size_bytes    INTEGER NOT NULL,
    defects       TEXT NOT NULL,            -- JSON list of words
    published_at  INTEGER                   -- NULL = intake has not done with it
) STRICT;
CREATE INDEX received_open ON received (number) WHERE published_at IS NULL;
CREATE INDEX received_age ON received (published_at) WHERE published_at IS NOT NULL;

-- Threads that a stored, not yet published message names by a valid token: `inbound_pending` asks here.
CREATE TABLE received_thread (
    thread   INTEGER NOT NULL,
    received INTEGER NOT NULL,
    PRIMARY KEY (thread, received)
) STRICT, WITHOUT ROWID;
CREATE INDEX received_thread_received ON received_thread (received);

-- Our own Message-IDs are found where they stand.
CREATE INDEX delivery_message ON delivery (message_id);
CREATE INDEX delivery_tombstone_message ON delivery_tombstone (message_id);

-- Other names: a received message's own, and what a relay called one of ours.

CREATE TABLE message_ref (
    mailbox_id TEXT NOT NULL,
    id_hash    BLOB NOT NULL,               -- first 16 bytes of SHA-256 of the normalised id
    thread     INTEGER NOT NULL,
    delivery   INTEGER,                     -- NULL: a received message
    created_at INTEGER NOT NULL,
    PRIMARY KEY (mailbox_id, id_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_ref_age ON message_ref (created_at);

-- Weak signs of a thread, each good only from the same peer and for 30 days.
CREATE TABLE thread_peer (
    mailbox_id TEXT NOT NULL,
    peer_key   TEXT NOT NULL,               -- folded address
    clue       TEXT NOT NULL,               -- 's:' and a folded subject, or 'i:' and the root of a Thread-Index
    thread     INTEGER NOT NULL,
    last_at    INTEGER NOT NULL,
    PRIMARY KEY (mailbox_id, peer_key, clue)
) STRICT, WITHOUT ROWID;
CREATE INDEX thread_peer_age ON thread_peer (last_at);

-- A mail is one event in each thread that it proves to belong to.
CREATE TABLE dedupe (
    mailbox_id TEXT NOT NULL,
    digest     BLOB NOT NULL,
    thread     INTEGER NOT NULL,
    event      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (mailbox_id, digest, thread)
) STRICT, WITHOUT ROWID;
CREATE INDEX dedupe_age ON dedupe (created_at);

ALTER TABLE event ADD COLUMN received INTEGER;      -- the raw bytes of what was received
ALTER TABLE event ADD COLUMN answered_by INTEGER;   -- the job that answers it, unless that one came to nothing
CREATE INDEX event_received ON event (received) WHERE received IS NOT NULL;
CREATE INDEX event_type ON event (type);            -- in the order of seq: what a new consumer begins with
ALTER TABLE delivery ADD COLUMN feedback TEXT NOT NULL DEFAULT 'none';
ALTER TABLE delivery ADD COLUMN if_json TEXT;       -- preconditions of its job; NULL = none
ALTER TABLE delivery ADD COLUMN envelope_from TEXT; -- the reverse-path with its token; NULL = the mailbox's address

-- An attachment of a received mail has a reference like an upload, and lives as long as what was received.
ALTER TABLE staged ADD COLUMN received INTEGER;     -- NULL: an upload
CREATE INDEX staged_received ON staged (received) WHERE received IS NOT NULL;
DROP INDEX staged_unused;
CREATE INDEX staged_unused ON staged (created_at) WHERE uses = 0 AND received IS NULL;

CREATE TABLE token_key (
    fingerprint    TEXT PRIMARY KEY,
    key_id         INTEGER NOT NULL,
    first_used_at  INTEGER NOT NULL,
    last_issued_at INTEGER NOT NULL
) STRICT;

CREATE TABLE consumer (
    name       TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE consumer_type (
    consumer TEXT NOT NULL,
    type     TEXT NOT NULL,
    from_seq INTEGER NOT NULL,              -- events of this type with a greater seq are its
    is_asked INTEGER NOT NULL DEFAULT 0,    -- it named the type: it gets `accepted: false` too
    PRIMARY KEY (consumer, type)
) STRICT, WITHOUT ROWID;
CREATE INDEX consumer_type_type ON consumer_type (type, consumer);

CREATE TABLE pending (
    consumer   TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    mailbox_id TEXT NOT NULL,
    thread     INTEGER NOT NULL,
    receives   INTEGER NOT NULL DEFAULT 0,  -- leases that showed it
    failures   INTEGER NOT NULL DEFAULT 0,  -- those of them that expired or were released as failed
    dead_at    INTEGER,
    PRIMARY KEY (consumer, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_thread ON pending (consumer, thread, seq);
CREATE INDEX pending_alive ON pending (consumer, mailbox_id, seq) WHERE dead_at IS NULL;
CREATE INDEX pending_dead ON pending (seq) WHERE dead_at IS NOT NULL;

CREATE TABLE lease (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    consumer    TEXT NOT NULL,
    thread      INTEGER NOT NULL,
    fence       INTEGER NOT NULL,
    attempt_id  TEXT,
    max_events  INTEGER NOT NULL,           -- as many may be shown to it
    shown       TEXT NOT NULL,              -- JSON list of the seqs that the holder was shown
    state       TEXT NOT NULL,              -- live, completed, released, expired
    taken_at    INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    reason      TEXT,
    result      TEXT                        -- JSON: what complete did, for a repeat
) STRICT;
CREATE UNIQUE INDEX lease_live ON lease (consumer, thread) WHERE state = 'live';
CREATE INDEX lease_expiry ON lease (expires_at) WHERE state = 'live';
CREATE INDEX lease_attempt ON lease (consumer, attempt_id) WHERE state = 'live' AND attempt_id IS NOT NULL;
CREATE INDEX lease_ended ON lease (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX lease_thread ON lease (thread) WHERE state = 'live';

CREATE TABLE thread_delay (
    consumer   TEXT NOT NULL,
    thread     INTEGER NOT NULL,
    not_before INTEGER NOT NULL,            -- a release asked to wait
    PRIMARY KEY (consumer, thread)
) STRICT, WITHOUT ROWID;
CREATE INDEX thread_delay_due ON thread_delay (not_before);
