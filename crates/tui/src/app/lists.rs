//! Stub.
use super::{App, effect::Effect};
use crate::{driver::reply::ListedSession, keys::Action};
use agent::{Checkpoint, Credentials, ModelInfo};
pub(super) struct List { pub(super) picker: P }
pub(super) struct P;
impl P {
    pub(super) fn paste(&mut self, _: &str) {}
    pub(super) fn key(&mut self, _: crate::input::Key) -> bool { false }
    pub(super) fn rows(&self, _: &crate::look::Look, _: usize) -> crate::shown::Shown { Default::default() }
}
impl App {
    pub(super) fn list_changed(&mut self) -> Vec<Effect> { Vec::new() }
    pub(super) fn in_list(&mut self, _: Action) -> Vec<Effect> { Vec::new() }
    pub(super) fn line_of_list(&mut self, _: &str) -> Vec<Effect> { Vec::new() }
    pub(super) fn models_listed(&mut self, _: Vec<(ModelInfo, Credentials)>) {}
    pub(super) fn sessions_listed(&mut self, _: Vec<ListedSession>) {}
    pub(super) fn turns_listed(&mut self, _: &[Checkpoint]) {}
    pub(super) fn choose_theme(&mut self, _: &str) -> Vec<Effect> { Vec::new() }
    pub(super) fn list_sessions(&mut self, _: &str) -> Vec<Effect> { Vec::new() }
    pub(super) fn list_permission_modes(&mut self) -> Vec<Effect> { Vec::new() }
    /// c
    pub fn choose_session(&mut self) -> Vec<Effect> { Vec::new() }
}
