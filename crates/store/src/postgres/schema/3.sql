-- What a node makes known after it has registered.
CREATE FUNCTION announce(node uuid, known bigint, at_address text, drains boolean) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    UPDATE nodes SET address = at_address, draining = drains WHERE id = node AND incarnation = known
$$;

-- The nodes that take sessions, with the number that each holds.
CREATE FUNCTION takers() RETURNS TABLE (id uuid, address text, held bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT n.id, n.address, (SELECT count(*) FROM sessions s WHERE s.lease_node = n.id AND s.lease_incarnation = n.incarnation) AS held
    FROM nodes n WHERE n.address IS NOT NULL AND NOT n.draining AND n.expires_at > clock_timestamp() ORDER BY held, n.id
$$;

-- Sessions whose holder is gone, with the names of their users.
CREATE POLICY housekeeping ON users FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY housekeeping ON tenants FOR SELECT TO CURRENT_USER USING (true);
CREATE FUNCTION orphans_of(at_most integer) RETURNS TABLE (tenant text, subject text, id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT t.name, u.subject, o.id FROM orphans(at_most) o JOIN users u ON u.id = o.owner_id JOIN tenants t ON t.id = o.tenant_id
$$;

REVOKE ALL ON FUNCTION announce, takers, orphans_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION announce, takers, orphans_of TO tiller_app;
