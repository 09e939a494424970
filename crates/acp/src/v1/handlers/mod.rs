//! One file a method: each decodes, hands over to the runtime, and answers.

mod authenticate;
mod cancel;
mod close;
mod delete;
mod fork;
mod initialize;
mod list;
mod load;
mod new;
mod prompt;
mod resume;
mod set_config_option;
mod set_mode;
mod set_model;
mod set_title;
mod status;

pub(crate) use authenticate::{auth_status, authenticate, logout};
pub(crate) use cancel::cancel;
pub(crate) use close::close;
pub(crate) use delete::delete;
pub(crate) use fork::fork;
pub(crate) use initialize::initialize;
pub(crate) use list::list;
pub(crate) use load::load;
pub(crate) use new::new;
pub(crate) use prompt::prompt;
pub(crate) use resume::resume;
pub(crate) use set_config_option::set_config_option;
pub(crate) use set_mode::set_mode;
pub(crate) use set_model::set_model;
pub(crate) use set_title::set_title;
pub(crate) use status::status;
