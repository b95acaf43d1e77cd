use std::time::Duration;

use onyx_identity::Proof;
use onyx_types::ErrorCode::{RateLimited, Unauthenticated};

use crate::world::{OWNER_TOKEN, World, person};

const RIGHT: Proof<'static> = Proof::Password { person: "owner", password: "correct horse" };
const WRONG: Proof<'static> = Proof::Password { person: "owner", password: "incorrect" };

async fn world() -> World {
    let world = World::new().await;
    world.identity.set_password(&person("owner"), "correct horse").await.unwrap();
    world
}

#[tokio::test]
async fn after_ten_wrong_guesses_even_the_right_one_waits_from_there_and_not_from_elsewhere() {
    let world = world().await;
    let code =
        async |proof, from| world.ask_as(proof, from, None).await.map_err(|fault| fault.code);
    for _ in 0..10 {
        assert_eq!(code(WRONG, "192.0.2.1").await.unwrap_err(), Unauthenticated);
    }
    for from in ["192.0.2.1", "::ffff:192.0.2.1"] {
        assert_eq!(code(RIGHT, from).await.unwrap_err(), RateLimited);
    }
    assert!(code(RIGHT, "192.0.2.2").await.is_ok());
    // A token cannot be guessed: who has one is let in.
    assert!(code(Proof::Bearer(OWNER_TOKEN), "192.0.2.1").await.is_ok());
    world.clock.advance(Duration::from_secs(6));
    assert!(code(RIGHT, "192.0.2.1").await.is_ok());
    assert_eq!(code(WRONG, "192.0.2.1").await.unwrap_err(), Unauthenticated);
    assert_eq!(code(WRONG, "192.0.2.1").await.unwrap_err(), RateLimited);
}

#[tokio::test]
async fn guesses_from_many_addresses_are_limited_together() {
    let world = world().await;
    let mut last = Ok(());
    for number in 0..120_u32 {
        let from = format!("198.51.{}.{}", number / 100, number % 100);
        let unknown = Proof::Password { person: "nobody", password: "incorrect" };
        last = world.ask_as(unknown, &from, None).await.map(|_| ()).map_err(|fault| fault.code);
        if last == Err(RateLimited) {
            assert_eq!(number, 100);
            break;
        }
    }
    assert_eq!(last, Err(RateLimited));
}

#[tokio::test]
async fn unknown_tokens_are_told_to_wait_and_links_count_as_guesses() {
    let world = world().await;
    let mut codes = Vec::new();
    for _ in 0..125 {
        codes.push(world.who(Proof::Bearer("onyx_sk_wrong")).await.unwrap_err());
    }
    assert_eq!(codes.iter().filter(|code| **code == RateLimited).count(), 5);
    let link = world.identity.create_link().unwrap();
    let from = "127.0.0.1".parse().unwrap();
    for _ in 0..10 {
        let refused = world.identity.redeem_link("wrong", from).await.unwrap_err();
        assert_eq!(refused.code, Unauthenticated);
    }
    let refused = world.identity.redeem_link(link.reveal(), from).await.unwrap_err();
    assert_eq!(refused.code, RateLimited);
    world.clock.advance(Duration::from_secs(60));
    assert!(world.identity.redeem_link(link.reveal(), from).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guesses_at_once_are_as_many_as_guesses_one_after_another() {
    let world = world().await;
    let many = (0..30).map(|_| world.ask_as(WRONG, "192.0.2.3", None));
    let outcomes = futures::future::join_all(many).await;
    let limited = outcomes.into_iter().filter(|at| at.as_ref().unwrap_err().code == RateLimited);
    assert_eq!(limited.count(), 20);
}
