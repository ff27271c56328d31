//! From the canonical tool name in a script to the name the client under test sent.

/// The encoding adapters use unless a test says otherwise: `code.read_file` is `code__read_file` on the wire.
pub(crate) fn dots_to_underscores(canonical: &str) -> String {
    canonical.replace('.', "__")
}

/// The request's own name for a tool: literally the same, else the mapped one if the request offers it, else as given (a
/// model that invents a tool).
pub(crate) fn wire_name(name: &str, tools: &[&str], mapping: &dyn Fn(&str) -> String) -> String {
    let offered = |wanted: &str| tools.contains(&wanted);
    if offered(name) {
        return name.to_owned();
    }
    let mapped = mapping(name);
    if offered(&mapped) { mapped } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_request() {
        let tools = ["code__read_file", "plain", "code.dotted"];
        let cases = [
            ("code.read_file", "code__read_file"),
            ("plain", "plain"),
            ("code.dotted", "code.dotted"),
            ("no.such_tool", "no.such_tool"),
        ];
        for (scripted, wire) in cases {
            assert_eq!(wire_name(scripted, &tools, &dots_to_underscores), wire);
        }
        let custom = |name: &str| name.replace('.', "__x2E");
        assert_eq!(wire_name("code.read_file", &tools, &custom), "code.read_file");
    }
}
