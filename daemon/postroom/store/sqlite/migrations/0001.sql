-- The first schema. Instants are whole microseconds UTC; a public id is a prefix and the number in base32.
-- WAITING is written `state IN ('pending', 'retry_scheduled')` in every index and every query, letter by letter,
-- or the planner does not see that the index fits.

CREATE TABLE instance (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    instance_id TEXT NOT NULL,
    log_id      TEXT NOT NULL,              -- new at creation and at restore: event numbers of another log mean nothing
    is_backup   INTEGER NOT NULL DEFAULT 0, -- set in copies; whoever opens one has restored it
    machine_id  TEXT NOT NULL,
    boot_id     TEXT NOT NULL,
    clean_stop  INTEGER NOT NULL,           -- 0 while a daemon runs
    created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE relay (
    id             TEXT PRIMARY KEY,
    breaker_state  TEXT NOT NULL DEFAULT 'closed',
    breaker_reason TEXT,
    faults_in_row  INTEGER NOT NULL DEFAULT 0,
    last20         INTEGER NOT NULL DEFAULT 0,
    seen           INTEGER NOT NULL DEFAULT 0,
    opened_at      INTEGER,
    probe_at       INTEGER,
    probe_s        REAL NOT NULL DEFAULT 0,
    good_in_row    INTEGER NOT NULL DEFAULT 0,
    outage_no      INTEGER NOT NULL DEFAULT 0,
    pace_at        INTEGER
) STRICT;

CREATE TABLE mailbox (
    id             TEXT PRIMARY KEY,
    paused_by      TEXT,                    -- an operator's pause; a pause made by classification is the breaker
    paused_reason  TEXT,
    paused_at      INTEGER,
    removed_at     INTEGER,
    breaker_state  TEXT NOT NULL DEFAULT 'closed',
    breaker_reason TEXT,
    faults_in_row  INTEGER NOT NULL DEFAULT 0,
    last20         INTEGER NOT NULL DEFAULT 0,
    seen           INTEGER NOT NULL DEFAULT 0,
    opened_at      INTEGER,
    probe_at       INTEGER,
    probe_s        REAL NOT NULL DEFAULT 0,
    good_in_row    INTEGER NOT NULL DEFAULT 0,
    outage_no      INTEGER NOT NULL DEFAULT 0,
    pace_at        INTEGER
) STRICT;

CREATE TABLE pace_bucket (
    scope   TEXT NOT NULL,                  -- 'm:ID' or 'r:ID'
    minute  INTEGER NOT NULL,               -- since 1970
    lane    INTEGER NOT NULL,
    started INTEGER NOT NULL,
    PRIMARY KEY (scope, minute, lane)
) STRICT, WITHOUT ROWID;
CREATE INDEX pace_bucket_old ON pace_bucket (minute);

CREATE TABLE domain_pause (
    mailbox_id  TEXT NOT NULL,
    domain      TEXT NOT NULL,
    until_at    INTEGER NOT NULL,
    reason_code TEXT NOT NULL,
    PRIMARY KEY (mailbox_id, domain)
) STRICT, WITHOUT ROWID;

CREATE TABLE thread (
    number           INTEGER PRIMARY KEY AUTOINCREMENT,
    mailbox_id       TEXT NOT NULL,
    conversation_key TEXT,                  -- the caller's own name for it
    recipient_key    TEXT NOT NULL DEFAULT '', -- folded address where copies are individual
    version          INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    metadata         TEXT                   -- JSON object of the job that made it, NULL when it had none
) STRICT;
CREATE UNIQUE INDEX thread_name ON thread (mailbox_id, conversation_key, recipient_key)
    WHERE conversation_key IS NOT NULL;

CREATE TABLE body (
    number             INTEGER PRIMARY KEY, -- that of the job that brought it
    content            BLOB NOT NULL,       -- all byte segments, end to end
    segments           TEXT,                -- NULL: content is the only one; else JSON: a length, or a file
    size_bytes         INTEGER NOT NULL,
    serializer_version INTEGER NOT NULL
) STRICT;

CREATE TABLE spool_file (
    sha256     TEXT PRIMARY KEY,            -- hex
    size_bytes INTEGER NOT NULL,
    refs       INTEGER NOT NULL,            -- bodies and staged uploads that name it
    created_at INTEGER NOT NULL,
    doomed_at  INTEGER                      -- about to be unlinked: nobody may name it any more
) STRICT;
CREATE INDEX spool_file_unused ON spool_file (created_at) WHERE refs = 0;

CREATE TABLE staged (
    ref           TEXT PRIMARY KEY,
    sha256        TEXT NOT NULL REFERENCES spool_file (sha256),
    filename      TEXT NOT NULL,
    content_type  TEXT NOT NULL,
    size_bytes    INTEGER NOT NULL,
    principal_uid INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    uses          INTEGER NOT NULL DEFAULT 0 -- jobs that were accepted with it
) STRICT;
CREATE INDEX staged_unused ON staged (created_at) WHERE uses = 0;
CREATE INDEX staged_by_file ON staged (sha256);

CREATE TABLE job (
    number             INTEGER PRIMARY KEY AUTOINCREMENT,
    mailbox_id         TEXT NOT NULL,
    principal_uid      INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    trace_id           TEXT NOT NULL,
    idempotency_key    TEXT NOT NULL,
    conversation_key   TEXT,
    lane               INTEGER NOT NULL,
    copies             TEXT NOT NULL,
    spec               TEXT NOT NULL,       -- JSON as given, without text and html
    attachment_digests TEXT,                -- JSON list in the order of the attachments; NULL without any
    metadata           TEXT,                -- JSON object; NULL when there is none
    body               INTEGER REFERENCES body (number), -- NULL once retention took the content
    settled_status     TEXT,                -- NULL = open; written by the transition that settles
    settled_at         INTEGER,
    rescheduled_by     TEXT,                -- uid:N of the last who moved its time
    expired_at         INTEGER              -- retention is taking it: nobody may change it any more
) STRICT;
CREATE INDEX job_expired ON job (number) WHERE expired_at IS NOT NULL;
CREATE INDEX job_mailbox ON job (mailbox_id, number);
CREATE INDEX job_trace ON job (trace_id, mailbox_id, number);
CREATE INDEX job_key ON job (idempotency_key, mailbox_id, number);
CREATE INDEX job_conversation ON job (conversation_key, mailbox_id, number) WHERE conversation_key IS NOT NULL;
CREATE INDEX job_status ON job (mailbox_id, settled_status, number) WHERE settled_status IS NOT NULL;
CREATE INDEX job_open ON job (mailbox_id, number) WHERE settled_status IS NULL;
CREATE INDEX job_settled ON job (settled_status, settled_at, number) WHERE settled_status IS NOT NULL;
CREATE INDEX job_body ON job (body) WHERE body IS NOT NULL;

CREATE TABLE delivery (
    number            INTEGER PRIMARY KEY AUTOINCREMENT CHECK (number < 281474976710656), -- 48 bits: a token names it
    job               INTEGER NOT NULL REFERENCES job (number),
    mailbox_id        TEXT NOT NULL,
    lane              INTEGER NOT NULL,
    recipient         TEXT NOT NULL,
    recipient_key     TEXT NOT NULL,
    domain            TEXT NOT NULL,
    state             TEXT NOT NULL,
    hold_reason       TEXT,
    reason_code       TEXT,
    due_at            INTEGER,              -- NULL once settled
    not_after         INTEGER,
    thread            INTEGER NOT NULL REFERENCES thread (number),
    message_id        TEXT NOT NULL,
    head              BLOB NOT NULL,        -- every header line but Date and the body's own
    has_attachments   INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    date_at           INTEGER,              -- the Date of the message, from its first attempt on
    claim             INTEGER NOT NULL DEFAULT 0, -- rises with every start; mark and outcome must match it
    marked_at         INTEGER,              -- the mark of the attempt under way; kept with `uncertain`
    doubts            INTEGER NOT NULL DEFAULT 0, -- unanswered marks in its past
    stage             TEXT,
    relay_id          TEXT,
    attempts          INTEGER NOT NULL DEFAULT 0,
    series_attempts   INTEGER NOT NULL DEFAULT 0,
    series_started_at INTEGER,
    deferrals         INTEGER NOT NULL DEFAULT 0,
    crashes           INTEGER NOT NULL DEFAULT 0,
    resends           INTEGER NOT NULL DEFAULT 0,
    last_outage_no    INTEGER NOT NULL DEFAULT 0,
    bucket_minute     INTEGER,
    cancel_asked      INTEGER NOT NULL DEFAULT 0, -- a cancel was answered too_late
    reply_code        INTEGER,
    enhanced_status   TEXT,
    reply_text        TEXT,
    reply_raw         BLOB,
    relay_message_id  TEXT,
    settled_by        TEXT,
    settled_at        INTEGER,
    version           INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX delivery_due ON delivery (mailbox_id, lane, due_at, number, domain)
    WHERE state IN ('pending', 'retry_scheduled');
CREATE INDEX delivery_due_domain ON delivery (mailbox_id, domain, lane, due_at, number)
    WHERE state IN ('pending', 'retry_scheduled');
CREATE INDEX delivery_not_after ON delivery (not_after)
    WHERE not_after IS NOT NULL AND state IN ('pending', 'retry_scheduled');
CREATE INDEX delivery_sending ON delivery (number) WHERE state = 'sending';
CREATE INDEX delivery_held ON delivery (mailbox_id, hold_reason, number) WHERE state = 'held';
CREATE INDEX delivery_job ON delivery (job, state);
CREATE INDEX delivery_recipient ON delivery (recipient_key, mailbox_id, job);
CREATE INDEX delivery_thread ON delivery (thread, job);
CREATE INDEX delivery_domain ON delivery (mailbox_id, domain, number);
CREATE INDEX delivery_state ON delivery (mailbox_id, state, number, lane); -- lane: counted at start without the rows
CREATE INDEX delivery_reason ON delivery (mailbox_id, reason_code, number) WHERE reason_code IS NOT NULL;
CREATE INDEX delivery_dead ON delivery (settled_at, number) WHERE state IN ('failed', 'uncertain');

CREATE TABLE delivery_tombstone (           -- what answers and tokens need of a delivery that retention took
    number         INTEGER PRIMARY KEY,
    job            INTEGER NOT NULL,
    mailbox_id     TEXT NOT NULL,
    thread         INTEGER NOT NULL,
    recipient_hash BLOB NOT NULL,           -- SHA-256 of its key
    message_id     TEXT NOT NULL,
    state          TEXT NOT NULL
) STRICT;

CREATE TABLE idempotency (
    mailbox_id     TEXT NOT NULL,
    key_hash       BLOB NOT NULL,
    recipient_hash BLOB NOT NULL,           -- x'' names the job; a merge adds one row for each recipient (SHA-256 of its key)
    job            INTEGER NOT NULL,        -- no reference: this row is its own tombstone
    request_hash   BLOB NOT NULL,           -- x'' in a recipient's row
    hash_version   INTEGER NOT NULL,
    final_status   TEXT,                    -- set when retention took the job
    job_created_at INTEGER,                 -- set with it
    minted         INTEGER NOT NULL DEFAULT 0, -- we made the key: it goes with the job and leaves no tombstone
    PRIMARY KEY (mailbox_id, key_hash, recipient_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_job ON idempotency (job);

CREATE TABLE history (
    number          INTEGER PRIMARY KEY,
    delivery        INTEGER NOT NULL REFERENCES delivery (number),
    attempt         INTEGER,                -- the number of the attempt that this row ends
    before          TEXT,
    after           TEXT NOT NULL,
    at              INTEGER NOT NULL,
    reason_code     TEXT,
    reply_code      INTEGER,
    enhanced_status TEXT,
    reply_text      TEXT,
    by              TEXT NOT NULL           -- loop, recovery, accept, retention, config or uid:N
) STRICT;
CREATE INDEX history_delivery ON history (delivery, number);

CREATE TABLE event (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    type       TEXT NOT NULL,
    mailbox_id TEXT NOT NULL,
    thread     INTEGER,
    delivery   INTEGER,
    created_at INTEGER NOT NULL,
    data       TEXT NOT NULL                -- the event's own JSON object
) STRICT;
CREATE INDEX event_created ON event (created_at);
CREATE INDEX event_thread ON event (thread, seq) WHERE thread IS NOT NULL;

CREATE TABLE suppression (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    mailbox_id  TEXT NOT NULL,              -- '' = no mailbox writes to it
    address_key TEXT NOT NULL,
    address     TEXT NOT NULL,
    reason      TEXT NOT NULL,
    by          TEXT NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX suppression_address ON suppression (address_key, mailbox_id);
CREATE INDEX suppression_mailbox ON suppression (mailbox_id, number);

CREATE TABLE fence (
    consumer TEXT NOT NULL,
    thread   INTEGER NOT NULL,
    fence    INTEGER NOT NULL,
    PRIMARY KEY (consumer, thread)
) STRICT, WITHOUT ROWID;
