//! Models through Pi's subscriptions (`pi/<Pi's provider>/<model>`): a small program of ours in
//! TypeScript (`sidecars/pi`) over Pi's library, JSON lines on stdin and stdout. It returns tool
//! calls without running them. One process serves every call.

mod call;
mod protocol;
mod sidecar;
mod source;

pub use source::{PiLimits, PiSettings, PiSidecar};
