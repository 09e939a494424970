//! The real binary, from the outside: arguments, pipes, files and exit codes.

mod agent;
mod cli;
mod demo;
mod editor;
mod end;
mod headless;
mod home;
mod model_server;
mod parity;
mod permissions;
mod protocol;
mod providers;
mod sessions;
