//! The vendors behind addresses, by host name.

use reqwest::Url;

/// Each host stands for its subdomains too, such as OpenAI's and xAI's regional ones
/// (`eu.api.openai.com`).
const HOSTS: [(&str, &str); 14] = [
    ("api.openai.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "google"),
    ("api.deepseek.com", "deepseek"),
    ("api.mistral.ai", "mistral"),
    ("api.x.ai", "xai"),
    ("api.z.ai", "zai"),
    ("open.bigmodel.cn", "zhipuai"),
    ("api.moonshot.ai", "moonshotai"),
    ("dashscope-intl.aliyuncs.com", "alibaba"),
    ("api.minimax.io", "minimax"),
    ("openrouter.ai", "openrouter"),
    ("api.groq.com", "groq"),
    ("api.cerebras.ai", "cerebras"),
];

/// Returns the vendor whose own server an address is at, by its name in the catalogue.
pub(crate) fn vendor(url: &Url) -> Option<&'static str> {
    let host = url.host_str()?;
    let is_at =
        |known: &str| host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    HOSTS.iter().find(|(known, _)| is_at(known)).map(|(_, vendor)| *vendor)
}

/// Returns whether an address is OpenAI's own.
pub(crate) fn is_openai(url: &Url) -> bool {
    vendor(url) == Some("openai")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_recognised_at_regional_hosts_too() {
        for (url, expected) in [
            ("https://api.openai.com/v1", Some("openai")),
            ("https://eu.api.openai.com/v1", Some("openai")),
            ("https://us.api.openai.com", Some("openai")),
            ("https://eu-west-1.api.x.ai/v1", Some("xai")),
            ("https://generativelanguage.googleapis.com/v1beta", Some("google")),
            ("https://api.openai.com.example.org", None),
            ("https://fakeapi.openai.com", None),
            ("http://127.0.0.1:1", None),
        ] {
            assert_eq!(vendor(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
