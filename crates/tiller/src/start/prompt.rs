//! `tiller [PROMPT]`: a run that prints an answer, or the interface.

use super::{Resolved, directory, flags, resolve_settings};
use crate::{
    answer::{Console, Failure, Kind},
    args::{OutputFormat, PrintArgs, ScreenMode, SessionArgs},
    config::{self, Flags, PromptFlags},
    environment::{self, Environment},
    exit::Exit,
    extensions::Extensions,
    failure::usage,
    headless::{
        self, Ask, ProgressKind, Run, RunOutput,
        given::{self, AnswerSchema},
    },
    interface::{self, Connected, InterfaceOptions},
    opening::{Opening, Overrides, SessionChoice},
    options::{Options, ScreenChoice},
    settings::Settings,
    streams,
    wiring::{self, App, SessionStorage},
};
use agent::{Credentials, Models as _, SessionId};
use anyhow::Result;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use system::{AbsPath, LoginShell, System};
use tui::driver::reply::Attachment;

/// Runs the prompt, or opens the interface.
pub(super) async fn print(args: PrintArgs, environment: &Environment, console: &Console) -> Result<Exit> {
    let format = match args.output_format {
        OutputFormat::Text if console.is_json() => OutputFormat::Json,
        format => format,
    };
    let on_terminal = console.may_ask() && streams::stdout_is_terminal();
    let result = async {
        let given = given_prompt(&args)?;
        let opens = args.print.is_none() && format == OutputFormat::Text && on_terminal;
        let picks = matches!(args.resume, Some(None)) && on_terminal && given.is_none();
        match args.interactive || opens || picks {
            true => open_interface(args, given, picks, environment, console).await,
            false => run_headless(args, given, format, environment, console).await,
        }
    };
    result.await
}

/// Returns the prompt of the arguments, which is one word of the shell.
fn given_prompt(args: &PrintArgs) -> Result<Option<String>> {
    match (&args.print, args.prompt.as_slice()) {
        (Some(Some(_)), [extra, ..]) | (_, [_, extra, ..]) => {
            Err(usage(format!("two prompts; quote the whole prompt (what follows it: {extra:?})")))
        }
        (Some(Some(given)), []) => Ok(Some(given.clone())),
        (_, [given]) => Ok(Some(given.clone())),
        (_, []) => Ok(None),
    }
}

async fn run_headless(
    args: PrintArgs,
    given: Option<String>,
    format: OutputFormat,
    environment: &Environment,
    console: &Console,
) -> Result<Exit> {
    let deadline = args.timeout.and_then(|time| Instant::now().checked_add(Duration::from_secs(time)));
    if given.is_none() && args.print.is_none() && !headless::prompt::is_piped() {
        return Err(Failure::new(
            Kind::Usage,
            "nothing to do: there is no prompt, no pipe on stdin and no terminal",
        )
        .next("tiller -p PROMPT")
        .next("tiller acp")
        .next("tiller setup")
        .into());
    }
    let Some(prompt) = headless::prompt::read(given, args.no_stdin, deadline).await? else {
        return Err(Failure::new(Kind::Limit, "no prompt came on stdin within the time (--timeout)").into());
    };
    let schema = match &args.output_schema {
        Some(file) => Some(AnswerSchema::read(files().as_ref(), &environment::current_dir()?, file).await?),
        None => None,
    };
    let started = Started::new(&args, Some(headless::NO_USER), schema.as_ref(), environment, console).await?;
    let app = &started.app;
    if started.options.session.model.is_none() {
        // A headless run has time to wait until the local server has listed its models.
        app.catalog.resolve_default().await;
    }
    // The line would be mixed with an answer that streams to the same terminal.
    let progress = match streams::stderr_is_terminal() {
        true if !streams::stdout_is_terminal() && !console.is_quiet() => Some(ProgressKind::Live),
        _ if args.verbose => Some(ProgressKind::Lines),
        _ => None,
    };
    let images = started.images.into_iter().map(given::content).collect();
    let run = Run {
        cwd: started.cwd,
        ask: Ask { prompt, images, schema },
        session: started.session,
        output: RunOutput { format, partial: args.include_partial.unwrap_or(true), progress },
        timeout: args.timeout,
        deadline,
    };
    headless::run(&app.runtime, wiring::local_system(&started.options), run).await
}

/// Opens the interface in the terminal.
async fn open_interface(
    args: PrintArgs,
    given: Option<String>,
    picks: bool,
    environment: &Environment,
    console: &Console,
) -> Result<Exit> {
    let is_json = if args.output_format == OutputFormat::Text { "--json" } else { "--output-format" };
    let flag = flag_of_headless(&args).or(console.is_json().then_some(is_json));
    if let Some(flag) = flag {
        return Err(usage(format!("{flag} is for a run that prints its answer; add -p, or leave it out")));
    }
    // With -i a pipe is context, and keys come from the terminal.
    let prompt = match headless::prompt::is_piped() && !args.no_stdin {
        true => headless::prompt::read(given, false, None).await?,
        false => given,
    };
    let mut started = Started::new(&args, None, None, environment, console).await?;
    if picks {
        started.session.choice = SessionChoice::New;
    }
    let wanted = InterfaceOptions {
        prompt,
        images: started.images,
        session: started.session,
        chooses: picks,
        screen: args.screen.map(|screen| match screen {
            ScreenMode::Inline => ScreenChoice::Inline,
            ScreenMode::Full => ScreenChoice::Full,
            ScreenMode::Plain => ScreenChoice::Plain,
        }),
        no_animation: args.no_animation,
    };
    let connected = Connected {
        app: &started.app,
        options: &started.options,
        settings: &started.settings,
        cwd: &started.cwd,
        environment,
    };
    interface::run(wanted, connected, console).await
}

/// Returns a flag that means nothing in the interface.
fn flag_of_headless(args: &PrintArgs) -> Option<&'static str> {
    let given = [
        (args.timeout.is_some(), "--timeout"),
        (args.output_schema.is_some(), "--output-schema"),
        (args.include_partial.is_some(), "--include-partial"),
        (args.verbose, "--verbose"),
    ];
    given.into_iter().find_map(|(given, flag)| given.then_some(flag))
}

/// What the flags of a prompt make, with and without the interface.
struct Started {
    app: App,
    settings: Arc<Settings>,
    options: Options,
    cwd: AbsPath,
    session: Opening,
    images: Vec<Attachment>,
}

impl Started {
    /// Checks the flags, reads the files that they name, and connects the runtime. `append` follows
    /// the user's text in the system prompt.
    async fn new(
        args: &PrintArgs,
        append: Option<&str>,
        schema: Option<&AnswerSchema>,
        environment: &Environment,
        console: &Console,
    ) -> Result<Self> {
        let cwd = environment::current_dir()?;
        let files = files();
        let read = async |flag: &str, text: &Option<String>| match text {
            Some(text) => given::text(files.as_ref(), &cwd, flag, text.clone()).await.map(Some),
            None => Ok(None),
        };
        let system_prompt = read("--system-prompt", &args.system_prompt).await?;
        let appended = [
            read("--append-system-prompt", &args.append_system_prompt).await?,
            append.map(str::to_owned),
            schema.map(AnswerSchema::instruction),
        ];
        let appended: Vec<String> = appended.into_iter().flatten().collect();
        let mut images = Vec::new();
        for file in &args.image {
            images.push(given::image(files.as_ref(), &cwd, file).await?);
        }
        let mut directories = Vec::new();
        for given in &args.add_dir {
            directories.push(directory("--add-dir", Some(given))?);
        }
        check_rules(args)?;
        let prompt_flags = PromptFlags {
            system_prompt,
            append_system_prompt: (!appended.is_empty()).then(|| appended.join("\n\n")),
            answer_schema: schema.map(|schema| schema.schema.clone()),
        };
        let flags = with_model(args, prompt_flags, environment, console).await?;
        let overrides = Overrides {
            model: flags.model.clone(),
            mode: flags.mode,
            permission_mode: flags.permission_mode,
            effort: args.effort,
        };
        let session = Opening {
            choice: choice(args)?,
            take_over: args.take_over,
            fork: args.fork,
            directories,
            overrides,
            needs_model: true,
            has_images: !images.is_empty(),
        };
        let Resolved { settings, options, cwd } = resolve_settings(environment, flags).await?;
        let storage = if args.no_session { SessionStorage::ForThisRun } else { SessionStorage::InData };
        let providers = Extensions::new(&settings, &options, environment).tool_providers();
        let app = wiring::wire(&settings, &options, storage, providers)?;
        Ok(Self { app, options, settings, cwd, session, images })
    }
}

fn check_rules(args: &PrintArgs) -> Result<()> {
    for rule in args.allow.iter().chain(&args.deny) {
        rule.check_tool().map_err(|why| usage(format!("the rule {rule}: {why}")))?;
    }
    match args.allow.iter().find_map(|rule| Some((rule, rule.too_wide_to_allow()?))) {
        Some((rule, why)) => Err(usage(format!("--allow {rule}: {why}"))),
        None => Ok(()),
    }
}

fn choice(args: &PrintArgs) -> Result<SessionChoice> {
    let choice = match (&args.session_id, &args.resume) {
        (Some(id), _) | (None, Some(Some(id))) => SessionChoice::This(SessionId(id.clone())),
        (None, Some(None)) => SessionChoice::Last,
        (None, None) if args.latest => SessionChoice::Last,
        (None, None) => SessionChoice::New,
    };
    if args.fork && choice == SessionChoice::New {
        return Err(usage("--fork copies a session; name it with --session, or use --continue"));
    }
    Ok(choice)
}

/// Returns the flags with the first model that has a key, and with the models after it, with which
/// sessions go on when a provider fails.
async fn with_model(
    args: &PrintArgs,
    prompt: PromptFlags,
    environment: &Environment,
    console: &Console,
) -> Result<Flags> {
    let mut models = args.session.model.iter().flat_map(|given| given.split(','));
    let session = SessionArgs { model: models.next().map(str::to_owned), ..args.session.clone() };
    let mut others = models
        .map(|model| config::check_model(model).map_err(|problem| usage(format!("--model {problem}"))))
        .collect::<Result<Vec<_>>>()?;
    let mut flags = Flags {
        allow: args.allow.iter().chain(&args.allow_host).cloned().collect(),
        deny: args.deny.clone(),
        ..flags(&session, prompt, args.max_turns)?
    };
    if !others.is_empty() {
        // Without a key, a model fails before a session could begin with it.
        let resolved = resolve_settings(environment, flags.clone()).await?;
        let catalog = wiring::catalog(&resolved.options, environment.redactor(), &resolved.cwd);
        let has_key = |model: &String| catalog.credentials(model) != Credentials::Missing;
        while !flags.model.as_ref().is_some_and(has_key) && !others.is_empty() {
            let next = others.remove(0);
            console.note(&format!(
                "tiller: {} has no key; trying {next}",
                flags.model.as_deref().unwrap_or_default()
            ));
            flags.model = Some(next);
        }
    }
    if !others.is_empty() {
        flags.models_in_order = flags.model.iter().cloned().chain(others).collect();
    }
    Ok(flags)
}

/// Returns the system that reads the files of flags.
fn files() -> Arc<dyn System> {
    wiring::local(Vec::new(), Vec::new(), LoginShell::default())
}
