//! Puts tool calls together from their pieces.
//!
//! By the book every piece has an index, and the first of a call an id and a name. In the wild
//! indexes are missing, are all zero, are huge or come late, ids come with every piece, late or
//! never, and two calls share an index or an id.

use super::{
    super::{WIRE, kept::KeptCall},
    chunk::CallDelta,
    more::More,
};
use crate::{fields::Fields, limits::MAX_CALLS, parts::kept};
use agent::{ModelCall, ModelEvent};

/// The calls of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Call>);

#[derive(Debug)]
struct Call {
    index: Option<i64>,
    id: Option<String>,
    name: String,
    arguments: String,
    more: More,
    function_more: More,
}

impl Calls {
    /// Takes a piece. Fails with the limit when there are more calls than [`MAX_CALLS`].
    pub(super) fn add(&mut self, delta: CallDelta<'_>) -> Result<(), usize> {
        let id = delta.id.filter(|id| !id.is_empty());
        let (name, raw, function_more) = match delta.function {
            Some(function) => {
                (function.name.filter(|name| !name.is_empty()), function.arguments, function.more)
            }
            None => (None, None, Fields::default()),
        };
        let place = self.find(delta.index, id.as_deref(), name.as_deref());
        let call = match place {
            Some(place) => &mut self.0[place],
            None => {
                if self.0.len() >= MAX_CALLS {
                    return Err(MAX_CALLS);
                }
                self.0.push(Call {
                    index: delta.index,
                    id: None,
                    name: String::new(),
                    arguments: String::new(),
                    more: More::default(),
                    function_more: More::default(),
                });
                self.0.last_mut().expect("one was pushed")
            }
        };
        call.more.add(delta.more);
        call.function_more.add(function_more);
        if call.id.is_none() {
            call.id = id;
        }
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        match raw.map(|raw| raw.get()) {
            None | Some("null") => {}
            Some(text) if text.starts_with('"') => {
                call.arguments.push_str(&serde_json::from_str::<String>(text).unwrap_or_default());
            }
            Some(object) => call.arguments.push_str(object),
        }
        Ok(())
    }

    /// The whole calls, in the order they began. A piece that never got a name is no call.
    pub(super) fn take(&mut self) -> Vec<ModelEvent> {
        let calls = std::mem::take(&mut self.0).into_iter().filter(|call| !call.name.is_empty()).enumerate();
        calls
            .map(|(position, mut call)| {
                let more = KeptCall { call: call.more.take(), function: call.function_more.take() };
                ModelEvent::ToolCall(ModelCall {
                    provider_id: call.id.unwrap_or_else(|| format!("call_{position}")),
                    name: call.name,
                    arguments: call.arguments,
                    opaque: (!more.is_empty()).then(|| kept(WIRE, &more)),
                })
            })
            .collect()
    }

    /// The call that a piece continues; `None` when it begins another one.
    fn find(&self, index: Option<i64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        match id {
            Some(id) => self.find_by_id(index, id, name),
            None => self.find_without_id(index, name),
        }
    }

    fn find_by_id(&self, index: Option<i64>, id: &str, name: Option<&str>) -> Option<usize> {
        let same_id = |call: &Call| call.id.as_deref() == Some(id);
        let other_index = |call: &Call| index.is_some() && call.index.is_some() && call.index != index;
        if let Some(place) = self.0.iter().rposition(|call| same_id(call) && !other_index(call)) {
            return Some(place);
        }
        // The id comes late, for a call that began without one.
        let late = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index),
            None => self.0.len().checked_sub(1),
        };
        if let Some(place) = late.filter(|place| self.0[*place].id.is_none())
            && !self.0[place].ends_before(index, name)
        {
            return Some(place);
        }
        // The same id at another index: a name begins a call, and so do arguments where the call before has all of its own.
        let place = self.0.iter().rposition(same_id)?;
        (name.is_none() && !is_whole(&self.0[place].arguments)).then_some(place)
    }

    fn find_without_id(&self, index: Option<i64>, name: Option<&str>) -> Option<usize> {
        let last = self.0.len().checked_sub(1)?;
        let place = match index {
            None => last,
            Some(_) => match self.0.iter().rposition(|call| call.index == index) {
                Some(place) => place,
                // Without a name it begins nothing: the index came late, or changed on the way.
                None if name.is_none() && !is_whole(&self.0[last].arguments) => last,
                None => return None,
            },
        };
        (!self.0[place].ends_before(index, name)).then_some(place)
    }
}

impl Call {
    /// Whether a piece with this index and name begins another call: a name on a call that has one
    /// already, and is whole or cannot be told apart by its index.
    fn ends_before(&self, index: Option<i64>, name: Option<&str>) -> bool {
        name.is_some() && !self.name.is_empty() && (index.is_none() || is_whole(&self.arguments))
    }
}

fn is_whole(arguments: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments).is_ok()
}
