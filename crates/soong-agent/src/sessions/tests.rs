use super::*;

fn row(state: &str, words: &str) -> Row {
    Row {
        id: "sess_0123456789ab".to_owned(),
        used: "12 min ago".to_owned(),
        runs: "12 runs".to_owned(),
        state: state.to_owned(),
        short_state: state.split(' ').next().unwrap().to_owned(),
        colour: None,
        project: "~/code/clients/one/billing".to_owned(),
        words: words.to_owned(),
    }
}

/// CLI-5: a session is known by its words: they are readable at 80 columns, other columns give way before they are gone,
/// and what is not shown of them has a mark.
#[test]
fn words_come_first() {
    let words = "Explain how the invoices are numbered, please.";
    let rows = [row("completed", words), row("running by pid 1234567", words)];
    for columns in 20..=250 {
        let width = Width::new(columns, false);
        for (row, word) in rows.iter().zip(["completed", "running"]) {
            let line = row.line(&Widths::of(&rows, true, width), width, Look { width: None, colour: false });
            let line = line.trim_end();
            assert!(width.of_all(line) < columns && line.starts_with("sess_0123456789ab"), "{columns}: {line}");
            let shown = line.split_once("Explain").map(|(_, rest)| rest.trim_end_matches('…').chars().count() + 7);
            let least = match columns {
                ..22 => continue,
                22..36 => 0,
                _ => FEW - 2,
            };
            assert!(line.ends_with('…') || line.ends_with(words), "{columns}: {line}");
            assert!(shown.unwrap_or(0) >= least, "{columns}: {line}");
            if columns >= 80 {
                assert!(line.contains(word) && shown >= Some(22) && line.contains("12 runs"), "{columns}: {line}");
            }
            assert_eq!(line.contains("by pid"), word == "running" && columns >= 89, "{columns}: {line}");
            assert!(columns < 120 || line.contains("/billing "), "{columns}: {line}");
        }
    }
    let silent = [row("completed", "")];
    let width = Width::new(45, false);
    let line = silent[0].line(&Widths::of(&silent, true, width), width, Look { width: None, colour: false });
    assert_eq!(line, "sess_0123456789ab  12 min ago  completed\n", "what there is no room for is left out whole");
    let few = row("completed", "hi");
    let width = Width::new(56, false);
    let line =
        few.line(&Widths::of(&[row("completed", "hi")], true, width), width, Look { width: None, colour: false });
    assert_eq!(line, "sess_0123456789ab  12 min ago  12 runs  completed  hi\n", "nothing gives way to no more words");
}
