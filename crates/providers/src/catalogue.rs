//! What is known of models: a small table, dated, and careful guesses for all others.

use agent::ModelInfo;

/// A row of the table.
#[derive(Debug, Clone, Copy)]
struct Known {
    model: &'static str,
    name: &'static str,
    context_size: u64,
    max_output: u64,
}

/// As published by OpenAI, read in November 2026; the first is the default. All take images.
const OPENAI: &[Known] = &[
    known("gpt-5.6-sol", "GPT-5.6 Sol", 1_050_000, 128_000),
    known("gpt-5.6-terra", "GPT-5.6 Terra", 1_000_000, 128_000),
    // Sources differ between 400,000 and 1,000,000: the smaller is safe.
    known("gpt-5.6-luna", "GPT-5.6 Luna", 400_000, 128_000),
    known("gpt-5.5", "GPT-5.5", 1_050_000, 128_000),
    known("gpt-5", "GPT-5", 400_000, 128_000),
    known("gpt-4.1", "GPT-4.1", 1_047_576, 32_768),
];

/// As published by Anthropic, read in November 2026; the first is the default. All take images.
const ANTHROPIC: &[Known] = &[
    known("claude-sonnet-5-5", "Claude Sonnet 5.5", 1_000_000, 128_000),
    known("claude-opus-5-5", "Claude Opus 5.5", 1_000_000, 128_000),
    known("claude-fable-5-1", "Claude Fable 5.1", 1_000_000, 128_000),
    // Its limits were not to be found: those of the one before are safe.
    known("claude-haiku-5-5", "Claude Haiku 5.5", 200_000, 64_000),
    known("claude-opus-5", "Claude Opus 5", 1_000_000, 128_000),
    known("claude-sonnet-5", "Claude Sonnet 5", 1_000_000, 128_000),
    known("claude-haiku-4-5", "Claude Haiku 4.5", 200_000, 64_000),
    known("claude-sonnet-4-5", "Claude Sonnet 4.5", 200_000, 64_000),
];

const fn known(model: &'static str, name: &'static str, context_size: u64, max_output: u64) -> Known {
    Known { model, name, context_size, max_output }
}

/// The models of a vendor that are worth listing.
pub(crate) fn listed(provider: &str) -> Vec<ModelInfo> {
    table(provider).iter().map(|known| known.info(provider, known.model)).collect()
}

/// The model of a vendor for those who name none.
pub(crate) fn first(provider: &str) -> Option<&'static str> {
    table(provider).first().map(|known| known.model)
}

/// The vendor that a bare model name is known from.
pub(crate) fn provider_of(model: &str) -> Option<&'static str> {
    ["openai", "anthropic"].into_iter().find(|provider| find(provider, model).is_some())
}

/// What is known of a model, or guessed. A dated name (`gpt-5-2025-08-07`) is as its family.
pub(crate) fn info(provider: &str, model: &str) -> ModelInfo {
    if let Some(known) = find(provider, model) {
        return known.info(provider, model);
    }
    let (context_size, max_output, images) = match provider {
        "anthropic" => (200_000, 32_000, true),
        "gemini" => (1_048_576, 65_536, true),
        "openai" => (128_000, 16_384, true),
        // What a server was started with is not told. Too large a guess is cut off silently, too small a one ends turns early.
        "local" => (32_768, 8_192, false),
        _ => (128_000, 8_192, false),
    };
    ModelInfo {
        id: format!("{provider}/{model}"),
        name: model.to_owned(),
        description: None,
        context_size,
        max_output,
        images,
        disclosure: None,
        ..ModelInfo::default()
    }
}

impl Known {
    fn info(self, provider: &str, model: &str) -> ModelInfo {
        ModelInfo {
            id: format!("{provider}/{model}"),
            name: if model == self.model { self.name.to_owned() } else { model.to_owned() },
            description: None,
            context_size: self.context_size,
            max_output: self.max_output,
            images: true,
            disclosure: None,
            ..ModelInfo::default()
        }
    }
}

fn table(provider: &str) -> &'static [Known] {
    match provider {
        "openai" => OPENAI,
        "anthropic" => ANTHROPIC,
        _ => &[],
    }
}

fn find(provider: &str, model: &str) -> Option<Known> {
    table(provider).iter().copied().find(|known| {
        let date = model.strip_prefix(known.model);
        // A date has eight digits, with or without hyphens; `gpt-5-mini` or `claude-opus-5-6` is another model.
        date.is_some_and(|date| {
            date.is_empty()
                || (date.starts_with('-')
                    && date.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
                    && date.bytes().filter(u8::is_ascii_digit).count() == 8)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dated_names_are_known_and_unknown_ones_guessed_carefully() {
        for (provider, model, context, images) in [
            ("openai", "gpt-5", 400_000, true),
            ("openai", "gpt-5-2025-08-07", 400_000, true),
            ("openai", "gpt-5-mini", 128_000, true),
            ("anthropic", "claude-haiku-4-5-20251001", 200_000, true),
            ("anthropic", "claude-opus-5-9", 200_000, true),
            ("local", "qwen3:8b", 32_768, false),
            ("groq", "x", 128_000, false),
        ] {
            let info = info(provider, model);
            assert_eq!((info.context_size, info.images), (context, images), "{model}");
            assert_eq!(info.id, format!("{provider}/{model}"));
        }
        assert_eq!(provider_of("gpt-5"), Some("openai"));
        assert_eq!(provider_of("claude-opus-5-5"), Some("anthropic"));
        assert_eq!(provider_of("x"), None);
    }
}
