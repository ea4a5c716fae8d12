-- What answers need is kept as long as tokens are valid: how old a tombstone is, and what still names a thread.
ALTER TABLE delivery_tombstone ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0; -- of the delivery
UPDATE delivery_tombstone SET created_at = CAST(strftime('%s', 'now') AS INTEGER) * 1000000;
CREATE INDEX delivery_tombstone_age ON delivery_tombstone (created_at);
CREATE INDEX delivery_tombstone_thread ON delivery_tombstone (thread);
CREATE INDEX message_ref_thread ON message_ref (thread);
