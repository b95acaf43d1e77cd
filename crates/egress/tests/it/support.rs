use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use onyx_egress::{Bounds, Egress, EgressError, FetchedAnswer, PrivateHost, Resolver};

/// Names that resolve as a test says. A name with several answers gives the next one each time.
#[derive(Default)]
pub(crate) struct Names {
    answers: Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>,
    pub(crate) lookups: AtomicUsize,
}

impl Names {
    pub(crate) fn leads(&self, name: &str, answers: &[&[&str]]) {
        let parse = |answer: &&[&str]| answer.iter().map(|ip| ip.parse().unwrap()).collect();
        let answers = answers.iter().map(parse).collect();
        self.answers.lock().unwrap().insert(name.to_owned(), answers);
    }
}

impl Resolver for Names {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let found = answers.get_mut(&name).map(|answers| {
            let first = answers.remove(0);
            answers.push(first.clone());
            first
        });
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

pub(crate) fn quick() -> Bounds {
    Bounds {
        connect: Duration::from_millis(300),
        total: Duration::from_secs(30),
        ..Bounds::default()
    }
}

pub(crate) fn egress(names: &Arc<Names>, private: &[String], bounds: Bounds) -> Egress {
    let private = private.iter().map(|host| host.parse::<PrivateHost>().unwrap()).collect();
    Egress::new(Arc::clone(names) as Arc<dyn Resolver>, private, bounds)
}

pub(crate) async fn get(egress: &Egress, url: &str) -> Result<FetchedAnswer, EgressError> {
    egress.get(&url.parse()?, "*/*").await
}
