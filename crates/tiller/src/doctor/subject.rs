//! What the doctor checks.

use crate::{
    environment::Environment,
    options::Options,
    secrets::{Store, Values},
};
use ::providers::Catalog;
use std::collections::BTreeMap;
use system::AbsPath;

/// The configuration to check, and the problems that are known beforehand.
pub(crate) struct Subject<'a> {
    pub(crate) options: &'a Options,
    pub(crate) environment: &'a Environment,
    pub(crate) cwd: &'a AbsPath,
    pub(crate) catalog: &'a Catalog,
    pub(crate) values: &'a Values,
    /// Where the secrets are.
    pub(crate) stores: &'a BTreeMap<String, Store>,
    /// The settings that were ignored, with the reasons.
    pub(crate) notices: &'a [String],
    /// Why the settings files cannot be used; the options are then those without the files.
    pub(crate) settings_problem: Option<&'a str>,
}
