//! The tools of a session: its own, and those of its sources.

use crate::{
    AnyTool, Prefix, ToolSpecs, event::prefix::SharedPrefixes, prompt::listing::ToolListing, sources,
    sources::Sources,
};
use std::sync::Arc;

/// The tools that can be called in a session.
pub(crate) struct Toolbox {
    /// Built-in tools, and those of the client that tools act through.
    own: Vec<Arc<dyn AnyTool>>,
    /// `own` and the tools that the sources offered last.
    all: Vec<Arc<dyn AnyTool>>,
    sources: Sources,
    /// The tool specs last listed to the model.
    listing: ToolListing,
}

impl Toolbox {
    pub(crate) fn new(own: Vec<Arc<dyn AnyTool>>, sources: Sources, shared: Arc<SharedPrefixes>) -> Self {
        Self { all: own.clone(), own, sources, listing: ToolListing::new(shared) }
    }

    /// Returns every tool, listed to the model or not. Names are unique.
    pub(crate) fn all(&self) -> &[Arc<dyn AnyTool>] {
        &self.all
    }

    /// Returns the sources of further tools.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Replaces the previous offer of the sources. On a name conflict the existing tool keeps its
    /// name.
    pub(crate) fn take_offer(&mut self, offered: Vec<Arc<dyn AnyTool>>) {
        if !self.sources.is_empty() {
            self.all = sources::merge(&self.own, offered);
        }
    }

    /// Replaces the session's own tools. Those of sources are absent until their next offer.
    pub(super) fn replace_own(&mut self, own: Vec<Arc<dyn AnyTool>>) {
        self.all.clone_from(&own);
        self.own = own;
    }

    /// Returns the tools to list to a model. They include those of all modes, since the gate
    /// refuses what the mode forbids. `apart` means that the user's editor runs on another machine.
    pub(crate) fn listed(&mut self, apart: bool) -> ToolSpecs {
        let grows = self.sources.grows();
        self.listing.of(self.all.iter().filter(|tool| tool.is_offered()), apart, grows)
    }

    /// Returns the tools listed to a stand-in for a language model.
    pub(crate) fn chosen(&mut self, apart: bool, choose: impl Fn(&dyn AnyTool) -> bool + Clone) -> ToolSpecs {
        self.listing.of(self.all.iter().filter(|tool| choose(tool.as_ref())), apart, false)
    }

    /// Returns an equal prefix that shares its equal parts with other sessions of the runtime.
    pub(crate) fn share(&self, prefix: Prefix) -> Prefix {
        self.listing.shared().prefix(prefix)
    }

    pub(super) fn shared(&self) -> &SharedPrefixes {
        self.listing.shared()
    }
}
