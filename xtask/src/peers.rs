//! The product's peers: a scripted model server and the editor's side of the protocol, shared by
//! the benchmark, the attacks and the kills.

pub(crate) mod client;
pub(crate) mod http;
pub(crate) mod model;
pub(crate) mod terminals;
pub(crate) mod wire;
