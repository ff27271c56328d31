//! How long things are.

use crate::words::Words;

/// A number between the two, small ones as often as big ones.
pub(super) fn skewed(dice: &mut Words, least: usize, most: usize) -> usize {
    let share = dice.number(1000) as f64 / 1000.0;
    let size = (least as f64) * ((most as f64) / (least as f64)).powf(share);
    size as usize
}
