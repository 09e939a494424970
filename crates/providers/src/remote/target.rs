//! One wire to a model, with its address.

use crate::{
    Wire, anthropic, chat, gemini, hosts,
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
}

impl WireTarget {
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
