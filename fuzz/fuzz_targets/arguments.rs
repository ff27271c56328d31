//! The arguments of a call mean the same however many fragments they come in.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|fragments: Vec<&str>| {
    agent_llm::fuzzing::arguments(&fragments);
});
