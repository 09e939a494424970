-- The tokens of a server, without their values. Programs reach them through the functions below only, so no statement of theirs lists the digests of
-- a tenant by mistake.
CREATE TABLE tokens (
    id          text    COLLATE "C" NOT NULL PRIMARY KEY,
    sha256      bytea   NOT NULL UNIQUE CHECK (octet_length(sha256) = 32),
    name        text    NOT NULL,
    tenant      text    NOT NULL,
    subject     text    NOT NULL, -- the user that it authenticates
    scopes      text    NOT NULL, -- their names, with blanks between them
    created_at  bigint  NOT NULL,
    expires_at  bigint, -- NULL means never
    last_used   bigint, -- to the hour
    revoked_at  bigint,
    stops_turns boolean NOT NULL DEFAULT false
);
-- Who did what to the server, by month: whole months are dropped.
CREATE SEQUENCE audit_order;
CREATE TABLE audit (
    at         timestamptz NOT NULL,
    nth        bigint      NOT NULL DEFAULT nextval('audit_order'),
    what       text        NOT NULL,
    tenant     text,
    subject    text,
    credential text, -- the id of the credential
    source     text,
    session    text,
    request    text,
    about      text
) PARTITION BY RANGE (at);
CREATE INDEX audit_by_time ON audit (at, nth);

CREATE FUNCTION find_token(hex text) RETURNS SETOF tokens LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT * FROM tokens WHERE sha256 = decode(hex, 'hex')
$$;
CREATE FUNCTION token_of(of_id text) RETURNS SETOF tokens LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT * FROM tokens WHERE id = of_id
$$;
CREATE FUNCTION list_tokens() RETURNS SETOF tokens LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT * FROM tokens ORDER BY created_at, id
$$;
-- Adds a token, and removes those that ended before a time. Returns false, and adds nothing, if there are as many as there may be.
CREATE FUNCTION add_token(
    new_id text, hex text, new_name text, of_tenant text, of_subject text, of_scopes text, created bigint, expires bigint, ended_before bigint, at_most bigint
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    LOCK TABLE tokens IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM tokens WHERE expires_at < ended_before OR revoked_at < ended_before;
    IF (SELECT count(*) FROM tokens) >= at_most THEN
        RETURN false;
    END IF;
    INSERT INTO tokens (id, sha256, name, tenant, subject, scopes, created_at, expires_at)
    VALUES (new_id, decode(hex, 'hex'), new_name, of_tenant, of_subject, of_scopes, created, expires);
    RETURN true;
END $$;
-- A revoked token stays as it was revoked first, except that its turns may be stopped later. The notification is a hint: a program that misses it
-- finds the change when it looks.
CREATE FUNCTION revoke_token(of_id text, at bigint, stops boolean) RETURNS SETOF tokens LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT pg_notify('tiller_tokens', of_id);
    UPDATE tokens SET revoked_at = coalesce(revoked_at, at), stops_turns = stops_turns OR stops WHERE id = of_id RETURNING *
$$;
CREATE FUNCTION note_token_use(of_id text, hour bigint) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    UPDATE tokens SET last_used = hour WHERE id = of_id AND (last_used IS NULL OR last_used < hour)
$$;

-- Appends a record. The first of a month creates the month.
CREATE FUNCTION record_audit(
    ms bigint, of_what text, of_tenant text, of_subject text, of_credential text, of_source text, of_session text, of_request text, of_about text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET timezone = 'UTC' AS $$
DECLARE
    moment timestamptz := to_timestamp(ms / 1000.0);
    month  timestamptz := date_trunc('month', moment);
BEGIN
    LOOP
        BEGIN
            INSERT INTO audit (at, what, tenant, subject, credential, source, session, request, about)
            VALUES (moment, of_what, of_tenant, of_subject, of_credential, of_source, of_session, of_request, of_about);
            RETURN;
        EXCEPTION WHEN check_violation THEN
            BEGIN
                EXECUTE format('CREATE TABLE %I PARTITION OF audit FOR VALUES FROM (%L) TO (%L)',
                               'audit_' || to_char(month, 'YYYY_MM'), month, month + interval '1 month');
            EXCEPTION WHEN duplicate_table OR invalid_object_definition THEN NULL; -- another one did, at the same time
            END;
        END;
    END LOOP;
END $$;
CREATE FUNCTION audit_since(ms bigint, at_most bigint) RETURNS TABLE (
    milliseconds bigint, what text, tenant text, subject text, credential text, source text, session text, request text, about text
) LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT (extract(epoch FROM a.at) * 1000)::bigint, a.what, a.tenant, a.subject, a.credential, a.source, a.session, a.request, a.about
    FROM audit a WHERE a.at >= to_timestamp(ms / 1000.0) ORDER BY a.at, a.nth LIMIT at_most
$$;

REVOKE ALL ON FUNCTION find_token, token_of, list_tokens, add_token, revoke_token, note_token_use, record_audit, audit_since FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_token, token_of, list_tokens, add_token, revoke_token, note_token_use, record_audit, audit_since TO tiller_app;
