//! Facts about a model that follow from its name. What the name does not determine is learned from
//! the server's refusals ([`refused_options`](crate::refused_options)).

/// How an Anthropic model uses extended thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// The model does not think.
    Never,
    /// Thinks only when the request gives a token budget. Versions 3.7 to 4.5.
    Budget,
    /// Thinks adaptively, only when the request enables it. From 4.6 on, and unknown names.
    Asked,
    /// Thinks adaptively, always. From 5 on. The text between calls arrives as thinking too, and is
    /// visible only when the request asks for a summary.
    Always,
}

/// Returns how a model thinks, from a name such as `claude-sonnet-4-5-20250929`,
/// `claude-3-5-haiku-latest` or `anthropic/claude-opus-4.5`.
pub(crate) fn anthropic_thinking(model: &str) -> Thinking {
    let Some((_, name)) = model.rsplit_once("claude-") else { return Thinking::Asked };
    // Version numbers have at most two digits; longer numbers are dates.
    let mut version = name
        .split(['-', '.', '@', ':'])
        .filter_map(|word| word.parse::<u32>().ok().filter(|_| word.len() < 3));
    match (version.next(), version.next().unwrap_or(0)) {
        (None, _) => Thinking::Asked,
        (Some(..3), _) | (Some(3), ..7) => Thinking::Never,
        (Some(3), _) | (Some(4), ..6) => Thinking::Budget,
        (Some(4), _) => Thinking::Asked,
        (Some(_), _) => Thinking::Always,
    }
}

/// Returns whether an OpenAI model supports tools over Responses only: GPT from 5.4 on, and models
/// for coding or deep research. The others are called over Chat Completions where the address is
/// not OpenAI's own, since more gateways support it.
pub(crate) fn wants_responses(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    if name.contains("codex") || name.contains("deep-research") {
        return true;
    }
    if ["gpt-5-pro", "o1-pro", "o3-pro"].iter().any(|only| name.starts_with(only)) {
        return true;
    }
    gpt_version(&name).is_some_and(|version| version >= (5, 4))
}

/// Returns whether an OpenAI model accepts only `max_completion_tokens` as the limit of an answer:
/// reasoning models do.
pub(crate) fn wants_completion_tokens(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let is_o =
        name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
    is_o || gpt_version(&name).is_some_and(|version| version >= (5, 0))
}

fn gpt_version(name: &str) -> Option<(u32, u32)> {
    let version = name.strip_prefix("gpt-")?.split('-').next()?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_determine_how_a_model_thinks() {
        use Thinking::*;
        for (model, expected) in [
            ("claude-2.1", Never),
            ("claude-3-haiku-20240307", Never),
            ("claude-3-5-sonnet-20241022", Never),
            ("claude-3-5-haiku-latest", Never),
            ("claude-3-7-sonnet-20250219", Budget),
            ("claude-opus-4-20250514", Budget),
            ("claude-opus-4-1", Budget),
            ("claude-sonnet-4-5-20250929", Budget),
            ("anthropic/claude-opus-4.5", Budget),
            ("claude-opus-4-6", Asked),
            ("claude-opus-4-8", Asked),
            ("claude-sonnet-5", Always),
            ("claude-sonnet-5-5", Always),
            ("claude-fable-5-1", Always),
            ("us.anthropic.claude-opus-5-5-20260901-v1:0", Always),
            ("kimi-k3", Asked),
            ("claude-next", Asked),
        ] {
            assert_eq!(anthropic_thinking(model), expected, "{model}");
        }
    }

    #[test]
    fn names_determine_the_wire_of_openai_models() {
        for (model, responses, completion) in [
            ("gpt-5.6-sol", true, true),
            ("openai/gpt-5.4-mini", true, true),
            ("gpt-6", true, true),
            ("gpt-5-codex", true, true),
            ("o3-pro", true, true),
            ("gpt-5", false, true),
            ("gpt-5.1-chat-latest", false, true),
            ("o4-mini", false, true),
            ("gpt-4.1", false, false),
            ("gpt-4o", false, false),
            ("gpt-oss-120b", false, false),
            ("gpt-test", false, false),
            ("qwen3:8b", false, false),
        ] {
            assert_eq!(wants_responses(model), responses, "{model}");
            assert_eq!(wants_completion_tokens(model), completion, "{model}");
        }
    }
}
