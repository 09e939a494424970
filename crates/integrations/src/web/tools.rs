//! The tools of the web for sessions.

use super::{
    fetch_tool::WebFetch,
    options::{CurrentOptions, WebOptions},
    search_tool::WebSearch,
    state::Web,
};
use agent::{AnyTool, Offer, SessionScope, ToolProvider, ToolSource};
use async_trait::async_trait;
use std::sync::{Arc, OnceLock};

/// Creates the function that returns a session's current settings.
type SessionOptions = dyn Fn(&SessionScope) -> Arc<CurrentOptions> + Send + Sync;

/// Gives every session the tool `web_fetch`, and `web_search` if a provider is configured when the
/// session is opened.
pub struct WebTools {
    web: Arc<Web>,
    options: Box<SessionOptions>,
}

impl WebTools {
    /// Creates tools that follow each session's settings.
    pub fn new(
        web: Arc<Web>,
        options: impl Fn(&SessionScope) -> Arc<CurrentOptions> + Send + Sync + 'static,
    ) -> Self {
        Self { web, options: Box::new(options) }
    }

    /// Returns the tools for calls outside a session: `web_fetch`, then `web_search`.
    pub fn direct(web: &Arc<Web>, options: WebOptions) -> [Arc<dyn AnyTool>; 2] {
        let options = Arc::new(options);
        tools(web, &(Arc::new(move || options.clone()) as Arc<CurrentOptions>))
    }
}

fn tools(web: &Arc<Web>, options: &Arc<CurrentOptions>) -> [Arc<dyn AnyTool>; 2] {
    let (web, options) = (web.clone(), options.clone());
    let fetch = WebFetch { web: web.clone(), options: options.clone() };
    [Arc::new(fetch), Arc::new(WebSearch { web, options })]
}

impl ToolProvider for WebTools {
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource> {
        let options = (self.options)(session);
        Arc::new(Source { tools: tools(&self.web, &options), options, offered: OnceLock::new() })
    }
}

struct Source {
    tools: [Arc<dyn AnyTool>; 2],
    options: Arc<CurrentOptions>,
    /// The number of tools that are offered. It does not change while the session is open, so that
    /// they are in its prefix.
    offered: OnceLock<usize>,
}

#[async_trait]
impl ToolSource for Source {
    fn grows(&self) -> bool {
        false
    }

    async fn offer(&self) -> Offer {
        let offered = *self.offered.get_or_init(|| if (self.options)().search.is_some() { 2 } else { 1 });
        Offer { tools: self.tools[..offered].to_vec(), ..Offer::default() }
    }
}
