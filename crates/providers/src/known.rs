//! Vendors whose address is known, so that a key is all that a user has to bring.

/// A vendor with a public API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownProvider {
    /// The provider's name, as in `NAME/MODEL`.
    pub name: &'static str,
    /// The vendor's own name.
    pub label: &'static str,
    /// The base URL of its API.
    pub base_url: &'static str,
    /// The environment variable in which its own documents put the key.
    pub key_variable: &'static str,
    /// The page on which a key is made.
    pub key_page: &'static str,
    /// Whether a wire of its own is built in. The others are custom providers.
    pub built_in: bool,
    /// Whether it publishes a sign-in in the browser for programs of others
    /// ([`BrowserLogin`](crate::BrowserLogin)).
    pub browser_login: bool,
}

const fn built_in(
    name: &'static str,
    label: &'static str,
    base_url: &'static str,
    key_variable: &'static str,
    key_page: &'static str,
) -> KnownProvider {
    KnownProvider { name, label, base_url, key_variable, key_page, built_in: true, browser_login: false }
}

const fn other(
    name: &'static str,
    label: &'static str,
    base_url: &'static str,
    key_variable: &'static str,
    key_page: &'static str,
) -> KnownProvider {
    KnownProvider { name, label, base_url, key_variable, key_page, built_in: false, browser_login: false }
}

/// The known vendors, those with a wire of their own first. As of November 2026.
pub const KNOWN_PROVIDERS: &[KnownProvider] = &[
    built_in(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "https://platform.openai.com/api-keys",
    ),
    built_in(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        "https://platform.claude.com/settings/keys",
    ),
    built_in(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        "https://aistudio.google.com/apikey",
    ),
    KnownProvider {
        browser_login: true,
        ..other(
            "openrouter",
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            "https://openrouter.ai/settings/keys",
        )
    },
    other(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        "https://console.mistral.ai/api-keys",
    ),
    other(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        "https://platform.deepseek.com/api_keys",
    ),
    other("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", "https://console.x.ai"),
    other("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "https://console.groq.com/keys"),
    other(
        "cerebras",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        "https://cloud.cerebras.ai",
    ),
    other(
        "moonshotai",
        "Moonshot AI",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        "https://platform.moonshot.ai/console/api-keys",
    ),
    other(
        "zai",
        "Z.AI",
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        "https://z.ai/manage-apikey/apikey-list",
    ),
    other(
        "minimax",
        "MiniMax",
        "https://api.minimax.io/v1",
        "MINIMAX_API_KEY",
        "https://platform.minimax.io",
    ),
    other(
        "alibaba",
        "Alibaba Model Studio",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        "https://modelstudio.console.alibabacloud.com",
    ),
];

/// Returns the known vendor of a name.
pub fn known_provider(name: &str) -> Option<&'static KnownProvider> {
    KNOWN_PROVIDERS.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;
    use reqwest::Url;

    #[test]
    fn each_address_is_that_of_the_vendor_of_this_name() {
        for known in KNOWN_PROVIDERS {
            let vendor = hosts::vendor(&Url::parse(known.base_url).unwrap());
            let name = if known.name == "gemini" { "google" } else { known.name };
            assert_eq!(vendor, Some(name), "{}", known.base_url);
            let page = Url::parse(known.key_page).unwrap();
            assert_eq!((page.scheme(), page.query()), ("https", None), "{page}");
            assert!(known.key_variable.ends_with("_API_KEY"));
        }
    }
}
