//! What the talkers and the faults share: the server, the time, the records.

#![allow(clippy::print_stdout, reason = "the numbers are what a soak is for")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onyx_test_support::{AgentClient, OnyxProcess};
use reqwest::Method;
use serde_json::Value;
use tokio::sync::RwLock;

use crate::witness::Told;

const MEBIBYTE: u64 = 1024 * 1024;

pub(super) struct World {
    /// The write lock is taken to kill the server and start it again.
    pub(super) onyx: RwLock<OnyxProcess>,
    began: Instant,
    lasts: Duration,
    counts: RefCell<BTreeMap<String, u64>>,
    violations: RefCell<Vec<String>>,
    memory: RefCell<Vec<u64>>,
    last_number: Cell<u64>,
}

impl World {
    pub(super) fn new(onyx: OnyxProcess, lasts: Duration) -> Self {
        let memory = RefCell::new(vec![onyx.own_bytes()]);
        Self {
            onyx: RwLock::new(onyx),
            began: Instant::now(),
            lasts,
            counts: RefCell::default(),
            violations: RefCell::default(),
            memory,
            last_number: Cell::new(0),
        }
    }

    pub(super) fn goes_on(&self) -> bool {
        self.began.elapsed() < self.lasts
    }

    /// A number that is given out once.
    pub(super) fn number(&self) -> u64 {
        self.last_number.set(self.last_number.get() + 1);
        self.last_number.get()
    }

    /// A client for the present server. Waits while the server is being started.
    pub(super) async fn client(&self) -> AgentClient {
        self.onyx.read().await.client().clone()
    }

    pub(super) fn count(&self, what: &str) {
        *self.counts.borrow_mut().entry(what.to_owned()).or_default() += 1;
    }

    pub(super) fn count_run(&self, told: &Told) {
        let outcome = match (&told.status, &told.refused) {
            (Some(status), _) => format!("run {status}"),
            (None, Some(code)) => format!("refused {code}"),
            (None, None) => "run cut off".to_owned(),
        };
        self.count(&outcome);
    }

    pub(super) fn violation(&self, what: String) {
        println!("VIOLATION after {:?}: {what}", self.began.elapsed());
        self.violations.borrow_mut().push(what);
    }

    pub(super) fn remember_memory(&self, onyx: &OnyxProcess) {
        self.memory.borrow_mut().push(onyx.own_bytes());
    }

    pub(super) fn report(&self, seed: u64) -> Vec<String> {
        let memory = self.memory.borrow();
        let mebibytes = |bytes: Option<&u64>| bytes.unwrap_or(&0) / MEBIBYTE;
        println!("soak of {:?} with seed {seed}", self.began.elapsed());
        for (what, count) in &*self.counts.borrow() {
            println!("{count:>8}  {what}");
        }
        println!("{:>8}  MiB resident at the start", mebibytes(memory.first()));
        println!("{:>8}  MiB at most", mebibytes(memory.iter().max()));
        println!("{:>8}  MiB at the end", mebibytes(memory.last()));
        println!("{:>8}  violations", self.violations.borrow().len());
        self.violations.take()
    }
}

/// Sends a request; `None` if the server went away meanwhile.
pub(super) async fn ask(
    client: &AgentClient,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Option<(u16, String)> {
    let mut request = client.request(method, path);
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    Some((status, response.text().await.ok()?))
}

/// Pseudo-random numbers, which are the same for the same seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number of SplitMix64.
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number less than `sides`.
    pub(super) fn below(&mut self, sides: u64) -> u64 {
        self.roll() % sides
    }

    pub(super) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or_default()
    }

    pub(super) fn milliseconds(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }
}
