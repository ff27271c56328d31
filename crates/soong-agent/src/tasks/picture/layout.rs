//! Where boxes and arrows are.
//!
//! Steps that hang together are laid out by dagre: in rows by depth, with few crossings. It says where boxes are, and where in a row an
//! arrow goes past them; the arrows are drawn from that so that none goes behind a box. Parts that do not hang together are put beside
//! and below each other.

use std::collections::BTreeMap;
use std::panic::catch_unwind;

use dagre::graph::{Graph as Dagre, GraphOptions};
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, RankDir};

use super::graph::Graph;
use super::text::{Label, WIDTH};

/// Between boxes of a row, rows, arrows and parts.
const BESIDE: f64 = 24.0;
const ROWS: f64 = 58.0;
const ARROWS: f64 = 12.0;
const PARTS: f64 = 40.0;
/// Between arrows that begin or end at the same box.
const PORTS: f64 = 18.0;
/// So far an arrow goes straight on before and behind a row, which leaves room for its head.
const STRAIGHT: f64 = 11.0;
/// How wide a picture had best be, in its height: as a screen is.
const SHAPE: f64 = 1.6;

/// A place in the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Where everything is.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Rows go from left to right, not from top to bottom.
    pub(super) across: bool,
    /// The upper left corner of each box.
    pub(super) boxes: Vec<Point>,
    /// The way of each arrow of the graph: two points at a time it goes straight on through a row, and in between from row to row.
    pub(super) arrows: Vec<Vec<Point>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A part, with the upper left corner at 0, 0.
struct Part {
    boxes: Vec<(usize, Point)>,
    arrows: Vec<(usize, Vec<Point>)>,
    width: f64,
    height: f64,
}

/// Lays out all of it, from top to bottom or from left to right: in which of these more of it is seen at once. Nothing where the library
/// fails.
pub(super) fn layout(graph: &Graph, labels: &[Label]) -> Option<Layout> {
    let (down, across) = (whole(graph, labels, false)?, whole(graph, labels, true)?);
    let size = |layout: &Layout| (layout.width / SHAPE).max(layout.height);
    Some(if size(&across) < size(&down) { across } else { down })
}

fn whole(graph: &Graph, labels: &[Label], across: bool) -> Option<Layout> {
    let mut of_part = vec![0; labels.len()];
    for (number, part) in graph.parts.iter().enumerate() {
        part.iter().for_each(|step| of_part[*step] = number);
    }
    let mut arrows = vec![Vec::new(); graph.parts.len()];
    for (number, (from, _)) in graph.arrows.iter().enumerate() {
        arrows[of_part[*from]].push(number);
    }
    let parts = graph.parts.iter().zip(&arrows);
    let parts: Option<Vec<_>> = parts.map(|(steps, arrows)| part(steps, arrows, graph, labels, across)).collect();
    Some(Layout { across, ..placed(parts?, labels.len(), graph.arrows.len()) })
}

/// A place as rows see it: along them, and across them in the direction in which arrows lead.
#[derive(Debug, Clone, Copy)]
struct InRow {
    along: f64,
    on: f64,
}

/// A box in its row.
#[derive(Debug, Clone, Copy)]
struct Seat {
    middle: InRow,
    /// Half of its size in both directions.
    half: InRow,
    row: usize,
}

/// Where a row is, and half of what it takes, with the straight ends of arrows.
struct Row {
    middle: f64,
    half: f64,
}

fn part(steps: &[usize], arrows: &[usize], graph: &Graph, labels: &[Label], across: bool) -> Option<Part> {
    // What the library does with a graph is its own; a panic in it is no end of ours.
    let dagre = catch_unwind(|| asked(steps, arrows, graph, labels, across)).ok()?;
    let in_row = |x: f64, y: f64| if across { InRow { along: y, on: x } } else { InRow { along: x, on: y } };
    let point = |at: InRow| if across { Point { x: at.on, y: at.along } } else { Point { x: at.along, y: at.on } };
    let mut seats = BTreeMap::new();
    for &step in steps {
        let node = dagre.node(&step.to_string())?;
        let half = in_row(WIDTH / 2.0, labels[step].height() / 2.0);
        seats.insert(step, Seat { middle: in_row(node.x?, node.y?), half, row: 0 });
    }
    let rows = in_rows(&mut seats);
    let mut ways = Vec::new();
    for &arrow in arrows {
        let (from, to) = graph.arrows[arrow];
        let (from, to) = (seats.get(&from)?, seats.get(&to)?);
        let edge = dagre.edge(&graph.arrows[arrow].0.to_string(), &graph.arrows[arrow].1.to_string(), None)?;
        let bends: Vec<_> = edge.points.iter().map(|point| in_row(point.x, point.y)).collect();
        let passed =
            rows.get(from.row + 1..to.row)?.iter().map(|row| nearest(&bends, row.middle)).collect::<Option<_>>()?;
        ways.push(Way { arrow, begins: from.middle.along, passed, ends: to.middle.along });
    }
    spread(&mut ways, graph, &seats);
    let boxes = seats.iter().map(|(step, seat)| {
        let corner = InRow { along: seat.middle.along - seat.half.along, on: seat.middle.on - seat.half.on };
        (*step, point(corner))
    });
    let mut part = Part { boxes: boxes.collect(), arrows: Vec::new(), width: 0.0, height: 0.0 };
    for way in ways {
        let (from, to) = graph.arrows[way.arrow];
        let points = way.points(seats.get(&from)?, seats.get(&to)?, &rows);
        part.arrows.push((way.arrow, points.into_iter().map(point).collect()));
    }
    part.move_to_corner(labels);
    Some(part)
}

fn asked(
    steps: &[usize],
    arrows: &[usize],
    graph: &Graph,
    labels: &[Label],
    across: bool,
) -> Dagre<NodeLabel, EdgeLabel> {
    let options = GraphOptions { directed: true, multigraph: false, compound: false };
    let mut dagre = Dagre::with_options(options);
    for &step in steps {
        let label = NodeLabel { width: WIDTH, height: labels[step].height(), ..NodeLabel::default() };
        dagre.set_node(step.to_string(), Some(label));
    }
    for &arrow in arrows {
        let (from, to) = graph.arrows[arrow];
        dagre.set_edge(from.to_string(), to.to_string(), Some(EdgeLabel::default()), None);
    }
    let options = LayoutOptions {
        rankdir: if across { RankDir::LR } else { RankDir::TB },
        nodesep: BESIDE,
        ranksep: ROWS,
        edgesep: ARROWS,
        ..LayoutOptions::default()
    };
    dagre::layout(&mut dagre, Some(options));
    dagre
}

/// Finds the rows: boxes whose middles are level. Each seat learns its own.
fn in_rows(seats: &mut BTreeMap<usize, Seat>) -> Vec<Row> {
    let mut order: Vec<usize> = seats.keys().copied().collect();
    let level = |step: &usize, seats: &BTreeMap<usize, Seat>| seats.get(step).map_or(0.0, |seat| seat.middle.on);
    order.sort_by(|one, other| level(one, seats).total_cmp(&level(other, seats)).then(one.cmp(other)));
    let mut rows: Vec<Row> = Vec::new();
    for step in order {
        let Some(seat) = seats.get_mut(&step) else { continue };
        match rows.last_mut() {
            Some(row) if seat.middle.on - row.middle < 0.5 => row.half = row.half.max(seat.half.on),
            _ => rows.push(Row { middle: seat.middle.on, half: seat.half.on }),
        }
        seat.row = rows.len() - 1;
    }
    rows.iter_mut().for_each(|row| row.half += STRAIGHT);
    rows
}

/// Where a way with these bends goes through a row.
fn nearest(bends: &[InRow], row: f64) -> Option<f64> {
    let off = |bend: &&InRow| (bend.on - row).abs();
    bends.iter().min_by(|one, other| off(one).total_cmp(&off(other))).map(|bend| bend.along)
}

/// An arrow: where it begins, goes through rows and ends, along them.
struct Way {
    arrow: usize,
    begins: f64,
    passed: Vec<f64>,
    ends: f64,
}

impl Way {
    fn points(&self, from: &Seat, to: &Seat, rows: &[Row]) -> Vec<InRow> {
        let mut points = vec![InRow { along: self.begins, on: from.middle.on + from.half.on }];
        points.push(InRow { along: self.begins, on: rows[from.row].middle + rows[from.row].half });
        for (along, row) in self.passed.iter().zip(&rows[from.row + 1..]) {
            points.extend([-1.0, 1.0].map(|side| InRow { along: *along, on: row.middle + side * row.half }));
        }
        points.push(InRow { along: self.ends, on: rows[to.row].middle - rows[to.row].half });
        points.push(InRow { along: self.ends, on: to.middle.on - to.half.on });
        points
    }
}

/// Arrows that share a box begin and end beside each other there, in the order in which they come from or lead to.
fn spread(ways: &mut [Way], graph: &Graph, seats: &BTreeMap<usize, Seat>) {
    for (step, seat) in seats {
        let mut outward: Vec<&mut Way> = ways.iter_mut().filter(|way| graph.arrows[way.arrow].0 == *step).collect();
        let next = |way: &Way| way.passed.first().copied().unwrap_or(way.ends);
        outward.sort_by(|one, other| next(one).total_cmp(&next(other)));
        let ports = ports(outward.len(), seat);
        outward.iter_mut().zip(ports).for_each(|(way, port)| way.begins = port);
    }
    for (step, seat) in seats {
        let mut inward: Vec<&mut Way> = ways.iter_mut().filter(|way| graph.arrows[way.arrow].1 == *step).collect();
        let last = |way: &Way| way.passed.last().copied().unwrap_or(way.begins);
        inward.sort_by(|one, other| last(one).total_cmp(&last(other)));
        let ports = ports(inward.len(), seat);
        inward.iter_mut().zip(ports).for_each(|(way, port)| way.ends = port);
    }
}

fn ports(count: usize, seat: &Seat) -> impl Iterator<Item = f64> {
    let apart = PORTS.min(2.0 * (seat.half.along - 10.0) / count.max(1) as f64);
    let first = seat.middle.along - apart * (count.max(1) - 1) as f64 / 2.0;
    (0..count).map(move |at| first + apart * at as f64)
}

impl Part {
    /// Moves it so that it begins at 0, 0, and finds out how big it is.
    fn move_to_corner(&mut self, labels: &[Label]) {
        let corners =
            self.boxes.iter().flat_map(|(step, at)| [*at, Point { x: at.x + WIDTH, y: at.y + labels[*step].height() }]);
        let points: Vec<_> = corners.chain(self.arrows.iter().flat_map(|(_, way)| way.iter().copied())).collect();
        let least = |of: fn(&Point) -> f64| points.iter().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: fn(&Point) -> f64| points.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let (left, top) = (least(|point| point.x), least(|point| point.y));
        (self.width, self.height) = (most(|point| point.x) - left, most(|point| point.y) - top);
        self.moved(-left, -top);
    }

    fn moved(&mut self, x: f64, y: f64) {
        let points = self.boxes.iter_mut().map(|(_, point)| point);
        for point in points.chain(self.arrows.iter_mut().flat_map(|(_, way)| way)) {
            (point.x, point.y) = (point.x + x, point.y + y);
        }
    }
}

/// Puts the parts into shelves, in their order.
fn placed(parts: Vec<Part>, steps: usize, arrows: usize) -> Layout {
    let area: f64 = parts.iter().map(|part| (part.width + PARTS) * (part.height + PARTS)).sum();
    let widest = parts.iter().map(|part| part.width).fold(0.0, f64::max);
    let most = widest.max((area * SHAPE).sqrt());
    let boxes = vec![Point { x: 0.0, y: 0.0 }; steps];
    let mut layout = Layout { boxes, arrows: vec![Vec::new(); arrows], ..Layout::default() };
    let (mut x, mut y, mut shelf) = (0.0, 0.0, 0.0_f64);
    for mut part in parts {
        if x > 0.0 && x + part.width > most {
            (x, y, shelf) = (0.0, y + shelf + PARTS, 0.0);
        }
        part.moved(x, y);
        (layout.width, layout.height) = (layout.width.max(x + part.width), layout.height.max(y + part.height));
        (x, shelf) = (x + part.width + PARTS, shelf.max(part.height));
        part.boxes.into_iter().for_each(|(step, at)| layout.boxes[step] = at);
        part.arrows.into_iter().for_each(|(arrow, way)| layout.arrows[arrow] = way);
    }
    layout
}
