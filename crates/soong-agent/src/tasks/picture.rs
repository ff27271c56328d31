//! A Task as a picture: an SVG file that needs nothing else. The same Task gives the same bytes.

mod drawing;
mod graph;
mod layout;
mod text;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use agent_core::archive::TaskView;

use graph::Graph;

/// What a picture of ours begins with.
const BEGIN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- A Task, drawn by soong-agent tasks -->\n";

/// The most steps of a picture. More cannot be read, and the time that laying them out takes grows with their square.
const MOST_STEPS: usize = 400;
/// The most places of steps and of arrows beside steps: an arrow over many rows needs a place in each of them.
const MOST_PLACES: usize = 1_200;

/// Why there is no picture.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PictureError {
    /// It has too many steps.
    Steps(usize),
    /// Its arrows go over too many rows.
    Places(usize),
    /// The library failed on it.
    Layout,
}

impl std::fmt::Display for PictureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Steps(steps) => {
                write!(f, "the Task has {steps} steps, and a picture holds {MOST_STEPS}")?;
            }
            Self::Places(places) => write!(
                f,
                "the Task is too tangled to be drawn: its steps and the arrows past them need {places} places, and a picture has \
                 {MOST_PLACES}"
            )?,
            Self::Layout => f.write_str("the Task could not be laid out; this is a bug in soong-agent")?,
        }
        f.write_str("; without --svg it is shown as text")
    }
}

/// Draws a Task.
///
/// # Errors
/// [`PictureError`]: it is too big.
pub(super) fn svg(view: &TaskView) -> Result<String, PictureError> {
    if view.steps.len() > MOST_STEPS {
        return Err(PictureError::Steps(view.steps.len()));
    }
    let graph = Graph::of(&view.steps);
    if graph.places() > MOST_PLACES {
        return Err(PictureError::Places(graph.places()));
    }
    let boxes: Vec<_> = view.steps.iter().map(text::Label::of).collect();
    let layout = layout::layout(&graph, &boxes).ok_or(PictureError::Layout)?;
    Ok(format!("{BEGIN}{}", drawing::svg(view, &graph, &boxes, &layout)))
}

/// Whether a file is such a picture.
pub(super) fn is_one(file: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(file)?.take(BEGIN.len() as u64).read_to_end(&mut beginning)?;
    Ok(beginning == BEGIN.as_bytes())
}

#[cfg(test)]
mod tests;
