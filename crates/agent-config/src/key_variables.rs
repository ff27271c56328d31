//! Which environment variables a configuration names as holding a key.

use crate::config::Config;
use crate::schema::Field;
use crate::tree::Value;

/// The key that names such a variable, in whatever table it stands.
const KEY: &str = "api_key_env";

impl Config {
    /// Every variable that an `api_key_env` names, once: that of `[model]` first, then those of all other tables, model profiles
    /// written in place included. Whether anything asks with that key does not matter: what is named as a secret is one.
    #[must_use]
    pub fn key_variables(&self) -> Vec<String> {
        let mut names: Vec<_> = self.model.key_variable().map(str::to_owned).into_iter().collect();
        if let Some(value) = self.value() {
            gather(&value, &mut names);
        }
        names
    }
}

// A configuration has been parsed before, so its depth is bounded.
fn gather(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Table(entries) => {
            for entry in entries {
                match &entry.node.value {
                    Value::Text(name) if entry.key == KEY && !name.is_empty() && !names.contains(name) => {
                        names.push(name.clone());
                    }
                    other => gather(other, names),
                }
            }
        }
        Value::List(items) => items.iter().for_each(|item| gather(&item.value, names)),
        Value::Text(_) | Value::Whole(_) | Value::Real(_) | Value::Switch(_) | Value::Date(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rows;
    use crate::path_value::Places;
    use crate::schema::Field;
    use crate::sections::ModelProfile;

    /// FND-06: whichever places of the configuration name a key, each variable is found, once. The places are those that the
    /// schema has, so that one that is added later is tried as well.
    #[test]
    fn every_place_that_names_a_key_is_found() {
        let kind = ModelProfile::kind(());
        let profiles = rows(&Config::default()).into_iter().filter(|row| row.kind == kind).map(|row| row.key);
        let places: Vec<_> = ["model", "model_overrides.one", "model_overrides.two"]
            .map(str::to_owned)
            .into_iter()
            .chain(profiles)
            .collect();
        assert!(places.len() >= 6, "{places:?}");
        let paths = Places { home: "/h".into(), project: "/p".into() };
        for chosen in 0_u32..1 << places.len() {
            let is_chosen = |at: &usize| chosen & (1 << at) != 0;
            let named: Vec<_> = (0..places.len()).filter(is_chosen).collect();
            let lines = named.iter().flat_map(|at| {
                [
                    format!("{}.api_key_env = \"KEY_{at}\"\n", places[*at]),
                    format!("{}.temperature = 1.0\n", places[*at]),
                ]
            });
            let text: String = std::iter::once("model.name = \"m\"\n".to_owned()).chain(lines).collect();
            let config = crate::parse(&text, "config.toml", &paths).unwrap();
            let mut found = config.key_variables();
            found.sort();
            assert_eq!(found, named.iter().map(|at| format!("KEY_{at}")).collect::<Vec<_>>());
        }
    }

    /// FND-06: a variable that several places name is one; no key is none.
    #[test]
    fn a_variable_is_found_once() {
        let paths = Places { home: "/h".into(), project: "/p".into() };
        let text = "model.api_key_env = \"B\"\ncompact.model_profile = { api_key_env = \"A\" }\n\
                    memory.extract_model_profile = { api_key_env = \"B\" }\nmemory.recall_model_profile = { api_key_env = \"\" }\n";
        assert_eq!(crate::parse(text, "config.toml", &paths).unwrap().key_variables(), ["B", "A"]);
        assert_eq!(Config::default().key_variables(), Vec::<String>::new());
    }
}
