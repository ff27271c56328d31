use std::path::PathBuf;

use super::*;

fn moment(n: u64) -> Timestamp {
    Timestamp::from_unix_millis(1_790_000_000_000 + n)
}

fn of(n: u64, bytes: u64) -> CleanupCandidate {
    CleanupCandidate {
        session_id: SessionId::parse("sess_a").unwrap(),
        artifact_id: Some(ArtifactId::parse(&format!("art_{n}")).unwrap()),
        path: PathBuf::new(),
        bytes,
        created_at: moment(n),
        reason: CleanupReason::OverMaxBytes,
    }
}

/// ART-3: `max_bytes` takes the oldest until what remains is at most that, and not one more.
#[test]
fn the_oldest_go_until_enough_is_gone() {
    // Sizes and an order of arrival that a small generator gives.
    let mut state = 7_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..300 {
        let count = next(12);
        let sizes: Vec<u64> = (0..count).map(|_| next(50)).collect();
        let total: u64 = sizes.iter().sum();
        let max = next(total + 20);
        let mut arriving: Vec<_> = (0..count).map(|n| of(n, sizes[n as usize])).collect();
        for at in (1..arriving.len()).rev() {
            arriving.swap(at, next(at as u64 + 1) as usize);
        }
        let mut oldest = Oldest::new(Some(total.saturating_sub(max)));
        arriving.into_iter().for_each(|candidate| oldest.add(candidate));
        let chosen = oldest.sorted();
        let gone: u64 = chosen.iter().map(|candidate| candidate.bytes).sum();
        assert!(
            chosen.iter().enumerate().all(|(n, candidate)| candidate.created_at == moment(n as u64)),
            "a prefix by age"
        );
        assert!(total - gone <= max, "{sizes:?} {max}");
        if let Some(last) = chosen.last() {
            assert!(total - gone + last.bytes > max, "one too many of {sizes:?} for {max}");
        }
    }
}

/// ART-3: candidates say why they may go.
#[test]
fn candidates_have_reasons() {
    let artifact = |kind: Option<&str>| ArtifactInfo {
        artifact_id: ArtifactId::parse("art_1").unwrap(),
        session_id: SessionId::parse("sess_a").unwrap(),
        agent_id: None,
        run_id: None,
        node_id: None,
        tool_call_id: None,
        path: PathBuf::new(),
        filename: "f".into(),
        mime_type: None,
        size_bytes: 3,
        summary: None,
        metadata: kind.map(|kind| ("kind".to_owned(), kind.into())).into_iter().collect(),
        created_at: moment(1),
    };
    let placed = |kind, file_exists| {
        let artifact = artifact(kind);
        let place = agent_store::ArtifactPlace { seq: 1, artifact_id: artifact.artifact_id.clone() };
        PlacedArtifact { place, artifact, file_exists }
    };
    let (all, older, max) = (
        ArtifactCleanup::default(),
        ArtifactCleanup { older_than: Some(moment(2)), ..ArtifactCleanup::default() },
        ArtifactCleanup { max_bytes: Some(0), older_than: Some(moment(2)), ..ArtifactCleanup::default() },
    );
    for (kind, exists, options, expected) in [
        (Some("debug"), true, &all, CleanupReason::DebugArtifact),
        (Some("raw"), true, &all, CleanupReason::DebugArtifact),
        (Some("output"), true, &all, CleanupReason::Asked),
        (None, true, &all, CleanupReason::Asked),
        (None, true, &older, CleanupReason::Older),
        (None, true, &max, CleanupReason::OverMaxBytes),
        (Some("debug"), false, &max, CleanupReason::FileMissing),
    ] {
        assert_eq!(reason(&placed(kind, exists), options), expected, "{kind:?} {exists}");
    }
    assert!(is_for_debugging(&artifact(Some("raw"))) && !is_for_debugging(&artifact(None)));
    assert_eq!(bytes_of(&placed(None, false)), 0, "nothing is freed where nothing is");
}
