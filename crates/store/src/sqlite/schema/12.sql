-- The user of a server whom a memory belongs to, inside a tenant; both NULL for the user of this machine.
ALTER TABLE memories ADD COLUMN tenant TEXT;
ALTER TABLE memories ADD COLUMN owner TEXT;
DROP INDEX memories_by_project;
CREATE INDEX memories_by_project ON memories (tenant, owner, project);

PRAGMA user_version = 12;
