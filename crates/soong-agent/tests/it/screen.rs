//! What a terminal shows of what was written to it: enough of one to see rows as a person does.

use unicode_width::UnicodeWidthChar;

/// The rows of a terminal that never scrolls anything away.
pub(crate) struct Screen {
    columns: usize,
    rows: Vec<Row>,
    row: usize,
    col: usize,
}

/// One row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    cells: Vec<char>,
    /// The terminal itself went on with the next one, since there was no room left.
    pub(crate) full: bool,
}

impl Row {
    pub(crate) fn text(&self) -> String {
        self.cells.iter().collect::<String>().trim_end().to_owned()
    }
}

impl Screen {
    /// After all of this.
    pub(crate) fn of(written: &str, columns: usize) -> Self {
        let mut screen = Self { columns, rows: vec![Row::default()], row: 0, col: 0 };
        let mut rest = written.chars();
        while let Some(c) = rest.next() {
            match c {
                '\r' => screen.col = 0,
                '\n' => screen.down(),
                '\x1b' => screen.escape(&mut rest),
                c => screen.put(c),
            }
        }
        screen
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// All of it, for a person.
    pub(crate) fn text(&self) -> String {
        self.rows.iter().map(|row| row.text() + "\n").collect()
    }

    fn down(&mut self) {
        self.row += 1;
        if self.row == self.rows.len() {
            self.rows.push(Row::default());
        }
    }

    fn put(&mut self, c: char) {
        let width = c.width().unwrap_or(0);
        if self.col + width > self.columns {
            self.rows[self.row].full = true;
            self.down();
            self.col = 0;
        }
        let cells = &mut self.rows[self.row].cells;
        if cells.len() <= self.col {
            cells.resize(self.col + 1, ' ');
        }
        cells[self.col] = c;
        self.col += width;
    }

    /// `ESC [ numbers letter`; colours change nothing here.
    fn escape(&mut self, rest: &mut std::str::Chars<'_>) {
        assert_eq!(rest.next(), Some('['), "no other escape is written");
        let mut number = String::new();
        let letter = loop {
            match rest.next().expect("an escape has an end") {
                c if c.is_ascii_digit() || c == ';' => number.push(c),
                letter => break letter,
            }
        };
        match (letter, number.as_str()) {
            ('m', _) => {}
            ('A', count) => self.row = self.row.saturating_sub(count.parse().expect("a number of rows")),
            ('K', "2") => self.rows[self.row].cells.clear(),
            ('J', "") => {
                self.rows.truncate(self.row + 1);
                self.rows[self.row].cells.truncate(self.col);
            }
            other => panic!("nobody writes {other:?}"),
        }
    }
}

#[test]
fn a_screen() {
    let rows =
        |written: &str| Screen::of(written, 5).rows().iter().map(|row| (row.text(), row.full)).collect::<Vec<_>>();
    let row = |text: &str, full| (text.to_owned(), full);
    assert_eq!(rows("ab\r\n\x1b[31mc\x1b[0m"), [row("ab", false), row("c", false)]);
    assert_eq!(rows("abcdefg"), [row("abcde", true), row("fg", false)]);
    assert_eq!(rows("abcde\r\nf"), [row("abcde", false), row("f", false)]);
    assert_eq!(rows("one\r\x1b[2Ktwo\r\nx\r\x1b[1A\x1b[Jz"), [row("z", false)]);
}
