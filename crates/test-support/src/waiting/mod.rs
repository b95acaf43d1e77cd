//! Time in tests: a clock that stands still, waiting for what must happen, holding background work up.

mod clock;
mod delays;
mod occasion;
mod wait;

pub use clock::ManualClock;
pub use delays::{HoldUp, delays};
pub use occasion::{Begun, Load, Occasion};
pub use wait::{wait_for, wait_until};
