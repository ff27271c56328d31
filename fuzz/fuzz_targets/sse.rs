//! Server-sent events mean the same however the bytes are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|case: (&[u8], &[u8])| {
    let (cuts, bytes) = case;
    agent_llm::fuzzing::sse(bytes, cuts);
});
