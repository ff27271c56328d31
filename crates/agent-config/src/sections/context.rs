//! `[context]`, `[compact]`, `[memory]`: what the model gets to see.

use super::profile::ModelProfile;
use crate::path_value::PathValue;
use crate::schema::{Switch, count, number, section, tokens, words};

section! {
    /// `[context]`: what a request is made of.
    pub struct ContextConfig {
        /// The session database.
        session_db_path: PathValue = PathValue::in_home("sessions.sqlite");
        /// Only the active path of the session's tree is ever sent.
        active_path_only: bool = true, Switch::OnlyTrue("side branches are never sent");
        /// Part of the window kept free for the answer; clamped to `model.max_output_tokens` and a quarter of the window.
        reserve_output_tokens: u64 = 4096, tokens(1);
        /// Most that loaded instructions, skill and memory catalogs may take; clamped to the window.
        dynamic_system_budget: u64 = 12_000, tokens(0);
        /// Most that the task board may take; clamped to the window. With 0 there is no board.
        task_board_token_budget: u64 = 1200, tokens(0);
        /// Recent task changes the board shows at most.
        task_recent_changes_limit: u32 = 20, number(0, 10_000);
        /// How far back the board looks for changes.
        task_recent_changes_window_minutes: u32 = 30, count(1, 525_600, "minutes");
    }
}

section! {
    /// `[compact]`: how older turns are summarised.
    pub struct CompactConfig {
        /// Summarises at all.
        enabled: bool = true;
        /// Distance from the limit at which summarising begins; clamped to a quarter of what messages may take.
        reserve_tokens: u64 = 8000, tokens(0);
        /// Newest part of the conversation that stays as it is; clamped to two fifths of what messages may take.
        keep_recent_tokens: u64 = 16_000, tokens(0);
        /// Summarises ahead of need: beside the running turns where `model.parallel_requests` > 1, else after a run that nobody waits
        /// for. `soong-agent run` leaves right after its run, so with one slot it summarises in need only.
        auto_background: bool = true;
        /// Summarises in the foreground when a request does not fit; without it such a run ends as `prompt_too_long`.
        recovery_sync: bool = true;
        /// The model that summarises. Not set: `[model]` unchanged.
        model_profile: Option<ModelProfile> = Some(ModelProfile::Named("compact".to_owned()));
        /// Longest summary.
        max_summary_tokens: u64 = 2048, tokens(64);
    }
}

section! {
    /// `[memory]`: what is remembered over sessions.
    pub struct MemoryConfig {
        /// Catalog, recall and extraction, all three.
        enabled: bool = true;
        /// Where memories live; inside home.
        memory_dir: PathValue = PathValue::in_home("memory");
        /// Kinds of memories that are kept.
        categories: Vec<MemoryCategory> = MemoryCategory::ALL.to_vec();
        /// Extraction runs after this many new messages.
        extract_every_messages: u32 = 32, number(1, 100_000);
        /// Extraction runs after this many new tokens.
        extract_every_tokens: u64 = 12_000, tokens(1);
        /// Extraction runs after this much quiet.
        idle_seconds: u64 = 120, count(1, 86_400, "seconds");
        /// Most that the catalog of memories may take.
        catalog_max_tokens: u64 = 4000, tokens(0);
        /// Memories one recall brings back at most.
        recall_top_k: u32 = 5, number(1, 1000);
        /// Most that recalled memories may take.
        memory_context_token_budget: u64 = 6000, tokens(0);
        /// The model that extracts. Not set: `[model]` unchanged.
        extract_model_profile: Option<ModelProfile> = None;
        /// The model that selects what to recall. Not set: `[model]` unchanged.
        recall_model_profile: Option<ModelProfile> = None;
    }
}

words! {
    /// A kind of memory.
    pub enum MemoryCategory {
        /// Who the user is and what they prefer.
        User = "user",
        /// What the user said about the agent's work.
        Feedback = "feedback",
        /// Facts worth looking up again.
        Reference = "reference",
    }
}
