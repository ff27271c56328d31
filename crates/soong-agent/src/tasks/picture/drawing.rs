//! The SVG itself.

use std::fmt::Write as _;

use agent_core::archive::{StepStatus, StepView, TaskStatus, TaskView};

use super::graph::Graph;
use super::layout::{Layout, Point};
use super::text::{HEAD, ID, LINE, Label, PADDING, SMALL, TITLE, WIDTH, escaped, wide, wrapped};
use crate::lines::{counted, one_line};
use crate::moment;

/// Around everything.
const MARGIN: f64 = 28.0;
/// A picture is at least so wide, for its title and legend.
const LEAST: f64 = 680.0;
/// The size of the title.
const HEADLINE: f64 = 19.0;
/// A pill with a state.
const PILL: f64 = 17.0;

const FONT: &str = "'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif";
const MONO_FONT: &str = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace";

/// How a state looks: the colour of its word, of its box, and of the word on it. Told apart also by those who do not see red or green
/// (after Okabe and Ito), and the word is always there.
struct Look {
    strong: &'static str,
    light: &'static str,
}

fn look(status: StepStatus) -> Look {
    let (strong, light) = match status {
        StepStatus::Pending => ("#5f6b7a", "#f4f5f7"),
        StepStatus::Ready => ("#8a6100", "#fff6dc"),
        StepStatus::Claimed => ("#2a7fb0", "#e6f4fc"),
        StepStatus::Running => ("#0a4f9e", "#d9e8fb"),
        StepStatus::Blocked => ("#b04a00", "#fde8d8"),
        StepStatus::Completed => ("#00694c", "#ddf3ea"),
        StepStatus::Failed => ("#a3003c", "#fbdfe7"),
        StepStatus::Cancelled => ("#7d7d7d", "#ffffff"),
    };
    Look { strong, light }
}

fn task_colour(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => look(StepStatus::Pending).strong,
        TaskStatus::Running => look(StepStatus::Running).strong,
        TaskStatus::Blocked => look(StepStatus::Blocked).strong,
        TaskStatus::Completed => look(StepStatus::Completed).strong,
        TaskStatus::Failed => look(StepStatus::Failed).strong,
        TaskStatus::Cancelled => look(StepStatus::Cancelled).strong,
    }
}

/// Something that can be written into; writing to a string cannot fail.
macro_rules! put {
    ($to:expr, $($arguments:tt)*) => { let _ = writeln!($to, $($arguments)*); };
}

pub(super) fn svg(view: &TaskView, graph: &Graph, labels: &[Label], layout: &Layout) -> String {
    let inner = layout.width.max(LEAST);
    let mut head = String::new();
    let mut y = headline(view, inner, &mut head);
    y = legend(view, graph, inner, y, &mut head);
    let top = y + 22.0;
    let left = MARGIN + (inner - layout.width) / 2.0;
    let (width, height) = (inner + 2.0 * MARGIN, top + layout.height + MARGIN);
    let mut svg = String::new();
    put!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"{FONT}\" font-size=\"{TITLE}\" fill=\"#1c2430\">"
    );
    put!(svg, "<title>{}</title>", escaped(&format!("Task {}: {}", view.task_id, one_line(&view.title))));
    svg.push_str(concat!(
        "<defs>\n",
        "<marker id=\"done\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" ",
        "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.5 L10 5 L0 9.5 z\" fill=\"#00694c\"/></marker>\n",
        "<marker id=\"open\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" ",
        "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.5 L10 5 L0 9.5 z\" fill=\"#3b4654\"/></marker>\n",
        "</defs>\n"
    ));
    put!(svg, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    svg.push_str(&head);
    put!(svg, "<g transform=\"translate({left:.1} {top:.1})\">");
    for ((from, _), way) in graph.arrows.iter().zip(&layout.arrows) {
        arrow(&path(way, layout.across), view.steps[*from].status == StepStatus::Completed, &mut svg);
    }
    for ((step, label), at) in view.steps.iter().zip(labels).zip(&layout.boxes) {
        step_box(step, label, *at, &mut svg);
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// What the Task is. Gives where it ends.
fn headline(view: &TaskView, room: f64, svg: &mut String) -> f64 {
    let mut y = MARGIN + HEADLINE;
    let title = format!("{}: {}", view.task_id, one_line(&view.title));
    for line in wrapped(&title, HEADLINE * 1.1, room, 3) {
        put!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y:.1}\" font-size=\"{HEADLINE}\" font-weight=\"bold\">{}</text>",
            escaped(&line)
        );
        y += HEADLINE + 7.0;
    }
    y += 2.0;
    let x = pill(MARGIN, y - 13.0, view.status.as_str(), task_colour(view.status), svg) + 10.0;
    let diagnosis = match (view.completeable, view.stalled) {
        (true, _) => ", can be completed",
        (_, true) => ", stalled",
        _ => "",
    };
    let steps = counted(view.counts.total() as u64, "step");
    let words = format!("{steps}{diagnosis}, changed {}", moment::minute(&view.updated_at));
    put!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(&words));
    y
}

/// The states that occur, with how many steps are in them, and what the arrows mean. Gives where it ends.
fn legend(view: &TaskView, graph: &Graph, room: f64, above: f64, svg: &mut String) -> f64 {
    let (mut x, mut y) = (MARGIN, above + 28.0);
    let mut begins = |width: f64, x: &mut f64| {
        if *x > MARGIN && *x + width > MARGIN + room {
            (*x, y) = (MARGIN, y + 24.0);
        }
        y
    };
    for status in StepStatus::ALL.iter().filter(|status| view.counts.of(**status) > 0) {
        let count = view.counts.of(*status).to_string();
        let width = pill_width(status.as_str()) + 6.0 + wide(&count, TITLE) + 18.0;
        let y = begins(width, &mut x);
        let end = pill(x, y - 13.0, status.as_str(), look(*status).strong, svg);
        put!(svg, "<text x=\"{:.1}\" y=\"{y:.1}\">{count}</text>", end + 6.0);
        x += width;
    }
    if !graph.arrows.is_empty() {
        for (is_done, words) in [(true, "dependency met"), (false, "dependency open")] {
            let width = 44.0 + wide(words, TITLE) + 18.0;
            let y = begins(width, &mut x);
            arrow(&format!("M{x:.1} {:.1} h36", y - 4.0), is_done, svg);
            put!(svg, "<text x=\"{:.1}\" y=\"{y:.1}\">{words}</text>", x + 44.0);
            x += width;
        }
    }
    if graph.implied > 0 {
        let (what, follows) =
            if graph.implied == 1 { ("dependency that follows", "is") } else { ("dependencies that follow", "are") };
        let words = format!("{} {what} from others {follows} not drawn", graph.implied);
        let y = begins(wide(&words, TITLE), &mut x);
        put!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>");
    }
    y
}

fn pill_width(word: &str) -> f64 {
    wide(word, SMALL) * 1.1 + 14.0
}

/// A word on its colour. Gives where it ends.
fn pill(x: f64, y: f64, word: &str, colour: &str, svg: &mut String) -> f64 {
    let width = pill_width(word);
    put!(svg, "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{PILL}\" rx=\"8.5\" fill=\"{colour}\"/>");
    put!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{SMALL}\" font-weight=\"bold\" fill=\"#ffffff\" text-anchor=\"middle\">{word}</text>",
        x + width / 2.0,
        y + 12.3
    );
    x + width
}

/// An arrow, with a border in the colour of the ground: where two cross, one is seen to go over the other.
fn arrow(path: &str, is_done: bool, svg: &mut String) {
    put!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"#ffffff\" stroke-width=\"5\"/>");
    let look = match is_done {
        true => "stroke=\"#00694c\" stroke-width=\"1.6\" marker-end=\"url(#done)\"",
        false => "stroke=\"#3b4654\" stroke-width=\"1.4\" stroke-dasharray=\"6 3\" marker-end=\"url(#open)\"",
    };
    put!(svg, "<path d=\"{path}\" fill=\"none\" {look}/>");
}

/// Straight on through rows, in a curve from one to the next.
fn path(way: &[Point], across: bool) -> String {
    let mut path = String::new();
    for (at, point) in way.iter().enumerate() {
        let (x, y) = (point.x, point.y);
        let before = at.checked_sub(1).and_then(|at| way.get(at));
        let _ = match before {
            None => write!(path, "M{x:.1} {y:.1}"),
            Some(_) if at % 2 == 1 => write!(path, " L{x:.1} {y:.1}"),
            Some(before) if across => {
                let half = f64::midpoint(before.x, x);
                write!(path, " C{half:.1} {:.1} {half:.1} {y:.1} {x:.1} {y:.1}", before.y)
            }
            Some(before) => {
                let half = f64::midpoint(before.y, y);
                write!(path, " C{:.1} {half:.1} {x:.1} {half:.1} {x:.1} {y:.1}", before.x)
            }
        };
    }
    path
}

fn step_box(step: &StepView, label: &Label, at: Point, svg: &mut String) {
    let Look { strong, light } = look(step.status);
    let (x, y, height) = (at.x, at.y, label.height());
    let dashes = if step.status == StepStatus::Cancelled { " stroke-dasharray=\"4 3\"" } else { "" };
    put!(svg, "<g><title>{}</title>", escaped(&hint(step)));
    put!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{WIDTH}\" height=\"{height}\" rx=\"7\" fill=\"{light}\" stroke=\"{strong}\" \
         stroke-width=\"1.5\"{dashes}/>"
    );
    let text = x + PADDING;
    pill(text - 2.0, y + 7.0, step.status.as_str(), strong, svg);
    if !step.required {
        put!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{SMALL}\" fill=\"#3b4654\" text-anchor=\"end\">optional</text>",
            x + WIDTH - PADDING,
            y + 19.0
        );
    }
    let mut line = y + HEAD + 14.0;
    put!(
        svg,
        "<text x=\"{text:.1}\" y=\"{line:.1}\" font-family=\"{MONO_FONT}\" font-size=\"{ID}\" font-weight=\"bold\">{}</text>",
        escaped(&label.id)
    );
    for title in &label.title {
        line += LINE;
        put!(svg, "<text x=\"{text:.1}\" y=\"{line:.1}\">{}</text>", escaped(title));
    }
    if let Some(holder) = &label.holder {
        line += LINE;
        put!(
            svg,
            "<text x=\"{text:.1}\" y=\"{line:.1}\" font-family=\"{MONO_FONT}\" font-size=\"{SMALL}\" fill=\"{strong}\">{}</text>",
            escaped(holder)
        );
    }
    svg.push_str("</g>\n");
}

/// What a viewer shows of a box where the pointer rests on it: all that was shortened.
fn hint(step: &StepView) -> String {
    let mut hint = format!("{} ({}): {}", step.step_id, step.status, one_line(&step.title));
    let depends_on: Vec<_> = step.depends_on_step_ids.iter().map(|id| id.as_str()).collect();
    if !depends_on.is_empty() {
        let _ = write!(hint, "\ndepends on {}", depends_on.join(", "));
    }
    if let Some(agent) = &step.claimed_by_agent_id {
        let _ = write!(hint, "\n{} {agent}", if step.status.is_held() { "held by" } else { "by" });
    }
    hint
}
