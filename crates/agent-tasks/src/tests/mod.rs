//! What the state machine does, as tables, by random commands, and by looking at every state of small Tasks.

mod board;
mod closing;
mod editing;
mod exhaustive;
mod lines;
mod random;
mod steps;
mod table;
mod world;
