//! One wire to a model, with its address.

use crate::{
    Secret, Wire, anthropic, chat, gemini, hosts,
    http::{Endpoint, Peer},
    responses,
    wire_format::WireFormat,
};

/// One wire to a model, with its address.
pub(crate) struct WireTarget {
    /// Never [`Wire::Auto`].
    pub(crate) wire: Wire,
    pub(crate) endpoint: Endpoint,
    pub(crate) peer: Peer,
    /// The same with another key, for when the provider has refused the first one.
    pub(crate) spare: Option<Box<WireTarget>>,
}

impl WireTarget {
    /// Returns whether the provider has refused the key, and not that of the spare target.
    pub(super) fn wants_spare(&self) -> bool {
        let spare = self.spare.as_ref().and_then(|spare| spare.peer.key.as_ref());
        Secret::wants_spare(self.peer.key.as_ref(), spare)
    }

    /// Returns the target, or its spare one.
    pub(super) fn or_spare(&self, is_spare: bool) -> &Self {
        self.spare.as_deref().filter(|_| is_spare).unwrap_or(self)
    }

    /// Returns whether the address is OpenAI's own.
    pub(super) fn is_openai(&self) -> bool {
        hosts::is_openai(&self.endpoint.url)
    }

    /// Returns the format of the wire.
    pub(super) fn format(&self) -> &'static WireFormat {
        format(self.wire)
    }
}

/// Returns the format of a wire.
pub(crate) fn format(wire: Wire) -> &'static WireFormat {
    match wire {
        Wire::Auto | Wire::Chat => &chat::FORMAT,
        Wire::Responses => &responses::FORMAT,
        Wire::Anthropic => &anthropic::FORMAT,
        Wire::Gemini => &gemini::FORMAT,
    }
}
