use agent_core::archive::StepStatus;

use super::graph::Graph;
use super::layout::{Layout, Point, layout};
use super::text::{Label, PADDING, TITLE, WIDTH, wide};
use super::*;
use crate::tasks::made_up::{Dice, random, step, task};

fn laid_out(view: &TaskView) -> (Graph, Vec<Label>, Layout) {
    let graph = Graph::of(&view.steps);
    let labels: Vec<_> = view.steps.iter().map(Label::of).collect();
    let layout = layout(&graph, &labels).unwrap();
    (graph, labels, layout)
}

/// No two boxes of a picture overlap, arrows begin and end at the boxes of their steps and go behind no other, and texts fit into their boxes, in
/// random Tasks of up to sixty steps.
#[test]
fn boxes_and_arrows() {
    let mut dice = Dice(11);
    for _ in 0..40 {
        let steps = 1 + dice.below(60);
        let view = random(steps, &mut dice);
        let (graph, labels, layout) = laid_out(&view);
        let of = |step: usize| (layout.boxes[step].x, layout.boxes[step].y, labels[step].height());
        for (one, label) in labels.iter().enumerate() {
            let (x, y, height) = of(one);
            assert!(x >= -0.01 && y >= -0.01 && x + WIDTH <= layout.width + 0.01 && y + height <= layout.height + 0.01);
            for other in 0..one {
                let (x2, y2, height2) = of(other);
                let apart = x + WIDTH < x2 || x2 + WIDTH < x || y + height < y2 || y2 + height2 < y;
                assert!(apart, "{one} and {other} of {steps} overlap");
            }
            let room = WIDTH - 2.0 * PADDING;
            assert!(label.title.len() <= 3 && label.title.iter().all(|line| wide(line, TITLE) <= room));
        }
        for ((from, to), way) in graph.arrows.iter().zip(&layout.arrows) {
            for (step, point) in [(from, way.first().unwrap()), (to, way.last().unwrap())] {
                let (x, y, height) = of(*step);
                let near = |value: f64, least: f64, most: f64| value >= least - 0.6 && value <= most + 0.6;
                assert!(near(point.x, x, x + WIDTH) && near(point.y, y, y + height), "{point:?} is not at {step}");
            }
            for point in way.windows(2).enumerate().flat_map(|(at, two)| along(two, at % 2 == 1, layout.across)) {
                let inside = |step: &usize| {
                    let (x, y, height) = of(*step);
                    point.x > x + 0.6 && point.x < x + WIDTH - 0.6 && point.y > y + 0.6 && point.y < y + height - 0.6
                };
                assert_eq!((0..steps).find(inside), None, "the arrow from {from} to {to} goes behind it");
            }
        }
    }
}

/// Points on the way between two of an arrow.
fn along(two: &[Point], curved: bool, across: bool) -> Vec<Point> {
    let (one, other) = (two[0], two[1]);
    let at = |part: f64| {
        // The curve's control points lie half way on, at the height of its ends.
        let bezier = |a: f64, b: f64| {
            3.0 * part * (1.0 - part).powi(2) * a + 3.0 * part.powi(2) * (1.0 - part) * b + part.powi(3)
        };
        let (on, beside) = if curved { (bezier(0.5, 0.5), bezier(0.0, 1.0)) } else { (part, part) };
        let (x, y) = if across { (on, beside) } else { (beside, on) };
        Point { x: one.x + (other.x - one.x) * x, y: one.y + (other.y - one.y) * y }
    };
    (0..=20).map(|n| at(f64::from(n) / 20.0)).collect()
}

/// The same Task gives the same bytes, whatever random numbers a process begins with.
#[test]
fn pictures_are_the_same_each_time() {
    for seed in 0..6 {
        let view = random(35, &mut Dice(seed));
        let pictures: Vec<_> = (0..3).map(|_| svg(&view).unwrap()).collect();
        assert!(pictures.windows(2).all(|two| two[0] == two[1]));
        assert_eq!(pictures[0].matches("<g><title>").count(), 35);
    }
}

/// What follows from other dependencies has no arrow, and only that: whatever one depends on is still reached.
#[test]
fn implied_dependencies() {
    let graph = Graph::of(
        &task(vec![
            step("a", StepStatus::Pending),
            step("b<a", StepStatus::Pending),
            step("c<b,a", StepStatus::Pending),
            step("d", StepStatus::Pending),
        ])
        .steps,
    );
    assert_eq!((graph.arrows, graph.implied, graph.parts), (vec![(0, 1), (1, 2)], 1, vec![vec![0, 1, 2], vec![3]]));
    let mut dice = Dice(5);
    for _ in 0..60 {
        let view = random(30, &mut dice);
        let graph = Graph::of(&view.steps);
        let given: usize = view.steps.iter().map(|step| step.depends_on_step_ids.len()).sum();
        assert_eq!(graph.arrows.len() + graph.implied, given);
        let reached = |from: usize, to: usize, without: Option<usize>| {
            let mut stack = vec![from];
            while let Some(at) = stack.pop() {
                if at == to {
                    return true;
                }
                let next =
                    graph.arrows.iter().enumerate().filter(|(number, arrow)| arrow.0 == at && Some(*number) != without);
                stack.extend(next.map(|(_, arrow)| arrow.1));
            }
            false
        };
        for (to, step) in view.steps.iter().enumerate() {
            for on in &step.depends_on_step_ids {
                let from = view.steps.iter().position(|step| step.step_id == *on).unwrap();
                assert!(reached(from, to, None));
            }
        }
        for (number, (from, to)) in graph.arrows.iter().enumerate() {
            assert!(!reached(*from, *to, Some(number)), "{from} to {to} follows from others");
        }
    }
}

/// What is too big is refused, and it is said what the bound is.
#[test]
fn bounds() {
    let chain = |steps: usize| {
        (0..steps).map(|at| match at {
            0 => step("s0", StepStatus::Ready),
            at => step(&format!("s{at}<s{}", at - 1), StepStatus::Pending),
        })
    };
    let many = task(chain(MOST_STEPS + 1).collect());
    let said = svg(&many).unwrap_err().to_string();
    assert!(said.contains("401 steps, and a picture holds 400"), "{said}");
    assert!(svg(&task(chain(100).collect())).is_ok());
    // From each of a hundred steps an arrow goes past all that come behind it.
    let mut tangled: Vec<_> = chain(60).collect();
    tangled.extend((0..58).map(|at| step(&format!("x{at}<s{at}"), StepStatus::Pending)));
    let ends: Vec<_> = (0..58).map(|at| format!("x{at}")).collect();
    tangled.push(step(&format!("end<s59,{}", ends.join(",")), StepStatus::Pending));
    let places = Graph::of(&tangled).places();
    let said = svg(&task(tangled)).unwrap_err().to_string();
    assert!(places > MOST_PLACES && said.contains(&format!("need {places} places, and a picture has 1200")), "{said}");
}

/// CLI-01: nothing that a title holds ends its text, and no control character gets into the file.
#[test]
fn hostile_titles() {
    let mut hostile = step("a", StepStatus::Blocked);
    hostile.title = "</text><script>alert('x')</script> & \"q\" \u{1b}[2J\u{9b}\u{7}\u{202e}\u{ffff}".to_owned();
    let mut view = task(vec![hostile]);
    view.title = "]]><svg onload=\"x\"> \u{0}".to_owned();
    let picture = svg(&view).unwrap();
    assert!(!picture.contains("<script") && !picture.contains("<svg onload") && picture.matches("<svg").count() == 1);
    assert!(picture.chars().all(|c| c == '\n' || !c.is_control()) && !picture.contains('\u{202e}'), "{picture}");
    assert!(picture.contains("&lt;script&gt;"));
}

/// Titles in letters of any width are cut to their box, at the edges of what people see as letters.
#[test]
fn long_titles() {
    let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
    for text in ["W".repeat(200), "漢字".repeat(100), family.repeat(40), "e\u{301}".repeat(200), "a b ".repeat(50)] {
        for room in [20.0, 60.0, 208.0] {
            let lines = super::text::wrapped(&text, TITLE, room, 3);
            assert!(
                lines.len() <= 3 && lines.iter().all(|line| wide(line, TITLE) <= room.max(5.0 * TITLE)),
                "{lines:?}"
            );
            assert!(lines.last().unwrap().ends_with('…'), "{lines:?}");
        }
    }
    assert_eq!(super::text::wrapped("two words", TITLE, 208.0, 3), ["two words"]);
    assert_eq!(super::text::wrapped("", TITLE, 208.0, 3), Vec::<String>::new());
}

/// Writes pictures for people to look at: `SOONG_AGENT_PICTURES=DIR cargo test -p soong-agent pictures_to_look_at`.
#[test]
fn pictures_to_look_at() {
    for steps in [5, 30, 100] {
        let picture = svg(&random(steps, &mut Dice(3))).unwrap();
        assert!(picture.ends_with("</svg>\n"));
        if let Some(folder) = std::env::var_os("SOONG_AGENT_PICTURES") {
            std::fs::write(Path::new(&folder).join(format!("{steps}.svg")), picture).unwrap();
        }
    }
}
