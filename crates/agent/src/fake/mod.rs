//! Fakes for the interfaces of this crate, stricter than the real implementations, for tests here
//! and in other crates.

mod client;
mod memories;
mod model;
mod store;
mod watched;

pub use client::FakeClient;
pub use memories::FakeMemories;
pub use model::{FakeModel, FakeModels, Reply, check_request, said};
pub use store::MemoryStore;
pub use watched::WatchedModel;
