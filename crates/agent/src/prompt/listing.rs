//! The tools of a request: described once for as long as they stay the same, and written once for a wire.

use crate::{
    AnyTool, Prefix, ToolSpec,
    history::compaction as context,
    tools::{self, call_tool},
};
use std::{
    any::Any,
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// The tools that a request offers. A copy is the same set: what one wire made of it is kept for all of them.
#[derive(Clone, Default)]
pub struct ToolSpecs(Arc<Inner>);

#[derive(Default)]
struct Inner {
    specs: Vec<ToolSpec>,
    /// About how long they are as JSON text.
    bytes: usize,
    /// What the last wire that was asked made of them.
    form: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

impl ToolSpecs {
    /// What a wire makes of them: made when it is first asked for, and kept until another type is asked for. Each wire has a type of its own.
    pub fn form<T: Any + Send + Sync>(&self, make: impl FnOnce(&[ToolSpec]) -> T) -> Arc<T> {
        let mut kept = self.0.form.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(form) = kept.clone().and_then(|form| form.downcast().ok()) {
            return form;
        }
        let form = Arc::new(make(&self.0.specs));
        *kept = Some(form.clone());
        form
    }

    /// About how many bytes they are as JSON text.
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes
    }
}

impl From<Vec<ToolSpec>> for ToolSpecs {
    fn from(specs: Vec<ToolSpec>) -> Self {
        Self(Arc::new(Inner {
            bytes: specs.iter().map(context::tool_bytes).sum(),
            specs,
            form: Mutex::default(),
        }))
    }
}

impl FromIterator<ToolSpec> for ToolSpecs {
    fn from_iter<I: IntoIterator<Item = ToolSpec>>(specs: I) -> Self {
        specs.into_iter().collect::<Vec<_>>().into()
    }
}

impl Deref for ToolSpecs {
    type Target = [ToolSpec];

    fn deref(&self) -> &[ToolSpec] {
        &self.0.specs
    }
}

impl PartialEq for ToolSpecs {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.specs == other.0.specs
    }
}

impl fmt::Debug for ToolSpecs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.specs.fmt(f)
    }
}

/// The system prompt and the set of tools that a session of a runtime made last, for the other
/// sessions that have the same.
#[derive(Default)]
pub(crate) struct SharedPrefixes {
    tools: Mutex<Weak<Inner>>,
    system: Mutex<Option<Weak<str>>>,
}

impl SharedPrefixes {
    fn tools(&self, specs: ToolSpecs) -> ToolSpecs {
        let mut last = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = last.upgrade().filter(|last| last.specs == *specs) {
            return ToolSpecs(same);
        }
        *last = Arc::downgrade(&specs.0);
        specs
    }

    fn system(&self, text: Arc<str>) -> Arc<str> {
        let mut last = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = last.as_ref().and_then(Weak::upgrade).filter(|last| *last == text) {
            return same;
        }
        *last = Some(Arc::downgrade(&text));
        text
    }

    /// The same, in parts that other sessions have too where they are equal.
    pub(crate) fn prefix(&self, prefix: Prefix) -> Prefix {
        let Prefix { model, system, tools } = prefix;
        Prefix { model, system: self.system(system), tools: self.tools(tools) }
    }
}

/// What a session's model was last told of its tools.
#[derive(Default)]
pub(crate) struct Told {
    shared: Arc<SharedPrefixes>,
    tools: Vec<Arc<dyn AnyTool>>,
    specs: ToolSpecs,
    apart: bool,
    grows: bool,
}

impl Told {
    pub(crate) fn new(shared: Arc<SharedPrefixes>) -> Self {
        Self { shared, ..Self::default() }
    }

    /// What it is told of these, in their order, the same set as before where they are the same tools, or others that say the same of themselves.
    /// `apart`: the user's editor works on another machine. `grows`: there may be others later, which are called through `call_tool`.
    pub(crate) fn of<'a>(
        &mut self,
        tools: impl Iterator<Item = &'a Arc<dyn AnyTool>> + Clone,
        apart: bool,
        grows: bool,
    ) -> ToolSpecs {
        // They are held here, so that no other tool has the address of one of them.
        let address = |tool: &Arc<dyn AnyTool>| Arc::as_ptr(tool).cast::<()>();
        let same = (apart, grows) == (self.apart, self.grows);
        if !same || !tools.clone().map(address).eq(self.tools.iter().map(address)) {
            self.tools = tools.cloned().collect();
            self.apart = apart;
            self.grows = grows;
            let spec = |tool: &Arc<dyn AnyTool>| match apart {
                true => tools::apart::on_agents_machine(tool.spec()),
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
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_set_is_described_anew_only_when_its_tools_say_something_else() {
        let (first, again) = (builtin(), builtin());
        let mut told = Told::default();
        let set = told.of(first.iter(), false, false);
        assert_eq!(set.len(), first.len());
        for (tools, same) in [(&first[..], true), (&again[..], true), (&again[1..], false)] {
            let now = told.of(tools.iter(), false, false);
            assert_eq!(Arc::ptr_eq(&now.0, &set.0), same);
            assert_eq!(now[..], tools.iter().map(|tool| tool.spec()).collect::<Vec<_>>());
        }
        assert_eq!(told.of(first.iter(), false, false), set, "other sets are equal where they say the same");
        assert!(told.of([].iter(), false, false).is_empty());
    }

    #[test]
    fn sessions_that_offer_the_same_tools_share_one_set() {
        let shared = Arc::new(SharedPrefixes::default());
        let [mut one, mut other] = [(); 2].map(|()| Told::new(shared.clone()));
        let tools = builtin();
        let set = one.of(tools.iter(), false, false);
        assert!(Arc::ptr_eq(&set.0, &other.of(builtin().iter(), false, false).0));
        let fewer = other.of(tools[1..].iter(), false, false);
        assert_eq!(fewer.len(), set.len() - 1);
        assert_eq!(one.of(tools.iter(), false, false), set);
    }

    #[test]
    fn a_form_is_made_once_for_all_copies_and_anew_for_another_wire() {
        struct One(usize);
        struct Other(usize);
        let set: ToolSpecs = builtin().iter().map(|tool| tool.spec()).collect();
        let made = AtomicU32::new(0);
        let count = |specs: &[ToolSpec]| {
            made.fetch_add(1, Ordering::Relaxed);
            specs.len()
        };
        let (first, copy) =
            (set.form(|specs| One(count(specs))), set.clone().form(|specs| One(count(specs))));
        assert!(Arc::ptr_eq(&first, &copy));
        assert_eq!((first.0, made.load(Ordering::Relaxed)), (set.len(), 1));
        assert_eq!(set.form(|specs| Other(count(specs))).0, set.len());
        assert_eq!(set.form(|specs| One(count(specs))).0, set.len());
        assert_eq!(made.load(Ordering::Relaxed), 3);
    }
}
