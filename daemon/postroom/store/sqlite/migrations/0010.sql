-- What a loop holds is held, and freed, in steps.

ALTER TABLE hold ADD COLUMN held_job INTEGER NOT NULL DEFAULT 0;    -- the job up to which what waited is held,
ALTER TABLE hold ADD COLUMN held_to INTEGER;                        -- and the delivery in it; NULL = all of it is
ALTER TABLE hold ADD COLUMN deliveries INTEGER NOT NULL DEFAULT 0;  -- so many were
CREATE INDEX hold_begun ON hold (event) WHERE held_to IS NOT NULL;

-- Loops that have ended while some of what they held is still to be freed.
CREATE TABLE freeing (
    event      INTEGER PRIMARY KEY,
    mailbox_id TEXT NOT NULL,
    thread     INTEGER NOT NULL,
    evidence   TEXT NOT NULL,
    by         TEXT NOT NULL,               -- who ended it
    freed_to   INTEGER NOT NULL,            -- the delivery up to which it is done
    deliveries INTEGER NOT NULL             -- so many were freed
) STRICT;
