//! The options of a command, read one after the other.

use anyhow::{Context, Error, Result, anyhow};
use std::path::PathBuf;
use std::str::FromStr;

/// The words that follow a command's name.
pub(crate) struct Arguments<'a> {
    words: std::slice::Iter<'a, &'a str>,
    /// The option that was read last.
    option: &'a str,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(words: &'a [&'a str]) -> Self {
        Self { words: words.iter(), option: "" }
    }

    /// Returns the next option; `None` after the last word.
    pub(crate) fn next_option(&mut self) -> Option<&'a str> {
        self.option = self.words.next()?;
        Some(self.option)
    }

    /// Returns the value of the option that was read last.
    ///
    /// # Errors
    ///
    /// Fails if no word follows the option.
    pub(crate) fn value(&mut self) -> Result<&'a str> {
        self.words.next().copied().with_context(|| format!("{} needs its value", self.option))
    }

    /// Like [`Self::value`], as an owned text.
    pub(crate) fn text(&mut self) -> Result<String> {
        self.value().map(str::to_owned)
    }

    /// Like [`Self::value`], as a number.
    ///
    /// # Errors
    ///
    /// Fails also if the value is not a number of this type.
    pub(crate) fn number<T: FromStr>(&mut self) -> Result<T> {
        let value = self.value()?;
        value.parse().map_err(|_| anyhow!("{} needs a number, not {value}", self.option))
    }

    /// Like [`Self::value`], as an absolute path.
    pub(crate) fn path(&mut self) -> Result<PathBuf> {
        Ok(std::path::absolute(self.value()?)?)
    }

    /// Returns the error for an option that the command does not have; `usage` lists those that it
    /// has.
    pub(crate) fn unknown(&self, usage: &str) -> Error {
        anyhow!("no such option: {}\n\n{usage}", self.option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_with_their_values() {
        let mut arguments = Arguments::new(&["--seeds", "3", "--name", "a", "--binary", "x", "--keep"]);
        assert_eq!(arguments.next_option(), Some("--seeds"));
        assert_eq!(arguments.number::<u64>().unwrap(), 3);
        assert_eq!(arguments.next_option(), Some("--name"));
        assert_eq!(arguments.text().unwrap(), "a");
        assert_eq!(arguments.next_option(), Some("--binary"));
        assert!(arguments.path().unwrap().is_absolute());
        assert_eq!(arguments.next_option(), Some("--keep"));
        assert_eq!(arguments.unknown("usage").to_string(), "no such option: --keep\n\nusage");
        assert_eq!(arguments.next_option(), None);
    }

    #[test]
    fn errors_name_the_option() {
        let error = |words: &[&str]| {
            let mut arguments = Arguments::new(words);
            arguments.next_option();
            arguments.number::<u64>().unwrap_err().to_string()
        };
        assert_eq!(error(&["--seeds"]), "--seeds needs its value");
        assert_eq!(error(&["--seeds", "many"]), "--seeds needs a number, not many");
    }
}
