//! The network of a session's commands: decides about each connection, asks the user while it
//! waits, and keeps what was used for the result of the command.

mod program;
mod push;
mod servers;

pub(crate) use servers::SessionServers;

use super::running::{self, GONE};
use crate::{
    CommandNetwork, ConnectionJudge, Destination, Expectation, HostUse, NetworkOptions, NetworkUse,
    PermissionMode, PermissionOutcome, PermissionRequest, Push, RemoteRepository, SessionEvent, SessionId,
    SessionState, Severity, SignCommits, Signing, ToolCallId, ToolOutput, ToolResult, ToolStatus, Traffic,
    limits::{NETWORK_HOSTS, NETWORK_HOSTS_TOLD, NETWORK_QUESTIONS},
    log::SessionLog,
    policy::{
        Grants, OwnFiles,
        network::{Group, GroupTraffic, NetworkDecision, NetworkPolicy, NetworkScope, decide},
    },
    programs::Attached,
    settings::LiveSettings,
};
use async_trait::async_trait;
use program::{Running, Subject, more_request, own_call, request};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};
use system::{AbsPath, System};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Returns the session's state.
pub(crate) type StateNow = Arc<dyn Fn() -> SessionState + Send + Sync>;

/// Where the session's commands run.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) system: Arc<dyn System>,
    /// The session's directories.
    pub(crate) roots: Vec<AbsPath>,
}

/// The connections of a session's programs, and what decides about them.
#[derive(Clone)]
pub(crate) struct ConnectionsOf {
    server: Arc<dyn CommandNetwork>,
    own_files: OwnFiles,
    log: SessionLog,
    grants: Arc<Grants>,
    settings: Arc<LiveSettings>,
    state: StateNow,
    /// Held while the user is asked: one question at a time.
    asking: Arc<tokio::sync::Mutex<()>>,
    /// Cancelled when the turn that runs ends; `None` between turns.
    turn: watch::Sender<Option<CancellationToken>>,
}

impl ConnectionsOf {
    /// Returns the connections of a session, decided about in the state that `state` returns;
    /// `None` if the network of commands is not served.
    pub(crate) fn session(
        session: &SessionId,
        log: SessionLog,
        grants: Arc<Grants>,
        settings: Arc<LiveSettings>,
        state: StateNow,
    ) -> Option<Self> {
        let now = settings.seen();
        let (server, own_files) = (now.command_network.clone()?, now.sandbox.own_files_of(session)?);
        let (asking, turn) = (Arc::default(), watch::Sender::default());
        Some(Self { server, own_files, log, grants, settings, state, asking, turn })
    }

    /// Decides about the connections of the programs with these directories, until the second value
    /// is dropped. They are those of `running`, or of the commands that run.
    fn judge(&self, own_files: OwnFiles, place: Place, running: Option<Running>) -> (Arc<Judge>, Attached) {
        let temp = own_files.temp.clone();
        let judge = Arc::new(Judge {
            log: self.log.clone(),
            grants: Arc::clone(&self.grants),
            settings: Arc::clone(&self.settings),
            state: Arc::clone(&self.state),
            own_files,
            place: Mutex::new(place),
            asking: Arc::clone(&self.asking),
            turn: self.turn.subscribe(),
            now: Mutex::new(Now { running, ..Now::default() }),
        });
        let attached = self.server.attach(&temp, Arc::new(Connections(Arc::clone(&judge))));
        (judge, attached)
    }
}

/// The network of a session's commands.
pub(crate) struct SessionNetwork {
    judge: Arc<Judge>,
    /// Ends the judge's part when the session ends.
    _attached: Attached,
    /// The servers of the project, for the root session.
    servers: Option<Arc<SessionServers>>,
    connections: ConnectionsOf,
}

impl SessionNetwork {
    /// Creates the network of the commands that run in a place.
    pub(super) fn new(
        connections: &ConnectionsOf,
        place: Place,
        servers: Option<Arc<SessionServers>>,
    ) -> Self {
        let (judge, attached) = connections.judge(connections.own_files.clone(), place, None);
        Self { judge, _attached: attached, servers, connections: connections.clone() }
    }

    /// Returns what lets the user be asked about servers until a turn ends.
    pub(crate) fn turn(&self, cancel: &CancellationToken) -> impl FnOnce() + Send + 'static {
        let (turn, cancel) = (self.connections.turn.clone(), cancel.child_token());
        move || drop(turn.send_replace(Some(cancel)))
    }

    /// Withdraws the questions about servers.
    pub(crate) async fn end_turn(&self) {
        if let Some(turn) = self.connections.turn.send_replace(None) {
            turn.cancel();
            drop(self.connections.asking.lock().await);
        }
    }

    /// Returns the events with what the servers of the project have used of the network since the
    /// last time.
    pub(crate) fn used_by_servers(&self) -> Vec<SessionEvent> {
        self.servers.as_ref().map(|servers| servers.used()).unwrap_or_default()
    }

    /// Notes that the session's commands run elsewhere from now on.
    pub(super) fn moved(&self, place: Place) {
        *self.judge.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// Notes that a command runs for a call, so that the user can be asked about its connections.
    /// Returns the value that ends this.
    pub(crate) fn begin(
        &self,
        call: &ToolCallId,
        tool: &str,
        line: &str,
        cancel: &CancellationToken,
    ) -> RunningCommand {
        let subject = Subject::Command { call: call.clone(), tool: tool.to_owned() };
        let running = Running { cancel: cancel.clone(), ..Running::new(subject, line) };
        self.judge.lock().running = Some(running);
        RunningCommand(Arc::clone(&self.judge))
    }

    /// Returns the event with what the session's commands have used of the network since the last
    /// time. Adds it to the output of the call, if the call has one.
    pub(crate) fn settle(&self, call: &ToolCallId, output: Option<&mut ToolOutput>) -> Option<SessionEvent> {
        let mut now = self.judge.lock();
        let hosts = now.take_used();
        if let Some(output) = output {
            let (servers, looked_up) = (std::mem::take(&mut now.servers), std::mem::take(&mut now.looked_up));
            drop(now);
            let mut facts: Vec<_> =
                servers.into_iter().map(|(port, address)| forwarded(port, address)).collect();
            facts.extend(Some(told(&hosts)).filter(|told| !told.is_empty()));
            if output.result.is_error {
                facts.extend(self.judge.unreached(looked_up, &hosts));
            }
            if !facts.is_empty() {
                output.add_note(&format!("(network: {}.)", facts.join("; ")));
            }
        }
        (!hosts.is_empty()).then(|| SessionEvent::NetworkUsed(NetworkUse { call: call.clone(), hosts }))
    }
}

/// A command that runs. The user is asked about its connections until this is dropped.
pub(crate) struct RunningCommand(Arc<Judge>);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.0.lock().running = None;
    }
}

struct Judge {
    log: SessionLog,
    grants: Arc<Grants>,
    settings: Arc<LiveSettings>,
    state: StateNow,
    own_files: OwnFiles,
    place: Mutex<Place>,
    asking: Arc<tokio::sync::Mutex<()>>,
    turn: watch::Receiver<Option<CancellationToken>>,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    running: Option<Running>,
    used: BTreeMap<Destination, Used>,
    /// The hosts that commands have looked up since the last result.
    looked_up: BTreeSet<String>,
    /// The servers of commands that no result has named, with their addresses outside.
    servers: BTreeMap<u16, SocketAddr>,
    /// The answers for the session, each with the permission mode in which it holds.
    kept: HashMap<Kept, (PermissionMode, bool)>,
    /// The traffic of groups of hosts in this session, by their names.
    groups: HashMap<&'static str, Arc<GroupTraffic>>,
}

impl Now {
    /// Returns the entry of a destination; `None` if there are too many.
    fn used(&mut self, destination: &Destination) -> Option<&mut Used> {
        let has_room = self.used.len() < NETWORK_HOSTS || self.used.contains_key(destination);
        has_room.then(|| self.used.entry(destination.clone()).or_default())
    }

    /// Takes what was used since the last time. Open connections stay, and are counted from here.
    fn take_used(&mut self) -> Vec<HostUse> {
        let taken = self.used.iter_mut().map(|(destination, used)| used.take(destination));
        let taken = taken.filter(|used| !used.is_empty()).collect();
        self.used.retain(|_, used| used.is_open());
        taken
    }

    fn group(&mut self, group: &Group) -> Arc<GroupTraffic> {
        Arc::clone(self.groups.entry(group.name).or_default())
    }
}

/// The subject of an answer for the session that is about no connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Kept {
    /// Signatures with a key.
    Key(String),
    /// A repository, by its address.
    Repository(String),
}

/// What was used of one destination since the last result.
#[derive(Default)]
struct Used {
    traffic: Option<Arc<Traffic>>,
    /// The bytes of `traffic` in earlier results: sent and received.
    before: (u64, u64),
    connections: u64,
    refused: Option<String>,
    rule: Option<String>,
}

impl Used {
    fn take(&mut self, destination: &Destination) -> HostUse {
        let now = self.traffic.as_ref().map_or((0, 0), |traffic| traffic.bytes());
        let before = std::mem::replace(&mut self.before, now);
        HostUse {
            connections: std::mem::take(&mut self.connections),
            sent: now.0.saturating_sub(before.0),
            received: now.1.saturating_sub(before.1),
            refused: self.refused.take(),
            rule: self.rule.clone(),
            ..HostUse::of(destination.clone())
        }
    }

    /// Returns whether a connection is open.
    fn is_open(&self) -> bool {
        self.traffic.as_ref().is_some_and(|traffic| Arc::strong_count(traffic) > 1)
    }
}

impl Judge {
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_policy<T>(&self, then: impl FnOnce(&NetworkPolicy<'_>) -> T) -> T {
        let now = self.settings.seen();
        let grants = self.grants.network();
        then(&NetworkPolicy {
            options: &now.sandbox.network,
            permission_mode: (self.state)().permission_mode,
            rules: &now.permissions.rules.network,
            grants: &grants,
        })
    }

    /// Returns the decision, with the answers for the running command.
    fn decide(&self, destination: &Destination) -> NetworkDecision {
        let decision = self.with_policy(|policy| decide(policy, destination));
        let NetworkDecision::Ask { scope, .. } = &decision else { return decision };
        let now = self.lock();
        match now.running.as_ref().and_then(|running| running.answers.get(scope)) {
            Some(Ok(())) => NetworkDecision::Allow { rule: "the user's answer".to_owned() },
            Some(Err(reason)) => NetworkDecision::Deny { reason: reason.clone() },
            None => decision,
        }
    }

    /// Returns a fact about hosts that were looked up by a command that failed, and to which no
    /// connection arrived.
    fn unreached(&self, looked_up: BTreeSet<String>, used: &[HostUse]) -> Option<String> {
        let is_reached = |host: &String| {
            let is_of =
                |used: &HostUse| matches!(&used.destination, Destination::Host { name, .. } if name == host);
            used.iter().any(is_of)
        };
        let names: Vec<_> = looked_up.into_iter().filter(|name| !is_reached(name)).collect();
        let first = names.first()?;
        let ports = self.settings.seen().permissions.rules.network.ports();
        let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
        let names: Vec<_> = names.iter().take(NETWORK_HOSTS_TOLD).map(String::as_str).collect();
        Some(format!(
            "{} was looked up, and no connection to it arrived: only the ports {} of other hosts are reached; the user \
             can allow one more by a rule such as network(host:{first}:5432)",
            names.join(", "),
            ports.join(", ")
        ))
    }

    /// Asks the user about a destination, once it is this connection's turn.
    async fn ask(&self, destination: &Destination, gone: &CancellationToken) -> Result<(), String> {
        let _turn = self.may_ask(gone).await?;
        // The answer to an earlier question may cover this one.
        let (scope, by_rule) = match self.decide(destination) {
            NetworkDecision::Allow { .. } => return Ok(()),
            NetworkDecision::Deny { reason } => return Err(reason),
            NetworkDecision::Ask { scope, by_rule } => (scope, by_rule),
        };
        let rules = self.settings.user_rules().filter(|_| !by_rule);
        let rule = scope.rule();
        let question = |running: &Running| {
            let mut question = request(running, destination, &scope);
            question.remedy.user_rule = rules.map(|_| rule.clone());
            question
        };
        let (call, answer, outcome) = self.answer(gone, question).await?;
        match (outcome, rules) {
            (PermissionOutcome::AllowForUser, Some(rules)) => {
                self.grants.network().insert(scope.clone(), true);
                if let Err(problem) = rules.allow(&rule).await {
                    self.log.notify(SessionEvent::Notice {
                        severity: Severity::Warning,
                        title: format!(
                            "{rule} was not added to your settings; it is allowed in this session"
                        ),
                        description: Some(problem),
                    });
                }
            }
            (PermissionOutcome::AllowForUser | PermissionOutcome::AllowAlways, _) => {
                self.grants.network().insert(scope.clone(), true);
            }
            (PermissionOutcome::RejectAlways, _) => {
                self.grants.network().insert(scope.clone(), false);
            }
            _ => {}
        }
        let mut now = self.lock();
        let running = now.running.as_mut().filter(|running| running.is_of(&call) && !gone.is_cancelled());
        // A server asks again when its question has been withdrawn.
        let is_kept = |running: &Running| !running.is_server() || outcome != PermissionOutcome::Cancelled;
        if let Some(running) = running.filter(|running| is_kept(running)) {
            running.answers.insert(scope, answer.clone());
        }
        answer
    }

    /// Returns the group of a destination, and its traffic, if its hosts were sent more than
    /// downloads need.
    fn exhausted(&self, destination: &Destination) -> Option<(&'static Group, Arc<GroupTraffic>)> {
        let group = NetworkScope::group_of(destination)?;
        let traffic = self.lock().group(group);
        traffic.is_exhausted().then_some((group, traffic))
    }

    /// Asks the user whether more may be sent to the hosts of a group, if they were sent more
    /// than downloads need.
    async fn ask_for_more(&self, destination: &Destination, gone: &CancellationToken) -> Result<(), String> {
        // Other connections do not wait for the turn of a question.
        let Some((group, traffic)) = self.exhausted(destination) else { return Ok(()) };
        let _turn = self.may_ask(gone).await?;
        if !traffic.is_exhausted() {
            return Ok(());
        }
        let (_, answer, _) =
            self.answer(gone, |running| more_request(running, destination, group, &traffic)).await?;
        if answer.is_ok() {
            traffic.may_send_more.store(true, Ordering::Relaxed);
        }
        answer
    }

    /// Waits until the user can be asked: until there is no other question, and for a server until
    /// a turn runs. The question must end before the value is dropped.
    async fn may_ask(&self, gone: &CancellationToken) -> Result<tokio::sync::MutexGuard<'_, ()>, String> {
        let waits_for_turn = self.lock().running.as_ref().is_some_and(Running::is_server);
        let wait = self.settings.seen().sandbox.network.ask_wait;
        let waiting = async {
            let mut turns = self.turn.clone();
            let runs =
                |turn: &Option<CancellationToken>| turn.as_ref().is_some_and(|turn| !turn.is_cancelled());
            loop {
                let turn = match waits_for_turn {
                    true => turns.wait_for(runs).await.ok().and_then(|turn| turn.clone()),
                    false => None,
                };
                let asking = self.asking.lock().await;
                // The turn may have ended while another question was answered.
                if turn.is_some() && !runs(&turn) {
                    continue;
                }
                if let (Some(turn), Some(running)) = (turn, self.lock().running.as_mut()) {
                    running.begin_turn(turn);
                }
                return asking;
            }
        };
        tokio::select! {
            () = gone.cancelled() => Err(GONE.to_owned()),
            asking = waiting => Ok(asking),
            () = tokio::time::sleep(wait), if waits_for_turn => {
                Err(format!("no turn ran within {} s in which the user could be asked", wait.as_secs()))
            }
        }
    }

    /// Asks the user a question about the running command. Returns the call, and the answer with
    /// the reason of a refusal.
    async fn answer(
        &self,
        gone: &CancellationToken,
        question: impl FnOnce(&Running) -> PermissionRequest,
    ) -> Result<(ToolCallId, Result<(), String>, PermissionOutcome), String> {
        let (request, cancel, is_own_call) = {
            let mut now = self.lock();
            let running = now.running.as_mut().ok_or("the user is asked only while a command's call runs")?;
            if running.questions == NETWORK_QUESTIONS {
                let whom = if running.is_server() { "server in this turn" } else { "command" };
                return Err(format!("{NETWORK_QUESTIONS} questions were asked for this {whom}"));
            }
            running.questions += 1;
            (question(running), running.cancel.clone(), running.is_server())
        };
        let unrecorded = |error| format!("the question could not be recorded: {error}");
        if is_own_call {
            let begun = own_call(&request, ToolStatus::Pending, None);
            self.log.record(vec![begun]).await.map_err(unrecorded)?;
        }
        let wait = self.settings.seen().sandbox.network.ask_wait;
        let asked = running::ask(&self.log, &request, wait, &cancel, gone).await;
        let (answer, outcome) = asked.map_err(unrecorded)?;
        if is_own_call {
            let (status, result) = match &answer {
                Ok(()) => (ToolStatus::Completed, ToolResult::ok("allowed")),
                Err(why) => (ToolStatus::Failed, ToolResult::error(why)),
            };
            let ended = own_call(&request, status, Some(result));
            self.log.record(vec![ended]).await.map_err(unrecorded)?;
        }
        Ok((request.id, answer, outcome))
    }
}

/// Asks in a task, with a token that is cancelled when the caller goes away: the question of a
/// connection that is dropped is withdrawn, and its end recorded.
async fn withdrawn_with<F>(ask: impl FnOnce(CancellationToken) -> F) -> Result<(), String>
where
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let gone = CancellationToken::new();
    let _withdraw = gone.clone().drop_guard();
    tokio::spawn(ask(gone)).await.unwrap_or_else(|error| Err(error.to_string()))
}

/// The judge of a session, as the server of the network sees it.
struct Connections(Arc<Judge>);

impl std::ops::Deref for Connections {
    type Target = Judge;

    fn deref(&self) -> &Judge {
        &self.0
    }
}

#[async_trait]
impl ConnectionJudge for Connections {
    async fn judge(&self, destination: &Destination) -> Result<(), String> {
        let decision = self.decide(destination);
        match decision {
            NetworkDecision::Deny { reason } => return Err(reason),
            NetworkDecision::Allow { .. } if self.exhausted(destination).is_none() => return Ok(()),
            NetworkDecision::Allow { .. } | NetworkDecision::Ask { .. } => {}
        }
        let (judge, destination) = (Arc::clone(&self.0), destination.clone());
        withdrawn_with(|gone| async move {
            if let NetworkDecision::Ask { .. } = decision {
                judge.ask(&destination, &gone).await?;
            }
            judge.ask_for_more(&destination, &gone).await
        })
        .await
    }

    fn is_for_reading(&self, destination: &Destination) -> bool {
        NetworkScope::group_of(destination).is_some()
    }

    async fn reach(
        &self,
        remote: &RemoteRepository,
        destination: &Destination,
        as_user: bool,
    ) -> Result<(), String> {
        let (judge, remote, destination) = (Arc::clone(&self.0), remote.clone(), destination.clone());
        withdrawn_with(|gone| async move { judge.decide_reach(&remote, &destination, as_user, &gone).await })
            .await
    }

    async fn push(&self, push: &Push) -> Result<(), String> {
        let (judge, push) = (Arc::clone(&self.0), push.clone());
        withdrawn_with(|gone| async move { judge.decide_push(&push, &gone).await }).await
    }

    async fn sign(&self, signing: &Signing) -> Result<(), String> {
        let (judge, signing) = (Arc::clone(&self.0), signing.clone());
        withdrawn_with(|gone| async move { judge.decide_signing(&signing, &gone).await }).await
    }

    fn signs(&self) -> SignCommits {
        self.settings.seen().sandbox.network.sign_commits
    }

    fn expectation(&self, name: &str) -> Expectation {
        self.with_policy(|policy| policy.expectation(name))
    }

    fn is_local(&self, name: &str) -> bool {
        let NetworkOptions { local_hosts, .. } = &self.settings.seen().sandbox.network;
        local_hosts.iter().any(|host| host == name)
    }

    fn connected(&self, destination: &Destination) -> Arc<Traffic> {
        let rule = match self.decide(destination) {
            NetworkDecision::Allow { rule } => rule,
            // The rules for git have decided.
            NetworkDecision::Ask { .. } | NetworkDecision::Deny { .. } => {
                "a remote of the project".to_owned()
            }
        };
        let mut now = self.lock();
        let group = NetworkScope::group_of(destination).map(|group| now.group(group));
        let new = || Arc::new(group.map_or_else(Traffic::default, Traffic::of_group));
        match now.used(destination) {
            Some(used) => {
                used.connections += 1;
                used.rule = Some(rule);
                used.traffic.get_or_insert_with(new).clone()
            }
            None => new(),
        }
    }

    fn refused(&self, destination: &Destination, reason: &str) {
        if let Some(used) = self.lock().used(destination) {
            used.refused = Some(reason.to_owned());
        }
    }

    fn looked_up(&self, name: &str) {
        let mut now = self.lock();
        if now.looked_up.len() < NETWORK_HOSTS {
            now.looked_up.insert(name.to_owned());
        }
    }

    fn forwards_ports(&self) -> bool {
        let now = self.settings.seen();
        now.sandbox.network.forward_ports && now.permissions.folder.is_none()
    }

    fn forwarded(&self, port: u16, address: SocketAddr) {
        self.lock().servers.insert(port, address);
        let title = format!("Port {port} of a command in the sandbox is http://{address}");
        self.log.notify(SessionEvent::Notice { severity: Severity::Info, title, description: None });
    }

    fn forward_ended(&self, port: u16) {
        self.lock().servers.remove(&port);
    }
}

/// Says where this machine reaches a server of a command.
fn forwarded(port: u16, address: SocketAddr) -> String {
    format!("port {port} is http://{address} for the user")
}

/// Describes what was used of the network; empty if nothing was.
fn told(hosts: &[HostUse]) -> String {
    let parts: Vec<_> = hosts.iter().flat_map(HostUse::facts).collect();
    let more = parts.len().saturating_sub(NETWORK_HOSTS_TOLD);
    let mut text = parts[..parts.len() - more].join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str, port: u16) -> Destination {
        Destination::Host { name: name.to_owned(), port }
    }

    #[test]
    fn facts_name_each_host_once() {
        let mut now = Now::default();
        let traffic = Arc::new(Traffic::default());
        traffic.add_sent(1_234);
        traffic.add_received(3_100_000);
        now.used(&at("a.org", 443)).unwrap().traffic = Some(traffic);
        now.used(&at("b.org", 80)).unwrap().refused = Some("the user said no".to_owned());
        assert_eq!(
            told(&now.take_used()),
            "a.org sent 3.1 MB and received 1.2 kB; b.org:80 was refused: the user said no"
        );
        assert_eq!(told(&now.take_used()), "");
        for n in 0..20 {
            now.used(&at(&format!("{n}.org"), 443)).unwrap().refused = Some("no".to_owned());
        }
        assert!(told(&now.take_used()).ends_with("; and 12 more"));
    }

    #[test]
    fn an_open_connection_is_counted_from_result_to_result() {
        let (mut now, open) = (Now::default(), Arc::new(Traffic::default()));
        let place = at("a.org", 443);
        let used = now.used(&place).unwrap();
        (used.traffic, used.connections) = (Some(Arc::clone(&open)), 1);
        open.add_received(5);
        let first = now.take_used();
        assert_eq!(first, [HostUse { connections: 1, received: 5, ..HostUse::of(place.clone()) }]);
        open.add_received(7);
        drop(open);
        assert_eq!(now.take_used(), [HostUse { received: 7, ..HostUse::of(place) }]);
        assert!(now.used.is_empty());
    }
}
