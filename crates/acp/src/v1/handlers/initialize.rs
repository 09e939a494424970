//! `initialize`: exchanges identities and capabilities. Contacts no provider.

use crate::{
    TerminalPlace, client_facts,
    connection::{
        auth::{
            METHOD, METHOD_DESCRIPTION, METHOD_NAME, PILOT_METHOD, PILOT_METHOD_DESCRIPTION,
            PILOT_METHOD_NAME, TERMINAL_METHOD, TERMINAL_METHOD_ARGS, TERMINAL_METHOD_DESCRIPTION,
            TERMINAL_METHOD_NAME,
        },
        errors,
    },
    native,
    v1::{
        Connection,
        system::{Advertised, ClientBehaviour, UsedCapabilities},
        to_acp::OptionalUpdates,
        wire::ClientTraits,
    },
};
use agent_client_protocol::{Client, ConnectionTo, Error, schema::ProtocolVersion, v1::schema as acp};
use serde_json::{Value, json};
use std::sync::Arc;

/// Responds with version 1 regardless of the requested version: the client decides whether it
/// supports that.
pub(crate) fn initialize(
    connection: &Connection,
    client: ConnectionTo<Client>,
    params: Value,
) -> Result<Value, Error> {
    if !(params.is_object() || params.is_null()) {
        return Err(errors::invalid_params("invalid params of initialize: expected an object"));
    }
    // Capabilities that cannot be decoded are ignored, never an error.
    let capabilities: acp::ClientCapabilities = params
        .get("clientCapabilities")
        .and_then(|capabilities| serde_json::from_value(capabilities.clone()).ok())
        .unwrap_or_default();
    let (identity, machines) = (&connection.options.identity, &connection.options.machines);
    let in_terminal = capabilities.auth.terminal;
    let forms = capabilities.elicitation.as_ref().is_some_and(acp::ElicitationCapabilities::supports_form);
    let client_info =
        |key: &str| params.get("clientInfo").and_then(|info| info.get(key)).and_then(Value::as_str);
    let facts = client_facts::look_up(client_info("name"), client_info("version"));
    if !connection.register(client, forms, traits(&capabilities, facts, machines.terminal)) {
        return Err(errors::invalid_request("already initialized"));
    }
    // A client of version 2 that is served in version 1 names the member `capabilities`. Such a
    // client does not speak the KosmoKrator wire.
    let named = if params.get("clientCapabilities").is_none() && params.get("capabilities").is_some() {
        "capabilities"
    } else {
        "clientCapabilities"
    };
    connection.native.on_initialize(&params, named);
    connection.on_initialize(&params, named);
    if connection.native.is_kosmokrator() {
        connection.ids.number();
    }
    let session = acp::SessionCapabilities::new()
        .list(acp::SessionListCapabilities::new())
        .resume(acp::SessionResumeCapabilities::new())
        .close(acp::SessionCloseCapabilities::new())
        .delete(acp::SessionDeleteCapabilities::new())
        .additional_directories(acp::SessionAdditionalDirectoriesCapabilities::new())
        .fork(acp::SessionForkCapabilities::new())
        .archive(acp::SessionArchiveCapabilities::new())
        .title(acp::SessionTitleCapabilities::new())
        .status(acp::SessionStatusCapabilities::new());
    let auth = acp::AgentAuthCapabilities::new()
        .logout(acp::LogoutCapabilities::new())
        .status(acp::AuthStatusCapabilities::new());
    let capabilities = acp::AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(acp::PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(acp::McpCapabilities::new().http(true).sse(true))
        .session_capabilities(session)
        .auth(auth);
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
    let answer = acp::InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .auth_methods(methods)
        .agent_info(acp::Implementation::new(&identity.name, &identity.version).title(identity.title.clone()))
        .meta(meta);
    let mut answer = serde_json::to_value(answer)?;
    name_types(&mut answer);
    native::announce(&mut answer);
    Ok(answer)
}

/// Adds the type of each authentication method. The protocol's library writes none for the default,
/// `agent`, but registries and clients look for it.
fn name_types(answer: &mut Value) {
    let methods = answer["authMethods"].as_array_mut();
    for method in methods.into_iter().flatten().filter_map(Value::as_object_mut) {
        method.entry("type").or_insert_with(|| "agent".into());
    }
}

fn traits(
    capabilities: &acp::ClientCapabilities,
    facts: client_facts::ClientFacts,
    place: TerminalPlace,
) -> ClientTraits {
    let advertised = Advertised {
        read: capabilities.fs.read_text_file,
        write: capabilities.fs.write_text_file,
        terminal: capabilities.terminal,
    };
    let (meta, session) = (capabilities.meta.as_ref(), capabilities.session.as_ref());
    ClientTraits {
        facts,
        capabilities: UsedCapabilities {
            advertised,
            withdrawn: Arc::default(),
            behaviour: Arc::new(ClientBehaviour::new(facts)),
            place,
            tools: Arc::default(),
        },
        optional_updates: OptionalUpdates {
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
            // Set per connection in `ClientTraits::optional_updates`.
            raw_output: false,
            displays: meta.and_then(|meta| meta.get("terminal_output")) == Some(&Value::Bool(true)),
        },
    }
}
