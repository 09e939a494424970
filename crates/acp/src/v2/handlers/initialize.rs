//! `initialize`: exchanges identities and capabilities. Contacts no provider.

use crate::{
    connection::{
        auth::{
            METHOD, METHOD_DESCRIPTION, METHOD_NAME, PILOT_METHOD, PILOT_METHOD_DESCRIPTION,
            PILOT_METHOD_NAME, TERMINAL_METHOD, TERMINAL_METHOD_ARGS, TERMINAL_METHOD_DESCRIPTION,
            TERMINAL_METHOD_NAME,
        },
        errors,
    },
    native,
    v2::Connection,
};
use agent_client_protocol::{Client, ConnectionTo, Error, schema::ProtocolVersion};
use agent_client_protocol_schema::v2 as acp;
use serde_json::{Value, json};

/// Responds with version 2 to clients that request version 2 or later, and rejects clients that
/// request an earlier version.
pub(crate) fn initialize(
    connection: &Connection,
    client: ConnectionTo<Client>,
    params: Value,
) -> Result<Value, Error> {
    match params.get("protocolVersion") {
        None => return Err(errors::invalid_params("protocolVersion is missing; version 2 is served here")),
        Some(asked) if asked.as_u64().is_none_or(|asked| asked < 2) => {
            return Err(errors::unsupported_version(asked, ProtocolVersion::V2));
        }
        Some(_) => {}
    }
    // Capabilities that cannot be decoded are ignored, never an error.
    let capabilities: acp::ClientCapabilities = params
        .get("capabilities")
        .and_then(|capabilities| serde_json::from_value(capabilities.clone()).ok())
        .unwrap_or_default();
    let in_terminal = capabilities.auth.as_ref().is_some_and(|auth| auth.terminal.is_some());
    let forms = capabilities.elicitation.as_ref().is_some_and(acp::ElicitationCapabilities::supports_form);
    if !connection.register(client, forms, ()) {
        return Err(errors::invalid_request("already initialized"));
    }
    if params.get("capabilities").is_some() {
        connection.native.on_initialize(&params, "capabilities");
    }
    connection.on_initialize(&params, "capabilities");
    let identity = &connection.options.identity;
    let prompt = acp::PromptCapabilities::new()
        .image(acp::PromptImageCapabilities::new())
        .embedded_context(acp::PromptEmbeddedContextCapabilities::new());
    let mcp = acp::McpCapabilities::new()
        .stdio(acp::McpStdioCapabilities::new())
        .http(acp::McpHttpCapabilities::new());
    let session = acp::SessionCapabilities::new()
        .prompt(prompt)
        .mcp(mcp)
        .delete(acp::SessionDeleteCapabilities::new())
        .additional_directories(acp::SessionAdditionalDirectoriesCapabilities::new())
        .fork(acp::SessionForkCapabilities::new())
        .archive(acp::SessionArchiveCapabilities::new())
        .title(acp::SessionTitleCapabilities::new())
        .status(acp::SessionStatusCapabilities::new());
    let auth = acp::AgentAuthCapabilities::new().status(acp::AuthStatusCapabilities::new());
    let provider = acp::AuthMethodAgent::new(METHOD, METHOD_NAME).description(METHOD_DESCRIPTION.to_owned());
    let mut methods = vec![acp::AuthMethod::Agent(provider)];
    if in_terminal {
        if connection.options.link.is_of_child() {
            let setup = acp::AuthMethodTerminal::new(TERMINAL_METHOD, TERMINAL_METHOD_NAME)
                .description(TERMINAL_METHOD_DESCRIPTION.to_owned())
                .args(TERMINAL_METHOD_ARGS.map(str::to_owned).to_vec());
            methods.push(acp::AuthMethod::Terminal(setup));
        }
        connection.login.set_shown();
        let pilot = acp::AuthMethodAgent::new(PILOT_METHOD, PILOT_METHOD_NAME)
            .description(PILOT_METHOD_DESCRIPTION.to_owned());
        methods.push(acp::AuthMethod::Agent(pilot));
    }
    let Value::Object(meta) = json!({ "tiller": { "version": identity.version } }) else {
        return Err(Error::internal_error());
    };
    let info = acp::Implementation::new(&identity.name, &identity.version).title(identity.title.clone());
    let answer = acp::InitializeResponse::new(ProtocolVersion::V2, info)
        .capabilities(acp::AgentCapabilities::new().session(session).auth(auth))
        .auth_methods(methods)
        .meta(meta);
    let mut answer = serde_json::to_value(answer)?;
    native::announce(&mut answer);
    Ok(answer)
}
