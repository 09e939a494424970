//! A coding agent that works through the editor.
//!
//! This binary is the edge of the program. It resolves arguments, environment variables and files
//! into [`options::Options`], chooses the implementations behind each trait and connects them. The
//! libraries below receive values; they read no environment and print nothing.
//!
//! The binary must never decide what a session does: turns, permissions, protocols and vendors are
//! the libraries'. It must never print except through `streams`.
//!
//! The best places to start reading are `start` (dispatch of commands), `wiring` (implementations),
//! `config` (layers of settings) and `streams` (output).

mod address;
mod answer;
mod args;
mod auth;
mod browser;
mod caches;
mod completions;
mod config;
mod demo;
mod directories;
mod doctor;
mod editor;
mod editors;
mod environment;
mod exit;
mod extensions;
mod failure;
mod finish;
mod headless;
mod help;
mod images;
mod input;
mod install;
mod installation;
mod integrations;
mod interface;
mod keys;
mod layout;
mod limits;
mod logging;
mod man;
mod mcp;
mod memory;
mod models;
mod opening;
mod options;
mod otel;
mod permissions;
mod providers;
mod question;
mod redacting_writer;
mod screen;
mod scripts;
mod secrets;
mod server;
mod services;
mod session_stores;
mod sessions;
mod settings;
mod settings_commands;
mod setup;
mod signals;
mod skills;
mod start;
mod stdio;
mod stored_keys;
mod streams;
mod table;
mod themes;
mod token;
mod trust;
mod update;
mod used_host;
mod web;
mod wiring;

#[cfg(test)]
mod reference;

use std::process::ExitCode;

/// Returns freed memory to the operating system: a server whose connections are gone gets small
/// again, which glibc's allocator does not (docs/performance.md has the figures).
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut given = std::env::args_os().skip(1);
    let first = given.next();
    // Both before a second thread exists: this process confines itself and becomes a command.
    if first.as_ref().is_some_and(|first| first == wiring::IN_TERMINAL[0])
        && given.next().is_some_and(|second| second == wiring::IN_TERMINAL[1])
        && let Some(socket) = given.next()
    {
        return system::run_in_terminal(&[wiring::LAUNCHER], &socket.to_string_lossy());
    }
    if first.as_ref().is_some_and(|first| first == wiring::WATCHER) {
        tui::terminal::watcher::run(std::io::stdin().lock(), streams::terminal());
        return ExitCode::SUCCESS;
    }
    if first.is_some_and(|first| first == wiring::LAUNCHER) {
        let rest = given.map(|arg| arg.to_string_lossy().into_owned());
        return system::run_sandboxed(&[wiring::LAUNCHER], rest);
    }
    let ended = signals::take_over()
        .map_err(|error| anyhow::anyhow!("signals cannot be received: {error}"))
        .and_then(|()| start::run());
    finish::finish(ended).into()
}
