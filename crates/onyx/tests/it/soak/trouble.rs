//! Causes faults beside the conversations, one after another, by the dice.

use std::time::Duration;

use onyx_test_support::DEFAULT_TOKEN;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::world::{Dice, World};

pub(super) async fn make(world: &World, mut dice: Dice) {
    while world.goes_on() {
        sleep(dice.milliseconds(500, 3_000)).await;
        world.remember_memory(&*world.onyx.read().await);
        match dice.below(10) {
            0..=2 => kill(world).await,
            3 => end_in_order(world).await,
            4 | 5 => fill_the_disk(world, &mut dice).await,
            6 => edit_the_config(world, &mut dice).await,
            7 => freeze(world, &mut dice).await,
            8 => drip(world, &mut dice).await,
            _ => hear_nothing(world, &mut dice).await,
        }
    }
}

async fn kill(world: &World) {
    world.count("fault: kill -9");
    world.onyx.write().await.restart().await;
}

async fn end_in_order(world: &World) {
    world.count("fault: SIGTERM");
    let mut onyx = world.onyx.write().await;
    onyx.terminate().await;
    onyx.restart().await;
}

/// Fills the disk for a moment, and sometimes kills the server meanwhile.
async fn fill_the_disk(world: &World, dice: &mut Dice) {
    world.count("fault: full disk");
    world.onyx.read().await.disk().fill_but(dice.below(24));
    sleep(dice.milliseconds(200, 1_500)).await;
    if dice.below(3) == 0 {
        world.count("fault: kill -9 on a full disk");
        world.onyx.write().await.restart().await;
    }
    world.onyx.read().await.disk().empty();
}

async fn edit_the_config(world: &World, dice: &mut Dice) {
    world.count("fault: config edits");
    let path = world.onyx.read().await.config_path();
    let good = std::fs::read_to_string(&path).expect("the config");
    std::fs::write(&path, "{ nonsense").expect("room for a few bytes");
    sleep(dice.milliseconds(100, 800)).await;
    let mut config: serde_json::Value = serde_json::from_str(&good).expect("JSON");
    config["limits"] = json!({"max_steps": 10 + dice.below(10)});
    std::fs::write(&path, config.to_string()).expect("room for the config");
}

async fn freeze(world: &World, dice: &mut Dice) {
    world.count("fault: freeze");
    let onyx = world.onyx.read().await;
    onyx.freeze();
    sleep(dice.milliseconds(100, 1_500)).await;
    onyx.thaw();
}

/// Clients that send their request byte by byte and give up in the middle.
async fn drip(world: &World, dice: &mut Dice) {
    world.count("fault: slow senders");
    let address = world.client().await.base_url().trim_start_matches("http://").to_owned();
    let mut streams = Vec::new();
    for _ in 0..5 {
        streams.extend(TcpStream::connect(&address).await.ok());
    }
    let head =
        format!("POST /api/agent/chat HTTP/1.1\r\nhost: {address}\r\ncontent-length: 90\r\n");
    let length = dice.index(head.len());
    for byte in head.as_bytes().iter().take(length) {
        for stream in &mut streams {
            // Writing fails if the server is down.
            let _ = stream.write_all(&[*byte]).await;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Clients that request much and read nothing of it.
async fn hear_nothing(world: &World, dice: &mut Dice) {
    world.count("fault: deaf clients");
    let address = world.client().await.base_url().trim_start_matches("http://").to_owned();
    let body = json!({"message": format!("deaf slow {}", world.number())}).to_string();
    let request = format!(
        "POST /api/agent/chat-stream HTTP/1.1\r\nhost: {address}\r\n\
         authorization: Bearer {DEFAULT_TOKEN}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut streams = Vec::new();
    for _ in 0..3 {
        let Ok(mut stream) = TcpStream::connect(&address).await else { continue };
        let _ = stream.write_all(request.as_bytes()).await;
        streams.push(stream);
    }
    sleep(dice.milliseconds(200, 2_000)).await;
}
