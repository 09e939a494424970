//! A session that is killed repeatedly, and the checks after each restart.

use super::aim::{Aim, Random};
use super::home::Home;
use super::kind::Kind;
use super::life::Life;
use super::model::Model;
use super::tally::{Harm, Tally};
use crate::peers::client::Reply;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
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

/// The suffix of a prompt whose command is to be killed.
pub(super) const WAITING: &str = " and wait";

/// Returns the model's final text for a prompt.
pub(super) fn done(number: u64) -> String {
    format!("done {number}")
}

/// Plays a story.
pub(super) fn play(plan: Plan, binary: &Path, model: &Model) -> Tally {
    let mut tally = Tally::new(format!("kill: {}", plan.kind.name()));
    let name = format!("{}-{}", plan.kind.name(), plan.number);
    let mut story = match Home::make(&name, plan.kind, plan.number % 2 == 1) {
        Ok(home) => Story {
            home: Arc::new(home),
            binary,
            base_url: model.base_url(plan.kind, &name),
            kind: plan.kind,
            session: None,
            asked: 0,
            answered: Vec::new(),
            calls: BTreeMap::new(),
            litter: Vec::new(),
            harms: Vec::new(),
        },
        Err(error) => {
            tally.harms.push((Harm::Broken, format!("no home for {name}: {error:#}")));
            return tally;
        }
    };
    let mut random = Random::new(plan.seed);
    for point in 0..plan.points {
        let aim = Aim::draw(point + plan.number, &mut random);
        tally.points += 1;
        let waiting = story.asked - story.answered.len() as u64;
        let played = story.point(aim);
        tally.cut += usize::from(story.asked - story.answered.len() as u64 > waiting);
        let objections = model.objections(&name).into_iter().map(|text| (Harm::Loss, text));
        let mut harms: Vec<_> = std::mem::take(&mut story.harms).into_iter().chain(objections).collect();
        if let Err(error) = &played {
            harms.push((Harm::Broken, format!("{error:#} ({})", story.home.last_words())));
        }
        let place = format!("story {name}, point {}, {aim}", point + 1);
        tally.harms.extend(harms.into_iter().map(|(harm, what)| (harm, format!("{place}: {what}"))));
        // Consequences of one failure are not reported as well.
        if played.is_err() {
            break;
        }
    }
    tally
}

struct Story<'a> {
    home: Arc<Home>,
    binary: &'a Path,
    base_url: String,
    kind: Kind,
    /// The session's id, once the program has returned it.
    session: Option<String>,
    /// The number of prompts sent; none is sent twice.
    asked: u64,
    /// The prompts that were answered.
    answered: Vec<u64>,
    /// The last reported state of each call.
    calls: BTreeMap<String, String>,
    /// The unexpected files found so far, each of which is reported once.
    litter: Vec<String>,
    harms: Vec<(Harm, String)>,
}

impl Story<'_> {
    fn harm(&mut self, harm: Harm, what: impl Into<String>) {
        self.harms.push((harm, what.into()));
    }

    fn life(&self, aim: Option<Aim>) -> Result<Life> {
        Life::start(&self.home, self.binary, &self.base_url, self.kind, aim)
    }

    /// Runs a process that is killed, and another that shows what has survived.
    fn point(&mut self, aim: Aim) -> Result<()> {
        let mut life = self.life(Some(aim))?;
        let talked = self.talk(&mut life, PROMPTS, aim.command_of());
        self.calls.extend(life.killed());
        if let Err(error) = talked {
            let text = format!("{error:#}");
            // Any other error is a consequence of the kill.
            if text.contains("answered with an error") {
                self.harm(Harm::Broken, text);
            }
        }
        for orphan in self.home.orphans() {
            self.harm(Harm::Orphan, format!("`{orphan}` lives on"));
        }

        let mut life = self.life(None)?;
        let talked = self.talk(&mut life, 1, None);
        if let Err(error) = talked {
            self.calls.extend(life.killed());
            return Err(error.context("after the kill"));
        }
        life.hang_up()?;
        for orphan in self.home.orphans() {
            self.harm(Harm::Orphan, format!("`{orphan}` lives on after an end in order"));
        }
        let effects = self.home.effects(self.kind, &self.answered)?;
        self.harms.extend(effects);
        for name in self.home.litter() {
            if !self.litter.contains(&name) {
                self.harm(Harm::Litter, format!("{name} lies in the project"));
                self.litter.push(name);
            }
        }
        Ok(())
    }

    /// Opens the session, checks its replay, and sends prompts; the command of prompt `waits` runs
    /// longer.
    fn talk(&mut self, life: &mut Life, prompts: u64, waits: Option<u64>) -> Result<()> {
        life.initialize()?;
        let servers = self.home.servers(self.kind);
        match self.session.clone() {
            None => {
                let new = json!({ "cwd": self.home.project(), "mcpServers": servers });
                let reply = life.ask("session/new", &new)?;
                let id = reply.result["sessionId"].as_str().context("session/new gave no id")?;
                self.session = Some(id.to_owned());
            }
            Some(id) => {
                let load = json!({ "sessionId": id, "cwd": self.home.project(), "mcpServers": servers });
                let reply = life.ask("session/load", &load)?;
                self.check(&reply);
                let listed = life.ask("session/list", &json!({}))?;
                let is_it = |session: &Value| session["sessionId"] == id.as_str();
                if !self.answered.is_empty()
                    && !listed.result["sessions"].as_array().is_some_and(|all| all.iter().any(is_it))
                {
                    self.harm(Harm::Loss, "the session is not listed");
                }
            }
        }
        life.opened();
        for prompt in 0..prompts {
            self.asked += 1;
            let number = self.asked;
            let waiting = if waits == Some(prompt) { WAITING } else { "" };
            let content = json!([{ "type": "text", "text": format!("step {number}{waiting}") }]);
            let prompt = json!({ "sessionId": self.session, "prompt": content });
            let reply = life.ask("session/prompt", &prompt)?;
            self.answered.push(number);
            if reply.result["stopReason"] != "end_turn" {
                self.harm(Harm::Broken, format!("step {number} ended with {}", reply.result));
            }
        }
        Ok(())
    }

    /// Compares a replay with everything that was acknowledged.
    fn check(&mut self, reply: &Reply) {
        let replayed = Replayed::of(reply);
        let mut harms = Vec::new();
        for number in 1..=self.asked {
            let (said, answer) = (format!("step {number}"), done(number));
            let count = replayed.said.iter().filter(|text| **text == said).count();
            let answered = self.answered.contains(&number);
            if count > 1 || (answered && count == 0) {
                harms.push((Harm::Loss, format!("{said:?} is there {count} times")));
            }
            if answered && !replayed.answers.contains(&answer) {
                harms.push((Harm::Loss, format!("{answer:?} is not there")));
            }
        }
        for (id, state) in &self.calls {
            match replayed.calls.get(id) {
                None => harms.push((Harm::Loss, format!("{id} was told of ({state}) and is not there"))),
                Some((_, now)) if ends(state) && now != state => {
                    harms.push((Harm::Loss, format!("{id} was {state} and is {now}")));
                }
                Some(_) => {}
            }
        }
        for (id, (announced, state)) in &replayed.calls {
            if *announced != 1 || !ends(state) {
                harms.push((Harm::Loss, format!("{id} is announced {announced} times and {state}")));
            }
        }
        self.harms.append(&mut harms);
    }
}

fn ends(state: &str) -> bool {
    matches!(state, "completed" | "failed")
}

/// The content of a replay.
#[derive(Default)]
struct Replayed {
    said: Vec<String>,
    /// The model's messages, with their chunks joined.
    answers: Vec<String>,
    /// How often each call was announced, and its last state.
    calls: BTreeMap<String, (usize, String)>,
}

impl Replayed {
    fn of(reply: &Reply) -> Self {
        let mut replayed = Self::default();
        let mut message = None;
        for update in reply.updates.iter().map(|update| &update.update) {
            let text = update["content"]["text"].as_str().unwrap_or_default();
            let id = update["messageId"].as_str();
            let kind = update["sessionUpdate"].as_str().unwrap_or_default();
            match kind {
                "user_message_chunk" => replayed.said.push(text.trim_end_matches(WAITING).to_owned()),
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
    fn points_are_dealt_out_over_the_kinds() {
        let plans = Plan::all(&Kind::ALL, 100, 7);
        assert_eq!(plans.iter().map(|plan| plan.points).sum::<usize>(), 100);
        let of = |kind| plans.iter().filter(|plan| plan.kind == kind).map(|plan| plan.points).sum::<usize>();
        assert_eq!(Kind::ALL.map(of), [25, 25, 25, 25]);
        let mut seeds: Vec<_> = plans.iter().map(|plan| plan.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), plans.len(), "each has a seed of its own");
    }
}
