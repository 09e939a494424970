//! Generated sessions about one promise each, from `tests/wall/scenarios.toml`.

use super::corpus::{self, Attack, with_texts};
use crate::process::root;
use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::{Map, Value};

/// What `@LONG@` stands for.
const LONG: &str = "long-name-";

/// An attack with choices.
#[derive(Clone)]
pub(super) struct Scenario(Map<String, Value>);

/// Reads the scenarios.
pub(super) fn read() -> Result<Vec<Scenario>> {
    let text = std::fs::read_to_string(root().join("tests/wall/scenarios.toml"))?;
    let file: Value = toml::from_str(&text).context("scenarios.toml")?;
    let tables = file["scenario"].as_array().into_iter().flatten();
    Ok(tables.filter_map(Value::as_object).cloned().map(Scenario).collect())
}

impl Scenario {
    /// Chooses a session.
    ///
    /// # Errors
    /// If it is no attack.
    pub(super) fn session(&self, rng: &mut Rng) -> Result<Attack> {
        let mut table = self.0.clone();
        let mut take = |key: &str| table.remove(key).unwrap_or_default();
        let (words, first, last, pool) = (take("words"), take("first"), take("last"), take("calls"));
        let each = pick(rng, take("each"));
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let pool = list(&pool);
        let chosen = (0..rng.usize(3..10)).map(|_| pool[rng.usize(..pool.len())].clone());
        let calls: Vec<_> = list(&first).into_iter().chain(chosen).chain(list(&last)).collect();
        for key in ["mode", "where", "settings"] {
            if let Some(choices) = table.get_mut(key) {
                *choices = pick(rng, choices.take());
            }
        }
        table.insert("calls".to_owned(), Value::Array(calls));
        let mut words = Words { words, each: each.as_str().unwrap_or_default().to_owned(), rng };
        let table = with_texts(Value::Object(table), &mut |text| words.fill(&text));
        corpus::single("generated", table.as_object().context("a scenario is a table")?)
    }
}

/// Returns one of a list, or the value if it is none.
fn pick(rng: &mut Rng, value: Value) -> Value {
    match value {
        Value::Array(mut values) => values.swap_remove(rng.usize(..values.len())),
        value => value,
    }
}

/// Replaces words in texts.
struct Words<'a> {
    words: Value,
    each: String,
    rng: &'a mut Rng,
}

impl Words<'_> {
    fn fill(&mut self, text: &str) -> String {
        let mut text = text.replace("@EACH@", &self.each);
        let words = self.words.clone();
        loop {
            let known = words.as_object().into_iter().flatten();
            let mut places = known.map(|(word, choices)| (format!("{{{word}}}"), choices));
            let Some((place, choices)) = places.find(|(place, _)| text.contains(place)) else { break };
            let choice = pick(self.rng, choices.clone());
            text = text.replacen(&place, choice.as_str().unwrap_or_default(), 1);
        }
        text.replace("@EACH@", &self.each).replace("@LONG@", &LONG.repeat(500))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_is_an_attack_without_open_choices() {
        let scenarios = read().unwrap();
        assert!(scenarios.len() > 5);
        for scenario in scenarios {
            for seed in 0..200 {
                let attack = scenario.session(&mut Rng::with_seed(seed)).unwrap();
                let text = format!("{:?} {:?}", attack.script, attack.environment);
                for word in scenario.0["words"].as_object().unwrap().keys() {
                    assert!(!text.contains(&format!("{{{word}}}")), "{word} in {text}");
                }
                assert!(!text.contains("@EACH@"), "{text}");
            }
        }
    }
}
