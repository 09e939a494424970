//! The text of the token file. Comments and keys of other versions are kept.

use super::{Digest, Revocation, TokenRow, limits, token_store::is_identity};
use agent::{Scope, Scopes};
use jiff::Timestamp;
use toml_edit::{Array, ArrayOfTables, Datetime, DocumentMut, Item, Table, value};

/// The version of the format.
const VERSION: i64 = 1;

/// The first lines of a new file.
const HEADER: &str =
    "# The tokens of `tiller serve`, without their values. `tiller token` changes this file.\n";

/// The token file.
pub(super) struct TokenDocument(DocumentMut);

impl TokenDocument {
    /// Reads the text; an empty one is a new file.
    ///
    /// # Errors
    /// A sentence that states what cannot be read and what to do.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            // The message repeats no line of the file.
            format!("it is not TOML ({}); correct it", error.message())
        })?;
        match document.get("version").map(Item::as_integer) {
            Some(Some(VERSION)) => {}
            Some(_) => return Err("another version of tiller wrote it; use that one".to_owned()),
            None if document.get("token").is_some() => {
                return Err(format!("it has no `version`; add `version = {VERSION}` at its beginning"));
            }
            None => {
                document.insert("version", value(VERSION));
                if let Some(mut key) = document.key_mut("version") {
                    key.leaf_decor_mut().set_prefix(HEADER);
                }
            }
        }
        if document.get("token").is_some_and(|item| item.as_array_of_tables().is_none()) {
            return Err("`token` is not a list of `[[token]]` tables; correct it".to_owned());
        }
        Ok(Self(document))
    }

    pub(super) fn text(&self) -> String {
        self.0.to_string()
    }

    /// Returns the rows, in the order of the file.
    ///
    /// # Errors
    /// A sentence that names the row and the key that cannot be read.
    pub(super) fn rows(&self) -> Result<Vec<TokenRow>, String> {
        let rows: Vec<_> = self.tables().map(row).collect::<Result<_, _>>()?;
        if rows.len() > limits::TOKENS {
            return Err(format!("it has more than {} tokens; remove some", limits::TOKENS));
        }
        Ok(rows)
    }

    pub(super) fn insert(&mut self, row: &TokenRow) {
        let mut table = Table::new();
        table.insert("id", value(&row.id));
        table.insert("name", value(&row.name));
        table.insert("tenant", value(&row.tenant));
        table.insert("user", value(&row.user));
        table.insert("scopes", value(row.scopes.iter().map(Scope::name).collect::<Array>()));
        table.insert("created", time(row.created));
        let times = [("expires", row.expires), ("last_used", row.last_used)];
        for (key, moment) in times.into_iter().filter_map(|(key, moment)| Some((key, moment?))) {
            table.insert(key, time(moment));
        }
        table.insert("sha256", value(row.digest.to_hex()));
        if let Some(revocation) = row.revoked {
            write_revocation(&mut table, revocation);
        }
        let tables = self.0.entry("token").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        if let Some(tables) = tables.as_array_of_tables_mut() {
            tables.push(table);
        }
    }

    pub(super) fn set_last_used(&mut self, id: &str, hour: Timestamp) {
        if let Some(table) = self.table_mut(id) {
            table.insert("last_used", time(hour));
        }
    }

    pub(super) fn revoke(&mut self, id: &str, revocation: Revocation) {
        if let Some(table) = self.table_mut(id) {
            write_revocation(table, revocation);
        }
    }

    /// Removes rows.
    pub(super) fn remove(&mut self, ids: &[&str]) {
        if let Some(tables) = self.0.get_mut("token").and_then(Item::as_array_of_tables_mut) {
            tables.retain(|table| text(table, "id").is_none_or(|id| !ids.contains(&id)));
        }
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.0.get("token").and_then(Item::as_array_of_tables).into_iter().flat_map(ArrayOfTables::iter)
    }

    fn table_mut(&mut self, id: &str) -> Option<&mut Table> {
        let tables = self.0.get_mut("token")?.as_array_of_tables_mut()?;
        tables.iter_mut().find(|table| text(table, "id") == Some(id))
    }
}

fn row(table: &Table) -> Result<TokenRow, String> {
    let id = text(table, "id").ok_or("a token has no `id`; correct it, or remove the token")?;
    let wrong =
        |key: &str| format!("`{key}` of the token {id} cannot be read; correct it, or remove the token");
    let string = |key: &str| text(table, key).map(str::to_owned).ok_or_else(|| wrong(key));
    let identity =
        |key: &str| string(key).and_then(|text| is_identity(&text).then_some(text).ok_or_else(|| wrong(key)));
    let moment = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(item) => {
            let time = item.as_datetime().and_then(|time| time.to_string().parse().ok());
            time.map(Some).ok_or_else(|| wrong(key))
        }
    };
    let revoked = moment("revoked")?.map(|at| {
        let stop_turns = table.get("stop_turns").and_then(Item::as_bool).unwrap_or_default();
        Revocation { at, stop_turns }
    });
    Ok(TokenRow {
        name: string("name")?,
        tenant: identity("tenant")?,
        user: identity("user")?,
        scopes: scopes(table).map_err(|problem| format!("{}: {problem}", wrong("scopes")))?,
        created: moment("created")?.ok_or_else(|| wrong("created"))?,
        expires: moment("expires")?,
        last_used: moment("last_used")?,
        revoked,
        digest: text(table, "sha256").and_then(Digest::from_hex).ok_or_else(|| wrong("sha256"))?,
        id: id.to_owned(),
    })
}

fn scopes(table: &Table) -> Result<Scopes, String> {
    let names = table.get("scopes").and_then(Item::as_array).ok_or("it is not a list")?;
    let scope = |name: &toml_edit::Value| {
        let name = name.as_str().ok_or("a scope is not a text")?;
        name.parse::<Scope>().map_err(|error| error.to_string())
    };
    names.iter().map(scope).collect()
}

fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Item::as_str)
}

fn time(moment: Timestamp) -> Item {
    match moment.to_string().parse::<Datetime>() {
        Ok(time) => value(time),
        // A time beyond the year 9999 is no date in TOML, and cannot be read back either.
        Err(_) => value(moment.to_string()),
    }
}

fn write_revocation(table: &mut Table, revocation: Revocation) {
    table.insert("revoked", time(revocation.at));
    if revocation.stop_turns {
        table.insert("stop_turns", value(true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> TokenRow {
        TokenRow {
            id: "tok_1".to_owned(),
            name: "laptop \"x\"".to_owned(),
            tenant: "default".to_owned(),
            user: "ada".to_owned(),
            scopes: Scopes::all(),
            created: Timestamp::from_second(1_000).unwrap(),
            expires: Some(Timestamp::from_second(2_000).unwrap()),
            last_used: None,
            revoked: None,
            digest: Digest::of(b"x"),
        }
    }

    #[test]
    fn a_row_is_read_back_as_it_was_written() {
        let mut document = TokenDocument::parse("").unwrap();
        document.insert(&example());
        assert!(document.text().starts_with(HEADER), "{}", document.text());
        let mut read = TokenDocument::parse(&document.text()).unwrap();
        assert_eq!(read.rows().unwrap(), [example()]);
        let at = Timestamp::from_second(3_600).unwrap();
        read.set_last_used("tok_1", at);
        read.revoke("tok_1", Revocation { at, stop_turns: true });
        let revoked = Some(Revocation { at, stop_turns: true });
        assert_eq!(read.rows().unwrap(), [TokenRow { last_used: Some(at), revoked, ..example() }]);
    }

    #[test]
    fn comments_and_unknown_keys_are_kept() {
        let mut document = TokenDocument::parse("").unwrap();
        document.insert(&example());
        let text = format!("{}team = \"a\" # mine\n\n[other]\nx = 1\n", document.text());
        let mut document = TokenDocument::parse(&text).unwrap();
        document.insert(&TokenRow { id: "tok_2".to_owned(), ..example() });
        document.set_last_used("tok_1", Timestamp::from_second(0).unwrap());
        let after = document.text();
        assert!(after.contains("team = \"a\" # mine\n") && after.contains("[other]\nx = 1\n"), "{after}");
        document.remove(&["tok_1"]);
        assert_eq!(document.rows().unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_repeats_no_value() {
        let mut good = TokenDocument::parse("").unwrap();
        good.insert(&example());
        let good = good.text();
        for (text, expected) in [
            ("x = ", "not TOML"),
            ("version = 2\n", "another version"),
            ("version = \"1\"\n", "another version"),
            ("[[token]]\nid = 'a'\n", "no `version`"),
            ("version = 1\ntoken = 3\n", "not a list"),
            (&good.replace("\"connect\"", "\"fly\""), "`scopes` of the token tok_1"),
            (&good.replace("\"connect\"", "3"), "`scopes` of the token tok_1"),
            (&good.replace("sha256 = \"", "sha256 = \"f"), "`sha256` of the token tok_1"),
            (&good.replace("expires = ", "expires = 3 #"), "`expires` of the token tok_1"),
            (&good.replace("expires = ", "expires = 2026-01-01 #"), "`expires` of the token tok_1"),
            (&good.replace("id = ", "ident = "), "no `id`"),
            (&good.replace("\"ada\"", "\"../ada\""), "`user` of the token tok_1"),
        ] {
            let error = TokenDocument::parse(text).and_then(|document| document.rows()).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains(&example().digest.to_hex()), "{error}");
        }
    }
}
