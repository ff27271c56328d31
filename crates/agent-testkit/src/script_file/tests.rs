use super::*;

/// The format's documentation is itself a script.
#[test]
fn the_documented_example_is_read() {
    let source = include_str!("../script_file.rs");
    let start = source.find("/// ```json").unwrap() + "/// ```json".len();
    let block = &source[start..start + source[start..].find("/// ```").unwrap()];
    let json: String = block.lines().map(|line| line.trim_start_matches("///")).collect();
    let script = ScriptFile::parse(&json).unwrap();
    assert_eq!(script.replies.len(), 5);
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = ScriptFile::parse(text).unwrap_err();
    let cause = std::error::Error::source(&error).map(|e| format!(": {e}")).unwrap_or_default();
    let message = format!("{error}{cause}");
    assert!(message.contains(expected), "{message}");
}

#[test]
fn mistakes_are_named() {
    let one = |reply: &str| format!("{{\"replies\": [\"hang\", {reply}]}}");
    refused("{}", "read the script: missing field `replies`");
    refused("{\"replies\": []}", "the script has no replies");
    refused("{\"replies\": [], \"reply\": 1}", "unknown field `reply`");
    refused(&one("{\"txt\": {}}"), "unknown variant `txt`, expected one of `message`");
    refused(&one("{\"message\": {\"txt\": \"x\"}}"), "unknown field `txt`");
    refused(&one("{\"status\": {\"status\": 100, \"body\": \"\"}}"), "reply 1 of the script: no status");
    refused(&one("{\"error\": {\"status\": 999, \"message\": \"\"}}"), "reply 1 of the script: no status");
    refused(
        &one("{\"raw\": {\"body\": \"\", \"content_type\": \"a\\nb\"}}"),
        "reply 1 of the script: content_type is no legal header value",
    );
    refused(
        &one("{\"message\": {\"calls\": [{\"name\": \"x\", \"arguments\": {}, \"raw_arguments\": \"\"}]}}"),
        "reply 1 of the script: a call has both",
    );
    refused(
        &one("{\"message\": {\"delivery\": {\"cut_after\": 1, \"stall_after\": 1}}}"),
        "reply 1 of the script: cut_after and stall_after",
    );
    refused(
        &one("{\"message\": {\"delivery\": {\"headers\": {\"a b\": \"\"}}}}"),
        "reply 1 of the script: header a b: invalid HTTP header name",
    );
}
