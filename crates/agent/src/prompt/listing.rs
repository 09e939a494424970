//! The tool list of requests: cached while the tools stay the same, so that it is serialised only
//! once per wire format.

use crate::{
    AnyTool, ToolSpecs,
    event::prefix::SharedPrefixes,
    tools::{self, call_tool},
};
use std::sync::Arc;

/// The tool list last sent to a session's model.
#[derive(Default)]
pub(crate) struct ToolListing {
    shared: Arc<SharedPrefixes>,
    tools: Vec<Arc<dyn AnyTool>>,
    specs: ToolSpecs,
    apart: bool,
    grows: bool,
}

impl ToolListing {
    pub(crate) fn new(shared: Arc<SharedPrefixes>) -> Self {
        Self { shared, ..Self::default() }
    }

    /// Returns the prefix parts shared with the other sessions of the runtime.
    pub(crate) fn shared(&self) -> &SharedPrefixes {
        &self.shared
    }

    /// Returns the specs of the tools, in order. Returns the previous set if the tools are the same
    /// or have equal specs.
    ///
    /// `apart` means that the user's editor runs on another machine. `grows` means that more tools
    /// may be added later, which are called through `call_tool`.
    pub(crate) fn of<'a>(
        &mut self,
        tools: impl Iterator<Item = &'a Arc<dyn AnyTool>> + Clone,
        apart: bool,
        grows: bool,
    ) -> ToolSpecs {
        // `self.tools` keeps the tools alive, so that no other tool reuses one of their addresses.
        let address = |tool: &Arc<dyn AnyTool>| Arc::as_ptr(tool).cast::<()>();
        let same = (apart, grows) == (self.apart, self.grows);
        if !same || !tools.clone().map(address).eq(self.tools.iter().map(address)) {
            self.tools = tools.cloned().collect();
            self.apart = apart;
            self.grows = grows;
            let spec = |tool: &Arc<dyn AnyTool>| match apart {
                true => tools::two_machines::on_agents_machine(tool.spec()),
                false => tool.spec(),
            };
            let specs: Vec<_> = self.tools.iter().map(spec).chain(grows.then(call_tool::spec)).collect();
            if *specs != *self.specs {
                self.specs = self.shared.tools(specs.into());
            }
        }
        self.specs.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::builtin;

    #[test]
    fn a_set_is_described_anew_only_when_its_tools_say_something_else() {
        let (first, again) = (builtin(), builtin());
        let mut listing = ToolListing::default();
        let set = listing.of(first.iter(), false, false);
        assert_eq!(set.len(), first.len());
        for (tools, same) in [(&first[..], true), (&again[..], true), (&again[1..], false)] {
            let now = listing.of(tools.iter(), false, false);
            assert_eq!(now.is_same(&set), same);
            assert_eq!(now[..], tools.iter().map(|tool| tool.spec()).collect::<Vec<_>>());
        }
        assert_eq!(
            listing.of(first.iter(), false, false),
            set,
            "other sets are equal where they say the same"
        );
        assert!(listing.of([].iter(), false, false).is_empty());
    }

    #[test]
    fn sessions_that_offer_the_same_tools_share_one_set() {
        let shared = Arc::new(SharedPrefixes::default());
        let [mut one, mut other] = [(); 2].map(|()| ToolListing::new(shared.clone()));
        let tools = builtin();
        let set = one.of(tools.iter(), false, false);
        assert!(set.is_same(&other.of(builtin().iter(), false, false)));
        let fewer = other.of(tools[1..].iter(), false, false);
        assert_eq!(fewer.len(), set.len() - 1);
        assert_eq!(one.of(tools.iter(), false, false), set);
    }
}
