//! A program's own tools over the ports of children and workers: what the packaged ones do, without their words.

use std::sync::Arc;
use std::time::Duration;

use agent_core::ToolDefinition;
use agent_core::error::ErrorPayload;
use agent_core::message::{ContentBlock, Object};
use agent_core::tool::{CallContext, Permission, Prepared, Tool, ToolClass, ToolOutput};
use agent_policy::Facts;
use agent_tasks::{StepId, TaskId};
use agent_tool::{ChildKind, ChildReport, ChildTask, Dispatch};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

/// What a tool starts.
#[derive(Clone, Copy)]
pub(crate) enum Starts {
    Sub,
    Fork,
    Worker,
}

impl Starts {
    pub(crate) const ALL: [Self; 3] = [Self::Sub, Self::Fork, Self::Worker];

    pub(crate) fn tool(self) -> Arc<dyn Tool> {
        let name = match self {
            Self::Sub => "test.sub",
            Self::Fork => "test.fork",
            Self::Worker => "test.dispatch",
        };
        let input_schema = json!({
            "type": "object",
            "properties": {
                "task_id": { "type": "string" },
                "step_id": { "type": "string" },
                "told": { "type": "string" },
                "timeout_ms": { "type": "integer" },
            },
            "additionalProperties": false,
        });
        let definition = ToolDefinition {
            name: name.to_owned(),
            description: "Starts an agent.".to_owned(),
            input_schema,
            permission: Permission::Readonly,
            tags: Vec::new(),
            metadata: Object::new(),
        };
        Arc::new(StartTool { starts: self, definition })
    }
}

struct StartTool {
    starts: Starts,
    definition: ToolDefinition,
}

impl Tool for StartTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn class(&self) -> ToolClass {
        ToolClass::Agent
    }

    fn prepare(&self, arguments: Object, context: CallContext) -> BoxFuture<'_, Result<Prepared, ErrorPayload>> {
        let starts = self.starts;
        let call = Box::new(move || {
            async move {
                match report(starts, &arguments, &context).await {
                    Ok(report) => ToolOutput::value(json!({ "answer": report.answer, "status": report.status })),
                    Err(error) => ToolOutput::failed(error),
                }
            }
            .boxed()
        });
        std::future::ready(Ok(Prepared { facts: Facts::default(), call })).boxed()
    }
}

async fn report(starts: Starts, arguments: &Object, context: &CallContext) -> Result<ChildReport, ErrorPayload> {
    let timeout = arguments.get("timeout_ms").and_then(serde_json::Value::as_u64).map(Duration::from_millis);
    let text = |name: &str| arguments.get(name).and_then(serde_json::Value::as_str);
    let told = vec![ContentBlock::text(text("told").unwrap_or("Do something."))];
    let tools = ["code.run_command", "code.write_file", "code.read_file"].map(str::to_owned);
    let child = |kind, allowed_tools| ChildTask {
        kind,
        task: told.clone(),
        definition: None,
        allowed_tools,
        output_schema: None,
        timeout,
    };
    match starts {
        Starts::Sub => context.children.run(child(ChildKind::Sub, Some(tools.into()))).await,
        Starts::Fork => context.children.run(child(ChildKind::Fork, None)).await,
        Starts::Worker => {
            let task_id = text("task_id").and_then(|id| TaskId::parse(id).ok()).expect("a task is named");
            let dispatch = Dispatch {
                task_id,
                pool_id: None,
                worker: None,
                allowed_step_ids: text("step_id").map(|id| [StepId::parse(id).unwrap()].into()),
                instruction: told,
                allowed_tools: None,
                output_schema: None,
                timeout,
            };
            Ok(context.workers.dispatch(dispatch).await?.child)
        }
    }
}
