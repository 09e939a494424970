//! A session that is killed repeatedly, and the checks after each restart.

use super::editor::{Seen, kill_after};
use super::home::Home;
use super::kill_moment::{KillMoment, Random};
use super::kind::Kind;
use super::model::Model;
use super::prompt::{self, Extra, done};
use super::results::{Failure, ResultRow};
use super::running_program::RunningProgram;
use crate::peers::client::Reply;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Kills that share a home directory and a session. The first one finds an empty store.
const POINTS: usize = 10;
/// Prompts per process that is not killed in the meantime.
const PROMPTS: u64 = 3;

/// A story to be played.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) kind: Kind,
    pub(super) number: usize,
    pub(super) points: usize,
    pub(super) seed: u64,
}

impl Plan {
    /// Returns the stories that distribute these kills evenly over the kinds.
    pub(super) fn all(kinds: &[Kind], points: usize, seed: u64) -> Vec<Self> {
        let mut plans = Vec::new();
        for (at, kind) in kinds.iter().enumerate() {
            // The remainder goes to the first kinds.
            let mut left = points / kinds.len() + usize::from(at < points % kinds.len());
            for number in 0.. {
                let points = left.min(POINTS);
                if points == 0 {
                    break;
                }
                left -= points;
                let seed = seed.wrapping_mul(1_000).wrapping_add((number * 10 + at) as u64);
                plans.push(Self { kind: *kind, number, points, seed });
            }
        }
        plans
    }
}

/// Plays a story.
pub(super) fn play(plan: Plan, binary: &Path, model: &Model) -> ResultRow {
    let mut results = ResultRow::new(format!("kill: {}", plan.kind.name()));
    let name = format!("{}-{}", plan.kind.name(), plan.number);
    let mut kill_test = match Home::make(&name, plan.kind, plan.number % 2 == 1) {
        Ok(home) => KillTest {
            home: Arc::new(home),
            binary,
            model,
            name: name.clone(),
            base_url: model.base_url(plan.kind, &name),
            kind: plan.kind,
            session: None,
            prompts_sent: 0,
            answered: Vec::new(),
            seen: Seen::default(),
            compared: BTreeSet::new(),
            stray_files: Vec::new(),
            failures: Vec::new(),
        },
        Err(error) => {
            results.failures.push((Failure::Broken, format!("no home for {name}: {error:#}")));
            return results;
        }
    };
    let mut random = Random::new(plan.seed);
    for point in 0..plan.points {
        let kill_moment = KillMoment::random(plan.kind, point + plan.number, &mut random);
        results.points += 1;
        let waiting = kill_test.prompts_sent - kill_test.answered.len() as u64;
        let played = kill_test.kill_and_restart(kill_moment);
        results.cut += usize::from(kill_test.prompts_sent - kill_test.answered.len() as u64 > waiting);
        let conversation_problems =
            model.conversation_problems(&name).into_iter().map(|text| (Failure::Loss, text));
        let mut failures: Vec<_> =
            std::mem::take(&mut kill_test.failures).into_iter().chain(conversation_problems).collect();
        if let Err(error) = &played {
            failures.push((Failure::Broken, format!("{error:#} ({})", kill_test.home.last_words())));
        }
        let place = format!("story {name}, point {}, {kill_moment}", point + 1);
        results
            .failures
            .extend(failures.into_iter().map(|(failure, what)| (failure, format!("{place}: {what}"))));
        // Consequences of one failure are not reported as well.
        if played.is_err() {
            break;
        }
    }
    results
}

struct KillTest<'a> {
    home: Arc<Home>,
    binary: &'a Path,
    model: &'a Model,
    name: String,
    base_url: String,
    kind: Kind,
    /// The session's id, once the program has returned it.
    session: Option<String>,
    /// The number of prompts sent; none is sent twice.
    prompts_sent: u64,
    /// The prompts that were answered.
    answered: Vec<u64>,
    /// What the processes have reported.
    seen: Seen,
    /// The subagents whose results were compared with what was reported.
    compared: BTreeSet<String>,
    /// The unexpected files found so far, each of which is reported once.
    stray_files: Vec<String>,
    failures: Vec<(Failure, String)>,
}

impl KillTest<'_> {
    fn add_failure(&mut self, failure: Failure, what: impl Into<String>) {
        self.failures.push((failure, what.into()));
    }

    fn running_program(&self, kill_moment: Option<KillMoment>) -> Result<RunningProgram> {
        RunningProgram::start(&self.home, self.binary, &self.base_url, self.kind, kill_moment)
    }

    /// Runs a process that is killed, and another that shows what has survived.
    fn kill_and_restart(&mut self, kill_moment: KillMoment) -> Result<()> {
        let mut running_program = self.running_program(Some(kill_moment))?;
        self.arm(&running_program, kill_moment);
        let used =
            self.use_session(&mut running_program, &prompts(self.kind, kill_moment), Some(kill_moment));
        self.seen.extend(running_program.kill_and_drain());
        if let Err(error) = used {
            let text = format!("{error:#}");
            // Any other error is a consequence of the kill.
            if text.contains("answered with an error") {
                self.add_failure(Failure::Broken, text);
            }
        }
        for orphan in self.home.orphans() {
            self.add_failure(Failure::Orphan, format!("`{orphan}` survived the kill"));
        }

        let mut running_program = self.running_program(None)?;
        let used = self.use_session(&mut running_program, &[Extra::Nothing], None);
        if let Err(error) = used {
            self.seen.extend(running_program.kill_and_drain());
            return Err(error.context("after the kill"));
        }
        self.seen.extend(running_program.end_normally()?);
        for orphan in self.home.orphans() {
            self.add_failure(Failure::Orphan, format!("`{orphan}` survived a normal exit"));
        }
        let done = match self.kind {
            Kind::Swarm => self.seen.agents.done(),
            _ => self.answered.iter().map(u64::to_string).collect(),
        };
        let effects = self.home.effects(self.kind, &done)?;
        self.failures.extend(effects);
        for name in self.home.stray_files(self.kind) {
            if !self.stray_files.contains(&name) {
                self.add_failure(Failure::StrayFile, format!("{name} remained in the project"));
                self.stray_files.push(name);
            }
        }
        Ok(())
    }

    /// Prepares a kill at a command of a subagent.
    fn arm(&self, running_program: &RunningProgram, kill_moment: KillMoment) {
        let KillMoment::Command(number, time) = kill_moment else { return };
        let (child, mut left) = (running_program.child(), number);
        self.model.on_command(&self.name, move || {
            if left == 1 {
                kill_after(&child, time);
            }
            left = left.saturating_sub(1);
        });
    }

    /// Opens the session, checks its replay, and sends prompts.
    fn use_session(
        &mut self,
        running_program: &mut RunningProgram,
        prompts: &[Extra],
        kill_moment: Option<KillMoment>,
    ) -> Result<()> {
        running_program.initialize()?;
        let servers = self.home.servers(self.kind);
        match self.session.clone() {
            None => {
                let new = json!({ "cwd": self.home.project(), "mcpServers": servers });
                let reply = running_program.ask("session/new", &new)?;
                let id = reply.result["sessionId"].as_str().context("session/new gave no id")?;
                self.session = Some(id.to_owned());
            }
            Some(id) => {
                let load = json!({ "sessionId": id, "cwd": self.home.project(), "mcpServers": servers });
                let reply = running_program.ask("session/load", &load)?;
                self.check(&reply);
                self.check_agents(running_program, false)?;
                let listed = running_program.ask("session/list", &json!({}))?;
                let is_it = |session: &Value| session["sessionId"] == id.as_str();
                if !self.answered.is_empty()
                    && !listed.result["sessions"].as_array().is_some_and(|all| all.iter().any(is_it))
                {
                    self.add_failure(Failure::Loss, "the session is not listed");
                }
            }
        }
        running_program.opened();
        for extra in prompts {
            self.prompts_sent += 1;
            let number = self.prompts_sent;
            let content = json!([{ "type": "text", "text": prompt::prompt(number, *extra) }]);
            let params = json!({ "sessionId": self.session, "prompt": content });
            if let Some(KillMoment::Prompt(time)) = kill_moment {
                kill_after(&running_program.child(), time);
            }
            let reply = running_program.ask("session/prompt", &params)?;
            self.answered.push(number);
            if reply.result["stopReason"] != "end_turn" {
                self.add_failure(Failure::Broken, format!("step {number} ended with {}", reply.result));
            }
        }
        self.check_agents(running_program, true)
    }

    /// Compares the subagents with what was reported of them. If `all_ended`, those that had been
    /// interrupted must have been resumed and ended.
    fn check_agents(&mut self, running_program: &mut RunningProgram, all_ended: bool) -> Result<()> {
        if self.kind != Kind::Swarm {
            return Ok(());
        }
        let session = json!({ "sessionId": self.session });
        let listed = running_program.ask("_tiller/subagents/list", &session)?;
        let mut problems = self.seen.agents.check(&listed.result["stats"], all_ended);
        let new: Vec<String> =
            self.seen.agents.ended().filter(|id| !self.compared.contains(*id)).map(str::to_owned).collect();
        for id in new {
            let named = json!({ "sessionId": self.session, "id": id });
            let found = running_program.ask("_tiller/subagents/get", &named)?;
            problems.extend(self.seen.agents.check_result(&id, &found.result));
            self.compared.insert(id);
        }
        self.failures.extend(problems.into_iter().map(|problem| (Failure::Loss, problem)));
        Ok(())
    }

    /// Compares a replay with everything that was acknowledged.
    fn check(&mut self, reply: &Reply) {
        let replayed = Replay::of(reply);
        let mut failures = Vec::new();
        for number in 1..=self.prompts_sent {
            let (prompt, answer) = (prompt::prompt(number, Extra::Nothing), done(number));
            let count = replayed.prompts.iter().filter(|text| **text == prompt).count();
            let answered = self.answered.contains(&number);
            if count > 1 || (answered && count == 0) {
                failures.push((Failure::Loss, format!("{prompt:?} is in the replay {count} times")));
            }
            if answered && !replayed.answers.contains(&answer) {
                failures.push((Failure::Loss, format!("{answer:?} is missing from the replay")));
            }
        }
        for (id, state) in &self.seen.calls {
            match replayed.calls.get(id) {
                None => failures.push((
                    Failure::Loss,
                    format!("{id} was reported ({state}) and is missing from the replay"),
                )),
                Some((_, now)) if ends(state) && now != state => {
                    failures.push((Failure::Loss, format!("{id} was {state} and is {now}")));
                }
                Some(_) => {}
            }
        }
        for (id, (announced, state)) in &replayed.calls {
            if *announced != 1 || !ends(state) {
                failures.push((Failure::Loss, format!("{id} is announced {announced} times and {state}")));
            }
        }
        self.failures.append(&mut failures);
    }
}

/// Returns the prompts for a process that is killed.
fn prompts(kind: Kind, kill_moment: KillMoment) -> Vec<Extra> {
    if kind == Kind::Swarm {
        return vec![Extra::Swarm];
    }
    let waits = kill_moment.command_of();
    (0..PROMPTS).map(|index| if waits == Some(index) { Extra::Wait } else { Extra::Nothing }).collect()
}

fn ends(state: &str) -> bool {
    matches!(state, "completed" | "failed")
}

/// The content of a replay.
#[derive(Default)]
struct Replay {
    prompts: Vec<String>,
    /// The model's messages, with their chunks joined.
    answers: Vec<String>,
    /// How often each call was announced, and its last state.
    calls: BTreeMap<String, (usize, String)>,
}

impl Replay {
    fn of(reply: &Reply) -> Self {
        let mut replayed = Self::default();
        let mut message = None;
        for update in reply.updates.iter().map(|update| &update.update) {
            let text = update["content"]["text"].as_str().unwrap_or_default();
            let id = update["messageId"].as_str();
            let kind = update["sessionUpdate"].as_str().unwrap_or_default();
            match kind {
                "user_message_chunk" => replayed.prompts.push(prompt::bare(text)),
                "agent_message_chunk" => match replayed.answers.last_mut() {
                    Some(last) if message == id => last.push_str(text),
                    _ => replayed.answers.push(text.to_owned()),
                },
                "tool_call" | "tool_call_update" => {
                    let id = update["toolCallId"].as_str().unwrap_or_default();
                    let call = replayed.calls.entry(id.to_owned()).or_default();
                    call.0 += usize::from(kind == "tool_call");
                    if let Some(state) = update["status"].as_str() {
                        state.clone_into(&mut call.1);
                    }
                }
                _ => continue,
            }
            message = id;
        }
        replayed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_distributed_over_the_kinds() {
        let plans = Plan::all(&Kind::ALL, 100, 7);
        assert_eq!(plans.iter().map(|plan| plan.points).sum::<usize>(), 100);
        let of = |kind| plans.iter().filter(|plan| plan.kind == kind).map(|plan| plan.points).sum::<usize>();
        assert_eq!(Kind::ALL.map(of), [20; 5]);
        let mut seeds: Vec<_> = plans.iter().map(|plan| plan.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), plans.len(), "each has a seed of its own");
    }
}
