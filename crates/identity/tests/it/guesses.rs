use std::time::Duration;

use onyx_identity::{PairingFor, Proof};
use onyx_types::ErrorCode::{RateLimited, Unauthenticated};

use crate::world::{OWNER_TOKEN, World, person};

const RIGHT: Proof<'static> = Proof::Password { person: "owner", password: "correct horse" };
const WRONG: Proof<'static> = Proof::Password { person: "owner", password: "incorrect" };

async fn world() -> World {
    let world = World::new().await;
    world.identity.set_password(&world.owner(), &person("owner"), "correct horse").await.unwrap();
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
    // Another address of the same network counts as the same network.
    assert_eq!(code(RIGHT, "192.0.2.2").await.unwrap_err(), RateLimited);
    assert!(code(RIGHT, "192.0.3.1").await.is_ok());
    // A token cannot be guessed, so a caller with a valid one is let in.
    assert!(code(Proof::Bearer(OWNER_TOKEN), "192.0.2.1").await.is_ok());
    world.clock.advance(Duration::from_secs(6));
    assert!(code(RIGHT, "192.0.2.1").await.is_ok());
    assert_eq!(code(WRONG, "192.0.2.1").await.unwrap_err(), Unauthenticated);
    assert_eq!(code(WRONG, "192.0.2.1").await.unwrap_err(), RateLimited);
}

#[tokio::test]
async fn guesses_at_one_name_from_many_networks_are_limited_together_but_not_where_it_lives() {
    let world = world().await;
    let code = async |proof, from: &str| {
        world.ask_as(proof, from, None).await.map(|_| ()).map_err(|fault| fault.code)
    };
    assert_eq!(code(RIGHT, "203.0.113.5").await, Ok(()));
    let mut looked_at = 0;
    for number in 0..120_u32 {
        let from = format!("198.51.{number}.1");
        looked_at += u32::from(code(WRONG, &from).await == Err(Unauthenticated));
    }
    assert_eq!(looked_at, 100);
    assert_eq!(code(RIGHT, "198.51.200.1").await, Err(RateLimited));
    // Where the person signed in before, the guesses of strangers elsewhere do not lock them out.
    assert_eq!(code(RIGHT, "203.0.113.77").await, Ok(()));
}

#[tokio::test]
async fn unknown_tokens_and_links_are_told_to_wait_and_good_ones_never_are() {
    let world = world().await;
    let mut codes = Vec::new();
    for _ in 0..125 {
        codes.push(world.who(Proof::Bearer("onyx_sk_wrong")).await.unwrap_err());
    }
    assert_eq!(codes.iter().filter(|code| **code == RateLimited).count(), 5);
    let link = world.identity.create_link(&world.owner()).await.unwrap();
    let from = "127.0.0.1".parse().unwrap();
    let refused = world.identity.redeem_link("wrong", from).await.unwrap_err();
    assert_eq!(refused.code, RateLimited);
    assert!(world.identity.redeem_link(link.reveal(), from).await.is_ok());
    assert!(world.ask(Proof::Bearer(OWNER_TOKEN)).await.is_ok());
}

#[tokio::test]
async fn one_network_that_begins_many_pairings_keeps_no_other_from_pairing() {
    let world = world().await;
    let begin = async |from: String| {
        let from = Some(from.parse().unwrap());
        let begun = world.identity.begin_pairing("phone", PairingFor::Browser, from).await;
        begun.map_err(|it| it.code)
    };
    let mut begun = 0;
    for number in 0..40 {
        begun += usize::from(begin(format!("192.0.2.{number}")).await.is_ok());
    }
    assert_eq!(begun, 20);
    for network in 0..8 {
        for number in 0..20 {
            let _ = begin(format!("198.51.{network}.{number}")).await;
        }
    }
    let (id, waits) = begin("203.0.113.1".to_owned()).await.unwrap();
    world.identity.approve_pairing(&world.owner(), &waits.code, &person("owner")).await.unwrap();
    assert!(world.identity.pick_up_pairing(id.reveal()).await.unwrap().1.is_some());
    assert!(world.identity.pairings().await.unwrap().len() <= 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guesses_at_once_are_as_many_as_guesses_one_after_another() {
    let world = world().await;
    let many = (0..30).map(|_| world.ask_as(WRONG, "192.0.2.3", None));
    let outcomes = futures::future::join_all(many).await;
    let limited = outcomes.into_iter().filter(|at| at.as_ref().unwrap_err().code == RateLimited);
    assert_eq!(limited.count(), 20);
}
