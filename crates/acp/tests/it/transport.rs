//! Connects an editor over the transport that `TILLER_TEST_TRANSPORT` names: every conversation
//! must be the same over each of them. Without the variable, over a pipe, as with stdin and stdout.

use acp::{
    AcpOptions, ServeError,
    testing::{Editor, EditorScript},
};
use agent::{Principal, Runtime};
use async_trait::async_trait;
use serve::{
    Access, Application, Carried, Listener, ServeOptions, Server,
    auth::{Credentials, FileTokens, Source, wall_clock},
    connect::{ConnectError, ConnectOptions, Dial, DialUnix, Stream},
};
use std::{io, sync::Arc, time::Duration};
use system::{AbsPath, FakeSystem};

/// Connects an editor to an agent in this process.
pub(crate) fn connect(runtime: Arc<Runtime>, options: AcpOptions, script: EditorScript) -> Editor {
    match transport().as_str() {
        "pipe" => Editor::connect(runtime, options, script),
        "websocket" => over_websocket(runtime, options, script),
        "http1" => over_http(runtime, options, script, false),
        "http2" => over_http(runtime, options, script, true),
        "unix" => over_unix(runtime, options, script),
        other => panic!("unknown transport {other}"),
    }
}

/// Returns the name of the transport.
#[expect(clippy::disallowed_methods, reason = "the run of the tests chooses the transport")]
fn transport() -> String {
    std::env::var("TILLER_TEST_TRANSPORT").unwrap_or_else(|_| "pipe".to_owned())
}

/// The protocol behind a server.
struct Served {
    runtime: Arc<Runtime>,
    options: AcpOptions,
}

#[async_trait]
impl Application for Served {
    async fn serve(&self, connection: Carried) {
        let Carried { reader, writer, .. } = connection;
        let options = AcpOptions { output_closed: Default::default(), ..self.options.clone() };
        if let Err(error) = acp::serve(self.runtime.clone(), reader, writer, options).await {
            println!("{error}");
        }
    }
}

fn server(runtime: Arc<Runtime>, options: AcpOptions) -> Server {
    let application = Arc::new(Served { runtime, options });
    // No test sends a token: its socket is that of a user of this machine.
    let path = AbsPath::new("/tokens.toml").unwrap();
    let tokens = Arc::new(FileTokens::new(Arc::new(FakeSystem::new()), wall_clock(), path));
    let access =
        Access::new(Arc::new(Credentials::new(tokens, wall_clock())), |_uid| Principal::local("user"));
    Server::new(application, access, ServeOptions::default()).unwrap()
}

/// Dials a server in this process over a pipe, so that tests with a paused clock work.
struct DialPipe(Arc<Server>);

#[async_trait]
impl Dial for DialPipe {
    async fn dial(&self) -> io::Result<Box<dyn Stream>> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        self.0.serve_socket(theirs, Source::Unix(0));
        Ok(Box::new(ours))
    }
}

fn over_websocket(runtime: Arc<Runtime>, options: AcpOptions, script: EditorScript) -> Editor {
    let dial = Arc::new(DialPipe(Arc::new(server(runtime, options))));
    bridged(script, async move { dial as Arc<dyn Dial> })
}

fn over_http(runtime: Arc<Runtime>, options: AcpOptions, script: EditorScript, two: bool) -> Editor {
    let dial = Arc::new(DialPipe(Arc::new(server(runtime, options))));
    let (writer, from_editor) = tokio::io::duplex(64 * 1024);
    let (to_editor, reader) = tokio::io::duplex(64 * 1024);
    let served = tokio::spawn(async move {
        crate::http_client::carry(dial, two, from_editor, to_editor).await;
        Ok(())
    });
    Editor::served(reader, writer, script, served)
}

fn over_unix(runtime: Arc<Runtime>, options: AcpOptions, script: EditorScript) -> Editor {
    bridged(script, async move {
        let directory = system::TemporaryDirectory::new().unwrap();
        let path = directory.path().join("tiller/serve.sock");
        let listener = Listener::unix(path.clone()).await.unwrap();
        let server = server(runtime, options);
        server.listen(listener);
        // Both live as long as the test's process.
        std::mem::forget((server, directory));
        Arc::new(DialUnix(path)) as Arc<dyn Dial>
    })
}

/// Connects an editor through the client that `tiller connect` runs.
fn bridged(script: EditorScript, dial: impl Future<Output = Arc<dyn Dial>> + Send + 'static) -> Editor {
    let (writer, from_editor) = tokio::io::duplex(64 * 1024);
    let (to_editor, reader) = tokio::io::duplex(64 * 1024);
    let served = tokio::spawn(async move {
        let options = ConnectOptions {
            dial: dial.await,
            host: "localhost".to_owned(),
            path: "/acp".to_owned(),
            authorization: Arc::new(|| None),
            give_up: Duration::from_secs(60),
        };
        match serve::connect::connect(options, from_editor, to_editor).await {
            Ok(()) => Ok(()),
            // As when an editor does not read any more.
            Err(error @ ConnectError::Io(_)) => Err(ServeError::Connection(error.to_string())),
            Err(error) => panic!("{error}"),
        }
    });
    Editor::served(reader, writer, script, served)
}

/// Whether conversations are over a pipe. Tests of what only a pipe does begin with it.
pub(crate) fn is_pipe() -> bool {
    transport() == "pipe"
}

/// Whether every message is a request of its own: there is no end of the input, nothing comes
/// before `initialize`, and the test's client reads all the time.
pub(crate) fn is_http() -> bool {
    matches!(transport().as_str(), "http1" | "http2")
}
