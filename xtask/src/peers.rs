//! What stands around the product when it is started for real: the model's wire and the editor's side of the protocol, shared by
//! the benchmark, the wall and the kills.

pub(crate) mod client;
pub(crate) mod http;
pub(crate) mod model;
pub(crate) mod terminals;
pub(crate) mod wire;
