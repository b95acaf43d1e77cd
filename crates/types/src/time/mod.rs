//! Time as a run sees it: clocks, people's zones, a request to stop, and where tests hold background work up.

mod cancel;
mod clock;
mod pauses;
mod zone;

pub use cancel::Cancel;
pub use clock::{Clock, Now, SystemClock, Timestamp};
pub use pauses::Pauses;
pub use zone::{UnknownZone, Zone, Zones};
