//! Tests of server mode beyond what both engines share: two gateways on one database, lost answers,
//! faults at the start.

mod blobs;
mod connectors;
mod draft_fences;
mod entities;
mod fences;
mod gateways;
mod lost_answers;
mod outdated;
mod races;
pub(crate) mod servers;
mod start;
mod together;
mod unused;
mod upgrade;
