//! The size of a model, and the tool profile that follows from it.

use agent::ToolProfile;

/// Models with fewer parameters get few tools.
const SMALL_PARAMETERS: u64 = 9_000_000_000;
/// Models with fewer parameters cannot use tools on their own and are guided.
const GUIDED_PARAMETERS: u64 = 4_000_000_000;
/// Models with a smaller context than this get few tools, in tokens.
const SMALL_CONTEXT: u64 = 24_000;

/// Returns the tool profile for a context size and a number of parameters, if known.
pub(crate) fn profile(context_size: u64, parameters: Option<u64>) -> ToolProfile {
    let fewer_than = |limit| parameters.is_some_and(|parameters| parameters < limit);
    match () {
        () if fewer_than(GUIDED_PARAMETERS) => ToolProfile::Guided,
        () if fewer_than(SMALL_PARAMETERS) || context_size < SMALL_CONTEXT => ToolProfile::Small,
        () => ToolProfile::Full,
    }
}

/// Parses a number of parameters as servers and names write it: `7.6B`, `494.03M`, `1.5b`.
pub(crate) fn parameters(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = match text.bytes().last()?.to_ascii_lowercase() {
        b'b' => 1e9,
        b'm' => 1e6,
        _ => return None,
    };
    let number = &text[..text.len() - 1];
    let plain = number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = number.parse().ok().filter(|_| plain)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    Some((number * unit).round() as u64)
}

/// Returns the number of parameters in a model's name: `qwen2.5-coder-1.5b-instruct-q4_k_m.gguf`,
/// `gemma3:270m`, `mixtral-8x7b`. In `30b-a3b` (total and active), the total counts.
pub(crate) fn parameters_in(name: &str) -> Option<u64> {
    let apart = |c: char| !(c.is_ascii_alphanumeric() || c == '.');
    name.split(apart).filter_map(in_word).max()
}

fn in_word(word: &str) -> Option<u64> {
    // `e4b` is the number of effective parameters; `8x7b` is a number of experts and their size.
    let word = word.strip_prefix(['e', 'E']).unwrap_or(word);
    match word.split_once(['x', 'X']) {
        Some((experts, each)) => experts.parse::<u64>().ok()?.checked_mul(parameters(each)?),
        None => parameters(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_model_is_read_from_its_name() {
        const MILLION: u64 = 1_000_000;
        for (name, expected) in [
            ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", Some(1_500 * MILLION)),
            ("/models/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", Some(1_500 * MILLION)),
            ("qwen3:8b", Some(8_000 * MILLION)),
            ("gemma3:270m", Some(270 * MILLION)),
            ("gemma-3n-e4b-it", Some(4_000 * MILLION)),
            ("qwen3-30b-a3b", Some(30_000 * MILLION)),
            ("mixtral-8x7b-instruct", Some(56_000 * MILLION)),
            ("llama-3.3-70B-instruct", Some(70_000 * MILLION)),
            ("gpt-5.6-sol", None),
            ("phi4-mini", None),
            ("model-b", None),
            ("x.b", None),
            ("", None),
        ] {
            assert_eq!(parameters_in(name), expected, "{name}");
        }
        assert_eq!(parameters("494.03M"), Some(494_030_000));
        assert_eq!(parameters("big"), None);
    }

    #[test]
    fn small_models_are_guided_or_get_few_tools() {
        use ToolProfile::{Full, Guided, Small};
        for (context, parameters, expected) in [
            (1_000_000, None, Full),
            (32_768, None, Full),
            (32_768, Some(1_500_000_000), Guided),
            (32_768, Some(4_000_000_000), Small),
            (32_768, Some(8_000_000_000), Small),
            (32_768, Some(14_000_000_000), Full),
            (8_192, Some(70_000_000_000), Small),
            (8_192, None, Small),
        ] {
            assert_eq!(profile(context, parameters), expected, "{context} {parameters:?}");
        }
    }
}
