//! Parses a prompt into steps. The whole prompt is parsed before anything is done: one unclear step
//! makes the whole prompt unclear.

use super::{
    commands::COMMANDS,
    lexer::{self, Kind, Token},
    limits,
    phrase::{Phrase, short},
    progress::Prompt,
    step::{Command, ParsedStep, Step},
    step_split::{split_steps, strip_leading_fillers},
    tasks,
    verbs::is_verb,
};

/// The meaning of a prompt.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// Steps to do, in order.
    Work {
        /// The steps; at least one.
        steps: Vec<Box<dyn Step>>,
        /// Whether to keep a task list.
        plan: bool,
    },
    /// A request for help.
    Help,
    /// A greeting, or a question about what this is.
    Hello,
    /// Anything else; nothing is done.
    Unclear {
        /// The steps that are not clear.
        parts: Vec<UnclearStep>,
        /// The total number of steps.
        steps: usize,
    },
}

/// A step that could not be parsed.
#[derive(Debug)]
pub(crate) struct UnclearStep {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// Its words, shortened.
    pub(crate) text: String,
    /// The reason, if it began like a command.
    pub(crate) reason: Option<String>,
    /// Commands that resemble it.
    pub(crate) closest: Vec<&'static Command>,
}

/// Parses a prompt.
pub(crate) fn parse(prompt: &Prompt) -> Parsed {
    let parsed = parse_text(&prompt.text, &prompt.attached);
    if prompt.attached.is_empty() || matches!(parsed, Parsed::Work { .. }) {
        return parsed;
    }
    match parse_text(&prompt.inline, &prompt.attached) {
        work @ Parsed::Work { .. } => work,
        _ => parsed,
    }
}

fn parse_text(source: &str, attached: &[String]) -> Parsed {
    let source = unwrapped(source);
    if source.len() > limits::PROMPT_BYTES {
        return refuse(source, format!("it is longer than {} bytes", limits::PROMPT_BYTES));
    }
    let tokens = match lexer::lex(source) {
        Ok(tokens) => tokens,
        Err(reason) => return refuse(source, reason),
    };
    let it = match attached {
        [only] => Some(only.as_str()),
        _ => None,
    };
    let phrase = Phrase { source, tokens: &tokens, it }.trimmed();
    if let Some(answer) = small_talk(phrase) {
        return answer;
    }
    match plan(phrase) {
        Plan::Tasks(Ok(step)) => Parsed::Work { steps: vec![step], plan: false },
        Plan::Tasks(Err(reason)) => refuse(source, reason),
        Plan::Steps(rest) => work(rest, true),
        Plan::None => work(phrase, false),
    }
}

/// Returns the content of a pair of tags around the whole prompt, as some clients send it:
/// `<previous_user_message>…</previous_user_message>`.
fn unwrapped(source: &str) -> &str {
    let inside = || {
        let (name, rest) = source.trim().strip_prefix('<')?.split_once('>')?;
        let plain = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        let rest = rest.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?;
        (plain && !rest.contains(&format!("<{name}>"))).then_some(rest.trim())
    };
    inside().unwrap_or(source)
}

enum Plan<'a> {
    None,
    Tasks(ParsedStep),
    Steps(Phrase<'a>),
}

const GREETINGS: &[&str] = &[
    "hello",
    "hi",
    "hey",
    "hello there",
    "hi there",
    "good morning",
    "good evening",
    "who are you",
    "what are you",
    "what is this",
    "are you an ai",
    "are you a language model",
    "are you a bot",
    "are you there",
    "which model are you",
    "what model are you",
    "what model is this",
    "which model is this",
    "hello who are you",
    "thanks",
    "thank you",
];
const HELP: &[&str] = &[
    "help",
    "?",
    "/help",
    "help me",
    "commands",
    "what can you do",
    "what do you understand",
    "how do i use you",
    "how do i use this",
    "how does this work",
    "what now",
    "how do i connect a model",
    "how do i connect a language model",
    "connect a model",
];
const TRAILERS: &[&str] = &["please", "for me", "thanks", "thank you", "now"];

fn small_talk(phrase: Phrase<'_>) -> Option<Parsed> {
    let words: Vec<String> = phrase
        .tokens
        .iter()
        .filter(|token| token.kind == Kind::Word)
        .map(|token| token.text.to_lowercase())
        .collect();
    let has_literal = phrase.tokens.iter().any(Token::is_literal);
    let words = words.join(" ");
    if has_literal {
        return None;
    }
    if words.is_empty() || HELP.contains(&words.as_str()) {
        return Some(Parsed::Help);
    }
    GREETINGS.contains(&words.as_str()).then_some(Parsed::Hello)
}

fn plan(mut phrase: Phrase<'_>) -> Plan<'_> {
    phrase = strip_leading_fillers(phrase);
    if phrase.consume(&[
        "with a plan",
        "with a task list",
        "with a todo list",
        "using a plan",
        "using a task list",
        "plan and do",
    ]) {
        return Plan::Steps(phrase.trimmed());
    }
    let mut rest = phrase;
    if !rest.consume(&["make", "create", "write"]) {
        return Plan::None;
    }
    rest.consume(&["a", "the"]);
    if !rest.consume(&["plan", "task list", "todo list", "list of tasks"]) {
        return Plan::None;
    }
    if rest.consume(&["and do it", "and run it", "and execute it", "and follow it"]) {
        return Plan::Steps(rest.trimmed());
    }
    if rest.is_empty() {
        return Plan::Tasks(Err("the plan has no tasks".to_owned()));
    }
    let is_list = rest.consume_kind(Kind::Colon) || rest.consume(&["with", "of", "for"]);
    if !is_list {
        let continues = rest.at("and")
            || rest.at("then")
            || rest.tokens.first().is_some_and(|token| !token.is_literal() && token.kind != Kind::Word);
        return if continues { Plan::Steps(rest.trimmed()) } else { Plan::None };
    }
    rest.consume(&["the tasks", "tasks", "the steps", "steps"]);
    let rest = rest.trimmed();
    if rest.is_empty() {
        return Plan::Tasks(Err("the plan has no tasks".to_owned()));
    }
    let cut = |kind: Kind| -> Vec<Phrase<'_>> {
        let parts = rest.tokens.split(|token| token.kind == kind).map(|tokens| rest.with(tokens).trimmed());
        parts.filter(|part| !part.is_empty()).collect()
    };
    let parts = [Kind::Break, Kind::Semicolon].into_iter().map(cut).find(|parts| parts.len() > 1);
    Plan::Tasks(tasks::read(parts.unwrap_or_else(|| rest.parts())))
}

fn work(phrase: Phrase<'_>, plan: bool) -> Parsed {
    let pieces = split_steps(phrase);
    if pieces.is_empty() {
        return refuse(phrase.source, "it has no steps".to_owned());
    }
    let mut it = phrase.it.map(str::to_owned);
    let mut steps = Vec::new();
    let mut parts = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        match parse_piece(*piece, &mut it) {
            Ok(parsed) => steps.extend(parsed),
            Err(reason) => {
                let closest = closest(*piece);
                parts.push(UnclearStep { number: index + 1, text: piece.short(), reason, closest });
            }
        }
    }
    if !parts.is_empty() {
        return Parsed::Unclear { parts, steps: pieces.len() };
    }
    if steps.len() > limits::STEPS {
        return refuse(phrase.source, format!("it has more than {} steps", limits::STEPS));
    }
    Parsed::Work { steps, plan }
}

/// Parses a piece as one step, or as several that are joined by "and" or a comma and are all valid.
fn parse_piece(piece: Phrase<'_>, it: &mut Option<String>) -> Result<Vec<Box<dyn Step>>, Option<String>> {
    let reason = match command(Phrase { it: it.as_deref(), ..piece }) {
        Some(Ok(step)) => {
            *it = step.file().map(str::to_owned).or(it.take());
            return Ok(vec![step]);
        }
        Some(Err(reason)) => Some(reason),
        None => None,
    };
    let joins = |index: &usize| {
        let is_join = piece.tokens[*index].kind == Kind::Comma || piece.tokens[*index].is_word("and");
        is_join && piece.tokens.get(index + 1).is_some_and(|token| token.is_word("and") || is_verb(token))
    };
    let Some(index) = (1..piece.tokens.len()).find(joins) else { return Err(reason) };
    let mut trial = it.clone();
    let first =
        command(Phrase { it: it.as_deref(), ..strip_leading_fillers(piece.with(&piece.tokens[..index])) });
    let Some(Ok(first)) = first else { return Err(reason) };
    trial = first.file().map(str::to_owned).or(trial);
    let rest = parse_piece(strip_leading_fillers(piece.with(&piece.tokens[index + 1..])), &mut trial)
        .map_err(|_| reason)?;
    *it = trial;
    Ok(std::iter::once(first).chain(rest).collect())
}

fn command(phrase: Phrase<'_>) -> Option<ParsedStep> {
    let mut polite = phrase;
    // A command line is kept up to its last word; elsewhere, thanks at the end are dropped.
    if !phrase.at("run") && !phrase.at("execute") {
        while polite.consume_end(TRAILERS) {
            polite = polite.trimmed();
        }
    }
    COMMANDS.iter().find_map(|command| (command.parse)(polite))
}

fn closest(phrase: Phrase<'_>) -> Vec<&'static Command> {
    let words: Vec<String> = phrase
        .tokens
        .iter()
        .filter(|token| token.kind == Kind::Word)
        .take(12)
        .map(|token| token.text.to_lowercase())
        .collect();
    let likeness = |command: &Command| {
        let pairs = words
            .iter()
            .enumerate()
            .flat_map(|(place, word)| command.verbs.iter().map(move |verb| (place, word, verb)));
        let scores = pairs.map(|(place, word, verb)| {
            let like =
                strsim::normalized_damerau_levenshtein(&word.chars().take(20).collect::<String>(), verb);
            if like < 0.6 { 0.0 } else { like - place as f64 * 0.02 }
        });
        scores.fold(0.0, f64::max)
    };
    let mut scored: Vec<(f64, &'static Command)> =
        COMMANDS.iter().map(|command| (likeness(command), *command)).collect();
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let found: Vec<_> = scored.into_iter().take(3).map(|(_, command)| command).collect();
    if !found.is_empty() {
        return found;
    }
    vec![&super::show::COMMAND, &super::replace::COMMAND, &super::search::SEARCH, &super::run::COMMAND]
}

fn refuse(source: &str, reason: String) -> Parsed {
    let start: String = source.chars().take(limits::SNIPPET_CHARS * 2).collect();
    let closest = vec![&super::show::COMMAND, &super::replace::COMMAND, &super::write::COMMAND];
    let part = UnclearStep { number: 1, text: short(&start), reason: Some(reason), closest };
    Parsed::Unclear { parts: vec![part], steps: 1 }
}
