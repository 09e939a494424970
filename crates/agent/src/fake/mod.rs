//! Stand-ins for the seams, stricter than the real things, for tests of this crate and of those around it.

mod client;
mod model;
mod store;
mod watched;

pub use client::FakeClient;
pub use model::{FakeModel, FakeModels, Reply, check_request, said};
pub use store::MemoryStore;
pub use watched::WatchedModel;
