-- The file beside the database that the holder of a lease keeps locked, and what tells the machine it runs on. Both are of the lease with the
-- epoch `lease_lock_epoch`: a program that does not know them, and still has the file open, may have taken the session since.
ALTER TABLE sessions ADD COLUMN lease_lock TEXT;
ALTER TABLE sessions ADD COLUMN lease_machine TEXT;
ALTER TABLE sessions ADD COLUMN lease_lock_epoch INTEGER;

PRAGMA user_version = 7;
