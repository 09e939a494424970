//! Every limit of this crate, in one place.

use std::time::Duration;

/// How long a server has to connect and to tell its tools, unless its description says otherwise.
pub(crate) const CONNECT: Duration = Duration::from_secs(30);
/// How long a call may take, unless the server's description says otherwise.
pub(crate) const CALL: Duration = Duration::from_secs(120);
/// How long a call may take in all, however much its server says meanwhile; time in which the user
/// or the model is asked not counted.
pub(crate) const CALL_MAX: Duration = Duration::from_secs(3600);
/// Lines of a server's log that are shown with a call.
pub(crate) const SAID_LINES: usize = 20;
/// Characters of one of them, and of what is said of progress.
pub(crate) const SAID_CHARS: usize = 300;
/// The shortest time between two times that something new is shown of a call.
pub(crate) const SAID_EVERY: Duration = Duration::from_millis(100);
/// Messages of a stream of events that wait to be read.
pub(crate) const SSE_WAITING: usize = 64;
/// The longest that a description may ask for.
pub(crate) const TIMEOUT_MAX: Duration = Duration::from_secs(3600);
/// How long the first request to a model waits for servers that are still starting, counted from the session's start.
pub(crate) const FIRST_WAIT: Duration = Duration::from_secs(3);
/// How long the files of servers are left alone after a session's start, unless its tools are asked for: its answer comes first.
pub(crate) const HEAD_START: Duration = Duration::from_millis(20);
/// How long a call waits for a server that is being started again.
pub(crate) const RESTART_WAIT: Duration = Duration::from_secs(10);
/// How often in a row a server is started in vain before it is given up.
pub(crate) const TRIES: u32 = 5;
/// The wait before the second try; it doubles each time.
pub(crate) const BACK_OFF: Duration = Duration::from_millis(500);
/// The longest wait between two tries.
pub(crate) const BACK_OFF_MAX: Duration = Duration::from_secs(30);
/// A server that ran this long before it ended begins to be tried anew.
pub(crate) const STEADY: Duration = Duration::from_secs(60);
/// News of changed tools are gathered for this long before the tools are asked for.
pub(crate) const DEBOUNCE: Duration = Duration::from_millis(250);
/// The shortest time between two times that a server's tools are asked for.
pub(crate) const RELIST_EVERY: Duration = Duration::from_secs(2);
/// How long a server has to end when its session does.
pub(crate) const CLOSE: Duration = Duration::from_secs(3);
/// Bytes of one message of a server.
pub(crate) const MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Lines in a row that are no message before a server is given up on.
pub(crate) const GARBAGE_LINES: usize = 1_000;
/// How long one message may take to be written to a server that does not read.
pub(crate) const SEND: Duration = Duration::from_secs(30);
/// Bytes of a server's standard error that are kept.
pub(crate) const ERROR_BYTES: usize = 16 * 1024;
/// Characters of them that a message shows.
pub(crate) const ERROR_CHARS: usize = 400;
/// Servers of one session.
pub(crate) const SERVERS: usize = 64;
/// Tools of one server.
pub(crate) const TOOLS: usize = 512;
/// Pages of a list that are asked for.
pub(crate) const PAGES: usize = 64;
/// Bytes of a tool's description that models are told.
pub(crate) const DESCRIPTION_BYTES: usize = 4 * 1024;
/// Bytes of a tool's schema; one with a larger one is left out.
pub(crate) const SCHEMA_BYTES: usize = 64 * 1024;
/// Tools of all servers that models are told of without asking for them.
pub(crate) const OFFERED_TOOLS: usize = 64;
/// Bytes of their descriptions and schemas.
pub(crate) const OFFERED_BYTES: usize = 96 * 1024;
/// Tools that one search returns.
pub(crate) const SEARCH_RESULTS: usize = 20;
/// Bytes of one image of a result, in base64; a larger one is described.
pub(crate) const IMAGE_BYTES: usize = 5 * 1024 * 1024;
/// Images of one result.
pub(crate) const IMAGES: usize = 8;
/// Resources that one listing returns.
pub(crate) const RESOURCES: usize = 200;
/// Bytes of a file that describes servers.
pub(crate) const FILE_BYTES: usize = 1024 * 1024;
/// Fields of a form that a server asks the user to fill in.
pub(crate) const FIELDS: usize = 8;
/// Characters of one text of a server in a question to the user.
pub(crate) const QUESTION_CHARS: usize = 1_000;
/// How often a server may ask the model while one of its tools is being called.
pub(crate) const SAMPLES: usize = 16;
/// Tokens of one such answer, at the most.
pub(crate) const SAMPLE_TOKENS: u64 = 8_192;
/// Messages of one such request.
pub(crate) const SAMPLE_MESSAGES: usize = 64;
/// Bytes of text of one such request.
pub(crate) const SAMPLE_BYTES: usize = 200_000;
/// Prompts of one server.
pub(crate) const PROMPTS: usize = 100;
/// Characters of a prompt's description that clients are told.
pub(crate) const PROMPT_CHARS: usize = 200;
/// Bytes of text of one resource, or of one prompt, that go into a message.
pub(crate) const ATTACHED_BYTES: usize = 100_000;
/// How long a server has to tell its resources, or one of them, for a prompt that mentions it.
pub(crate) const MENTION: Duration = Duration::from_secs(15);
/// Requests that a gateway works on at the same time.
pub(crate) const SERVED_AT_ONCE: usize = 16;
/// Requests of its client that run or wait, and answers that wait to be read.
pub(crate) const SERVED_WAITING: usize = 256;
/// Bytes of an answer of an authorization server.
pub(crate) const OAUTH_BYTES: usize = 256 * 1024;
/// How long an authorization server has to answer.
pub(crate) const OAUTH_REQUEST: Duration = Duration::from_secs(20);
/// How long an authority has to take tokens back when somebody signs out.
pub(crate) const OAUTH_REVOKE: Duration = Duration::from_secs(5);
/// How long somebody has to sign in.
pub(crate) const OAUTH_LOGIN: Duration = Duration::from_secs(300);
/// A token that ends sooner than this is renewed before it is used.
pub(crate) const OAUTH_MARGIN: Duration = Duration::from_secs(60);
/// Bytes of the browser's request that brings the answer.
pub(crate) const OAUTH_ANSWER: usize = 16 * 1024;
/// How long the browser has to send it.
pub(crate) const OAUTH_HEAD: Duration = Duration::from_secs(5);
