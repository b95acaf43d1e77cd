//! Time in tests: a clock that moves only when told, waiting for conditions, and holding background
//! work.

mod clock;
mod delays;
mod occasion;
mod wait;

pub use clock::ManualClock;
pub use delays::{HoldUp, delays};
pub use occasion::{Begun, Load, Occasion};
pub use wait::{wait_for, wait_until};
