//! A client that records what it was told and checks the server against it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onyx_test_support::ChatLines;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::answers::{self, BAD, GOOD};
use super::steering;
use super::world::{Dice, World, ask};
use crate::rejoin::Rejoined;
use crate::witness::{self, Told};

const MOST_SESSIONS: usize = 6;
/// A session that accepts nothing for this long is stuck. No fault lasts longer.
const STUCK: Duration = Duration::from_secs(60);

pub(super) struct Talker<'w> {
    world: &'w World,
    number: u64,
    dice: Dice,
    sessions: Vec<Session>,
    /// The requested pairs of effects, and whether both of a pair were reported as done.
    effects: BTreeMap<u64, bool>,
}

struct Session {
    id: String,
    agent: &'static str,
    /// How many turns were copied by a fork.
    copied: usize,
    heard: Vec<(String, Told)>,
}

impl<'w> Talker<'w> {
    pub(super) fn new(world: &'w World, number: u64, dice: Dice) -> Self {
        Self { world, number, dice, sessions: Vec::new(), effects: BTreeMap::new() }
    }

    pub(super) async fn talk(&mut self) {
        while self.world.goes_on() {
            match self.dice.below(20) {
                0..=6 => self.message("main", GOOD).await,
                7 => self.steer().await,
                8 | 9 => self.message("shaky", BAD).await,
                10 | 11 => self.leave().await,
                12 | 13 => self.cancel().await,
                14 | 15 => self.rejoin().await,
                16 => self.fork().await,
                17 => self.delete().await,
                _ => self.check_some().await,
            }
        }
    }

    /// Chooses an old session of the agent, or `None` for a new one.
    fn place(&mut self, agent: &'static str) -> Option<usize> {
        let own: Vec<usize> =
            (0..self.sessions.len()).filter(|at| self.sessions[*at].agent == agent).collect();
        let full = self.sessions.len() >= MOST_SESSIONS && !own.is_empty();
        if own.is_empty() || (!full && self.dice.below(4) == 0) {
            return None;
        }
        Some(own[self.dice.index(own.len())])
    }

    fn body(&self, place: Option<usize>, agent: &str, message: &str) -> Value {
        match place {
            Some(at) => json!({"message": message, "session_id": self.sessions[at].id}),
            None => json!({"message": message, "agent": agent}),
        }
    }

    fn words(&self, kind: &str) -> (u64, String) {
        let number = self.world.number();
        (number, format!("talker {} {kind} {number}", self.number))
    }

    fn book(&mut self, place: Option<usize>, agent: &'static str, message: String, told: Told) {
        self.world.count_run(&told);
        let Some(id) = told.session.clone() else { return };
        let heard = (message, told);
        match place {
            Some(at) => self.sessions[at].heard.push(heard),
            None => self.sessions.push(Session { id, agent, copied: 0, heard: vec![heard] }),
        }
    }

    async fn message(&mut self, agent: &'static str, kinds: &[&str]) {
        let kind = kinds[self.dice.index(kinds.len())];
        let place = self.place(agent);
        let (number, message) = self.words(kind);
        let body = self.body(place, agent, &message);
        let told = witness::talk(&self.world.client().await, &body).await;
        if kind == "write" {
            self.effects.insert(number, told.is_ok("write") && told.is_ok("remember"));
        }
        if agent == "shaky" {
            self.world.count(&format!("fault: provider {kind}"));
        }
        self.book(place, agent, message, told);
    }

    /// Starts a slow answer. `None` if the server does not start it.
    async fn begin(&mut self) -> Option<(Option<usize>, String, Told, ChatLines)> {
        let place = self.place("main");
        let (_, message) = self.words("slow");
        let body = self.body(place, "main", &message);
        let request = self.world.client().await.request(Method::POST, "/api/agent/chat-stream");
        let response = request.json(&body).send().await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let mut lines = ChatLines::of(response);
        let mut told = Told::default();
        told.hear(&lines.next().await?);
        Some((place, message, told, lines))
    }

    async fn leave(&mut self) {
        let Some((place, message, mut told, mut lines)) = self.begin().await else { return };
        for _ in 0..self.dice.below(10) {
            let Some(event) = lines.next().await else { break };
            told.hear(&event);
        }
        drop(lines);
        self.world.count("fault: client gone");
        self.book(place, "main", message, told);
    }

    async fn cancel(&mut self) {
        let Some((place, message, mut told, mut lines)) = self.begin().await else { return };
        let Some(event) = lines.next().await else { return };
        told.hear(&event);
        sleep(self.dice.milliseconds(1, 900)).await;
        let path = format!("/api/runs/{}/cancel", told.run.clone().unwrap_or_default());
        self.world.count("cancels");
        // A server that was killed meanwhile has stopped the run too.
        let _ = ask(&self.world.client().await, Method::POST, &path, Some(&json!({}))).await;
        told.hear_all(&mut lines).await;
        self.book(place, "main", message, told);
    }

    /// An acknowledged message is in the log once, whatever happens to the answer in progress.
    async fn steer(&mut self) {
        let Some((place, message, mut told, mut lines)) = self.begin().await else { return };
        let Some(event) = lines.next().await else { return };
        told.hear(&event);
        sleep(self.dice.milliseconds(1, 900)).await;
        let (_, words) = self.words("steer");
        let session = told.session.clone().unwrap_or_default();
        let client = self.world.client().await;
        let steered = steering::steer(&client, &session, &words).await;
        told.hear_all(&mut lines).await;
        self.book(place, "main", message, told);
        if steered == Some(true) {
            self.world.count("steered");
            if let Some(at) = self.sessions.iter().position(|known| known.id == session) {
                self.sessions[at].heard.push((words, Told::default()));
            }
        }
    }

    /// A second reader with many broken connections gets the same events as the first one.
    async fn rejoin(&mut self) {
        let Some((place, message, mut told, mut lines)) = self.begin().await else { return };
        let client = self.world.client().await;
        let mut second = Rejoined::new(told.run.clone().unwrap_or_default());
        let cuts: Vec<usize> = (0..20).map(|_| 50 + self.dice.index(600)).collect();
        let follow = async {
            for cut in cuts.into_iter().chain([usize::MAX]) {
                self.world.count("rejoins");
                if second.read(&client, cut).await.is_none() || second.done {
                    return;
                }
            }
        };
        tokio::join!(follow, told.hear_all(&mut lines));
        if let Some(fault) = &second.fault {
            self.world.violation(format!("rejoined: {fault}"));
        }
        if second.done && told.status.as_deref() == Some("done") && second.text != told.text {
            let texts = format!("{:?} against {:?}", second.text, told.text);
            self.world.violation(format!("a rejoined client read otherwise: {texts}"));
        }
        self.book(place, "main", message, told);
    }

    async fn fork(&mut self) {
        let Some(at) = self.place("main") else { return };
        let client = self.world.client().await;
        let path = format!("/v1/sessions/{}", self.sessions[at].id);
        let Some(turns) = self.turns(at).await else { return };
        let Some(turn) = turns.iter().rfind(|turn| turn["type"] == "user") else { return };
        let body = json!({"turn_id": turn["id"]});
        let forked = ask(&client, Method::POST, &format!("{path}/fork"), Some(&body)).await;
        let Some((201, fork)) = forked else { return };
        self.world.count("forks");
        let fork: Value = serde_json::from_str(&fork).unwrap_or_default();
        let id = fork["id"].as_str().unwrap_or_default().to_owned();
        let export = format!("/v1/sessions/{id}/export");
        let Some((200, text)) = ask(&client, Method::GET, &export, None).await else { return };
        let copied: Vec<Value> =
            text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
        let through = turns.iter().position(|other| other["id"] == turn["id"]).unwrap_or(0);
        if copied[..] != turns[..=through] {
            self.world.violation(format!("fork {id} is not what stands before {}", turn["id"]));
        }
        let copied = copied.len();
        self.sessions.push(Session { id, agent: "main", copied, heard: Vec::new() });
    }

    async fn delete(&mut self) {
        if self.sessions.len() < MOST_SESSIONS {
            return;
        }
        let at = self.dice.index(self.sessions.len());
        self.check(at).await;
        let session = self.sessions.swap_remove(at);
        let path = format!("/v1/sessions/{}", session.id);
        let client = self.world.client().await;
        if let Some((204, _)) = ask(&client, Method::DELETE, &path, None).await {
            self.world.count("deletions");
            let gone = ask(&client, Method::GET, &path, None).await;
            if gone.as_ref().is_some_and(|(status, _)| *status != 404) {
                self.world.violation(format!("deleted session {} answers {gone:?}", session.id));
            }
        }
    }

    async fn check_some(&mut self) {
        if !self.sessions.is_empty() {
            let at = self.dice.index(self.sessions.len());
            self.check(at).await;
        }
    }

    pub(super) async fn check_everything(&mut self) {
        for at in 0..self.sessions.len() {
            self.check(at).await;
        }
        let home = self.world.onyx.read().await.home();
        let notes = witness::words_noted(&home);
        for (number, told) in &self.effects {
            let times = notes.get(&answers::entry(*number)).copied().unwrap_or(0);
            let note = witness::vault_file(&home, &answers::note(*number));
            let whole = note.is_none() || note == Some(format!("{number}\n"));
            if times > 1 || !whole || (*told && (times == 0 || note.is_none())) {
                let seen = format!("noted {times} times, the file is {note:?}");
                self.world.violation(format!("effect {number} (told: {told}): {seen}"));
            }
        }
    }

    /// Sends one more message, so that open runs are closed, and then checks everything that was
    /// reported.
    async fn check(&mut self, at: usize) {
        let began = Instant::now();
        let turns = loop {
            let (_, message) = self.words("say");
            let body = self.body(Some(at), "", &message);
            let told = witness::talk(&self.world.client().await, &body).await;
            let ended = told.status.as_deref();
            let agent = self.sessions[at].agent;
            let answered = ended == Some("done") || (agent == "shaky" && ended.is_some());
            self.book(Some(at), agent, message, told.clone());
            if answered {
                // A server that is killed at this moment is checked the next time.
                let Some(turns) = self.turns(at).await else { return };
                // A message whose sender gave up may arrive late, and then its run is at work.
                let at_work = turns.last().is_some_and(|turn| turn["type"] != "run_end");
                if !at_work || began.elapsed() > STUCK {
                    break turns;
                }
            }
            if began.elapsed() > STUCK {
                let session = &self.sessions[at].id;
                return self.world.violation(format!("session {session} is stuck: {told:?}"));
            }
            sleep(Duration::from_millis(50)).await;
        };
        self.world.count("checks");
        let Session { id, heard, copied, .. } = &self.sessions[at];
        let mut faults = witness::faults_of(turns.get(*copied..).unwrap_or_default());
        for (message, told) in heard {
            faults.extend(told.missing_in(&turns));
            let same = |turn: &&Value| turn["type"] == "user" && turn["content"] == **message;
            let times = turns.iter().filter(same).count();
            if times != 1 {
                faults.push(format!("{message:?} stands there {times} times"));
            }
        }
        for fault in faults {
            self.world.violation(format!("session {id}: {fault}"));
        }
    }

    async fn turns(&self, at: usize) -> Option<Vec<Value>> {
        let path = format!("/v1/sessions/{}/export", self.sessions[at].id);
        let (status, text) = ask(&self.world.client().await, Method::GET, &path, None).await?;
        if status != 200 {
            self.world.violation(format!("{path} answers {status}: {text}"));
            return None;
        }
        text.lines().map(|line| serde_json::from_str(line).ok()).collect()
    }
}
