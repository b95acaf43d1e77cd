use std::time::Duration;

use onyx_identity::{BrowserSession, DeclaredPeople, PersonSource, Proof, Token};
use onyx_storage::Role;
use onyx_types::ErrorCode::{Forbidden, InvalidRequest, NotFound, Unauthenticated};
use onyx_types::Grant;
use serde_json::json;

use crate::world::{OWNER_TOKEN, World, declared, person};

#[tokio::test]
async fn the_first_start_makes_an_owner_and_the_next_does_not_make_another() {
    let mut world = World::new().await;
    world.reopen(OWNER_TOKEN).await;
    let people = world.identity.people();
    assert_eq!(people.len(), 1);
    assert_eq!((people[0].id.as_str(), people[0].role), ("owner", Role::Owner));
    let caller = world.ask(Proof::Bearer(OWNER_TOKEN)).await.unwrap();
    assert!(caller.is_owner && caller.grants().has(Grant::Admin));
    assert_eq!(world.who(Proof::LocalUser).await, Ok("owner".to_owned()));
}

#[tokio::test]
async fn people_of_the_config_come_and_go_and_what_they_had_open_ends() {
    let world = World::new().await;
    let with_anna = || declared(json!(["anna", {"id": "bert", "name": "Bert"}]), OWNER_TOKEN);
    world.identity.declare(with_anna()).await.unwrap();
    let people = world.identity.people();
    let shown: Vec<_> = people.iter().map(|at| (at.id.as_str(), at.source)).collect();
    let (config, added) = (PersonSource::Config, PersonSource::Added);
    assert_eq!(shown, [("anna", config), ("bert", config), ("owner", added)]);
    let (_, token) = world.token(&["anna"], "read").await;
    let (_, of_bert) = world.token(&["bert"], "read").await;
    let annas = world.ask(Proof::Bearer(token.reveal())).await.unwrap();
    let berts = world.ask(Proof::Bearer(of_bert.reveal())).await.unwrap();
    world.identity.declare(declared(json!(["bert"]), OWNER_TOKEN)).await.unwrap();
    assert!(annas.revoked.is_cancelled() && !berts.revoked.is_cancelled());
    assert_eq!(world.who(Proof::Bearer(token.reveal())).await, Err(Unauthenticated));
    world.identity.declare(with_anna()).await.unwrap();
    assert_eq!(world.who(Proof::Bearer(token.reveal())).await, Ok("anna".to_owned()));
}

#[tokio::test]
async fn the_config_may_name_the_owner() {
    let world = World::new().await;
    let stream = world.ask(Proof::Bearer(OWNER_TOKEN)).await.unwrap().revoked;
    let owner = json!([{"id": "anna", "role": "owner"}]);
    world.identity.declare(declared(owner, OWNER_TOKEN)).await.unwrap();
    assert_eq!(world.who(Proof::Bearer(OWNER_TOKEN)).await, Ok("anna".to_owned()));
    assert!(stream.is_cancelled());
}

#[test]
fn bad_lists_of_people_are_refused() {
    let token = || Token::new("t");
    let names = |text| DeclaredPeople::new(Vec::new(), Some(text), token());
    assert!(names("sebastian, petra,,").is_ok());
    let why = names("sebastian,../petra").unwrap_err();
    assert!(why.message.starts_with("VALID_PERSONS: \"../petra\""), "{why}");
    let people = |value| DeclaredPeople::new(serde_json::from_value(value).unwrap(), None, token());
    assert!(people(json!(["anna", {"id": "anna"}])).is_err());
    let two = json!([{"id": "anna", "role": "owner"}, {"id": "bert", "role": "owner"}]);
    assert!(people(two).is_err());
}

#[tokio::test]
async fn a_person_is_added_once_and_removed_with_everything_that_opens() {
    let world = World::new().await;
    world.identity.add_person(person("anna"), None).await.unwrap();
    let again = world.identity.add_person(person("anna"), None).await.unwrap_err();
    assert_eq!(again.code, InvalidRequest);
    world.identity.set_password(&world.owner(), &person("anna"), "correct horse").await.unwrap();
    let (_, token) = world.token(&["anna"], "read").await;
    let revoked = world.ask(Proof::Bearer(token.reveal())).await.unwrap().revoked;
    world.identity.remove_person(&person("anna")).await.unwrap();
    assert!(revoked.is_cancelled());
    assert_eq!(world.who(Proof::Bearer(token.reveal())).await, Err(Unauthenticated));
    let by_password = Proof::Password { person: "anna", password: "correct horse" };
    assert_eq!(world.who(by_password).await, Err(Unauthenticated));
    assert_eq!(world.rows().await, 0);
    // A person who comes back under the same name has no earlier credentials.
    world.identity.add_person(person("anna"), None).await.unwrap();
    assert_eq!(world.who(Proof::Bearer(token.reveal())).await, Err(Unauthenticated));
    let refused = async |name| world.identity.remove_person(&person(name)).await.unwrap_err().code;
    assert_eq!(refused("owner").await, Forbidden);
    assert_eq!(refused("nobody").await, NotFound);
    world.identity.declare(declared(json!(["bert"]), OWNER_TOKEN)).await.unwrap();
    assert_eq!(refused("bert").await, InvalidRequest);
}

#[tokio::test]
async fn a_household_token_speaks_for_its_people_and_for_nobody_else() {
    let world = World::new().await;
    for name in ["anna", "bert", "carl"] {
        world.identity.add_person(person(name), None).await.unwrap();
    }
    let (_, token) = world.token(&["anna", "bert"], "read").await;
    let ask = async |named| {
        let caller = world.ask_as(Proof::Bearer(token.reveal()), "127.0.0.1", named).await;
        caller.map(|caller| caller.person.to_string()).map_err(|fault| fault.code)
    };
    assert_eq!(ask(None).await, Ok("anna".to_owned()));
    assert_eq!(ask(Some("bert")).await, Ok("bert".to_owned()));
    for other in ["carl", "owner", "nobody", "", "../bert", "Bert"] {
        assert_eq!(ask(Some(other)).await, Err(Forbidden), "{other}");
    }
    world.identity.remove_person(&person("bert")).await.unwrap();
    assert_eq!(ask(Some("bert")).await, Err(Forbidden));
    assert_eq!(ask(None).await, Ok("anna".to_owned()));
}

#[tokio::test]
async fn nothing_that_opens_is_written_in_clear() {
    let world = World::new().await;
    world.identity.add_person(person("anna"), None).await.unwrap();
    world
        .identity
        .set_password(&world.owner(), &person("anna"), "a canary of a password")
        .await
        .unwrap();
    let (_, token) = world.token(&["anna"], "read write").await;
    let caller = world.ask(Proof::Bearer(token.reveal())).await.unwrap();
    let session = world.identity.create_session(&caller, "browser").await.unwrap();
    let tokens = world.identity.create_tokens(&caller).await.unwrap();
    let link = world.identity.create_link(&world.owner()).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    let mut searched = 0;
    for entry in std::fs::read_dir(world.folder.path().join("home")).unwrap() {
        let Ok(bytes) = std::fs::read(entry.unwrap().path()) else { continue };
        searched += bytes.len();
        let BrowserSession { cookie, page_key } = &session;
        let secrets = [&token, cookie, page_key, &tokens.access, &tokens.refresh, &link];
        let texts = secrets.iter().map(|secret| secret.reveal());
        for text in texts.chain(["a canary of a password"]) {
            let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!found, "{text}");
        }
    }
    assert!(searched > 10_000, "the database was looked at");
    assert!(!format!("{token:?} {tokens:?} {caller:?}").contains(token.reveal()));
}
