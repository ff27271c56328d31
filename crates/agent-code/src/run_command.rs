//! `code.run_command` (COD-7, COD-11): one program, no shell, bounded in time, place, environment and output.

mod editors;
mod input;
mod no_shell;
mod output;
mod plan;
mod program;
mod progress;
mod result;
mod shebang;
mod text;
mod ties;

use agent_policy::Facts;
use agent_protocol::{ErrorPayload, Permission, ToolDefinition, shown_path};
use agent_redact::quote_argv;
use agent_tool::{CallContext, Prepared, ToolOutput};
use futures::{FutureExt, future::join};
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::{
    fail,
    tool::{CodeTool, broken},
    workspace::Workspace,
};
use input::Input;
use output::Outputs;
use plan::Plan;

pub(crate) struct RunCommand(pub(crate) Workspace);

impl CodeTool for RunCommand {
    type Input = Input;
    const NAME: &'static str = "code.run_command";
    const PERMISSION: Permission = Permission::Write;
    const TAGS: &'static [&'static str] = &["code", ToolDefinition::DANGEROUS];

    /// The configured times, so that the model knows them.
    fn adapt(&self, schema: &mut Value) {
        let limits = &self.0.settings().limits;
        if let Some(timeout) = schema.pointer_mut("/properties/timeout_ms").and_then(Value::as_object_mut) {
            timeout.insert("maximum".to_owned(), plan::millis(limits.max_timeout).into());
            timeout.insert("default".to_owned(), plan::millis(limits.default_timeout).into());
        }
    }

    fn prepare(&self, input: Input, context: CallContext) -> Result<Prepared, ErrorPayload> {
        let plan = Plan::make(&self.0, input)?;
        let facts = Facts {
            preview: format!(
                "{}\n(in {})",
                quote_argv(&plan::redacted(&plan.command.argv, &context.secrets)),
                shown_path(&plan.command.cwd)
            ),
            command: Some(plan.command.clone()),
            ..Facts::default()
        };
        let workspace = self.0.clone();
        let call = Box::new(move || async move { run(workspace, plan, context).await.into() }.boxed());
        Ok(Prepared { facts, call })
    }
}

async fn run(workspace: Workspace, plan: Plan, context: CallContext) -> Result<ToolOutput, ErrorPayload> {
    fail::unless_cancelled(&context.cancel)?;
    let timeout = plan.timeout;
    let shown = plan.shown(&context.secrets);
    let argv = plan.command.argv.clone();
    let outputs = Outputs::new(&workspace.settings().limits, &context);
    let (sink, views) = progress::channel(&context);
    // A command may do anything at any time, so all of it is one side effect.
    let effect = context.fence.enter().map_err(fail::too_late)?;
    // The last thing before the start.
    let checked = spawn_blocking({
        let secrets = context.secrets.clone();
        move || plan.still_holds(&workspace, &secrets).map(|()| plan)
    });
    let plan = checked.await.unwrap_or_else(|error| Err(broken(&error)))?;
    let running = agent_exec::run(outputs.spec(plan), context.cancel.clone(), sink);
    let (finished, ()) = join(running, progress::forward(views, &context)).await;
    drop(effect);
    let finished = finished.map_err(|error| result::not_started(&shown, &error))?;
    // Shortening and storing what was printed blocks.
    spawn_blocking(move || {
        let hint = no_shell::hint(&argv, !finished.exit.success());
        result::of(finished, &outputs, hint, &shown, timeout)
    })
    .await
    .unwrap_or_else(|error| Err(broken(&error)))
}

#[cfg(test)]
mod tests;
