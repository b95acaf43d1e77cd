//! Commands on copies of the files, as gateways run them that keep the files in a store. The store
//! is a folder here, so that the test can look into it.

use std::time::Duration;

use onyx_storage::Area;
use onyx_test_support::wait_for;
use onyx_tools::{CommandRunner, Masker, command_tools, git_tools};
use onyx_types::Origin;
use serde_json::{Value, json};

use crate::git::{git, remotes};
use crate::runtime::{allowed, sandbox};
use crate::support::World;

const LONG: Duration = Duration::from_secs(60);

async fn world() -> World {
    let world = World::with(Vec::new(), Masker::default()).await;
    let runner = CommandRunner::new(sandbox(), world.folder.path().to_owned()).with_copies();
    let tools = [command_tools(&runner), git_tools(&runner, &remotes())].concat();
    world.with_tools(allowed(tools), Masker::default())
}

fn sh(script: &str) -> Value {
    json!({"argv": ["sh", "-c", script]})
}

/// The number of entries in the folder where copies are made.
fn copies(world: &World) -> usize {
    std::fs::read_dir(world.folder.path().join("cache/scratch")).map_or(0, Iterator::count)
}

async fn origin(world: &World, path: &str) -> Origin {
    let person = Area::Person(world.cx.key.person.clone());
    let path = format!("vault/{path}").parse().unwrap();
    let object = world.cx.files.objects(&person).unwrap().get(&path, 1 << 20).await.unwrap();
    let history = world.cx.files.history(&world.cx.key.person).unwrap();
    history.origin(&path, &object.unwrap()).await.unwrap()
}

#[tokio::test]
async fn what_a_command_changes_in_its_copy_arrives_in_the_store_with_versions_and_origin() {
    let world = world().await;
    world.write("work/a.md", "one\n");
    world.write("work/gone.md", "old\n");
    world.write("work/same.md", "same\n");
    let script = "pwd; cat work/a.md; echo two > work/a.md; mkdir -p new/deep; \
                  printf 'made\\377' > new/deep/b.bin; rm work/gone.md";
    let said = world.done("exec", sh(script)).await;
    assert!(said.contains("one") && said.contains("cache/scratch/"), "{said}");
    assert_eq!(world.text("work/a.md"), "two\n");
    assert_eq!(std::fs::read(world.vault().join("new/deep/b.bin")).unwrap(), b"made\xff");
    assert!(!world.vault().join("work/gone.md").exists());
    assert_eq!(origin(&world, "work/a.md").await, Origin::AgentTainted);
    assert_eq!(origin(&world, "work/same.md").await, Origin::Person);
    assert_eq!(copies(&world), 0, "nothing is left behind");
    let history = world.cx.files.history(&world.cx.key.person).unwrap();
    let mut changed = Vec::new();
    for version in history.changes_of_run(world.cx.run).await.unwrap() {
        let before = history.read(&version).await.unwrap();
        changed.push((version.path.to_string(), before));
    }
    let held = |text: &str| Some(text.as_bytes().to_vec());
    let expected = [
        ("vault/new/deep/b.bin".to_owned(), None),
        ("vault/work/a.md".to_owned(), held("one\n")),
        ("vault/work/gone.md".to_owned(), held("old\n")),
    ];
    assert_eq!(changed, expected);
}

#[tokio::test]
async fn a_folder_that_is_named_is_copied_alone_and_one_that_is_not_there_is_said() {
    let world = world().await;
    world.write("work/a.md", "one\n");
    world.write("other/b.md", "two\n");
    let listed = json!({"argv": ["sh", "-c", "find .. -type f"], "folder": "work"});
    let said = world.done("exec", listed).await;
    assert!(said.contains("../work/a.md") && !said.contains("b.md"), "{said}");
    let nowhere = json!({"argv": ["ls"], "folder": "nowhere"});
    assert_eq!(world.failed("exec", nowhere).await, "there is no folder nowhere");
    // The command writes outside of its folder, where the store has a file already: the stored file
    // is kept.
    std::fs::create_dir_all(world.vault().join("work")).unwrap();
    let beside = json!({"argv": ["sh", "-c", "mkdir -p ../other; echo x > ../other/b.md; echo y > ../other/c.md"], "folder": "work"});
    let said = world.failed("exec", beside).await;
    assert!(said.contains("another writer changed it") && said.contains("other/b.md"), "{said}");
    assert_eq!(
        (world.text("other/b.md"), world.text("other/c.md")),
        ("two\n".into(), "y\n".into())
    );
}

#[tokio::test]
async fn a_file_that_somebody_else_changed_meanwhile_stays_and_the_result_says_so() {
    let world = world().await;
    world.write("a.md", "one\n");
    world.write("b.md", "one\n");
    let script = "read go; echo theirs > a.md; echo theirs > b.md; echo theirs > c.md; rm d.md";
    world.write("d.md", "one\n");
    world.done("process", json!({"action": "start", "argv": ["sh", "-c", script]})).await;
    world.write("a.md", "mine\n");
    world.write("c.md", "mine\n");
    world.write("d.md", "mine\n");
    world.done("process", json!({"action": "write", "id": 1, "text": "go\n"})).await;
    let said = wait_for("the process to end", LONG, async || {
        let said = world.done("process", json!({"action": "poll", "id": 1, "seconds": 0})).await;
        said.contains("ended with").then_some(said)
    })
    .await;
    assert!(said.contains("the stored files stay as they are: a.md, c.md, d.md]"), "{said}");
    let held = ["a.md", "b.md", "c.md", "d.md"].map(|name| world.text(name));
    assert_eq!(held, ["mine\n", "theirs\n", "mine\n", "mine\n"]);
    assert_eq!(copies(&world), 0);
}

#[tokio::test]
async fn links_pipes_and_names_that_are_no_text_are_not_kept_and_that_is_said() {
    let world = world().await;
    world.write("a.md", "one\n");
    let script = "ln -s a.md link; mkfifo pipe; touch \"$(printf 'bad\\377name')\"; \
                  echo new > kept.md; chmod 000 kept.md; mkdir shut; echo x > shut/in.md; chmod 000 shut";
    let said = world.done("exec", sh(script)).await;
    for part in ["link (a link)", "pipe (no plain file)", "(its name is not text)"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let mut names: Vec<_> = std::fs::read_dir(world.vault()).unwrap().collect();
    names.sort_by_key(|entry| entry.as_ref().unwrap().file_name());
    let names: Vec<_> = names.into_iter().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.md", "kept.md", "shut"]);
    assert_eq!(world.text("shut/in.md"), "x\n");
    assert_eq!(copies(&world), 0, "also what nobody may enter goes");
}

#[tokio::test]
async fn a_file_takes_the_place_of_a_folder_and_the_other_way_round() {
    let world = world().await;
    world.write("folder/in.md", "one\n");
    world.write("file", "two\n");
    let script = "rm -r folder; echo now > folder; rm file; mkdir file; echo in > file/in.md";
    world.done("exec", sh(script)).await;
    assert_eq!((world.text("folder"), world.text("file/in.md")), ("now\n".into(), "in\n".into()));
}

#[tokio::test]
async fn more_than_can_be_kept_is_said_and_nothing_of_it_is_stored() {
    let world = world().await;
    world.write("a.md", "one\n");
    let said = world.failed("exec", sh("echo two > a.md; truncate -s 300M big.bin")).await;
    assert!(said.contains("more than 256 MiB now") && said.contains("nothing"), "{said}");
    assert_eq!(world.text("a.md"), "one\n");
    assert!(!world.vault().join("big.bin").exists());
    let big = std::fs::File::create(world.vault().join("big.bin")).unwrap();
    big.set_len(300 << 20).unwrap();
    let said = world.failed("exec", sh("true")).await;
    assert!(said.contains("the vault holds 300 MiB, more than 256 MiB"), "{said}");
    assert!(said.contains("name a folder that holds less"), "{said}");
}

#[tokio::test]
async fn git_works_in_a_copy_and_its_commits_arrive_in_the_repository() {
    let world = world().await;
    let project = world.vault().join("project");
    std::fs::create_dir_all(&project).unwrap();
    // The repository has no commit and no branch, so only its empty folders show that it is one.
    git(&project, &["init", "--quiet", "--initial-branch=main"]);
    world.write("project/a.md", "one\n");
    let on = |message: &str| json!({"folder": "project", "message": message});
    let status = world.done("git_status", json!({"folder": "project"})).await;
    assert!(status.contains("?? a.md"), "{status}");
    world.done("git_commit", on("first")).await;
    assert_eq!(git(&project, &["log", "--format=%s"]), "first\n");
    assert_eq!(git(&project, &["status", "--short"]), "");
    // After packing, no branch has a file of its own.
    git(&project, &["gc", "--quiet"]);
    std::fs::remove_dir_all(project.join(".git/refs")).unwrap();
    world.write("project/a.md", "two\n");
    world.done("git_commit", on("second")).await;
    assert_eq!(git(&project, &["log", "--format=%s"]), "second\nfirst\n");
    assert_eq!(git(&project, &["fsck", "--strict"]), "");
    assert_eq!(copies(&world), 0);
}

#[tokio::test]
async fn a_repository_that_changed_meanwhile_is_not_half_written() {
    let world = world().await;
    let vault = world.vault();
    git(&vault, &["init", "--quiet", "--initial-branch=main"]);
    world.write("a.md", "one\n");
    git(&vault, &["add", "a.md"]);
    git(&vault, &["commit", "--quiet", "--message", "first"]);
    let script = "read go; echo theirs > b.md; git add b.md && \
                  git -c user.name=x -c user.email=x@x.invalid commit --quiet --message theirs";
    world.done("process", json!({"action": "start", "argv": ["sh", "-c", script]})).await;
    world.write("a.md", "two\n");
    git(&vault, &["commit", "--quiet", "--all", "--message", "mine"]);
    world.done("process", json!({"action": "write", "id": 1, "text": "go\n"})).await;
    let said = wait_for("the process to end", LONG, async || {
        let said = world.done("process", json!({"action": "poll", "id": 1, "seconds": 0})).await;
        said.contains("ended with").then_some(said)
    })
    .await;
    assert!(said.contains("exit code 0") && said.contains("as they are: .git]"), "{said}");
    assert_eq!(git(&vault, &["log", "--format=%s"]), "mine\nfirst\n");
    assert_eq!(git(&vault, &["status", "--short"]), "?? b.md\n");
    assert_eq!(git(&vault, &["fsck", "--strict"]), "");
}

#[tokio::test]
async fn an_approval_is_for_what_the_copy_holds_wherever_it_is_made() {
    let world = World::with(Vec::new(), Masker::default()).await;
    let runner = CommandRunner::new(sandbox(), world.folder.path().to_owned()).with_copies();
    let world = world.with_tools(command_tools(&runner), Masker::default());
    world.write("b.sh", "echo harmless\n");
    let ask = async || world.call("exec", json!({"argv": ["sh", "b.sh"]})).await;
    let first = ask().await;
    assert!(first.draft.is_some(), "{}", first.output);
    let again = ask().await;
    assert!(again.draft.is_none(), "two copies of the same files are one plan: {}", again.output);
    world.write("lib/mod.py", "print()\n");
    let other = ask().await;
    assert!(other.draft.is_some(), "another module can be run by now: {}", other.output);
    assert_eq!(copies(&world), 0);
}
