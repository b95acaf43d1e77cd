//! Time in a run: clocks, people's zones, cancellation, and points where tests can pause background
//! work.

mod cancel;
mod clock;
mod pauses;
mod zone;

pub use cancel::Cancel;
pub use clock::{Clock, Now, SystemClock, Timestamp};
pub use pauses::{Pauses, SharedPauses};
pub use zone::{UnknownZone, Zone, Zones};
