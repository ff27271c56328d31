//! What is kept when somebody debugs (PRV-14).

use agent_core::archive::ArtifactCleanup;
use agent_testkit::{Protocol, Reply};

use crate::support::{World, run, run_in};

/// PRV-14, ART-3: with `debug` each attempt is an artifact of kind "raw", without what looks like a secret, that never enters a
/// prompt and that cleanup removes; without `debug` there is none.
#[tokio::test]
async fn raw_exchanges_are_kept() {
    for &protocol in Protocol::ALL {
        let world = World::new("raw", protocol).await;
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        world.server.script([Reply::text(format!("Take {secret}.")), Reply::text("Second."), Reply::text("Third.")]);
        let quiet = world.runtime().await;
        let session_id = run(&quiet, "First?").await.session_id;
        quiet.close().await;
        drop(quiet);
        let runtime = world.builder().debug(true).build().await.unwrap();
        for message in ["Second?", "Third?"] {
            run_in(&runtime, &session_id, message).await.assert_completed();
        }
        let replayed = runtime.replay_session(&session_id, None, None, false).await.unwrap().collect().await.unwrap();
        let kinds: Vec<_> = replayed.artifacts.iter().map(|artifact| artifact.metadata["kind"].as_str()).collect();
        assert_eq!(kinds, [Some("raw"); 2], "{protocol:?}");
        let first = std::fs::read_to_string(&replayed.artifacts[0].path).unwrap();
        assert!(first.contains("Second?") && first.contains("Second.") && first.contains("\"status\": 200"), "{first}");
        assert!(!first.contains(secret), "{first}");
        assert!(!world.server.requests()[2].body.to_string().contains("request_number"));
        let cleanup = ArtifactCleanup { dry_run: false, ..ArtifactCleanup::default() };
        assert_eq!(runtime.cleanup_artifacts(&cleanup).await.unwrap().removed, 2);
        runtime.close().await;
    }
}
