//! Converts an HTML page to Markdown: its main content, without navigation and hidden parts.

use super::nesting::{self, MarkupError};
use crate::limits::{CONVERSION, CONVERSIONS, PAGE_ELEMENTS, TITLE_CHARS};
use tokio::sync::Semaphore;

/// A converted page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Article {
    pub(super) title: String,
    pub(super) markdown: String,
}

/// The reason why a page could not be converted: the end of a sentence about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ConversionError {
    #[error("{0}")]
    Markup(#[from] MarkupError),
    #[error("it has no readable text; it may be made by scripts, which are not run")]
    Empty,
    #[error("the conversion took longer than {} s", CONVERSION.as_secs())]
    Time,
    #[error("the conversion failed")]
    Failed,
}

/// Converts pages, a few at the same time. Pages are hostile: the conversion runs on a thread of
/// its own, which a failure or the deadline of one page does not affect.
#[derive(Debug)]
pub(super) struct Converter {
    /// A conversion that passed its deadline keeps its permit until its thread is done.
    threads: std::sync::Arc<Semaphore>,
}

impl Default for Converter {
    fn default() -> Self {
        Self { threads: std::sync::Arc::new(Semaphore::new(CONVERSIONS)) }
    }
}

impl Converter {
    /// Converts a page; `url` is the base of its links.
    pub(super) async fn convert(&self, html: String, url: String) -> Result<Article, ConversionError> {
        let work = async {
            let permit = self.threads.clone().acquire_owned().await.map_err(|_| ConversionError::Failed)?;
            let converted = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                article(&html, &url)
            });
            converted.await.unwrap_or(Err(ConversionError::Failed))
        };
        tokio::time::timeout(CONVERSION, work).await.unwrap_or(Err(ConversionError::Time))
    }
}

fn article(html: &str, url: &str) -> Result<Article, ConversionError> {
    nesting::check(html)?;
    let options = legible::Options::new().disable_json_ld(true).max_elems_to_parse(PAGE_ELEMENTS);
    let article = legible::parse(html, Some(url), Some(options)).map_err(|_| ConversionError::Empty)?;
    let markdown = agent::sanitise(&article.markdown_content).trim().to_owned();
    if markdown.is_empty() {
        return Err(ConversionError::Empty);
    }
    Ok(Article { title: agent::label(&article.title, TITLE_CHARS), markdown })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "This paragraph has enough words, commas and sentences to be the content of a page. ";

    fn converted(body: &str) -> Article {
        let html = format!(
            "<html><head><title>A \u{202e}title</title></head><body><nav><a href=/>Home</a></nav>\
             <article>{body}<p>{}</p></article><footer>Imprint</footer></body></html>",
            TEXT.repeat(10)
        );
        article(&html, "https://x.example/docs/page").unwrap()
    }

    #[test]
    fn the_main_content_becomes_markdown() {
        let page = converted(
            "<h2>Install</h2><p>Run <code>cargo add</code>, see <a href='../guide'>the guide</a>.</p>\
             <pre><code>let v = vec![1];\nuse v;</code></pre><ul><li>one<li>two</ul>\
             <table><tr><th>a<th>b<tr><td>1<td>2</table>",
        );
        assert_eq!(page.title, "A title");
        for part in [
            "## Install",
            "`cargo add`",
            "[the guide](https://x.example/guide)",
            "let v = vec![1];\nuse v;",
            "- one\n- two",
        ] {
            assert!(page.markdown.contains(part), "{part}: {}", page.markdown);
        }
        assert!(!page.markdown.contains("Home") && !page.markdown.contains("Imprint"), "{}", page.markdown);
    }

    #[test]
    fn hidden_text_is_left_out() {
        for hidden in [
            "<div style='display:none'>INJECTED</div>",
            "<div style='Display : None !important'>INJECTED</div>",
            "<p style='color:red;visibility:hidden'>INJECTED</p>",
            "<p hidden>INJECTED</p>",
            "<p aria-hidden=true>INJECTED</p>",
            "<!-- INJECTED -->",
            "<script>INJECTED</script>",
            "<style>INJECTED</style>",
            "<template><p>INJECTED</p></template>",
            "<noscript><p>INJECTED</p></noscript>",
        ] {
            let page = converted(hidden);
            assert!(!page.markdown.contains("INJECTED"), "{hidden}: {}", page.markdown);
            assert!(page.markdown.contains("This paragraph"), "{hidden}");
        }
        let page = converted("<p>a\u{200b}b\u{202e}c\u{e0041}d &#x200b;&#x202e;</p>");
        assert!(page.markdown.contains("abcd"), "{}", page.markdown);
        assert!(!page.markdown.contains(['\u{200b}', '\u{202e}', '\u{e0041}']), "{}", page.markdown);
    }

    #[test]
    fn a_page_without_text_or_with_hostile_markup_is_not_converted() {
        for (html, expected) in [
            (
                "<html><body><div id=root></div><script src=app.js></script></body></html>".to_owned(),
                ConversionError::Empty,
            ),
            (String::new(), ConversionError::Empty),
            ("<div>".repeat(100_000), MarkupError::Depth.into()),
        ] {
            assert_eq!(article(&html, "https://x.example/"), Err(expected));
        }
    }

    #[tokio::test]
    async fn a_conversion_does_not_end_the_ones_after_it() {
        let converter = Converter::default();
        let url = || "https://x.example/".to_owned();
        for _ in 0..2 * CONVERSIONS {
            assert!(converter.convert("<div>".repeat(100_000), url()).await.is_err());
        }
        let html = format!("<article><p>{}</p></article>", TEXT.repeat(10));
        assert!(converter.convert(html, url()).await.is_ok());
    }
}
