-- Whose folders a session works in: {"folders": NAME, "host": HOST}; NULL for those of any node.
ALTER TABLE sessions ADD COLUMN workspace jsonb;
-- The name of the folders that a node has; NULL in a row of an older program.
ALTER TABLE nodes ADD COLUMN folders text;

CREATE FUNCTION announce_folders(node uuid, known bigint, named text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    UPDATE nodes SET folders = named WHERE id = node AND incarnation = known
$$;

-- The nodes that take sessions of these folders, with the number that each holds.
CREATE FUNCTION takers_of(named text) RETURNS TABLE (id uuid, address text, held bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT t.id, t.address, t.held FROM takers() t JOIN nodes n ON n.id = t.id
    WHERE named = 'any' OR n.folders = named OR n.folders = 'any' ORDER BY t.held, t.id
$$;

-- Sessions of these folders whose holder is gone, with the names of their users.
CREATE FUNCTION orphans_with(named text, at_most integer) RETURNS TABLE (tenant text, subject text, id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT t.name, u.subject, s.id FROM sessions s JOIN users u ON u.id = s.owner_id JOIN tenants t ON t.id = s.tenant_id
    WHERE s.lease_node IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM nodes n WHERE n.id = s.lease_node AND n.incarnation = s.lease_incarnation AND n.expires_at > clock_timestamp()
    ) AND (s.workspace IS NULL OR named = 'any' OR s.workspace->>'folders' = named) LIMIT at_most
$$;

REVOKE ALL ON FUNCTION announce_folders, takers_of, orphans_with FROM PUBLIC;
GRANT EXECUTE ON FUNCTION announce_folders, takers_of, orphans_with TO tiller_app;
