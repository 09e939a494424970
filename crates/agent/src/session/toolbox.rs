//! The tools of a session: its own, and those that its sources offer.

use crate::{
    AnyTool, Prefix, ToolSpecs, event::prefix::SharedPrefixes, prompt::listing::ToolListing, sources,
    sources::Sources,
};
use std::sync::Arc;

/// What can be called in a session.
pub(crate) struct Toolbox {
    /// Built in, and of the client that tools act through.
    own: Vec<Arc<dyn AnyTool>>,
    /// These and what the sources offered last.
    all: Vec<Arc<dyn AnyTool>>,
    sources: Sources,
    /// What the model was last told of them.
    listing: ToolListing,
}

impl Toolbox {
    pub(crate) fn new(own: Vec<Arc<dyn AnyTool>>, sources: Sources, shared: Arc<SharedPrefixes>) -> Self {
        Self { all: own.clone(), own, sources, listing: ToolListing::new(shared) }
    }

    /// Every tool, listed to the model or not. No two have the same name.
    pub(crate) fn all(&self) -> &[Arc<dyn AnyTool>] {
        &self.all
    }

    /// What further tools come from.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Takes what the sources offer now in place of what they offered before. A name that is taken stays with the tool
    /// that has it.
    pub(crate) fn take_offer(&mut self, offered: Vec<Arc<dyn AnyTool>>) {
        if !self.sources.is_empty() {
            self.all = sources::merge(&self.own, offered);
        }
    }

    /// Replaces the session's own tools. Those of sources are gone until their next offer.
    pub(super) fn replace_own(&mut self, own: Vec<Arc<dyn AnyTool>>) {
        self.all.clone_from(&own);
        self.own = own;
    }

    /// The tools to be listed to a model: those of all modes, since what a mode forbids is refused by the gate.
    /// `apart`: the user's editor works on another machine.
    pub(crate) fn listed(&mut self, apart: bool) -> ToolSpecs {
        let grows = self.sources.grows();
        self.listing.of(self.all.iter().filter(|tool| tool.is_offered()), apart, grows)
    }

    /// The tools that a stand-in for a model is told of.
    pub(crate) fn chosen(&mut self, apart: bool, choose: impl Fn(&dyn AnyTool) -> bool + Clone) -> ToolSpecs {
        self.listing.of(self.all.iter().filter(|tool| choose(tool.as_ref())), apart, false)
    }

    /// The same prefix, in parts that other sessions of the runtime have too where they are equal.
    pub(crate) fn share(&self, prefix: Prefix) -> Prefix {
        self.listing.shared().prefix(prefix)
    }

    pub(super) fn shared(&self) -> &SharedPrefixes {
        self.listing.shared()
    }
}
