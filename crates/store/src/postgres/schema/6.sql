-- The oldest program that can use the schema, as the newest schema version that it knows. The default holds for this step and for later ones; a
-- step whose schema older programs cannot use sets its own version as the default.
ALTER TABLE migrations ADD COLUMN usable_by integer NOT NULL DEFAULT 6;
