use std::time::Duration;

use onyx_identity::{
    CallerKind, DeviceCredential, Lifetime, NewToken, PairingFor, PairingState, Proof,
};
use onyx_types::ErrorCode::{Forbidden, InvalidRequest, NotFound, SignInAgain, Unauthenticated};
use onyx_types::{Grant, Grants};
use serde_json::json;

use crate::world::{HERE, OWNER_TOKEN, World, declared, person, shown};

/// A session proof with one text in the place of both halves.
fn both(text: &str) -> Proof<'_> {
    Proof::Session { cookie: text, page_key: Some(text) }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn a_token_opens_until_its_time_is_over_or_it_is_revoked() {
    let world = World::new().await;
    let new = NewToken {
        people: vec![person("owner")],
        name: "a day".to_owned(),
        grants: "read".parse().unwrap(),
        lifetime: Lifetime::For(DAY),
    };
    let (_, day) = world.identity.create_token(&world.owner(), new).await.unwrap();
    let (id, token) = world.token(&["owner"], "chat").await;
    let caller = world.ask(Proof::Bearer(token.reveal())).await.unwrap();
    assert_eq!((caller.kind, caller.grants()), (CallerKind::Token, "chat".parse().unwrap()));
    assert!(token.reveal().starts_with("onyx_sk_"));
    world.clock.advance(DAY - Duration::from_millis(1));
    assert!(world.ask(Proof::Bearer(day.reveal())).await.is_ok());
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(world.who(Proof::Bearer(day.reveal())).await, Err(Unauthenticated));
    assert!(!caller.revoked.is_cancelled());
    world.identity.revoke(id).await.unwrap();
    assert!(caller.revoked.is_cancelled());
    assert_eq!(world.who(Proof::Bearer(token.reveal())).await, Err(Unauthenticated));
    assert_eq!(world.identity.revoke(id).await.unwrap_err().code, NotFound);
}

#[tokio::test]
async fn each_kind_of_credential_opens_its_own_door_only() {
    let world = World::new().await;
    let (_, token) = world.token(&["owner"], "read").await;
    let caller = world.ask(Proof::Bearer(token.reveal())).await.unwrap();
    let session = world.identity.create_session(&caller, "browser").await.unwrap();
    let tokens = world.identity.create_tokens(&caller).await.unwrap();
    let opens = async |proof| world.ask(proof).await.map(|caller| caller.kind);
    assert_eq!(opens(Proof::Bearer(token.reveal())).await, Ok(CallerKind::Token));
    assert_eq!(opens(shown(&session)).await, Ok(CallerKind::Session));
    assert_eq!(opens(Proof::Bearer(tokens.access.reveal())).await, Ok(CallerKind::Access));
    for wrong in [
        both(token.reveal()),
        both(OWNER_TOKEN),
        both(tokens.access.reveal()),
        both(""),
        both(session.cookie.reveal()),
        both(session.page_key.reveal()),
        Proof::Session { cookie: session.cookie.reveal(), page_key: Some("") },
        Proof::Session { cookie: "", page_key: Some(session.page_key.reveal()) },
        Proof::Bearer(session.cookie.reveal()),
        Proof::Bearer(session.page_key.reveal()),
        Proof::Bearer(tokens.refresh.reveal()),
        Proof::Bearer(""),
        Proof::Password { person: "owner", password: OWNER_TOKEN },
        Proof::Password { person: "owner", password: "" },
    ] {
        assert_eq!(opens(wrong).await, Err(Unauthenticated), "{wrong:?}");
    }
    let cookie_alone = Proof::Session { cookie: session.cookie.reveal(), page_key: None };
    assert_eq!(opens(cookie_alone).await, Err(SignInAgain));
    for not_refresh in
        [token.reveal(), session.cookie.reveal(), tokens.access.reveal(), OWNER_TOKEN]
    {
        let refused = world.identity.refresh(not_refresh, None).await.unwrap_err();
        assert_eq!(refused.code, Unauthenticated);
    }
}

#[tokio::test]
async fn what_is_made_with_a_credential_is_worth_no_more_and_ends_with_it() {
    let world = World::new().await;
    world.identity.declare(declared(json!(["anna"]), OWNER_TOKEN)).await.unwrap();
    let (id, token) = world.token(&["owner"], "read chat").await;
    let caller = world.ask(Proof::Bearer(token.reveal())).await.unwrap();
    let first = world.identity.create_tokens(&caller).await.unwrap();
    let access = world.ask(Proof::Bearer(first.access.reveal())).await.unwrap();
    assert_eq!(access.grants(), caller.grants());
    let second = world.identity.create_tokens(&access).await.unwrap();
    let deep = world.ask(Proof::Bearer(second.access.reveal())).await.unwrap();
    assert!(!deep.grants().has(Grant::Admin));
    for (people, grants) in [("owner", "read chat write"), ("owner", "admin"), ("anna", "read")] {
        let new = NewToken {
            people: vec![person(people)],
            name: "more".to_owned(),
            grants: grants.parse().unwrap(),
            lifetime: Lifetime::UntilRevoked,
        };
        let refused = world.identity.create_token(&caller, new).await.unwrap_err();
        assert_eq!(refused.code, Forbidden, "{people}: {grants}");
    }
    let refused = world.identity.set_password(&caller, &person("owner"), "correct horse").await;
    assert_eq!(refused.unwrap_err().code, Forbidden);
    assert_eq!(world.identity.create_link(&caller).await.unwrap_err().code, Forbidden);
    assert_eq!(world.rows().await, 3);
    world.identity.revoke(id).await.unwrap();
    assert!(access.revoked.is_cancelled() && deep.revoked.is_cancelled());
    for tokens in [first, second] {
        assert_eq!(world.who(Proof::Bearer(tokens.access.reveal())).await, Err(Unauthenticated));
        let refused = world.identity.refresh(tokens.refresh.reveal(), None).await;
        assert_eq!(refused.unwrap_err().code, Unauthenticated);
    }
    assert_eq!(world.rows().await, 0);
}

#[tokio::test]
async fn a_new_owner_token_ends_what_was_made_with_the_old_one_also_across_a_restart() {
    let mut world = World::new().await;
    let make = async |world: &World, token: &str| {
        let caller = world.ask(Proof::Bearer(token)).await.unwrap();
        (world.identity.create_session(&caller, "browser").await.unwrap(), caller.revoked)
    };
    let (session, stream) = make(&world, OWNER_TOKEN).await;
    world.identity.declare(declared(json!([]), "second")).await.unwrap();
    assert!(stream.is_cancelled());
    assert_eq!(world.who(Proof::Bearer(OWNER_TOKEN)).await, Err(Unauthenticated));
    assert_eq!(world.who(shown(&session)).await, Err(Unauthenticated));
    let (session, _) = make(&world, "second").await;
    world.reopen("second").await;
    assert!(world.ask(shown(&session)).await.is_ok());
    world.reopen("third").await;
    assert_eq!(world.who(shown(&session)).await, Err(Unauthenticated));
    assert_eq!(world.rows().await, 0);
}

#[tokio::test]
async fn a_new_password_signs_out_what_the_old_one_signed_in() {
    let mut world = World::new().await;
    let owner = person("owner");
    for short in ["", "seven77"] {
        let refused = world.identity.set_password(&world.owner(), &owner, short).await.unwrap_err();
        assert_eq!(refused.code, InvalidRequest);
    }
    world.identity.set_password(&world.owner(), &owner, "correct horse").await.unwrap();
    let right = Proof::Password { person: "owner", password: "correct horse" };
    let caller = world.ask(right).await.unwrap();
    let session = world.identity.create_session(&caller, "browser").await.unwrap();
    let link = world.identity.create_link(&world.owner()).await.unwrap();
    let by_link = world.identity.redeem_link(link.reveal(), HERE.parse().unwrap()).await.unwrap();
    world.reopen(OWNER_TOKEN).await;
    let revoked = world.ask(shown(&session)).await.unwrap().revoked;
    world.identity.set_password(&world.owner(), &owner, "battery staple").await.unwrap();
    assert!(revoked.is_cancelled());
    assert_eq!(world.who(shown(&session)).await, Err(Unauthenticated));
    assert!(world.ask(shown(&by_link)).await.is_ok());
    assert_eq!(world.who(right).await, Err(Unauthenticated));
    let fresh = Proof::Password { person: "owner", password: "battery staple" };
    for _ in 0..3 {
        assert!(world.ask(fresh).await.is_ok());
    }
    world.identity.remove_password(&owner).await.unwrap();
    assert_eq!(world.who(fresh).await, Err(Unauthenticated));
}

#[tokio::test]
async fn access_is_short_and_a_refresh_token_lasts_for_a_month() {
    let world = World::new().await;
    let owner = world.ask(Proof::Bearer(OWNER_TOKEN)).await.unwrap();
    let first = world.identity.create_tokens(&owner).await.unwrap();
    assert_eq!(first.expires_in, Duration::from_secs(15 * 60));
    world.clock.advance(Duration::from_secs(15 * 60));
    assert_eq!(world.who(Proof::Bearer(first.access.reveal())).await, Err(Unauthenticated));
    let second = world.identity.refresh(first.refresh.reveal(), None).await.unwrap();
    assert!(world.ask(Proof::Bearer(second.access.reveal())).await.is_ok());
    world.clock.advance(31 * DAY);
    let late = world.identity.refresh(second.refresh.reveal(), None).await;
    assert_eq!(late.unwrap_err().code, Unauthenticated);
}

#[tokio::test]
async fn a_link_is_good_once_and_for_ten_minutes() {
    let world = World::new().await;
    let here = HERE.parse().unwrap();
    let link = world.identity.create_link(&world.owner()).await.unwrap();
    let session = world.identity.redeem_link(link.reveal(), here).await.unwrap();
    let caller = world.ask(shown(&session)).await.unwrap();
    assert!(caller.is_owner && caller.grants() == Grants::all());
    let again = world.identity.redeem_link(link.reveal(), here).await;
    assert_eq!(again.unwrap_err().code, Unauthenticated);
    let late = world.identity.create_link(&world.owner()).await.unwrap();
    world.clock.advance(Duration::from_secs(10 * 60));
    let late = world.identity.redeem_link(late.reveal(), here).await;
    assert_eq!(late.unwrap_err().code, Unauthenticated);
}

#[tokio::test]
async fn a_device_that_was_approved_picks_its_credential_up_once() {
    let world = World::new().await;
    world.identity.add_person(person("anna"), None).await.unwrap();
    let begin = async |client| world.identity.begin_pairing("phone\n", client, None).await.unwrap();
    let (id, waits) = begin(PairingFor::Browser).await;
    let pick_up = async |id: &str| world.identity.pick_up_pairing(id).await;
    assert_eq!(pick_up(id.reveal()).await.unwrap(), (PairingState::Pending, None));
    assert_eq!(world.identity.pairings().await.unwrap(), std::slice::from_ref(&waits));
    assert_eq!(waits.name, "phone");
    let written_otherwise = waits.code.replace('-', " ").to_lowercase();
    world
        .identity
        .approve_pairing(&world.owner(), &written_otherwise, &person("anna"))
        .await
        .unwrap();
    let again = world.identity.approve_pairing(&world.owner(), &waits.code, &person("owner")).await;
    assert_eq!(again.unwrap_err().code, NotFound);
    let (state, secret) = pick_up(id.reveal()).await.unwrap();
    let Some(DeviceCredential::Browser(session)) = secret else {
        panic!("a browser gets a session")
    };
    assert_eq!(state, PairingState::Approved);
    assert_eq!(world.who(shown(&session)).await, Ok("anna".to_owned()));
    assert_eq!(pick_up(id.reveal()).await.unwrap_err().code, NotFound);

    let (id, waits) = begin(PairingFor::Device).await;
    world.identity.approve_pairing(&world.owner(), &waits.code, &person("owner")).await.unwrap();
    let (_, secret) = pick_up(id.reveal()).await.unwrap();
    let Some(DeviceCredential::Device(token)) = secret else { panic!("a device gets a token") };
    let caller = world.ask(Proof::Bearer(token.reveal())).await.unwrap();
    assert!(caller.is_owner && !caller.grants().has(Grant::Admin));

    let (id, waits) = begin(PairingFor::Device).await;
    world.identity.reject_pairing(&waits.code).await.unwrap();
    assert_eq!(pick_up(id.reveal()).await.unwrap(), (PairingState::Rejected, None));
    let (id, waits) = begin(PairingFor::Device).await;
    world.clock.advance(Duration::from_secs(10 * 60));
    assert_eq!(pick_up(id.reveal()).await.unwrap_err().code, NotFound);
    let late = world.identity.approve_pairing(&world.owner(), &waits.code, &person("owner")).await;
    assert_eq!(late.unwrap_err().code, NotFound);
}

#[tokio::test]
async fn of_very_many_sessions_of_one_person_the_oldest_end() {
    let world = World::new().await;
    let owner = world.ask(Proof::Bearer(OWNER_TOKEN)).await.unwrap();
    let first = world.identity.create_session(&owner, "first").await.unwrap();
    let mut last = None;
    for _ in 0..64 {
        assert!(world.ask(shown(&first)).await.is_ok());
        last = Some(world.identity.create_session(&owner, "more").await.unwrap());
    }
    assert_eq!(world.who(shown(&first)).await, Err(Unauthenticated));
    assert!(world.ask(shown(&last.unwrap())).await.is_ok());
    assert_eq!(world.rows().await, 64);
}

#[tokio::test]
async fn a_refresh_token_that_comes_twice_closes_everything_of_its_family() {
    let mut world = World::new().await;
    let (_, token) = world.token(&["owner"], "read").await;
    let caller = world.ask(Proof::Bearer(token.reveal())).await.unwrap();
    let first = world.identity.create_tokens(&caller).await.unwrap();
    let other = world.identity.create_tokens(&caller).await.unwrap();
    let second = world.identity.refresh(first.refresh.reveal(), None).await.unwrap();
    let holder = world.ask(Proof::Bearer(second.access.reveal())).await.unwrap();
    assert!(!holder.revoked.is_cancelled());
    // A thief uses the first token, also after a restart.
    world.reopen(OWNER_TOKEN).await;
    let stolen = world.identity.refresh(first.refresh.reveal(), None).await.unwrap_err();
    assert_eq!(stolen.code, Unauthenticated);
    let mine = world.identity.refresh(second.refresh.reveal(), None).await.unwrap_err();
    assert_eq!(mine.code, Unauthenticated);
    assert!(world.identity.refresh(other.refresh.reveal(), None).await.is_ok());
}

#[tokio::test]
async fn a_browser_is_signed_in_for_thirty_days_and_no_longer() {
    let world = World::new().await;
    let (_, token) = world.token(&["owner"], "read").await;
    let caller = world.ask(Proof::Bearer(token.reveal())).await.unwrap();
    let session = world.identity.create_session(&caller, "browser").await.unwrap();
    world.clock.advance(30 * DAY - Duration::from_millis(1));
    assert!(world.ask(shown(&session)).await.is_ok());
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(world.who(shown(&session)).await, Err(Unauthenticated));
}
