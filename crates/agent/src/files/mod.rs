//! What tools know of files: what the model has seen of them, and where long results are kept whole.

pub(crate) mod freshness;
pub(crate) mod outputs;
mod recent;
