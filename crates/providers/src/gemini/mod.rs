//! Google's Gemini API: `generateContent`, streamed.

use crate::{
    http::{Endpoint, Failure, Fold, Peer},
    learned::{Optional, Traits},
    sink::Sink,
};
use agent::{ModelError, ModelInfo, ModelRequest};

pub(crate) const OPTIONS: &[&Optional] = &[];
#[derive(Default)]
pub(crate) struct GeminiFold;
impl Fold for GeminiFold {
    fn on_event(&mut self, _: &str, _: &Peer, _: &mut Sink) -> Result<(), Failure> {
        Ok(())
    }
    fn complete(&mut self, _: &mut Sink) {}
    fn abandon(&mut self, _: &mut Sink) {}
}
pub(crate) fn body(_: &ModelRequest, _: &ModelInfo, _: &str, _: &Traits) -> Vec<u8> {
    Vec::new()
}
pub(crate) fn endpoint(base: &str, _: &str) -> Result<Endpoint, ModelError> {
    Endpoint::new(base, "x")
}
