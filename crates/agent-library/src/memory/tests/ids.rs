use super::*;

#[test]
fn moments() {
    for good in [NOW, "2026-11-30T09:41:43Z", "2024-02-29T23:59:60.5Z"] {
        assert_eq!(Moment::parse(good).unwrap().as_str(), good);
    }
    for bad in [
        "",
        "2026-11-30",
        "2026-11-30 09:41:43Z",
        "2026-11-30T09:41:43+00:00",
        "2026-13-30T09:41:43Z",
        "2026-11-30T24:41:43Z",
        "2026-11-30T09:41:43.Z",
        "2026-11-30T09:41:43.xZ",
        "２026-11-30T09:41:43Z",
        "2026-11-30T09:41:43Zé",
        "2026-11-30T09:41:4éZ",
    ] {
        assert_eq!(Moment::parse(bad), Err(NoMoment), "{bad}");
    }
    let sorted: Vec<_> =
        ["2025-01-01T00:00:00.999Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.51Z"]
            .map(|text| Moment::parse(text).unwrap())
            .into();
    assert!(sorted.is_sorted());
}

/// MEM-1: `mem_<YYYYMMDDHHMMSS>_<rand>`.
#[test]
fn ids() {
    let now = Moment::parse(NOW).unwrap();
    assert_eq!(MemoryId::new(&now, "x7k2").unwrap().as_str(), "mem_20261130094143_x7k2");
    for bad in ["", "X", "a_b", "a-b", "é", "../x", &"a".repeat(33)] {
        assert_eq!(MemoryId::new(&now, bad), Err(NoMemoryId), "{bad}");
    }
    for bad in [
        "mem_2026113009414_x",
        "mem_20261130094143",
        "men_20261130094143_x",
        "mem_2026113009414x_x",
        " mem_20261130094143_x",
    ] {
        assert_eq!(MemoryId::parse(bad), Err(NoMemoryId), "{bad}");
        assert_eq!(bad.parse::<MemoryId>(), Err(NoMemoryId), "{bad}");
    }
}

/// MEM-02: a closed list.
#[test]
fn categories() {
    for category in MemoryCategory::ALL {
        assert_eq!(MemoryCategory::parse(category.as_str()), Ok(category));
    }
    for bad in ["", "User", "USER", " user", "users", "project", "../outside/proof", "user/../..", "uſer"] {
        let error = MemoryCategory::parse(bad).unwrap_err().to_string();
        assert!(["user", "feedback", "reference"].iter().all(|word| error.contains(&format!("\"{word}\""))), "{error}");
    }
}

/// What is asked for by a beginning of its id, and what is not.
#[test]
fn beginnings_of_ids() {
    let world = World::new("memory-ids");
    let a = world.apply_at(&[new("a")], "2026-11-30T09:41:43Z", "aaaa").unwrap().created[0].clone();
    let b = world.apply_at(&[Decision { summary: "B".into(), ..new("b") }], "2026-11-29T09:41:43Z", "bbbb").unwrap();
    let b = b.created[0].clone();
    assert_eq!(world.entry(&a).id, a);
    assert_eq!(world.store.get("mem_20261129").unwrap().id, b);
    assert_eq!(world.store.get("mem_20261130094143_a").unwrap().id, a);
    for short in ["", "mem_", "mem_2026112", "20261129"] {
        assert!(matches!(world.store.get(short), Err(MemoryError::NotFound { .. })), "{short}");
    }
    let c = world.apply_at(&[Decision { summary: "C".into(), ..new("c") }], "2026-11-29T10:41:43Z", "cccc").unwrap();
    let error = world.store.get("mem_20261129").unwrap_err().to_string();
    assert!(error.contains(b.as_str()) && error.contains(c.created[0].as_str()), "{error}");
    let error = world.store.forget("mem_20261130094143_aaab").unwrap_err().to_string();
    assert_eq!(error, format!("there is no memory \"mem_20261130094143_aaab\"; near it are {a}, {b}"));
}

/// Memories of one batch differ, and none's id begins another one's: what is forgotten twice is gone once.
#[test]
fn ids_of_one_batch() {
    let world = World::new("memory-batch-ids");
    let two = [new("a"), Decision { summary: "B".into(), ..new("b") }];
    let applied = world.apply(&two).unwrap();
    let ids: Vec<_> = applied.created.iter().map(MemoryId::as_str).collect();
    assert_eq!(ids, ["mem_20261130094143_r4nd", "mem_20261130094143_00r4nd"]);
    world.store.forget(ids[0]).unwrap();
    assert!(matches!(world.store.forget(ids[0]), Err(MemoryError::NotFound { .. })));
    // A whole id stands for itself all the same.
    world.write("user/n-mem_20261130094143_00r4nd2.md", file("mem_20261130094143_00r4nd2", ""));
    assert_eq!(world.store.get(ids[1]).unwrap().summary, "B");
}
