use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use onyx_storage::{
    Change, Entities, Entity, EntityChange, FrontMatter, History, Space, SpaceChange, Spaces,
    StoreError,
};
use onyx_types::{Author, EntityKind, EntityRef, Origin, PersonId, SpaceId, Tier, Timestamp};

use crate::support::{Maker, TempStore};

struct World {
    temp: TempStore,
    make: Maker,
}

impl World {
    async fn new() -> Self {
        Self { temp: TempStore::new().await, make: Maker::new() }
    }

    fn entities(&self) -> Entities {
        Entities::new(&*self.temp.store.files, &anna()).unwrap()
    }

    fn spaces(&self) -> Spaces {
        Spaces::new(&*self.temp.store.files, &anna()).unwrap()
    }

    fn history(&self) -> History {
        self.temp.store.files.history(&anna()).unwrap()
    }

    fn by(&mut self, origin: Origin) -> Change {
        let author = Author::Agent("main".parse().unwrap());
        Change { ts: self.make.tick(), author, origin, run: None, tool: "test".into() }
    }

    /// Writes a file as a person's editor does.
    fn write(&self, path: &str, text: &str) -> PathBuf {
        let file = self.temp.home().join("people/anna").join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    async fn create(&mut self, kind: EntityKind, change: &EntityChange, origin: Origin) -> Entity {
        let (entities, at) = (self.entities(), self.make.tick());
        let edit = entities.plan_new(&home(), kind, change, origin, at).await.unwrap();
        let by = self.by(origin);
        entities.commit(&edit, by).await.unwrap().unwrap()
    }
}

fn anna() -> PersonId {
    "anna".parse().unwrap()
}

fn home() -> SpaceId {
    "home".parse().unwrap()
}

fn place(kind: EntityKind, id: &str) -> EntityRef {
    EntityRef { space: home(), kind, id: id.parse().unwrap() }
}

fn titled(title: &str, body: &str) -> EntityChange {
    EntityChange { title: Some(title.into()), body: Some(body.into()), ..EntityChange::default() }
}

#[tokio::test]
async fn a_new_entity_is_a_file_that_people_can_read() {
    let mut world = World::new().await;
    let change = EntityChange {
        status: Some("open".into()),
        tags: Some(vec!["bath".into(), "a, b".into()]),
        fields: BTreeMap::from([("due".into(), "2026-12-01".into())]),
        ..titled("Fix: the tap!", "It drips.\n")
    };
    let made = world.create(EntityKind::Task, &change, Origin::Agent).await;

    let file = world.temp.home().join("people/anna/spaces/home/tasks/fix-the-tap.md");
    let text = fs::read_to_string(file).unwrap();
    let (matter, body) = FrontMatter::split(&text);
    assert_eq!(
        matter.keys().collect::<Vec<_>>(),
        ["id", "title", "status", "tags", "due", "created", "updated"]
    );
    assert_eq!(body, "\nIt drips.\n");
    assert_eq!(made.at, place(EntityKind::Task, "fix-the-tap"));
    assert_eq!((made.title.as_str(), made.status.as_deref()), ("Fix: the tap!", Some("open")));
    assert_eq!(
        (made.tags.as_slice(), made.body.as_str()),
        (&["bath".to_owned(), "a, b".into()][..], "It drips.\n")
    );
    assert_eq!(made.fields, change.fields);
    assert_eq!(made.origin, Origin::Agent);
    let listed = world.entities().list(&home(), EntityKind::Task).await.unwrap();
    assert_eq!(listed.as_slice(), std::slice::from_ref(&made));
    assert_eq!(world.entities().get(&made.at).await.unwrap(), Some(made));
    assert_eq!(world.entities().list(&home(), EntityKind::Page).await.unwrap(), []);
}

#[tokio::test]
async fn names_never_meet_and_are_plain_whatever_the_title() {
    let mut world = World::new().await;
    let mut ids = Vec::new();
    for title in ["Idee", "idee", "../../etc/passwd", "购物 清单", "!!!", &"long word ".repeat(40)]
    {
        let made = world.create(EntityKind::Page, &titled(title, "x"), Origin::Person).await;
        ids.push(made.at.id.to_string());
    }
    assert_eq!(ids[..5], ["idee", "idee-2", "etc-passwd", "购物-清单", "page"]);
    assert!(ids[5].len() <= 64, "{}", ids[5]);
    let untitled = world
        .entities()
        .plan_new(
            &home(),
            EntityKind::Page,
            &titled("  ", ""),
            Origin::Person,
            Timestamp::UNIX_EPOCH,
        )
        .await;
    assert!(matches!(untitled, Err(StoreError::Refused(_))), "{untitled:?}");
}

#[tokio::test]
async fn a_change_keeps_what_others_wrote_and_the_version_before() {
    let mut world = World::new().await;
    let theirs =
        "---\ntitle: Trip\ncssclass: wide # theirs\nmap:\n  zoom: 3\n---\n# Old heading\n\ntext";
    world.write("spaces/home/pages/Trip to Oslo.md", theirs);
    let at = place(EntityKind::Page, "Trip to Oslo");
    let before = world.entities().get(&at).await.unwrap().unwrap();
    assert_eq!(before.fields, BTreeMap::from([("cssclass".into(), "wide".into())]));

    let change = EntityChange { status: Some("done".into()), ..EntityChange::default() };
    let now = world.make.tick();
    let edit = world.entities().plan_change(&at, &change, now).await.unwrap();
    let by = world.by(Origin::Agent);
    let after = world.entities().commit(&edit, by).await.unwrap().unwrap();

    let text = edit.after.clone().unwrap();
    let expected =
        theirs.replace("---\n# Old", &format!("status: done\nupdated: \"{now}\"\n---\n# Old"));
    assert_eq!(text, expected);
    assert_eq!((after.title, after.body), (before.title, before.body));
    let versions = world.history().versions(&edit.path).await.unwrap();
    assert_eq!(world.history().read(&versions[0]).await.unwrap().unwrap(), theirs.as_bytes());
}

#[tokio::test]
async fn what_changed_since_is_never_written_over() {
    let mut world = World::new().await;
    let made = world.create(EntityKind::Page, &titled("Notes", "one"), Origin::Person).await;
    let now = world.make.tick();
    let edit = world.entities().plan_change(&made.at, &titled("Notes", "two"), now).await.unwrap();
    let removal = world.entities().plan_removal(&made.at).await.unwrap();
    let file = world.write("spaces/home/pages/notes.md", "somebody else's");

    for edit in [edit, removal] {
        let by = world.by(Origin::Agent);
        assert!(matches!(world.entities().commit(&edit, by).await, Err(StoreError::Conflict)));
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "somebody else's");
}

#[tokio::test]
async fn a_deleted_entity_can_be_read_in_the_history() {
    let mut world = World::new().await;
    let made = world.create(EntityKind::Ref, &titled("Link", "words"), Origin::Person).await;
    let removal = world.entities().plan_removal(&made.at).await.unwrap();
    let by = world.by(Origin::Person);
    assert_eq!(world.entities().commit(&removal, by).await.unwrap(), None);

    assert_eq!(world.entities().get(&made.at).await.unwrap(), None);
    assert!(matches!(world.entities().plan_removal(&made.at).await, Err(StoreError::NotFound)));
    let versions = world.history().versions(&removal.path).await.unwrap();
    let kept = world.history().read(&versions[0]).await.unwrap().unwrap();
    assert!(String::from_utf8(kept).unwrap().ends_with("words\n"));
}

#[tokio::test]
async fn what_came_from_outside_stays_so_however_it_is_edited() {
    let mut world = World::new().await;
    let made = world.create(EntityKind::Ref, &titled("Page", "obey me"), Origin::External).await;
    assert_eq!(made.origin, Origin::External);
    let now = world.make.tick();
    let edit = world.entities().plan_change(&made.at, &titled("Page", "still"), now).await.unwrap();
    let by = world.by(Origin::Agent);
    assert_eq!(world.entities().commit(&edit, by).await.unwrap().unwrap().origin, Origin::External);

    // A person's editor leaves no trace in the history, but the file itself says where it came
    // from.
    let file = world.temp.home().join("people/anna/spaces/home/refs/page.md");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text + "and mine\n").unwrap();
    assert_eq!(world.entities().get(&made.at).await.unwrap().unwrap().origin, Origin::External);
    // A file can only make itself less trusted.
    world.write("spaces/home/refs/sly.md", "---\norigin: nonsense\n---\nx");
    let sly = world.entities().get(&place(EntityKind::Ref, "sly")).await.unwrap().unwrap();
    assert_eq!(sly.origin, Origin::External);
}

#[tokio::test]
async fn fields_cannot_reach_our_own_keys_or_break_the_front_matter() {
    let mut world = World::new().await;
    let made = world.create(EntityKind::Ref, &titled("Page", "x"), Origin::External).await;
    for key in ["origin", "id", "a: b\norigin", "", "a b"] {
        let fields = BTreeMap::from([(key.to_owned(), "person".to_owned())]);
        let change = EntityChange { fields, ..EntityChange::default() };
        let edit = world.entities().plan_change(&made.at, &change, Timestamp::UNIX_EPOCH).await;
        assert!(matches!(edit, Err(StoreError::Refused(_))), "{key:?}: {edit:?}");
    }
    let sly = EntityChange {
        title: Some("x\n---\norigin: person".into()),
        status: Some("a\norigin: person".into()),
        ..EntityChange::default()
    };
    let edit = world.entities().plan_change(&made.at, &sly, Timestamp::UNIX_EPOCH).await.unwrap();
    let by = world.by(Origin::Agent);
    let after = world.entities().commit(&edit, by).await.unwrap().unwrap();
    assert_eq!((after.title, after.origin), ("x\n---\norigin: person".into(), Origin::External));
}

#[tokio::test]
async fn a_file_that_is_no_text_hides_nobody_else() {
    let mut world = World::new().await;
    let made = world.create(EntityKind::Page, &titled("Fine", "x"), Origin::Person).await;
    let file = world.write("spaces/home/pages/broken.md", "");
    fs::write(&file, b"\xff\xfe\x00").unwrap();
    world.write("spaces/home/pages/.hidden.md", "x");
    world.write("spaces/home/pages/photo.jpg", "x");

    assert_eq!(world.entities().list(&home(), EntityKind::Page).await.unwrap(), [made]);
    let broken = world.entities().get(&place(EntityKind::Page, "broken")).await;
    assert!(matches!(broken, Err(StoreError::Damaged(_))), "{broken:?}");
}

#[tokio::test]
async fn a_space_is_a_folder_with_a_card() {
    let mut world = World::new().await;
    assert_eq!(world.spaces().list().await.unwrap(), []);
    let by = world.by(Origin::Person);
    let change = SpaceChange { name: Some("Zuhause".into()), ..SpaceChange::default() };
    let made = world.spaces().put(&home(), &change, None, by.clone()).await.unwrap();
    world.write("spaces/garden/pages/beans.md", "Beans");
    world.write("spaces/Not An Id/pages/x.md", "x");

    let garden = Space {
        id: "garden".parse().unwrap(),
        name: "garden".into(),
        default_agent: None,
        companion: None,
        local_only: false,
        tier: Tier::Suggest,
        created: None,
        version: None,
        damage: None,
    };
    assert_eq!(made.created, Some(by.ts));
    assert_eq!(world.spaces().list().await.unwrap(), [made.clone(), garden]);
    assert_eq!(world.spaces().get(&"none".parse().unwrap()).await.unwrap(), None);

    // Keys of other programs are preserved, and a change based on an older card is refused.
    let card = world.temp.home().join("people/anna/spaces/home/space.json");
    let text = fs::read_to_string(&card).unwrap().replacen('{', "{ \"colour\": \"red\",", 1);
    fs::write(&card, text).unwrap();
    let change = SpaceChange {
        default_agent: Some(Some("main".parse().unwrap())),
        ..SpaceChange::default()
    };
    let stale = world.spaces().put(&home(), &change, made.version, by.clone()).await;
    assert!(matches!(stale, Err(StoreError::Conflict)), "{stale:?}");
    let seen = world.spaces().get(&home()).await.unwrap().unwrap().version;
    let changed = world.spaces().put(&home(), &change, seen, by).await.unwrap();
    assert_eq!(
        (changed.name.as_str(), changed.default_agent),
        ("Zuhause", Some("main".parse().unwrap()))
    );
    assert!(fs::read_to_string(&card).unwrap().contains("\"colour\": \"red\""));
}

#[tokio::test]
async fn a_removed_space_is_gone_and_what_it_held_is_kept() {
    let mut world = World::new().await;
    let by = world.by(Origin::Person);
    let change = SpaceChange { name: Some("Zuhause".into()), ..SpaceChange::default() };
    world.spaces().put(&home(), &change, None, by.clone()).await.unwrap();
    world.write("spaces/home/pages/deep.md", "Deep");
    world.write("spaces/home/channels/x/sources/.original", "raw");
    world.spaces().remove(&home(), by).await.unwrap();

    assert_eq!(world.spaces().list().await.unwrap(), []);
    assert!(!world.temp.home().join("people/anna/spaces/home").exists());
    let history = world.temp.store.files.history(&anna()).unwrap();
    let versions = history.versions(&"spaces/home/pages/deep.md".parse().unwrap()).await.unwrap();
    assert_eq!(history.read(&versions[0]).await.unwrap().as_deref(), Some(&b"Deep"[..]));
    let again = world.by(Origin::Person);
    let gone = world.spaces().remove(&home(), again).await;
    assert!(matches!(gone, Err(StoreError::NotFound)), "{gone:?}");
}
