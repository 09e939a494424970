//! A session that is opened for one command and prints nothing.

use crate::{
    args::OutputFormat,
    headless::{client::HeadlessClient, output::Output},
};
use agent::Surface;
use std::{
    io::Write,
    sync::{Arc, Mutex},
};
use system::System;

/// Returns the surface of such a session.
pub(super) fn surface(system: Arc<dyn System>) -> Surface {
    let silent: Box<dyn Write + Send> = Box::new(std::io::sink());
    let output = Arc::new(Mutex::new(Output::new(OutputFormat::Text, silent, || 0)));
    Surface { client: Arc::new(HeadlessClient::new(output)), system }
}
