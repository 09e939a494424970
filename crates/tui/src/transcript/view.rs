//! Stand-in.
use super::rows::Paint; use crate::{shown::Shown, keys::Action, input::Key};
/// V
#[derive(Debug, Default)] pub struct View;
impl View {
 /// a
 pub fn rows(&mut self, _p: &Paint<'_>, _h: usize) -> Shown { Shown::default() }
 /// a
 pub fn act(&mut self, _p: &Paint<'_>, _h: usize, _a: Action) {}
 /// a
 pub fn key(&mut self, _p: &Paint<'_>, _k: Key) {}
 /// a
 pub fn is_searching(&self) -> bool { false }
 /// a
 pub fn scroll(&mut self, _p: &Paint<'_>, _r: i64) {}
 /// a
 pub fn copied(&self, _p: &Paint<'_>, _a: Action) -> Option<String> { None }
}
