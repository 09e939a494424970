-- Users, by tenant. The ids are derived from the names (`scope.rs`), so that nobody has to look them up.
CREATE TABLE tenants (
    id   uuid NOT NULL PRIMARY KEY,
    name text NOT NULL UNIQUE
);
CREATE TABLE users (
    id        uuid NOT NULL PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    subject   text NOT NULL, -- empty for the user of the machine, who has no name
    name      text,
    UNIQUE (tenant_id, subject)
);

-- The processes that hold leases. A lease is valid while the row of its node, with its incarnation, has not expired by the clock of this server.
CREATE TABLE nodes (
    id          uuid        NOT NULL PRIMARY KEY,
    incarnation bigint      NOT NULL,
    address     text, -- where other nodes reach it; NULL for a process that serves nobody
    host        text        NOT NULL,
    pid         bigint      NOT NULL,
    version     text        NOT NULL,
    schema_min  integer     NOT NULL,
    schema_max  integer     NOT NULL,
    draining    boolean     NOT NULL DEFAULT false,
    expires_at  timestamptz NOT NULL
);

CREATE TABLE sessions (
    tenant_id              uuid     NOT NULL,
    id                     text     COLLATE "C" NOT NULL,
    owner_id               uuid     NOT NULL REFERENCES users (id),
    parent_id              text     COLLATE "C",
    cwd                    text     COLLATE "C" NOT NULL,
    additional_directories text     NOT NULL, -- a JSON array of paths
    model                  text     NOT NULL,
    mode                   text     NOT NULL,
    permission_mode        text     NOT NULL,
    effort                 text,
    title                  text,
    branch                 text,
    archived               boolean  NOT NULL DEFAULT false,
    created_at             bigint   NOT NULL, -- milliseconds since the epoch, like every number that is a time
    updated_at             bigint   NOT NULL,
    last_seq               bigint   NOT NULL,
    searched               bigint   NOT NULL DEFAULT 0, -- the last event whose words are indexed
    turns                  bigint   NOT NULL DEFAULT 0,
    cost                   bigint, -- in picodollars
    lease_epoch            bigint   NOT NULL DEFAULT 0,
    lease_node             uuid, -- NULL when nobody holds it
    lease_incarnation      bigint,
    lease_since            timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (id)
) WITH (fillfactor = 80);
CREATE INDEX sessions_by_use ON sessions (tenant_id, owner_id, updated_at DESC, id DESC);
CREATE INDEX sessions_by_folder ON sessions (tenant_id, owner_id, cwd, updated_at DESC, id DESC);
CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_by_node ON sessions (lease_node) WHERE lease_node IS NOT NULL;

-- Rows are only appended, and only `damaged` may change. A body over 64 KiB is NULL, and its bytes are in `blobs`.
CREATE TABLE events (
    tenant_id  uuid     NOT NULL,
    session_id text     COLLATE "C" NOT NULL,
    seq        bigint   NOT NULL,
    format     smallint NOT NULL,
    kind       text     NOT NULL,
    body       text     COMPRESSION lz4,
    blob       bytea,
    at         bigint   NOT NULL,
    damaged    text,
    PRIMARY KEY (tenant_id, session_id, seq),
    CHECK ((body IS NULL) <> (blob IS NULL))
) PARTITION BY HASH (session_id);
CREATE INDEX events_by_blob ON events (tenant_id, blob) WHERE blob IS NOT NULL;

-- What files held before and after tools changed them.
CREATE TABLE contents (
    tenant_id  uuid   NOT NULL,
    session_id text   COLLATE "C" NOT NULL,
    hash       bytea  NOT NULL,
    size       bigint NOT NULL,
    nth        bigint NOT NULL, -- grows inside a session, so that the oldest are known
    PRIMARY KEY (tenant_id, session_id, hash)
) PARTITION BY HASH (session_id);
CREATE INDEX contents_by_hash ON contents (tenant_id, hash);

-- Bytes by their BLAKE3 hash, in parts. The users of a tenant share them; tenants do not, since that would show what another one has.
CREATE TABLE blobs (
    tenant_id uuid    NOT NULL,
    hash      bytea   NOT NULL,
    part      integer NOT NULL,
    bytes     bytea   COMPRESSION lz4 NOT NULL,
    PRIMARY KEY (tenant_id, hash, part)
) PARTITION BY HASH (hash);

DO $$
BEGIN
    FOR nth IN 0..31 LOOP
        EXECUTE format('CREATE TABLE events_%s PARTITION OF events FOR VALUES WITH (MODULUS 32, REMAINDER %s)', nth, nth);
        EXECUTE format('CREATE TABLE contents_%s PARTITION OF contents FOR VALUES WITH (MODULUS 32, REMAINDER %s)', nth, nth);
        EXECUTE format('CREATE TABLE blobs_%s PARTITION OF blobs FOR VALUES WITH (MODULUS 32, REMAINDER %s)', nth, nth);
    END LOOP;
END $$;

-- The words of what was said, filled when somebody searches: nothing that is appended waits for it.
CREATE TABLE words (
    tenant_id  uuid     NOT NULL,
    session_id text     COLLATE "C" NOT NULL,
    seq        bigint   NOT NULL,
    tsv        tsvector NOT NULL,
    PRIMARY KEY (tenant_id, session_id, seq),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX words_by_word ON words USING gin (tsv);

-- Memories: notes of one session for later ones.
CREATE TABLE memories (
    id          bigint  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never reused: people write it down
    tenant_id   uuid    NOT NULL,
    owner_id    uuid    NOT NULL REFERENCES users (id),
    project     text    COLLATE "C", -- the root of the project; NULL when the memory is valid everywhere
    session_id  text    COLLATE "C", -- the session that saved it, which may be gone
    type        text    NOT NULL,
    class       text    NOT NULL,
    title       text    NOT NULL,
    content     text    NOT NULL,
    title_key   text    NOT NULL, -- the folded title and a hash of the folded content, to find equal ones
    content_key text    NOT NULL,
    pinned      boolean NOT NULL,
    expires_at  bigint, -- NULL means never
    surfaced_at bigint, -- when it was last sent to a model
    created_at  bigint  NOT NULL,
    updated_at  bigint  NOT NULL,
    tsv         tsvector NOT NULL
);
CREATE INDEX memories_by_owner ON memories (tenant_id, owner_id, project);
CREATE INDEX memories_by_word ON memories USING gin (tsv);

-- Who asks. Without these settings a transaction sees nothing.
CREATE FUNCTION current_tenant() RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT nullif(current_setting('tiller.tenant', true), '')::uuid
$$;
CREATE FUNCTION current_owner() RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT nullif(current_setting('tiller.owner', true), '')::uuid
$$;
CREATE FUNCTION is_admin() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(current_setting('tiller.admin', true), '') = 'on'
$$;

ALTER TABLE tenants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE users ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE events ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE contents ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE blobs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE words ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE memories ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON tenants USING (id = current_tenant());
CREATE POLICY own ON users USING (tenant_id = current_tenant() AND (id = current_owner() OR is_admin()));
CREATE POLICY own ON sessions USING (tenant_id = current_tenant() AND (owner_id = current_owner() OR is_admin()));
CREATE POLICY own ON memories USING (tenant_id = current_tenant() AND (owner_id = current_owner() OR is_admin()));
CREATE POLICY own ON blobs USING (tenant_id = current_tenant());
-- What belongs to a session is visible with it.
CREATE POLICY own ON events
    USING (tenant_id = current_tenant() AND (is_admin() OR EXISTS (SELECT 1 FROM sessions WHERE sessions.id = session_id)));
CREATE POLICY own ON contents
    USING (tenant_id = current_tenant() AND (is_admin() OR EXISTS (SELECT 1 FROM sessions WHERE sessions.id = session_id)));
CREATE POLICY own ON words
    USING (tenant_id = current_tenant() AND (is_admin() OR EXISTS (SELECT 1 FROM sessions WHERE sessions.id = session_id)));
-- For the functions below that look across tenants, as the owner of the schema.
CREATE POLICY housekeeping ON sessions FOR SELECT TO CURRENT_USER USING (true);

-- Registers a node, or extends its life. Returns the incarnation that is valid now: a new one if the row was gone or is another's.
CREATE FUNCTION heartbeat(
    node uuid, known bigint, at_address text, on_host text, of_process bigint, of_version text, schema_least integer, schema_most integer, seconds integer
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    now_valid bigint;
BEGIN
    UPDATE nodes SET expires_at = clock_timestamp() + make_interval(secs => seconds)
    WHERE id = node AND incarnation = known RETURNING incarnation INTO now_valid;
    IF now_valid IS NULL THEN
        DELETE FROM nodes WHERE expires_at < clock_timestamp() - interval '1 day' AND id <> node;
        INSERT INTO nodes (id, incarnation, address, host, pid, version, schema_min, schema_max, expires_at)
        VALUES (node, coalesce(known, 0) + 1, at_address, on_host, of_process, of_version, schema_least, schema_most,
                clock_timestamp() + make_interval(secs => seconds))
        ON CONFLICT (id) DO UPDATE SET
            incarnation = greatest(nodes.incarnation, excluded.incarnation - 1) + 1, address = excluded.address, host = excluded.host,
            pid = excluded.pid, version = excluded.version, schema_min = excluded.schema_min, schema_max = excluded.schema_max,
            draining = false, expires_at = excluded.expires_at
        RETURNING incarnation INTO now_valid;
    END IF;
    RETURN now_valid;
END $$;

-- Ends a node that leaves: its leases are free at once.
CREATE FUNCTION leave(node uuid, known bigint) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    DELETE FROM nodes WHERE id = node AND incarnation = known
$$;

-- Sessions whose holder is gone.
CREATE FUNCTION orphans(at_most integer) RETURNS TABLE (tenant_id uuid, owner_id uuid, id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT s.tenant_id, s.owner_id, s.id FROM sessions s
    WHERE s.lease_node IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM nodes n WHERE n.id = s.lease_node AND n.incarnation = s.lease_incarnation AND n.expires_at > clock_timestamp()
    ) LIMIT at_most
$$;

-- Deletes those of the blobs of the tenant that nothing refers to. The rows are locked first, and an append that refers to one of them locks it
-- too, so the second statement sees what was committed before.
CREATE FUNCTION drop_blobs(hashes bytea[]) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT SET tiller.admin = 'on' AS $$
BEGIN
    PERFORM 1 FROM blobs WHERE tenant_id = current_tenant() AND hash = ANY (hashes) ORDER BY hash, part FOR UPDATE;
    DELETE FROM blobs AS b WHERE b.tenant_id = current_tenant() AND b.hash = ANY (hashes)
        AND NOT EXISTS (SELECT 1 FROM contents c WHERE c.tenant_id = b.tenant_id AND c.hash = b.hash)
        AND NOT EXISTS (SELECT 1 FROM events e WHERE e.tenant_id = b.tenant_id AND e.blob = b.hash);
END $$;

-- The role of the programs. It owns nothing, so no policy spares it.
DO $$
BEGIN
    CREATE ROLE tiller_app NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
GRANT USAGE ON SCHEMA tiller TO tiller_app;
GRANT SELECT ON nodes, migrations TO tiller_app;
GRANT SELECT, INSERT ON tenants, users TO tiller_app;
GRANT UPDATE (name) ON users TO tiller_app; -- to lock a row
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions, events, contents, blobs, words, memories TO tiller_app;
REVOKE ALL ON FUNCTION heartbeat, leave, orphans, drop_blobs FROM PUBLIC;
GRANT EXECUTE ON FUNCTION heartbeat, leave, orphans, drop_blobs TO tiller_app;
