//! The tools of a request: specified once while they stay the same, and encoded once for a wire.

use crate::text::json_bytes::estimated_bytes;
use serde_json::Value;
use std::{
    any::Any,
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// Its purpose and usage, for the model.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// The tools that a request offers. Clones share the set and its cached encoding.
#[derive(Clone, Default)]
pub struct ToolSpecs(Arc<Inner>);

#[derive(Default)]
struct Inner {
    specs: Vec<ToolSpec>,
    /// Their approximate size as JSON text.
    bytes: usize,
    /// The encoding for the wire that used the set last.
    form: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

impl ToolSpecs {
    /// Returns the encoding for a wire. It is made on first use and cached until another type is
    /// requested. Each wire has its own type `T`.
    pub fn form<T: Any + Send + Sync>(&self, make: impl FnOnce(&[ToolSpec]) -> T) -> Arc<T> {
        let mut kept = self.0.form.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(form) = kept.clone().and_then(|form| form.downcast().ok()) {
            return form;
        }
        let form = Arc::new(make(&self.0.specs));
        *kept = Some(form.clone());
        form
    }

    /// Returns whether both share one set, not only equal ones.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns their approximate size as JSON text, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes
    }
}

impl From<Vec<ToolSpec>> for ToolSpecs {
    fn from(specs: Vec<ToolSpec>) -> Self {
        Self(Arc::new(Inner { bytes: specs.iter().map(tool_bytes).sum(), specs, form: Mutex::default() }))
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
        self.is_same(other) || self.0.specs == other.0.specs
    }
}

impl fmt::Debug for ToolSpecs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.specs.fmt(f)
    }
}

/// The set that was made last, for reuse in place of equal ones.
#[derive(Default)]
pub(crate) struct LastSpecs(Mutex<Weak<Inner>>);

impl LastSpecs {
    /// Returns the set that was made last if it is equal and still in use, else the given one.
    pub(crate) fn shared(&self, specs: ToolSpecs) -> ToolSpecs {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = last.upgrade().filter(|last| last.specs == *specs) {
            return ToolSpecs(same);
        }
        *last = Arc::downgrade(&specs.0);
        specs
    }
}

/// Returns the approximate size of a tool as JSON text, in bytes.
fn tool_bytes(tool: &ToolSpec) -> usize {
    tool.name.len() + tool.description.len() + estimated_bytes(&tool.parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::builtin;
    use std::sync::atomic::{AtomicU32, Ordering};

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
