//! Assembles tool calls from their pieces.
//!
//! According to the specification, every piece has an index, and the first piece of a call has an
//! id and a name. Real servers leave indexes out, send zero for all, huge ones or late ones; send
//! ids with every piece, late or never; and give two calls the same index or id.

use super::{
    super::extra_members::{ExtraCallMembers, WIRE},
    chunk::CallDelta,
    member_assembler::MemberAssembler,
};
use crate::{fields::Fields, limits::MAX_CALLS, parts::wrap_own_form};
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
    more: MemberAssembler,
    function_more: MemberAssembler,
}

impl Calls {
    /// Adds a piece. Fails with the limit if the answer has more than [`MAX_CALLS`] calls.
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
                    more: MemberAssembler::default(),
                    function_more: MemberAssembler::default(),
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

    /// Returns the calls in the order in which they began. A call that never received a name is
    /// dropped.
    pub(super) fn take(&mut self) -> Vec<ModelEvent> {
        let calls = std::mem::take(&mut self.0).into_iter().filter(|call| !call.name.is_empty()).enumerate();
        calls
            .map(|(position, mut call)| {
                let more = ExtraCallMembers { call: call.more.take(), function: call.function_more.take() };
                ModelEvent::ToolCall(ModelCall {
                    provider_id: call.id.unwrap_or_else(|| format!("call_{position}")),
                    name: call.name,
                    arguments: call.arguments,
                    opaque: (!more.is_empty()).then(|| wrap_own_form(WIRE, &more)),
                })
            })
            .collect()
    }

    /// Returns the call that a piece continues; `None` if the piece begins another call.
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
        // The id arrives late, for a call that began without one.
        let late = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index),
            None => self.0.len().checked_sub(1),
        };
        if let Some(place) = late.filter(|place| self.0[*place].id.is_none())
            && !self.0[place].ends_before(index, name)
        {
            return Some(place);
        }
        // The same id at another index: the piece begins a new call if it has a name, or if the
        // arguments of the existing call are complete.
        let place = self.0.iter().rposition(same_id)?;
        (name.is_none() && !is_whole(&self.0[place].arguments)).then_some(place)
    }

    fn find_without_id(&self, index: Option<i64>, name: Option<&str>) -> Option<usize> {
        let last = self.0.len().checked_sub(1)?;
        let place = match index {
            None => last,
            Some(_) => match self.0.iter().rposition(|call| call.index == index) {
                Some(place) => place,
                // A piece without a name does not begin a call: the index arrived late, or changed.
                None if name.is_none() && !is_whole(&self.0[last].arguments) => last,
                None => return None,
            },
        };
        (!self.0[place].ends_before(index, name)).then_some(place)
    }
}

impl Call {
    /// Returns whether a piece with this index and name begins another call: it has a name although
    /// this call has one already, and either this call is complete or there is no index to match it
    /// by.
    fn ends_before(&self, index: Option<i64>, name: Option<&str>) -> bool {
        name.is_some() && !self.name.is_empty() && (index.is_none() || is_whole(&self.arguments))
    }
}

fn is_whole(arguments: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments).is_ok()
}
