use std::time::Duration;

use onyx_types::{Clock, Now, SystemClock};

/// The machine's clock, whose monotonic time continues while the machine sleeps, because leases
/// expire meanwhile.
#[derive(Debug, Default)]
pub struct BootClock(SystemClock);

impl Clock for BootClock {
    fn now(&self) -> Now {
        let since_boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(since_boot.tv_sec).unwrap_or_default();
        let nanos = u32::try_from(since_boot.tv_nsec).unwrap_or_default();
        Now { wall: self.0.wall(), mono: Duration::new(seconds, nanos) }
    }
}
