//! How much of a text fits once it is escaped.

/// Where the longest beginning ends that takes at most `room` bytes as shown. `shown` tells the length of a part; it is
/// never shorter than the part itself.
pub(super) fn fitting_start(text: &str, room: usize, shown: impl Fn(&str) -> usize) -> usize {
    let ends: Vec<usize> =
        text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).collect();
    let mut count = ends.partition_point(|end| shown(&text[..*end]) <= room);
    // A part can be longer than a longer one by the form of its last characters.
    while count > 0 && shown(&text[..ends[count - 1]]) > room {
        count -= 1;
    }
    count.checked_sub(1).map_or(0, |last| ends[last])
}

/// Where the longest end starts that takes at most `room` bytes as shown.
pub(super) fn fitting_end(text: &str, room: usize, shown: impl Fn(&str) -> usize) -> usize {
    let starts = text.char_indices().rev().map(|(at, _)| at);
    let starts: Vec<usize> = starts.take_while(|start| text.len() - start <= room).collect();
    let mut count = starts.partition_point(|start| shown(&text[*start..]) <= room);
    while count > 0 && shown(&text[starts[count - 1]..]) > room {
        count -= 1;
    }
    count.checked_sub(1).map_or(text.len(), |last| starts[last])
}
