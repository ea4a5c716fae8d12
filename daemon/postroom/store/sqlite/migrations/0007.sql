-- What waits for consumers, counted as it comes and goes: nobody who looks has to count 100,000 rows.
CREATE TABLE waiting (
    consumer   TEXT NOT NULL,
    mailbox_id TEXT NOT NULL,
    events     INTEGER NOT NULL,            -- rows of `pending` that are not dead
    PRIMARY KEY (consumer, mailbox_id)
) STRICT, WITHOUT ROWID;
INSERT INTO waiting
    SELECT consumer, mailbox_id, count(*) FROM pending WHERE dead_at IS NULL GROUP BY consumer, mailbox_id;
CREATE TRIGGER pending_came AFTER INSERT ON pending WHEN new.dead_at IS NULL BEGIN
    INSERT INTO waiting (consumer, mailbox_id, events) VALUES (new.consumer, new.mailbox_id, 1)
        ON CONFLICT (consumer, mailbox_id) DO UPDATE SET events = events + 1;
END;
CREATE TRIGGER pending_went AFTER DELETE ON pending WHEN old.dead_at IS NULL BEGIN
    UPDATE waiting SET events = events - 1 WHERE consumer = old.consumer AND mailbox_id = old.mailbox_id;
END;
CREATE TRIGGER pending_died AFTER UPDATE OF dead_at ON pending WHEN old.dead_at IS NULL AND new.dead_at IS NOT NULL BEGIN
    UPDATE waiting SET events = events - 1 WHERE consumer = old.consumer AND mailbox_id = old.mailbox_id;
END;
CREATE TRIGGER pending_revived AFTER UPDATE OF dead_at ON pending WHEN old.dead_at IS NOT NULL AND new.dead_at IS NULL BEGIN
    UPDATE waiting SET events = events + 1 WHERE consumer = old.consumer AND mailbox_id = old.mailbox_id;
END;

-- With the thread, so that the oldest that nobody holds is found in the index alone.
DROP INDEX pending_alive;
CREATE INDEX pending_alive ON pending (consumer, mailbox_id, seq, thread) WHERE dead_at IS NULL;

-- Types that some consumer has or had: an event of such a type is somebody's.
CREATE TABLE claimed_type (
    type TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
INSERT INTO claimed_type SELECT DISTINCT type FROM consumer_type;

-- Events of those types that came when no consumer had the type any more.
CREATE TABLE unclaimed (
    type TEXT NOT NULL,
    seq  INTEGER NOT NULL,
    PRIMARY KEY (type, seq)
) STRICT, WITHOUT ROWID;
