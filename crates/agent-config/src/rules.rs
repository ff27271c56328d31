//! Rules about values that are right alone and wrong together.
//!
//! A rule is silent where one of its keys already has a problem: the value it would judge is not the user's.

use std::collections::BTreeSet;

use crate::config::Config;
use crate::nearest::nearest;
use crate::path_value::Places;
use crate::schema::{Report, join};
use crate::sections::{ModelConfig, ModelOverlay, ModelProfile, RetryConfig, ToolPermission, ToolsConfig, WorkerPool};
use crate::texts::Endpoint;
use crate::tree::quoted;

/// All rules.
pub(crate) fn config(config: &Config, places: &Places, report: &mut Report) {
    models(config, report);
    cost(config, report);
    memory_dir(config, places, report);
    pools(&config.agents.worker_pools, report);
    tools(&config.tools, report);
}

fn models(config: &Config, report: &mut Report) {
    let base = &config.model;
    key_in_the_clear(base, "model", report);
    backoff(&base.retry, "model.retry", report);
    for (name, profile) in &config.model_overrides {
        overlay(base, profile, &join("model_overrides", name), report);
    }
    for (at, profile) in [
        ("compact.model_profile", &config.compact.model_profile),
        ("memory.extract_model_profile", &config.memory.extract_model_profile),
        ("memory.recall_model_profile", &config.memory.recall_model_profile),
    ] {
        match profile {
            None => {}
            Some(ModelProfile::Inline(profile)) => overlay(base, profile, at, report),
            Some(ModelProfile::Named(name)) => named(config, name, at, report),
        }
    }
}

fn named(config: &Config, name: &str, at: &str, report: &mut Report) {
    if config.model_overrides.contains_key(name) || !report.is_clean(at) {
        return;
    }
    let known = config.model_overrides.keys().map(String::as_str);
    let expected = match nearest(name, known) {
        Some(near) => format!("the name of a [model_overrides.NAME] such as {near:?}"),
        None => "the name of a [model_overrides.NAME]; leave the key out to use [model] unchanged".to_owned(),
    };
    report.conflict(at, expected, format!("there is no [{}]", join("model_overrides", name)));
}

/// Keys that the rules about where a key goes look at.
const KEY_AND_SERVER: [&str; 3] = ["base_url", "api_key_env", "allow_insecure"];

/// What a profile may break that `[model]` alone does not.
pub(crate) fn overlay(base: &ModelConfig, overlay: &ModelOverlay, at: &str, report: &mut Report) {
    let model = overlay.over(base);
    if all_clean(report, "model", &KEY_AND_SERVER) && all_clean(report, at, &KEY_AND_SERVER) {
        if key_goes_astray(base, overlay, &model) {
            report.conflict(
                &join(at, "base_url"),
                "api_key_env beside a base_url that leads to another server (\"\" for no key)",
                format!("the key of [model] ({}) would be sent to that server", base.api_key_env),
            );
        } else if exposed_key(&model) != exposed_key(base) {
            // Otherwise it is the fault of [model], and said there.
            key_in_the_clear(&model, at, report);
        }
    }
    if model.retry != base.retry && report.is_clean("model.retry") {
        backoff(&model.retry, &join(at, "retry"), report);
    }
}

fn all_clean(report: &Report, at: &str, keys: &[&str]) -> bool {
    keys.iter().all(|key| report.is_clean(&join(at, key)))
}

/// A profile with a server of its own inherits the key that was meant for the other one, unless it says otherwise.
fn key_goes_astray(base: &ModelConfig, overlay: &ModelOverlay, model: &ModelConfig) -> bool {
    let origin = |model: &ModelConfig| Endpoint::of(&model.base_url).map(|endpoint| endpoint.origin);
    base.key_variable().is_some() && !overlay.holds("api_key_env") && origin(base) != origin(model)
}

/// PRV-17.
fn key_in_the_clear(model: &ModelConfig, at: &str, report: &mut Report) {
    if let Some((key, origin)) = exposed_key(model)
        && all_clean(report, at, &KEY_AND_SERVER)
    {
        report.conflict(
            &join(at, "base_url"),
            "https, a server on this machine, or allow_insecure = true",
            format!("the key in {key} would travel unencrypted to {origin}"),
        );
    }
}

/// The key that would travel unencrypted, and where to.
fn exposed_key(model: &ModelConfig) -> Option<(&str, String)> {
    let endpoint = Endpoint::of(&model.base_url)?;
    let key = model.key_variable()?;
    let exposed = endpoint.plain && !endpoint.loopback && !model.allow_insecure;
    exposed.then_some((key, endpoint.origin))
}

fn backoff(retry: &RetryConfig, at: &str, report: &mut Report) {
    if retry.max_backoff_ms < retry.initial_backoff_ms && report.is_clean(at) {
        let expected = format!("at least initial_backoff_ms ({})", retry.initial_backoff_ms);
        report.conflict(&join(at, "max_backoff_ms"), expected, format!("it is {}", retry.max_backoff_ms));
    }
}

fn cost(config: &Config, report: &mut Report) {
    if config.runtime.max_cost.is_some() && config.model.price.is_none() {
        report.conflict("runtime.max_cost", "model.price beside it", "without a price nothing is counted");
    }
}

/// CFG-10.
fn memory_dir(config: &Config, places: &Places, report: &mut Report) {
    let key = "memory.memory_dir";
    let dir = &config.memory.memory_dir;
    if report.is_clean(key) && !dir.is_inside_home(places) {
        let expected = format!("a folder inside {}, without `..`", places.home.display());
        report.conflict(key, expected, format!("it is {}", quoted(&dir.to_string())));
    }
}

/// CFG-6.
fn pools(pools: &[WorkerPool], report: &mut Report) {
    let mut pool_ids = BTreeSet::new();
    for (index, pool) in pools.iter().enumerate() {
        let at = format!("agents.worker_pools[{index}]");
        let named = report.is_clean(&join(&at, "pool_id"));
        if named && !pool_ids.insert(&pool.pool_id) {
            let found = format!("an earlier pool is called {:?} too", pool.pool_id);
            report.conflict(&join(&at, "pool_id"), "a pool_id of its own for each pool", found);
        }
        workers(pool, named, &join(&at, "workers"), report);
    }
}

/// `named`: the pool's own id could be read, so that ids derived from it mean something.
fn workers(pool: &WorkerPool, named: bool, at: &str, report: &mut Report) {
    if pool.workers.is_empty() && report.is_clean(at) {
        report.conflict(at, "at least one worker", "the pool has none");
    }
    let mut ids = BTreeSet::new();
    for (index, (worker, id)) in pool.workers.iter().zip(pool.worker_ids()).enumerate() {
        let here = format!("{at}[{index}]");
        let derivable = named && report.is_clean(&join(&here, "agent_definition_id"));
        if !report.is_clean(&join(&here, "worker_id")) || (worker.worker_id.is_none() && !derivable) {
            continue;
        }
        let found = format!("an earlier worker of this pool is called {id:?} too");
        if !ids.insert(id) {
            report.conflict(&join(&here, "worker_id"), "a worker_id of its own for each worker of a pool", found);
        }
    }
}

fn tools(tools: &ToolsConfig, report: &mut Report) {
    let longest = tools.max_timeout_ms;
    let clean = report.is_clean("tools.max_timeout_ms");
    if clean && report.is_clean("tools.default_timeout_ms") && longest < tools.default_timeout_ms {
        let expected = format!("at least tools.default_timeout_ms ({})", tools.default_timeout_ms);
        report.conflict("tools.max_timeout_ms", expected, format!("it is {longest}"));
    }
    if tools.artifact_max_bytes < tools.artifact_threshold_bytes
        && report.is_clean("tools.artifact_max_bytes")
        && report.is_clean("tools.artifact_threshold_bytes")
    {
        let expected = format!("at least tools.artifact_threshold_bytes ({})", tools.artifact_threshold_bytes);
        report.conflict("tools.artifact_max_bytes", expected, format!("it is {}", tools.artifact_max_bytes));
    }
    for (name, change) in &tools.overrides {
        let key = join(&join("tools.overrides", name), "permission");
        if change.permission == Some(ToolPermission::Readonly) && report.is_clean(&key) {
            let found = "found \"readonly\", which would let a tool of ours run unasked";
            report.conflict(&key, "\"write\", or no permission", found);
        }
    }
    let mcp = tools.mcp.tool_overrides.iter().map(|(name, change)| ("tools.mcp.tool_overrides", name, change));
    let own = tools.overrides.iter().map(|(name, change)| ("tools.overrides", name, change));
    for (at, name, change) in own.chain(mcp) {
        let key = join(&join(at, name), "timeout_ms");
        if clean && change.timeout_ms.is_some_and(|timeout| timeout > longest) && report.is_clean(&key) {
            report.conflict(&key, format!("at most tools.max_timeout_ms ({longest})"), "it is more");
        }
    }
}
