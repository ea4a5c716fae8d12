-- Judging what comes in: who is known to a mailbox, and which relay handed a message over.

CREATE TABLE known_sender (                 -- people whose mail was accepted
    mailbox_id   TEXT NOT NULL,
    address_hash BLOB NOT NULL,             -- SHA-256 of the folded address
    last_at      INTEGER NOT NULL,
    PRIMARY KEY (mailbox_id, address_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX known_sender_age ON known_sender (last_at);

-- Whom a mailbox wrote to, also where retention took the delivery.
CREATE INDEX delivery_tombstone_recipient ON delivery_tombstone (recipient_hash, mailbox_id);

ALTER TABLE received ADD COLUMN relay_ip TEXT;  -- a trusted relay that handed on client_ip and helo; NULL: they are the peer's own
