use super::*;

const TOOLS: [&str; 5] = ["code.read_file", "code.search", "internal.load_skill", "mcp.files.list", "deploy"];

fn found(text: &str) -> Option<String> {
    find_written_call(text, false, TOOLS.into_iter()).map(|call| call.tool)
}

/// How models write a call of `§` with the argument `path`, by family.
const FORMS: &[(&str, &str)] = &[
    ("hermes, qwen", "<tool_call>\n{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}\n</tool_call>"),
    ("qwen, no end", "<tool_call>\n{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}"),
    ("qwen, two", "<tool_call>{\"name\":\"§\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"§\"}</tool_call>"),
    ("qwen coder", "<tool_call>\n<function=§>\n<parameter=path>\na.rs\n</parameter>\n</function>\n</tool_call>"),
    ("qwen coder, no opener", "<function=§>\n<parameter=path>\na.rs\n</parameter>\n</function>\n</tool_call>"),
    ("llama 3.1", "<function=§>{\"path\": \"a.rs\"}</function>"),
    ("llama 3.1, bare", "{\"name\": \"§\", \"parameters\": {\"path\": \"a.rs\"}}"),
    ("llama 3.1, typed", "{\"type\": \"function\", \"name\": \"§\", \"parameters\": {\"path\": \"a.rs\"}}"),
    ("llama 3.1, python tag", "<|python_tag|>{\"name\": \"§\", \"parameters\": {\"path\": \"a.rs\"}}"),
    ("llama 3.1, python tag and code", "<|python_tag|>§.call(path=\"a.rs\")"),
    ("llama 3.2", "[§(path=\"a.rs\", lines=[1, 2])]"),
    ("llama 4", "<|python_start|>[§(path=\"a.rs\")]<|python_end|>"),
    ("llama, several", "{\"name\": \"§\", \"parameters\": {}}; {\"name\": \"§\", \"parameters\": {}}"),
    ("mistral", "[TOOL_CALLS] [{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}]"),
    ("mistral, closed", "[TOOL_CALLS][{\"name\":\"§\",\"arguments\":{}}][/TOOL_CALLS]"),
    ("mistral, later", "[TOOL_CALLS]§[ARGS]{\"path\": \"a.rs\"}"),
    ("mistral, with an id", "[TOOL_CALLS]§[CALL_ID]abcdefghi[ARGS]{\"path\": \"a.rs\"}"),
    ("mistral, short", "[TOOL_CALLS]§{\"path\": \"a.rs\"}"),
    (
        "invoke",
        "<function_calls>\n<invoke name=\"§\">\n<parameter name=\"path\">a.rs</parameter>\n</invoke>\n</function_calls>",
    ),
    ("invoke alone", "<invoke name=\"§\">\n<parameter name=\"path\">a.rs</parameter>\n</invoke>"),
    (
        "invoke in a namespace",
        "<x:function_calls><x:invoke name=\"§\"><x:parameter name=\"path\">a</x:parameter></x:invoke>",
    ),
    (
        "minimax",
        "<minimax:tool_call>\n<invoke name=\"§\">\n<parameter name=\"path\">a</parameter>\n</invoke>\n</minimax:tool_call>",
    ),
    ("seed", "<seed:tool_call>\n<function=§>\n<parameter=path>a.rs</parameter>\n</function>\n</seed:tool_call>"),
    (
        "deepseek v3",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>§\n```json\n{\"path\": \"a.rs\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "deepseek v3.1",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>§<｜tool▁sep｜>{\"path\":\"a.rs\"}<｜tool▁call▁end｜>",
    ),
    (
        "deepseek v3.2",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"§\">\n<｜DSML｜parameter name=\"path\">a</｜DSML｜parameter>\n</｜DSML｜invoke>",
    ),
    ("glm 4.5", "<tool_call>§\n<arg_key>path</arg_key>\n<arg_value>a.rs</arg_value>\n</tool_call>"),
    ("glm 4", "§\n{\"path\": \"a.rs\"}"),
    (
        "kimi",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.§:0<|tool_call_argument_begin|>{\"path\":\"a\"}<|tool_call_end|>",
    ),
    ("gpt-oss", "<|channel|>commentary to=functions.§ <|constrain|>json<|message|>{\"path\": \"a.rs\"}<|call|>"),
    (
        "gpt-oss, from the start",
        "<|start|>assistant<|channel|>commentary to=functions.§<|message|>{\"path\": \"a.rs\"}",
    ),
    ("gpt-oss, without marks", "commentary to=functions.§ json{\"path\": \"a.rs\"}"),
    ("gemma", "```tool_code\nprint(default_api.§(path=\"a.rs\"))\n```"),
    ("gemma, json", "```tool_call\n{\"name\": \"§\", \"parameters\": {\"path\": \"a.rs\"}}\n```"),
    ("function gemma", "<start_function_call>call:§{path:<escape>a.rs<escape>}<end_function_call>"),
    (
        "command r",
        "Action: ```json\n[\n    {\n        \"tool_name\": \"§\",\n        \"parameters\": {\"path\": \"a.rs\"}\n    }\n]```",
    ),
    (
        "command r7b",
        "<|START_ACTION|>[\n {\"tool_call_id\": \"0\", \"tool_name\": \"§\", \"parameters\": {\"path\": \"a\"}}\n]<|END_ACTION|>",
    ),
    ("phi 4", "<|tool_call|>[{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}]<|/tool_call|>"),
    ("phi 4, functools", "functools[{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}]"),
    ("granite", "<|tool_call|>[{\"arguments\": {\"path\": \"a.rs\"}, \"name\": \"§\"}]"),
    ("nemotron", "<TOOLCALL>[{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}]</TOOLCALL>"),
    ("jamba, hunyuan", "<tool_calls>[\n{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}\n]</tool_calls>"),
    ("internlm", "<|action_start|><|plugin|>\n{\"name\": \"§\", \"parameters\": {\"path\": \"a.rs\"}}<|action_end|>"),
    ("xlam", "[{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}]"),
    ("functionary", ">>>§\n{\"path\": \"a.rs\"}"),
    ("olmo", "<function_calls>§(path=\"a.rs\")</function_calls>"),
    ("react", "Thought: I must look.\nAction: §\nAction Input: {\"path\": \"a.rs\"}"),
    ("react, with a result of its own", "Action: §\nAction Input: a.rs\nObservation: it is fine\nFinal Answer: fine"),
    ("labels", "tool: §\narguments:\n  path: a.rs\n  mode: (all)"),
    ("fenced json", "```json\n{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}\n```"),
    ("fenced, no language", "```\n{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}\n```"),
    ("fenced xml", "```xml\n<tool_call>\n{\"name\": \"§\", \"arguments\": {}}\n</tool_call>\n```"),
    ("fenced, open", "```json\n{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}"),
    ("in backticks", "`{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}`"),
    (
        "openai",
        "{\"tool_calls\": [{\"id\": \"1\", \"type\": \"function\", \"function\": {\"name\": \"§\", \"arguments\": \"{}\"}}]}",
    ),
    ("function call", "{\"function_call\": {\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}}"),
    ("function", "{\"function\": \"§\", \"args\": {\"path\": \"a.rs\"}}"),
    ("action", "{\"action\": \"§\", \"action_input\": {\"path\": \"a.rs\"}}"),
    ("tool use", "{\"type\": \"tool_use\", \"id\": \"x\", \"name\": \"§\", \"input\": {\"path\": \"a.rs\"}}"),
    ("parallel", "{\"tool_uses\": [{\"recipient_name\": \"functions.§\", \"parameters\": {\"path\": \"a.rs\"}}]}"),
    ("tool use in tags", "<tool_use>\n<name>§</name>\n<arguments>{\"path\": \"a.rs\"}</arguments>\n</tool_use>"),
    ("a tag with a name", "<tool name=\"§\">{\"path\": \"a.rs\"}</tool>"),
    ("a tag with a name, in single quotes", "<tool_call id='1' name='§'><path>a.rs</path></tool_call>"),
    ("broken json", "<tool_call>\n{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}\n</tool_call>"),
    ("python's json", "{'name': '§', 'arguments': {'path': 'a.rs', 'all': True}}"),
    ("a template's braces", "<tool_call>{{\"name\": \"§\", \"arguments\": {\"path\": \"a.rs\"}}}</tool_call>"),
];

/// Forms that tell only a tool's whole name from other words.
const WHOLE_NAMES: &[(&str, &str)] = &[
    ("cline", "<§>\n<path>a.rs</path>\n</§>"),
    ("flat", "{\"tool\": \"§\", \"path\": \"a.rs\"}"),
    ("the name as key", "{\"§\": {\"path\": \"a.rs\"}}"),
    ("code", "§(\"a.rs\")"),
    ("one line", "§ {\"path\": \"a.rs\"}"),
];

/// The spellings of a tool's name that models use: what its provider is sent, its own, and others; then without its first part.
fn spellings(tool: &str) -> (Vec<String>, String) {
    let whole =
        [tool.to_owned(), tool.replace('.', "__"), tool.replace('.', "_"), tool.replace('.', "-").to_uppercase()];
    (whole.into(), tool.rsplit('.').next().unwrap().to_owned())
}

/// FND-41: every form of every family is found, for every tool of the run, in every spelling of its name, alone, behind a few words
/// and with what templates leave behind it.
#[test]
fn calls_of_all_families_are_found() {
    let mut tried = 0;
    for tool in TOOLS {
        let (whole, last) = spellings(tool);
        let with_last = whole.iter().chain([&last]);
        let all = with_last.flat_map(|name| FORMS.iter().map(move |form| (name, form)));
        for (name, (family, form)) in
            all.chain(whole.iter().flat_map(|name| WHOLE_NAMES.iter().map(move |form| (name, form))))
        {
            let call = form.replace('§', name);
            let behind_words = format!("I will look at the file first.\n\n{call}");
            let with_end = format!("  {call}\n<|im_end|>");
            for text in [&call, &behind_words, &with_end] {
                // A fence that was left open holds whatever follows, and backticks are around a whole text.
                if (family.contains("open") || family.contains("backticks")) && *text != call {
                    continue;
                }
                tried += 1;
                assert_eq!(found(text).as_deref(), Some(tool), "{family}: {text}");
            }
        }
    }
    assert!(tried > 3_000, "{tried}");
}

/// Whether a family has marks that nothing but calls have, by what its form begins with.
fn has_marks(form: &str) -> bool {
    let shared = ["<tool name=", "functions", ">>>"];
    form.starts_with(['<', '['])
        && !form.starts_with("[{")
        && !form.starts_with("[§")
        && !shared.iter().any(|begin| form.starts_with(begin))
        || form.starts_with("functools")
}

/// What models write behind a call that they only wrote: its end, and a result that they made up.
const MADE_UP: [&str; 6] = [
    "I created b.txt.",
    "The file b.txt has been written.",
    "Done! b.txt holds it now.",
    "<tool_response>\n{\"ok\": true}\n</tool_response>\n\nAll is well: the file exists.",
    "Output:\n```\nok\n```\nThe command succeeded.",
    "die Datei ist angelegt.",
];

/// RUN-9: marks of a call make one wherever they stand outside of code, with words in front of it and a made-up result behind it, of
/// tools of the run and of others; without marks words decide.
#[test]
fn calls_with_made_up_results_are_found() {
    let mut tried = 0;
    for (family, form) in FORMS.iter().filter(|(_, form)| has_marks(form)) {
        for tool in TOOLS {
            for before in
                ["", "I will create it.\n", "First I look.\n\n- then I write\n\n", &"A long plan.\n".repeat(60)]
            {
                for behind in MADE_UP {
                    let text = format!("{before}{}\n\n{behind}", form.replace('§', &tool.replace('.', "__")));
                    tried += 1;
                    assert_eq!(found(&text).as_deref(), Some(tool), "{family}: {text}");
                }
            }
        }
    }
    assert!(tried > 3_000, "{tried}");
    // A colon leads to a call as well, wherever its arguments end.
    for (family, form) in FORMS.iter().filter(|(_, form)| has_marks(form)) {
        let text = format!("I will create it:\n{}\n\nI created b.txt.", form.replace('§', "deploy"));
        assert_eq!(found(&text).as_deref(), Some("deploy"), "{family}: {text}");
    }
    // The mark may end the line of the words.
    let text = "I will create it. <tool_call>\n{\"name\": \"deploy\", \"arguments\": {}}\n</tool_call>\nI created it.";
    assert_eq!(found(text).as_deref(), Some("deploy"));
}

/// RUN-9: between marks the name does not matter, as long as arguments follow it; where the run has no tools, nothing is a call.
#[test]
fn marked_calls_of_unknown_tools_are_found() {
    let call = "{\"name\": \"§\", \"arguments\": {\"command\": \"ls\"}}";
    let forms = [
        format!("<tool_call>{call}</tool_call>"),
        format!("<tool_call>\n{call}\n</tool_call>"),
        format!("[TOOL_CALLS] [{call}]"),
        format!("<|tool_call|>[{call}]<|/tool_call|>"),
        format!("<function_calls>{call}</function_calls>"),
        "[TOOL_CALLS]§[ARGS]{\"command\": \"ls\"}".to_owned(),
        "<function=§>\n<parameter=command>\nls\n</parameter>\n</function>".to_owned(),
        "<tool_call>\n<function=§>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>".to_owned(),
        "<invoke name=\"§\">\n<parameter name=\"command\">ls</parameter>\n</invoke>".to_owned(),
        "<tool_call>§\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>".to_owned(),
        // RUN-9: a message on a channel is to a tool, whatever it is called.
        "<|channel|>commentary to=functions.§ <|constrain|>json<|message|>{\"command\": \"ls\"}<|call|>".to_owned(),
        "<|channel|>commentary to=§ json<|message|>{\"command\": \"ls\"}".to_owned(),
        "<|channel|>analysis to=§ code<|message|>ls()<|call|>".to_owned(),
        "<|start|>assistant<|channel|>commentary to=functions.§<|message|>{\"command\": \"ls\"}<|call|>".to_owned(),
        "<|start|>assistant to=functions.§<|channel|>commentary json<|message|>{\"command\": \"ls\"}".to_owned(),
    ];
    for name in ["bash", "get_weather", "code.reed_file", "str_replace_editor"] {
        for form in &forms {
            let call = form.replace('§', name);
            let texts = [
                call.clone(),
                format!("I will look.\n{call}"),
                format!("I will look.\n\n{call}\n\nIt holds two files."),
            ];
            for text in texts {
                assert_eq!(found(&text).as_deref(), Some(name), "{text}");
                assert_eq!(find_written_call(&text, false, std::iter::empty()), None);
            }
            for text in [
                format!("```\n{call}\n```\nThat is what the server sent."),
                format!("Such a server leaves `{call}` in the text."),
                format!("For example:\n{call}\nIt is not parsed."),
                format!("The log has this line:\n{call}\nand nothing else."),
                format!("> {}\n\nThat is from the log.", call.replace('\n', "\n> ")),
            ] {
                assert_eq!(found(&text), None, "{text}");
            }
        }
    }
}

/// RUN-9: a fence that holds nothing but a call of a tool of the run is one before a made-up result; before an explanation it is not,
/// nor for any other tool, nor with anything else in the fence.
#[test]
fn fenced_calls_with_made_up_results_are_found() {
    for language in ["json", "", "tool_call", "JSON"] {
        for name in ["code__read_file", "code.read_file", "read_file"] {
            for arguments in ["arguments", "parameters", "input"] {
                let call = format!("{{\"name\": \"{name}\", \"{arguments}\": {{\"path\": \"b.txt\"}}}}");
                for behind in MADE_UP {
                    for before in ["", "I will do it.\n\n"] {
                        let text = format!("{before}```{language}\n{call}\n```\n\n{behind}");
                        assert_eq!(found(&text).as_deref(), Some("code.read_file"), "{text}");
                    }
                }
                for text in [
                    format!("```{language}\n{call}\n```\nThat is what is sent."),
                    format!("```{language}\n{call}\n```\nThe `path` argument is relative to the project."),
                    format!("It looks like this:\n```{language}\n{call}\n```\nThe file is then read."),
                    format!("```{language}\n{}\n```\nThe file is read.", call.replace(name, "get_weather")),
                    format!("```{language}\n[{{\"log\": 1}}, {call}]\n```\nThe file is read."),
                ] {
                    assert_eq!(found(&text), None, "{text}");
                }
            }
        }
    }
}

/// FND-41: wherever a call was cut at the output limit behind its tool's name, it is one.
#[test]
fn calls_that_were_cut_are_found() {
    for (family, form) in FORMS {
        let whole = form.replace('§', "code__read_file");
        let Some(at) = whole.find("code__read_file").map(|at| at + "code__read_file".len()) else { panic!("{family}") };
        // Where the arguments decide, they must have begun.
        for end in (at + 40..=whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let found = find_written_call(&whole[..end], true, TOOLS.into_iter());
            assert!(found.is_some(), "{family}: {}", &whole[..end]);
        }
    }
}

/// FND-41: text about calls stays an answer: of tools that the run does not have, between words, with an explanation, of a tool's
/// definition, of data that look like one.
#[test]
fn text_about_calls_is_an_answer() {
    for (_, form) in FORMS.iter().chain(WHOLE_NAMES) {
        for name in ["get_weather", "code.reed_file", "files", "code", "§"] {
            // Marks stand for a call of any name.
            if has_marks(form) && name != "§" {
                continue;
            }
            assert_eq!(found(&form.replace('§', name)), None, "{form} of {name}");
        }
        assert_eq!(find_written_call(&form.replace('§', "code.read_file"), false, std::iter::empty()), None);
    }
    let json = "{\"name\": \"code.read_file\", \"arguments\": {\"path\": \"a.rs\"}}";
    let tagged = format!("<tool_call>\n{json}\n</tool_call>");
    let long = "A call is what a server's parser makes of a reply; where it does not know the form, it leaves it in the text. ".repeat(3);
    for text in [
        String::new(),
        "The tool code.read_file reads a file; code.search(query) searches.".to_owned(),
        "I called code.read_file and code.search, and all is well.".to_owned(),
        format!("A call looks like this:\n```json\n{json}\n```\nThe path is relative to the project."),
        format!("```json\n{json}\n```\nThat is what is sent."),
        format!("For example:\n```json\n{json}\n```"),
        format!("Here is an example of what a client gets:\n\n{tagged}"),
        format!("{long}\n```json\n{json}\n```"),
        format!("Qwen models write `{tagged}` into the text, and vLLM parses it."),
        format!("The server left this in its log:\n{tagged}\nand went on as if nothing had happened."),
        format!("First the log:\n```\n{tagged}\n```\nThen the cause: the parser was off."),
        format!("1. `{json}` is the call\n2. the result follows"),
        "<tool_call> is the tag around a call of code.read_file in Hermes' template.".to_owned(),
        "[TOOL_CALLS] stands before them, for code.read_file too.".to_owned(),
        "{\"name\": \"code.read_file\", \"description\": \"Reads a file\", \"parameters\": {\"type\": \"object\"}}"
            .to_owned(),
        "{\"name\": \"search\", \"parameters\": {\"type\": \"object\", \"properties\": {\"q\": {}}}}".to_owned(),
        "{\"name\": \"search\", \"version\": \"1.0.0\", \"dependencies\": {}}".to_owned(),
        "[{\"name\": \"deploy\", \"on\": [\"push\"]}]".to_owned(),
        "```json\n{\"scripts\": {\"deploy\": \"make\"}, \"name\": \"list\"}\n```".to_owned(),
        "<input name=\"search\">\n<button name=\"deploy\">Go</button>".to_owned(),
        "<deploy>\n<to>production</to>\nis the element.".to_owned(),
        "[deploy](https://example.org) is the link.".to_owned(),
        "deploy(env) was called twice; list() once.".to_owned(),
        "search {\"q\": 1} in the log, then stop.".to_owned(),
        "Action: deploy\nThen look at the dashboard.".to_owned(),
        "tool: deploy".to_owned(),
        "to=functions.deploy is how it is addressed.".to_owned(),
        "Function: search\nIt takes a query.".to_owned(),
        ">>> deploy()\nTraceback: it failed, as it must.".to_owned(),
    ] {
        assert_eq!(found(&text), None, "{text}");
    }
}
