use std::path::Path;
use std::sync::Arc;

use agent_config::{Config, Places};
use agent_llm::{ProviderRegistry, SharedProviders};
use agent_testkit::TestHome;
use agent_tool::reference;

use crate::adapters::Adapters;
use crate::environment::Environment;
use crate::overrides::Overrides;
use crate::registry::registry;
use crate::settings::Settings;

const TOOLS_HEAD: &str = "\
# The tools

<!-- Generated from the input structs of the tools. Do not edit: UPDATE_DOCS=1 cargo test -p agent_core the_page_of_the_tools -->

What a model can call, in its own words. `soong-agent tools` lists the tools of your configuration and says which of them are not
available and why; `soong-agent tools NAME` prints one page. A parameter that is `null` counts as left out; one that is not
listed is an error. What each tool may do unasked, and what asks first, is in [security.md](security.md).

Names that begin with `agent.` or `internal.` are core's own: they change nothing outside the session and never ask.
`agent.task_template` is for `--orchestrator` runs. Skills are described in [skills.md](skills.md).

";

/// TOL-2: `docs/tools.md` is what the input structs say. To write it anew: `UPDATE_DOCS=1 cargo test -p agent_core the_page`.
#[test]
fn the_page_of_the_tools_is_current() {
    let home = TestHome::new("tools_page");
    let (config, environment) = (Config::default(), Environment::look());
    let places = Places { home: home.home.clone(), project: home.project.clone() };
    let settings = Settings { config: &config, places, environment: &environment, database: None };
    let rules = Arc::new(settings.rules().unwrap());
    let providers = SharedProviders::from(ProviderRegistry::with_builtin());
    let memory = Adapters::new(&settings, &providers, None).memory(&settings.roles().unwrap()).unwrap();
    let tools = registry(&settings, &rules, &Overrides::default(), memory.as_ref(), &[]).unwrap();
    let pages: Vec<_> = tools.iter().map(|tool| reference(tool.definition())).collect();
    let text = format!("{TOOLS_HEAD}{}", pages.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        on_disk == text,
        "docs/tools.md is stale: run UPDATE_DOCS=1 cargo test -p agent_core the_page_of_the_tools"
    );
}
