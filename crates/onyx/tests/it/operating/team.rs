//! `packaging/docker/team`: the compose file of a team is compared with its config, the proxy's
//! config and the program. Both gateways are run as the file runs them, with a real database and a
//! real S3 server; only Docker and the proxy are missing.

use std::collections::BTreeMap;
use std::process::Stdio;

use onyx_test_support::{AgentClient, MASTER_KEY, ServerPlace, wait_for};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::{BINARY, SOON, stranger};

const COMPOSE: &str = include_str!("../../../../../packaging/docker/team/compose.yaml");
const CONFIG: &str = include_str!("../../../../../packaging/docker/team/onyx.json");
const PROXY: &str = include_str!("../../../../../packaging/docker/team/Caddyfile");

fn compose() -> Value {
    serde_saphyr::from_str(COMPOSE).unwrap()
}

fn environment(service: &str) -> BTreeMap<String, String> {
    let compose = compose();
    let found = compose["services"][service]["environment"].as_object().unwrap();
    found.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

/// The values after a keyword of the proxy's config.
fn of_proxy(word: &str) -> Vec<&'static str> {
    let line = PROXY.lines().map(str::trim).find(|line| line.starts_with(word)).unwrap();
    line.split_whitespace().skip(1).filter(|word| *word != "{").collect()
}

/// The variables that the config reads from the environment.
fn wanted() -> Vec<&'static str> {
    let end = |rest: &'static str| rest.split(['}', '"']).next().unwrap();
    ["${", "env:"].into_iter().flat_map(|mark| CONFIG.split(mark).skip(1).map(end)).collect()
}

#[test]
fn gateways_have_every_variable_their_own_name_and_an_address_that_others_reach() {
    assert_eq!(wanted().len(), 7, "{:?}", wanted());
    let gateways = ["one", "two"];
    for service in gateways.into_iter().chain(["migrate"]) {
        let environment = environment(service);
        for name in wanted().into_iter().chain(["ONYX_MASTER_KEY"]) {
            assert!(environment.contains_key(name), "{service} has no {name}");
        }
        assert_eq!(environment["ONYX_GATEWAY"], service);
        assert_eq!(environment["ONYX_ADVERTISE"], format!("http://{service}:18790"));
        let mounted = &compose()["services"][service]["volumes"];
        let mounted: Vec<&str> =
            mounted.as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        assert!(mounted.contains(&"./onyx.json:/var/lib/onyx/home/onyx.json:ro"), "{mounted:?}");
    }
    assert!(CONFIG.contains("port: 18790"));
    assert_eq!(of_proxy("reverse_proxy"), gateways.map(|gateway| format!("{gateway}:18790")));
    let proxy = &compose()["services"]["proxy"];
    assert_eq!(proxy["ports"][0], "127.0.0.1:18790:80");
    let address = proxy["networks"]["default"]["ipv4_address"].as_str().unwrap();
    assert!(CONFIG.contains(&format!("trustedProxies: [\"{address}\"]")), "{address}");
    // The clients and servers of the store and of the database use the same values.
    let (database, objects) =
        (&compose()["services"]["database"], &compose()["services"]["objects"]);
    let environment = environment("one");
    assert!(environment["ONYX_DATABASE"].starts_with("postgres://onyx:${POSTGRES_PASSWORD"));
    assert!(environment["ONYX_DATABASE"].ends_with("@database:5432/onyx?sslmode=disable"));
    assert_eq!(
        (&database["environment"]["POSTGRES_USER"], &database["environment"]["POSTGRES_DB"]),
        (&"onyx".into(), &"onyx".into())
    );
    assert_eq!(environment["S3_ENDPOINT"], "http://objects:8333");
    let command = objects["command"].as_str().unwrap();
    assert!(command.contains("-s3.port=8333") && command.contains("-master.telemetry=false"));
    assert_eq!(objects["environment"]["AWS_ACCESS_KEY_ID"], environment["S3_KEY"]);
    assert_eq!(objects["environment"]["AWS_SECRET_ACCESS_KEY"], environment["S3_SECRET"]);
}

/// The services of the compose file on this machine, each at a loopback address and with a home of its own. The database
/// and the object store are those of the tests.
struct Team {
    place: ServerPlace,
    homes: tempfile::TempDir,
    network: String,
}

/// A service that serves until this is dropped.
struct Service {
    process: Child,
    /// What it prints is read, so that it never waits for a reader.
    _lines: Lines<BufReader<ChildStdout>>,
}

const TOKEN: &str = "onyx_sk_of_the_team";

impl Team {
    async fn new() -> Self {
        let place = ServerPlace::new().await;
        // The name is random, so tests at the same time use other addresses.
        let [second, third] = u16::from_str_radix(&place.name[1..5], 16).unwrap().to_be_bytes();
        let network = format!("127.{}.{third}", second.max(1));
        Self { place, homes: tempfile::tempdir().unwrap(), network }
    }

    /// The address for which the name of a service stands.
    fn address(&self, service: &str) -> String {
        let number = match service {
            "one" => 11,
            "two" => 12,
            _ => 13,
        };
        format!("{}.{number}", self.network)
    }

    fn command(&self, service: &str, arguments: &[&str]) -> Command {
        let home = self.homes.path().join(service);
        let address = self.address(service);
        let config = CONFIG
            .replace("0.0.0.0", &address)
            .replace("s3://onyx", &format!("s3://{}", self.place.name));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("onyx.json"), config).unwrap();
        let mut command = Command::new(BINARY);
        command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("ONYX_HOME", &home);
        command.env("ONYX_KEYS", home.join("keys")).stdin(Stdio::null()).kill_on_drop(true);
        let (environment, storage) = (environment(service), self.place.storage());
        let here = environment["ONYX_ADVERTISE"]
            .replace(&format!("//{service}:"), &format!("//{address}:"));
        command
            .envs(environment)
            .env("ONYX_TOKEN", TOKEN)
            .env("ONYX_MASTER_KEY", MASTER_KEY)
            .env("ONYX_DATABASE", storage["database"].as_str().unwrap())
            .env("S3_ENDPOINT", storage["s3"]["endpoint"].as_str().unwrap())
            .env("ONYX_ADVERTISE", here);
        command
    }

    /// Runs the command that the compose file gives to `migrate`, and returns what it printed.
    async fn migrate(&self) -> String {
        let migrate: Vec<String> =
            serde_json::from_value(compose()["services"]["migrate"]["command"].clone()).unwrap();
        assert_eq!(migrate[0], "onyx");
        let arguments: Vec<&str> = migrate[1..].iter().map(String::as_str).collect();
        let migrated = self.command("migrate", &arguments).output().await.unwrap();
        assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
        String::from_utf8(migrated.stdout).unwrap()
    }

    async fn start(&self, service: &str) -> Service {
        let mut command = self.command(service, &["serve"]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(SOON * 3, lines.next_line()).await.unwrap().unwrap();
        let line = line.unwrap_or_else(|| panic!("{service} ended at its start"));
        assert!(line.ends_with(&format!("http://{}:18790", self.address(service))), "{line}");
        Service { process, _lines: lines }
    }

    fn client(&self, service: &str) -> AgentClient {
        AgentClient::new(format!("http://{}:18790", self.address(service)), TOKEN)
    }

    /// The gateways to which the proxy sends requests now: those that are ready where it looks.
    async fn ready(&self) -> Vec<&'static str> {
        let mut ready = Vec::new();
        for upstream in of_proxy("reverse_proxy") {
            let (service, port) = upstream.split_once(':').unwrap();
            let path = of_proxy("health_uri")[0];
            let url = format!("http://{}:{port}{path}", self.address(service));
            let answer = stranger().get(url).send().await;
            if answer.is_ok_and(|answer| answer.status() == 200) {
                ready.push(service);
            }
        }
        ready
    }

    async fn until_ready(&self, expected: &[&str]) {
        wait_for("the proxy to see who is ready", SOON * 3, async || {
            (self.ready().await == expected).then_some(())
        })
        .await;
    }

    /// The checks of `onyx doctor` with this name.
    async fn checks(&self, name: &str) -> Vec<Value> {
        let doctor = self.command("migrate", &["doctor", "--json"]).output().await.unwrap();
        let checks: Vec<Value> = serde_json::from_slice(&doctor.stdout).unwrap();
        checks.into_iter().filter(|check| check["name"] == name).collect()
    }
}

#[test]
fn the_gateways_differ_only_by_their_names_and_wait_for_the_tables() {
    let services = &compose()["services"];
    let (one, two) = (&services["one"], &services["two"]);
    assert_eq!(one.to_string().replace("one", "two"), two.to_string());
    assert_eq!(one["depends_on"]["migrate"]["condition"], "service_completed_successfully");
    assert_eq!(services["migrate"]["depends_on"]["database"]["condition"], "service_healthy");
    for service in ["one", "two"] {
        let volume = format!("{service}:/var/lib/onyx/home");
        let volumes = services[service]["volumes"].as_array().unwrap();
        assert!(volumes.contains(&volume.into()), "{volumes:?}");
        assert!(compose()["volumes"].as_object().unwrap().contains_key(service));
    }
}

#[tokio::test]
async fn both_gateways_serve_as_the_compose_file_runs_them_and_know_each_other() {
    let team = Team::new().await;
    assert!(team.migrate().await.contains("migrations ran"));
    assert!(team.migrate().await.contains("up to date"), "as after a second `up`");
    assert_eq!(team.checks("config").await[0]["state"], "ok");
    let (_one, _two) = tokio::join!(team.start("one"), team.start("two"));
    team.until_ready(&["one", "two"]).await;
    for name in ["database", "objects"] {
        assert_eq!(team.checks(name).await[0]["state"], "ok", "{name}");
    }
    // Each answers the other at the address that the compose file gives it.
    let gateways = team.checks("gateways").await;
    assert_eq!(gateways.len(), 2, "{gateways:#?}");
    for (check, service) in gateways.iter().zip(["one", "two"]) {
        let answers = format!("{service} at http://{}:18790 answers", team.address(service));
        assert_eq!(check["state"], "ok", "{check}");
        assert!(check["detail"].as_str().unwrap().starts_with(&answers), "{check}");
    }
    let added = team.client("one").post("/api/admin/people", &json!({"id": "anna"})).await;
    let _ = added.expect(201);
    wait_for("the other to know her", SOON, async || {
        let people = team.client("two").get("/api/admin/people").await.expect(200).text();
        people.contains("\"anna\"").then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_proxy_finds_the_gateways_that_are_ready_when_one_is_drained_restarted_or_killed() {
    let team = Team::new().await;
    team.migrate().await;
    let (mut one, mut two) = tokio::join!(team.start("one"), team.start("two"));
    team.until_ready(&["one", "two"]).await;
    let drained = team.client("two").post("/api/admin/gateways/one/drain", &json!({})).await;
    let _ = drained.expect(204);
    team.until_ready(&["two"]).await;
    one.process.kill().await.unwrap();
    let _one = team.start("one").await;
    team.until_ready(&["one", "two"]).await;
    two.process.kill().await.unwrap();
    team.until_ready(&["one"]).await;
    let _ = team.client("one").get("/api/auth/me").await.expect(200);
}
