//! Checks a request for subagents against the swarm, and turns it into their initial states.

use super::{
    kind::{self, Kind},
    registry::Registry,
};
use crate::{
    SubagentPlace, SubagentProgress, SubagentRequest, SubagentState, SubagentStatus,
    limits::{SUBAGENT_ID_CHARS, SUBAGENTS, SUBAGENTS_AT_ONCE},
    tool::subagents::{Delegation, RequestedAgent},
};
use std::collections::HashMap;

/// The session that requests subagents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requester<'a> {
    /// Its id as a subagent; `None` for the root session.
    pub(super) agent: Option<&'a str>,
    /// Its type as a subagent; the root session may request every type.
    pub(super) kind: Option<Kind>,
    /// Its depth; 0 for the root session.
    pub(super) depth: u32,
    /// The number of levels that the settings allow.
    pub(super) levels: u32,
}

/// A subagent that passed the checks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Admitted {
    pub(super) state: SubagentState,
    pub(super) kind: Kind,
    /// Whether it goes on with a session that it had before.
    pub(super) resumes: bool,
    /// The text that it is prompted with.
    pub(super) task: String,
}

/// Checks all requested subagents.
///
/// # Errors
///
/// The message is for the model. None of the subagents may be started then.
pub(super) fn admit(
    registry: &Registry,
    requester: Requester<'_>,
    request: &Delegation,
) -> Result<Vec<Admitted>, String> {
    if requester.depth + 1 >= requester.levels {
        return Err(format!("Maximum agent depth reached ({}). Cannot spawn deeper.", requester.levels));
    }
    if request.agents.len() > SUBAGENTS_AT_ONCE {
        return Err(format!(
            "One call starts at most {SUBAGENTS_AT_ONCE} agents. Start the others with further calls."
        ));
    }
    if registry.agents().len() + request.agents.len() > SUBAGENTS {
        return Err(format!("A session has at most {SUBAGENTS} agents. Do the rest of the work yourself."));
    }
    let mut batch = Batch { registry, requester, waits: request.waits, admitted: Vec::new() };
    let mut problems = Vec::new();
    for agent in &request.agents {
        if let Err(problem) = batch.add(agent) {
            problems.push(problem);
        }
    }
    problems.extend(batch.check_dependencies());
    match (problems.is_empty(), request.is_batch) {
        (true, _) => Ok(batch.admitted),
        (false, false) => Err(problems.swap_remove(0)),
        (false, true) => Err(format!("Validation errors:\n{}", problems.join("\n"))),
    }
}

struct Batch<'a> {
    registry: &'a Registry,
    requester: Requester<'a>,
    waits: bool,
    admitted: Vec<Admitted>,
}

impl Batch<'_> {
    fn add(&mut self, agent: &RequestedAgent) -> Result<(), String> {
        let admitted = match &agent.resume {
            Some(id) => self.resumed(id, agent)?,
            None => self.new_agent(agent)?,
        };
        self.admitted.push(admitted);
        Ok(())
    }

    fn new_agent(&self, agent: &RequestedAgent) -> Result<Admitted, String> {
        let kind = self.kind(agent)?;
        if agent.task.trim().is_empty() {
            return Err("Provide either `task` (string) or `agents` (array).".to_owned());
        }
        if agent.isolated && kind != Kind::General {
            return Err(format!(
                "isolation: \"worktree\" is for agents of type general; {} agents change nothing.",
                kind.id()
            ));
        }
        let id = match agent.id.as_deref().map(str::trim) {
            Some(id) => self.own_id(id)?,
            None => self.generated_id(kind),
        };
        let request = SubagentRequest {
            kind: kind.id().to_owned(),
            task: agent.task.clone(),
            mode: if self.waits { "await" } else { "background" }.to_owned(),
            group: agent.group.clone(),
            depends_on: agent.depends_on.clone(),
            isolated: agent.isolated,
        };
        let place = SubagentPlace {
            parent: self.requester.agent.map(str::to_owned),
            depth: self.requester.depth + 1,
            ..SubagentPlace::default()
        };
        let state = SubagentState { id, place, request, ..SubagentState::default() };
        Ok(Admitted { state, kind, resumes: false, task: agent.task.clone() })
    }

    /// An ended subagent goes on with its own conversation.
    fn resumed(&self, id: &str, agent: &RequestedAgent) -> Result<Admitted, String> {
        let known = self.registry.get(id).filter(|known| self.is_own(&known.state));
        let Some(known) = known else {
            let ids: Vec<_> =
                self.registry.of_parent(self.requester.agent).map(|own| own.state.id.as_str()).collect();
            let hint = match ids.is_empty() {
                true => "You have started none yet.".to_owned(),
                false => format!("Yours are: {}.", ids.join(", ")),
            };
            return Err(format!("There is no agent '{id}' to resume. {hint}"));
        };
        if known.is_live() || self.admitted.iter().any(|admitted| admitted.state.id == id) {
            return Err(format!("Agent '{id}' is still at work; wait for its result."));
        }
        let task = match agent.task.trim() {
            "" => continued(&known.state),
            task => task.to_owned(),
        };
        let old = &known.state;
        // One that did not finish may not have had the results that it depends on.
        let mut depends_on = match old.progress.status {
            SubagentStatus::Done => Vec::new(),
            _ => old.request.depends_on.clone(),
        };
        for id in &agent.depends_on {
            if !depends_on.contains(id) {
                depends_on.push(id.clone());
            }
        }
        let state = SubagentState {
            id: old.id.clone(),
            place: old.place.clone(),
            request: SubagentRequest {
                mode: if self.waits { "await" } else { "background" }.to_owned(),
                group: agent.group.clone().or_else(|| old.request.group.clone()),
                depends_on,
                ..old.request.clone()
            },
            progress: SubagentProgress::default(),
            activity: old.activity.clone(),
            ..SubagentState::default()
        };
        let kind = Kind::parse(&old.request.kind).unwrap_or(Kind::Explore);
        Ok(Admitted { state, kind, resumes: old.place.session.is_some(), task })
    }

    fn is_own(&self, state: &SubagentState) -> bool {
        state.place.parent.as_deref() == self.requester.agent
    }

    fn kind(&self, agent: &RequestedAgent) -> Result<Kind, String> {
        let name = agent.kind.as_deref().unwrap_or("explore");
        let kind = Kind::parse(name)
            .ok_or_else(|| format!("Invalid agent type: '{name}'. Valid: {}", kind::ids(&Kind::ALL)))?;
        match self.requester.kind {
            Some(own) if !own.may_request().contains(&kind) => Err(format!(
                "Cannot spawn '{name}' from '{}' agent. Allowed: {}",
                own.id(),
                kind::ids(own.may_request())
            )),
            _ => Ok(kind),
        }
    }

    /// Checks an id that the model chose.
    fn own_id(&self, id: &str) -> Result<String, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if id.is_empty() || id.len() > SUBAGENT_ID_CHARS || !id.chars().all(plain) {
            return Err(format!(
                "Invalid agent id {id:?}. Use up to {SUBAGENT_ID_CHARS} letters, digits, '-', '_' and '.'."
            ));
        }
        match self.is_taken(id) {
            true => Err(format!("Agent ID '{id}' already exists. Use a unique ID.")),
            false => Ok(id.to_owned()),
        }
    }

    fn generated_id(&self, kind: Kind) -> String {
        let ids = (1..).map(|number| format!("{}-{number}", kind.id()));
        ids.into_iter().find(|id| !self.is_taken(id)).unwrap_or_default()
    }

    fn is_taken(&self, id: &str) -> bool {
        self.registry.get(id).is_some() || self.admitted.iter().any(|admitted| admitted.state.id == id)
    }

    /// Checks that each dependency exists, and that none leads back to its agent.
    fn check_dependencies(&self) -> Vec<String> {
        let batch: HashMap<&str, &[String]> = self
            .admitted
            .iter()
            .map(|admitted| (admitted.state.id.as_str(), admitted.state.request.depends_on.as_slice()))
            .collect();
        let known = |id: &str| batch.contains_key(id) || self.registry.get(id).is_some();
        let mut problems = Vec::new();
        for admitted in &self.admitted {
            let depends_on = &admitted.state.request.depends_on;
            let unknown = depends_on.iter().filter(|id| !known(id));
            problems.extend(unknown.map(|id| format!("Unknown dependency agent: '{id}'")));
            let id = admitted.state.id.as_str();
            if self.leads_to(&batch, depends_on, id) {
                problems.push(format!(
                    "Circular dependency detected: agent '{id}' would create a cycle with depends_on=[{}]",
                    depends_on.join(", ")
                ));
            }
            if self.waits_for_ancestor(depends_on) {
                problems.push(format!(
                    "Agent '{id}' cannot depend on an agent that waits for it: depends_on=[{}]",
                    depends_on.join(", ")
                ));
            }
        }
        problems
    }

    /// Whether one of these agents is `target` or depends on it.
    fn leads_to(&self, batch: &HashMap<&str, &[String]>, from: &[String], target: &str) -> bool {
        let mut open: Vec<&str> = from.iter().map(String::as_str).collect();
        let mut seen = std::collections::HashSet::new();
        while let Some(id) = open.pop() {
            if id == target {
                return true;
            }
            if !seen.insert(id) {
                continue;
            }
            let known = || self.registry.get(id).map(|agent| agent.state.request.depends_on.as_slice());
            let next = batch.get(id).copied().or_else(known).unwrap_or_default();
            open.extend(next.iter().map(String::as_str));
        }
        false
    }

    /// Whether one of these agents is the requester or above it: it ends only after this one.
    fn waits_for_ancestor(&self, depends_on: &[String]) -> bool {
        let mut above = self.requester.agent;
        while let Some(id) = above {
            if depends_on.iter().any(|dependency| dependency == id) {
                return true;
            }
            above = self.registry.get(id).and_then(|agent| agent.state.place.parent.as_deref());
        }
        false
    }
}

/// Returns the message with which an agent goes on.
fn continued(state: &SubagentState) -> String {
    let why = match state.progress.status {
        SubagentStatus::Interrupted => "The process ended while you were at work on your task.",
        SubagentStatus::Cancelled => "You were cancelled while you were at work on your task.",
        SubagentStatus::Failed => "A request to your model failed while you were at work on your task.",
        _ => "Your last message was received.",
    };
    match state.place.session {
        Some(_) => format!(
            "{why} Go on where you stopped. Check what was done already before you repeat anything. The task was:\n{}",
            state.request.task
        ),
        None => state.request.task.clone(),
    }
}
