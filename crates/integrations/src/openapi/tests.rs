use super::*;
use crate::added::read_added;
use crate::integration::{Integration, Operation, Pages, Place, Style};
use serde_json::json;

/// Reads a document with these paths and components.
fn read_as(paths: Value, components: Value) -> Integration {
    let document = json!({
        "openapi": "3.1.0",
        "info": { "title": "Pets" },
        "servers": [{ "url": "https://{host}/v1/", "variables": { "host": { "default": "pets.example" } } }],
        "paths": paths,
        "components": components,
    });
    read_added(&manifest(), &document).unwrap()
}

fn manifest() -> Manifest {
    Manifest::new("pets", "pets.json", None, false).unwrap()
}

/// Returns the key, place and requiredness of a function's parameters.
fn parameters(integration: &Integration, function: &str) -> Vec<(String, Place, bool)> {
    let function = integration.function(function).unwrap();
    let mut found: Vec<_> =
        function.parameters.iter().map(|p| (p.key.clone(), p.place, p.required)).collect();
    // Members of an object are unordered.
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn at(key: &str, place: Place, required: bool) -> (String, Place, bool) {
    (key.to_owned(), place, required)
}

#[test]
fn operations_become_functions_with_one_schema_for_all_parameters() {
    let pet = json!({
        "type": "object",
        "required": ["name", "id"],
        "properties": {
            "id": { "type": "integer", "readOnly": true },
            "name": { "type": "string", "description": "What it is called", "example": "Rex" },
            "tag": { "type": "string", "nullable": true, "enum": ["a", "b"] },
            "limit": { "type": "integer" },
            "parent": { "$ref": "#/components/schemas/Pet" },
        },
    });
    let paths = json!({
        "/pets/{petId}": {
            "parameters": [{ "$ref": "#/components/parameters/id" }, { "name": "limit", "in": "query", "schema": { "type": "string" } }],
            "put": {
                "operationId": "updatePet",
                "summary": "Update a pet",
                "description": "All of it.",
                "parameters": [
                    { "name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 0, "exclusiveMinimum": true } },
                    { "name": "X-Trace", "in": "header", "schema": { "type": "string" } },
                    { "name": "Authorization", "in": "header", "required": true, "schema": { "type": "string" } },
                    { "name": "filter[kind]", "in": "query", "style": "deepObject", "schema": { "type": "object" } },
                    { "name": "ids", "in": "query", "explode": false, "schema": { "type": "array", "items": { "type": "integer" } } },
                ],
                "requestBody": { "$ref": "#/components/requestBodies/Pet" },
            },
            "get": { "deprecated": true, "summary": "Show a pet" },
        },
        "/pets/{petId}/photo": {
            "post": { "operationId": "upload", "requestBody": { "required": true, "content": { "multipart/form-data": {} } } },
        },
        "/search": {
            "post": {
                "operationId": "pets.search",
                "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": "array", "items": { "type": "string" } } } } },
            },
        },
    });
    let components = json!({
        "parameters": { "id": { "name": "petId", "in": "path", "required": true, "schema": { "type": "string" } } },
        "schemas": { "Pet": pet },
        "requestBodies": { "Pet": { "required": true, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Pet" } } } } },
    });
    let pets = read_as(paths, components);
    assert_eq!(pets.address.base_url.as_deref(), Some("https://pets.example/v1"));
    let names: Vec<_> = pets.functions.keys().map(String::as_str).collect();
    assert_eq!(names, ["get_pets_by_pet_id", "pets_search", "update_pet"]);
    assert_eq!(pets.left_out, ["POST /pets/{petId}/photo: its multipart body declares no parts"]);
    assert_eq!(
        parameters(&pets, "update_pet"),
        [
            at("X-Trace", Place::Header, false),
            at("body_limit", Place::Member, false),
            at("filter_kind", Place::Query(Style::Deep), false),
            at("ids", Place::Query(Style::Joined(',')), false),
            at("limit", Place::Query(Style::Repeated), false),
            at("name", Place::Member, true),
            at("parent", Place::Member, false),
            at("petId", Place::Path, true),
            at("tag", Place::Member, false),
        ]
    );
    let update = pets.function("pets.update_pet").unwrap();
    assert_eq!((update.operation, update.endpoint.method.as_str()), (Operation::Write, "PUT"));
    assert_eq!(update.description, "Update a pet\n\nAll of it.");
    let schema = update.input_schema(&[]);
    assert_eq!(schema["required"], json!(["petId", "name"]));
    let properties = &schema["properties"];
    assert_eq!(properties["limit"], json!({ "type": "integer", "exclusiveMinimum": 0 }));
    assert_eq!(properties["name"], json!({ "type": "string", "description": "What it is called" }));
    assert_eq!(properties["tag"], json!({ "type": ["string", "null"], "enum": ["a", "b", null] }));
    assert_eq!(properties["parent"], json!({ "description": "The same again" }), "a cycle ends");
    let shown = pets.function("get_pets_by_pet_id").unwrap();
    assert_eq!((shown.operation, shown.description.as_str()), (Operation::Read, "Deprecated. Show a pet"));
    assert_eq!(parameters(&pets, "pets_search"), [at("body", Place::Body, true)]);
}

#[test]
fn composed_body_schemas_become_members() {
    let body = |schema: Value| json!({ "post": { "operationId": "x", "requestBody": { "required": true, "content": { "application/json": { "schema": schema } } } } });
    let object = |name: &str| json!({ "type": "object", "required": [name, "c"], "properties": { name: { "type": "string" }, "c": { "type": "string" } } });
    for (schema, expected) in [
        (
            json!({ "allOf": [object("a"), { "$ref": "#/components/schemas/B" }] }),
            &[("a", true), ("c", true), ("b", true)][..],
        ),
        (json!({ "oneOf": [object("a"), object("b")] }), &[("a", false), ("c", true), ("b", false)]),
        (json!({ "oneOf": [object("a"), { "type": "array", "items": {} }] }), &[("a", false), ("c", false)]),
        (json!({ "properties": { "a": {} }, "anyOf": [{ "required": ["a"] }] }), &[("a", false)]),
        (json!({ "type": "object", "additionalProperties": true }), &[("body", true)]),
        (json!({ "$ref": "#/components/schemas/Gone" }), &[("body", true)]),
    ] {
        let components = json!({ "schemas": { "B": object("b") } });
        let read = read_as(json!({ "/x": body(schema.clone()) }), components);
        let mut found: Vec<_> =
            parameters(&read, "x").into_iter().map(|(key, _, required)| (key, required)).collect();
        let mut expected: Vec<_> =
            expected.iter().map(|(key, required)| ((*key).to_owned(), *required)).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{schema}");
    }
}

#[test]
fn schemas_that_grow_too_large_lose_detail() {
    // Each level refers to the next one ten times.
    let mut schemas = serde_json::Map::new();
    for level in 0..12 {
        let next = json!({ "$ref": format!("#/components/schemas/L{}", level + 1) });
        let properties: serde_json::Map<_, _> = (0..10).map(|n| (format!("p{n}"), next.clone())).collect();
        schemas.insert(format!("L{level}"), json!({ "type": "object", "properties": properties }));
    }
    let media = json!({ "schema": { "$ref": "#/components/schemas/L0" } });
    let paths = json!({ "/x": { "post": { "operationId": "x", "requestBody": { "content": { "application/json": media } } } } });
    let read = read_as(paths, json!({ "schemas": schemas }));
    let size = read.function("x").unwrap().input_schema(&[]).to_string().len();
    assert!((1_000..30_000).contains(&size), "{size}");
    assert_eq!(parameters(&read, "x").len(), 10);
}

#[test]
fn authentication_schemes_follow_the_document() {
    let flows = json!({ "clientCredentials": { "tokenUrl": "https://pets.example/token", "scopes": { "read": "", "write": "" } } });
    let schemes = json!({
        "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
        "other": { "type": "apiKey", "in": "query", "name": "key" },
        "bearer": { "type": "http", "scheme": "bearer" },
        "basic": { "type": "http", "scheme": "basic" },
        "oauth": { "type": "oauth2", "flows": flows },
        "tls": { "type": "mutualTLS" },
    });
    let paths = json!({
        "/a": { "get": { "operationId": "a", "security": [{ "key": [], "basic": [] }, { "oauth": ["read"] }] } },
        "/b": { "get": { "operationId": "b", "security": [{}] } },
        "/c": { "get": { "operationId": "c", "security": [{ "tls": [] }] } },
        "/d": { "get": { "operationId": "d" } },
    });
    let read = read_as(paths, json!({ "securitySchemes": schemes }));
    let fields: Vec<_> = read.fields().into_iter().map(|field| field.name).collect();
    assert_eq!(
        fields,
        ["username", "password", "token", "key_api_key", "client_id", "client_secret", "other_api_key"]
    );
    let security = |name: &str| {
        let mut sets = read.function(name).unwrap().endpoint.security.clone();
        // Members of an object are unordered.
        sets.iter_mut().for_each(|set| set.sort());
        sets
    };
    assert_eq!(security("a"), [vec!["basic".to_owned(), "key".to_owned()], vec!["oauth".to_owned()]]);
    assert_eq!(security("b"), [Vec::<String>::new()]);
    assert!(security("d").is_empty());
    let runnable = |name: &str| read.is_runnable(read.function(name).unwrap());
    assert_eq!([runnable("a"), runnable("b"), runnable("c"), runnable("d")], [true, true, false, true]);
    let Some(Scheme::ClientCredentials { scopes, .. }) = read.auth.schemes.get("oauth") else {
        panic!("{read:?}")
    };
    assert_eq!(scopes.split(' ').count(), 2);
}

#[test]
fn the_manifest_overrides_the_document() {
    let text = json!({
        "version": 1, "name": "pets", "source": "x", "base_url": "http://127.0.0.1:1/api/",
        "pages": { "kind": "number", "parameter": "page" },
        "functions": { "find": { "operation": "read", "name": "search", "description": "Finds." }, "gone": { "hidden": true } },
    });
    let manifest = Manifest::parse(&text.to_string()).unwrap();
    let operation = |id: &str| json!({ "operationId": id });
    let document = json!({
        "openapi": "3.0.0",
        "info": {},
        "paths": { "/find": { "post": operation("find") }, "/gone": { "get": operation("gone") }, "/list": { "get": operation("list") } },
    });
    let read = read_added(&manifest, &document).unwrap();
    assert!(read.address.local, "an address of this machine was meant");
    let names: Vec<_> = read.functions.keys().map(String::as_str).collect();
    assert_eq!(names, ["list", "search"]);
    let search = read.function("search").unwrap();
    assert_eq!(
        (search.operation, search.description.as_str(), search.endpoint.pages.as_ref()),
        (Operation::Read, "Finds.", None)
    );
    assert!(matches!(read.function("list").unwrap().endpoint.pages, Some(Pages::Number { first: 1, .. })));
    assert_eq!(Manifest::parse(&manifest.to_json().to_string()).unwrap(), manifest, "it is kept as it was");
    for wrong in [
        r#"{"version":2,"name":"pets","source":"x"}"#,
        r#"{"version":1,"name":"Pets","source":"x"}"#,
        r#"{"version":1,"name":"pets","source":"x","base_url":"file:///etc"}"#,
        r#"{"version":1,"name":"pets","source":"x","more":1}"#,
        "",
    ] {
        assert!(Manifest::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn documents_that_are_not_openapi_are_refused() {
    for (document, says) in [
        (json!({ "swagger": "2.0" }), "Swagger 2.0"),
        (json!({ "openapi": "2.5" }), "2.5"),
        (json!([]), "declares no version"),
        (json!({ "openapi": "3.1.0", "paths": {} }), "no operation"),
        (
            json!({ "openapi": "3.1.0", "paths": { "/x": { "$ref": "https://else.example/x" } } }),
            "no operation",
        ),
    ] {
        let error = read_added(&manifest(), &document).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn circular_references_end() {
    let paths = json!({
        "/x": { "get": { "operationId": "x", "parameters": [{ "$ref": "#/components/parameters/a" }] } },
        "/y": { "$ref": "#/components/pathItems/y" },
        "/z~1": { "get": { "operationId": "z", "parameters": [{ "$ref": "#/components/parameters/o%7Bk" }] } },
    });
    let components = json!({
        "parameters": {
            "a": { "$ref": "#/components/parameters/b" }, "b": { "$ref": "#/components/parameters/a" },
            "o{k": { "name": "fine", "in": "query", "content": { "application/json": { "schema": {} } } },
        },
        "pathItems": { "y": { "get": { "operationId": "y" } } },
    });
    let read = read_as(paths, components);
    assert!(parameters(&read, "x").is_empty() && read.function("y").is_some());
    assert_eq!(parameters(&read, "z"), [at("fine", Place::Query(Style::Json), false)]);
}

#[test]
fn a_large_public_document_reads_the_same_when_trimmed() {
    let text = include_str!("../../tests/fixtures/github.json");
    let document: Value = serde_json::from_str(text).unwrap();
    let manifest = Manifest::new("gh", "github.json", None, false).unwrap();
    let read = read_added(&manifest, &document).unwrap();
    assert!(
        read.functions.len() > 400 && read.left_out.len() < 10,
        "{} {:?}",
        read.functions.len(),
        read.left_out
    );
    let small = trimmed(&document);
    assert_eq!(read_added(&manifest, &small).unwrap(), read);
    assert!(small.to_string().len() < text.len());
    assert_eq!(trimmed(&small), small);
    let create = read.function("issues_create").unwrap();
    let schema = create.input_schema(&[]);
    assert_eq!(schema["required"], json!(["owner", "repo", "title"]));
    assert_eq!(create.endpoint.path, "/repos/{owner}/{repo}/issues");
    let largest = read.functions.values().map(|function| function.input_schema(&[]).to_string().len()).max();
    assert!(largest.unwrap() < 64 * 1024, "{largest:?}");
    let mut names: Vec<_> = read.functions.values().map(|function| function.tool_name()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), read.functions.len());
    assert!(names.iter().all(|name| name.len() <= 64));
}
