-- Sessions that are put away: kept with all they have, and left out of the list unless they are asked for.
ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 5;
