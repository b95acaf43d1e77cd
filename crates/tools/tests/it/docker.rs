use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use onyx_tools::{Docker, DockerSettings, Masker, docker_tools};
use onyx_types::Origin;
use serde_json::json;

use crate::runtime::allowed;
use crate::support::World;

fn docker(program: PathBuf, socket: PathBuf) -> Docker {
    let settings = DockerSettings { program: Some(program), socket: Some(socket) };
    Docker::new(&settings, "ada".parse().unwrap())
}

/// A program in the place of Docker's command line that prints its arguments.
async fn world() -> World {
    let world = World::with(Vec::new(), Masker::default()).await;
    let (program, socket) =
        (world.folder.path().join("docker"), world.folder.path().join("docker.sock"));
    std::fs::write(&program, "#!/bin/sh\nfor word; do echo \"<$word>\"; done; env | grep -c KEY\n")
        .unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(&socket, "").unwrap();
    world.with_tools(allowed(docker_tools(&docker(program, socket))), Masker::default())
}

#[tokio::test]
async fn containers_are_asked_with_our_options_and_their_names_only() {
    let world = world().await;
    let outcome = world.call("docker_logs", json!({"container": "web-1", "lines": 5})).await;
    assert!(outcome.output.starts_with("<logs>\n<--timestamps>\n<--tail>\n<5>\n<web-1>\n"));
    assert_eq!(outcome.origin, Origin::External);
    let outcome = world.call("docker_exec", json!({"container": "web", "argv": ["ls", "-l; x"]}));
    assert!(outcome.await.output.starts_with("<exec>\n<web>\n<ls>\n<-l; x>\n"));
    for container in ["--privileged", "a b", "", "$(x)"] {
        let told = world.failed("docker_logs", json!({"container": container})).await;
        assert!(told.ends_with("is not a container name"), "{told}");
    }
}

#[tokio::test]
async fn without_docker_the_tools_are_not_offered_and_say_why() {
    let world = World::with(Vec::new(), Masker::default()).await;
    let nowhere = world.folder.path().join("nowhere");
    let docker = docker(nowhere.clone(), nowhere);
    let world = world.with_tools(docker_tools(&docker), Masker::default());
    let offers = world.toolbox.ready_offers(&world.policy, &world.cx.agent, &world.cx.key.person);
    assert_eq!(offers.tools().len(), 0);
    let told = world.failed("docker_ps", json!({})).await;
    assert!(told.contains("(Docker is not available: nothing listens at "), "{told}");
    let audit = world.audit_lines().await;
    assert_eq!(audit, ["docker_ps - deny : the agent has no such tool"]);
}

#[tokio::test]
async fn what_is_offered_follows_docker_and_is_made_once() {
    let world = world().await;
    let offered =
        || world.toolbox.ready_offers(&world.policy, &world.cx.agent, &world.cx.key.person);
    let running = offered();
    assert_eq!(running.tools().len(), 4);
    std::fs::remove_file(world.folder.path().join("docker.sock")).unwrap();
    assert_eq!(offered().tools().len(), 0);
    std::fs::write(world.folder.path().join("docker.sock"), "").unwrap();
    assert!(Arc::ptr_eq(&running, &offered()));
}
