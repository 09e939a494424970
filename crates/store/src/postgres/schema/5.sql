-- Sessions that were last used before a time and that no living node holds, the least recently used first. Those of subagents go with their
-- session, and keep it while they are in use.
CREATE INDEX sessions_by_age ON sessions (updated_at);
CREATE FUNCTION unused_sessions(before bigint, at_most integer) RETURNS TABLE (tenant text, subject text, id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT t.name, u.subject, s.id FROM sessions s JOIN users u ON u.id = s.owner_id JOIN tenants t ON t.id = s.tenant_id
    WHERE s.updated_at < before
        AND (s.parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM sessions p WHERE p.id = s.parent_id))
        AND NOT EXISTS (
            SELECT 1 FROM sessions c WHERE c.parent_id = s.id AND c.updated_at >= before
        )
        AND NOT EXISTS (
            SELECT 1 FROM sessions h JOIN nodes n ON n.id = h.lease_node AND n.incarnation = h.lease_incarnation
            WHERE (h.id = s.id OR h.parent_id = s.id) AND n.expires_at > clock_timestamp()
        )
    ORDER BY s.updated_at, s.id LIMIT at_most
$$;
CREATE FUNCTION tenant_names() RETURNS TABLE (name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT t.name FROM tenants t ORDER BY t.name
$$;

REVOKE ALL ON FUNCTION unused_sessions, tenant_names FROM PUBLIC;
GRANT EXECUTE ON FUNCTION unused_sessions, tenant_names TO tiller_app;
