//! The first setup in the interface, where no model is set up: its choices, and what each does.
//! It finds and stores what `tiller setup` finds and stores.

use super::{
    Found, ProviderSetup, SetupPlace,
    ready::{ReadyFrom, ready},
    set_up,
    trial::Trial,
};
use crate::{environment::Environment, options::Options, secrets::Values, wiring};
use ::providers::{KNOWN_PROVIDERS, pilot};
use system::AbsPath;
use tui::driver::reply::{SetupChoice, SetupStep};

/// What a choice is made with.
pub(crate) struct FirstSetup<'a> {
    pub(crate) options: &'a Options,
    pub(crate) environment: &'a Environment,
    pub(crate) cwd: &'a AbsPath,
}

impl FirstSetup<'_> {
    /// Looks around and returns the choices: found keys, model servers on this machine, and
    /// the pilot. Sends nothing beyond this machine.
    pub(crate) async fn setup_choices(&self) -> Vec<SetupChoice> {
        let Self { options, environment, cwd } = self;
        let catalog = wiring::catalog(options, environment.redactor(), cwd);
        let found = Found::new(options, environment, cwd, &catalog).await;
        setup_choices(options, &found)
    }

    /// Tries a provider, and returns its models as choices.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) async fn models_of(&self, provider: &str) -> Result<Vec<SetupChoice>, String> {
        let wanted = ProviderSetup { provider: provider.to_owned(), ..ProviderSetup::default() };
        self.store(&wanted, true).await?;
        let trial = Trial::new(self.options, self.environment, self.cwd, &wanted);
        let tested = trial.test().await.map_err(|failure| failure.what)?;
        let models = trial.models(tested).await.ids;
        if models.is_empty() {
            return Err(format!("{provider} lists no model; name one with `tiller setup`"));
        }
        let choice = |id: String| SetupChoice {
            name: id.clone(),
            step: SetupStep::Take(id),
            is_ready: true,
            ..SetupChoice::default()
        };
        Ok(models.into_iter().map(choice).collect())
    }

    /// Stores a model as the one of new sessions; returns where. The pilot is not stored, so that a
    /// key or a model server is used as soon as there is one.
    ///
    /// # Errors
    /// Why it was not stored.
    pub(crate) async fn choose(&self, model: &str) -> Result<String, String> {
        if model == pilot::ID {
            return Ok("the pilot answers; `tiller setup` sets a language model up".to_owned());
        }
        let provider = model.split('/').next().unwrap_or_default().to_owned();
        let wanted = ProviderSetup { provider, model: Some(model.to_owned()), ..ProviderSetup::default() };
        let place = self.store(&wanted, false).await?;
        Ok(format!("new sessions use {model} (agent.default_model in {})", place.path))
    }

    async fn store(&self, wanted: &ProviderSetup, trial: bool) -> Result<SetupPlace, String> {
        let Self { options, environment, cwd } = self;
        let values = Values::new((*environment).clone(), wiring::local_system(options), &options.directories);
        let place = SetupPlace::new(&options.directories, cwd, false);
        set_up(options, &values, &place, wanted, trial).await.map_err(|error| error.to_string())?;
        Ok(place)
    }
}

fn setup_choices(options: &Options, found: &Found) -> Vec<SetupChoice> {
    let mut choices: Vec<SetupChoice> = Vec::new();
    let choice = |name: &str, about: &str, step| SetupChoice {
        name: name.to_owned(),
        about: about.to_owned(),
        step,
        is_ready: false,
    };
    let ready_choices = ready(options, found).into_iter().map(|ready| SetupChoice {
        is_ready: true,
        name: ready.name,
        about: ready.about,
        step: match ready.from {
            ReadyFrom::Local(id) => SetupStep::Take(id),
            ReadyFrom::Provider(name) => SetupStep::ModelsOf(name),
        },
    });
    choices.extend(ready_choices);
    let variable = KNOWN_PROVIDERS.first().map_or("", |known| known.key_variable);
    let about = match found.keys.is_empty() {
        true => format!("none in the environment ({variable}, …): choose to type one"),
        false => "choose to type the one of another provider".to_owned(),
    };
    choices.push(choice("a key", &about, SetupStep::SetUp));
    let looks = options.providers.local.discover || !options.providers.local.urls.is_empty();
    if found.local.is_empty() {
        let about = match looks {
            true => "no model server answers (Ollama, …): choose to look again",
            false => "not looked for: providers.local.discover is off",
        };
        choices.push(choice("this machine", about, SetupStep::Look));
    }
    let pilot = choice(
        "the pilot",
        "no language model: a fixed set of commands, built in",
        SetupStep::Take(pilot::ID.to_owned()),
    );
    choices.push(SetupChoice { is_ready: true, ..pilot });
    choices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &Found) -> Vec<(String, bool)> {
        let environment = [("HOME".to_owned(), "/home/x".to_owned())].into_iter().collect();
        let directories = crate::directories::resolve(&environment, &AbsPath::new("/w").unwrap()).unwrap();
        let options = Options::built_in(directories);
        setup_choices(&options, found).into_iter().map(|choice| (choice.name, choice.is_ready)).collect()
    }

    #[test]
    fn the_pilot_is_the_only_way_at_once_where_nothing_is_found() {
        let found = Found { keys: Vec::new(), local: Vec::new(), editors: Vec::new() };
        let expected = [("a key", false), ("this machine", false), ("the pilot", true)];
        assert_eq!(names(&found), expected.map(|(name, ready)| (name.to_owned(), ready)));
    }

    #[test]
    fn what_was_found_comes_first() {
        let key = KNOWN_PROVIDERS.iter().find(|known| known.name == "openrouter").unwrap();
        let found = Found { keys: vec![key], local: vec!["local/small".to_owned()], editors: Vec::new() };
        let expected = [("local/small", true), ("OpenRouter", true), ("a key", false), ("the pilot", true)];
        assert_eq!(names(&found), expected.map(|(name, ready)| (name.to_owned(), ready)));
    }
}
