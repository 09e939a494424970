//! Tests of the real binary from the outside: arguments, pipes, files and exit codes.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start the real program and look at real files; a helper that fails fails its test"
)]

mod administration;
mod agent;
mod answers;
mod blackhole;
mod browser;
mod chaos;
mod child;
mod cli;
mod commands;
mod completions;
mod damage;
mod dead_servers;
mod demo;
#[cfg(target_os = "linux")]
mod descriptors;
mod desktop;
mod durability;
mod editor;
mod first_use;
mod golden;
mod headless;
mod headless_flags;
mod home;
mod install;
mod integrations;
mod interface;
mod killed;
mod leaks;
mod legacy;
mod load;
mod local_commands;
mod long_conversation;
mod mcp;
mod mcp_faults;
mod mcp_login;
mod mcp_serve;
mod memory;
mod metrics;
mod migrations;
mod misuses;
mod model_server;
mod models;
mod native;
mod native_servers;
mod nodes;
#[cfg(feature = "otel")]
mod otel;
mod parity;
mod permissions;
#[path = "../../../store/tests/it/postgres/server.rs"]
mod postgres;
mod prompts_once;
mod protocol;
mod providers;
mod providers_commands;
mod quotas;
mod readers;
mod reconnect;
/// Rules and messages with which vendors refuse requests, shared with the tests of `providers`.
#[expect(dead_code, reason = "the tests of this crate need some of the rules")]
#[path = "../../../providers/tests/it/refusals.rs"]
mod refusals;
mod samples;
mod sandbox;
mod scripts;
mod secrets;
mod served;
mod service;
mod service_manager;
mod session_stores;
mod sessions;
mod sessions_files;
mod settings;
mod settings_commands;
mod setup;
mod shutdown;
mod signals;
mod skills;
mod soak;
mod spellings;
mod stale_buffers;
mod subagents;
mod takeover;
mod team;
mod terminals;
mod token;
mod tools;
mod trust;
mod update;
mod uploads;
mod usage;
mod users;
mod version_2;
mod web;
mod web_tools;
