-- The user of a server whom a session belongs to, inside a tenant; both NULL for the user of this machine.
ALTER TABLE sessions ADD COLUMN tenant TEXT;
ALTER TABLE sessions ADD COLUMN owner TEXT;
CREATE INDEX sessions_by_owner ON sessions (tenant, owner, updated_at DESC, id DESC) WHERE owner IS NOT NULL;

PRAGMA user_version = 11;
