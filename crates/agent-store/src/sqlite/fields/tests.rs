use super::*;

#[test]
fn times_have_one_form() {
    assert_eq!(time("2026-11-30T09:41:43.120Z").unwrap().as_str(), "2026-11-30T09:41:43.120Z");
    for bad in [
        "",
        "2026-11-30",
        "2026-11-30T09:41:43Z",
        "2026-11-30 09:41:43.120Z",
        "2026-11-30T09:41:43.120+",
        "é026-11-30T09:41:43.120",
    ] {
        assert!(time(bad).is_err(), "{bad}");
    }
}

#[test]
fn levels_are_read_as_they_are_written() {
    for stored in [Level::Debug, Level::Info, Level::Warning, Level::Error] {
        assert_eq!(level(stored.as_str()), Some(stored));
    }
    assert_eq!(level("loud"), None);
}
