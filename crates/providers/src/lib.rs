//! Language models: vendors over HTTP and SSE, loopback servers, the offline pilot, replay.

pub mod pilot;
