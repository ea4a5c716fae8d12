-- How far relays, and domains behind them, are slowed down because they said that we are too fast.
CREATE TABLE slowing (
    relay_id    TEXT NOT NULL,
    domain      TEXT NOT NULL,              -- '' = all of the relay
    reason_code TEXT NOT NULL,
    per_minute  INTEGER NOT NULL,           -- starts, as it was before
    at_once     INTEGER NOT NULL,           -- under way, as it was before
    share       REAL NOT NULL,              -- what is left of both
    since_at    INTEGER NOT NULL,
    told_at     INTEGER NOT NULL,           -- when it said so last
    PRIMARY KEY (relay_id, domain)
) STRICT, WITHOUT ROWID;
