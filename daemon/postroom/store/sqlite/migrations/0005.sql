-- What settles doubt: evidence that came while an answer is awaited, and what policies look for by themselves.
ALTER TABLE delivery ADD COLUMN evidence TEXT;  -- of the attempt under way: the reason code that it gives if no answer comes
ALTER TABLE delivery ADD COLUMN no_resend TEXT; -- why its mailbox's policy left it in doubt when it was due; NULL = it did not
CREATE INDEX delivery_doubt ON delivery (mailbox_id, settled_at, number) WHERE state = 'uncertain';
CREATE INDEX delivery_resend ON delivery (mailbox_id, settled_at, number)
    WHERE state = 'uncertain' AND resends = 0 AND doubts = 0 AND no_resend IS NULL;
